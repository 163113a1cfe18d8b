"""What the commands that only look print for people: providers, requests, instances, costs, decisions, demand, supply.

It alone knows which columns matter to a reader; the daemon's JSON is printed by show.py.
"""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from provisioner.cli.amiss import blocked_text, pause_text, what_is_amiss
from provisioner.cli.ends import parked_record_text, parked_text, print_ends
from provisioner.cli.record import amount_text, place_text, print_record, problem_text, value_text
from provisioner.cli.rest_client import Client
from provisioner.cli.show import age_text, clock_text, count_text, money_text, print_lines, print_table

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
    """One row a provider, and one for each offer that is left alone, with what ends that."""
    rows = [
        (
            p["provider"], p["state"].replace("_", " "), p["pid"], p["instances"], p["in_flight"], p["template_count"],
            _remark(p),
        )
        for p in body["providers"]
    ]  # fmt: skip
    columns = ("provider", "state", "pid", "held", "calls", "offers", "remark")
    print_table(columns, rows, "no provider is configured", whole=("state",), folded="remark")
    for provider in body["providers"]:
        _print_blocked(provider)


def _print_blocked(provider: Body) -> None:
    print_lines([blocked_text(provider["provider"], offer) for offer in provider["blocked"]])


def _remark(provider: Body) -> str | None:
    remarks = [pause_text(provider), what_is_amiss(provider)]
    remarks.append(parked_text(provider))
    if provider["throttled_until"]:
        remarks.append(f"asked for a pause until {clock_text(provider['throttled_until'])}")
    if provider["strangers_count"]:
        remarks.append(f"lists what no fact knows: {provider['strangers_count']}")
    if provider["list"] is not None and not provider["list"]["complete"]:
        remarks.append(_unread_text(provider["list"]))
    return "; ".join(remark for remark in remarks if remark) or None


def _unread_text(last: Body) -> str:
    """What its newest list leaves out: until it is whole, it proves no absence."""
    places = ", ".join(place_text(place) or "?" for place in last["missing_places"])
    classes = ", ".join(dict.fromkeys(problem["error_class"] for problem in last["problems"]))
    parts = [f"not read: {places}"] if places else []
    parts += [classes] if classes else []
    return "its list is incomplete" + (f" ({'; '.join(parts)})" if parts else "")


def print_provider(body: Body) -> None:
    """One provider whole: what is known of it, what is left alone, and its templates."""
    print_record({key: value for key, value in body.items() if key not in ("templates", "blocked", "ends")})
    amiss = what_is_amiss(body)
    if amiss is not None or body["blocked"]:
        print()
    if amiss is not None:
        print_lines([f"{body['provider']}: {amiss}"])
    parked = parked_text(body)
    print_lines([f"{body['provider']}: {parked}"] if parked else [])
    _print_blocked(body)
    print_ends(body["ends"])
    rows = [
        (
            t["template"], t["unit"], t["hourly"], t["attributes"].get("cores"),
            amount_text("memory", t["attributes"].get("memory")), t["capacity"]["available"], place_text(t["place"]),
        )
        for t in body["templates"]
    ]  # fmt: skip
    columns = ("template", "unit", "per hour", "cores", "memory", "left", "place")
    print()
    print_table(
        *_telling(columns, rows, ("cores", "memory", "left")),
        "it describes no templates",
        below=[_of_template(t) for t in body["templates"]],
    )


def _of_template(template: Body) -> str | None:
    said = []
    if template["blocked"] is not None:
        number = f" ({template['blocked']['number']})" if template["blocked"]["number"] else ""
        said.append(f"{template['blocked']['sentence']}{number}")
    if template["overridden"]:
        said.append(f"overridden by the configuration: {', '.join(template['overridden'])}")
    return "; ".join(said) or None


def _telling(
    columns: Sequence[str], rows: Sequence[Sequence[object]], optional: Sequence[str]
) -> tuple[Sequence[str], Sequence[Sequence[object]]]:
    """Columns and rows without those optional columns in which nothing stands."""
    kept = [n for n, name in enumerate(columns) if name not in optional or any(row[n] is not None for row in rows)]
    return [columns[n] for n in kept], [[row[n] for n in kept] for row in rows]


def print_requests(body: Body) -> None:
    """One row a purchase or give-back, oldest first, and below each why it stands so."""
    requests = sorted(body["requests"], key=_planned_at)
    rows = [(r["id"], _asked(r), r["state"], clock_text(r["since"]), _what(r)) for r in requests]
    columns = ("request", "what", "state", "since", "of")
    print_table(columns, rows, "no request is open", whole=("since",), below=[_why(r) for r in requests])


def _planned_at(request: Body) -> str:
    return str(request["planned_at"])


def _asked(request: Body) -> str:
    """How much of what: `acquire 2 hosts`, `acquire 1 unit`, `return 3`."""
    if request["kind"] != "acquire":
        return f"{request['kind']} {request['units']}"
    return f"acquire {count_text(request['units'], 'host' if request['thing'] == 'host' else 'unit')}"


def _what(request: Body) -> str:
    return str(request["provider"]) + (f"/{request['template']}" if request["template"] else "")


def _why(request: Body) -> str | None:
    problems = "; ".join(dict.fromkeys(problem_text(p) for p in request["problems"]))
    progress = value_text("progress", request.get("progress"))
    said = (problems or request["reason"], progress, _ending(request), parked_record_text(request))
    return "; ".join(part for part in said if part) or None


def _ending(request: Body) -> str | None:
    return "a cancel was taken and is not settled yet" if request.get("cancelling") else None


def print_instances(body: Body) -> None:
    """One row an instance, by provider and template; a consumer is named where there is another than `default`."""
    rows = [
        (
            i["id"], i["state"], f"{i['provider']}/{i['template']}", i["units"], money_text(i["cost"]),
            i["consumer"] if i["consumer"] != "default" else None, (i["drain"] or i["notice"] or {}).get("kind"),
            _short(i["name"]) or i["provider_id"],
        )
        for i in sorted(body["instances"], key=_by_offer)
    ]  # fmt: skip
    columns = ("instance", "state", "of", "units", "cost", "for", "drain", "name")
    print_table(*_telling(columns, rows, ("for", "drain")), "there is none")


def _by_offer(instance: Body) -> tuple[str, str, str]:
    return (instance["provider"], instance["template"], instance["id"])


def _short(name: str | None) -> str | None:
    """A host name without its domain; an address as it is."""
    return name.partition(".")[0] if name is not None and name[:1].isalpha() else name


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


def decisions_about(subject: str | None) -> Prints:
    """Prints one row a decision, newest first, and its reason below; the subject asked for is not said again."""

    def printed(body: Body) -> None:
        decisions = body["decisions"]
        rows = [
            (clock_text(d["at"]), _act(d), d["subject"] if d["subject"] != subject else None, _offer(d))
            for d in decisions
        ]
        columns, cells = _telling(("at (UTC)", "what", "about", "of"), rows, ("about", "of"))
        print_table(columns, cells, "nothing was decided", below=[d["reason"]["sentence"] for d in decisions])

    return printed


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
    columns = ("line", "count", "met", "coming", "open", "reason")
    print_table(columns, rows, "no source lacks anything", folded="reason")


def print_supply(body: Body) -> None:
    """One row an entry, and how old each source's word is."""
    rows = [
        (e["instance"], e["state"], s["source"], clock_text(e["since"]), e["drain"], _short(e["name"]))
        for s in body["sources"]
        for e in s["entries"]
    ]
    print_table(("instance", "state", "source", "since", "drain", "name"), rows, "no source has anything")
    for source in body["sources"]:
        print_lines([f"{source['source']} was {_heard(source)}"])


def _heard(source: Body) -> str:
    if source["age_s"] is None:
        return "not heard since the start" + ("" if source["fresh"] else ": it is taken as silent until it is")
    silent = "" if source["fresh"] else ", which is too long ago: it is taken as silent"
    return f"heard {age_text(source['age_s'])} ago{silent}"


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
