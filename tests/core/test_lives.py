"""Every life is a whole table: nothing leaves an end, everything else can be reached and can be left."""

from enum import StrEnum
from typing import Any

import pytest

from provisioner.core import giveback, instance, lease, process, request
from provisioner.core.lives import Life
from provisioner.core.model import EntryState

STARTS: dict[str, StrEnum] = {
    "request (acquire)": request.RequestState.PLANNED,
    "request (return)": giveback.ReturnState.PLANNED,
    "instance": instance.InstanceState.BOOTING,
    "provider process": process.ProcessState.ABSENT,
    "lease": lease.LeaseState.WANTED,
}
LIVES: list[Life[Any, Any]] = [
    request.REQUEST_LIFE,
    giveback.RETURN_LIFE,
    instance.INSTANCE_LIFE,
    process.PROCESS_LIFE,
    lease.LEASE_LIFE,
]


@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.name)
def test_nothing_leaves_a_final_state(life: Life[Any, Any]) -> None:
    assert not [(s, t) for s, t in life.table if s in life.final]


@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.name)
def test_every_state_is_reached_from_the_start(life: Life[Any, Any]) -> None:
    start = STARTS[life.name]
    reached, todo = {start}, [start]
    while todo:
        here = todo.pop()
        for (state, _), arc in life.table.items():
            if state is here and arc.next not in reached:
                reached.add(arc.next)
                todo.append(arc.next)
    assert reached == frozenset(iter(type(start)))


@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.name)
def test_every_state_that_is_not_final_can_be_left(life: Life[Any, Any]) -> None:
    states = frozenset(iter(type(STARTS[life.name])))
    left = {s for (s, _), arc in life.table.items() if arc.next is not s}
    assert states - left == life.final


@pytest.mark.parametrize("life", LIVES, ids=lambda life: life.name)
def test_every_arc_says_why(life: Life[Any, Any]) -> None:
    assert all(arc.why for arc in life.table.values())


def test_a_planned_purchase_can_end_only_unsent_and_only_planned_can_be_cancelled() -> None:
    ways = {s for (s, _), arc in request.REQUEST_LIFE.table.items() if arc.next is request.RequestState.CANCELLED}
    assert ways == {request.RequestState.PLANNED}


def test_a_returning_instance_never_serves_again() -> None:
    onward = {arc.next for (s, _), arc in instance.INSTANCE_LIFE.table.items() if s is instance.InstanceState.RETURNING}
    assert onward == {instance.InstanceState.GONE}


@pytest.mark.parametrize(
    ("state", "entry", "draining", "shown"),
    [
        ("running", None, False, "running"),
        ("running", EntryState.IDLE, False, "idle"),
        ("booting", EntryState.BUSY, False, "busy"),
        ("running", EntryState.HELD, False, "joined"),
        ("running", EntryState.BUSY, True, "draining"),
        ("returning", EntryState.IDLE, True, "returning"),
        ("gone", EntryState.IDLE, False, "gone"),
        ("failed", EntryState.IDLE, False, "failed"),
    ],
)
def test_what_is_shown_is_the_providers_end_then_the_drain_then_the_clusters_word(
    state: str, entry: EntryState | None, draining: bool, shown: str
) -> None:
    stored = instance.InstanceState(state)
    assert instance.shown(stored, entry, draining=draining, stuck=False).value == shown


def test_a_state_word_nobody_knows_weakens_to_unknown() -> None:
    assert instance.said("hibernating") is instance.InstanceTrigger.SAID_UNKNOWN
