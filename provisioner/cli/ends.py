"""How a provider's process has ended lately, as people read it, and what was left alone for it.

It alone knows the words for what was open at an end; it judges by what the daemon says and nothing else.
"""

from typing import Any, Final

from provisioner.cli.show import clock_text, print_table

Body = dict[str, Any]
OPEN_SHOWN: Final = 3
WHY: Final = "why, what was open, and its last line"


def resume_of(provider: Body) -> str:
    """The command that tries a provider again at once."""
    return f"`provisioner provider resume {provider['provider']}`"


def open_text(end: Body) -> str:
    """Which frames were open at an end: `, with request rq-1 open`; empty where none was."""
    if not end["open"]:
        return ""
    shown = end["open"][:OPEN_SHOWN]
    more = end["open_count"] - len(shown)
    return f", with {', '.join(shown)}" + (f" and {more} more" if more > 0 else "") + " open"


def parked_text(provider: Body) -> str | None:
    """What was open at two ends of the process and is left alone, or asked for seldom, since; None if nothing is."""
    parked, seldom = provider["parked"], provider["asked_seldom"]
    said = [f"{len(parked)} parked: {', '.join(parked[:OPEN_SHOWN])}"] if parked else []
    said += [f"asked seldom: {', '.join(seldom[:OPEN_SHOWN])}"] if seldom else []
    if not said:
        return None
    return f"open when its process ended twice, hence {'; '.join(said)}; released by {resume_of(provider)}"


def parked_record_text(request: Body) -> str | None:
    """That a purchase or give-back is parked, and what releases it; None if it is not."""
    if not request.get("parked"):
        return None
    how = "never sent again by itself" if request["kind"] == "acquire" else "said again at the slowest pace"
    return f"parked: open at {request['crashes']} ends of its process, {how}; released by {resume_of(request)}"


def print_ends(ends: list[Body]) -> None:
    """The last ends that nobody ordered, each with what was open and with its last line; if there are any."""
    rows = [(clock_text(end["at"]), _end_text(end)) for end in ends]
    if rows:
        print()
        print_table(("ended", WHY), rows, "never", folded=WHY)


def _end_text(end: Body) -> str:
    return f"{end['reason']}{open_text(end)}" + (f": {end['last_words']}" if end["last_words"] else "")
