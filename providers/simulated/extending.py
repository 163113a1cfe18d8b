"""Answers `extend`: the end of an instance is put off, each item on its own.

Knows the contract's params and the cloud; must not know storage.
"""

from provider_sdk.contract.messages import ExtendedItem, ExtendParams
from provider_sdk.contract.times import format_time, parse_time
from provider_sdk.contract.types import Problem
from provider_sdk.contract.words import ErrorClass
from provider_sdk.provider import Call
from providers.simulated.lives import NEVER
from providers.simulated.messages import error_of
from providers.simulated.plan import Shortfall
from providers.simulated.records import Thing
from providers.simulated.site import Site


def extend(site: Site, params: ExtendParams, call: Call) -> tuple[ExtendedItem, ...]:
    """Put ends off and say for each which one stands now; what never ends needs no other end."""
    struck = site.faults.strike("extend")
    site.faults.wait(struck, lambda: call.cancelled or call.stopping)
    for rule in struck:
        if rule.do == "error":
            raise error_of(Shortfall(rule.error_class, reason=rule.reason, retry_after_s=rule.retry_after_s), "", "")
    call.check_fence()
    now = site.now_ms()
    wanted: dict[str, int] = {}
    for item in params.items:
        wanted[item.instance] = max(wanted.get(item.instance, 0), round(parse_time(item.until) * 1000))
    known = site.cloud.extend(site.account, wanted, now)
    return tuple(_item(name, known.get(name), now) for name in wanted)


def _item(name: str, thing: Thing | None, now_ms: int) -> ExtendedItem:
    if thing is None or now_ms >= thing.life.gone_ms:
        return ExtendedItem(name, problem=Problem(ErrorClass.NOT_FOUND))
    expires_ms = thing.life.expires_ms
    return ExtendedItem(name, None if expires_ms == NEVER else format_time(expires_ms / 1000))
