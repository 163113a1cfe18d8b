"""When to ask a pending purchase again: `poll_after_s` of a report. Pure.

Knows what a wait is made of; must not know purchases or clocks.
"""

FIRST_S = 5
MOST_S = 60


def poll_after_s(
    waited_s: float, *, expected_s: float | None = None, first_s: int = FIRST_S, most_s: int = MOST_S
) -> int:
    """Seconds until the daemon should ask again about what was ordered `waited_s` seconds ago.

    With `expected_s` (the usual time from order to delivery) the first question comes when it should be there. Later,
    and without it, the pause is a quarter of the time waited: soon for what is quick, seldom for what is slow. The
    result lies between `first_s` and `most_s`.
    """
    ahead_s = 0.0 if expected_s is None else expected_s - waited_s
    pause_s = ahead_s if ahead_s > 0 else waited_s / 4
    return round(max(first_s, min(most_s, pause_s)))
