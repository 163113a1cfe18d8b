"""Checks of describe (§4) and of growth (§11): revisions, the form of templates, what is not there, what is new."""

from provider_sdk.contract import DescribeResult, ErrorClass, Report, Template
from provider_sdk.testing import acting
from provider_sdk.testing.check import Check, check
from provider_sdk.testing.saying import Params
from provider_sdk.testing.stage import Stage, as_wares
from provider_sdk.testing.verdict import Broken, Inapplicable

TEMPLATES_MOST = 20_000
ATTEMPTS = 5


async def _templates(stage: Stage) -> None:
    """The gate of all purchases: what there is, and that it can be bought more than once."""
    conversation = await stage.shared()
    pages = await acting.describe_all(conversation)
    templates = [each for page in pages for each in page.templates]
    names = [each.template for each in templates]
    if len(names) > TEMPLATES_MOST or len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})[:5]
        raise Broken("DS-6", "at most 20,000 templates, each once", f"{len(names)}, twice: {twice}", "describe")
    for each in templates:
        _in_form(each)
    stage.templates = {each.template: each for each in templates}
    wanted = stage.subject.template or (names[0] if names else "")
    if wanted not in stage.templates:
        raise Broken(
            "DS-3", f"the template {wanted or 'to buy'} among those described", ", ".join(names[:20]) or "none"
        )
    stage.main = as_wares(stage.templates[wanted], stage.subject.units)


def _in_form(template: Template) -> None:
    granularity = template.granularity
    if granularity.min_units > granularity.max_units:
        raise Broken("SH-describe", "min_units up to max_units", str(granularity), template.template)
    if template.lead_time.typical_s > template.lead_time.worst_s:
        raise Broken("SH-describe", "lead_time typical_s up to worst_s", str(template.lead_time), template.template)


async def _bought_twice(stage: Stage) -> None:
    conversation = await stage.shared()
    seen: set[str] = set()
    for attempt in ("first", "second"):
        try:
            bought = await stage.buy(conversation)
        except Inapplicable as reason:
            raise Broken("DS-3", f"a {attempt} purchase of {stage.wares.template.template}", str(reason)) from reason
        seen.update(each.instance for each in bought.report.instances)
        await acting.give_back(conversation, bought.ids, stage.subject.settle_s)


async def _known(stage: Stage) -> None:
    conversation = await stage.shared()
    for _ in range(ATTEMPTS):
        revision = (await acting.describe_all(conversation))[0].revision
        reply = await conversation.call("describe", {"known": revision})
        found = reply.result(DescribeResult, "DS-1")
        if found.revision == revision:
            if found.base != revision or found.templates or found.removed:
                raise reply.broken("DS-1", "revision and base only, since `known` is the present revision")
            return
    raise Inapplicable("the description changed each time it was read")


async def _unknown_revision(stage: Stage) -> None:
    conversation = await stage.shared()
    reply = await conversation.call("describe", {"known": "no-revision-of-yours"})
    found = reply.result(DescribeResult, "DS-2")
    if found.base is not None and found.base != "no-revision-of-yours":
        raise reply.broken("DS-2", "a change to apply to `known`, or everything")
    if found.base is not None or (not found.templates and stage.templates):
        raise reply.broken("DS-2", "everything, since `known` is no revision of this provider")


async def _undeclared(stage: Stage) -> None:
    """A capability that is not named is not there."""
    conversation = await stage.shared()
    params = {
        "quote": {"template": stage.wares.template.template, "units": stage.wares.units},
        "cancel": {"request_id": "rq-none", "token": "tk-none", **conversation.fence()},
        "extend": {"items": [{"instance": "none", "until": "2031-03-04T17:58:12Z"}], **conversation.fence()},
        "forget": {},
    }
    absent = [name for name in params if name not in conversation.capabilities]
    for name in (*absent, "x-nobody-knows"):
        (await conversation.call(name, params.get(name, {}))).refused(_clause_of(name), ErrorClass.UNKNOWN_METHOD)


def _clause_of(method: str) -> str:
    return "ER-2" if method.startswith("x-") else "GR-3"


async def _unknown_fields(stage: Stage) -> None:
    conversation = await stage.start()
    reply = await conversation.greet(**{"x-new": {"a": 1}, "later_field": [1, 2]})
    if not conversation.greeted:
        raise reply.broken("GR-2", "a handshake in spite of fields it does not know")
    for method, params in (
        ("describe", {"later_field": 1}),
        ("list", {"later_field": {"deep": True}, "view": "later_view", "scope": "later_scope"}),
        ("ping", {"later_field": None}),
    ):
        found = await conversation.call(method, params)
        if found.error is not None:
            raise found.broken("GR-2", "unknown fields ignored, unknown words weakened")
    bought = await conversation.call("request", stage.order(conversation, later_field={"a": [1]}))
    if bought.error is not None and bought.error.error_class is ErrorClass.BAD_PARAMS:
        raise bought.broken("GR-2", "unknown fields of a request ignored")
    if bought.error is None:
        ids = [each.instance for each in bought.result(Report).instances]
        if ids:
            given = await conversation.call("return", acting.giving(conversation, ids, why="later_why"))
            if given.error is not None:
                raise given.broken("GR-2", "an unknown `why` weakened to none")


async def _bad_params(stage: Stage) -> None:
    conversation = await stage.shared()
    order = stage.order(conversation)
    faulty: tuple[tuple[str, Params], ...] = (
        ("request", {**order, "units": "one"}),
        ("request", {name: value for name, value in order.items() if name != "token"}),
        ("request_status", {"requests": []}),
        ("return", {**acting.giving(conversation, ["x"]), "items": [{"instance": "x", "keep": 0}] * 1001}),
        ("list", {"limit": "all"}),
    )
    for method, params in faulty:
        (await conversation.call(method, params)).refused("ER-3", ErrorClass.BAD_PARAMS)


DESCRIBING: tuple[Check, ...] = (
    check("the known revision", "DS-1")(_known),
    check("a revision never given", "DS-2")(_unknown_revision),
    check("methods that are not there", "GR-3", "ER-2")(_undeclared),
    check("fields and words of a later version", "GR-2")(_unknown_fields),
    check("params of another shape", "ER-3")(_bad_params),
)
TEMPLATES: Check = check("templates", "DS-6", "SH-describe", "DS-3")(_templates)
TWICE: Check = check("one template, bought twice", "DS-3", "IN-1")(_bought_twice)
