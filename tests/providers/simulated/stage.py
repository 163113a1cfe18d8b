"""What the tests of the simulated provider share: a configuration, a hand-moved clock, calls on the class."""

from collections.abc import Mapping
from pathlib import Path

from provider_sdk.call import Call
from provider_sdk.contract.messages import (
    AskedRequest,
    CancelParams,
    ListParams,
    ListResult,
    RequestParams,
    RequestStatusParams,
    ReturnedItem,
    ReturnItem,
    ReturnParams,
    ReturnStatusParams,
)
from provider_sdk.contract.types import Mark, Money, Report
from provider_sdk.contract.words import Per
from provider_sdk.notify import Notifier
from provider_sdk.provider import Opened, Start
from provider_sdk.state import StateFolder
from providers.simulated.provider import SimulatedProvider

CONFIG: Mapping[str, object] = {
    "catalog": "ec2-on-demand.csv",
    "types": ["c6i.large", "c6i.xlarge"],
    "price_factor": "0.8",
    "region": "us-east-1",
    "zone": "us-east-1a",
    "capacity": {"machines": 8},
    "lead_time": {"typical": "3s", "worst": "8s"},
    "return_time": "1s",
    "seed": 7,
    "templates": {
        "seats": {"kind": "grant", "unit": "token", "capacity": 20, "price": "0.5", "lead_time": 0},
    },
}
CAP = Money("1", "USD", Per.HOUR)
SEAT_CAP = Money("1", "USD", Per.UNIT_HOUR)


class Stage:
    """One opened provider on a state folder, and the clock it reads."""

    def __init__(self, folder: Path, at_ms: int = 2_000_000_000_000, **changes: object) -> None:
        self.folder = folder
        self.at_ms = at_ms
        self.boot_s = 50.0
        self.notify = Notifier()
        self.config = {**CONFIG, **changes}
        self.provider = SimulatedProvider(lambda: self.at_ms, watches=False)
        self.opened = self.open("east")

    def open(self, name: str, mode: str = "serve", epoch: int = 7) -> Opened:
        """Open the provider as the entry of this name."""
        opened = self.provider.open(
            Start(
                cluster="clu-a",
                lineage="l-1",
                provider=name,
                owner="prov-1",
                epoch=epoch,
                mode=mode,  # type: ignore[arg-type]
                config=self.config,
                state=StateFolder(self.folder),
                credentials_dir=None,
                notify=self.notify,
                frame_bytes=1_048_576,
                answer_s_max=600,
            )
        )
        assert isinstance(opened, Opened)
        return opened

    def again(self, **changes: object) -> "Stage":
        """Another process on the same folder at the same time of day; the first is left, as a crash leaves it."""
        return Stage(self.folder, self.at_ms, **{**self.config, **changes})

    def pass_s(self, seconds: float) -> None:
        """Let time pass."""
        self.at_ms += round(seconds * 1000)

    def call(self, method: str = "request") -> Call:
        """A licence that holds."""
        return Call(
            method=method,
            epoch=7,
            not_after=100.0,
            boot_now=lambda: self.boot_s,
            highest_epoch=lambda: 7,
            on_superseded=lambda: None,
        )

    def buy(self, token: str = "tk-1", units: int = 1, template: str = "c6i.large", **changes: object) -> Report:
        """Buy."""
        params: dict[str, object] = {
            "request_id": "rq-1",
            "token": token,
            "template": template,
            "units": units,
            "mark": mark(token),
            "epoch": 7,
            "not_after": 100.0,
            "price_cap": SEAT_CAP if template == "seats" else CAP,
            **changes,
        }
        return self.provider.request(RequestParams(**params), self.call())  # type: ignore[arg-type]

    def status(self, *tokens: str) -> tuple[Report, ...]:
        """Ask about purchases."""
        asked = tuple(AskedRequest("rq-1", token, "c6i.large", 1, mark(token)) for token in tokens)
        return self.provider.request_status(RequestStatusParams(asked)).requests

    def cancel(self, token: str) -> Report:
        """Cancel a purchase."""
        return self.provider.cancel(CancelParams("rq-1", token, 7, 100.0), self.call("cancel"))

    def give_back(self, *instances: str, keep: int = 0, return_id: str = "rt-1") -> tuple[ReturnedItem, ...]:
        """Give instances back."""
        items = tuple(ReturnItem(instance, keep) for instance in instances)
        return self.provider.return_(ReturnParams(return_id, items, 7, 100.0), self.call("return")).items

    def return_status(self, return_id: str) -> tuple[ReturnedItem, ...] | None:
        """Ask about a give-back."""
        return self.provider.return_status(ReturnStatusParams((return_id,))).returns[0].items

    def list(self, **changes: object) -> ListResult:
        """List."""
        return self.provider.list_(ListParams(**changes))  # type: ignore[arg-type]


def mark(token: str, provider: str = "east") -> Mark:
    """The mark of a purchase."""
    return Mark("clu-a", "l-1", provider, "rq-1", token, 7)
