"""A bounded campaign runs with every run of the tests and prints its count; what was ever found is played again."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fuzz.campaign import campaign, keep_failures
from tests.fuzz.case import FOUND, Case, draw, read_case, run, what_breaks
from tests.fuzz.mutate import MUTATIONS
from tests.fuzz.sdk_target import cleared
from tests.fuzz.targets import TARGETS

CASES = 2_500


def test_a_bounded_campaign_breaks_nothing_and_tries_every_target_and_mutation(
    record_property: Callable[[str, object], None], tmp_path: Path
) -> None:
    with cleared():
        tally = campaign(1, CASES)
    by_target = ", ".join(f"{name} {tally.targets[name]}" for name in TARGETS)
    record_property("campaign", f"fuzzing: {tally.line()} ({by_target})")
    assert tally.failures == [], "\n".join(keep_failures(tally, tmp_path))
    assert tally.cases == CASES
    assert min(tally.targets[name] for name in TARGETS) > 0
    assert min(tally.kinds[name] for name in MUTATIONS) > 0


@pytest.mark.parametrize("path", sorted(FOUND.glob("*.case")), ids=lambda path: path.stem)
def test_what_once_broke_something_breaks_nothing_any_more(path: Path) -> None:
    case = read_case(path)
    assert case.why
    run(case)


@pytest.mark.parametrize("name", TARGETS)
def test_the_seeds_themselves_break_nothing(name: str) -> None:
    streams = TARGETS[name].streams()
    broken = [
        (scene, why)
        for scene, several in streams.items()
        for data in several[:25]
        if (why := what_breaks(Case(name, scene, data)))
    ]
    assert broken == []


def test_a_case_is_the_same_whenever_it_is_drawn_and_survives_its_file(tmp_path: Path) -> None:
    drawn = [draw(7, number) for number in range(40)]
    assert drawn == [draw(7, number) for number in range(40)]
    assert len({case.data for case in drawn}) > 30
    path = tmp_path / "one.case"
    drawn[3].kept_in(path)
    again = read_case(path)
    assert (again.target, again.scene, again.data) == (drawn[3].target, drawn[3].scene, drawn[3].data)
