"""Decisions as they are shown: newest first, each with its reason and the alternatives it rejected.

It alone knows their shape and order over REST; it must not know how one is reached.
"""

import heapq
from collections.abc import Iterable

from provisioner.core.facts import DecisionFact
from provisioner.core.world import World
from provisioner.edge.rest_fault import FieldFault, Json, shown
from provisioner.edge.rest_page import Asked, Filter
from provisioner.edge.rest_shape import rejected_json, shares_json
from provisioner.edge.rest_times import time_text

DECISION_FILTERS = (
    Filter("subject"),
    Filter("provider"),
    Filter("what", ("buy", "nothing", "drain", "reopen", "return", "pause", "resume", "restart")),
)
DECISIONS_DEFAULT = 100

Newest = tuple[float, str]
"""What decisions are ordered by: time, then id."""


def decisions_page(world: World, asked: Asked) -> Json | tuple[FieldFault, ...]:
    """One page of decisions, newest first; `after` is the cursor of a former page's `next`."""
    before = _cursor(asked.after) if asked.after else None
    if asked.after and before is None:
        return (FieldFault("after", f"{shown(asked.after)} is no cursor", "use the `next` of a former page"),)
    matching = (d for d in _matching(world, asked) if before is None or _newest(d) < before)
    found = heapq.nlargest(asked.limit + 1, matching, key=_newest)
    following = None
    if len(found) > asked.limit:
        last = found[asked.limit - 1]
        following = asked.next_url(f"{last.at!r}~{last.id}")
    return {"decisions": [decision_json(d) for d in found[: asked.limit]], "next": following}


def _newest(decision: DecisionFact) -> Newest:
    return (decision.at, decision.id)


def _cursor(text: str) -> Newest | None:
    at, _, id = text.partition("~")
    try:
        return (float(at), id) if id else None
    except ValueError:
        return None


def _matching(world: World, asked: Asked) -> Iterable[DecisionFact]:
    subject, provider, what = (asked.filters.get(name) for name in ("subject", "provider", "what"))
    for decision in world.decisions.values():
        if subject is not None and not is_about(decision, subject):
            continue
        if (provider is None or decision.provider == provider) and (what is None or decision.what == what):
            yield decision


def is_about(decision: DecisionFact, subject: str) -> bool:
    """Whether a decision is about a request, a give-back, an instance or a line (`SOURCE/LINE`)."""
    return decision.subject == subject or any(f"{share.source}/{share.line}" == subject for share in decision.lines)


def decision_json(decision: DecisionFact) -> Json:
    """One decision."""
    return {
        "id": decision.id,
        "at": time_text(decision.at),
        "what": decision.what,
        "subject": decision.subject,
        "reason": {"code": decision.reason.why.value, "sentence": decision.reason.sentence()},
        "lines": shares_json(decision.lines),
        "provider": decision.provider,
        "template": decision.template,
        "units": decision.units,
        "rejected": rejected_json(decision.rejected),
    }
