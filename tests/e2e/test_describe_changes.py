"""A provider that tells only what has changed of its offers: what is offered is what a full reading would give."""

import json
from functools import partial
from typing import Any

from tests.e2e.clouds import SOURCE, settings
from tests.e2e.daemon import Daemon
from tests.e2e.scheduler import give_back
from tests.e2e.test_progress import tell
from tests.e2e.test_versions import plain
from tests.e2e.waiting import wait_until

DESCRIPTIONS = [
    {"small": "1", "middle": "2", "big": "4"},
    {"small": "1", "middle": "1.5", "big": "4", "huge": "8"},
    {"middle": "1.5", "huge": "7"},
]


def test_ds_2_changes_over_several_pages_are_applied_and_a_template_that_is_gone_still_serves_what_was_bought(
    daemon: Daemon,
) -> None:
    daemon.configure(settings({"east": plain(capabilities=["describe.delta"], descriptions=DESCRIPTIONS)}))
    daemon.start()
    daemon.rest.put(f"/v1/demand/{SOURCE}", {"revision": 1, "lines": [{"id": "a", "kind": "host", "count": 1}]})
    wait_until("a small one is there", lambda: [i["template"] for i in daemon.live()] == ["small"])
    for at, prices in enumerate(DESCRIPTIONS):
        tell(daemon, "description", at)
        wait_until(f"description {at} is offered", partial(is_offered, daemon, prices))
    [asked_whole, *changes] = described(daemon)
    assert asked_whole.get("known") is None
    assert {"known": "r0", "cursor": "1"} in changes
    assert {call.get("known") for call in changes if "cursor" not in call} == {"r0", "r1"}
    give_back(daemon)


def is_offered(daemon: Daemon, prices: dict[str, str]) -> bool:
    """Whether these templates are on offer at these prices, and no others."""
    return {t["template"]: t["price"]["amount"] for t in daemon.provider("east")["templates"]} == prices


def described(daemon: Daemon) -> list[dict[str, Any]]:
    """The params of each `describe` the provider heard."""
    heard = (daemon.folder / "providers" / "east" / "state" / "heard.jsonl").read_text().splitlines()
    calls = [json.loads(line) for line in heard]
    first_pages = [c["params"] for c in calls if c["method"] == "describe"]
    return [p for n, p in enumerate(first_pages) if n == 0 or p.get("known")]
