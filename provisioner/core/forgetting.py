"""Which final answers a provider need not keep any more, and when it is told (contract v2, forget).

A purchase is let go once it is settled and all of its things have been gone for a while, a give-back a while after it
is settled: until then the provider's own records may be what a thing's mark or final sum is told from. It must not
delete a fact.
"""

from collections.abc import Iterator
from itertools import islice

from attrs import evolve

from provisioner.core.capabilities import FORGET, can
from provisioner.core.events import ForgetAnswered, Moment
from provisioner.core.evolve import Draft
from provisioner.core.facts import FactKind, Key, RequestFact, ReturnFact
from provisioner.core.instance import InstanceState
from provisioner.core.world import ForgetView, World

LOOK_EVERY_S = 300.0
AGAIN_S = 60.0
KEPT_FOR_S = 600.0
"""So long after its end a final answer may still be of use to a person who looks, and to the final sums in a list."""
MOST = 1000
"""The contract's bound on tokens, and on give-backs, in one frame."""


def looked(draft: Draft, provider: str, now: Moment) -> Draft:
    """The draft in which what may be forgotten by now is known; looked for at pauses, since it means to look at every
    settled record."""
    view = draft.world.seen.forgets.get(provider, ForgetView())
    if now.boot_s < view.next_boot_s or not can(draft.world, provider, FORGET):
        return draft
    requests = tuple(islice(_requests(draft.world, provider, now), MOST))
    returns = tuple(islice(_returns(draft.world, provider, now), MOST))
    return _seen(draft, provider, ForgetView(now.boot_s + LOOK_EVERY_S, requests, returns))


def _requests(world: World, provider: str, now: Moment) -> Iterator[str]:
    for r in world.requests.values():
        if not r.forgotten and r.provider == provider and _is_over(world, r, now):
            yield r.id


def _is_over(world: World, request: RequestFact, now: Moment) -> bool:
    if request.sent_at is None or request.settled_at is None or request.token in world.seen.frames_open:
        return False
    if now.at < request.settled_at + KEPT_FOR_S:
        return False
    things = (world.instances[i] for i in request.instances)
    return all(t.state is InstanceState.GONE and now.at >= (t.gone_at or 0.0) + KEPT_FOR_S for t in things)


def _returns(world: World, provider: str, now: Moment) -> Iterator[str]:
    for r in world.returns.values():
        if not r.forgotten and r.provider == provider and r.frames > 0 and _is_told(r, now):
            yield r.id


def _is_told(giveback: ReturnFact, now: Moment) -> bool:
    return giveback.settled_at is not None and now.at >= giveback.settled_at + KEPT_FOR_S


def take_forgotten(draft: Draft, event: ForgetAnswered, now: Moment) -> Draft:
    """What came of telling: what was taken is never told again; anything else is told again after a pause."""
    draft = draft.touch(Key(FactKind.PROCESS, event.provider))
    if event.refusal is not None:
        return _seen(draft, event.provider, ForgetView(now.boot_s + AGAIN_S))
    for id in event.requests:
        request = draft.world.requests.get(id)
        if request is not None:
            draft = draft.put(FactKind.REQUEST, id, evolve(request, forgotten=True))
    for id in event.returns:
        giveback = draft.world.returns.get(id)
        if giveback is not None:
            draft = draft.put(FactKind.RETURN, id, evolve(giveback, forgotten=True))
    is_full = MOST in (len(event.requests), len(event.returns))
    return _seen(draft, event.provider, ForgetView(now.boot_s if is_full else now.boot_s + LOOK_EVERY_S))


def _seen(draft: Draft, provider: str, view: ForgetView) -> Draft:
    seen = draft.world.seen
    return draft.see(evolve(seen, forgets=seen.forgets.set(provider, view)))
