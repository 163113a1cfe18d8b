"""Reads ordered faults from the configuration: which keys each act takes, and which calls it can strike.

Pure. Knows the notation; must not know how a fault is made to happen.
"""

import re
from collections.abc import Iterable, Mapping

from providers.simulated.faults import (
    CLASSES,
    METHODS,
    WIRE_ACTS,
    Act,
    FaultPlan,
    PriceFaults,
    ProcessFaults,
    Rule,
)
from providers.simulated.reading import Section

# What each act may be tuned by, besides on, calls, rate, templates and do.
ACTS: Mapping[Act, tuple[str, ...]] = {
    "delay": ("for",),
    "error": ("error_class", "outcome", "retry_after", "reason", "scope"),
    "partial": ("made", "error_class", "retry_after", "reason", "scope"),
    "fulfil_late": ("for", "error_class", "outcome"),
    "empty_list": (),
    "incomplete_list": (),
    "item_errors": ("error_class", "items", "retry_after"),
    "unknown_outcome": (),
    "never_answer": (),
    "lose_answer": (),
    "delay_answer": ("for",),
    "answer_twice": (),
    "exit": ("when", "code"),
    "cut_answer": ("bytes", "code"),
}
_ONLY_ON: Mapping[str, tuple[str, ...]] = {
    "partial": ("request",),
    "fulfil_late": ("request",),
    "empty_list": ("list",),
    "incomplete_list": ("list",),
    "item_errors": ("return",),
    "unknown_outcome": ("request_status",),
}
_FAR_ONLY = (
    "describe", "quote", "request", "request_status", "cancel", "return", "return_status", "list", "extend", "ping"
)  # fmt: skip
_SPAN = re.compile(r"(\d{1,9})(?:(-)(\d{1,9})?)?")


def read_faults(section: Section, failures: Section) -> FaultPlan:
    """Read `faults` and the short form `failures` ({error class: rate or {rate, calls, …}})."""
    rules = [_read_rule(inner) for inner in section.section_list("calls")]
    rules += _read_failures(failures)
    plan = FaultPlan(
        rules=tuple(rules),
        process=_read_process(section.section("process")),
        prices=_read_prices(section.section("prices")),
    )
    section.close()
    return plan


def _read_failures(section: Section) -> Iterable[Rule]:
    for name in section.values:
        if name not in CLASSES:
            section.raw(name)
            section.blame(name, f"no error class a purchase can fail with; known are {', '.join(CLASSES)}")
        elif isinstance(section.raw(name), dict):
            inner = section.section(name)
            yield _tuned(inner, "error", "request", name)
            inner.close()
        else:
            yield Rule(on="request", do="error", rate=section.rate(name), error_class=name)


def _read_rule(section: Section) -> Rule:
    acts: tuple[Act, ...] = tuple(ACTS)
    do = section.choice("do", acts, "delay")
    if not section.has("do"):
        section.blame("do", f"is missing; one of {', '.join(acts)}")
    on = section.choice("on", ("*", *METHODS), "*")
    allowed = _ONLY_ON.get(do) or (METHODS if do in WIRE_ACTS else _FAR_ONLY)
    if on not in allowed and not (on == "*" and do not in _ONLY_ON):
        section.blame("on", f"{do} can strike only {', '.join(allowed)}")
    rule = _tuned(section, do, on, None)
    section.close()
    return rule


def _tuned(section: Section, do: Act, on: str, error_class: str | None) -> Rule:
    keys = ACTS[do]
    return Rule(
        on=on,
        do=do,
        spans=_read_spans(section),
        rate=section.rate("rate") if section.has("rate") else None,
        templates=section.texts("templates"),
        for_ms=section.duration_ms("for", 1000) if "for" in keys else 0,
        error_class=error_class
        or (section.choice("error_class", CLASSES, _class_of(do)) if "error_class" in keys else "transient"),
        outcome=section.choice("outcome", ("not_made", "unknown"), "not_made") if "outcome" in keys else "not_made",
        retry_after_s=section.maybe_seconds("retry_after") if "retry_after" in keys else None,
        reason=(section.text("reason", "")[:64] or None) if "reason" in keys else None,
        scope=section.choice("scope", ("template", "provider", "place"), "template") if "scope" in keys else "template",
        made=section.integer("made", 0) if "made" in keys else 0,
        items=section.integer("items", 1, 1) if "items" in keys else 1,
        bytes=section.integer("bytes", 0) if "bytes" in keys else 0,
        when=section.choice("when", ("before", "after"), "before") if "when" in keys else "before",
        code=section.integer("code", 1, 0, 255) if "code" in keys else 1,
    )


def _class_of(do: Act) -> str:
    return "no_capacity" if do == "partial" else "transient"


def _read_spans(section: Section) -> tuple[tuple[int, int], ...]:
    value = section.raw("calls")
    if value is None:
        return ()
    spans: list[tuple[int, int]] = []
    for item in value if isinstance(value, list | tuple) else [value]:
        found = None if isinstance(item, bool) else _SPAN.fullmatch(str(item))
        if found is None:
            section.blame("calls", 'must be call numbers counted from 1, such as 2, "3-5" or "4-"')
            return ()
        first = int(found[1])
        last = int(found[3]) if found[3] else (2**53 if found[2] else first)
        spans.append((first, last))
    return tuple(spans)


def _read_process(section: Section) -> ProcessFaults:
    stderr, stdout = section.section("stderr_flood"), section.section("stdout_junk")
    child = section.section("grandchild")
    read = ProcessFaults(
        stderr_bytes_per_s=stderr.integer("bytes_per_s", 10**6 if section.has("stderr_flood") else 0),
        stderr_newlines=stderr.flag("newlines", True),
        stdout_junk=stdout.text("text", "Loading modules, please wait...") if section.has("stdout_junk") else None,
        stdout_junk_every=stdout.integer("every", 1, 1),
        grandchild_s=child.seconds("for", 600 if section.has("grandchild") else 0),
        grandchild_leaves_group=child.flag("leaves_group"),
        ignore_sigterm=section.flag("ignore_sigterm"),
        outlive_stdin_s=section.seconds("outlive_stdin", 0),
        crash_after_ms=section.maybe_duration_ms("crash_after"),
    )
    for inner in (stderr, stdout, child, section):
        inner.close()
    return read


def _read_prices(section: Section) -> PriceFaults:
    currencies = section.section("currency")
    told = {glob: currencies.text(glob, "EUR") for glob in currencies.values}
    for glob, currency in told.items():
        if not re.fullmatch(r"[A-Z]{3}", currency):
            currencies.blame(glob, "must be a currency of three capital letters such as EUR")
    read = PriceFaults(omit=section.texts("omit"), currency=told)
    section.close()
    return read
