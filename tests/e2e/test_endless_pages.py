"""A provider whose pages have no end is said to be wrong, and neither believed in part nor read for ever."""

import sys

from tests.e2e.clouds import cloud, settings
from tests.e2e.daemon import Daemon
from tests.e2e.waiting import wait_until

PROVIDER = """
import json, sys
template = {"kind": "host", "unit": "machine", "attributes": {"cores": 2}, "granularity": {"max_units": 9},
            "price": {"amount": "1", "currency": "USD", "per": "hour"}, "lead_time": {"typical_s": 1, "worst_s": 2}}
opened = {"version": "2.0", "provider": {"name": "endless", "version": "1"}, "kinds": ["host"],
          "state_id": "0123456789abcdef", "promises": {}}
pages = 0
for line in sys.stdin:
    call = json.loads(line)
    if "id" not in call:
        break
    result = {"initialize": opened, "list": {"instances": [], "age_s": 0, "complete": True},
              "ping": {"health": "ok"}, "shutdown": {"open": 0}}.get(call["method"], {})
    if call["method"] == "describe":
        pages += 1
        templates = [{**template, "template": f"t{pages}-{n}"} for n in range(1000)]
        result = {"revision": "1", "templates": templates, "next": f"page-{pages}"}
    print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}), flush=True)
"""


def test_a_description_without_an_end_is_told_and_nothing_of_it_is_offered(daemon: Daemon) -> None:
    script = daemon.folder / "endless.py"
    script.write_text(PROVIDER)
    endless = {"command": [sys.executable, "-S", "-E", str(script)], "limits": {"stop": "500ms"}}
    daemon.configure(settings({"endless": endless, "good": cloud()}))
    daemon.start(providers_too=False)
    problem = wait_until("it is told", lambda: daemon.provider("endless")["problem"], 60.0)
    assert "description has no end: 20,000 templates came" in problem["detail"]
    assert not daemon.provider("endless")["ready"]
    assert daemon.provider("endless")["template_count"] == 0
    wait_until("the other one is ready", lambda: daemon.provider("good")["ready"], 60.0)
    assert daemon.stop() == 0
