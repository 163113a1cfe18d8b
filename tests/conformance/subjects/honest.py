"""A provider on the bare wire, with the standard library only: everything the contract asks, in one loop of one thread.

The base of the broken ones, which each override one method. Its far side is its ledger, a file in the state folder.
Over 400 lines because a provider without the SDK is read from top to bottom as one file.
"""

import fcntl
import hashlib
import json
import os
import select
import sys
import time
from typing import Any, NoReturn

Json = dict[str, Any]

CODES = {
    "bad_message": -32600,
    "unknown_method": -32601,
    "bad_params": -32602,
    "shutting_down": -32001,
    "not_initialized": -32002,
    "version": -32010,
    "config": -32011,
    "fenced": -32012,
    "state_locked": -32013,
    "cancelled": -32800,
    "no_capacity": 1001,
    "bad_request": 1005,
    "unknown_template": 1006,
    "not_found": 1007,
    "transient": 1008,
    "price": 1009,
    "quote_gone": 1010,
    "token_conflict": 1011,
    "cursor_gone": 1013,
    "unsupported": 1014,
}
CAPACITY = {"box": 6, "seats": 12}
PRICES = {"box": ("0.10", "hour"), "seats": ("0.5", "unit_hour")}
OPEN_S = 0.06
GONE_S = 0.02


class Refusal(Exception):
    """An error on the wire."""

    def __init__(self, error_class: str, **data: object) -> None:
        super().__init__(error_class)
        self.error_class = error_class
        self.data = data


class Honest:
    """One process; `run` serves until the end."""

    versions = ("2.0",)
    capabilities: tuple[str, ...] = ("quote", "cancel", "extend", "forget", "describe.delta", "list.state")
    page = 1000

    def __init__(self) -> None:
        self.state_dir = ""
        self.ledger: Json = {}
        self.greeted = False
        self.epoch = 0
        self.mode = "serve"
        self.slow_s = 0.0
        self.deferred: dict[int, tuple[float, Json]] = {}
        self.quotes: set[str] = set()
        self.described: dict[str, list[Json]] = {}
        self.number = 0
        self.lock = -1
        self.ending = False

    # The loop.

    def run(self) -> NoReturn:
        """Read lines, answer each; what is deferred is answered when it is due."""
        if "PROVISIONER_CONTRACT" not in os.environ and os.isatty(0):
            print("A provider for tests: started by a daemon.", file=sys.stderr)  # noqa: T201
            sys.exit(64)
        held = b""
        while True:
            waits = [due - time.monotonic() for due, _ in self.deferred.values()]
            ready, _, _ = select.select([0], [], [], max(0.0, min(waits)) if waits else None)
            self.work_off()
            if not ready:
                continue
            data = os.read(0, 1 << 20)
            if not data:
                self.stdin_ended()
            *lines, held = (held + data).split(b"\n")
            self.lines([line.rstrip(b"\r") for line in lines])

    def lines(self, lines: list[bytes]) -> None:
        """Take lines that came together."""
        for line in lines:
            self.line(line)

    def stdin_ended(self) -> None:
        """The daemon is gone."""
        sys.exit(0)

    def line(self, line: bytes) -> None:
        """Take one line, whatever it is."""
        try:
            message = json.loads(line, parse_constant=_no_constant) if line else None
        except (ValueError, RecursionError):
            return
        if isinstance(message, dict) and isinstance(message.get("method"), str):
            params = message.get("params")
            self.message(message.get("id"), message["method"], params if isinstance(params, dict) else {})

    def message(self, call_id: Any, method: str, params: Json) -> None:
        """Answer a call, or take a notification."""
        if call_id is None:
            self.notification(method, params)
            return
        try:
            result = self.answer(call_id, method, params)
        except Refusal as refusal:
            self.refuse(call_id, refusal)
        except (KeyError, TypeError, ValueError, AttributeError):
            self.refuse(call_id, Refusal("bad_params"))
        else:
            if result is not None:
                self.send({"jsonrpc": "2.0", "id": call_id, "result": result})

    def notification(self, method: str, params: Json) -> None:
        """Take what is not answered."""
        if method == "exit":
            sys.exit(0)
        if method == "cancel_call" and self.deferred.pop(params.get("id", 0), None) is not None:
            self.refuse(params["id"], Refusal("cancelled", outcome="not_made"))

    def refuse(self, call_id: int, refusal: Refusal) -> None:
        """Send an error."""
        data = {"error_class": refusal.error_class, **refusal.data}
        error = {"code": CODES[refusal.error_class], "message": refusal.error_class, "data": data}
        self.send({"jsonrpc": "2.0", "id": call_id, "error": error})
        if refusal.error_class in ("version", "config", "state_locked") or data.get("at_start"):
            sys.exit(78 if refusal.error_class in ("version", "config") else 0)

    def send(self, message: Json) -> None:
        """Write a frame."""
        self.write(json.dumps(message, ensure_ascii=False).encode() + b"\n")

    def write(self, data: bytes) -> None:
        """Write bytes."""
        while data:
            data = data[os.write(1, data) :]

    def answer(self, call_id: int, method: str, params: Json) -> Json | None:
        """Return the result of a call, None if it is answered later."""
        if method == "initialize":
            return self.initialize(params)
        if not self.greeted:
            raise Refusal("not_initialized")
        if method not in METHODS or (method in OPTIONAL and method not in self.capabilities):
            raise Refusal("unknown_method")
        if self.ending:
            raise Refusal("shutting_down")
        if method == "request" and self.slow_s:
            self.deferred[call_id] = (time.monotonic() + self.slow_s, params)
            return None
        found: Json = getattr(self, METHODS[method])(params)
        return found

    def work_off(self) -> None:
        """Answer what is due."""
        for call_id, (due, params) in list(self.deferred.items()):
            if due <= time.monotonic():
                del self.deferred[call_id]
                try:
                    self.send({"jsonrpc": "2.0", "id": call_id, "result": self.request(params)})
                except Refusal as refusal:
                    self.refuse(call_id, refusal)

    # The handshake and the records.

    def initialize(self, params: Json) -> Json:
        """Begin."""
        if self.greeted:
            raise Refusal("bad_message")
        version = next((each for each in params["versions"] if each in self.versions), None)
        if version is None:
            raise Refusal("version", supported=list(self.versions))
        self.state_dir, self.epoch, self.mode = params["state_dir"], params["epoch"], params["mode"]
        self.take_lock()
        faults = [{"path": f"/{key}", "detail": "is unknown"} for key in params["config"] if key != "slow_s"]
        if faults:
            raise Refusal("config", faults=faults)
        self.slow_s = params["config"].get("slow_s", 0.0)
        self.open_ledger()
        self.greeted = True
        return {
            "version": version,
            "provider": {"name": "honest", "version": "1.0"},
            "kinds": ["host", "grant"],
            "state_id": self.ledger["state_id"],
            "capabilities": list(self.capabilities),
            "promises": self.promises(),
        }

    def promises(self) -> Json:
        """Return what is promised."""
        return {
            "token": {"replay": "exact", "lifetime_s": 86_400},
            "mark": {"kept": "own_records"},
            "list": {"delay_s": 0, "gone_visible_s": 3600, "not_found_gone_after_s": 1},
            "limits": {"price_cap": "life", "min_units": "atomic", "deadline": "honoured"},
            "return": {"partial": True, "observed": True, "typical_s": 1},
            "calls": {"in_flight": 4, "answer_s": dict.fromkeys(METHODS, 3), "not_after": "honoured"},
        }

    def take_lock(self) -> None:
        """Hold the folder."""
        self.lock = os.open(os.path.join(self.state_dir, "lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            raise Refusal("state_locked") from problem

    def open_ledger(self) -> None:
        """Read the records, or begin them; a lower epoch than theirs is fenced."""
        try:
            with open(os.path.join(self.state_dir, "ledger.json"), encoding="utf-8") as file:
                self.ledger = json.load(file)
        except FileNotFoundError:
            self.ledger = {"state_id": os.urandom(10).hex(), "epoch": 0, "orders": {}, "things": {}, "returns": {}}
        except ValueError as problem:
            raise Refusal("fenced", at_start=True, detail="the records are damaged") from problem
        if self.ledger["epoch"] > self.epoch:
            raise Refusal("fenced", at_start=True)
        self.ledger["epoch"] = self.epoch
        self.store()

    def store(self) -> None:
        """Make the records durable."""
        path = os.path.join(self.state_dir, "ledger.json")
        with open(f"{path}.tmp", "w", encoding="utf-8") as file:
            json.dump(self.ledger, file)
            file.flush()
            os.fsync(file.fileno())
        os.rename(f"{path}.tmp", path)

    def fence(self, params: Json) -> None:
        """Refuse what comes under another epoch or too late."""
        self.fence_epoch(params)
        self.fence_time(params)

    def fence_epoch(self, params: Json) -> None:
        """Refuse another epoch."""
        if params["epoch"] != self.epoch:
            raise Refusal("fenced", outcome="not_made")

    def fence_time(self, params: Json) -> None:
        """Refuse what is too late."""
        if time.clock_gettime(time.CLOCK_BOOTTIME) > params["not_after"]:
            raise Refusal("fenced", outcome="not_made")

    # What is for sale.

    def describe(self, params: Json) -> Json:
        """Describe."""
        templates = [self.template(name) for name in CAPACITY]
        revision = hashlib.sha256(json.dumps(templates).encode()).hexdigest()[:16]
        known = params.get("known", "")
        self.described[revision] = templates
        if known == revision:
            return {"revision": revision, "base": revision}
        if known in self.described and "describe.delta" in self.capabilities:
            return {"revision": revision, "base": known, "templates": self.changed(self.described[known], templates)}
        return {"revision": revision, "templates": templates}

    def changed(self, before: list[Json], now: list[Json]) -> list[Json]:
        """Return the templates that are not as they were."""
        return [each for each in now if each not in before]

    def template(self, name: str) -> Json:
        """Describe one template."""
        amount, per = PRICES[name]
        found: Json = {
            "template": name,
            "kind": "host" if name == "box" else "grant",
            "unit": "machine" if name == "box" else "token",
            "granularity": {"max_units": CAPACITY[name]},
            "capacity": {"max": CAPACITY[name], "available": self.available(name)},
            "price": {"amount": amount, "currency": "USD", "per": per},
            "lead_time": {"typical_s": 0, "worst_s": 1},
        }
        return {**found, "units_per_instance": 1, "attributes": {"cores": 2}} if name == "box" else found

    def available(self, name: str) -> int:
        """Return how many units are left."""
        held = sum(self.units(each) for each in self.ledger["things"].values() if each["template"] == name)
        return CAPACITY[name] - held

    def quote(self, params: Json) -> Json:
        """Quote."""
        amount, per = PRICES[params["template"]]
        self.number += 1
        name = f"q-{self.number}"
        self.quotes.add(name)
        price = {"amount": amount, "currency": "USD", "per": per}
        return {
            "quote": name,
            "units": params["units"],
            "price": price,
            "valid_until": "2990-01-01T00:00:00Z",
            "held": False,
        }

    # Purchases.

    def request(self, params: Json) -> Json:
        """Buy once."""
        self.fence(params)
        content = self.content(params)
        order = self.ledger["orders"].get(params["token"])
        if order is not None:
            if order["content"] not in (None, content):
                raise Refusal("token_conflict")
            return self.report(params, order)
        self.objections(params)
        made = min(params["units"], self.available(params["template"]))
        if made < max(1, params.get("min_units", 1)):
            raise Refusal("no_capacity", outcome="not_made")
        return self.report(params, self.buy(params, content, made))

    def content(self, params: Json) -> str:
        """Return what the token stands for."""
        kept = {name: value for name, value in params.items() if name not in ("epoch", "not_after")}
        return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()

    def objections(self, params: Json) -> None:
        """Refuse what can't be bought."""
        if type(params["units"]) is not int or not isinstance(params["token"], str):
            raise Refusal("bad_params")
        if params["template"] not in CAPACITY:
            raise Refusal("unknown_template", outcome="not_made")
        if params.get("deadline", "9") < "2002":
            raise Refusal("bad_request", outcome="not_made")
        if "quote" in params:
            if params["quote"] not in self.quotes:
                raise Refusal("quote_gone", outcome="not_made")
            self.quotes.discard(params["quote"])
        self.price(params)

    def price(self, params: Json) -> None:
        """Refuse a cap below the price."""
        amount, per = PRICES[params["template"]]
        cap = params["price_cap"]
        if cap["currency"] != "USD" or cap["per"] != per or float(cap["amount"]) < float(amount):
            raise Refusal("price", outcome="not_made")

    def buy(self, params: Json, content: str, made: int) -> Json:
        """Make the units of one order."""
        shares = [1] * made if params["template"] == "box" else [made]
        order: Json = {"content": content, "things": [], "closes": time.time() + OPEN_S, "asked": params["units"]}
        order["missing"] = params["units"] - made
        for share in shares:
            name = self.new_name(params)
            self.ledger["things"][name] = {
                "instance": name,
                "template": params["template"],
                "units": share,
                "gone_at": None,
                "keep": share,
                "mark": params["mark"],
            }
            order["things"].append(name)
        self.ledger["orders"][params["token"]] = order
        self.write_down(params["token"])
        return order

    def write_down(self, token: str) -> None:
        """Make a purchase durable, or undo it."""
        try:
            self.store()
        except OSError as problem:
            for name in self.ledger["orders"].pop(token)["things"]:
                del self.ledger["things"][name]
            raise Refusal("transient", outcome="not_made") from problem

    def new_name(self, params: Json) -> str:
        """Return a name never used before."""
        return f"{params['template']}.{len(self.ledger['things']) + 1}.{self.ledger['state_id'][:6]}"

    def report(self, asked: Json, order: Json) -> Json:
        """Report on an order."""
        found: Json = {"request_id": asked["request_id"], "token": asked["token"], "instances": self.of_order(order)}
        found["outcome"] = self.outcome(order)
        if order.get("missing"):
            found["problems"] = [{"error_class": "no_capacity", "units": order["missing"]}]
        if found["outcome"] == "pending" and order.get("cancelling"):
            found["cancelling"] = True
        return found

    def of_order(self, order: Json) -> list[Json]:
        """Describe what an order has made."""
        return [self.instance(self.ledger["things"][name]) for name in order["things"]]

    def outcome(self, order: Json) -> str:
        """Return what became of an order."""
        if not order["things"]:
            return "not_made"
        return "pending" if time.time() < order["closes"] else "made"

    def instance(self, thing: Json) -> Json:
        """Describe one thing."""
        units = self.units(thing)
        gone = units == 0
        return {
            "instance": thing["instance"],
            "kind": "host" if thing["template"] == "box" else "grant",
            "template": thing["template"],
            "units": units,
            "state": "gone" if gone else "returning" if thing["keep"] == 0 else "running",
            **({"reason": "returned"} if gone else {}),
        }

    def units(self, thing: Json) -> int:
        """Return how many units are ours now."""
        over = thing["gone_at"] is not None and time.time() >= thing["gone_at"]
        return int(thing["keep"] if over else thing["units"])

    def request_status(self, params: Json) -> Json:
        """Report on several orders; a token never heard of is closed for ever."""
        if not params["requests"]:
            raise Refusal("bad_params")
        return {"requests": [self.status(asked) for asked in params["requests"]]}

    def status(self, asked: Json) -> Json:
        """Report on one order."""
        if any(params["token"] == asked["token"] for _, params in self.deferred.values()):
            return {**_known(asked), "outcome": "pending", "instances": []}
        order = self.ledger["orders"].get(asked["token"])
        return self.report(asked, order or self.tombstone(asked))

    def tombstone(self, asked: Json) -> Json:
        """Close a token."""
        order: Json = {"content": None, "things": [], "closes": 0.0}
        self.ledger["orders"][asked["token"]] = order
        self.store()
        return order

    def cancel(self, params: Json) -> Json:
        """Make no further unit."""
        self.fence(params)
        order = self.ledger["orders"].get(params["token"]) or self.tombstone(params)
        order["cancelling"] = True
        return self.report(params, order)

    def forget(self, params: Json) -> Json:
        """Drop notes of give-backs; orders stay."""
        for name in params.get("returns", ()):
            self.ledger["returns"].pop(name, None)
        return {}

    # Give-backs.

    def return_(self, params: Json) -> Json:
        """Take back."""
        self.fence(params)
        if not 1 <= len(params["items"]) <= 1000:
            raise Refusal("bad_params")
        for item in params["items"]:
            self.lower(item["instance"], item["keep"])
        self.ledger["returns"][params["return_id"]] = params["items"]
        self.store()
        return {"items": [self.item(each["instance"], each["keep"]) for each in params["items"]]}

    def lower(self, name: str, keep: int) -> None:
        """Lower what is kept of one thing."""
        thing = self.ledger["things"].get(name)
        if thing is not None and keep < thing["keep"]:
            thing["units"] = self.units(thing)
            thing["keep"], thing["gone_at"] = keep, time.time() + GONE_S

    def item(self, name: str, keep: int) -> Json:
        """Say what became of one item."""
        thing = self.ledger["things"].get(name)
        if thing is None:
            return {"instance": name, "state": "not_found"}
        units = self.units(thing)
        return {"instance": name, "state": "returned" if units <= keep else "returning", "units": units}

    def return_status(self, params: Json) -> Json:
        """Say what became of give-backs."""
        found = []
        for name in params["returns"]:
            items = self.ledger["returns"].get(name)
            told = None if items is None else [self.item(each["instance"], each["keep"]) for each in items]
            found.append({"return_id": name, **({} if told is None else {"items": told})})
        return {"returns": found}

    def extend(self, params: Json) -> Json:
        """Move ends, never to an earlier time."""
        self.fence(params)
        items = []
        for item in params["items"]:
            thing = self.ledger["things"].get(item["instance"])
            if thing is None:
                items.append({"instance": item["instance"], "problem": {"error_class": "not_found"}})
            else:
                thing["expires_at"] = self.later(thing.get("expires_at", ""), item["until"])
                items.append({"instance": item["instance"], "expires_at": thing["expires_at"]})
        self.store()
        return {"items": items}

    def later(self, old: str, new: str) -> str:
        """Return the later end."""
        return max(old, new)

    # Lists.

    def list_(self, params: Json) -> Json:
        """List."""
        limit = params.get("limit", 1000)
        if type(limit) is not int:
            raise Refusal("bad_params")
        things, thin = self.listed(), params.get("view") == "state"
        if params.get("instances") is not None:
            return self.named(things, params["instances"])
        begin = self.begin(params.get("cursor"))
        after = things[begin : begin + min(limit, self.page)]
        last = begin + len(after) >= len(things)
        shown = [self.thin(each) if thin else self.marked(each) for each in after]
        found: Json = {"instances": shown, "age_s": 0, "complete": last}
        return found if last else {**found, "next": f"at-{begin + len(after)}"}

    def listed(self) -> list[Json]:
        """Return everything that lists show, in the order of its making."""
        return list(self.ledger["things"].values())

    def begin(self, cursor: str | None) -> int:
        """Return where a cursor goes on."""
        if cursor is None:
            return 0
        if not cursor.startswith("at-"):
            raise Refusal("cursor_gone")
        return int(cursor[3:])

    def named(self, things: list[Json], names: list[str]) -> Json:
        """List the named."""
        known = {each["instance"]: each for each in things}
        return {
            "instances": [self.marked(known[name]) for name in names if name in known],
            "age_s": 0,
            "complete": False,
            "not_found": [name for name in names if name not in known],
        }

    def marked(self, thing: Json) -> Json:
        """Describe one thing with its mark."""
        return {**self.instance(thing), "mark": thing["mark"]}

    def thin(self, thing: Json) -> Json:
        """Describe one thing for a thin list."""
        whole = self.instance(thing)
        return {name: whole[name] for name in ("instance", "kind", "state", "units")}

    # The end.

    def ping(self, params: Json) -> Json:
        """Say that all is well."""
        return {"health": "ok"}

    def shutdown(self, params: Json) -> Json:
        """Begin nothing more, answer what is open."""
        self.ending = True
        for call_id in list(self.deferred):
            del self.deferred[call_id]
            self.refuse(call_id, Refusal("cancelled", outcome="not_made"))
        return {"open": 0}


def _known(asked: Json) -> Json:
    return {"request_id": asked["request_id"], "token": asked["token"]}


def _no_constant(word: str) -> NoReturn:
    raise ValueError(word)


OPTIONAL = ("quote", "cancel", "extend", "forget")
METHODS = {
    "describe": "describe",
    "request": "request",
    "request_status": "request_status",
    "return": "return_",
    "return_status": "return_status",
    "list": "list_",
    "ping": "ping",
    "shutdown": "shutdown",
    **{name: name for name in OPTIONAL},
}
