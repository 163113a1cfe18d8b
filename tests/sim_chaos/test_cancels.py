"""Purchases ended early, in histories full of them: the clouds' books and the facts agree all the same."""

from collections import Counter
from functools import lru_cache

import pytest

from provisioner.sim.chaos.course import run
from provisioner.sim.chaos.history import Fault, Strike
from tests.sim_chaos.pointed import withdrawn

SEEDS = range(16)


@lru_cache
def lines_of(seed: int) -> tuple[str, ...]:
    """What happened in one such history, which breaks nothing."""
    verdict = run(withdrawn(seed))
    assert verdict.violations == ()
    return verdict.lines


@pytest.mark.parametrize("seed", SEEDS)
def test_a_history_of_purchases_ended_early_holds_everything(seed: int) -> None:
    assert lines_of(seed)


def test_every_answer_to_the_asking_is_met_in_them() -> None:
    said = Counter(line.rpartition(": ")[2] for s in SEEDS for line in lines_of(s) if "is to make no more" in line)
    assert said["not_made"] > 0
    assert said["pending"] > 0


@pytest.mark.parametrize("fault", [Fault.ANSWER_LOST, Fault.ERROR_UNSAID, Fault.SAID_UNKNOWN, Fault.THROTTLED])
def test_no_lost_or_odd_answer_to_it_breaks_anything(fault: Fault) -> None:
    strikes = tuple(Strike(fault, "status", nth=n) for n in range(2, 12, 2))
    for seed in range(4):
        assert run(withdrawn(seed, *strikes)).violations == ()
