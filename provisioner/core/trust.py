"""How far a provider is believed: promises it was seen to break are read as their weakest value, and one that has lost
its memory proves nothing, each until an operator says otherwise (contract v2 §7 and ST-4).

It must not know how a broken promise was met, nor what is bought.
"""

from collections.abc import Callable, Mapping

from attrs import evolve

from provisioner.core.events import Moment, ProviderOpened
from provisioner.core.evolve import Draft
from provisioner.core.facts import DescriptionFact, FactKind, ProcessFact, RequestFact
from provisioner.core.intake import want_plan
from provisioner.core.model import BrokenPromise, Promises
from provisioner.core.request import RequestState
from provisioner.core.world import World

TOKENS = "token.replay"
UNKNOWN_ENDS = "token.unknown_ends_s"
LISTS = "list.covers"
NOT_FOUND = "list.not_found_gone_after_s"
OBSERVED = "return.observed"

ABSENT_TWICE = "absent from two complete lists begun after every frame was closed"
ENDS_BY_ITSELF = "the provider promised that it ends by itself by then"
"""How a purchase says that it was settled by lists, or by a promise alone: whose word was wrong if it was."""

WEAKEST: Mapping[str, Callable[[Promises], Promises]] = {
    TOKENS: lambda p: evolve(p, token_replay="none", token_lifetime_s=0),
    UNKNOWN_ENDS: lambda p: evolve(p, unknown_ends_s=None),
    LISTS: lambda p: evolve(p, list_covers="own_records"),
    NOT_FOUND: lambda p: evolve(p, not_found_gone_after_s=None),
    OBSERVED: lambda p: evolve(p, return_observed=False),
}
"""What each of the promises that can be seen to be broken is read as from then on."""


def weakened(promises: Promises, broken: tuple[BrokenPromise, ...]) -> Promises:
    """The promises with every broken one at its weakest."""
    for one in broken:
        promises = WEAKEST[one.promise](promises) if one.promise in WEAKEST else promises
    return promises


def broken_by(draft: Draft, provider: str, promise: str, why: str, now: Moment) -> Draft:
    """The draft in which this promise counts as broken; nothing changes where it already was, or was never made."""
    fact = draft.world.descriptions.get(provider)
    if fact is None or WEAKEST[promise](fact.promises) == fact.promises:
        return draft
    broken = (*fact.broken, BrokenPromise(promise, why, now.at))
    declared = fact.declared if fact.declared is not None else fact.promises
    after = evolve(fact, promises=weakened(declared, broken), declared=declared, broken=broken)
    return want_plan(draft.put(FactKind.DESCRIPTION, provider, after).touch_provider(provider))


def believed_again(draft: Draft, provider: str) -> tuple[Draft, tuple[str, ...]]:
    """(the draft in which the provider is believed as it declared itself, the promises that were broken)."""
    fact = draft.world.descriptions.get(provider)
    if fact is None or not fact.broken:
        return draft, ()
    after = evolve(fact, promises=fact.declared or fact.promises, declared=None, broken=())
    return draft.put(FactKind.DESCRIPTION, provider, after), tuple(one.promise for one in fact.broken)


def with_declared(fact: DescriptionFact, promises: Promises) -> DescriptionFact:
    """The description with what the provider promises now, as far as it is believed."""
    if not fact.broken:
        return evolve(fact, promises=promises, declared=None)
    return evolve(fact, promises=weakened(promises, fact.broken), declared=promises)


def came_late(draft: Draft, request: RequestFact, thing: str, now: Moment) -> Draft:
    """The draft after a living thing turned up under a token that had been settled with a No to it: somebody's word was
    wrong, and it is whoever's word had settled it."""
    if request.state not in (RequestState.NOT_MADE, RequestState.REFUSED, RequestState.SHORT, RequestState.FULFILLED):
        return draft
    said = f"{thing} turned up under {request.token}, which was settled: {request.reason or request.state.value}"
    if ABSENT_TWICE in request.reason:
        return broken_by(draft, request.provider, LISTS, said, now)
    if ENDS_BY_ITSELF in request.reason:
        return broken_by(draft, request.provider, UNKNOWN_ENDS, said, now)
    return broken_by(draft, request.provider, TOKENS, said, now)


def came_back(draft: Draft, provider: str, thing: str, item_state: str | None, now: Moment) -> Draft:
    """The draft after a thing that had been proven gone was listed again; `item_state` is the last word on it in its
    give-back, None if it had none."""
    fact = draft.world.descriptions.get(provider)
    if fact is None or item_state is None:
        return draft
    said = f"{thing} was proven gone and is listed again; its give-back had ended with {item_state}"
    if item_state == "returned":
        return broken_by(draft, provider, OBSERVED if fact.promises.return_observed else LISTS, said, now)
    is_promised = item_state == "not_found" and fact.promises.not_found_gone_after_s is not None
    return broken_by(draft, provider, NOT_FOUND if is_promised else LISTS, said, now)


# --- memory


def has_lost_memory(world: World, provider: str) -> bool:
    """Whether the provider's records are not those it had, and no operator has said yet that this is known."""
    fact = world.processes.get(provider)
    return fact is not None and fact.memory_lost_at is not None


def memory_lost_at(before: ProcessFact, opened: ProviderOpened, now: Moment) -> float | None:
    """Since when the provider's records are not those it had, None if they are: only those in its own folder matter."""
    is_other = before.state_id is not None and before.state_id != opened.state_id
    if not is_other or opened.promises.memory_where != "state_dir":
        return before.memory_lost_at
    return now.at


def memory_accepted(draft: Draft, provider: str) -> tuple[Draft, bool]:
    """(the draft in which an operator knows that the memory was lost, whether it was)."""
    fact = draft.world.processes.get(provider)
    if fact is None or fact.memory_lost_at is None:
        return draft, False
    return draft.put(FactKind.PROCESS, provider, evolve(fact, memory_lost_at=None)), True
