"""The provider's own section of the configuration, read into frozen values with every fault found.

Pure: the text of a price table comes through the given loader. Must not know storage, processes or contract
messages.
"""

from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Literal

from attrs import evolve, field, frozen

from providers.simulated.catalog import TypeRow, parse_rows, parse_table, select
from providers.simulated.conditions import Conditions, read_conditions, read_spread
from providers.simulated.draws import Spread
from providers.simulated.fault_orders import read_faults
from providers.simulated.faults import CLASSES, FaultPlan
from providers.simulated.offers import Model, Offer
from providers.simulated.reading import Fault, Section
from providers.simulated.selling import read_overrides, read_template, sell_row, template_name

LoadTable = Callable[[str], str | None]
"""Given the name of a price table, return its text, or None if there is none under that name."""

_MODELS: tuple[Model, ...] = ("on_demand", "spot")


@frozen
class Stock:
    """How many machines the cloud lets us hold altogether, what it answers beyond that, and whether it says so."""

    machines: int | None = None
    error_class: Literal["no_capacity", "quota"] = "no_capacity"
    stated: bool = True


@frozen
class HealthPlan:
    """What `ping` answers."""

    health: Literal["ok", "degraded", "down"] = "ok"
    error_class: str | None = None
    detail: str | None = None


@frozen
class Config:
    """Everything the simulated cloud and its provider are told."""

    offers: Mapping[str, Offer] = field(factory=dict)
    stock: Stock = field(default=Stock())
    fulfil: Spread = field(default=Spread(0, 0))
    return_time: Spread = field(default=Spread(1000, 1000))
    list_delay_ms: int = 0
    gone_visible_s: int = 3600
    faults: FaultPlan = field(default=FaultPlan())
    health: HealthPlan = HealthPlan()
    seed: int = 0
    cloud_dir: str | None = None
    domain: str | None = None
    in_flight: int = 8
    answer_s: int = 60
    token_lifetime_s: int = 30 * 86_400
    page: int = 1000
    quote_valid_ms: int = 60_000


def read_config(values: Mapping[str, object], load_table: LoadTable) -> tuple[Config, list[Fault]]:
    """Read the section; returns all faults in the order of reading, and beside them values that are usable defaults."""
    faults: list[Fault] = []
    top = Section(values, "", faults)
    base = read_conditions(top, Conditions())
    base = evolve(base, currency=_currency(top, base.currency))
    capacity = top.section("capacity")
    stock = Stock(
        machines=capacity.maybe_integer("machines", 0, 10**9),
        error_class=capacity.choice("error", ("no_capacity", "quota"), "no_capacity"),
        stated=capacity.flag("stated", True),
    )
    base = evolve(base, capacity=capacity.maybe_integer("per_template", 0, 10**9))
    capacity.close()
    offers = _read_offers(top, base, load_table)
    plan = read_faults(top.section("faults"), top.section("failures"))
    config = Config(
        offers={name: _mispriced(offer, plan) for name, offer in offers.items()},
        stock=stock,
        fulfil=read_spread(top, "fulfil_time", Spread(0, 0)),
        return_time=read_spread(top, "return_time", Spread(1000, 1000)),
        list_delay_ms=top.duration_ms("list_delay", 0),
        gone_visible_s=top.seconds("gone_visible", 3600),
        faults=plan,
        health=_read_health(top.section("health")),
        seed=top.integer("seed", 0),
        cloud_dir=top.text("cloud_dir", "") or None,
        domain=top.text("domain", "") or None,
        in_flight=top.integer("in_flight", 8, 1, 256),
        answer_s=top.seconds("answer_time", 60),
        token_lifetime_s=top.seconds("token_lifetime", 30 * 86_400),
        page=top.integer("page", 1000, 1, 1000),
        quote_valid_ms=top.duration_ms("quote_valid", 60_000),
    )
    if config.cloud_dir is not None and not config.cloud_dir.startswith("/"):
        top.blame("cloud_dir", "must be an absolute path")
    top.close()
    return config, faults


def _mispriced(offer: Offer, plan: FaultPlan) -> Offer:
    price = offer.terms.price
    for glob, currency in plan.prices.currency.items():
        if price is not None and fnmatchcase(offer.terms.template, glob):
            return evolve(offer, terms=evolve(offer.terms, price=evolve(price, currency=currency)))
    return offer


def _currency(top: Section, default: str) -> str:
    currency = top.text("currency", default)
    if len(currency) == 3 and currency.isascii() and currency.isalpha() and currency.isupper():
        return currency
    top.blame("currency", "must be three capital letters such as USD")
    return default


def _read_health(section: Section) -> HealthPlan:
    read = HealthPlan(
        health=section.choice("state", ("ok", "degraded", "down"), "ok"),
        error_class=section.choice("error_class", CLASSES, "transient") if section.has("error_class") else None,
        detail=section.text("detail", "") or None,
    )
    section.close()
    return read


def _read_offers(top: Section, base: Conditions, load_table: LoadTable) -> Mapping[str, Offer]:
    offers: dict[str, Offer] = {}
    models = _read_models(top)
    factor = top.factor("price_factor", "1")
    rows = _read_rows(top, load_table)
    names = [template_name(row, model) for row in rows for model in models]
    conditions = read_overrides(top, base, names)
    for row in rows:
        for model in models:
            offer = sell_row(row, model, factor, conditions[template_name(row, model)])
            offers[offer.terms.template] = offer
    for name, inner in top.sections("templates"):
        if name in offers:
            inner.faults.append(Fault(inner.pointer, "a type of the price table has this name already"))
        offers[name] = read_template(name, inner, base)
    for offer in offers.values():
        if offer.max_units < offer.min_units:
            top.blame("max_units", f"template {offer.terms.template}: max_units is below min_units")
    if not offers and not top.faults:
        top.blame("types", "nothing is for sale: name types of the price table, or write templates")
    return offers


def _read_models(top: Section) -> tuple[Model, ...]:
    told = top.texts("models") or ("on_demand",)
    models = tuple(model for model in _MODELS if model in told)
    if len(models) != len(told):
        top.blame("models", "must be a list of on_demand and spot")
    return models or ("on_demand",)


def _read_rows(top: Section, load_table: LoadTable) -> list[TypeRow]:
    table = _read_table(top, load_table)
    patterns = top.texts("types")
    if not patterns:
        return table if top.has("catalog") and not top.has("types") else []
    rows, idle = select(table, patterns)
    for pattern in idle if table or not top.faults else ():
        top.blame("types", f"{pattern} matches no type of the price table")
    return rows


def _read_table(top: Section, load_table: LoadTable) -> list[TypeRow]:
    told = top.raw("catalog")
    if isinstance(told, list | tuple):
        rows: Iterable[Mapping[str, object]] = [inner.values for inner in top.section_list("catalog")]
        table, wrong = parse_rows(rows, first=0)
        for fault in wrong:
            top.faults.append(Fault(f"/catalog/{fault.row}", fault.detail))
        return table
    if told is None and not top.has("types"):
        return []
    if not isinstance(told, str | None):
        top.blame("catalog", "must be the path of a CSV file, its text, or a list of rows")
        return []
    return _parsed(top, told or "ec2-on-demand.csv", load_table)


def _parsed(top: Section, told: str, load_table: LoadTable) -> list[TypeRow]:
    text = told if "\n" in told else load_table(told)
    if text is None:
        top.blame("catalog", f"no price table under {told[:100]}")
        return []
    table, wrong = parse_table(text)
    for fault in wrong:
        top.blame("catalog", f"row {fault.row}: {fault.detail}")
    return table
