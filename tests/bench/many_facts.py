"""The facts of a cluster that runs many hosts, as they would stand after it had bought them; written through a link.

Knows what facts look like in the middle of their lives. Must not know how they are read again.
"""

from __future__ import annotations

from collections.abc import Iterator

from provisioner.core.facts import (
    DecisionFact,
    DemandFact,
    DescriptionFact,
    EpochFact,
    Fact,
    FactKind,
    HeadFact,
    InstanceFact,
    ProcessFact,
    RequestFact,
    SupplyFact,
)
from provisioner.core.ids import decision_id, digest, instance_id, request_id, token_of
from provisioner.core.instance import InstanceState
from provisioner.core.lease import PLANNER, provider_lease
from provisioner.core.model import (
    Billing,
    Carrier,
    EntryState,
    Kind,
    Line,
    Per,
    Place,
    Price,
    Rejected,
    Share,
    SupplyEntry,
    Template,
    Terms,
)
from provisioner.core.reasons import Reason, Why
from provisioner.core.request import RequestState
from provisioner.edge.fact_codec import encode_fact
from provisioner.runtime.links.link import Batch, Committed, Link, Put
from tests.core.play import TRUSTED

PROVIDERS = ("east", "west")
SOURCE = "lsf"
PER_REQUEST = 10
LINES = 20
TEMPLATES = 40
REQUESTS_A_COMMIT = 50
STARTED_AT = 1_900_000_000.0
GIB = 1024**3
SIZE = (("cores", 16_000), ("memory", 64 * GIB * 1_000), ("disk", 200 * GIB * 1_000))
LABELS = (("arch", "x86_64"), ("instance_type", "m6i.4xlarge"), ("os", "linux"))
TERMS = Terms(
    price=Price(768_000_000, "USD", Per.HOUR),
    billing=Billing(quantum_s=1, minimum_s=60),
    hold_min_s=300,
    size=SIZE,
    labels=LABELS,
    place=Place("us-east-1", "us-east-1a"),
    units_per_instance=1,
    lead_typical_s=90,
    lead_worst_s=300,
)

Written = tuple[FactKind, str, Fact]


class NotWritten(Exception):
    """The facts could not be prepared."""


async def write_cluster(link: Link, requests: int) -> int:
    """Writes so many purchases of ten running hosts each, and all that stands beside them; returns how many hosts."""
    bought = [list(_purchase(n)) for n in range(requests)]
    for first in range(0, requests, REQUESTS_A_COMMIT):
        await _commit(link, [fact for one in bought[first : first + REQUESTS_A_COMMIT] for fact in one])
    hosts = [fact for one in bought for _, _, fact in one if isinstance(fact, InstanceFact)]
    await _commit(link, list(_around(hosts)))
    return len(hosts)


async def _commit(link: Link, facts: list[Written]) -> None:
    puts = tuple(Put(kind.value, id_, encode_fact(fact), 0) for kind, id_, fact in facts)
    found = await link.commit(Batch(puts))
    if not isinstance(found, Committed):
        raise NotWritten(f"writing the facts came to {found}")


def _purchase(n: int) -> Iterator[Written]:
    """One purchase that was made whole, its hosts, and the decision that explains it."""
    at, provider = STARTED_AT + 30.0 * n, PROVIDERS[n % len(PROVIDERS)]
    request, decision = request_id("bench", n), decision_id("bench", n)
    token, shares = token_of(request, 1), (Share(SOURCE, _line(n), PER_REQUEST * 4),)
    hosts = [_host(provider, request, token, shares, n, ordinal, at) for ordinal in range(PER_REQUEST)]
    yield (
        FactKind.REQUEST,
        request,
        RequestFact(
            id=request,
            provider=provider,
            template="m6i.4xlarge@us-east-1a",
            kind=Kind.HOST,
            token=token,
            units=PER_REQUEST,
            min_units=1,
            consumer="default",
            shares=shares,
            terms=TERMS,
            reserve_nanos=7_680_000_000,
            price_cap=TERMS.price,
            planned_at=at,
            send_by=at + 120,
            deadline_at=at + 900,
            decision=decision,
            state=RequestState.FULFILLED,
            state_at=at + 2,
            carrier=Carrier(3, 1),
            frames=1,
            mark_epoch=3,
            sent_at=at + 0.1,
            made_units=PER_REQUEST,
            instances=tuple(host.id for host in hosts),
            reason="all of it was made",
            settled_at=at + 2,
        ),
    )
    yield from ((FactKind.INSTANCE, host.id, host) for host in hosts)
    dearer = tuple(Rejected(p, f"r6i.4xlarge@us-east-1{z}", "dearer", "1.008 USD/h") for p in PROVIDERS for z in "ab")
    yield (
        FactKind.DECISION,
        decision,
        DecisionFact(
            id=decision,
            at=at,
            what="buy",
            subject=request,
            reason=Reason(Why.CHEAPEST),
            lines=shares,
            provider=provider,
            template="m6i.4xlarge@us-east-1a",
            units=PER_REQUEST,
            rejected=dearer,
        ),
    )


def _host(  # one running host of a purchase
    provider: str, request: str, token: str, shares: tuple[Share, ...], n: int, ordinal: int, at: float
) -> InstanceFact:
    provider_id = f"i-{digest('host', str(n), str(ordinal), length=17)}"
    a, b = divmod(n * PER_REQUEST + ordinal, 250)
    return InstanceFact(
        id=instance_id(provider, provider_id, token),
        provider=provider,
        provider_id=provider_id,
        kind=Kind.HOST,
        template="m6i.4xlarge@us-east-1a",
        token=token,
        request=request,
        units=1,
        units_made=1,
        consumer="default",
        shares=shares,
        terms=TERMS,
        requested_at=at,
        made_at=at + 2,
        state=InstanceState.RUNNING,
        state_at=at + 90,
        labels=LABELS,
        size=SIZE,
        place=TERMS.place,
        name=f"ip-10-{n % 4}-{a}-{b}.ec2.internal",
        addresses=((f"10.{n % 4}.{a}.{b}", "private"),),
        running_at=at + 90,
        billed_from=at + 2,
    )


def _around(hosts: list[InstanceFact]) -> Iterator[Written]:
    """What a source and the providers said last, and who acted last."""
    yield FactKind.HEAD, PLANNER, HeadFact(n=len(hosts), epoch=3)
    yield FactKind.EPOCH, PLANNER, EpochFact(3, "node-1:4711")
    for provider in PROVIDERS:
        yield FactKind.EPOCH, provider_lease(provider), EpochFact(3, "node-1:4711")
        yield FactKind.PROCESS, provider, ProcessFact(1, 3, 4712, 12_345, "boot", STARTED_AT, "5ca1ab1e5ca1ab1e")
        templates = tuple(_template(n) for n in range(TEMPLATES))
        yield (
            FactKind.DESCRIPTION,
            provider,
            DescriptionFact(provider, "1", ("host",), (), TRUSTED, "r1", "d1", STARTED_AT, templates),
        )
    lines = tuple(Line(_line(n), Kind.HOST, 40, (("cores", 4_000), ("memory", 16 * GIB * 1_000))) for n in range(LINES))
    yield FactKind.DEMAND, SOURCE, DemandFact(1, 9_000, 8_999, STARTED_AT, lines)
    entries = tuple(
        SupplyEntry(host.id, host.name or "", EntryState.BUSY, host.made_at + 120, None, (1, 100), host.made_at + 100)
        for host in hosts
    )
    yield FactKind.SUPPLY, SOURCE, SupplyFact(1, 8_999, STARTED_AT, entries, digest("entries"))


def _line(n: int) -> str:
    return f"queue-{n % LINES}"


def _template(n: int) -> Template:
    return Template(
        template=f"type-{n}@us-east-1a",
        kind=Kind.HOST,
        unit="machine",
        units_per_instance=1,
        size=SIZE,
        labels=LABELS,
        place=TERMS.place,
        capacity_max=5_000,
        max_units=100,
        price=Price(768_000_000 + n, "USD", Per.HOUR),
        lead_typical_s=90,
        lead_worst_s=300,
    )
