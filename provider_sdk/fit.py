"""Makes an answer fit into a frame that is too short for it (clauses FR-3, RS-1, RS-4). Pure.

Knows which answers may be thinned or cut without losing anything for good; must not know lengths or streams.
"""

from collections.abc import Iterator, Mapping
from typing import Any

THIN = ("instance", "kind", "state", "units")
"""What RS-4 leaves of an instance; the kind only stands there where it is not the default."""


def smaller(method: str, result: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The same answer told in fewer and fewer bytes; nothing if this method's answers can't be told so.

    A list is not thinned: its marks are what proves ownership, and the daemon can ask for shorter pages.
    """
    match method:
        case "request" | "cancel":
            yield _thin(result)
        case "request_status":
            reports = [_thin(report) for report in result["requests"]]
            while reports:
                yield {**result, "requests": reports}
                reports = reports[: len(reports) // 2]
        case _:
            return


def _thin(report: Mapping[str, Any]) -> dict[str, Any]:
    instances = [{name: one[name] for name in THIN if name in one} for one in report["instances"]]
    return {**report, "instances": instances}
