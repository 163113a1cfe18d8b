"""How long an offer that failed is left alone, by the contract's error classes; it must not know what is bought
instead.

One pause is one step: what is refused while the offer is left alone already was sent before, and counts once with the
refusal that began the pause. The jitter is drawn from a text, so that the same refusal gives the same pause on every
machine.
"""

from enum import Enum

from attrs import evolve

from provisioner.core.events import Moment
from provisioner.core.facts import HealthFact
from provisioner.core.ids import digest
from provisioner.core.model import Problem
from provisioner.core.pauses import doubled_s
from provisioner.core.settings import BackOff, Settings

WHOLE_PROVIDER = "*"
AUTH_PROBE_S = 300.0
QUOTA_S = 1800.0


class Course(Enum):
    """What an error class asks for."""

    NOTHING = "nothing"
    DOUBLING = "doubling"
    SLOW = "slow"
    PROBE = "probe"
    PARK = "park"


_COURSES: dict[str, Course] = {
    "no_capacity": Course.DOUBLING,
    "quota": Course.SLOW,
    "throttled": Course.NOTHING,
    "price": Course.NOTHING,
    "quote_gone": Course.NOTHING,
    "cancelled": Course.NOTHING,
    "shutting_down": Course.NOTHING,
    "not_initialized": Course.NOTHING,
    "fenced": Course.NOTHING,
    "auth": Course.PROBE,
    "bad_request": Course.PARK,
    "bad_message": Course.PARK,
    "bad_params": Course.PARK,
    "unknown_method": Course.PARK,
    "unknown_template": Course.PARK,
    "unsupported": Course.PARK,
    "token_conflict": Course.PARK,
}
"""A class that is not here weakens to `transient`: growing pauses."""


def scope_of(provider: str, template: str, problem: Problem) -> str:
    """The id of the health record a problem counts against: the template asked for, unless the problem names a wider
    or another one.
    """
    if problem.whole_provider or problem.error_class == "auth":
        return f"{provider}/{WHOLE_PROVIDER}"
    return f"{provider}/{problem.template or template}"


def after_refusal(
    health: HealthFact | None, problem: Problem, settings: Settings, now: Moment, jitter_text: str
) -> HealthFact | None:
    """The health after one more refusal; None if the class is no failure of the offer (throttled, price and the
    like).
    """
    course = _COURSES.get(problem.error_class, Course.DOUBLING)
    if course is Course.NOTHING:
        return None
    in_a_row = health is not None and health.error_class == problem.error_class
    if health is not None and in_a_row and _is_left_alone(health, now):
        return _no_shorter(health, problem, now)
    failures = health.failures + 1 if health is not None and in_a_row else 1
    back_off = settings.policy.back_off
    parked = course is Course.PARK or (course is not Course.PROBE and failures >= back_off.park_after)
    pause_s = max(_pause_s(course, failures, back_off), float(problem.retry_after_s or 0))
    return HealthFact(
        failures=failures,
        error_class=problem.error_class,
        detail=problem.detail or problem.reason or "",
        since=health.since if health is not None and in_a_row else now.at,
        until=None if parked else now.at + pause_s * _stretch(jitter_text, failures, back_off),
        parked=parked,
    )


def after_success(health: HealthFact) -> HealthFact | None:
    """The health after something was made: nothing is held against the offer any more, so None; a parked one stays as
    it is.

    What was parked is freed by a changed description or a new process, never by a purchase that was sent before.
    """
    return health if health.parked else None


def _is_left_alone(health: HealthFact, now: Moment) -> bool:
    return health.until is not None and now.at < health.until


def _no_shorter(health: HealthFact, problem: Problem, now: Moment) -> HealthFact:
    """The pause that runs, as long as the provider asks for at least."""
    least_until = now.at + float(problem.retry_after_s or 0)
    return evolve(health, until=max(health.until or 0.0, least_until))


def _pause_s(course: Course, failures: int, back_off: BackOff) -> float:
    if course is Course.PROBE:
        return AUTH_PROBE_S
    if course is Course.SLOW:
        return max(QUOTA_S, back_off.most_s)
    return doubled_s(back_off.first_s, failures - 1, max(back_off.most_s, back_off.first_s))


def _stretch(jitter_text: str, failures: int, back_off: BackOff) -> float:
    """Between 1 and 1 + jitter, decided by the text alone."""
    share = int.from_bytes(digest("jitter", jitter_text, str(failures), length=10).encode(), "big") % 1000
    return 1.0 + back_off.jitter_permille / 1000 * share / 1000
