"""The three example providers: how each is started, what may be bought of it, and what it leaves where on the disk."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from attrs import frozen

from tests.examples.client import CLUSTER, Params

ROOT: Final = Path(__file__).parents[2] / "docs" / "examples" / "providers"


@frozen
class Example:
    """One example; `needs` are programs without which it cannot run."""

    name: str
    command: tuple[str, ...]
    needs: tuple[str, ...]
    config: Mapping[str, Any]
    bad_config: Mapping[str, Any]
    faults: frozenset[str]
    template: str
    price: Mapping[str, str]
    far_side: str
    record_of: Callable[[Path, str], Path]

    def order(self, token: str = "tk-1", **changes: object) -> Params:
        """Return the params of a purchase of two units."""
        request_id = token.replace("tk", "rq")
        return {
            "request_id": request_id,
            "token": token,
            "template": self.template,
            "units": 2,
            "price_cap": dict(self.price),
            "mark": {**CLUSTER, "request_id": request_id, "token": token, "epoch": 1},
            "epoch": 1,
            "not_after": 9e9,
            **changes,
        }

    def slow(self, seconds: int) -> dict[str, Any]:
        """Return a configuration with a far side that is this slow."""
        return {**self.config, "slow_s": seconds}

    def need(self) -> None:
        """Skip the test where a program is missing."""
        missing = [program for program in self.needs if shutil.which(program) is None]
        if missing:
            pytest.skip(f"{self.name} needs {', '.join(missing)}")


NODE: Final = Example(
    name="node",
    command=("node", str(ROOT / "node" / "main.js")),
    needs=("node", "flock"),
    config={"racks": {"r1": {"slots": 3, "cores": 8, "memory_gib": 32}}, "price": "0.12", "boot_s": 0},
    bad_config={"racks": {"r1": {"slots": 0, "cores": 8}}, "price": 1, "colour": "red"},
    faults=frozenset({"/racks/r1/slots", "/racks/r1/memory_gib", "/price", "/colour"}),
    template="r1",
    price={"amount": "0.12", "currency": "USD", "per": "hour"},
    far_side="room",
    record_of=lambda state_dir, token: state_dir / "purchases" / f"{token}.json",
)
PERL: Final = Example(
    name="perl",
    command=("perl", str(ROOT / "perl" / "provider.pl")),
    needs=("perl",),
    config={"sizes": {"small": {"cores": 2, "memory_gib": 4, "price": "0.05"}}, "hours": 8},
    bad_config={"sizes": {"small": {"cores": "2", "memory_gib": 4}}, "hours": 0, "colour": "red"},
    faults=frozenset({"/sizes/small/cores", "/sizes/small/price", "/hours", "/colour"}),
    template="small",
    price={"amount": "0.05", "currency": "USD", "per": "hour"},
    far_side="desk",
    record_of=lambda state_dir, token: state_dir / "purchases" / f"{token}.json",
)
SH: Final = Example(
    name="sh",
    command=("sh", str(ROOT / "sh" / "provider.sh")),
    needs=("jq", "flock"),
    config={"features": {"abaqus": {"units": 3, "price": "2"}}},
    bad_config={"features": {"abaqus": {"units": 0}}, "currency": "usd", "colour": "red"},
    faults=frozenset({"/features/abaqus/units", "/features/abaqus/price", "/currency", "/colour"}),
    template="abaqus",
    price={"amount": "2", "currency": "USD", "per": "unit_hour"},
    far_side="pool_file",
    record_of=lambda state_dir, token: state_dir / "ledger.json",
)
EXAMPLES: Final = (NODE, PERL, SH)
