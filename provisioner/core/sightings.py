"""What a provider told of things and purchases, in our words: instances, marks, reports; values only.

It must not know in which call or notification it was told, nor what comes of it.
"""

from attrs import frozen

from provisioner.core.model import Amounts, Kind, Labels, Notice, Place, Problem


@frozen
class SeenMark:
    """What a thing bears of a mark; parts that are not shown are None."""

    cluster: str | None = None
    lineage: str | None = None
    provider: str | None = None
    request: str | None = None
    token: str | None = None
    epoch: int | None = None


@frozen
class SeenInstance:
    """One instance as a provider told of it in a report or a list."""

    provider_id: str
    kind: Kind
    units: int
    state: str
    template: str | None = None
    reason: str = ""
    name: str | None = None
    addresses: tuple[tuple[str, str], ...] = ()
    place: Place | None = None
    labels: Labels | None = None
    size: Amounts | None = None
    made_at: float | None = None
    billed_from: float | None = None
    billed_until: float | None = None
    expires_at: float | None = None
    charged_nanos: int | None = None
    notice: Notice | None = None
    notice_stated: bool = True
    mark: SeenMark | None = None


@frozen
class Report:
    """A provider's word on one purchase; `outcome` is pending, made, not_made or unknown (contract v2 §3).

    `phase` and `eta_s` say how far it is, `cancelling` that a cancel was taken and is not settled: for people.
    """

    request: str
    token: str
    outcome: str
    instances: tuple[SeenInstance, ...] = ()
    gone_units: int = 0
    problems: tuple[Problem, ...] = ()
    poll_after_s: int | None = None
    phase: str | None = None
    eta_s: int | None = None
    cancelling: bool = False
