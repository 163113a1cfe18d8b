"""The settings of one provider and what they say over its own description, as frozen values.

It alone says what an operator may override of a provider; it must not know how a description or a file is read.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final, Literal

from attrs import evolve, field, fields, frozen
from attrs.converters import optional

from provisioner.core.model import BillingEnd, BillingStart, Constraint, Price
from provisioner.core.setting_rows import Form, row

MIB: Final = 1024 * 1024
STARTS: Final = tuple(start.value for start in BillingStart)
ENDS: Final = tuple(end.value for end in BillingEnd)
USABLE_MEMORY_PERMILLE: Final = 925
"""Share of a host's memory that jobs can use until the scheduler's own figure teaches better (92.5 %)."""


@frozen(kw_only=True)
class BillingOverride:
    """What the operator says of billing; None leaves the provider's word."""

    quantum_s: int | None = field(
        default=None, metadata=row(Form.SECONDS, "Time is charged in steps of this.", least=1)
    )
    minimum_s: int | None = field(default=None, metadata=row(Form.SECONDS, "The least time that is charged."))
    starts: BillingStart | None = field(
        default=None,
        converter=optional(BillingStart),
        metadata=row(Form.CHOICE, "When charging starts.", choices=STARTS),
    )
    ends: BillingEnd | None = field(
        default=None,
        converter=optional(BillingEnd),
        metadata=row(Form.CHOICE, "When charging ends.", choices=ENDS),
    )


@frozen(kw_only=True)
class LeadTime:
    """How long a template takes from request to running."""

    typical_s: int = field(metadata=row(Form.SECONDS, "The usual time from request to running."))
    worst_s: int = field(metadata=row(Form.SECONDS, "The time that is rarely passed."))


@frozen(kw_only=True)
class TemplateOverride:
    """What the operator says of all templates that match a pattern; None leaves the provider's word."""

    pattern: str = field(metadata=row(Form.ENTRY_NAME, "Template name, with `*`, `?` and `[…]` as in file names."))
    price: Price | None = field(
        default=None, metadata=row(Form.PRICE, "What it costs, such as `3 USD/h` or `2 USD/unit-hour`.")
    )
    billing: BillingOverride | None = field(
        default=None, metadata=row(Form.SECTION, "How its time is charged.", of=BillingOverride)
    )
    lead_time: LeadTime | None = field(
        default=None, metadata=row(Form.SECTION, "Time from request to running.", of=LeadTime)
    )
    max_units: int | None = field(
        default=None, metadata=row(Form.COUNT, "Most units held at any time.", none_word="none")
    )
    priority: int | None = field(
        default=None, metadata=row(Form.COUNT, "Higher is asked first.", least=-1_000_000, most=1_000_000)
    )
    usable_memory_permille: int | None = field(
        default=None,
        metadata=row(
            Form.PERCENT, "Share of a host's memory that jobs can use.", key="usable.memory",
            least=1, most=1000, unstated="92.5%",
        ),
    )  # fmt: skip
    where: tuple[Constraint, ...] = field(
        default=(), metadata=row(Form.WHERE, "Only templates with these attributes are offered.", unstated="all")
    )
    consumers: tuple[str, ...] | None = field(
        default=None, metadata=row(Form.NAMES, "The only consumers it is bought for.", none_word="all")
    )
    idle_time_s: float | None = field(
        default=None, metadata=row(Form.DURATION, "Idle time of its hosts, instead of the policy's.")
    )


@frozen(kw_only=True)
class Credentials:
    """Names of what only the provider's process may see; never a secret itself."""

    file: tuple[str, ...] = field(
        default=(),
        metadata=row(Form.FILE_NAMES, "Names of credential files in the daemon's credentials folder.", unstated="none"),
    )
    env: tuple[str, ...] = field(
        default=(), metadata=row(Form.VARIABLES, "Names of environment variables that are handed on.", unstated="none")
    )


@frozen(kw_only=True)
class ProviderLimits:
    """How a provider's process is held to bounds."""

    calls: int = field(
        default=8,
        metadata=row(Form.COUNT, "Most calls open at once, if the provider allows as many.", least=1, most=256),
    )
    call_s: float = field(
        default=300.0, metadata=row(Form.DURATION, "Longest wait for an answer.", least=0.1, most=86_400)
    )
    start_s: float = field(
        default=60.0, metadata=row(Form.DURATION, "Longest wait for the answer to `initialize`.", least=0.1, most=3_600)
    )
    ping_s: float = field(
        default=20.0, metadata=row(Form.DURATION, "A provider quiet for this long is pinged.", least=0.1, most=3_600)
    )
    stop_s: float = field(
        default=2.0,
        metadata=row(
            Form.DURATION, "Pause on each rung when a process is ended: after end of input, after SIGTERM.", most=600
        ),
    )
    frame_bytes: int = field(
        default=16 * MIB,
        metadata=row(Form.SIZE, "Longest message accepted from the provider.", least=MIB, most=1024 * MIB),
    )
    memory_bytes: int | None = field(
        default=None,
        metadata=row(
            Form.SIZE,
            "Most memory of its process and all it starts, by a control group; without one, of each of them by itself.",
            least=16 * MIB, most=1024 * 1024 * MIB, none_word="none",
        ),
    )  # fmt: skip
    stderr_rate: int = field(
        default=100,
        metadata=row(
            Form.COUNT,
            "Most lines a second of its standard error that reach the daemon's log; the others are counted there.",
            least=1, most=100_000,
        ),
    )  # fmt: skip


@frozen(kw_only=True)
class ProviderSettings:
    """One entry of `providers`: a child process and how much it is used."""

    name: str = field(metadata=row(Form.ENTRY_NAME, "The provider's name."))
    command: tuple[str, ...] = field(metadata=row(Form.COMMAND, "The program and its arguments; never a secret."))
    credentials: Credentials = field(
        default=Credentials(),
        metadata=row(Form.SECTION, "Names of credentials for this process alone.", of=Credentials),
    )
    config: Mapping[str, object] = field(
        factory=lambda: MappingProxyType({}),
        metadata=row(Form.ANYTHING, "The provider's own configuration, handed on as it stands.", unstated="empty"),
    )
    priority: int = field(
        default=0,
        metadata=row(
            Form.COUNT, "Higher is asked first; at equal priority the cheapest.", least=-1_000_000, most=1_000_000
        ),
    )
    max_units: int | None = field(
        default=None, metadata=row(Form.COUNT, "Most units held of this provider at any time.", none_word="none")
    )
    limits: ProviderLimits = field(
        default=ProviderLimits(), metadata=row(Form.SECTION, "Bounds of its process.", of=ProviderLimits)
    )
    templates: tuple[TemplateOverride, ...] = field(
        default=(),
        metadata=row(
            Form.PATTERNS,
            "What wins over the provider's own description, by template pattern; the first that says it wins.",
            of=TemplateOverride, unstated="nothing",
        ),
    )  # fmt: skip
    orphans: Literal["report"] = field(
        default="report",
        metadata=row(
            Form.CHOICE,
            "As the setting `orphans`, for this provider.",
            choices=("report",),
            later_choices=("confirm", "automatic"),
        ),
    )  # fmt: skip
    retiring: bool = field(
        default=False,
        metadata=row(Form.FLAG, "Buys nothing, drains, and goes when its last host is proven gone.", later=True),
    )

    def override(self, template: str) -> TemplateOverride:
        """What the matching patterns say of one template: of each field the first that states it; conditions add up."""
        merged = TemplateOverride(pattern=template)
        for entry in self.templates:
            if fnmatchcase(template, entry.pattern):
                merged = _with_unstated_from(merged, entry)
        return merged


def _with_unstated_from(stated: TemplateOverride, entry: TemplateOverride) -> TemplateOverride:
    gaps = {a.name: getattr(entry, a.name) for a in fields(TemplateOverride) if getattr(stated, a.name) is None}
    return evolve(stated, **gaps, where=stated.where + entry.where)
