"""How long an offer that failed is left alone."""

import pytest

from provisioner.core.facts import HealthFact
from provisioner.core.model import Problem
from provisioner.core.policy.retry import after_refusal, after_success, scope_of
from provisioner.core.settings import BackOff, PolicySettings
from tests.core.policy.builders import AT, moment, settings

NOW = moment()
DAY_S = 86_400.0
EXACT = settings(policy=PolicySettings(back_off=BackOff(jitter_permille=0)))


def refused(times: int, error_class: str = "no_capacity", retry_after_s: int | None = None) -> HealthFact | None:
    """The health after so many refusals, each a day after the one before, and the last one now."""
    health: HealthFact | None = None
    for days_ago in reversed(range(times)):
        problem = Problem(error_class, retry_after_s=retry_after_s)
        health = after_refusal(health, problem, EXACT, moment(-days_ago * DAY_S), "text")
    return health


def pause_s(health: HealthFact | None) -> float:
    assert health is not None
    assert health.until is not None
    return health.until - AT


def test_pauses_double_up_to_the_longest() -> None:
    assert [pause_s(refused(n)) for n in (1, 2, 3, 4, 5, 9)] == [180, 360, 720, 1440, 1800, 1800]


def test_jitter_only_stretches_and_is_the_same_for_the_same_text() -> None:
    by = settings()
    pauses = {pause_s(after_refusal(None, Problem("no_capacity"), by, NOW, f"text-{n}")) for n in range(50)}
    assert all(180 <= pause < 180 * 1.2 for pause in pauses)
    assert len(pauses) > 10
    again = [after_refusal(None, Problem("no_capacity"), by, NOW, "text-7") for _ in range(2)]
    assert again[0] == again[1]


@pytest.mark.parametrize("error_class", ["throttled", "price", "quote_gone", "cancelled", "shutting_down", "fenced"])
def test_what_is_no_failure_of_the_offer_is_not_held_against_it(error_class: str) -> None:
    assert refused(3, error_class) is None


@pytest.mark.parametrize("error_class", ["bad_request", "unknown_template", "bad_params", "token_conflict"])
def test_what_will_not_change_by_itself_parks_at_once(error_class: str) -> None:
    health = refused(1, error_class)
    assert health is not None
    assert (health.parked, health.until) == (True, None)


def test_so_many_identical_failures_in_a_row_park_and_another_kind_starts_anew() -> None:
    assert [h.parked for n in (9, 10) if (h := refused(n)) is not None] == [False, True]
    mixed = after_refusal(refused(9), Problem("transient"), EXACT, NOW, "text")
    assert mixed is not None
    assert (mixed.failures, mixed.parked) == (1, False)


def test_a_burst_of_refusals_is_one_step_and_parks_nothing() -> None:
    health = refused(1)
    for _ in range(30):
        health = after_refusal(health, Problem("no_capacity"), EXACT, NOW, "text")
    assert health == refused(1)


def test_a_longer_wait_named_by_a_refusal_of_the_same_burst_is_kept() -> None:
    health = after_refusal(refused(1), Problem("no_capacity", retry_after_s=4000), EXACT, NOW, "text")
    assert (pause_s(health), health.failures if health else 0) == (4000, 1)


def test_quota_is_slow_and_a_longer_wait_the_provider_names_is_kept() -> None:
    assert pause_s(refused(1, "quota")) == 1800
    assert pause_s(refused(1, retry_after_s=4000)) == 4000


def test_an_unknown_class_weakens_to_growing_pauses() -> None:
    assert pause_s(refused(2, "made_up_tomorrow")) == 360


def test_refused_credentials_are_probed_for_ever_and_never_park() -> None:
    health = refused(25, "auth")
    assert pause_s(health) == 300
    assert health is not None
    assert not health.parked


def test_the_scope_is_the_template_unless_the_problem_names_another_or_the_provider() -> None:
    assert scope_of("east", "a", Problem("no_capacity")) == "east/a"
    assert scope_of("east", "a", Problem("no_capacity", template="b")) == "east/b"
    assert scope_of("east", "a", Problem("no_capacity", whole_provider=True)) == "east/*"
    assert scope_of("east", "a", Problem("auth")) == "east/*"


def test_success_clears_a_back_off_and_not_what_was_parked() -> None:
    once, parked = refused(1), refused(1, "bad_request")
    assert once is not None
    assert parked is not None
    assert after_success(once) is None
    assert after_success(parked) == parked
