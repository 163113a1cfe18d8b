"""Answers the calls about purchases: request, request_status, cancel.

Knows the contract's params and the cloud; must not know storage, nor how what a purchase yields is decided.
"""

import json
from collections.abc import Mapping
from hashlib import sha256

from attrs import asdict

from provider_sdk.contract.errors import ContractError
from provider_sdk.contract.messages import AskedRequest, CancelParams, RequestParams
from provider_sdk.contract.money import amount_to_nanos
from provider_sdk.contract.times import parse_time
from provider_sdk.contract.types import Money, Report
from provider_sdk.contract.words import ErrorClass, Outcome
from provider_sdk.provider import Call
from providers.simulated.faults import Rule
from providers.simulated.messages import error_of, report_of
from providers.simulated.offers import Price
from providers.simulated.plan import Granted, Held, Purchase, Refused, Shortfall, decide
from providers.simulated.records import Order, OrderForm
from providers.simulated.site import Site

_OUTSIDE_CONTENT = ("epoch", "not_after")  # RQ-1


def content_of(params: RequestParams) -> str:
    """Return the digest by which a repeated purchase is told from another one under the same token (RQ-1)."""
    values = {key: value for key, value in asdict(params).items() if key not in _OUTSIDE_CONTENT}
    return sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()


def buy(site: Site, params: RequestParams, call: Call) -> Report:
    """Buy once for this token, or give the present report; a refusal is raised with the outcome that is true."""
    site.running.begin(params.token)
    try:
        struck = site.faults.strike("request", params.token, params.template)
        if not site.faults.wait(struck, lambda: call.cancelled or call.stopping):
            raise ContractError(ErrorClass.CANCELLED, outcome=Outcome.NOT_MADE)
        call.check_fence()
        return _bought(site, params, struck)
    finally:
        site.running.end(params.token)


def _bought(site: Site, params: RequestParams, struck: tuple[Rule, ...]) -> Report:
    now = site.now_ms()
    offer = site.config.offers.get(params.template)
    form = OrderForm(
        token=params.token,
        request_id=params.request_id,
        account=site.account,
        content=content_of(params),
        mark=asdict(params.mark),
        terms=None if offer is None else offer.terms,
        units=params.units,
        asked_ms=now,
    )
    purchase = _purchase(params, now)

    def yields(held: Held) -> Refused | Granted:
        if params.quote is not None and not site.quotes.use(params.quote, params.template, params.units, now):
            return Refused(Shortfall("quote_gone", detail="this quote is not open, or not for this purchase"))
        return decide(purchase, offer, held, site.config, struck)

    order = site.cloud.buy(form, yields)
    if isinstance(order, Refused):
        raise error_of(order.why, order.outcome, params.template)
    return _answer(order, form, now)


def _purchase(params: RequestParams, now_ms: int) -> Purchase:
    return Purchase(
        token=params.token,
        template=params.template,
        units=params.units,
        min_units=params.min_units,
        asked_ms=now_ms,
        cap=_cap(params.price_cap),
        deadline_ms=None if params.deadline is None else round(parse_time(params.deadline) * 1000),
    )


def _cap(cap: Money | None) -> Price | None:
    return None if cap is None else Price(amount_to_nanos(cap.amount), cap.currency, cap.per.value)


def _answer(order: Order, form: OrderForm, now_ms: int) -> Report:
    if order.content not in ("", form.content):  # a tombstone has no content of its own
        raise ContractError(ErrorClass.TOKEN_CONFLICT, "this token has bought something else")
    if order.lie is not None and now_ms < order.closes_ms:
        raise error_of(order.shortfalls[0] if order.shortfalls else Shortfall("transient"), order.lie, "")
    return report_of(order, form.request_id, now_ms)


def status(site: Site, asked: AskedRequest, struck: tuple[Rule, ...]) -> Report:
    """Report on one purchase; a token never seen is closed for ever, so that `not_made` stays true (§4)."""
    now = site.now_ms()
    if any(rule.do == "unknown_outcome" for rule in struck):
        return Report(asked.request_id, asked.token, Outcome.UNKNOWN, ())
    order = site.cloud.order(asked.token)
    if order is None and site.running.has(asked.token):
        return Report(asked.request_id, asked.token, Outcome.PENDING, (), poll_after_s=1)
    if order is None:
        order = site.cloud.order_or_tombstone(
            _closing_form(site, asked.token, asked.request_id, asdict(asked.mark), now)
        )
    return report_of(order, asked.request_id, now)


def cancel(site: Site, params: CancelParams, call: Call) -> Report:
    """See to it that no further unit is made under this token (CN-1 to CN-3)."""
    struck = site.faults.strike("cancel", params.token)
    site.faults.wait(struck, lambda: call.cancelled or call.stopping)
    for rule in struck:
        if rule.do == "error":
            raise error_of(Shortfall(rule.error_class, reason=rule.reason), rule.outcome, "")
    call.check_fence()
    now = site.now_ms()
    order = site.cloud.cancel(_closing_form(site, params.token, params.request_id, {}, now))
    return report_of(order, params.request_id, now)


def _closing_form(site: Site, token: str, request_id: str, mark: Mapping[str, object], now_ms: int) -> OrderForm:
    return OrderForm(token, request_id, site.account, "", mark, None, 0, now_ms)
