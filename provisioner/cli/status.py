"""`provisioner status`: the state of everything in six answers, each with the command that says more.

It alone knows what an operator wants to know first; it judges by what the daemon says and nothing else.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from attrs import frozen

from provisioner.cli.amiss import blocked_text, pause_text, what_is_amiss
from provisioner.cli.ends import parked_text
from provisioner.cli.rest_client import Client
from provisioner.cli.show import age_text, count_text, money_text, print_lines

Body = dict[str, Any]
REASONS_SHOWN: Final = 3
BLOCKED_SHOWN: Final = 2
LABEL_WIDTH: Final = 10


@frozen(eq=False)
class Gathered:
    """The daemon's answers one status is made of; the last four are None while it starts."""

    health: Body
    costs: Body | None
    demand: Body | None
    supply: Body | None
    providers: Body | None

    def as_json(self) -> Body:
        """All answers under their names."""
        found = {"health": self.health, "costs": self.costs, "demand": self.demand, "supply": self.supply}
        return {**found, "providers": self.providers}


@frozen
class StatusLine:
    """One answer: its label, what is said, and the command that says more."""

    label: str
    text: str
    following: str


def gather(client: Client) -> Gathered:
    """Everything a status needs."""
    health = client.get("/v1/health")
    if health["status"] == "starting":
        return Gathered(health, None, None, None, None)
    costs, demand = client.get("/v1/costs"), client.get("/v1/demand")
    return Gathered(health, costs, demand, client.get("/v1/supply"), client.get("/v1/providers"))


def status_lines(found: Gathered) -> list[StatusLine]:
    """The answers in the order in which they matter."""
    lines = [_verdict(found.health)]
    if found.costs is not None:
        lines.append(_burn(found.costs))
    if found.demand is not None and found.costs is not None:
        lines.append(_uncovered(found.demand, str(found.costs["at"])))
    if found.demand is not None and found.supply is not None:
        lines.append(_sources(found.demand, found.supply))
    if found.providers is not None:
        lines.append(_providers(found.providers))
    return [*lines, _facts(found.health)]


def print_status(lines: Sequence[StatusLine]) -> None:
    """Two lines an answer: what is said, and the next command."""
    for line in lines:
        print_lines([line.text], indent=LABEL_WIDTH, label=line.label)
        print_lines([f"→ {line.following}"], indent=LABEL_WIDTH)


def _verdict(health: Body) -> StatusLine:
    status = str(health["status"])
    reasons = health["reasons"]
    text = "ok: everything is as it should be" if status == "ok" else f"{status}: {'; '.join(reasons)}"
    return StatusLine("verdict", f"{text} ({health['cluster']})", "provisioner providers")


def _burn(costs: Body) -> StatusLine:
    currency = costs["currency"]
    parts = ", ".join(f"{state} {money_text(sum_)}" for state, sum_ in costs["burn_by_state"].items() if sum_ != "0")
    text = f"{money_text(costs['burn_per_hour'])} {currency}/h now" + (f" ({parts})" if parts else "")
    text += f"; {money_text(costs['total'])} {currency} in all, {money_text(costs['reserved'])} reserved"
    if costs["unpriced"]:
        text += f"; of unknown price, hence in no sum: {costs['unpriced']}"
    return StatusLine("burn", text, "provisioner costs")


def _uncovered(demand: Body, now: str) -> StatusLine:
    lines = [(source, line) for source in demand["sources"] for line in source["lines"]]
    open_ = [(source, line) for source, line in lines if line["open"]]
    if not open_:
        total = sum(line["count"] for _, line in lines)
        flying = sum(line["in_flight"] for _, line in lines)
        text = f"covered: {total} wanted, {flying} on the way" if total else "nothing is lacking"
        return StatusLine("demand", text, "provisioner demand show")
    since = min(str(line["since"] or source["pushed_at"]) for source, line in open_)
    reasons: Counter[str] = Counter()
    for _, line in open_:
        reasons[line["reason"]["sentence"]] += line["open"]
    top = "; ".join(f"{n} × {reason}" for reason, n in reasons.most_common(REASONS_SHOWN))
    text = f"{sum(line['open'] for _, line in open_)} uncovered for {age_text(_between_s(since, now))}: {top}"
    source, line = max(open_, key=lambda pair: int(pair[1]["open"]))
    return StatusLine("demand", text, f"provisioner decisions --subject {source['source']}/{line['id']}")


def _between_s(begin: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()


def _sources(demand: Body, supply: Body) -> StatusLine:
    heard: dict[str, list[str]] = {}
    for what, body in (("demand", demand), ("supply", supply)):
        for source in body["sources"]:
            age = "not since the start" if source["age_s"] is None else age_text(source["age_s"])
            heard.setdefault(source["source"], []).append(f"{what} {age}" + ("" if source["fresh"] else " (silent)"))
    text = "; ".join(f"{name}: {', '.join(ages)}" for name, ages in sorted(heard.items()))
    return StatusLine("sources", text or "none has said anything", "provisioner supply show")


def _providers(providers: Body) -> StatusLine:
    every = providers["providers"]
    unready = [p for p in every if not p["ready"]]
    blocked = [blocked_text(p["provider"], offer) for p in every for offer in p["blocked"]]
    strangers = sum(p["strangers_count"] for p in every)
    text = f"{len(every) - len(unready)} of {len(every)} ready"
    if unready:
        text += ": " + "; ".join(_unready(p) for p in unready)
    for provider in every:
        if provider["paused"] is not None:
            text += f"; {provider['provider']} is {pause_text(provider)}"
        if parked_text(provider) is not None:
            text += f"; {provider['provider']}: {parked_text(provider)}"
    for sentence in blocked[:BLOCKED_SHOWN]:
        text += f"; {sentence}"
    if len(blocked) > BLOCKED_SHOWN:
        text += f"; and {count_text(len(blocked) - BLOCKED_SHOWN, 'offer')} more left alone"
    if strangers:
        text += f"; listed, but known to no fact: {strangers}"
    following = f"provisioner providers {unready[0]['provider']}" if unready else "provisioner providers"
    return StatusLine("providers", text, following)


def _unready(provider: Body) -> str:
    return f"{provider['provider']} is {provider['state'].replace('_', ' ')} ({what_is_amiss(provider)})"


def _facts(health: Body) -> StatusLine:
    facts = health["facts"]
    text = "writable" if facts["writable"] else f"not writable: {facts['why']}"
    return StatusLine("facts", f"{text}; up {age_text(health['uptime_s'])}", "provisioner requests")
