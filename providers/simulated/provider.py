"""The simulated cloud as a provider: the table of its methods, each one line to the file that answers it.

Knows which file answers which call; must not know storage, chance or frames.
"""

from collections.abc import Callable
from typing import ClassVar

from provider_sdk.contract.messages import (
    CancelParams,
    DescribeParams,
    DescribeResult,
    ExtendParams,
    ExtendResult,
    ForgetParams,
    ForgetResult,
    ListParams,
    ListResult,
    PingResult,
    QuoteParams,
    QuoteResult,
    RequestParams,
    RequestStatusParams,
    RequestStatusResult,
    ReturnParams,
    ReturnResult,
    ReturnStatusParams,
    ReturnStatusResult,
    ShutdownParams,
    ShutdownResult,
)
from provider_sdk.contract.types import Problem, Report
from provider_sdk.contract.words import Capability, ErrorClass, Health, Kind
from provider_sdk.pages import DescribePages
from provider_sdk.provider import Call, Opened, Provider, ProviderInfo, Start
from providers.simulated import extending, givebacks, listing, purchases
from providers.simulated.describing import limits_of, template_of
from providers.simulated.faults import Rule
from providers.simulated.messages import error_of
from providers.simulated.plan import Shortfall
from providers.simulated.pulse import Pulse
from providers.simulated.site import Clock, Site, open_site, promises_of

_CAPABILITIES = (
    Capability.QUOTE,
    Capability.CANCEL,
    Capability.EXTEND,
    Capability.FORGET,
    Capability.DESCRIBE_DELTA,
    Capability.LIST_STATE,
)


class SimulatedProvider(Provider):
    """A cloud that exists only in a file, for trying and testing; it keeps what it was not told to break."""

    info: ClassVar[ProviderInfo] = ProviderInfo(name="simulated", version="1.0")
    kinds: ClassVar[tuple[Kind, ...]] = (Kind.HOST, Kind.GRANT)
    checks_fence: ClassVar[bool] = True

    def __init__(self, now_ms: Callable[[], int] | None = None, *, watches: bool = True) -> None:
        """Tell the time by `now_ms` (milliseconds of the epoch); one that does not watch says nothing of itself."""
        self._now_ms = Clock().now_ms if now_ms is None else now_ms
        self._watches = watches
        self._opened: tuple[Site, Pulse, DescribePages] | None = None

    @property
    def site(self) -> Site:
        """What the calls work with; there only after `open`."""
        return self._parts[0]

    def open(self, start: Start) -> Opened:
        """Read the configuration and open the cloud's books."""
        site = open_site(start, self._now_ms)
        pulse = Pulse(site)
        self._opened = (site, pulse, DescribePages(site.frame_bytes, delta=True))
        if self._watches and start.mode == "serve":
            pulse.begin()
        return Opened(
            capabilities=_CAPABILITIES,
            promises=promises_of(site.config),
        )

    def describe(self, params: DescribeParams) -> DescribeResult:
        """Describe all templates, or what has changed since a revision that is still remembered."""
        self._struck("describe")
        later = self._parts[2].go_on(params)
        if later is not None:
            return later
        config = self.site.config
        machines, held = self.site.cloud.held_units(self.site.now_ms())
        templates = tuple(template_of(offer, config, held.get(name, 0)) for name, offer in config.offers.items())
        return self._parts[2].answer(params, templates, limits_of(config, machines))

    def request(self, params: RequestParams, call: Call) -> Report:
        """Buy once for a token."""
        report = purchases.buy(self.site, params, call)
        self._pulse.wake()
        return report

    def request_status(self, params: RequestStatusParams) -> RequestStatusResult:
        """Report on as many purchases as fit one answer, at least one (RS-1)."""
        struck = self._struck("request_status")
        reports: list[Report] = []
        room = self.site.instances_per_answer
        for asked in params.requests:
            report = purchases.status(self.site, asked, struck)
            room -= 1 + len(report.instances)
            if reports and room < 0:
                break
            reports.append(report)
        return RequestStatusResult(tuple(reports))

    def cancel(self, params: CancelParams, call: Call) -> Report:
        """See to it that no further unit is made."""
        return purchases.cancel(self.site, params, call)

    def forget(self, params: ForgetParams) -> ForgetResult:
        """Drop notes of give-backs; orders stay, since their tokens must never buy again."""
        self.site.cloud.forget_give_backs(self.site.account, params.returns)
        return ForgetResult()

    def quote(self, params: QuoteParams) -> QuoteResult:
        """Tell a price for one purchase; nothing is set aside for it."""
        self._struck("quote")
        site, now = self.site, self.site.now_ms()
        _, held = site.cloud.held_units(now)
        offer = site.config.offers.get(params.template)
        return site.quotes.give(params, offer, held.get(params.template, 0), site.config.quote_valid_ms, now)

    def extend(self, params: ExtendParams, call: Call) -> ExtendResult:
        """Put ends off, never to an earlier time."""
        items = extending.extend(self.site, params, call)
        self._pulse.wake()
        return ExtendResult(items)

    def return_(self, params: ReturnParams, call: Call) -> ReturnResult:
        """Take instances back."""
        items = givebacks.give_back(self.site, params, call)
        self._pulse.wake()
        return ReturnResult(items)

    def return_status(self, params: ReturnStatusParams) -> ReturnStatusResult:
        """Report on give-backs."""
        self._struck("return_status")
        return ReturnStatusResult(tuple(givebacks.status(self.site, name) for name in params.returns))

    def list_(self, params: ListParams) -> ListResult:
        """List what exists."""
        return listing.show(self.site, params, self._struck("list"))

    def ping(self) -> PingResult:
        """Say what the configuration says of the cloud's health."""
        self._struck("ping")
        plan = self.site.config.health
        problem = None
        if plan.error_class is not None:
            problem = Problem(ErrorClass(plan.error_class), detail=plan.detail)
        return PingResult(Health(plan.health), problem)

    def shutdown(self, params: ShutdownParams) -> ShutdownResult:
        """Say how much is still under way at the far side, where it goes on by itself."""
        return ShutdownResult(self.site.cloud.open_count(self.site.account, self.site.now_ms()))

    def close(self) -> None:
        """Let go of the books."""
        if self._opened is not None:
            site, pulse, _ = self._opened
            pulse.end()
            site.cloud.close()

    @property
    def _pulse(self) -> Pulse:
        return self._parts[1]

    @property
    def _parts(self) -> tuple[Site, Pulse, DescribePages]:
        if self._opened is None:
            raise RuntimeError("no call comes before open")
        return self._opened

    def _struck(self, method: str) -> tuple[Rule, ...]:
        """Count the call, wait as ordered, and raise the error that was ordered."""
        struck = self.site.faults.strike(method)
        self.site.faults.wait(struck)
        for rule in struck:
            if rule.do == "error":
                raise error_of(
                    Shortfall(rule.error_class, reason=rule.reason, retry_after_s=rule.retry_after_s), "unknown", ""
                )
        return struck
