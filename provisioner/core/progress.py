"""How far an open purchase is, in its provider's words: kept for people while it is open, lost with a restart.

It decides nothing and is nobody's proof. One word a purchase is kept, the newest; of purchases that are not open, none.
"""

from attrs import evolve

from provisioner.core.events import Moment, ProgressTold, Report
from provisioner.core.evolve import Draft
from provisioner.core.facts import RequestFact
from provisioner.core.providers import is_present
from provisioner.core.world import Progress

PHASE_MOST = 64
"""Characters of a phase (contract v2 §5); more is cut off."""


def take_progress(draft: Draft, event: ProgressTold, now: Moment) -> Draft:
    """A `progress` notification counts for an open purchase of the provider whose present process says it."""
    request = draft.world.open_requests.get(event.request)
    if request is None or request.provider != event.provider:
        return draft
    if not is_present(draft.world, event.provider, event.number):
        return draft
    before = draft.world.seen.progress.get(request.id, Progress())
    return _with(draft, request.id, evolve(before, phase=event.phase[:PHASE_MOST], eta_s=event.eta_s, at=now.at))


def with_reported(draft: Draft, request: RequestFact, report: Report, now: Moment) -> Draft:
    """What a report says of progress, and whether a cancel is under way; what it leaves out stays as told before."""
    if request.id not in draft.world.open_requests:
        return draft
    before = draft.world.seen.progress.get(request.id, Progress())
    after = evolve(before, cancelling=report.cancelling)
    if report.phase is not None:
        after = evolve(after, phase=report.phase[:PHASE_MOST], eta_s=report.eta_s, at=now.at)
    return draft if after == before else _with(draft, request.id, after)


def forgotten(draft: Draft, request: str) -> Draft:
    """The draft in which nothing is kept of a purchase that is settled."""
    seen = draft.world.seen
    return draft.see(evolve(seen, progress=seen.progress.delete(request))) if request in seen.progress else draft


def _with(draft: Draft, request: str, progress: Progress) -> Draft:
    seen = draft.world.seen
    return draft.see(evolve(seen, progress=seen.progress.set(request, progress)))
