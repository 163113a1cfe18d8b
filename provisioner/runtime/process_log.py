"""What the log says of a provider's process once it is committed: that it is left alone, or never came up.

It alone knows which step of a process is worth a warning. It must not decide anything.
"""

from collections.abc import Iterable

from provisioner.core.events import Moment
from provisioner.core.process import ProcessState
from provisioner.core.restarts import left_alone_until_boot_s
from provisioner.core.world import ProcessView, World
from provisioner.runtime.supervision import Log

__all__ = ["tell_of_processes"]


def tell_of_processes(log: Log, providers: Iterable[str], before: World, after: World, now: Moment) -> None:
    """Warns of each provider whose process was parked, quarantined or not started between two worlds."""
    _tell_of_trust(log, before, after)
    if before.seen.processes is after.seen.processes:
        return
    for provider in providers:
        was, view = before.seen.processes.get(provider, ProcessView()), after.seen.processes.get(provider)
        if view is None or view == was:
            continue
        if view.state is ProcessState.PARKED and was.state is not ProcessState.PARKED:
            then = f"it is left alone; correct its program, then `provisioner provider resume {provider}`"
            then += "; or its configuration, then start the daemon again"
            log.warning("provider_parked", provider=provider, reason=view.last_end, then=then)
        elif view.state is ProcessState.QUARANTINED and was.state is not ProcessState.QUARANTINED:
            often, wait_s = len(view.crashes_boot_s), left_alone_until_boot_s(after, provider) - now.boot_s
            then = f"it is left alone for {wait_s:.0f} s, since it ended {often} times in a short while"
            log.warning("provider_quarantined", provider=provider, reason=view.last_end, then=then)
        elif view.state is ProcessState.BACKING_OFF and not _was_spawned(after, provider, view):
            then = f"tried again in {view.wait_until_boot_s - now.boot_s:.1f} s"
            log.warning("provider_not_started", provider=provider, reason=view.last_end, then=then)


def _tell_of_trust(log: Log, before: World, after: World) -> None:
    """Warns of a promise that was seen to be broken, and of records that are not those a provider had."""
    if before.descriptions is not after.descriptions:
        for provider, fact in after.descriptions.items():
            was = before.descriptions.get(provider)
            for one in fact.broken[len(was.broken) if was is not None else 0 :]:
                log.warning("promise_broken", provider=provider, promise=one.promise, why=one.why)
    if before.processes is not after.processes:
        for provider, process in after.processes.items():
            had = before.processes.get(provider)
            if process.memory_lost_at is not None and (had is None or had.memory_lost_at != process.memory_lost_at):
                then = f"nothing is bought from it until `provisioner provider resume {provider}`"
                log.warning("provider_lost_its_records", provider=provider, then=then)


def _was_spawned(world: World, provider: str, view: ProcessView) -> bool:
    process = world.processes.get(provider)
    return process is not None and process.number == view.number
