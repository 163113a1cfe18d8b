"""The conditions of sale that a template inherits: from the whole configuration, from overrides, from itself.

Pure. Knows their notation; must not know price tables or what a template is made of.
"""

import re

from attrs import evolve, field, frozen

from providers.simulated.draws import Shape, Spread
from providers.simulated.offers import Billing, Ends, Kind, Model, Per, Spot, Starts
from providers.simulated.reading import Section

_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@=+/-]{0,199}")
_ATTRIBUTE = re.compile(r"[a-z][a-z0-9_.]{0,63}")
_SHAPES: tuple[Shape, ...] = ("fixed", "uniform", "lognormal")
_MODELS: tuple[Model, ...] = ("on_demand", "spot", "owned", "reserved")
_STARTS: tuple[Starts, ...] = ("requested", "made", "running")
_ENDS: tuple[Ends, ...] = ("return_accepted", "gone")
_KINDS: tuple[Kind, ...] = ("host", "grant")
_PERS: tuple[Per, ...] = ("hour", "unit_hour", "purchase")
_MOST_PER_REQUEST = 1000
# Price tables speak of amd64 as Go does; hosts and schedulers name their architecture as the kernel does.
_ARCHITECTURES = {"amd64": "x86_64", "arm64": "aarch64"}


@frozen
class Conditions:
    """What a template inherits: the whole configuration's values first, then overrides, then its own."""

    lead: Spread = field(default=Spread(30_000, 90_000, "lognormal"))
    billing: Billing = field(default=Billing())
    hold_min_s: int = 0
    hold_max_s: int | None = None
    spot: Spot = field(default=Spot(3600, 120))
    spot_factor: str = "0.35"
    boot_failures: float = 0.0
    min_units: int = 1
    step_units: int = 1
    max_units: int | None = None
    capacity: int | None = None
    priority: int | None = None
    region: str | None = None
    zone: str | None = None
    currency: str = "USD"


def read_spread(section: Section, key: str, default: Spread) -> Spread:
    """Read `{typical, worst, distribution}` or a single duration; a worst above the typical means lognormal."""
    if not section.has(key):
        return default
    if not isinstance(section.raw(key), dict):
        fixed = section.duration_ms(key, default.typical_ms)
        return Spread(fixed, fixed)
    inner = section.section(key)
    typical = inner.duration_ms("typical", default.typical_ms)
    worst = inner.duration_ms("worst", typical)
    fallback: Shape = "lognormal" if worst > typical else "fixed"
    shape = inner.choice("distribution", _SHAPES, fallback)
    if worst < typical:
        inner.blame("worst", "must not be shorter than typical")
    inner.close()
    return Spread(typical, max(typical, worst), shape)


def read_conditions(section: Section, base: Conditions) -> Conditions:
    """Read the keys that may stand at the top, in an override and in a template; what is absent is inherited."""
    hold, spot, billing = section.section("hold"), section.section("spot"), section.section("billing")
    read = evolve(
        base,
        lead=read_spread(section, "lead_time", base.lead),
        billing=Billing(
            quantum_s=max(1, billing.seconds("quantum", base.billing.quantum_s)),
            minimum_s=billing.seconds("minimum", base.billing.minimum_s),
            starts=billing.choice("starts", _STARTS, base.billing.starts),
            ends=billing.choice("ends", _ENDS, base.billing.ends),
        ),
        hold_min_s=hold.seconds("min", base.hold_min_s),
        hold_max_s=hold.maybe_seconds("max") or base.hold_max_s,
        spot=Spot(
            spot.seconds("mean_time_to_notice", base.spot.mean_to_notice_s), spot.seconds("notice", base.spot.notice_s)
        ),
        spot_factor=spot.factor("price_factor", base.spot_factor),
        boot_failures=section.rate("boot_failures", base.boot_failures),
        min_units=section.integer("min_units", base.min_units, 1),
        step_units=section.integer("step_units", base.step_units, 1),
        max_units=section.maybe_integer("max_units", 1) or base.max_units,
        priority=section.maybe_integer("priority", 0, 10**6) or base.priority,
        region=section.text("region", base.region or "") or None,
        zone=section.text("zone", base.zone or "") or None,
    )
    for inner in (hold, spot, billing):
        inner.close()
    return read
