"""Answers the calls about give-backs: return and return_status, each item on its own.

Knows the contract's params and the cloud; must not know storage.
"""

from provider_sdk.contract.messages import ReturnedItem, ReturnParams, ReturnStatus
from provider_sdk.contract.types import Problem
from provider_sdk.contract.words import ErrorClass, ReturnState
from provider_sdk.provider import Call
from providers.simulated.draws import fraction
from providers.simulated.faults import Rule
from providers.simulated.messages import error_of, held_item, is_held, returned_item
from providers.simulated.plan import Shortfall
from providers.simulated.site import Site


def give_back(site: Site, params: ReturnParams, call: Call) -> tuple[ReturnedItem, ...]:
    """Take back what is above `keep` of each instance and say item by item what came of it (RT-1 to RT-6)."""
    struck = site.faults.strike("return", params.return_id)
    site.faults.wait(struck, lambda: call.cancelled or call.stopping)
    for rule in struck:
        if rule.do == "error":
            raise error_of(Shortfall(rule.error_class, reason=rule.reason), rule.outcome, "")
    call.check_fence()
    now = site.now_ms()
    keeps = _least_keeps(params)
    refused = _refused(site, keeps, struck, now)
    site.cloud.note_give_back(site.account, params.return_id, {name: keeps[name] for name in refused})
    taken = {name: keep for name, keep in keeps.items() if name not in refused}
    site.cloud.give_back(site.account, params.return_id, taken, now, lambda instance: _gone_after_ms(site, instance))
    settled = {item.instance: item for item in _settled(site, taken, now)}
    return tuple(refused.get(name) or settled[name] for name in keeps)


def status(site: Site, return_id: str) -> ReturnStatus:
    """Say what has become of one give-back; without items it is not known."""
    keeps = site.cloud.given_back(site.account, return_id)
    if keeps is None:
        return ReturnStatus(return_id)
    return ReturnStatus(return_id, _settled(site, keeps, site.now_ms()))


def _least_keeps(params: ReturnParams) -> dict[str, int]:
    keeps: dict[str, int] = {}
    for item in params.items:
        keeps[item.instance] = min(item.keep, keeps.get(item.instance, item.keep))
    return keeps


def _refused(site: Site, keeps: dict[str, int], struck: tuple[Rule, ...], now_ms: int) -> dict[str, ReturnedItem]:
    known = site.cloud.find(site.account, list(keeps), now_ms)
    refused = {name: held_item(thing, name, now_ms) for name, thing in known.items() if is_held(thing, now_ms)}
    for rule in struck:
        if rule.do == "item_errors":
            problem = Problem(ErrorClass(rule.error_class), retry_after_s=rule.retry_after_s)
            for name in list(keeps)[: rule.items]:
                refused[name] = ReturnedItem(name, ReturnState.FAILED, problem=problem)
    return refused


def _settled(site: Site, keeps: dict[str, int], now_ms: int) -> tuple[ReturnedItem, ...]:
    known = site.cloud.find(site.account, list(keeps), now_ms)
    return tuple(returned_item(known.get(name), name, keep, now_ms) for name, keep in keeps.items())


def _gone_after_ms(site: Site, instance: str) -> int:
    return site.config.return_time.draw_ms(fraction(site.config.seed, instance, "return"))
