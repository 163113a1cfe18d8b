"""Good frames with senseless, foreign or endless contents: `python -m … KIND`."""

import sys

from tests.e2e.hostile.subjects.plain import Message, Plain, template

HUGE = 2**53 - 1
PAGE = 1000
SENSELESS: tuple[object, ...] = (
    None, True, -1, HUGE, 2**80, 1.5e300, "", "x" * 501, "\x00\x1b[2J", [], {}, [[]], {"a": {"b": []}}, "NaN", "1e9"
)  # fmt: skip
ABSURD = ("999999999999.999999999", "1000000000000", "-1", "1e9", "NaN", "0x10", "", "0.0000000001", "00", " 1")


class WrongTypes(Plain):
    """Puts another senseless value into each field of each answer in turn, beside a good handshake."""

    def answer(self, call: Message, result: Message) -> None:
        """Which field and which value depends on how much was answered."""
        if call["method"] not in {"initialize", "describe"} and result:
            name = sorted(result)[self.answered % len(result)]
            result = {**result, name: SENSELESS[self.answered % len(SENSELESS)]}
        super().answer(call, result)


class WrongThings(Plain):
    """Lists things with a senseless value in each of their fields."""

    def list(self, params: Message) -> Message:
        """A thing for each field and value."""
        found = super().list(params)
        names = (
            "instance", "kind", "template", "units", "state", "reason", "name", "addresses", "access", "place",
            "attributes", "made_at", "billed_from", "expires_at", "price", "charged", "notice", "mark",
        )  # fmt: skip
        for n, name in enumerate(names):
            for k, value in enumerate(SENSELESS):
                thing = {"instance": f"odd-{n}-{k}", "template": "bait", "units": 1, "state": "running"}
                found["instances"].append({**thing, name: value})
        return found


class AbsurdMoney(Plain):
    """Describes templates at absurd prices, and charges absurd sums."""

    def describe(self, _params: Message) -> Message:
        """A good template and one for each absurd amount that can be read."""
        dear = [
            {**template(f"dear-{n}"), "price": {"amount": a, "currency": "USD", "per": "hour", "once": a}}
            for n, a in enumerate(ABSURD[:1])
        ]
        free = {**template("free"), "price": {"amount": "0", "currency": "USD", "per": "hour"}}
        return {"revision": "1", "templates": [template(), *dear, free]}

    def list(self, params: Message) -> Message:
        """What was bought costs the world."""
        found = super().list(params)
        for thing in found["instances"]:
            thing["charged"] = {"amount": ABSURD[0], "currency": "USD"}
            thing["price"] = {"amount": ABSURD[0], "currency": "XTS", "per": "hour"}
        for n, amount in enumerate(ABSURD):
            charged = {"amount": amount, "currency": "USD"}
            thing = {"instance": f"odd-{n}", "template": "bait", "units": HUGE, "state": "running"}
            found["instances"].append({**thing, "charged": charged})
        return found


class BadTemplates(Plain):
    """Describes templates that can't be read."""

    def describe(self, _params: Message) -> Message:
        """Absurd prices, sizes and names."""
        bad = [
            {**template(f"t{n}"), "price": {"amount": a, "currency": "USD", "per": "hour"}}
            for n, a in enumerate(ABSURD)
        ]
        sizes = [{**template(f"s{n}"), "granularity": {"max_units": value}} for n, value in enumerate(SENSELESS)]
        return {"revision": "1", "templates": [*bad, *sizes, template()]}


class OtherMarks(Plain):
    """Lists things of other clusters, other lineages, and its own under foreign tokens."""

    def list(self, params: Message) -> Message:
        """Three hundred that are none of ours."""
        found = super().list(params)
        for n in range(300):
            mark = {"cluster": "other", "lineage": f"l-{n}", "provider": "good", "request_id": f"rq-{n}"}
            thing = {"instance": f"foreign-{n}", "template": "bait", "units": 1, "state": "running"}
            found["instances"].append({**thing, "mark": {**mark, "token": f"tk-{n}", "epoch": HUGE}})
        return found


class ManyTemplates(Plain):
    """Describes 20,000 templates in pages, another description each time."""

    def __init__(self) -> None:
        super().__init__()
        self._read = 0

    def describe(self, params: Message) -> Message:
        """Page by page."""
        page = int(params.get("cursor") or 0)
        self._read += page == 0
        named = [template(f"t{self._read % 2}-{page * PAGE + n}") for n in range(PAGE)]
        following = {"next": str(page + 1)} if page < 19 else {}
        return {"revision": str(self._read), "templates": named, **following}


class ManyThings(Plain):
    """Lists 100,000 things in pages, again and again."""

    pages = 100

    def list(self, params: Message) -> Message:
        """Page by page."""
        page = int(params.get("cursor") or 0)
        thing = {"template": "bait", "units": 1, "state": "running", "name": "host.example", "attributes": {"cores": 2}}
        mark = {"cluster": "other", "lineage": "l", "provider": "p", "request_id": "r", "token": "t", "epoch": 1}
        place = {"region": "r1", "zone": "r1-a"}
        things = [
            {**thing, "instance": f"h-{page}-{n}", "mark": {**mark, "token": f"t-{page}-{n}"}, "place": place}
            for n in range(PAGE)
        ]
        if page + 1 >= self.pages:
            own = super().list(params)["instances"]
            return {"instances": [*own, *things[len(own) :]], "age_s": 0, "complete": True}
        return {"instances": things, "age_s": 0, "complete": False, "next": str(page + 1)}


class EndlessList(ManyThings):
    """Lists pages without an end."""

    pages = 1 << 40


class EmptyPages(Plain):
    """Lists empty pages without an end."""

    def list(self, params: Message) -> Message:
        """Nothing, and more to come."""
        page = int(params.get("cursor") or 0)
        return {"instances": [], "age_s": 0, "complete": False, "next": str(page + 1)}


if __name__ == "__main__":
    kinds = {
        "wrong_types": WrongTypes,
        "wrong_things": WrongThings,
        "absurd_money": AbsurdMoney,
        "bad_templates": BadTemplates,
        "other_marks": OtherMarks,
        "many_templates": ManyTemplates,
        "many_things": ManyThings,
        "endless_list": EndlessList,
        "empty_pages": EmptyPages,
    }
    kinds[sys.argv[1]]().run()
