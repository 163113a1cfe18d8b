"""Opens a job log, plain or compressed, and the sample that is shipped; it must not know what stands in one."""

import gzip
import zlib
from pathlib import Path
from typing import Final

from provisioner.sim.workload import Workload, read_workload

SAMPLE: Final = Path(__file__).with_name("sample.swf")
_MAGIC: Final = b"\x1f\x8b"


class UnreadableLog(Exception):
    """A job log can't be read; the text is one sentence for people."""


def open_workload(path: Path) -> Workload:
    """The jobs of a log file, compressed by gzip or not; raises UnreadableLog, also for a log in which nothing ran."""
    try:
        with path.open("rb") as raw:
            compressed = raw.read(len(_MAGIC)) == _MAGIC
        with (gzip.open if compressed else open)(path, "rt", encoding="utf-8", errors="replace") as text:
            workload = read_workload(text)
    except EOFError:
        raise UnreadableLog(f"{path} ends in the middle; copy it again") from None
    except (OSError, zlib.error) as error:
        why = getattr(error, "strerror", None) or "it is damaged"
        raise UnreadableLog(f"{path} can't be read: {why}") from None
    if not workload.jobs:
        rows = [f"{count} rows: {reason}" for reason, count in sorted(workload.left_out.items())]
        why = "; ".join(rows) or "it is empty"
        raise UnreadableLog(f"{path} holds no job that ran ({why}); a job log is in the Standard Workload Format")
    return workload
