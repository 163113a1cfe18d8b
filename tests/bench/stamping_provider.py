"""A provider of a few lines, without any library, that stamps each purchase's frame once it has read it.

Started with a folder of two named pipes: `stamps`, where it writes the nanoseconds of CLOCK_MONOTONIC (8 bytes), and
`go`, of which it reads a byte before it answers. What it sells is gone as soon as it is made, so that the next demand
is bought anew.
"""

import json
import os
import sys
import time

HANDSHAKE: dict[str, object] = {
    "version": "2.0",
    "provider": {"name": "stamping", "version": "1"},
    "kinds": ["host"],
    "state_id": "5ca1ab1e5ca1ab1e",
    "promises": {
        "token": {"replay": "exact", "lifetime_s": 86_400},
        "list": {"covers": "far_side", "delay_s": 10},
        "calls": {"in_flight": 8, "late_effect_s": 5},
    },
}
SMALL: dict[str, object] = {
    "template": "small",
    "kind": "host",
    "unit": "machine",
    "units_per_instance": 1,
    "attributes": {"cores": 4},
    "granularity": {"max_units": 100},
    "price": {"amount": "1", "currency": "USD", "per": "hour"},
    "lead_time": {"typical_s": 30, "worst_s": 60},
}
ANSWERS: dict[str, dict[str, object]] = {
    "initialize": HANDSHAKE,
    "describe": {"revision": "r1", "templates": [SMALL]},
    "list": {"instances": [], "age_s": 0, "complete": True},
    "ping": {"health": "ok"},
    "shutdown": {},
}


def report(params: dict[str, str]) -> dict[str, object]:
    """One machine was made, and is gone already."""
    machine = {
        "instance": f"i-{params['token']}",
        "template": "small",
        "units": 1,
        "state": "gone",
        "reason": "expired",
    }
    return {
        "request_id": params["request_id"],
        "token": params["token"],
        "outcome": "made",
        "instances": [machine],
    }


def main(folder: str) -> None:
    """Serves until stdin ends."""
    stamps = os.open(os.path.join(folder, "stamps"), os.O_WRONLY | os.O_CLOEXEC)
    go = os.open(os.path.join(folder, "go"), os.O_RDONLY | os.O_CLOEXEC)
    for line in sys.stdin.buffer:
        read_at = time.monotonic_ns()
        call = json.loads(line)
        if "id" not in call:
            continue
        if call["method"] == "request":
            os.write(stamps, read_at.to_bytes(8, "little"))
            os.read(go, 1)
            result = report(call["params"])
        else:
            result = ANSWERS[call["method"]]
        sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}).encode() + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(sys.argv[1])
