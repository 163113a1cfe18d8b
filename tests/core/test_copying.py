"""The faster copy is the same copy."""

import pytest
from attrs import evolve
from immutables import Map

from provisioner.core.copying import copied
from provisioner.core.facts import HeadFact
from provisioner.core.world import Seen, World


def test_it_is_what_attrs_would_make() -> None:
    world = World("clu", "l-1", head=HeadFact(1, 2))
    for changes in ({}, {"head": None}, {"seen": Seen(started_boot_s=3.0), "by_token": Map({"t": "r"})}):
        assert copied(world, **changes) == evolve(world, **changes)


def test_the_value_copied_stays_as_it_is() -> None:
    head = HeadFact(1, 2)
    assert copied(head, n=5) == HeadFact(5, 2)
    assert head == HeadFact(1, 2)


def test_a_name_that_is_no_field_is_refused() -> None:
    with pytest.raises(KeyError):
        copied(HeadFact(1, 2), m=5)
