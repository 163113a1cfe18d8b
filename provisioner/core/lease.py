"""The life of one right to act (for a provider, or as the planner): epochs only grow; a lease says "not before",
never "at most this long".

With the embedded controller the exclusive lock on the facts is the holder, so a lease is held from the commit of its
epoch until the daemon ends.
"""

from enum import StrEnum

from provisioner.core.lives import Arc, Life

PLANNER = "planner"
"""The lease of the planner; a provider's lease is named `provider.<name>`."""


class LeaseState(StrEnum):
    """Where the right to act stands."""

    WANTED = "wanted"
    HELD = "held"
    LAPSING = "lapsing"
    LOST = "lost"


class LeaseTrigger(StrEnum):
    """What can happen to it."""

    TAKEN = "taken"
    RENEWED = "renewed"
    FENCE_PASSED = "fence_passed"
    SEEN_TAKEN = "seen_taken"
    RELEASED = "released"


_S, _T = LeaseState, LeaseTrigger

_TABLE: dict[tuple[LeaseState, LeaseTrigger], Arc[LeaseState]] = {
    (_S.WANTED, _T.TAKEN): Arc(_S.HELD, "the next epoch is ours"),
    (_S.HELD, _T.RENEWED): Arc(_S.HELD, "acknowledged"),
    (_S.HELD, _T.FENCE_PASSED): Arc(_S.LAPSING, "no renewal acknowledged in time: send nothing more"),
    (_S.LAPSING, _T.RENEWED): Arc(_S.HELD, "acknowledged after all"),
    (_S.HELD, _T.SEEN_TAKEN): Arc(_S.LOST, "another holder has a higher epoch"),
    (_S.LAPSING, _T.SEEN_TAKEN): Arc(_S.LOST, "another holder has a higher epoch"),
    (_S.HELD, _T.RELEASED): Arc(_S.WANTED, "given up after the process group was reaped"),
    (_S.LOST, _T.RELEASED): Arc(_S.WANTED, "what it carried was closed"),
}

LEASE_LIFE = Life("lease", _TABLE, frozenset())


def step(state: LeaseState, trigger: LeaseTrigger) -> Arc[LeaseState] | None:
    """The only way a lease changes its state."""
    return LEASE_LIFE.step(state, trigger)


def provider_lease(provider: str) -> str:
    """The name of the lease of one provider."""
    return f"provider.{provider}"
