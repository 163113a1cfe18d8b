"""What is kept of the pages of a list until its end."""

import pytest

from provider_sdk.contract import ListResult, decode
from provisioner.core.effects import EffectKey, ReadList
from provisioner.core.events import ShownByPages
from provisioner.core.model import Place
from provisioner.edge.list_reader import ListPage, page_of
from provisioner.runtime.provider_link import _end_of_list
from provisioner.runtime.shown import Shown


def page(*names: str, age_s: int = 0, token: str | None = None) -> ListPage:
    """A page of running things; all bear the token, if there is one."""
    mark = {"mark": {"cluster": "c", "token": token}} if token else {}
    things = [{"instance": name, "template": "t", "units": 1, "state": "running", **mark} for name in names]
    said = {"instances": things, "age_s": age_s, "complete": False, "not_found": [f"no-{age_s}"]}
    return page_of(decode(ListResult, said))


def test_names_and_tokens_of_all_pages_are_kept_and_the_greatest_age() -> None:
    shown = Shown()
    for found in (page("a", age_s=3), page("b", "c", token="tk-1", age_s=9), page(age_s=4)):
        shown.add(found)
    assert shown.by_pages() == ShownByPages(frozenset("abc"), frozenset("a"), frozenset({"tk-1"}))
    assert shown.age_s == 9
    assert shown.not_found == ["no-3", "no-9", "no-4"]


def test_pages_that_show_nothing_are_as_good_as_none() -> None:
    shown = Shown()
    shown.add(page())
    assert shown.is_first
    assert shown.by_pages() is None


@pytest.mark.parametrize("where", [0, 1])
def test_ls_5_a_list_that_could_not_read_a_place_is_not_complete_whichever_page_says_it(where: int) -> None:
    pages = [
        page_of(decode(ListResult, {"instances": [], "age_s": 1, "complete": True, "missing_places": places}))
        for places in ([[{"zone": "b"}], []] if where == 0 else [[], [{"zone": "b"}]])
    ]
    shown = Shown()
    shown.add(pages[0])
    reading = ReadList(EffectKey("read_list", "east", "east", 1, 0), "east", 1)
    listed = _end_of_list(reading, pages[1], 5.0, shown)
    assert (listed.complete, listed.missing) == (False, (Place(zone="b"),))
    assert _end_of_list(reading, page("a"), 5.0, Shown()).complete is False
    whole = page_of(decode(ListResult, {"instances": [], "age_s": 1, "complete": True}))
    assert _end_of_list(reading, whole, 5.0, Shown()).complete is True


def test_what_is_kept_of_an_endless_pass_besides_names_is_bounded() -> None:
    shown = Shown()
    for number in range(3000):
        shown.add(page(age_s=number))
    assert len(shown.not_found) == 1000
