"""What keeps a provider or an offer from being bought from, until when, and what ends it, in a sentence.

It alone knows what an operator can do about it; it judges by what the daemon says and nothing else.
"""

from typing import Any

from provisioner.cli.ends import open_text, resume_of
from provisioner.cli.show import clock_text

Body = dict[str, Any]


def what_is_amiss(provider: Body) -> str | None:
    """Why a provider is not ready, until when, and what to do; None if it is ready."""
    if provider["credentials_refused"]:
        return f"its credentials are refused; put them right, then {resume_of(provider)}"
    if provider["memory_lost_at"] is not None:
        return (
            f"it has lost its records; put its state folder back, or look at its far side, then {resume_of(provider)}"
        )
    if provider["broken_promises"]:
        promises = ", ".join(dict.fromkeys(b["promise"] for b in provider["broken_promises"]))
        return f"it has broken what it promised ({promises}); {resume_of(provider)} once it is mended"
    if provider["ready"]:
        return None
    why = _why(provider)
    if provider["state"] == "parked":
        return f"{why}; correct its program, then {resume_of(provider)}; or its configuration, then restart the daemon"
    if provider["starts_again_at"] is not None:
        at = clock_text(provider["starts_again_at"])
        logs = f"; its last lines: `provisioner provider logs {provider['provider']}`" if provider["ends"] else ""
        return f"{why}; started again at {at}, or at once by {resume_of(provider)}{logs}"
    return str(why)


def _why(provider: Body) -> str:
    """Why its process ended last, what was open then, and the last that it said; how often, where it is quarantined."""
    why = str(provider["last_end"] or "not ready")
    if not provider["ends"] or provider["ends"][-1]["reason"] != provider["last_end"]:
        return why
    last = provider["ends"][-1]
    often = f"{len(provider['ends'])} ends, the last: " if provider["state"] == "quarantined" else ""
    words = f'; it said last "{last["last_words"]}"' if last["last_words"] else ""
    return f"{often}{why}{open_text(last)}{words}"


def pause_text(provider: Body) -> str | None:
    """Until when an operator has paused it, who and why; None if nobody has."""
    paused = provider["paused"]
    if paused is None:
        return None
    by = f" by {paused['by']}" if paused["by"] else ""
    why = f": {paused['why']}" if paused["why"] else ""
    return f"paused{by} until {clock_text(paused['until'])}{why}"


def blocked_text(provider: str, offer: Body) -> str:
    """An offer that is left alone, why, until when, and what ends it; template `*` is all of the provider."""
    what = f"all of {provider}" if offer["template"] == "*" else f"{provider}/{offer['template']}"
    why = f"{offer['failures']} × {offer['error_class']}" + (f" ({offer['detail']})" if offer["detail"] else "")
    return f"{what} is {_until(provider, offer)}: {why}"


def _until(provider: str, offer: Body) -> str:
    at_once = f"`provisioner provider resume {provider}`"
    if offer["parked"]:
        return f"parked until its description changes or the provider is started anew ({at_once})"
    return f"left alone until {clock_text(offer['until'])}, then tried again"
