"""Reads what is for sale from the configuration: inherited conditions, rows of a price table, templates written inline.

Pure. Knows the notation of templates; must not know capacity shared between them, faults to inject, or storage.
"""

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from fractions import Fraction
from math import ceil

from attrs import evolve

from providers.simulated.catalog import TypeRow, scaled_nanos
from providers.simulated.conditions import Conditions, read_conditions
from providers.simulated.draws import Shape
from providers.simulated.offers import Ends, Kind, Model, Offer, Per, Price, Starts, Terms
from providers.simulated.reading import Fault, Section

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


def read_overrides(section: Section, base: Conditions, names: Iterable[str]) -> dict[str, Conditions]:
    """Return the conditions of each named template under `overrides`, whose keys are globs applied in order."""
    conditions = dict.fromkeys(names, base)
    for pattern, inner in section.sections("overrides"):
        matching = [name for name in conditions if fnmatchcase(name, pattern)]
        if not matching:
            section.section("overrides").blame(pattern, "matches no type that is for sale")
        for name in matching or [""]:
            seen = len(inner.faults)
            read = read_conditions(inner, conditions.get(name, base))
            read = evolve(read, capacity=_capacity(inner, read))
            if len(inner.faults) > seen:
                break  # the same faults again for each template would say nothing new
            conditions[name] = read
        inner.close()
    conditions.pop("", None)
    return conditions


def sell_row(row: TypeRow, model: Model, factor: str, conditions: Conditions) -> Offer:
    """Turn a row of the price table into an offer; the spot twin of a type is called TYPE-spot."""
    price = None if row.price_nanos is None else scaled_nanos(row.price_nanos, factor)
    if price is not None and model == "spot":
        price = scaled_nanos(price, conditions.spot_factor)
    attributes: dict[str, object] = {
        "cores": row.cores,
        "memory": {"value": row.memory_mib, "unit": "MiB"},
        "gpus": row.gpus,
        "arch": _ARCHITECTURES.get(row.arch, row.arch),
    }
    terms = Terms(
        template=template_name(row, model),
        kind="host",
        unit="machine",
        attributes=attributes,
        place=_place(conditions),
        price=None if price is None else Price(price, conditions.currency),
        model=model,
        billing=conditions.billing,
        hold_min_s=conditions.hold_min_s,
        hold_max_s=conditions.hold_max_s,
    )
    return _offer(terms, conditions)


def template_name(row: TypeRow, model: Model) -> str:
    """Name the template that sells this type under this price model."""
    return f"{row.name}-spot" if model == "spot" else row.name


def read_template(name: str, section: Section, base: Conditions) -> Offer:
    """Read one template written inline."""
    if not _REF.fullmatch(name):
        section.faults.append(
            Fault(section.pointer, "a template's name is letters, digits and . _ : @ = + / - (at most 200)")
        )
    conditions = read_conditions(section, base)
    conditions = evolve(conditions, capacity=_capacity(section, conditions))
    kind = section.choice("kind", _KINDS, "host")
    terms = Terms(
        template=name,
        kind=kind,
        unit=section.text("unit", "machine" if kind == "host" else "token")[:32],
        attributes=_read_attributes(section, kind),
        place=_place(conditions),
        price=_read_price(section, kind, conditions.currency),
        model=section.choice("model", _MODELS, "on_demand"),
        billing=conditions.billing,
        hold_min_s=conditions.hold_min_s,
        hold_max_s=conditions.hold_max_s,
        access={key: str(value) for key, value in section.section("access").values.items()},
    )
    section.close()
    return _offer(terms, conditions)


def _offer(terms: Terms, conditions: Conditions) -> Offer:
    most = conditions.max_units or min(100 if terms.kind == "host" else _MOST_PER_REQUEST, conditions.capacity or 10**9)
    return Offer(
        terms=terms,
        lead=conditions.lead,
        capacity=conditions.capacity,
        min_units=conditions.min_units,
        step_units=conditions.step_units,
        max_units=min(most, _MOST_PER_REQUEST) if terms.kind == "host" else most,
        spot=conditions.spot if terms.model == "spot" else None,
        priority=conditions.priority,
        boot_failures=conditions.boot_failures,
    )


def _capacity(section: Section, conditions: Conditions) -> int | None:
    own = section.maybe_integer("capacity", 0, 10**9)
    return conditions.capacity if own is None else own


def _place(conditions: Conditions) -> dict[str, str]:
    pairs = (("region", conditions.region), ("zone", conditions.zone))
    return {key: value[:64] for key, value in pairs if value is not None}


def _read_attributes(section: Section, kind: Kind) -> dict[str, object]:
    attributes = _read_free_attributes(section.section("attributes"))
    for key in ("cores", "gpus"):
        figure = section.maybe_integer(key, 0, 10**6)
        if figure is not None:
            attributes[key] = figure
    for key in ("memory", "disk"):
        if section.has(key):
            attributes[key] = _read_size(section, key)
    for key in ("arch", "os", "gpu_model"):
        if section.has(key):
            attributes[key] = section.text(key, "")
    if kind == "host" and "cores" not in attributes:
        section.blame("cores", "a host template must say how many cores a machine has")
    return attributes


def _read_free_attributes(section: Section) -> dict[str, object]:
    for key, value in section.values.items():
        if not _ATTRIBUTE.fullmatch(key):
            section.blame(key, "must be a name of lower-case letters, digits, _ and .")
        plain = isinstance(value, list) and all(isinstance(item, str) for item in value)
        if not isinstance(value, str | int | float | bool) and not plain:
            section.blame(key, "must be a string, a number, true, false or a list of strings")
    return dict(section.values)


def _read_size(section: Section, key: str) -> dict[str, object]:
    value = section.raw(key)
    found = re.fullmatch(r"(\d{1,12})(B|KiB|MiB|GiB|TiB)", value) if isinstance(value, str) else None
    if found is not None:
        return {"value": int(found[1]), "unit": found[2]}
    inner = section.section(key)
    unit = inner.choice("unit", ("B", "KiB", "MiB", "GiB", "TiB"), "MiB")
    if not inner.has("value"):
        inner.blame("value", 'is missing; write {value: 4096, unit: MiB} or "4096MiB"')
    size = inner.integer("value", 0)
    inner.close()
    return {"value": size, "unit": unit}


def _read_price(section: Section, kind: Kind, currency: str) -> Price | None:
    if not section.has("price"):
        return None
    per: Per = "hour" if kind == "host" else "unit_hour"
    if not isinstance(section.raw("price"), dict):
        amount = section.amount("price")
        return None if amount is None else Price(_nanos(amount), currency, per)
    inner = section.section("price")
    amount, once = inner.amount("amount"), inner.amount("once")
    if not inner.has("amount"):
        inner.blame("amount", "is missing")
    told, per = inner.text("currency", currency), inner.choice("per", _PERS, per)
    inner.close()
    if amount is None:
        return None
    return Price(_nanos(amount), told, per, None if once is None else _nanos(once))


def _nanos(amount: str) -> int:
    return ceil(Fraction(amount) * 10**9)
