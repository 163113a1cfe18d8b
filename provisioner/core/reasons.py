"""Every reason a decision can carry, in one place: a stable code and the sentence a person reads; it judges nothing."""

from enum import StrEnum

from attrs import frozen


class Why(StrEnum):
    """Stable codes; programs may match on them, people read the sentence."""

    BOUGHT = "bought"
    CHEAPEST = "cheapest"
    MET = "met"
    IN_FLIGHT = "in_flight"
    NO_PROVIDER = "no_provider"
    NO_OFFER_FITS = "no_offer_fits"
    WRONG_KIND = "wrong_kind"
    TOO_SMALL = "too_small"
    CONSTRAINT = "constraint"
    CONSUMER = "consumer"
    DEARER = "dearer"
    LOWER_PRIORITY = "lower_priority"
    OVER_MAX_PRICE = "over_max_price"
    UNKNOWN_PRICE = "unknown_price"
    QUOTE_AWAITED = "quote_awaited"
    FOREIGN_CURRENCY = "foreign_currency"
    CAPACITY = "capacity"
    LIMIT = "limit"
    GRANULARITY = "granularity"
    BACKED_OFF = "backed_off"
    PARKED = "parked"
    PAUSED = "paused"
    MEMORY_LOST = "memory_lost"
    PROVIDER_NOT_READY = "provider_not_ready"
    PROVIDER_UNSETTLED = "provider_unsettled"
    SOURCE_SILENT = "source_silent"
    EXPIRED = "expired"
    UNSENT_DROPPED = "unsent_dropped"
    UNNEEDED = "unneeded"
    IDLE = "idle"
    NEVER_JOINED = "never_joined"
    SURPLUS = "surplus"
    FAILED = "failed"
    NOTICE = "notice"
    WANTED_AGAIN = "wanted_again"
    BUSY = "busy"
    DRAIN_UNANSWERED = "drain_unanswered"
    DRAINED = "drained"
    OPERATOR = "operator"


SENTENCES: dict[Why, str] = {
    Why.BOUGHT: "bought for open demand",
    Why.CHEAPEST: "cheapest useful offer by priority, then cost",
    Why.MET: "met by what has joined",
    Why.IN_FLIGHT: "covered by what is bought and has not joined yet",
    Why.NO_PROVIDER: "no provider is configured",
    Why.NO_OFFER_FITS: "no offer fits",
    Why.WRONG_KIND: "offers another kind of thing",
    Why.TOO_SMALL: "smaller than one bundle of the line",
    Why.CONSTRAINT: "does not satisfy the line's `where`",
    Why.CONSUMER: "not open to the line's consumer",
    Why.DEARER: "costs more for what is useful of it",
    Why.LOWER_PRIORITY: "has a lower priority",
    Why.OVER_MAX_PRICE: "costs more than the line's max_price",
    Why.UNKNOWN_PRICE: "has no known price",
    Why.QUOTE_AWAITED: "has no price that holds, and is asked for a quote",
    Why.FOREIGN_CURRENCY: "is priced in a currency without a configured rate",
    Why.CAPACITY: "has no capacity left",
    Why.LIMIT: "has used up a limit it shares with others",
    Why.GRANULARITY: "can't be bought in so small a number",
    Why.BACKED_OFF: "is backed off after a refusal",
    Why.PARKED: "is parked until its description changes or its provider is started anew",
    Why.MEMORY_LOST: "its provider has lost its records, so what it says proves nothing until an operator resumes it",
    Why.PAUSED: "its provider is paused by an operator",
    Why.PROVIDER_NOT_READY: "its provider is not ready",
    Why.PROVIDER_UNSETTLED: "its provider is used one purchase at a time and one is unsettled",
    Why.SOURCE_SILENT: "the source has not been heard recently: nothing new is bought for it",
    Why.EXPIRED: "the line has expired",
    Why.UNSENT_DROPPED: "no longer wanted, and never sent",
    Why.UNNEEDED: "no longer wanted; the provider is asked to make no more of it",
    Why.IDLE: "idle longer than the idle time and of no use to open demand",
    Why.NEVER_JOINED: "did not join within the join deadline",
    Why.SURPLUS: "not needed any more before it joined",
    Why.FAILED: "the provider says it will never be usable",
    Why.NOTICE: "the far side gave notice",
    Why.WANTED_AGAIN: "wanted again before it was given back",
    Why.BUSY: "took work before it was drained",
    Why.DRAIN_UNANSWERED: "the source did not answer the drain in time",
    Why.DRAINED: "drained: the source promises no work on it",
    Why.OPERATOR: "an operator asked for it",
}


@frozen
class Reason:
    """A code, what it is about, and the number or name that decided."""

    why: Why
    detail: str = ""

    def sentence(self) -> str:
        """One plain sentence."""
        return f"{SENTENCES[self.why]} ({self.detail})" if self.detail else SENTENCES[self.why]
