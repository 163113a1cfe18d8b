"""Random histories hold every invariant, can be replayed, and are cut down when they go wrong."""

import pytest

from provisioner.core.invariants import violations
from provisioner.sim.chaos.campaign import tally
from provisioner.sim.chaos.course import run
from provisioner.sim.chaos.history import draw
from provisioner.sim.chaos.shrink import shrunk
from tests.core.play import Play, settings_for
from tests.sim_chaos.mutants import MUTANTS

HISTORIES = 40


def test_random_histories_hold_every_invariant() -> None:
    total = tally(range(HISTORIES))
    assert total.failures == []
    assert total.purchases > HISTORIES
    assert sum(total.hits.values()) > HISTORIES


def test_a_history_is_the_same_each_time_it_is_played() -> None:
    first, second = run(draw(20)), run(draw(20))
    assert first.lines == second.lines
    assert first.hits == second.hits
    assert any("**" in line for line in first.lines)


def test_a_history_that_goes_wrong_is_cut_down_to_what_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS["money released on unknown"](monkeypatch)
    seed = next(s for s in range(60) if any(v.id == "books.no" for v in run(draw(s)).violations))
    whole = draw(seed)
    smaller = shrunk(whole, "books.no")
    assert any(v.id == "books.no" for v in run(smaller).violations)
    assert len(smaller.strikes) + len(smaller.work) < len(whole.strikes) + len(whole.work)
    assert len(smaller.strikes) <= 1


def test_a_world_that_has_just_begun_holds_every_invariant() -> None:
    play = Play(settings_for("east"))
    assert violations(play.world, play.moment(), play.settings) == ()
