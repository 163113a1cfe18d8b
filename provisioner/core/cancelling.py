"""How a purchase that was sent and is not wanted any more is ended early: who may be asked, when, and what the answer
comes to.

Asking proves nothing (contract v2, CN-2): only `made` or `not_made` does, and a No counts as it does in any other
answer. It must not decide what is still wanted.
"""

from attrs import evolve

from provisioner.core import answers, outcomes
from provisioner.core.capabilities import CANCEL, can
from provisioner.core.crashes import spaced_s
from provisioner.core.events import CancelAnswered, Moment, NotWritten, Report
from provisioner.core.evolve import Draft
from provisioner.core.facts import FactKind, Key, RequestFact
from provisioner.core.ids import cancel_ask_id
from provisioner.core.intake import want_plan
from provisioner.core.pauses import doubled_s
from provisioner.core.request import ASKED, RequestState, RequestTrigger
from provisioner.core.settings import Settings
from provisioner.core.world import Ask, World

AGAIN_FIRST_S, AGAIN_MOST_S = 30.0, 600.0
"""How soon a provider is asked again while it has neither made nor refused the rest; asking again is harmless."""

PAST_DEADLINE = "its deadline has passed, and nothing may be made for it any more"


def cancel_ask(world: World, request: RequestFact) -> Ask:
    """When the provider may be asked (again) to make no more of this purchase."""
    return world.seen.asks.get(cancel_ask_id(request.id), Ask())


def is_cancel_owed(world: World, request: RequestFact) -> bool:
    """Whether the provider is to be asked, now or later: never while the frame that buys is still open (CC-2)."""
    asked_for = request.cancel_at is not None and request.state in ASKED and not request.armed
    return asked_for and request.token not in world.seen.frames_open and can(world, request.provider, CANCEL)


def with_cancel(draft: Draft, request: RequestFact, why: str, now: Moment) -> Draft:
    """The draft in which an open purchase is to be ended early; one that was never sent simply is not."""
    if request.state is RequestState.PLANNED:
        return answers.move_request(draft, request, RequestTrigger.UNWANTED, now, why)
    if request.cancel_at is not None:
        return draft
    return want_plan(draft.put(FactKind.REQUEST, request.id, evolve(request, cancel_at=now.at, cancel_why=why)))


def past_deadline(draft: Draft, request: RequestFact, now: Moment) -> Draft:
    """The draft in which a purchase past its deadline is to be ended."""
    if request.cancel_at is not None or now.at < request.deadline_at or not can(draft.world, request.provider, CANCEL):
        return draft
    return with_cancel(draft, request, PAST_DEADLINE, now)


def take_cancelled(draft: Draft, event: CancelAnswered, now: Moment, settings: Settings) -> Draft:
    """What came of asking: a report like any other, and anything else is asked again later."""
    request = draft.world.requests.get(event.request)
    if request is None:
        return draft
    soon = isinstance(event.outcome, NotWritten)
    draft = _ask_later(draft, request.id, now, soon=soon).touch(Key(FactKind.REQUEST, request.id))
    if not isinstance(event.outcome, Report):
        return draft
    sight_s = answers.sight_delay_s(draft.world, request.provider)
    valid = answers.no_is_valid(draft.world, request, event.asked_boot_s - sight_s)
    if event.outcome.outcome == "not_made" and not valid:
        # It was asked too early for its No to count; the next answer to an ordinary question is the same (RP-2).
        return outcomes.ask_at(draft, request.id, event.outcome.poll_after_s, now)
    draft = answers.take_report(draft, event.outcome, now, no_is_valid=valid)
    return outcomes.learn(outcomes.ask_at(draft, request.id, event.outcome.poll_after_s, now), request, now, settings)


def _ask_later(draft: Draft, request: str, now: Moment, *, soon: bool) -> Draft:
    seen = draft.world.seen
    ask = seen.asks.get(cancel_ask_id(request), Ask())
    pause = outcomes.UNWRITTEN_AGAIN_S if soon else doubled_s(AGAIN_FIRST_S, ask.tries, AGAIN_MOST_S)
    later = evolve(ask, tries=ask.tries + 1, next_boot_s=now.boot_s + max(pause, spaced_s(ask.crashes)))
    return draft.see(evolve(seen, asks=seen.asks.set(cancel_ask_id(request), later)))
