"""What is kept of the pages of a list until its end."""

from provider_sdk.contract import ListResult, decode
from provisioner.core.events import ShownByPages
from provisioner.edge.list_reader import ListPage, page_of
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


def test_what_is_kept_of_an_endless_pass_besides_names_is_bounded() -> None:
    shown = Shown()
    for number in range(3000):
        shown.add(page(age_s=number))
    assert len(shown.not_found) == 1000
