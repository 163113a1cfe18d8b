"""How what is owed is said in the words of the contract: the params of every call, from facts; it decides nothing.

The same purchase gives the same params byte for byte, but for epoch and not_after, which are not part of its content
(RQ-1).
"""

from collections.abc import Sequence

from attrs import frozen

from provider_sdk.contract import (
    AskedRequest,
    CancelParams,
    DescribeParams,
    ExtendItem,
    ExtendParams,
    ForgetParams,
    InitializeParams,
    ListParams,
    Mark,
    Money,
    QuoteParams,
    RequestParams,
    RequestStatusParams,
    ReturnItem,
    ReturnParams,
    ReturnStatusParams,
    encode,
    format_time,
    nanos_to_amount,
)
from provider_sdk.contract.messages import Program
from provider_sdk.contract.versions import VERSIONS, named_beyond_first
from provider_sdk.contract.words import Mode, Per, ReturnWhy, View
from provisioner.core import effects as core_effects
from provisioner.core.facts import RequestFact, ReturnFact
from provisioner.core.model import Price
from provisioner.core.settings import ProviderSettings

ANSWER_S_MOST = 600


@frozen
class Identity:
    """Who we are to providers: the cluster, the lineage of its facts, this instance's name, and the program's
    version."""

    cluster: str
    lineage: str
    owner: str
    version: str


@frozen
class Folders:
    """The private folders of one provider."""

    state_dir: str
    run_dir: str
    credentials_dir: str | None = None
    blackbox_dir: str | None = None
    """Where what is said over its pipes is kept."""
    groups_dir: str | None = None
    """The kernel's folder in which control groups can be made; shared by all providers, None where there is none."""


def initialize_params(
    who: Identity, settings: ProviderSettings, folders: Folders, epoch: int, *, check: bool = False
) -> dict[str, object]:
    """The first frame of a process."""
    return encode(
        InitializeParams(
            versions=VERSIONS,
            mode=Mode.CHECK if check else Mode.SERVE,
            cluster=who.cluster,
            lineage=who.lineage,
            provider=settings.name,
            owner=who.owner,
            epoch=epoch,
            config=dict(settings.config),
            state_dir=folders.state_dir,
            frame_bytes=settings.limits.frame_bytes,
            answer_s_max=max(1, min(ANSWER_S_MOST, int(settings.limits.call_s))),
            credentials_dir=folders.credentials_dir,
            daemon=Program("provisioner", who.version),
            capabilities=named_beyond_first(),
        )
    )


def describe_params(cursor: str | None, known: str | None) -> dict[str, object]:
    """One page of the whole description, or of what has changed since the revision `known`."""
    return encode(DescribeParams(known=known, cursor=cursor))


def request_params(who: Identity, request: RequestFact, epoch: int, not_after: float) -> dict[str, object]:
    """The frame of one purchase; its mark bears the epoch of the first sending."""
    return encode(
        RequestParams(
            request_id=request.id,
            token=request.token,
            template=request.template,
            units=request.units,
            min_units=request.min_units,
            mark=mark_of(who, request),
            epoch=epoch,
            not_after=not_after,
            price_cap=_money(request.price_cap),
            quote=request.quote,
            deadline=format_time(request.deadline_at),
            consumer=request.consumer,
        )
    )


def mark_of(who: Identity, request: RequestFact) -> Mark:
    """The mark of everything made for this purchase, fixed for ever."""
    return Mark(
        cluster=who.cluster,
        lineage=who.lineage,
        provider=request.provider,
        request_id=request.id,
        token=request.token,
        epoch=request.mark_epoch or 0,
    )


def _money(price: Price | None) -> Money | None:
    if price is None:
        return None
    return Money(amount=nanos_to_amount(price.nanos), currency=price.currency, per=Per(price.per.value))


def request_status_params(who: Identity, requests: Sequence[RequestFact]) -> dict[str, object]:
    """One question about up to 500 purchases."""
    asked = tuple(AskedRequest(r.id, r.token, r.template, r.units, mark_of(who, r)) for r in requests)
    return encode(RequestStatusParams(asked))


def cancel_params(request: RequestFact, epoch: int, not_after: float) -> dict[str, object]:
    """The frame that asks for no more of one purchase."""
    return encode(CancelParams(request.id, request.token, epoch, not_after))


def forget_params(tokens: Sequence[str], returns: Sequence[str]) -> dict[str, object]:
    """One frame about up to 1,000 final answers of each kind."""
    return encode(ForgetParams(tuple(tokens), tuple(returns)))


def return_params(giveback: ReturnFact, epoch: int, not_after: float) -> dict[str, object]:
    """The frame of one give-back: what is kept of each named instance, without what is proven already."""
    items = tuple(ReturnItem(i.provider_id, i.keep) for i in giveback.items)
    return encode(ReturnParams(giveback.id, items, epoch, not_after, ReturnWhy(giveback.why)))


def extend_params(items: Sequence[core_effects.ExtendItem], epoch: int, not_after: float) -> dict[str, object]:
    """One frame that puts ends off."""
    wanted = tuple(ExtendItem(i.provider_id, format_time(i.until_at)) for i in items)
    return encode(ExtendParams(wanted, epoch, not_after))


def quote_params(template: str, units: int) -> dict[str, object]:
    """What so many units would cost."""
    return encode(QuoteParams(template, units))


def return_status_params(ids: Sequence[str]) -> dict[str, object]:
    """One question about up to 500 give-backs."""
    return encode(ReturnStatusParams(tuple(ids)))


def list_params(cursor: str | None, named: Sequence[str] | None = None) -> dict[str, object]:
    """One page of everything, or the present state of named instances."""
    return encode(ListParams(cursor=cursor, view=View.FULL, instances=tuple(named) if named is not None else None))
