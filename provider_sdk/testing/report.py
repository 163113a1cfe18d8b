"""The three forms of a report: text for people, JSON for programs, JUnit for continuous runs.

Pure: from an outcome to text.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from provider_sdk.testing.verdict import Outcome, Status, Verdict

_WORDS = {
    Status.PASS: "pass",
    Status.FAIL: "FAIL",
    Status.SKIPPED: "skipped",
    Status.MEASURED: "measured",
    Status.UNSEEN: "not seen",
}


def as_text(outcome: Outcome, *, verbose: bool = False) -> str:
    """Return the report by clause; clauses that can't be seen from outside only if `verbose`."""
    lines = [f"{outcome.provider}: {' '.join(outcome.command)}", ""]
    for verdict in outcome.verdicts:
        if verdict.status is not Status.UNSEEN or verbose:
            lines.extend(_lines(verdict))
    lines += ["", _summary(outcome)]
    if outcome.beside:
        lines.append(f"also broken, though not asked for: {', '.join(outcome.beside)}")
    if outcome.left_over:
        lines.append(f"NOT GIVEN BACK, look after it: {', '.join(outcome.left_over)}")
    return "\n".join(lines) + "\n"


def _lines(verdict: Verdict) -> Iterator[str]:
    requirement = verdict.requirement
    yield f"{_WORDS[verdict.status]:<9} {requirement.id:<28} {requirement.sentence}"
    for breach in verdict.breaches:
        yield f"            check     {breach.check}"
        if breach.sent:
            yield f"            sent      {breach.sent}"
        yield f"            expected  {breach.expected}"
        yield f"            came      {breach.came}"
    for note in verdict.notes:
        yield f"            {note}"


def _summary(outcome: Outcome) -> str:
    counts = Counter(verdict.status for verdict in outcome.verdicts)
    parts = [f"{counts[status]} {_WORDS[status]}" for status in Status if counts[status]]
    figures = ", ".join(f"{number} {what}" for what, number in outcome.counts.items())
    ending = " (unfinished: the time of the run was over)" if outcome.unfinished else ""
    return f"{', '.join(parts)} in {outcome.seconds:.1f} s; {figures}{ending}"


def as_json(outcome: Outcome) -> str:
    """Return the report as JSON: `clauses` in the order of the contract, each with its status."""
    document = {
        "provider": outcome.provider,
        "command": list(outcome.command),
        "passed": not outcome.failed and not outcome.unfinished,
        "failed": list(outcome.failed),
        "beside": list(outcome.beside),
        "strict": outcome.strict,
        "seconds": round(outcome.seconds, 3),
        "counts": dict(outcome.counts),
        "left_over": list(outcome.left_over),
        "clauses": [_clause(verdict) for verdict in outcome.verdicts],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _clause(verdict: Verdict) -> dict[str, Any]:
    requirement = verdict.requirement
    return {
        "id": requirement.id,
        "clause": requirement.clause,
        "sentence": requirement.sentence,
        "status": verdict.status.value,
        "checks": list(verdict.checks),
        "notes": list(verdict.notes),
        "breaches": [
            {"check": each.check, "sent": each.sent, "expected": each.expected, "came": each.came}
            for each in verdict.breaches
        ],
    }


def as_junit(outcome: Outcome) -> str:
    """Return the report as JUnit XML: one test case for each clause."""
    seen = [verdict for verdict in outcome.verdicts if verdict.status is not Status.UNSEEN]
    skipped = sum(verdict.status is Status.SKIPPED for verdict in seen)
    head = (
        f'<testsuite name="conformance" tests="{len(seen)}" failures="{len(outcome.failed)}" errors="0" '
        f'skipped="{skipped}" time="{outcome.seconds:.3f}">'
    )
    cases = "\n".join(_case(verdict) for verdict in seen)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n{head}\n{cases}\n</testsuite>\n</testsuites>\n'


def _case(verdict: Verdict) -> str:
    requirement = verdict.requirement
    opening = f"<testcase classname={quoteattr(requirement.clause)} name={quoteattr(requirement.id)}"
    match verdict.status:
        case Status.FAIL:
            first = verdict.breaches[0]
            text = "\n".join(
                f"check: {each.check}\nsent: {each.sent}\nexpected: {each.expected}\ncame: {each.came}"
                for each in verdict.breaches
            )
            head = quoteattr(_xml(first.expected))
            return f"{opening}><failure message={head}>{escape(_xml(text))}</failure></testcase>"
        case Status.SKIPPED:
            return f"{opening}><skipped message={quoteattr(_xml('; '.join(verdict.notes)))}/></testcase>"
        case Status.MEASURED:
            return f"{opening}><system-out>{escape(_xml('; '.join(verdict.notes)))}</system-out></testcase>"
        case Status.PASS | Status.UNSEEN:
            return f"{opening}/>"


def _xml(text: str) -> str:
    """Return the text without what XML can't hold."""
    return "".join(each if each in "\t\n" or " " <= each < "\ufffe" else "?" for each in text)
