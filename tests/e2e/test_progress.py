"""A provider that tells how far a purchase is, by notification and in its reports: people see the newest word."""

from functools import partial
from typing import Any

from tests.e2e.clouds import SOURCE, settings
from tests.e2e.daemon import Daemon
from tests.e2e.test_versions import plain
from tests.e2e.waiting import wait_until

STEPS = ["queued", "looking for a host", "installing", "joining"]


def test_each_step_that_a_provider_tells_is_shown_while_the_purchase_is_open_and_no_longer(daemon: Daemon) -> None:
    daemon.configure(settings({"east": plain(steps=STEPS)}))
    daemon.start()
    daemon.rest.put(f"/v1/demand/{SOURCE}", {"revision": 1, "lines": [{"id": "a", "kind": "host", "count": 1}]})
    for at, phase in enumerate(STEPS):
        seen = wait_until(f"it is at {phase!r}", partial(at_phase, daemon, phase))
        assert seen["open"]
        assert seen["cancelling"] is False
        tell(daemon, "step", at + 1)
    wait_until("it is there", lambda: len(daemon.live()) == 1)
    [settled] = daemon.purchases()
    assert (settled["state"], settled["progress"]) == ("fulfilled", None)


def tell(daemon: Daemon, name: str, number: int) -> None:
    """Moves the plain provider on; a file is there as a whole or not at all."""
    state = daemon.folder / "providers" / "east" / "state"
    (state / f"{name}.new").write_text(str(number))
    (state / f"{name}.new").rename(state / name)


def at_phase(daemon: Daemon, phase: str) -> dict[str, Any]:
    """The purchase, if that is how far it is said to be."""
    return next((p for p in daemon.purchases() if (p["progress"] or {}).get("phase") == phase), {})
