"""Faults planted in core and engine, one rule switched off at a time; whoever asks says where they are patched in."""

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve

from provisioner.core import answers, cancelling, decide, listing, outcomes, owner, planner, providers
from provisioner.core import request as request_life
from provisioner.core.effects import AskReturn, Effect, SendReturn
from provisioner.core.events import CancelAnswered, Listed, Report
from provisioner.core.evolve import Draft
from provisioner.core.facts import EpochFact, RequestFact
from provisioner.core.lives import Arc
from provisioner.core.owed import Owed, owed
from provisioner.core.request import RequestState, RequestTrigger
from provisioner.runtime import engine

Plant = Callable[[pytest.MonkeyPatch], None]


def token_reused(patch: pytest.MonkeyPatch) -> None:
    """Every purchase has the same token."""
    patch.setattr(planner, "token_of", lambda _request, _attempt: "tk-always-the-same-1")


def money_released_on_unknown(patch: pytest.MonkeyPatch) -> None:
    """A lost answer is taken for a No."""
    lost = (RequestState.SENDING, RequestTrigger.LOST)
    patch.setitem(request_life._TABLE, lost, Arc(RequestState.NOT_MADE, "no answer"))


def carrier_gone_is_a_no(patch: pytest.MonkeyPatch) -> None:
    """A process that ended with a purchase in its hands is taken for a No."""
    gone = (RequestState.SENDING, RequestTrigger.CARRIER_GONE)
    patch.setitem(request_life._TABLE, gone, Arc(RequestState.NOT_MADE, "its process is gone"))


def no_counted_too_early(patch: pytest.MonkeyPatch) -> None:
    """Every No counts, asked before or after the frames were closed."""
    patch.setattr(answers, "no_is_valid", lambda _world, _request, _asked: True)


def incomplete_list_is_complete(patch: pytest.MonkeyPatch) -> None:
    """A list that was not read to its end proves absence."""
    real = listing.take_listed

    def take(draft: Draft, event: Listed, *more: Any) -> Draft:
        return real(draft, evolve(event, complete=not event.named), *more)

    patch.setattr(listing, "take_listed", take)


def one_list_is_enough(patch: pytest.MonkeyPatch) -> None:
    """The distance between two proving lists is not kept."""
    real = listing._promises
    patch.setattr(listing, "_promises", lambda draft, provider: evolve(real(draft, provider), list_delay_s=-(10**6)))


def nameless_things_are_none_of_ours(patch: pytest.MonkeyPatch) -> None:
    """Lists of a provider without marks disprove a purchase while its thing stands on them."""
    patch.setattr(listing, "_can_be_told_apart", lambda _draft, _event, _promises: True)


def effect_dropped(kind: type) -> Plant:
    """An effect of this kind is owed and never begun."""

    def without(*args: Any) -> Owed:
        found = owed(*args)
        kept: tuple[Effect, ...] = tuple(e for e in found.effects if not isinstance(e, kind))
        return evolve(found, effects=kept)

    return lambda patch: patch.setattr(engine, "owed", without)


def adopted_without_a_record(patch: pytest.MonkeyPatch) -> None:
    """What a report names is counted and not written down."""

    def count_only(draft: Draft, request: RequestFact, _seen: Any, _now: Any) -> Draft:
        return draft

    patch.setattr(answers, "take_instance", count_only)


def any_token_is_trusted(patch: pytest.MonkeyPatch) -> None:
    """A purchase is said again though the provider can't tell repetitions apart."""
    patch.setattr(owner, "TRUSTED_TOKENS", frozenset({"exact", "at_most_once", "none"}))


def not_found_is_gone(patch: pytest.MonkeyPatch) -> None:
    """A thing that is not found is taken for gone at any age."""
    for module in (listing, outcomes):
        patch.setattr(module, "not_found_is_gone", lambda *_args: True)


def carried_for_ever(patch: pytest.MonkeyPatch) -> None:
    """The end of a process does not matter to what it carried."""
    patch.setattr(owner, "_is_carried", lambda _world, _request: True)


def frames_never_close(patch: pytest.MonkeyPatch) -> None:
    """The end of a process does not close its frames."""
    patch.setattr(providers, "close_frames", lambda draft, _provider, _number, _now: draft)


def returned_before_it_is_proven(patch: pytest.MonkeyPatch) -> None:
    """A give-back is over as soon as it was answered."""
    patch.setattr(outcomes, "items_left", lambda _draft, _giveback: ())


def epoch_stands_still(patch: pytest.MonkeyPatch) -> None:
    """A start acts under an epoch above the one it has written."""
    patch.setattr(decide, "EpochFact", lambda epoch, holder: EpochFact(max(1, epoch - 1), holder))


def landed_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    """After a commit of unknown outcome nothing is looked at anew."""
    real = engine.Engine._recovered

    async def recovered(self: engine.Engine, world: Any) -> Any:
        due = dict(self._due)
        fresh = await real(self, world)
        self._due = due
        return fresh

    patch.setattr(engine.Engine, "_recovered", recovered)


def asking_is_the_end(patch: pytest.MonkeyPatch) -> None:
    """Whatever is answered to a cancel is taken for a No to the rest (CN-2 switched off)."""
    real = cancelling.take_cancelled

    def take(draft: Draft, event: CancelAnswered, *more: Any) -> Draft:
        said = event.outcome
        if isinstance(said, Report) and said.outcome == "pending":
            event = evolve(event, outcome=evolve(said, outcome="not_made"))
        return real(draft, event, *more)

    patch.setattr(cancelling, "take_cancelled", take)


MUTANTS: dict[str, Plant] = {
    "token reused across purchases": token_reused,
    "money released on unknown": money_released_on_unknown,
    "process end taken for a No": carrier_gone_is_a_no,
    "No counted too early": no_counted_too_early,
    "incomplete list treated as complete": incomplete_list_is_complete,
    "distance of two lists not kept": one_list_is_enough,
    "nameless things taken for none of ours": nameless_things_are_none_of_ours,
    "owed question dropped": effect_dropped(AskReturn),
    "owed give-back dropped": effect_dropped(SendReturn),
    "adopted without a record": adopted_without_a_record,
    "untrusted token said again": any_token_is_trusted,
    "not found taken for gone": not_found_is_gone,
    "carried for ever": carried_for_ever,
    "frames never close": frames_never_close,
    "returned before it is proven": returned_before_it_is_proven,
    "epoch not written": epoch_stands_still,
    "asking for an end taken for the end": asking_is_the_end,
    "landed commit forgotten": landed_is_forgotten,
}
