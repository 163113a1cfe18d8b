"""One case: which target, which scene, which bytes; drawn from a seed, run under a bound, cut down, kept as a file.

A file is one line of JSON (target, scene, what it breaks or broke) and then the bytes as they are.
"""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import FrameType

from attrs import evolve, frozen

from tests.fuzz.mutate import mutated
from tests.fuzz.oracle import Broken
from tests.fuzz.targets import TARGETS

FOUND = Path(__file__).parent / "seeds" / "found"
"""What ever broke something, as files that every run of the tests plays again."""
CASE_S = 20.0
"""Seconds of the processor that no case may take."""
SHRINK_RUNS = 400


@frozen
class Case:
    """Bytes for a scene of a target; `kinds` are the mutations they came of, `why` is what they break or broke."""

    target: str
    scene: str
    data: bytes
    kinds: tuple[str, ...] = ()
    why: str = ""

    def kept_in(self, path: Path) -> None:
        """Writes the case as a file."""
        head = json.dumps({"target": self.target, "scene": self.scene, "why": self.why}, ensure_ascii=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(head.encode() + b"\n" + self.data)


def read_case(path: Path) -> Case:
    """The case kept in a file."""
    head, _, data = path.read_bytes().partition(b"\n")
    said = json.loads(head)
    return Case(said["target"], said["scene"], data, why=said["why"])


def draw(seed: int, number: int) -> Case:
    """The case of this seed and number; the same whenever it is drawn."""
    rng = Random(f"{seed}/{number}")
    names = list(TARGETS)
    target = TARGETS[rng.choices(names, [TARGETS[name].share for name in names])[0]]
    streams = target.streams()
    scene = rng.choice(list(streams))
    kinds, data = mutated(rng, rng.choice(streams[scene]), streams[scene])
    return Case(target.name, scene, data, tuple(kinds.split("+")))


def run(case: Case) -> None:
    """Runs a case; raises whatever breaks, and Broken if it takes more than its bound."""
    with _bounded():
        TARGETS[case.target].run(case.scene, case.data)


def what_breaks(case: Case) -> str | None:
    """One sentence of what breaks, None if nothing does."""
    try:
        run(case)
    except BaseExceptionGroup as several:
        return _sentence(_first(several))
    except Exception as broken:  # noqa: BLE001 - whatever a case breaks is what is looked for
        return _sentence(broken)
    return None


def _sentence(broken: BaseException) -> str:
    return f"{type(broken).__name__}: {broken}"[:400]


def _first(several: BaseExceptionGroup[BaseException]) -> BaseException:
    inner = several.exceptions[0]
    return _first(inner) if isinstance(inner, BaseExceptionGroup) else inner


@contextmanager
def _bounded() -> Iterator[None]:
    def over(number: int, frame: FrameType | None) -> None:
        raise Broken(f"it takes more than {CASE_S:g} s of the processor")

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, CASE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


def shrunk(case: Case, why: str) -> Case:
    """The case with all left out that it does not take to break the same; whole lines first, then bytes."""
    left = SHRINK_RUNS
    for joint in (b"\n", b""):
        parts = case.data.split(joint) if joint else [case.data[at : at + 1] for at in range(len(case.data))]
        size = max(1, len(parts) // 2)
        while size and left > 0:
            at = 0
            while at < len(parts) and left > 0:
                fewer = parts[:at] + parts[at + size :]
                left -= 1
                if _same(what_breaks(evolve(case, data=joint.join(fewer))), why):
                    parts = fewer
                else:
                    at += size
            size //= 2
        case = evolve(case, data=joint.join(parts))
    return evolve(case, why=why)


def _same(one: str | None, other: str) -> bool:
    return one is not None and one[:40] == other[:40]
