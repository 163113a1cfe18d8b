"""Purchases by the thousand: each waits for its slot, and none costs more for the others."""

from attrs import evolve
from immutables import Map

from provisioner.core.decide import decide
from provisioner.core.effects import SendRequest
from provisioner.core.events import RequestAnswered
from provisioner.core.facts import FactKind
from provisioner.core.owner import may_buy
from provisioner.core.request import RequestState
from provisioner.core.world import Ask
from tests.core.play import HOST, TRUSTED, Play, cores, machine, report, settings_for
from tests.core.test_purchase_scenarios import bought
from tests.runtime.test_log import alarm_after_s


def test_an_answer_is_news_to_as_many_planned_purchases_as_there_are_slots_and_all_are_sent_in_the_end() -> None:
    play = Play(settings_for("east"))
    play.provider_ready("east", (evolve(HOST, max_units=1),))
    play.supply(revision=1)
    play.demand(cores(400), revision=2)
    assert (len(play.world.requests), len(play.in_flight(SendRequest))) == (100, TRUSTED.in_flight)
    for n in range(100):
        send = play.in_flight(SendRequest)[0]
        assert isinstance(send, SendRequest)
        del play.effects[send.key]
        made = report(play.world.requests[send.request], "made", machine(f"i-{n}", "running"))
        answered = RequestAnswered(send.key, "east", send.number, send.request, made)
        looked_at = decide(play.world, answered, play.moment(), play.settings).touched
        assert len([key for key in looked_at if key.kind is FactKind.REQUEST]) <= TRUSTED.in_flight
        play.event(answered)
    assert {r.state for r in play.world.requests.values()} == {RequestState.FULFILLED}


def test_a_purchase_that_waits_for_a_slot_costs_no_more_beside_thousands_that_were_taken() -> None:
    play, _ = bought(evolve(TRUSTED, in_flight=1))
    request = play.only_request()
    assert request.armed
    taken = evolve(request, state=RequestState.TAKEN, armed=False)
    others = {f"rq-{n}": evolve(taken, id=f"rq-{n}", token=f"tk-{n}") for n in range(20_000)}
    seen = evolve(play.world.seen, asks=Map(dict.fromkeys(others, Ask(tries=1))))
    world = evolve(play.world, under_way=Map({request.id: request, **others}), seen=seen)
    with alarm_after_s(20):  # looking at all of them each time would take minutes
        assert not any(may_buy(world, "east", play.moment(), play.settings) for _ in range(10_000))
