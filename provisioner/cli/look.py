"""What the commands that only look print for people: providers, requests, instances, costs, decisions, demand, supply.

It alone knows which columns matter to a reader; the daemon's JSON is printed by show.py.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

from provisioner.cli.rest_client import Client
from provisioner.cli.show import age_text, clock_text, money_text, print_lines, print_table

Body = dict[str, Any]
Prints = Callable[[Body], None]


def path_with(path: str, **parameters: str | None) -> str:
    """The path with those parameters that are stated."""
    stated = {name: value for name, value in parameters.items() if value is not None}
    return f"{path}?{urlencode(stated)}" if stated else path


def path_to(path: str, name: str) -> str:
    """The path of one named record; the name is somebody's typing."""
    return f"{path}/{quote(name, safe='')}"


def all_pages(client: Client, path: str, name: str) -> Body:
    """All records of a list in one body."""
    return {name: client.get_all(path, name)}


def print_providers(body: Body) -> None:
    """One row a provider, and one for each offer that is left alone."""
    rows = [
        (
            p["provider"], p["state"].replace("_", " "), p["pid"], p["instances"], p["in_flight"], p["template_count"],
            _remark(p),
        )
        for p in body["providers"]
    ]  # fmt: skip
    print_table(("provider", "state", "pid", "held", "calls", "offers", "remark"), rows, "no provider is configured")
    for provider in body["providers"]:
        for offer in provider["blocked"]:
            until = "until freed" if offer["parked"] else f"until {clock_text(offer['until'])}"
            what = f"{provider['provider']}/{offer['template']}"
            print_lines([f"{what}: {offer['failures']} × {offer['error_class']}, left alone {until}"])


def _remark(provider: Body) -> str | None:
    if provider["credentials_refused"]:
        return "its credentials are refused"
    if provider["strangers_count"]:
        return f"lists what no fact knows: {provider['strangers_count']}"
    if provider["ready"]:
        return None
    return provider["last_end"] or "not ready"


def print_provider(body: Body) -> None:
    """One provider with its templates."""
    print_providers({"providers": [body]})
    rows = [
        (t["template"], t["hourly"], t["attributes"].get("cores"), _place(t), _blocked(t), ", ".join(t["overridden"]))
        for t in body["templates"]
    ]
    print()
    print_table(("template", "per hour", "cores", "place", "blocked", "overridden"), rows, "it describes no templates")


def _place(thing: Body) -> str:
    return "/".join(thing["place"].values())


def _blocked(template: Body) -> str | None:
    blocked = template["blocked"]
    return None if blocked is None else blocked["sentence"]


def print_requests(body: Body) -> None:
    """One row a purchase or give-back, oldest first."""
    rows = [
        (r["id"], r["kind"], r["state"], _what(r), r["units"], clock_text(r["since"]), _why(r))
        for r in sorted(body["requests"], key=_planned_at)
    ]
    print_table(("request", "kind", "state", "of", "units", "since", "reason"), rows, "no request is open")


def _planned_at(request: Body) -> str:
    return str(request["planned_at"])


def _what(request: Body) -> str:
    return str(request["provider"]) + (f"/{request['template']}" if request["template"] else "")


def _why(request: Body) -> str | None:
    problems = ", ".join(dict.fromkeys(p["error_class"] for p in request["problems"]))
    return problems or request["reason"]


def print_instances(body: Body) -> None:
    """One row an instance, by provider and template."""
    rows = [
        (
            i["id"], i["state"], f"{i['provider']}/{i['template']}", money_text(i["cost"]), i["consumer"],
            (i["drain"] or i["notice"] or {}).get("kind"), _short(i["name"]) or i["provider_id"],
        )
        for i in sorted(body["instances"], key=_by_offer)
    ]  # fmt: skip
    print_table(("instance", "state", "of", "cost", "for", "drain", "name"), rows, "there is none")


def _by_offer(instance: Body) -> tuple[str, str, str]:
    return (instance["provider"], instance["template"], instance["id"])


def _short(name: str | None) -> str | None:
    """A host name without its domain; an address as it is."""
    return name.partition(".")[0] if name is not None and name[:1].isalpha() else name


def print_one(body: Body) -> None:
    """One record, a row a field."""
    print_table(("field", "value"), [(key, _value(value)) for key, value in body.items()], "nothing")


def _value(value: object) -> str | None:
    match value:
        case None | [] | {}:
            return None
        case bool():
            return "yes" if value else "no"
        case dict():
            return ", ".join(f"{key} {_value(inner)}" for key, inner in value.items())
        case list():
            return "; ".join(str(_value(inner)) for inner in value)
        case _:
            return str(value)


def print_costs(body: Body) -> None:
    """The sum, and by whom it was made."""
    currency = body["currency"]
    rows: list[tuple[object, ...]] = [("everything", money_text(body["total"]), money_text(body["burn_per_hour"]))]
    rows += [(f"provider {name}", money_text(total), None) for name, total in body["per_provider"].items()]
    rows += [(f"consumer {name}", money_text(total), None) for name, total in body["per_consumer"].items()]
    rows += [(f"now {state}", None, money_text(burn)) for state, burn in body["burn_by_state"].items()]
    print_table(("of", f"so far {currency}", f"{currency} per hour"), rows, "nothing")
    if body["unpriced"]:
        print_lines([f"of unknown price, hence in no sum: {body['unpriced']}"])


def print_decisions(body: Body) -> None:
    """One row a decision, newest first."""
    rows = [(clock_text(d["at"]), _act(d), d["subject"], _offer(d), d["reason"]["sentence"]) for d in body["decisions"]]
    print_table(("at (UTC)", "what", "about", "of", "reason"), rows, "nothing was decided", whole=("about",))


def _act(decision: Body) -> str:
    return str(decision["what"]) + (f" {decision['units']}" if decision["units"] is not None else "")


def _offer(decision: Body) -> str | None:
    return "/".join(part for part in (decision["provider"], decision["template"]) if part) or None


def print_demand(body: Body) -> None:
    """One row a line; count = met + in flight + open."""
    rows = [
        (
            f"{s['source']}/{line['id']}", line["count"], line["met"], line["in_flight"], line["open"],
            line["reason"]["sentence"] if line["open"] else None,
        )
        for s in body["sources"]
        for line in s["lines"]
    ]  # fmt: skip
    print_table(("line", "count", "met", "coming", "open", "reason"), rows, "no source lacks anything")


def print_supply(body: Body) -> None:
    """One row an entry, and how old each source's word is."""
    rows = [
        (e["instance"], e["state"], s["source"], clock_text(e["since"]), e["drain"], _short(e["name"]))
        for s in body["sources"]
        for e in s["entries"]
    ]
    print_table(("instance", "state", "source", "since", "drain", "name"), rows, "no source has anything")
    for source in body["sources"]:
        silent = "" if source["fresh"] else ", which is too long ago: it is taken as silent"
        print_lines([f"{source['source']} was heard {age_text(source['age_s'])} ago{silent}"])


def print_pushed(source: str, body: Body) -> None:
    """What came of a push."""
    order = body["current"]
    print_lines([f"taken in as revision {order['revision']} of {source}" + ("" if body["news"] else " (no news)")])
    if body["held_back"]:
        print_lines([f"held back: {body['held_back']}"])
    for drain in body["drain"]:
        print_lines([f"drain {drain['name'] or drain['instance']} ({drain['id']}, {drain['kind']}): {drain['reason']}"])
    for instance in body["reopened"]:
        print_lines([f"open {instance} again: nothing asks for its drain any more"])
    for name in body["unmatched"]:
        print_lines([f"{name} is none of the provisioner's"])
