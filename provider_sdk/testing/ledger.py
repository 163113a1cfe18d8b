"""What the run has been told about its purchases, and what may therefore never be said again (RP-1, RP-2, IN-1, RQ-6).

Alone responsible for comparing reports and lists over the whole run. Sends nothing.
"""

from collections.abc import Iterator

from attrs import define, field

from provider_sdk.contract import Instance, InstanceState, Outcome, Report
from provider_sdk.testing.verdict import Broken

FINAL = (Outcome.MADE, Outcome.NOT_MADE)


@define
class Purchase:
    """One token: how often its request was sent, for how many units, and what was reported of it."""

    token: str
    units: int = 0
    sent: int = 0
    outcome: Outcome | None = None
    instances: set[str] = field(factory=set)
    gone_units: int = 0
    forgotten: bool = False


class Ledger:
    """All purchases of a run."""

    def __init__(self) -> None:
        """Begin with none."""
        self.purchases: dict[str, Purchase] = {}
        self._bearer: dict[str, str] = {}

    def asked(self, token: str, units: int) -> None:
        """Take down that a request is about to be sent."""
        purchase = self.purchases.setdefault(token, Purchase(token))
        purchase.units = purchase.units or units
        purchase.sent += 1

    def forgot(self, token: str) -> None:
        """Take down that the final answer is not asked for again."""
        self.purchases.setdefault(token, Purchase(token)).forgotten = True

    def reported(self, report: Report) -> Iterator[Broken]:
        """Take down a report; give what it contradicts."""
        purchase = self.purchases.setdefault(report.token, Purchase(report.token))
        now = {each.instance for each in report.instances}
        for each in now:
            yield from self._borne(each, report.token)
        if not purchase.forgotten:
            yield from _changed(purchase, report, now)
        if purchase.sent == 1 and purchase.outcome is None and purchase.units:
            yield from _too_much(purchase, report)
        if report.outcome in FINAL and purchase.outcome is None:
            purchase.outcome = report.outcome
        purchase.instances |= now
        purchase.gone_units = max(purchase.gone_units, report.gone_units or 0)

    def listed(self, instance: Instance) -> Iterator[Broken]:
        """Take down an instance of a list; give what its mark contradicts."""
        if instance.mark is not None and instance.mark.token is not None:
            yield from self._borne(instance.instance, instance.mark.token)

    def _borne(self, instance: str, token: str) -> Iterator[Broken]:
        first = self._bearer.setdefault(instance, token)
        if first != token:
            yield Broken(
                "IN-1", "an instance id that was never used before", f"{instance} of token {token}, seen under {first}"
            )


def _changed(purchase: Purchase, report: Report, now: set[str]) -> Iterator[Broken]:
    before = purchase.outcome
    if before is not None and report.outcome is not before:
        yield Broken("RP-1", f"outcome {before} of {report.token} for ever", f"outcome {report.outcome}")
    missing = purchase.instances - now
    if missing and (report.gone_units or 0) <= purchase.gone_units:
        expected = f"at least the instances reported before: {', '.join(sorted(purchase.instances))}"
        yield Broken("RP-2", expected, f"a report of {', '.join(sorted(now)) or 'none'}")
    if report.outcome is Outcome.NOT_MADE and any(each.state is not InstanceState.GONE for each in report.instances):
        yield Broken("RP-1", "no living instance under an outcome not_made", f"{', '.join(sorted(now))}")


def _too_much(purchase: Purchase, report: Report) -> Iterator[Broken]:
    units = [each.units for each in report.instances if each.state is not InstanceState.GONE]
    if units and sum(units) - purchase.units >= max(units):
        yield Broken("RQ-6", f"less than one instance above {purchase.units} units", f"{sum(units)} units")
