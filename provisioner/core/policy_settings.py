"""The settings of buying and giving back, as frozen values.

It alone says by which figures is decided; it must not know how they are used or written.
"""

from typing import Final

from attrs import field, frozen

from provisioner.core.setting_rows import Form, row

MINUTE: Final = 60.0


@frozen(kw_only=True)
class Reclaim:
    """When hosts that are no longer needed are given back."""

    idle_time_s: float = field(
        default=10 * MINUTE, metadata=row(Form.DURATION, "A host idle this long, and not useful, is given back.")
    )
    min_hold_s: float | None = field(
        default=None,
        metadata=row(
            Form.DURATION,
            "A host is kept at least this long.",
            none_word="declared",
            unstated="declared: what its template says",
        ),
    )
    parallel_returns: int = field(
        default=10, metadata=row(Form.COUNT, "Give-backs of one provider that may be open at once.", least=1, most=1000)
    )


@frozen(kw_only=True)
class Drain:
    """How a source is asked to keep new work off a host."""

    answer_within_s: float = field(
        default=2 * MINUTE,
        metadata=row(
            Form.DURATION, "How long a source may take to answer a drain; silence never returns a host.", least=0.1
        ),
    )
    retry_s: float = field(
        default=10 * MINUTE,
        metadata=row(Form.DURATION, "Pause before a host whose drain was not answered is asked for again.", least=0.1),
    )


@frozen(kw_only=True)
class BackOff:
    """How long an offer that failed is left alone."""

    first_s: float = field(
        default=3 * MINUTE,
        metadata=row(Form.DURATION, "Pause after the first failure; each further one doubles it.", least=0.1),
    )
    most_s: float = field(default=30 * MINUTE, metadata=row(Form.DURATION, "The longest pause.", least=1))
    jitter_permille: int = field(
        default=200, metadata=row(Form.PERCENT, "How far a pause may be stretched at random.", most=1000)
    )
    park_after: int = field(
        default=10,
        metadata=row(
            Form.COUNT,
            "So many equal failures in a row park a template until its description changes or its provider restarts.",
            least=1,
        ),
    )


@frozen(kw_only=True)
class Join:
    """How long a new host may take to join the cluster."""

    first_s: float = field(
        default=15 * MINUTE,
        metadata=row(Form.DURATION, "Join deadline of a template before enough joins were seen.", least=1),
    )
    floor_s: float = field(
        default=5 * MINUTE, metadata=row(Form.DURATION, "The shortest learned join deadline.", later=True)
    )
    cap_s: float = field(
        default=30 * MINUTE, metadata=row(Form.DURATION, "The longest learned join deadline.", later=True)
    )
    factor_permille: int = field(
        default=1500,
        metadata=row(Form.PERCENT, "The learned deadline as a share of the slowest joins seen.", later=True),
    )


@frozen(kw_only=True)
class Extend:
    """How the end of what a provider takes back at a time it names is put off, while it is in use."""

    ahead_s: float = field(
        default=10 * MINUTE,
        metadata=row(
            Form.DURATION,
            "So long before its end a later one is asked for; at least twice what the provider takes for an answer.",
            least=0.1,
        ),
    )
    stay_s: float = field(
        default=60 * MINUTE,
        metadata=row(Form.DURATION, "How far from then the new end is asked for.", least=1),
    )


@frozen(kw_only=True)
class RequestLimits:
    """How big one purchase may be."""

    max_units: int = field(default=300, metadata=row(Form.COUNT, "Most units in one purchase; more is split.", least=1))


@frozen(kw_only=True)
class PolicySettings:
    """How purchases and give-backs are decided."""

    tick_s: float = field(
        default=10.0, metadata=row(Form.DURATION, "Longest pause between two planning passes.", least=0.1)
    )
    min_interval_s: float = field(
        default=1.0, metadata=row(Form.DURATION, "Shortest pause between two planning passes.")
    )
    shrink_delay_s: float = field(
        default=MINUTE,
        metadata=row(
            Form.DURATION,
            "What has not joined is drained, and a sent purchase ended, once nothing has needed it for this long.",
        ),
    )
    reclaim: Reclaim = field(default=Reclaim(), metadata=row(Form.SECTION, "When hosts are given back.", of=Reclaim))
    drain: Drain = field(default=Drain(), metadata=row(Form.SECTION, "How hosts are emptied first.", of=Drain))
    back_off: BackOff = field(
        default=BackOff(), metadata=row(Form.SECTION, "What a failed offer costs it.", of=BackOff)
    )
    join: Join = field(default=Join(), metadata=row(Form.SECTION, "How long a host may take to join.", of=Join))
    cover_s: float = field(
        default=10 * MINUTE,
        metadata=row(
            Form.DURATION,
            "A purchase overdue by this long, or of unknown outcome, stops answering demand; its money stays reserved.",
            key="cover.unless_learned",
        ),
    )
    extend: Extend = field(
        default=Extend(), metadata=row(Form.SECTION, "How an end that a provider named is put off.", of=Extend)
    )
    request: RequestLimits = field(
        default=RequestLimits(), metadata=row(Form.SECTION, "How big one purchase may be.", of=RequestLimits)
    )
