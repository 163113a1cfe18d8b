"""Providers that speak other versions of the contract: one that is shared is spoken, else an operator is told both
lists and nothing loops (HS-3)."""

import sys
from pathlib import Path
from typing import Any

from tests.e2e.clouds import settings
from tests.e2e.daemon import Daemon
from tests.e2e.waiting import wait_until

PLAIN = Path(__file__).with_name("plain_provider.py")


def plain(**config: object) -> dict[str, Any]:
    """A provider without the SDK, told what it speaks."""
    return {"command": [sys.executable, "-S", "-E", str(PLAIN)], "limits": {"stop": "500ms"}, "config": config}


def test_hs_3_a_shared_version_is_spoken_and_one_that_is_not_shared_is_told_and_ends_without_a_loop(
    daemon: Daemon,
) -> None:
    providers = {
        "only-20": plain(speaks=["2.0"]),
        "only-21": plain(speaks=["2.1"]),
        "both": plain(speaks=["2.0", "2.1"]),
        "only-30": plain(speaks=["3.0"]),
        "insists": plain(insists="2.7"),
    }
    daemon.configure(settings(providers))
    daemon.start(providers_too=False)
    spoken = {"only-20": "2.0", "only-21": "2.1", "both": "2.1"}
    wait_until("they are ready", lambda: all(daemon.provider(name)["ready"] for name in spoken), 60.0)
    assert {name: daemon.provider(name)["contract"] for name in spoken} == spoken
    wait_until("the others are left alone", lambda: all(is_parked(daemon, n) for n in ("only-30", "insists")), 60.0)
    told = daemon.provider("only-30")
    assert "it speaks 3.0; this daemon speaks 2.1, 2.0" in told["last_end"]
    assert told["contract"] is None
    why = daemon.provider("insists")["last_end"]
    assert "it answered 2.7, which was not offered; this daemon speaks 2.1, 2.0" in why
    # No loop: the pause after a first crash is a second, so what is not parked would have been started again.
    wait_until("another list was read", lambda: daemon.provider("both")["listed_at"], 60.0)
    assert [daemon.provider(name)["number"] for name in ("only-30", "insists")] == [1, 1]


def test_hs_3_a_provider_that_was_left_alone_is_tried_again_once_its_program_or_configuration_has_changed(
    daemon: Daemon,
) -> None:
    daemon.configure(settings({"east": plain(speaks=["3.0"])}))
    daemon.start(providers_too=False)
    wait_until("it is left alone", lambda: is_parked(daemon, "east"))
    assert daemon.stop() == 0
    daemon.configure(settings({"east": plain(speaks=["3.0", "2.0"])}))
    daemon.start()
    assert daemon.provider("east")["contract"] == "2.0"


def is_parked(daemon: Daemon, name: str) -> bool:
    """Left alone, and its process is gone."""
    provider = daemon.provider(name)
    return provider["state"] == "parked" and provider["pid"] is None
