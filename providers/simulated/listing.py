"""Answers `list`: pages of one pass over what the cloud shows, and the cursor that carries a pass from page to page.

Knows the contract's params and the cloud; must not know storage.
"""

import re

from attrs import frozen

from provider_sdk.contract.errors import ContractError
from provider_sdk.contract.messages import ListParams, ListResult
from provider_sdk.contract.types import Place, Problem
from provider_sdk.contract.words import ErrorClass, ListScope, View
from providers.simulated.faults import Rule
from providers.simulated.messages import instance_of
from providers.simulated.site import Site

_CURSOR = re.compile(r"([0-9]{1,15})\.([0-9]{1,15})")


@frozen
class Pass:
    """One pass: when it began (what was made later is left out) and the number of the last thing shown."""

    begun_ms: int
    after: int = 0

    def cursor(self) -> str:
        """Write the pass so that any process can go on with it."""
        return f"{self.begun_ms}.{self.after}"


def read_cursor(cursor: str | None, now_ms: int) -> Pass:
    """Return the pass of a cursor, a new one without; raises `cursor_gone` for what no pass of ours wrote (LS-8)."""
    if cursor is None:
        return Pass(now_ms)
    found = _CURSOR.fullmatch(cursor)
    if found is None or int(found[1]) > now_ms:
        raise ContractError(ErrorClass.CURSOR_GONE)
    return Pass(int(found[1]), int(found[2]))


def show(site: Site, params: ListParams, struck: tuple[Rule, ...]) -> ListResult:
    """Return one page (LS-1 to LS-10), or the lie that was ordered."""
    if any(rule.do == "empty_list" for rule in struck):
        return ListResult((), 0, complete=params.instances is None)
    now = site.now_ms()
    if params.instances is not None:
        return _named(site, params.instances, params.view, now)
    return _page(site, params, struck, now)


def _page(site: Site, params: ListParams, struck: tuple[Rule, ...], now_ms: int) -> ListResult:
    current = read_cursor(params.cursor, now_ms)
    limit = min(params.limit, site.config.page, site.instances_per_answer)
    things = site.cloud.page(
        site.account.cluster,
        site.account.provider if params.scope is ListScope.PROVIDER else None,
        after=current.after,
        limit=limit,
        made_by_ms=current.begun_ms - site.config.list_delay_ms,
        gone_since_ms=current.begun_ms - site.config.gone_visible_s * 1000,
    )
    cut = any(rule.do == "incomplete_list" for rule in struck)
    last = len(things) < limit
    thin = params.view is View.STATE
    return ListResult(
        instances=tuple(instance_of(thing, now_ms, with_mark=not thin, thin=thin) for thing in things),
        age_s=-(-(now_ms - current.begun_ms) // 1000),
        complete=last and not cut,
        next=None if last or cut else Pass(current.begun_ms, things[-1].seq).cursor(),
        missing_places=_places(site) if cut else (),
        problems=(Problem(ErrorClass.TRANSIENT, detail="a place could not be read"),) if cut else (),
    )


def _named(site: Site, names: tuple[str, ...], view: View, now_ms: int) -> ListResult:
    # A delayed list is as blind to the named as to all: not found proves nothing until the delay is over.
    known = site.cloud.find(site.account, names, now_ms - site.config.list_delay_ms)
    thin = view is View.STATE
    return ListResult(
        instances=tuple(
            instance_of(known[name], now_ms, with_mark=not thin, thin=thin)
            for name in dict.fromkeys(names)
            if name in known
        ),
        age_s=0,
        complete=False,
        not_found=tuple(name for name in dict.fromkeys(names) if name not in known),
    )


def _places(site: Site) -> tuple[Place, ...]:
    places = {tuple(sorted(offer.terms.place.items())) for offer in site.config.offers.values()}
    return tuple(Place(**dict(place)) for place in sorted(places) if place) or (Place(region="everywhere"),)
