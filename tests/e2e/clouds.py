"""Configurations for tests on real processes: simulated clouds whose times are short, and settings that fit them."""

from typing import Any

from tests.e2e.rest import Json

SOURCE = "jobs"


def cloud(**changes: object) -> dict[str, Any]:
    """A simulated cloud of two-core machines at a round price, charged by the second."""
    config: dict[str, Any] = {
        "templates": {"small": {"cores": 2, "memory": "4GiB", "arch": "x86_64", "price": "0.36"}},
        "lead_time": "300ms",
        "return_time": "200ms",
        "billing": {"quantum": "1s", "minimum": "1s", "starts": "running", "ends": "gone"},
        "seed": 7,
        **changes,
    }
    return {"command": ["provisioner-simulated"], "config": config, "limits": {"stop": "500ms"}}


def cheaper(provider: dict[str, Any], price: str = "0.27") -> dict[str, Any]:
    """The same cloud with another price."""
    small = {**provider["config"]["templates"]["small"], "price": price}
    return {**provider, "config": {**provider["config"], "templates": {"small": small}}}


def settings(providers: Json, **changes: object) -> dict[str, Any]:
    """A whole configuration; `changes` replace sections."""
    return {
        "version": 1,
        "cluster": "e2e",
        "controller": {"sqlite": "facts.db"},
        "listen": {"socket": "api.sock"},
        "budgets": "none",
        "policy": quick_policy(),
        "sources": {SOURCE: {"fresh_for": "60s", "netting_window": "2s"}},
        "list": {"every": "700ms"},
        "return": {"retry": {"first": "500ms", "most": "2s"}},
        "providers": dict(providers),
        **changes,
    }


def quick_policy(**changes: object) -> dict[str, Any]:
    """Pauses of a second or less where production has minutes; `changes` replace entries."""
    return {
        "tick": "300ms",
        "min_interval": "100ms",
        "shrink_delay": "1s",
        "reclaim": {"idle_time": "600ms"},
        "drain": {"answer_within": "3s", "retry": "2s"},
        "back_off": {"first": "2s", "most": "4s"},
        "join": {"first": "90s"},
        "cover": {"unless_learned": "60s"},
        **changes,
    }
