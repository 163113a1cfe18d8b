"""Every oracle can fail: a fault planted in the product is found, by the target that is there for it."""

from random import Random

import pytest

from tests.fuzz.case import FOUND, Case, read_case, shrunk, what_breaks
from tests.fuzz.mutate import mutated
from tests.fuzz.planted import PLANTED
from tests.fuzz.targets import TARGETS

MUTATED_MOST = 600


def hunted(name: str) -> Case | None:
    """The first case of a target that breaks: what was found before, its seeds as they are, then mutations of them."""
    for path in sorted(FOUND.glob("*.case")):
        case = read_case(path)
        if case.target == name and what_breaks(case) is not None:
            return case
    streams = TARGETS[name].streams()
    for scene, several in streams.items():
        for data in several:
            case = Case(name, scene, data)
            if what_breaks(case) is not None:
                return case
    rng = Random(1)
    for _ in range(MUTATED_MOST):
        scene = rng.choice(list(streams))
        kind, data = mutated(rng, rng.choice(streams[scene]), streams[scene])
        if what_breaks(case := Case(name, scene, data, (kind,))) is not None:
            return case
    return None


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    target, plant = PLANTED[fault]
    plant(monkeypatch)
    assert hunted(target) is not None


def test_a_failure_is_cut_down_to_what_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    PLANTED["keys may repeat"][1](monkeypatch)
    data = b'{"jsonrpc":"2.0","id":1,"result":{}}\n{"what":[1,2,3],"id":1,"id":2,"more":"text"}\nhello\n'
    case = Case("frames", "lines", data)
    why = what_breaks(case)
    assert why is not None
    smaller = shrunk(case, why)
    assert len(smaller.data) < len(data) // 3
    assert what_breaks(smaller) == why
