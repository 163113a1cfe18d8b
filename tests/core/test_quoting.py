"""Prices that nobody stated: asked for only where a line stays open, bought at once while they hold, and used once."""

import pytest
from attrs import evolve

from provisioner.core.capabilities import QUOTE
from provisioner.core.effects import AskQuote, ReadDescription, SendRequest
from provisioner.core.events import Described, Lost, NotWritten, Quote, QuoteAnswered, Refusal, RequestAnswered
from provisioner.core.model import Constraint, Per, Price, Problem, Template
from provisioner.core.quoting import EVERY_S, OPEN_MOST
from provisioner.core.reasons import Why
from provisioner.core.request import RequestState
from provisioner.core.world import LineStatus
from provisioner.edge.to_provider import Identity, request_params
from tests.core.play import HOST, Play, cores, machine, report, settings_for

UNPRICED = evolve(HOST, price=None)
CHEAP = Price(500_000_000, "USD", Per.HOUR)
WHO = Identity("clu", "l-test", "me", "1")


def market(*templates: Template, capabilities: tuple[str, ...] = (QUOTE,)) -> Play:
    """A provider with these templates and a source that has been heard."""
    play = Play(settings_for("east"))
    play.provider_ready("east", templates=templates, capabilities=capabilities)
    play.supply(revision=1)
    return play


def line(play: Play) -> LineStatus:
    """How the only line stands."""
    (status,) = play.world.seen.plan.lines
    return status


def quoted(play: Play, units: int = 10, holds_s: float = 60.0, price: Price = CHEAP) -> None:
    """The quote that is asked for is answered."""
    ask = play.take(AskQuote)
    quote = Quote(f"q-{play.count}", units, price, play.started_at + play.now_s + holds_s, held=True)
    play.event(QuoteAnswered(ask.key, "east", ask.number, ask.template, quote))


def refused(play: Play, error_class: str, **more: int) -> None:
    """The purchase on its way is refused, provably without effect."""
    send = play.take(SendRequest)
    problem = Problem(error_class, **more)  # type: ignore[arg-type]
    play.event(RequestAnswered(send.key, "east", send.number, send.request, Refusal(problem, not_made=True)))


def described(play: Play, *templates: Template) -> None:
    """The description that is asked for is answered."""
    reading = play.take(ReadDescription)
    play.event(Described(reading.key, "east", reading.number, "r2", repr(templates)[:40], templates, ()))


def test_qt_1_an_open_line_leads_to_a_quote_and_to_no_purchase_and_says_so() -> None:
    play = market(UNPRICED)
    play.demand(cores(8), revision=2)
    ask = play.take(AskQuote)
    assert (ask.template, ask.units) == ("small", 2)
    assert not play.world.requests
    assert line(play).reason.why is Why.QUOTE_AWAITED
    assert "is asked for a quote: none stated" in line(play).reason.sentence()


def test_a_quote_is_bought_at_once_at_its_price_and_for_no_more_than_was_quoted() -> None:
    play = market(UNPRICED)
    play.demand(cores(40), revision=2)
    quoted(play, units=3)
    request = play.only_request()
    assert (request.units, request.price_cap, request.terms.price) == (3, CHEAP, CHEAP)
    assert request.quote is not None
    assert request.reserve_nanos > 0
    assert request.send_by == play.started_at + play.now_s + 60.0
    assert request_params(WHO, request, 1, 5.0)["quote"] == request.quote
    assert line(play).open == 28


def test_qt_2_a_quote_is_used_once_and_the_rest_waits_for_another_one() -> None:
    play = market(UNPRICED)
    play.demand(cores(40), revision=2)
    quoted(play, units=3)
    first = play.only_request()
    play.pass_s(29)
    assert not play.in_flight(AskQuote), "one template is asked for one quote in 30 s"
    play.pass_s(2)
    quoted(play, units=7)
    quotes = {r.quote: r.units for r in play.world.requests.values()}
    assert sorted(quotes.values()) == [3, 7]
    assert len(quotes) == 2
    assert first.quote in quotes


def test_qt_2_two_consumers_never_buy_at_one_quote() -> None:
    play = market(UNPRICED)
    play.demand(cores(4), evolve(cores(4, id="other"), consumer="asic"), revision=2)
    quoted(play, units=10)
    assert len(play.world.requests) == 1
    assert sorted(s.open for s in play.world.seen.plan.lines) == [0, 4]


def test_an_unknown_price_never_wins_over_a_known_one_and_is_not_asked_for_then() -> None:
    dear = evolve(HOST, template="dear", price=Price(9_000_000_000, "USD", Per.HOUR))
    play = market(UNPRICED, dear)
    play.demand(cores(8), revision=2)
    assert play.only_request().template == "dear"
    assert not play.in_flight(AskQuote)


def test_gr_3_a_provider_that_did_not_declare_it_is_never_asked_for_a_quote() -> None:
    play = market(UNPRICED, capabilities=())
    play.demand(cores(8), revision=2)
    play.pass_s(100)
    assert not play.in_flight(AskQuote)
    assert line(play).reason.why is Why.UNKNOWN_PRICE


def test_a_price_that_has_lapsed_is_asked_for_anew() -> None:
    play = market(UNPRICED)
    until = play.started_at + play.now_s + 50
    lapsing = evolve(HOST, valid_until=until)
    play.pass_s(301)
    described(play, lapsing)
    play.pass_s(60)
    play.demand(cores(4), revision=2)
    assert "has lapsed" in line(play).reason.sentence() or play.world.requests
    assert play.in_flight(AskQuote)


def test_a_quote_that_lapsed_before_it_was_of_use_buys_nothing() -> None:
    play = market(UNPRICED)
    play.demand(cores(4), revision=2)
    ask = play.take(AskQuote)
    late = Quote("q-1", 5, CHEAP, play.started_at + play.now_s - 1, held=False)
    play.event(QuoteAnswered(ask.key, "east", ask.number, ask.template, late))
    assert not play.world.requests
    play.pass_s(31)
    assert play.in_flight(AskQuote)


def test_a_line_that_is_withdrawn_takes_its_wish_along() -> None:
    play = market(UNPRICED)
    play.demand(cores(4), revision=2)
    ask = play.take(AskQuote)
    play.demand(revision=3)
    play.event(QuoteAnswered(ask.key, "east", ask.number, ask.template, NotWritten("no longer owed")))
    play.pass_s(60)
    assert not play.in_flight(AskQuote)


@pytest.mark.parametrize("outcome", [Refusal(Problem("no_capacity"), not_made=True), Lost("cut")])
def test_a_quote_that_is_refused_or_lost_is_asked_for_again_and_the_line_says_why(outcome: Refusal | Lost) -> None:
    play = market(UNPRICED)
    play.demand(cores(4), revision=2)
    ask = play.take(AskQuote)
    play.event(QuoteAnswered(ask.key, "east", ask.number, ask.template, outcome))
    assert "refused: " in line(play).reason.sentence()
    assert "asked again in 30 s" in line(play).reason.sentence()
    play.pass_s(29)
    assert not play.in_flight(AskQuote)
    play.pass_s(2)
    assert play.in_flight(AskQuote)


def test_offers_that_refuse_to_name_a_price_don_t_keep_the_others_from_being_asked() -> None:
    play = market(*(evolve(UNPRICED, template=f"t{n:02d}") for n in range(30)))
    play.demand(cores(8), revision=2)
    asked = []
    for _ in range(12):
        play.pass_s(2)
        for ask in play.in_flight(AskQuote):
            assert isinstance(ask, AskQuote)
            del play.effects[ask.key]
            asked.append(ask.template)
            answer = Refusal(Problem("transient"), not_made=True)
            play.event(QuoteAnswered(ask.key, "east", ask.number, ask.template, answer))
    assert len(set(asked)) == 30


def test_of_many_quotes_those_that_wait_longest_are_asked_for_first() -> None:
    names = [f"t{n:02d}" for n in range(25)]
    play = market(*(evolve(UNPRICED, template=name) for name in names))
    play.demand(*(evolve(cores(8, id=n), where=(Constraint("template", (n,)),)) for n in names), revision=2)
    first = play.in_flight(AskQuote)
    assert len(first) == OPEN_MOST
    for ask in first:
        assert isinstance(ask, AskQuote)
        del play.effects[ask.key]
        play.event(QuoteAnswered(ask.key, "east", ask.number, ask.template, Lost("no answer")))
    play.pass_s(EVERY_S + 1)
    asked = {ask.template for ask in (*first, *play.in_flight(AskQuote)) if isinstance(ask, AskQuote)}
    assert len(asked) == 25


def test_a_quote_in_another_currency_is_no_price() -> None:
    play = market(UNPRICED)
    play.demand(cores(4), revision=2)
    quoted(play, price=Price(1, "EUR", Per.HOUR))
    assert not play.world.requests
    assert line(play).reason.why is Why.FOREIGN_CURRENCY


def test_qt_1_quotes_are_forgotten_by_a_restart_and_told_by_no_other_process() -> None:
    play = market(UNPRICED)
    play.demand(revision=2)
    view = play.world.seen
    assert not view.quotes
    play.demand(cores(4), revision=3)
    quoted(play)
    assert not play.restarted().world.seen.quotes


def test_quote_gone_drops_it_describes_again_and_is_no_failure_of_the_offer() -> None:
    play = market(UNPRICED)
    play.demand(cores(4), revision=2)
    quoted(play)
    refused(play, "quote_gone")
    assert play.only_request().state is RequestState.REFUSED
    assert not play.world.health
    assert play.in_flight(ReadDescription)
    described(play, UNPRICED)
    play.pass_s(31)
    assert play.in_flight(AskQuote)


def test_a_refused_price_passes_to_the_next_offer_in_the_same_pass_without_a_back_off() -> None:
    dear = evolve(HOST, template="dear", price=Price(9_000_000_000, "USD", Per.HOUR))
    play = market(HOST, dear, capabilities=())
    play.demand(cores(4), revision=2)
    refused(play, "price")
    assert not play.world.health
    assert play.take(SendRequest).request == next(
        r.id for r in play.world.open_requests.values() if r.template == "dear"
    )


def test_a_price_that_is_stated_and_never_kept_is_tried_ever_more_slowly() -> None:
    play = market(HOST, capabilities=())
    play.demand(cores(4), revision=2)
    pauses = []
    for _ in range(5):
        refused(play, "price")
        described(play, HOST)
        begun_s = play.now_s
        while not play.in_flight(SendRequest):
            assert "was refused" in line(play).reason.sentence()
            play.pass_s(1)
            assert play.now_s < begun_s + 400
        pauses.append(play.now_s - begun_s)
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (5.0, 80.0)
    assert not play.world.health
    send = play.take(SendRequest)
    request = play.world.requests[send.request]
    play.event(RequestAnswered(send.key, "east", send.number, send.request, report(request, "made", machine("i-1"))))
    assert play.world.seen.quotes["east/small"].refusals == 0
