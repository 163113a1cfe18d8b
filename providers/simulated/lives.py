"""The life of one simulated instance as a function of stored times: its state at a moment and what it has cost.

Pure. Times are whole milliseconds of the Unix epoch, money is whole nano-units. Knows no storage and no
contract message.
"""

from typing import Literal

from attrs import frozen

from providers.simulated.offers import Price, Terms

State = Literal["booting", "running", "failed", "returning", "gone"]

_HOUR_MS = 3_600_000
NEVER = 2**53 - 1


@frozen
class Release:
    """Units given back: accepted at one moment, proven gone at another (never before)."""

    units: int
    accepted_ms: int
    gone_ms: int


@frozen
class Life:
    """All that decides an instance's state and cost; a time that will not come is NEVER."""

    units: int
    requested_ms: int
    made_ms: int
    ready_ms: int
    boot_fails: bool = False
    notice_ms: int = NEVER
    reclaim_ms: int = NEVER
    expires_ms: int = NEVER
    first_of_order: bool = True
    releases: tuple[Release, ...] = ()

    @property
    def promised_back(self) -> int:
        """Units for which a give-back was accepted."""
        return sum(release.units for release in self.releases)

    @property
    def taken_ms(self) -> int:
        """When the far side takes it by itself."""
        return min(self.reclaim_ms, self.expires_ms)

    @property
    def gone_ms(self) -> int:
        """When nothing of it is left."""
        if self.promised_back < self.units:
            return self.taken_ms
        return min(self.taken_ms, max(release.gone_ms for release in self.releases))


def units_at(life: Life, now_ms: int) -> int:
    """Return the units that exist and are ours at this moment."""
    if now_ms < life.made_ms or now_ms >= life.gone_ms:
        return 0
    return life.units - sum(release.units for release in life.releases if release.gone_ms <= now_ms)


def state_at(life: Life, now_ms: int) -> State:
    """Return the state at a moment not before it was made."""
    if now_ms >= life.gone_ms:
        return "gone"
    if sum(release.units for release in life.releases if release.accepted_ms <= now_ms) >= life.units:
        return "returning"
    if now_ms < life.ready_ms:
        return "booting"
    return "failed" if life.boot_fails else "running"


def reason_at(life: Life, now_ms: int) -> str | None:
    """Return why it is gone or failed, beginning with the contract's word."""
    match state_at(life, now_ms):
        case "gone":
            return _reason_gone(life)
        case "failed":
            return "the machine never came up"
        case "booting" | "running" | "returning":
            return None


def _reason_gone(life: Life) -> str:
    if life.gone_ms < life.taken_ms:
        return "returned"
    return "reclaimed by the cloud" if life.reclaim_ms <= life.expires_ms else "expired"


def billed_from_ms(life: Life, terms: Terms) -> int:
    """Return when the charge starts, NEVER if it never does."""
    match terms.billing.starts:
        case "requested":
            return life.requested_ms
        case "made":
            return life.made_ms
        case "running":
            return NEVER if _never_ran(life) else life.ready_ms


def _never_ran(life: Life) -> bool:
    closed = NEVER
    if life.promised_back >= life.units:
        closed = max(release.accepted_ms for release in life.releases)
    return life.boot_fails or min(life.taken_ms, closed) <= life.ready_ms


def billed_until_ms(life: Life, terms: Terms) -> int:
    """Return the end of the last time that is paid for, NEVER while something of it is still charged."""
    start = billed_from_ms(life, terms)
    if start == NEVER:
        return NEVER
    if life.promised_back < life.units:
        end = life.taken_ms
    else:
        end = max(_end_ms(life, terms, release) for release in life.releases)
    return NEVER if end == NEVER else start + _paid_ms(terms, end - start)


def charge_nanos(life: Life, terms: Terms, now_ms: int) -> int:
    """Return what it has cost until now, rounded up to a nano-unit; units given back are paid for to their own end."""
    price = terms.price
    if price is None or now_ms < life.made_ms:
        return 0
    once = (price.once_nanos or 0) if life.first_of_order else 0
    if price.per == "purchase":
        return once + (price.nanos if life.first_of_order else 0)
    start = billed_from_ms(life, terms)
    if now_ms < start:
        return once
    return once + _time_nanos(life, terms, price, start, now_ms)


def _time_nanos(life: Life, terms: Terms, price: Price, start: int, now_ms: int) -> int:
    kept = life.units - life.promised_back
    portions = [(release.units, min(now_ms, _end_ms(life, terms, release))) for release in life.releases]
    if kept:
        portions.append((kept, min(now_ms, life.taken_ms)))
    if price.per == "hour":
        portions = [(1, max(end for _, end in portions))]
    unit_ms = sum(units * _paid_ms(terms, end - start) for units, end in portions)
    return -(-price.nanos * unit_ms // _HOUR_MS)


def _end_ms(life: Life, terms: Terms, release: Release) -> int:
    end = release.accepted_ms if terms.billing.ends == "return_accepted" else release.gone_ms
    return min(end, life.taken_ms)


def _paid_ms(terms: Terms, used_ms: int) -> int:
    if used_ms < 0:
        return 0  # given back before the charge would have begun
    quantum_ms = max(1, terms.billing.quantum_s) * 1000
    whole = -(-used_ms // quantum_ms) * quantum_ms
    return max(whole, terms.billing.minimum_s * 1000)
