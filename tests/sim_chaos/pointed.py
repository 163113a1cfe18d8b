"""Histories drawn as ever, but at one kind of provider and with chosen strikes, so that a rule comes to matter soon."""

from attrs import evolve

from provisioner.core.model import Promises
from provisioner.sim.chaos.history import Fault, History, Strike, Supplier, Work, draw

BY_SIGHT = Promises(
    token_replay="none",
    mark_kept="far_side",
    list_covers="far_side",
    list_delay_s=15,
    in_flight=1,
    answer_s={},
    late_effect_s=10,
    return_observed=True,
)
"""No tokens; what exists is seen by its mark."""

BY_TOKEN = evolve(BY_SIGHT, token_replay="exact", token_lifetime_s=86_400, list_delay_s=5, in_flight=8)
NAMELESS = evolve(BY_SIGHT, mark_kept="none")

IN_CALL = Strike(Fault.PROVIDER_CRASH_IN_CALL, "request", nth=1)
SWALLOWED = Strike(Fault.FRAME_SWALLOWED, "request", nth=1)
LOST = Strike(Fault.ANSWER_LOST, "request", nth=1)
AFTER_SEND = Strike(Fault.CRASH_AFTER_SEND, "point", nth=1)
LANDED = tuple(Strike(Fault.COMMIT_LANDED, "commit", nth=n) for n in range(12, 90, 3))
STATUS_BLIND = tuple(Strike(Fault.SAID_UNKNOWN, "status", nth=n) for n in range(1, 40))
INCOMPLETE = tuple(Strike(Fault.LIST_INCOMPLETE, "list", nth=n) for n in range(2, 9))


def pointed(seed: int, promises: Promises, *strikes: Strike) -> History:
    """The history of this seed at one such provider, befallen by these strikes alone."""
    supplier = Supplier("east", promises, lead_s=5.0, capacity=50, pending_share=0.0, lists_gone=False, price_nanos=10)
    work = (*draw(seed).work, Work(at_s=20.0, cores=2, runs_s=30.0), Work(at_s=70.0, cores=4, runs_s=30.0))
    return History(seed, (supplier,), work, strikes, push_every_s=10.0)


def withdrawn(seed: int, *strikes: Strike) -> History:
    """A history whose purchases take their time, and whose work goes away while they do."""
    leaving = tuple(Strike(Fault.WORK_WITHDRAWN, "time", at_s=at_s + seed % 7) for at_s in (12.0, 30.0, 75.0, 90.0))
    history = pointed(seed, BY_TOKEN, *leaving, *strikes)
    supplier = evolve(history.suppliers[0], pending_share=1.0, capabilities=("cancel", "forget"))
    return evolve(history, suppliers=(supplier,))
