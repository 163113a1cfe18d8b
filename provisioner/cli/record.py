"""One record shown whole, a row a field, with what is nested in it as people write it.

It alone knows how the nested parts of the daemon's answers read: places, prices, shares, addresses, drains. It must not
know which command shows a record.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from provisioner.cli.show import age_text, clock_text, print_table
from provisioner.edge.rest_shape import BYTES

Body = dict[str, Any]
PER: Final = {"hour": "h", "unit_hour": "unit-hour", "purchase": "purchase"}
SIZES: Final = (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10))


def print_record(body: Body) -> None:
    """One record, a row a field; what is not stated is `-`."""
    rows = [(key, value_text(key, value)) for key, value in body.items()]
    print_table(("field", "value"), rows, "nothing", folded="value")


def value_text(key: str, value: object) -> str | None:
    """What stands in one field; None where nothing does."""
    if value is None or value in ([], {}):
        return None
    shown = _SHOWN.get(key)
    return _plain(value) if shown is None or not isinstance(value, dict | list) else shown(value)


def _plain(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case dict():
            return ", ".join(f"{key} {_nested(str(key), inner)}" for key, inner in value.items())
        case list():
            return "; ".join(_plain(inner) for inner in value)
        case _:
            return str(value)


def _nested(key: str, value: object) -> str:
    said = value_text(key, value) or "-"
    return f"({said})" if isinstance(value, dict) and value else said


def price_text(price: Body) -> str:
    """A price as the configuration writes it: `0.17 USD/h`."""
    once = f" and {price['once']} {price['currency']} once" if "once" in price else ""
    return f"{price['amount']} {price['currency']}/{PER.get(price['per'], price['per'])}{once}"


def place_text(place: Body) -> str:
    """From the widest to the narrowest: `us-east-1/us-east-1a`."""
    return "/".join(str(part) for part in place.values())


def amount_text(resource: str, amount: object) -> str | None:
    """An amount of a resource, bytes in the biggest unit that fits: `15.5GiB`; words as they are."""
    if isinstance(amount, list):
        return "|".join(str(word) for word in amount)
    if resource not in BYTES or not isinstance(amount, int):
        return None if amount is None else str(amount)
    for unit, size in SIZES:
        if amount >= size:
            return f"{amount / size:.1f}".removesuffix(".0") + unit
    return f"{amount}B"


def _amounts(amounts: Body) -> str:
    return ", ".join(f"{resource} {amount_text(resource, amount)}" for resource, amount in amounts.items())


def _addresses(addresses: list[Body]) -> str:
    return ", ".join(f"{a['address']} ({a['scope']})" for a in addresses)


def _shares(shares: list[Body]) -> str:
    return ", ".join(f"{s['source']}/{s['line']} × {s['units']}" for s in shares)


def _drain(drain: Body) -> str:
    until = f", answer until {clock_text(drain['deadline'])}" if drain["deadline"] else ""
    return f"{drain['kind']} {drain['id']}: {drain['reason']}, asked {clock_text(drain['asked_at'])}{until}"


def _notice(notice: Body) -> str:
    until = f" at {clock_text(notice['deadline'])}" if notice["deadline"] else ""
    return f"{notice['kind']}{until}" + (f": {notice['detail']}" if notice["detail"] else "")


def _progress(progress: Body) -> str:
    """How far a purchase is in its provider's words, and how long it takes from when that was told."""
    eta = f", about {age_text(progress['eta_s'])} more from then on" if progress["eta_s"] is not None else ""
    return f"{progress['phase']} (told at {clock_text(progress['at'])}{eta})"


def _return(giveback: Body) -> str:
    tries = f", tries {giveback['tries']}" if giveback["tries"] else ""
    return f"{giveback['id']} {giveback['state']}: {giveback['why']}{tries}" + (", stuck" if giveback["stuck"] else "")


def _problems(problems: list[Body]) -> str:
    return "; ".join(problem_text(problem) for problem in problems)


def problem_text(problem: Body) -> str:
    """A problem with all that is stated of it: `2 × no_capacity: sold out`."""
    units = f"{problem['units']} × " if "units" in problem else ""
    said = [str(problem[key]) for key in ("reason", "detail") if key in problem]
    said += [f"template {problem['template']}"] if "template" in problem else []
    said += [f"place {place_text(problem['place'])}"] if "place" in problem else []
    said += [f"limit {problem['limit']}"] if "limit" in problem else []
    said += [f"again after {problem['retry_after_s']} s"] if "retry_after_s" in problem else []
    return f"{units}{problem['error_class']}" + (f": {', '.join(said)}" if said else "")


def _items(items: list[Body]) -> str:
    return "; ".join(
        f"{i['instance']} ({i['provider_id']}) {i['state']}" + (f", keeps {i['keep']}" if i["keep"] else "")
        for i in items
    )


def _limits(limits: list[Body]) -> str:
    return "; ".join(
        " ".join(str(part) for part in (limit["limit"], limit["name"]) if part)
        + f" {'-' if limit['used'] is None else limit['used']} of {'-' if limit['max'] is None else limit['max']}"
        for limit in limits
    )


_SHOWN: Final[Mapping[str, Callable[[Any], str]]] = {
    "addresses": _addresses,
    "attributes": _amounts,
    "drain": _drain,
    "for": _shares,
    "items": _items,
    "limits": _limits,
    "notice": _notice,
    "place": place_text,
    "price": price_text,
    "problem": problem_text,
    "problems": _problems,
    "progress": _progress,
    "return": _return,
}
