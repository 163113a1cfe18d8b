"""A description read by changes is the one that a full reading gives; what can't be applied changes nothing."""

from collections.abc import Sequence

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from provider_sdk.contract import DescribeParams, DescribeResult, Granularity, LeadTime, Limit, Template
from provider_sdk.contract.words import Kind
from provider_sdk.pages import FRAME_ROOM_BYTES, DescribePages
from provisioner.core.facts import DescriptionFact
from provisioner.core.model import Promises
from provisioner.edge.descriptions import Reading, joined

FRAME_BYTES = 1 << 20
SMALL_PAGES = 900
"""Bytes above the room of a frame: a template or two a page."""


def template(name: str, cores: int) -> Template:
    """One kind of host."""
    return Template(
        template=name,
        kind=Kind.HOST,
        unit="machine",
        granularity=Granularity(max_units=5),
        lead_time=LeadTime(1, 2),
        attributes={"cores": cores},
    )


offers = st.dictionaries(st.sampled_from("abcdefg"), st.integers(1, 3)).map(
    lambda found: tuple(template(name, cores) for name, cores in found.items())
)
ceilings = st.none() | st.dictionaries(st.sampled_from("xyz"), st.integers(1, 3)).map(
    lambda found: tuple(Limit(name, most, name) for name, most in found.items())
)


def read(
    pages: DescribePages, templates: Sequence[Template], limits: Sequence[Limit] | None, known: str | None
) -> list[DescribeResult]:
    """All pages of one pass."""
    found = [pages.answer(DescribeParams(known=known), templates, limits)]
    while found[-1].next is not None:
        page = pages.go_on(DescribeParams(known=known, cursor=found[-1].next))
        assert page is not None
        found.append(page)
    return found


def held_by(reading: Reading) -> DescriptionFact:
    """What the daemon holds after a reading."""
    return DescriptionFact(
        "p", "1", ("host",), (), Promises(), reading.revision, reading.digest, 0.0, reading.templates, reading.limits
    )


def whole(found: Reading | str) -> Reading:
    """The reading, for there is one."""
    assert isinstance(found, Reading), found
    return found


@given(st.lists(st.tuples(offers, ceilings, st.booleans()), min_size=1, max_size=6), st.booleans())
def test_ds_2_changes_applied_one_after_the_other_give_what_a_full_reading_gives(
    history: list[tuple[tuple[Template, ...], tuple[Limit, ...] | None, bool]], small: bool
) -> None:
    pages = DescribePages(FRAME_ROOM_BYTES + SMALL_PAGES if small else FRAME_BYTES, delta=True)
    held: DescriptionFact | None = None
    for templates, limits, forgets in history:
        known = None if held is None or forgets else held.revision
        found = whole(joined(read(pages, templates, limits, known), known, held))
        full = whole(joined(read(pages, templates, limits, None), None, None))
        assert found == full
        held = held_by(found)


ONE = whole(
    joined([DescribeResult("r1", (template("a", 1), template("b", 2)), limits=(Limit("x", 5, "x"),))], None, None)
)
HELD = held_by(ONE)


def test_ds_1_the_present_revision_alone_says_that_nothing_has_changed() -> None:
    assert joined([DescribeResult("r1", base="r1")], "r1", HELD) == ONE


def test_ds_2_a_change_adds_replaces_and_removes_and_leaves_the_rest_and_the_limits_as_they_were() -> None:
    pages = [
        DescribeResult("r2", (template("b", 3),), base="r1", removed=("a",), next="more"),
        DescribeResult("r2", (template("c", 1),)),
    ]
    found = whole(joined(pages, "r1", HELD))
    assert [(t.template, dict(t.size)["cores"]) for t in found.templates] == [("b", 3000), ("c", 1000)]
    assert found.limits == ONE.limits
    assert found.revision == "r2"


def test_ds_2_pages_without_a_base_replace_everything_though_changes_were_asked_for() -> None:
    found = whole(joined([DescribeResult("r9", (template("z", 1),))], "r1", HELD))
    assert [t.template for t in found.templates] == ["z"]
    assert found.limits == ()


@pytest.mark.parametrize(
    ("pages", "known"),
    [
        ([DescribeResult("r3", (template("a", 9),), base="r2")], "r1"),
        ([DescribeResult("r3", (template("a", 9),), base="r2")], None),
        ([DescribeResult("r3", (template("a", 9),), base="r1", next="m"), DescribeResult("r3", base="r2")], "r1"),
        ([DescribeResult("r3", (template("a", 9),), next="m"), DescribeResult("r3", base="r1")], "r1"),
    ],
)
def test_ds_2_a_change_to_what_was_not_asked_about_says_nothing(pages: list[DescribeResult], known: str | None) -> None:
    assert isinstance(joined(pages, known, HELD), str)


def test_ds_2_a_change_that_can_not_be_read_whole_says_nothing_and_a_full_reading_says_what_could_be_read() -> None:
    change = [DescribeResult("r2", base="r1", removed=("a",))]
    assert isinstance(joined(change, "r1", HELD, whole=False), str)
    assert isinstance(joined([DescribeResult("r2")], "r1", HELD, whole=False), Reading)


def test_a_description_that_changed_between_its_pages_is_no_ground_for_a_change() -> None:
    pages = [DescribeResult("r2", (template("a", 1),), next="more"), DescribeResult("r3", (template("b", 1),))]
    assert whole(joined(pages, None, None)).revision == ""


def test_ds_6_more_templates_than_the_contract_allows_say_nothing_also_when_they_come_by_changes() -> None:
    many = tuple(template(f"t{n}", 1) for n in range(3))
    big = evolve(HELD, templates=tuple(evolve(HELD.templates[0], template=f"h{n}") for n in range(19_999)))
    assert isinstance(joined([DescribeResult("r2", many, base="r1")], "r1", big), str)
