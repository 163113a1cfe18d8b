"""A provider that keeps to the contract in the fewest words. Each hostile one is this one with a step gone wrong.

It alone knows the good answers. It uses nothing but the standard library and remembers nothing over a restart.
"""

import json
import os
import sys
from typing import Any

Message = dict[str, Any]
ARCH = "hostile"
"""No good cloud has this architecture, so what is bought here is bought on purpose."""
PROMISES = {
    "token": {"replay": "at_most_once", "lifetime_s": 86_400},
    "mark": {"kept": "far_side"},
    "list": {"covers": "far_side", "delay_s": 0},
    "return": {"observed": True},
    "calls": {"in_flight": 8},
}


def template(name: str = "bait") -> Message:
    """One kind of host."""
    return {
        "template": name,
        "kind": "host",
        "unit": "machine",
        "units_per_instance": 1,
        "attributes": {"cores": 2, "memory": {"value": 4, "unit": "GiB"}, "arch": ARCH},
        "granularity": {"max_units": 4},
        "price": {"amount": "0.05", "currency": "USD", "per": "hour"},
        "lead_time": {"typical_s": 1, "worst_s": 2},
    }


class Plain:
    """Answers one call after another; a hostile subject overrides what it does wrong."""

    def __init__(self) -> None:
        self.reports: dict[str, Message] = {}
        self.given_back: dict[str, list[Message]] = {}
        self.answered = 0

    # --- the pipe

    def run(self) -> None:
        """Reads calls to the end of stdin."""
        for line in sys.stdin.buffer:
            call = json.loads(line)
            if "method" not in call:  # what the daemon answers to who asks it
                continue
            if call["method"] == "exit":
                return
            if "id" in call:
                self.take(call)

    def take(self, call: Message) -> None:
        """Answers one call."""
        self.answer(call, self.result(call))

    def answer(self, call: Message, result: Message) -> None:
        """Sends the answer of one call."""
        self.answered += 1
        self.send({"jsonrpc": "2.0", "id": call["id"], "result": result})

    def notify(self, name: str, params: Message) -> None:
        """Says something unasked."""
        self.send({"jsonrpc": "2.0", "method": name, "params": params})

    def send(self, message: Message) -> None:
        """Writes one frame."""
        self.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    def write(self, data: bytes) -> None:
        """Writes bytes to stdout."""
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    # --- the answers

    def result(self, call: Message) -> Message:
        """The good answer of any method."""
        name = call["method"]
        found: Message = getattr(self, name if name != "return" else "give_back")(call["params"])
        return found

    def initialize(self, _params: Message) -> Message:
        """The handshake."""
        program = {"name": "hostile", "version": "1"}
        state_id = "0123456789abcdef"
        return {"version": "2.0", "provider": program, "kinds": ["host"], "state_id": state_id, "promises": PROMISES}

    def describe(self, _params: Message) -> Message:
        """One template."""
        return {"revision": "1", "templates": [template()]}

    def ping(self, _params: Message) -> Message:
        """All is well."""
        return {"health": "ok"}

    def shutdown(self, _params: Message) -> Message:
        """Nothing is open."""
        return {"open": 0}

    def forget(self, _params: Message) -> Message:
        """Nothing is dropped."""
        return {}

    def request(self, params: Message) -> Message:
        """Everything is made at once."""
        token = params["token"]
        if token not in self.reports:
            made = [
                {
                    "instance": f"h-{os.getpid()}-{len(self.reports)}-{n}",
                    "template": params["template"],
                    "units": 1,
                    "state": "running",
                    "mark": params["mark"],
                }
                for n in range(params["units"])
            ]
            self.reports[token] = {
                "request_id": params["request_id"],
                "token": token,
                "outcome": "made",
                "instances": made,
            }
        return self.reports[token]

    def request_status(self, params: Message) -> Message:
        """What was made, and that nothing else was."""
        unmade = {"outcome": "not_made", "instances": []}
        return {
            "requests": [
                self.reports.get(one["token"], {**unmade, "request_id": one["request_id"], "token": one["token"]})
                for one in params["requests"]
            ]
        }

    def cancel(self, params: Message) -> Message:
        """What was made stays made."""
        return self.request_status({"requests": [params]})["requests"][0]  # type: ignore[no-any-return]

    def give_back(self, params: Message) -> Message:
        """Everything named is gone at once."""
        wanted = {item["instance"] for item in params["items"]}
        for report in self.reports.values():
            for instance in report["instances"]:
                if instance["instance"] in wanted:
                    instance["state"], instance["reason"] = "gone", "returned"
        items = [{"instance": ref, "state": "returned", "units": 0} for ref in sorted(wanted)]
        self.given_back[params["return_id"]] = items
        return {"items": items}

    def return_status(self, params: Message) -> Message:
        """What was given back."""
        return {
            "returns": [
                {"return_id": name, **({"items": self.given_back[name]} if name in self.given_back else {})}
                for name in params["returns"]
            ]
        }

    def list(self, _params: Message) -> Message:
        """All that is there."""
        there = [i for report in self.reports.values() for i in report["instances"] if i["state"] != "gone"]
        return {"instances": there, "age_s": 0, "complete": True}
