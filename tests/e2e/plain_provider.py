"""A provider of a few lines without the SDK, told by its configuration what it speaks and can do.

What it hears stands in `heard.jsonl` in its state folder, one message a line. It buys at once, in memory alone.
"""

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Message = dict[str, Any]
TEMPLATE: Message = {
    "template": "small",
    "kind": "host",
    "unit": "machine",
    "units_per_instance": 1,
    "attributes": {"cores": 2},
    "granularity": {"max_units": 9},
    "price": {"amount": "1", "currency": "USD", "per": "hour"},
    "lead_time": {"typical_s": 1, "worst_s": 2},
}
UNPRICED = {name: value for name, value in TEMPLATE.items() if name != "price"}
PROMISES: Message = {
    "token": {"replay": "exact", "lifetime_s": 86_400},
    "mark": {"kept": "far_side"},
    "list": {"covers": "far_side", "delay_s": 0},
    "return": {"observed": True},
    "calls": {"in_flight": 8, "late_effect_s": 0, "answer_s": {"extend": 1}},
}


class Provider:
    """Answers each method by the member of its name; `reports` and `instances` are all it knows."""

    def __init__(self) -> None:
        self.config: Message = {}
        self.journal: Path | None = None
        self.reports: dict[str, Message] = {}
        self.instances: dict[str, Message] = {}
        self.open: dict[str, Message] = {}
        self.described = 0
        self.quoted: dict[str | None, Message] = {}

    def hear(self, message: Message) -> None:
        """Keeps one message for the test; before the handshake there is nowhere to keep it."""
        if self.journal is not None:
            with self.journal.open("a") as journal:
                journal.write(json.dumps(message) + "\n")

    def initialize(self, params: Message) -> Message:
        """The handshake, as the configuration wants it."""
        self.config = params["config"]
        self.journal = Path(params["state_dir"]) / "heard.jsonl"
        self.hear({"method": "initialize", "params": params})
        speaks = self.config.get("speaks", ["2.0"])
        common = [v for v in params["versions"] if v in speaks]
        if not common and "insists" not in self.config:
            return {"error": {"code": -32010, "message": "version",
                              "data": {"error_class": "version", "supported": speaks}}}  # fmt: skip
        return {
            "version": self.config.get("insists") or common[0],
            "provider": {"name": "plain", "version": "1"},
            "kinds": ["host"],
            "state_id": "0123456789abcdef",
            "capabilities": self.config.get("capabilities", []),
            "promises": PROMISES,
        }

    def describe(self, params: Message) -> Message:
        """One template a page; with the capability for it, only what has changed since a revision still known.

        The configuration lists the descriptions, names and prices; the test says by a file which one holds now.
        """
        self.described = at = self.turn("description")
        told = self.config.get("descriptions", [{"small": "1"}])
        prices: dict[str, str] = told[at]
        answer: Message = {"revision": f"r{at}", "templates": []}
        known = str(params.get("known", "")).removeprefix("r")
        if "describe.delta" in self.config.get("capabilities", []) and known.isdigit():
            before = told[int(known)]
            answer |= {"base": f"r{known}", "removed": [name for name in before if name not in prices]}
            prices = {name: price for name, price in prices.items() if before.get(name) != price}
        names, begin = [*prices], int(params.get("cursor", 0))
        if "quote" in self.config.get("capabilities", []):
            page = [{**UNPRICED, "template": n} for n in names]
            return {**answer, "templates": page}
        page = [{**TEMPLATE, "template": n, "price": {**TEMPLATE["price"], "amount": prices[n]}} for n in names]
        more = {"next": str(begin + 1)} if begin + 1 < len(names) else {}
        return {**answer, "templates": page[begin : begin + 1], **more}

    def request(self, params: Message) -> Message:
        """Makes all of it at once; if the configuration has steps, the test says by a file how many are over."""
        if "quote" in self.config.get("capabilities", []) and self.quoted.pop(params.get("quote"), None) is None:
            return {"error": {"code": 1010, "message": "quote_gone",
                              "data": {"error_class": "quote_gone", "outcome": "not_made"}}}  # fmt: skip
        self.open[params["token"]] = params
        return self._report(params)

    def quote(self, params: Message) -> Message:
        """What it costs for the next minute."""
        quote = f"q-{len(self.quoted)}"
        self.quoted[quote] = {"quote": quote, "units": params["units"], "price": {**TEMPLATE["price"], "amount": "0.7"},
                              "valid_until": time_text(60), "held": True}  # fmt: skip
        return self.quoted[quote]

    def _report(self, params: Message) -> Message:
        steps, at = self.config.get("steps", []), self.turn("step")
        if at >= len(steps):
            return self._made(params)
        report = {"request_id": params["request_id"], "token": params["token"], "outcome": "pending", "instances": [],
                  "poll_after_s": 1}  # fmt: skip
        if at % 2:
            return {**report, "progress": {"phase": steps[at], "eta_s": len(steps) - at}}
        say({"method": "progress", "params": {"request_id": params["request_id"], "phase": steps[at]}})
        return report

    def turn(self, name: str) -> int:
        """The number the test has written into a file of this name in the state folder; 0 before."""
        path = self.journal.with_name(name) if self.journal is not None else None
        return int(path.read_text()) if path is not None and path.exists() else 0

    def _made(self, params: Message) -> Message:
        made = []
        for n in range(params["units"]):
            ref = f"{params['token']}.{n}"
            self.instances[ref] = {"instance": ref, "template": params["template"], "units": 1, "state": "running",
                                   "mark": params["mark"]}  # fmt: skip
            if "lease_s" in self.config:
                self.instances[ref]["expires_at"] = time_text(self.config["lease_s"])
            made.append({name: value for name, value in self.instances[ref].items() if name != "mark"})
        report = {"request_id": params["request_id"], "token": params["token"], "outcome": "made", "instances": made}
        self.reports[params["token"]] = report
        return report

    def request_status(self, params: Message) -> Message:
        """What is known of each token."""
        return {"requests": [self._status(asked) for asked in params["requests"]]}

    def _status(self, asked: Message) -> Message:
        unknown = {"request_id": asked["request_id"], "token": asked["token"], "outcome": "unknown", "instances": []}
        if asked["token"] in self.open and asked["token"] not in self.reports:
            return self._report(self.open[asked["token"]])
        return self.reports.get(asked["token"], unknown)

    def return_(self, params: Message) -> Message:
        """Takes everything back at once."""
        for item in params["items"]:
            self.instances.pop(item["instance"], None)
        return {"items": [{"instance": i["instance"], "state": "returned", "units": 0} for i in params["items"]]}

    def return_status(self, params: Message) -> Message:
        """Knows of none: returns are over at once."""
        return {"returns": [{"return_id": name} for name in params["returns"]]}

    def list(self, params: Message) -> Message:
        """Everything, in one page; the daemon is told of another description."""
        if self.described != self.turn("description"):
            say({"method": "changed", "params": {"what": ["description"]}})
        now = time_text(0)
        self.instances = {ref: i for ref, i in self.instances.items() if i.get("expires_at", now) >= now}
        return {"instances": [*self.instances.values()], "age_s": 0, "complete": True}

    def extend(self, params: Message) -> Message:
        """Puts ends off by a lease at most, or refuses as the configuration says."""
        items: list[Message] = []
        for item in params["items"]:
            mine = self.instances[item["instance"]]
            if "extends_not" in self.config:
                items.append({"instance": item["instance"], "problem": {"error_class": self.config["extends_not"]}})
                continue
            mine["expires_at"] = max(mine["expires_at"], min(item["until"], time_text(self.config["lease_s"])))
            items.append({"instance": item["instance"], "expires_at": mine["expires_at"]})
        return {"items": items}

    def ping(self, params: Message) -> Message:
        """Well."""
        return {"health": "ok"}

    def shutdown(self, params: Message) -> Message:
        """Nothing stays open."""
        return {"open": 0}


def time_text(in_s: float) -> str:
    """So many seconds from now, as the contract writes times."""
    return (datetime.now(UTC) + timedelta(seconds=in_s)).strftime("%Y-%m-%dT%H:%M:%SZ")


def say(message: Message) -> None:
    """One frame."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def main(provider: Provider) -> int:
    """Serves until the end of stdin, or until the handshake is refused."""
    for line in sys.stdin:
        message = json.loads(line)
        method = message["method"]
        if method != "initialize":
            provider.hear(message)
        if method == "exit":
            return 0
        if "id" not in message:
            continue
        answer = getattr(provider, "return_" if method == "return" else method)(message["params"])
        if "error" in answer:
            say({"id": message["id"], **answer})
            if method == "initialize":
                return 78
        else:
            say({"id": message["id"], "result": answer})
    return 0


if __name__ == "__main__":
    sys.exit(main(Provider()))
