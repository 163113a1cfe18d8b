"""The table of versions: the best first, each a minor of version 2, and what lies beyond the first is named."""

import re

from provider_sdk.contract import VERSIONS
from provider_sdk.contract.versions import FIRST, MINORS, named_beyond_first, spoken


def test_hs_3_versions_are_offered_best_first_and_the_first_minor_is_always_among_them() -> None:
    assert tuple(sorted(MINORS, key=minor_of, reverse=True)) == VERSIONS
    assert VERSIONS[-1] == FIRST == "2.0"
    assert all(re.fullmatch(r"2\.\d+", version) for version in VERSIONS)
    assert spoken() == "2.1, 2.0"


def test_gr_1_what_a_minor_adds_beyond_the_first_is_named_once() -> None:
    named = named_beyond_first()
    assert len(set(named)) == len(named)
    assert set(named) == {name for version, minor in MINORS.items() if version != FIRST for name in minor.capabilities}


def minor_of(version: str) -> int:
    """The number after the dot."""
    return int(version.partition(".")[2])
