"""What a play came to: its sums, and every way in which our records and the clouds' own books disagree.

Pure: it compares what was read; it must not know how, nor who prints it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from provisioner.core.money import decimal_text, nanos_of
from provisioner.sim.wire import Json

__all__ = ["Account", "reckon"]


@frozen
class Account:
    """Hosts bought by cloud, the cost by our records (`total`) and by the clouds' books, and what is wrong."""

    hosts: Mapping[str, int]
    total_nanos: int
    booked_nanos: int
    currency: str
    left_over: tuple[str, ...]
    findings: tuple[str, ...]

    @property
    def total(self) -> str:
        """The cost as a decimal text."""
        return decimal_text(self.total_nanos)

    @property
    def booked(self) -> str:
        """What the clouds' books say it cost, as a decimal text."""
        return decimal_text(self.booked_nanos)


def reckon(instances: Sequence[Json], costs: Json, books: Mapping[str, Sequence[Json]]) -> Account:
    """Compare all instances ever listed, the total of the costs, and each provider's books; no finding: they agree."""
    findings = [*_sums(instances, costs), *_unknown_to_each_other(instances, books), *_differences(instances, books)]
    living = tuple(_living(instance) for instance in instances if instance["state"] != "gone")
    alive = tuple(
        f"{entry['instance']} at {provider} ({entry['state']} in its books)"
        for provider, entries in books.items()
        for entry in entries
        if entry["state"] != "gone"
    )
    return Account(
        hosts=dict(sorted(Counter(i["provider"] for i in instances).items())),
        total_nanos=nanos_of(costs["total"]),
        booked_nanos=sum(nanos_of(entry["charged"] or "0") for entries in books.values() for entry in entries),
        currency=costs["currency"],
        left_over=living + alive,
        findings=tuple(findings),
    )


def _living(instance: Json) -> str:
    return f"{instance['name'] or instance['id']} at {instance['provider']} ({instance['state']})"


def _sums(instances: Sequence[Json], costs: Json) -> Iterable[str]:
    summed = sum(nanos_of(i["cost"]) for i in instances if i["cost"] is not None)
    if summed != nanos_of(costs["total"]):
        yield f"the total is {costs['total']}, the instances' own costs add up to {decimal_text(summed)}"
    unpriced = [i["id"] for i in instances if i["cost"] is None]
    if unpriced:
        yield f"no cost is known of {', '.join(unpriced)}"


def _unknown_to_each_other(instances: Sequence[Json], books: Mapping[str, Sequence[Json]]) -> Iterable[str]:
    ours = Counter((i["provider"], i["provider_id"]) for i in instances)
    theirs = Counter((provider, entry["instance"]) for provider, entries in books.items() for entry in entries)
    for provider, id in sorted(theirs - ours):
        yield f"{id} is in the books of {provider} and not in our records"
    for provider, id in sorted(ours - theirs):
        yield f"{id} is in our records and not as often in the books of {provider}"


def _differences(instances: Sequence[Json], books: Mapping[str, Sequence[Json]]) -> Iterable[str]:
    charged: dict[tuple[str, Any], str | None] = {
        (provider, entry["instance"]): entry["charged"] for provider, entries in books.items() for entry in entries
    }
    for instance in instances:
        booked = charged.get((instance["provider"], instance["provider_id"]))
        if booked is not None and instance["cost"] is not None and nanos_of(booked) != nanos_of(instance["cost"]):
            yield f"{instance['id']} cost {instance['cost']} by our record, {booked} by its provider's books"
