"""The honest provider, broken in one way: `play.py NAME`. What each one breaks is said in the class's docstring.

Over 400 lines because it is one table of small faults, read side by side.
"""

import hashlib
import json
import os
import select
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

from tests.conformance.subjects.honest import CODES, METHODS, Honest, Json, Refusal


class CrLines(Honest):
    """FR-1: ends its lines with CR LF."""

    def write(self, data: bytes) -> None:
        super().write(data.replace(b"\n", b"\r\n"))


class SplitsAtSeparators(Honest):
    """FR-1: cuts lines where Python's splitlines does."""

    def line(self, line: bytes) -> None:
        for piece in line.decode("utf-8", "replace").splitlines():
            super().line(piece.encode())


class AnswersBatches(Honest):
    """FR-2: acts on batches."""

    def line(self, line: bytes) -> None:
        if line.startswith(b"[{"):
            for each in json.loads(line):
                super().line(json.dumps(each).encode())
        else:
            super().line(line)


class ShortLines(Honest):
    """FR-3: ends at a frame of more than 64 KiB."""

    def line(self, line: bytes) -> None:
        if len(line) > 65_536:
            sys.exit(1)
        super().line(line)


class Chatty(Honest):
    """FR-4: prints to stdout."""

    def ping(self, params: Json) -> Json:
        self.write(b"pinged at last\n")
        return super().ping(params)


class AnswersTwice(Honest):
    """FR-5: answers a ping twice."""

    def message(self, call_id: Any, method: str, params: Json) -> None:
        super().message(call_id, method, params)
        if method == "ping":
            super().message(call_id, method, params)


class AsksBack(Honest):
    """FR-6: sends a request of its own."""

    def describe(self, params: Json) -> Json:
        self.send({"jsonrpc": "2.0", "id": 1, "method": "x-who-are-you", "params": {}})
        return super().describe(params)


class AnyVersion(Honest):
    """HS-3: answers 2.0 whatever is offered."""

    def initialize(self, params: Json) -> Json:
        return super().initialize({**params, "versions": ["2.0"]})


class Early(Honest):
    """HS-2: answers a ping before the handshake."""

    def answer(self, call_id: int, method: str, params: Json) -> Json | None:
        return self.ping(params) if method == "ping" else super().answer(call_id, method, params)


class TakesAnyConfig(Honest):
    """HS-4: takes a faulty configuration."""

    def initialize(self, params: Json) -> Json:
        config = {name: value for name, value in params["config"].items() if name == "slow_s"}
        return super().initialize({**params, "config": config})


class BuysAtStart(Honest):
    """HS-5: makes something during the second handshake."""

    def open_ledger(self) -> None:
        super().open_ledger()
        if self.epoch == 2:
            mark = {"token": "tk-nobody"}
            self.buy({"template": "box", "units": 1, "token": "tk-nobody", "mark": mark}, "", 1)


class NoLock(Honest):
    """HS-6: does not lock its folder."""

    def take_lock(self) -> None:
        self.lock = -1


class ChecksNothing(Honest):
    """HS-7: does not describe in check mode."""

    def describe(self, params: Json) -> Json:
        if self.mode == "check":
            raise Refusal("not_found")
        return super().describe(params)


class HastyShutdown(Honest):
    """HS-8: answers shutdown before the calls that are open."""

    def shutdown(self, params: Json) -> Json:
        self.ending = True
        return {"open": 0}


class Stays(Honest):
    """HS-9: stays when stdin ends."""

    def stdin_ended(self) -> None:
        if not self.ending:
            select.select([], [], [], 60)
        super().stdin_ended()


class OddExit(Honest):
    """EX-1: ends in order with status 3."""

    def stdin_ended(self) -> None:
        sys.exit(3)


class RunsByHand(Honest):
    """EX-2: does not say what it is to a person."""

    def run(self) -> NoReturn:
        os.environ.setdefault("PROVISIONER_CONTRACT", "2")
        super().run()


class NoKinds(Honest):
    """SH-initialize: leaves out `kinds`."""

    def initialize(self, params: Json) -> Json:
        found = super().initialize(params)
        del found["kinds"]
        return found


class Tracebacks(Honest):
    """TX-1: puts a traceback on the wire."""

    def begin(self, cursor: str | None) -> int:
        try:
            return super().begin(cursor)
        except Refusal as refusal:
            raise Refusal("cursor_gone", detail="Traceback (most recent call last): …") from refusal


class OddMark(Honest):
    """MK-1: writes its own epoch into marks."""

    def marked(self, thing: Json) -> Json:
        return {**super().marked(thing), "mark": {**thing["mark"], "epoch": 99}}


class ReusesIds(Honest):
    """IN-1: gives the id of a gone machine to a new one."""

    def new_name(self, params: Json) -> str:
        things = self.ledger["things"]
        number = next(n for n in range(1, 99) if self.units(things.get(f"n{n}", {"gone_at": 0, "keep": 0})) == 0)
        return f"n{number}"


class ChangesItsMind(Honest):
    """RP-1: says unknown once everything was given back."""

    def outcome(self, order: Json) -> str:
        gone = order["things"] and all(self.units(self.ledger["things"][name]) == 0 for name in order["things"])
        return "unknown" if gone else super().outcome(order)


class DropsGone(Honest):
    """RP-2: leaves gone instances out of later reports."""

    def of_order(self, order: Json) -> list[Json]:
        return [each for each in super().of_order(order) if each["state"] != "gone"]


class ForeignWords(Honest):
    """RP-3: uses a word of its far side."""

    def instance(self, thing: Json) -> Json:
        found = super().instance(thing)
        return {**found, "state": "up" if found["state"] == "running" else found["state"]}


class AlwaysAll(Honest):
    """DS-1: describes everything though nothing changed."""

    def describe(self, params: Json) -> Json:
        return super().describe({})


class ChangeOfNothing(Honest):
    """DS-2: answers a change to a revision it never gave."""

    def describe(self, params: Json) -> Json:
        found = super().describe(params)
        return {**found, "base": params["known"], "templates": []} if "known" in params else found


class OnceOnly(Honest):
    """DS-3: sells a template once."""

    def objections(self, params: Json) -> None:
        super().objections(params)
        if any(order["things"] for order in self.ledger["orders"].values()):
            raise Refusal("no_capacity", outcome="not_made")


class DescribesTwice(Honest):
    """DS-6: names a template twice."""

    def describe(self, params: Json) -> Json:
        found = super().describe(params)
        return {**found, "templates": [*found["templates"], *found["templates"][:1]]} if "templates" in found else found


class QuotesForever(Honest):
    """QT-2: lets a quote be used twice."""

    def objections(self, params: Json) -> None:
        super().objections(params)
        if "quote" in params:
            self.quotes.add(params["quote"])


class BuysAgain(Honest):
    """RQ-1: buys again when a request is sent again."""

    def request(self, params: Json) -> Json:
        order = self.ledger["orders"].get(params["token"])
        if order is not None and order["things"] and order["content"] == self.content(params):
            self.fence(params)
            more = self.buy({**params, "token": "tk-more"}, "", 1)
            order["things"] += more["things"]
        return super().request(params)


class NoConflict(Honest):
    """RQ-1: does not notice other content under a token."""

    def content(self, params: Json) -> str:
        return str(params["token"])


class ErrorForShortage(Honest):
    """RQ-4: answers an error though it has made something."""

    def request(self, params: Json) -> Json:
        found = super().request(params)
        if "problems" in found:
            raise Refusal("no_capacity")
        return found


class FalseError(Honest):
    """RQ-5: makes something and says not_made."""

    def objections(self, params: Json) -> None:
        if params["template"] == "no-such-template":
            self.buy({**params, "template": "box"}, self.content(params), 1)
        super().objections(params)


class Generous(Honest):
    """RQ-6: delivers one more than ordered."""

    def buy(self, params: Json, content: str, made: int) -> Json:
        more = made + (params["template"] == "box" and made == params["units"])
        return super().buy({**params, "units": max(more, params["units"])}, content, more)


class TalksOfOthers(Honest):
    """RS-1: reports on a purchase nobody asked about."""

    def request_status(self, params: Json) -> Json:
        other = {"request_id": "rq-x", "token": "tk-x", "outcome": "unknown", "instances": []}
        found = super().request_status(params)
        return {"requests": [*found["requests"], other]} if len(params["requests"]) > 1 else found


class FailsTogether(Honest):
    """RS-2: fails a whole question for one bad item."""

    def status(self, asked: Json) -> Json:
        if asked["template"] == "no-such-template" and asked["token"] not in self.ledger["orders"]:
            raise Refusal("unknown_template")
        return super().status(asked)


class NoTombstone(Honest):
    """OT-1: says not_made of a token and buys under it afterwards."""

    def status(self, asked: Json) -> Json:
        found = super().status(asked)
        if not self.ledger["orders"].get(asked["token"], {"things": 1})["things"]:
            del self.ledger["orders"][asked["token"]]
        return found


class CancelReturns(Honest):
    """CN-1: gives back what is cancelled."""

    def cancel(self, params: Json) -> Json:
        for name in self.ledger["orders"].get(params["token"], {"things": []})["things"]:
            self.lower(name, 0)
        return super().cancel(params)


class CancelSilently(Honest):
    """CN-2: does not say that a cancel is not settled."""

    def cancel(self, params: Json) -> Json:
        return {name: value for name, value in super().cancel(params).items() if name != "cancelling"}


class CancelForgets(Honest):
    """CN-3: says not_made to a cancel and buys under the token afterwards."""

    def cancel(self, params: Json) -> Json:
        known = params["token"] in self.ledger["orders"]
        found = super().cancel(params)
        if not known:
            del self.ledger["orders"][params["token"]]
        return found


class Raises(Honest):
    """RT-1: raises what is kept."""

    def lower(self, name: str, keep: int) -> None:
        thing = self.ledger["things"].get(name)
        if thing is not None and keep > thing["keep"] > 0:
            thing["units"] = thing["keep"] = keep
        super().lower(name, keep)


class ReturnsRunningOnly(Honest):
    """RT-2: takes nothing back that has only just been made."""

    def lower(self, name: str, keep: int) -> None:
        orders = [order for order in self.ledger["orders"].values() if name in order["things"]]
        if not any(order["closes"] + 0.3 > time.time() for order in orders):
            super().lower(name, keep)

    def item(self, name: str, keep: int) -> Json:
        thing = self.ledger["things"].get(name)
        if thing is not None and thing["keep"] > keep:
            return {"instance": name, "state": "failed", "problem": {"error_class": "bad_request"}}
        return super().item(name, keep)


class KeepsWithoutPromise(Honest):
    """RT-3: takes a part back without having promised that it can."""

    def promises(self) -> Json:
        return {**super().promises(), "return": {"observed": True}}


class ReturnsTogether(Honest):
    """RT-4: fails a whole give-back for one bad item."""

    def lower(self, name: str, keep: int) -> None:
        if name not in self.ledger["things"]:
            raise Refusal("not_found")
        super().lower(name, keep)


class ReturnsTooMuch(Honest):
    """RT-6: gives back everything of the template."""

    def lower(self, name: str, keep: int) -> None:
        super().lower(name, keep)
        template = self.ledger["things"].get(name, {"template": "?"})["template"]
        for other, thing in self.ledger["things"].items():
            if thing["template"] == template and keep == 0:
                super().lower(other, 0)


class KnowsEveryReturn(Honest):
    """RX-1: tells of give-backs it never heard of."""

    def return_status(self, params: Json) -> Json:
        return {"returns": [{"items": [], **each} for each in super().return_status(params)["returns"]]}


class NoAge(Honest):
    """SH-list: leaves out age_s."""

    def list_(self, params: Json) -> Json:
        return {name: value for name, value in super().list_(params).items() if name != "age_s"}


class ListsNothing(Honest):
    """LS-1: never lists what it sold."""

    def listed(self) -> list[Json]:
        return []


class OldLists(Honest):
    """LS-2: answers from an old read."""

    def list_(self, params: Json) -> Json:
        return {**super().list_(params), "age_s": 500}


class CompleteTooSoon(Honest):
    """LS-3: calls every page complete."""

    def list_(self, params: Json) -> Json:
        found = super().list_(params)
        return found if params.get("instances") else {**found, "complete": True}


class SkipsOne(Honest):
    """LS-4: loses one instance between two pages."""

    def begin(self, cursor: str | None) -> int:
        return super().begin(cursor) + (cursor is not None)


class CompleteNames(Honest):
    """LS-6: calls a list of named instances complete."""

    def named(self, things: list[Json], names: list[str]) -> Json:
        return {**super().named(things, names), "complete": True}


class AnyCursor(Honest):
    """LS-8: takes any cursor for the begin."""

    def begin(self, cursor: str | None) -> int:
        return super().begin(cursor if cursor and cursor.startswith("at-") else None)


class ThinNothing(Honest):
    """LS-9: leaves the thin view empty."""

    def list_(self, params: Json) -> Json:
        found = super().list_(params)
        return {**found, "instances": []} if params.get("view") == "state" else found


class Shortens(Honest):
    """XT-1: shortens by extend."""

    def later(self, old: str, new: str) -> str:
        return new


class ForgetsTokens(Honest):
    """FG-1: buys again under a forgotten token."""

    def forget(self, params: Json) -> Json:
        for token in params.get("tokens", ()):
            self.ledger["orders"].pop(token, None)
        return super().forget(params)


class Noisy(Honest):
    """NT-2: says `changed` at every list."""

    def list_(self, params: Json) -> Json:
        for _ in range(8):
            self.send({"jsonrpc": "2.0", "method": "changed", "params": {"what": ["instances"]}})
        return super().list_(params)


class OddNotice(Honest):
    """SH-notification: sends a notice without items."""

    def describe(self, params: Json) -> Json:
        self.send({"jsonrpc": "2.0", "method": "notice", "params": {}})
        return super().describe(params)


class OddCode(Honest):
    """ER-1: pairs a class with another's code."""

    def refuse(self, call_id: int, refusal: Refusal) -> None:
        CODES["cursor_gone"] = CODES["not_found"]
        super().refuse(call_id, refusal)


class NoError(Honest):
    """ER-2: answers an unknown method with an empty result."""

    def answer(self, call_id: int, method: str, params: Json) -> Json | None:
        return (
            {}
            if method not in METHODS and self.greeted and method[0] == "x"
            else super().answer(call_id, method, params)
        )


class Undeclared(Honest):
    """GR-3: serves what it did not declare."""

    def initialize(self, params: Json) -> Json:
        found = super().initialize(params)
        return {**found, "capabilities": [each for each in found["capabilities"] if each != "forget"]}


class Fussy(Honest):
    """GR-2: refuses fields it does not know."""

    def answer(self, call_id: int, method: str, params: Json) -> Json | None:
        if "later_field" in params:
            raise Refusal("bad_params")
        return super().answer(call_id, method, params)


class Lenient(Honest):
    """ER-3: answers params of another shape."""

    def request_status(self, params: Json) -> Json:
        return super().request_status(params) if params["requests"] else {"requests": [_NOBODY]}


_NOBODY = {"request_id": "rq-x", "token": "tk-x", "outcome": "unknown", "instances": []}


class BuysAfterRestart(Honest):
    """PR-token.replay: promises exact tokens and keeps them in memory."""

    def open_ledger(self) -> None:
        super().open_ledger()
        self.ledger["orders"] = {}

    def status(self, asked: Json) -> Json:
        known = asked["token"] in self.ledger["orders"] or self.deferred
        return (
            super().status(asked) if known else {**_NOBODY, "request_id": asked["request_id"], "token": asked["token"]}
        )


class NoMarks(Honest):
    """PR-mark.kept: promises marks and lists none."""

    def marked(self, thing: Json) -> Json:
        return self.instance(thing)


class LateLists(Honest):
    """PR-list.delay_s: lists two seconds later than promised."""

    def listed(self) -> list[Json]:
        now = time.time()
        closes = {name: order["closes"] for order in self.ledger["orders"].values() for name in order["things"]}
        return [each for each in super().listed() if closes[each["instance"]] + 2.5 < now]

    def named(self, things: list[Json], names: list[str]) -> Json:
        return super().named(super().listed(), names)


class ForgetsGone(Honest):
    """PR-list.gone_visible_s: lists gone instances no more."""

    def listed(self) -> list[Json]:
        return [each for each in super().listed() if self.units(each)]


class CapIgnored(Honest):
    """PR-limits.price_cap: buys above the cap."""

    def price(self, params: Json) -> None:
        """Take any price."""


class MinIgnored(Honest):
    """PR-limits.min_units: delivers fewer than the least."""

    def request(self, params: Json) -> Json:
        return super().request({**params, "min_units": 1})


class DeadlineIgnored(Honest):
    """PR-limits.deadline: buys after the deadline."""

    def objections(self, params: Json) -> None:
        super().objections({name: value for name, value in params.items() if name != "deadline"})


class ReturnedTooSoon(Honest):
    """PR-return.observed: says returned of what still runs."""

    def instance(self, thing: Json) -> Json:
        found = super().instance(thing)
        still = thing["gone_at"] is not None and time.time() < thing["gone_at"] + 0.6 and thing["keep"] == 0
        return {**found, "state": "running", "units": thing["units"]} if still else found


class ThreeAtATime(Honest):
    """PR-calls.in_flight: promises four calls at once and refuses one of them."""

    def lines(self, lines: list[bytes]) -> None:
        self.crowd = len(lines)
        super().lines(lines)

    def describe(self, params: Json) -> Json:
        if self.crowd > 3:
            raise Refusal("no_capacity")
        return super().describe(params)


class SlowViews(Honest):
    """PR-calls.answer_s: takes longer than promised for a thin list."""

    def list_(self, params: Json) -> Json:
        if params.get("view") == "state":
            select.select([], [], [], 6)
        return super().list_(params)


class TooLate(Honest):
    """PR-calls.not_after: begins what is too late."""

    def fence_time(self, params: Json) -> None:
        """Take any time."""


class Busy(Honest):
    """CC-2: answers no list while a request runs."""

    def list_(self, params: Json) -> Json:
        if self.deferred:
            raise Refusal("not_found")
        return super().list_(params)


class SilentCancel(Honest):
    """CC-6: never answers a cancelled call."""

    def notification(self, method: str, params: Json) -> None:
        if method == "cancel_call":
            self.deferred.pop(params.get("id", 0), None)
        else:
            super().notification(method, params)


class RecordsLate(Honest):
    """ST-1: records the token after the purchase."""

    def buy(self, params: Json, content: str, made: int) -> Json:
        order = super().buy(params, content, made)
        del self.ledger["orders"][params["token"]]
        self.store()
        select.select([], [], [], 0.2)
        self.ledger["orders"][params["token"]] = order
        self.store()
        return order

    def status(self, asked: Json) -> Json:
        known = asked["token"] in self.ledger["orders"] or self.deferred
        return (
            super().status(asked) if known else {**_NOBODY, "request_id": asked["request_id"], "token": asked["token"]}
        )


class BeginsAnew(Honest):
    """ST-2: reads damaged records as none."""

    def open_ledger(self) -> None:
        path = Path(self.state_dir, "ledger.json")
        if path.exists() and not path.read_bytes().startswith(b"{"):
            path.unlink()
        super().open_ledger()
        self.ledger["state_id"] = hashlib.sha256(self.state_dir.encode()).hexdigest()[:20]


class NoRoomNoMatter(Honest):
    """ST-2: buys though the record can't be written."""

    def write_down(self, token: str) -> None:
        try:
            self.store()
        except OSError:
            return


class NewStateId(Honest):
    """ST-4: makes a state_id at every start."""

    def open_ledger(self) -> None:
        super().open_ledger()
        self.ledger["state_id"] = os.urandom(10).hex()


class AnyEpoch(Honest):
    """EP-1: serves under a lower epoch."""

    def open_ledger(self) -> None:
        wanted = self.epoch
        self.epoch = 1 << 40
        super().open_ledger()
        self.epoch = wanted


class ForeignEpoch(Honest):
    """EP-4: obeys another epoch's calls."""

    def fence_epoch(self, params: Json) -> None:
        """Take any epoch."""


class EpochIsContent(Honest):
    """EP-5: takes a successor's repetition for another purchase."""

    def content(self, params: Json) -> str:
        return f"{super().content(params)} {params['epoch']}"


class TellsSecrets(Honest):
    """SC-1: writes its credentials into its folder."""

    def initialize(self, params: Json) -> Json:
        found = super().initialize(params)
        secrets = [each.read_text() for each in Path(os.environ["CREDENTIALS_DIRECTORY"]).iterdir()]
        Path(self.state_dir, "debug").write_text("".join(secrets))
        return found


class ExtraFields(Honest):
    """GR-5: answers fields of its own without x-."""

    def marked(self, thing: Json) -> Json:
        return {**super().marked(thing), "colour": "red"}


class DiesAtHello(Honest):
    """HS-1: ends instead of answering initialize."""

    def initialize(self, params: Json) -> Json:
        sys.exit(1)


class AnswersHints(Honest):
    """NT-3: answers notifications."""

    def notification(self, method: str, params: Json) -> None:
        super().notification(method, params)
        self.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "unknown_method"}})


class SlowerThanItsWorst(Honest):
    """SH-describe: states a worst lead time below the typical one."""

    def template(self, name: str) -> Json:
        return {**super().template(name), "lead_time": {"typical_s": 60, "worst_s": 1}}


class HalfAChange(Honest):
    """DS-2: tells a change that leaves out what has changed."""

    def changed(self, before: list[Json], now: list[Json]) -> list[Json]:
        return []


class ChangesUndeclared(Honest):
    """DS-2: tells changes without having declared that it can."""

    def initialize(self, params: Json) -> Json:
        found = super().initialize(params)
        return {**found, "capabilities": [each for each in found["capabilities"] if each != "describe.delta"]}


class QuoteCosts(Honest):
    """QT-1: makes what it quotes."""

    def quote(self, params: Json) -> Json:
        self.buy({**params, "token": f"tk-quote-{self.number}", "mark": {"token": "tk-quote"}}, "", 1)
        return super().quote(params)


class QuotesInSecret(Honest):
    """SH-quote: leaves out whether the units are held."""

    def quote(self, params: Json) -> Json:
        return {name: value for name, value in super().quote(params).items() if name != "held"}


class BoughtOrSo(Honest):
    """SH-request: answers a purchase without its outcome."""

    def request(self, params: Json) -> Json:
        return {name: value for name, value in super().request(params).items() if name != "outcome"}


class TakesItsTime(Honest):
    """RQ-2: works on a purchase for longer than it promised to answer in."""

    def request(self, params: Json) -> Json:
        select.select([], [], [], 6)
        return super().request(params)


class StatusOrSo(Honest):
    """SH-request_status: reports without instances."""

    def status(self, asked: Json) -> Json:
        return {name: value for name, value in super().status(asked).items() if name != "instances"}


class TombstoneInMemory(Honest):
    """ST-6: says not_made of a token and knows nothing of it after a restart."""

    def open_ledger(self) -> None:
        super().open_ledger()
        self.ledger["orders"] = {name: order for name, order in self.ledger["orders"].items() if order["things"]}


class CancelOrSo(Honest):
    """SH-cancel: answers a cancel without its outcome."""

    def cancel(self, params: Json) -> Json:
        return {name: value for name, value in super().cancel(params).items() if name != "outcome"}


class CancelInMemory(Honest):
    """CN-3: keeps the tombstone of a cancel until the process ends."""

    def cancel(self, params: Json) -> Json:
        known = params["token"] in self.ledger["orders"]
        found = super().cancel(params)
        self.ledger["orders"][params["token"]]["fleeting"] = not known
        self.store()
        return found

    def open_ledger(self) -> None:
        super().open_ledger()
        orders = self.ledger["orders"]
        self.ledger["orders"] = {name: order for name, order in orders.items() if not order.get("fleeting")}


class CancelAnyEpoch(Honest):
    """EP-4: cancels under another epoch."""

    def cancel(self, params: Json) -> Json:
        return super().cancel({**params, "epoch": self.epoch})


class ReturnOrSo(Honest):
    """SH-return: answers a give-back without states."""

    def return_(self, params: Json) -> Json:
        return {"items": [{"instance": each["instance"]} for each in super().return_(params)["items"]]}


class ReturnsOnce(Honest):
    """RT-5: takes no give-back that a crash cut off."""

    def open_ledger(self) -> None:
        super().open_ledger()
        for thing in self.ledger["things"].values():
            if thing["gone_at"] is not None:
                thing.update(gone_at=None, keep=thing["units"], stuck=True)
        self.ledger["returns"] = {}

    def lower(self, name: str, keep: int) -> None:
        if not self.ledger["things"].get(name, {}).get("stuck"):
            super().lower(name, keep)

    def item(self, name: str, keep: int) -> Json:
        if self.ledger["things"].get(name, {}).get("stuck"):
            return {"instance": name, "state": "failed"}
        return super().item(name, keep)


class StatusesOrSo(Honest):
    """SH-return_status: leaves out which give-back it speaks of."""

    def return_status(self, params: Json) -> Json:
        return {"returns": [{"items": []} for _ in super().return_status(params)["returns"]]}


class WholeThoughBlind(Honest):
    """LS-5: calls a list complete though a place could not be read."""

    def list_(self, params: Json) -> Json:
        return {**super().list_(params), "missing_places": [{"zone": "z-9"}]}


class FatLists(Honest):
    """LS-9: declares thin lists and sends everything."""

    def thin(self, thing: Json) -> Json:
        return self.marked(thing)


class NarrowCluster(Honest):
    """LS-10: shows nothing of its own in the list of the whole cluster."""

    def listed(self) -> list[Json]:
        return [] if self.scope == "cluster" else super().listed()

    def list_(self, params: Json) -> Json:
        self.scope = params.get("scope")
        return super().list_(params)

    scope: Any = None


class ExtendOrSo(Honest):
    """SH-extend: answers without items."""

    def extend(self, params: Json) -> Json:
        super().extend(params)
        return {}


class ExtendsTogether(Honest):
    """XT-1: extends nothing where one item is bad."""

    def extend(self, params: Json) -> Json:
        if any(item["instance"] not in self.ledger["things"] for item in params["items"]):
            raise Refusal("not_found")
        return super().extend(params)


class ForgetsThings(Honest):
    """FG-1: drops the things with the record of their answer."""

    def forget(self, params: Json) -> Json:
        for token in params.get("tokens", ()):
            for name in self.ledger["orders"].get(token, {"things": []})["things"]:
                self.ledger["things"].pop(name)
            self.ledger["orders"][token] = {"content": None, "things": [], "closes": 0.0}
        self.store()
        return super().forget(params)

    def new_name(self, params: Json) -> str:
        return f"{params['template']}.{os.urandom(6).hex()}"


class NoHealth(Honest):
    """SH-ping: says nothing of its health."""

    def ping(self, params: Json) -> Json:
        return {}


class OpenOrSo(Honest):
    """SH-shutdown: does not count what is open."""

    def shutdown(self, params: Json) -> Json:
        super().shutdown(params)
        return {"open": "a few"}


class Falls(Honest):
    """SQ-1: ends at a description that is asked for after a give-back."""

    def describe(self, params: Json) -> Json:
        if any(thing["gone_at"] is not None for thing in self.ledger["things"].values()):
            sys.exit(1)
        return super().describe(params)


class BareErrors(Honest):
    """SH-error: leaves out the message of an error."""

    def send(self, message: Json) -> None:
        if "error" in message:
            message["error"].pop("message")
        super().send(message)


class FarInWords(Honest):
    """PR-memory.where: promises memory at a far side and keeps it in its folder."""

    def promises(self) -> Json:
        return {**super().promises(), "memory": {"where": "far_side"}}


class OwnListsOnly(Honest):
    """PR-list.covers: promises lists of the far side and lists what this folder has bought."""

    def promises(self) -> Json:
        promised = super().promises()
        far = {"memory": {"where": "far_side"}, "list": {**promised["list"], "covers": "far_side"}}
        return {**promised, **far}

    def open_ledger(self) -> None:
        self.own, self.state_dir = self.state_dir, str(Path(self.state_dir).parent)
        super().open_ledger()

    def new_name(self, params: Json) -> str:
        return f"{super().new_name(params)}.{Path(self.own).name}"

    def listed(self) -> list[Json]:
        return [each for each in super().listed() if each["instance"].endswith(f".{Path(self.own).name}")]

    own = ""


class FindsNothing(Honest):
    """PR-list.not_found_gone_after_s: does not find by name what lives."""

    def named(self, things: list[Json], names: list[str]) -> Json:
        return super().named([], names)


class ForgetsReports(Honest):
    """PR-memory.keep_s: promises to keep reports and does not know them after a restart."""

    def open_ledger(self) -> None:
        super().open_ledger()
        self.of_old = set(self.ledger["orders"])

    def status(self, asked: Json) -> Json:
        found = super().status(asked)
        return {**found, "outcome": "unknown", "instances": []} if asked["token"] in self.of_old else found

    of_old: set[str]


class AllOrNothing(Honest):
    """PR-return.partial: promises to take parts back and refuses them."""

    def lower(self, name: str, keep: int) -> None:
        if not keep:
            super().lower(name, keep)

    def item(self, name: str, keep: int) -> Json:
        if keep:
            return {"instance": name, "state": "failed", "problem": {"error_class": "unsupported"}}
        return super().item(name, keep)


class DropsTheLast(Honest):
    """CC-1: loses the last of four calls that come together."""

    def lines(self, lines: list[bytes]) -> None:
        super().lines(lines[:3])


class TwiceAtOnce(Honest):
    """CC-3: buys twice where one request comes twice at once."""

    def lines(self, lines: list[bytes]) -> None:
        requests = [json.loads(line)["params"] for line in lines if b'"method":"request",' in line]
        self.twins = {each["token"] for each in requests if len(requests) == 2}
        super().lines(lines)

    def request(self, params: Json) -> Json:
        order = self.ledger["orders"].get(params["token"])
        if order is not None and params["token"] in self.twins:
            order["things"] += self.buy({**params, "token": "tk-more"}, "", 1)["things"]
        return super().request(params)

    twins: set[str]


class NotWhilePending(Honest):
    """CC-4: takes nothing back while its purchase is pending."""

    def return_(self, params: Json) -> Json:
        ids = {each["instance"] for each in params["items"]}
        for order in self.ledger["orders"].values():
            if ids & set(order["things"]) and self.outcome(order) == "pending":
                raise Refusal("bad_request")
        return super().return_(params)


FAULTS: dict[str, type[Honest]] = {each.__name__: each for each in Honest.__subclasses__()}
