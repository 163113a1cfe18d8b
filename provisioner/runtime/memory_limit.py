"""Holds a provider's process to its memory: by a control group of its own where there may be one, else by the kernel's
limit on each process.

It alone chooses between the two. It must not know why a process ends, only whether its memory was the cause.
"""

from __future__ import annotations

import hashlib
import os
import resource
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from attrs import frozen

from provisioner.edge.quantities import size_text
from provisioner.runtime.control_group import ControlGroup
from provisioner.runtime.supervision import Log, ProcessSpec

__all__ = ["UNLIMITED", "MemoryLimit", "group_name", "hold_to_memory"]


@frozen
class MemoryLimit:
    """What holds one process to its memory: `by` is `cgroup`, `rlimit` or `none`."""

    by: str
    limit_bytes: int | None = None
    group: ControlGroup | None = None

    def why_ended(self) -> str | None:
        """A sentence if the kernel ended the process, or a part of it, for its memory; None if that is not proven."""
        if self.group is None or self.limit_bytes is None or not self.group.ended_by_memory():
            return None
        return f"the process was ended by its memory limit of {size_text(self.limit_bytes)}"

    async def lift(self, *, within_s: float) -> Sequence[int]:
        """Ends what is left in the group and takes it away; the processes that would not end."""
        return () if self.group is None else await self.group.remove(within_s=within_s)


UNLIMITED: Final = MemoryLimit("none")


def hold_to_memory(spec: ProcessSpec, pid: int, log: Log) -> MemoryLimit:
    """Bounds the memory of a process that has been told nothing yet; what can't be done is logged, never raised."""
    limit_bytes = spec.memory_bytes
    if limit_bytes is None:
        return UNLIMITED
    group = None if spec.groups_dir is None else _grouped(spec, spec.groups_dir, limit_bytes, pid, log)
    if group is not None:
        log.info("provider_memory_bounded", limit=size_text(limit_bytes), by="cgroup")
        return MemoryLimit("cgroup", limit_bytes, group)
    # Not RLIMIT_AS: runtimes such as Node's reserve gigabytes of address space that they never touch. RLIMIT_DATA
    # counts what a process may write to and shares with nobody, touched or not, the stacks of its threads too.
    try:
        resource.prlimit(pid, resource.RLIMIT_DATA, (limit_bytes, limit_bytes))
    except (OSError, ValueError) as why:
        log.warning("provider_memory_unlimited", limit=size_text(limit_bytes), why=str(why))
        return MemoryLimit("none", limit_bytes)
    log.info("provider_memory_bounded", limit=size_text(limit_bytes), by="rlimit")
    return MemoryLimit("rlimit", limit_bytes)


def _grouped(spec: ProcessSpec, parent: str, limit_bytes: int, pid: int, log: Log) -> ControlGroup | None:
    try:
        group = ControlGroup.make(Path(parent), group_name(spec), limit_bytes)
        group.take(pid)
    except OSError as why:
        then = "each of its processes has the limit by itself"
        log.warning("provider_without_control_group", why=os.strerror(why.errno or 0), then=then)
        return None
    return group


def group_name(spec: ProcessSpec) -> str:
    """One a provider and state folder, so that daemons of several clusters on one machine don't share groups."""
    where = hashlib.sha256(spec.state_dir.encode()).hexdigest()[:8]
    return f"provider-{spec.provider}-{where}"
