"""Lists that come in pages: each page counts as seen when it comes, and only the end of the pass proves what is
absent."""

import pytest
from attrs import evolve

from provisioner.core.effects import ReadList, SendRequest
from provisioner.core.events import Listed, ListedPage, Lost, RequestAnswered, SeenInstance
from provisioner.core.listing import STRANGERS_KEPT, shown_by
from provisioner.core.model import Promises
from provisioner.core.request import RequestState
from tests.core.play import TRUSTED, Play, cores, machine, settings_for

PAUSE_S = 4000.0


def lost_purchase(promises: Promises = TRUSTED) -> Play:
    """A daemon whose only purchase was lost, it may have been made or not; one list without it has been read."""
    play = Play(settings_for("east"))
    play.provider_ready("east", promises=promises)
    play.supply(revision=1)
    play.demand(cores(4), revision=2)
    effect = play.take(SendRequest)
    play.event(RequestAnswered(effect.key, "east", effect.number, effect.request, Lost("no answer")))
    play.process_ends("east")
    play.pass_s(120)
    play.provider_ready("east", promises=promises)
    assert play.only_request().state is RequestState.UNKNOWN
    return play


def read_in_pages(play: Play, *pages: tuple[SeenInstance, ...], complete: bool = True) -> None:
    """Answers the list that is in flight by these pages, one after another."""
    play.pass_s(PAUSE_S)
    reading = play.take(ReadList)
    *before, last = pages or ((),)
    for n, page in enumerate(before):
        play.event(ListedPage("east", reading.number, play.now_s, 0, page, is_first=n == 0))
    earlier = shown_by(thing for page in before for thing in page)
    play.event(
        Listed(reading.key, "east", reading.number, play.now_s, complete, 0, last, earlier=earlier if before else None)
    )


def test_a_thing_in_an_earlier_page_is_adopted_before_the_pass_ends() -> None:
    play = lost_purchase()
    play.pass_s(PAUSE_S)
    reading = play.take(ReadList)
    page = (machine("i-1", "running", play.only_request()),)
    play.event(ListedPage("east", reading.number, play.now_s, 0, page, is_first=True))
    assert [i.provider_id for i in play.instances()] == ["i-1"]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_thing_without_a_token_in_any_page_may_be_the_one_whose_answer_was_lost(place: int) -> None:
    play = lost_purchase(evolve(TRUSTED, mark_kept="none"))
    pages: list[tuple[SeenInstance, ...]] = [(), (), ()]
    pages[place] = (machine("x"),)
    read_in_pages(play, *pages)
    assert play.only_request().state is RequestState.UNKNOWN


def test_a_second_list_that_shows_nothing_of_ours_in_all_its_pages_is_a_no() -> None:
    play = lost_purchase()
    assert play.only_request().state is RequestState.UNKNOWN
    read_in_pages(play, (machine("x"),), (machine("y"),), (machine("z"),))
    assert play.only_request().state is RequestState.NOT_MADE


def test_strangers_of_all_pages_are_counted_and_those_of_a_broken_pass_are_forgotten() -> None:
    play = lost_purchase()
    play.pass_s(PAUSE_S)
    reading = play.take(ReadList)
    play.event(ListedPage("east", reading.number, play.now_s, 0, (machine("old"),), is_first=True))
    play.event(ListedPage("east", reading.number, play.now_s, 0, (machine("x"),), is_first=True))
    play.event(ListedPage("east", reading.number, play.now_s, 0, (machine("y"),), is_first=False))
    earlier = shown_by((machine("x"), machine("y")))
    play.event(Listed(reading.key, "east", reading.number, play.now_s, True, 0, (machine("z"),), earlier=earlier))
    assert play.world.seen.lists["east"].strangers == ("x", "y", "z")
    crowd = tuple(machine(f"x-{n}") for n in range(STRANGERS_KEPT))
    read_in_pages(play, crowd, crowd)
    assert len(play.world.seen.lists["east"].strangers) == STRANGERS_KEPT


def test_a_page_of_a_process_that_is_gone_is_no_news() -> None:
    play = lost_purchase()
    page = (machine("i-1", "running", play.only_request()),)
    play.event(ListedPage("east", 99, play.now_s, 0, page, is_first=True))
    assert play.instances() == []
