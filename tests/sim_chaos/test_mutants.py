"""Each planted fault is caught within a few histories; without it the same histories hold everything."""

from collections.abc import Callable

import pytest
from attrs import evolve

from provisioner.sim.chaos.course import run
from provisioner.sim.chaos.history import History
from tests.sim_chaos.mutants import MUTANTS
from tests.sim_chaos.pointed import (
    AFTER_SEND,
    BY_SIGHT,
    BY_TOKEN,
    IN_CALL,
    INCOMPLETE,
    LANDED,
    LOST,
    NAMELESS,
    STATUS_BLIND,
    SWALLOWED,
    pointed,
    withdrawn,
)

WITHIN = 12
"""In so many histories each planted fault has to be caught."""

Histories = Callable[[int], History]

POINTED: dict[str, Histories] = {
    "token reused across purchases": lambda seed: pointed(seed, BY_TOKEN),
    "money released on unknown": lambda seed: pointed(seed, BY_TOKEN, LOST),
    "process end taken for a No": lambda seed: pointed(seed, BY_TOKEN, IN_CALL),
    "No counted too early": lambda seed: pointed(seed, evolve(BY_TOKEN, token_lifetime_s=0), IN_CALL),
    "incomplete list treated as complete": lambda seed: pointed(seed, BY_SIGHT, IN_CALL, *INCOMPLETE, *STATUS_BLIND),
    "distance of two lists not kept": lambda seed: pointed(seed, evolve(BY_SIGHT, list_delay_s=200), IN_CALL),
    "nameless things taken for none of ours": lambda seed: pointed(seed, NAMELESS, LOST),
    "owed question dropped": lambda seed: pointed(seed, BY_TOKEN),
    "owed give-back dropped": lambda seed: pointed(seed, BY_TOKEN),
    "adopted without a record": lambda seed: pointed(seed, BY_TOKEN),
    "untrusted token said again": lambda seed: pointed(seed, evolve(BY_SIGHT, token_lifetime_s=600), IN_CALL),
    "not found taken for gone": lambda seed: pointed(seed, BY_SIGHT),
    "carried for ever": lambda seed: pointed(seed, BY_SIGHT, AFTER_SEND),
    "frames never close": lambda seed: pointed(seed, BY_SIGHT, SWALLOWED),
    "returned before it is proven": lambda seed: pointed(seed, BY_TOKEN),
    "epoch not written": lambda seed: pointed(seed, BY_TOKEN, AFTER_SEND),
    "asking for an end taken for the end": withdrawn,
    "landed commit forgotten": lambda seed: pointed(seed, BY_TOKEN, *LANDED),
}


def test_every_planted_fault_has_histories_of_its_own() -> None:
    assert POINTED.keys() == MUTANTS.keys()


@pytest.mark.parametrize("name", MUTANTS)
def test_a_planted_fault_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)
    caught = (seed for seed in range(WITHIN) if run(POINTED[name](seed)).violations)
    assert next(caught, None) is not None


@pytest.mark.parametrize("name", ["No counted too early", "untrusted token said again", "landed commit forgotten"])
def test_without_the_planted_fault_its_histories_hold_everything(name: str) -> None:
    assert [run(POINTED[name](seed)).violations for seed in range(2)] == [(), ()]
