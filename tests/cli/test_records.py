"""A record shown whole names everything that the daemon's JSON holds, and nothing that only a program reads."""

import re
from pathlib import Path

import pytest
from attrs import evolve

from provisioner.cli.record import amount_text, price_text, problem_text, value_text
from provisioner.core.facts import FactKind
from provisioner.core.model import Drain, DrainKind, Notice, Place, Problem
from provisioner.core.world import World
from tests.cli.typed import typed_beside
from tests.edge.rest_worlds import DOLLAR, NOW, instance, lively_world, purchase, settings_for, with_facts
from tests.runtime.rest_daemon import MemoryDaemon, served


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def told_world() -> World:
    """A host that is drained, noticed and priced per unit, and a purchase with a problem that says all it can."""
    told = evolve(
        instance("in-a", price=evolve(DOLLAR, once_nanos=250_000_000)),
        addresses=(("10.0.0.1", "private"), ("192.0.2.7", "public")),
        drain=Drain("dr-9", DrainKind.ASK, "idle", NOW.at - 30, NOW.at + 90),
        notice=Notice("reclaim", NOW.at + 60, "spot"),
    )
    problem = Problem("no_capacity", units=1, reason="sold out", place=Place(zone="r-b"), retry_after_s=30)
    bought = evolve(purchase("rq-one"), problems=(problem,))
    return with_facts(lively_world(), [(FactKind.INSTANCE, "in-a", told), (FactKind.REQUEST, "rq-one", bought)])


async def shown(capsys: pytest.CaptureFixture[str], folder: Path, words: str) -> dict[str, str]:
    """The fields of a record as printed, each on one line."""
    settings = settings_for(socket=str(folder / "api.sock"))
    async with served(MemoryDaemon(settings, told_world()), settings):
        ran = await typed_beside(capsys, *words.split(), "--socket", folder / "api.sock")
    assert ran.code == 0
    assert "None" not in ran.out
    assert "{" not in ran.out
    unfolded = re.sub(r"\n {5,}(?=\S)", " ", ran.out)
    rows = (line.split(maxsplit=1) for line in unfolded.splitlines()[1:] if line)
    return {row[0]: row[1] for row in rows if len(row) == 2}


async def test_an_instance_is_shown_with_all_that_is_nested_in_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fields = await shown(capsys, tmp_path, "instances in-a")
    assert fields["attributes"] == "cores 4, memory 16GiB, image a|b, arch x86_64"
    assert fields["place"] == "r/r-a"
    assert fields["addresses"] == "10.0.0.1 (private), 192.0.2.7 (public)"
    assert fields["for"] == "lsf/queue × 4"
    assert fields["price"] == "1 USD/h and 0.25 USD once"
    assert fields["drain"] == "ask dr-9: idle, asked 03-17 17:46:10, answer until 03-17 17:48:10"
    assert fields["notice"] == "reclaim at 03-17 17:47:40: spot"
    assert fields["return"] == "-"
    assert fields["surplus"] == "no"


async def test_a_purchase_and_a_give_back_are_shown_with_all_that_is_nested_in_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bought = await shown(capsys, tmp_path, "requests rq-one")
    assert bought["for"] == "lsf/queue × 8"
    assert bought["problems"] == "1 × no_capacity: sold out, place r-b, again after 30 s"
    given = await shown(capsys, tmp_path, "requests rt-one")
    assert given["items"].startswith("in-c (i-in-c) ")
    assert given["instances"] == "in-c"


async def test_a_provider_is_shown_with_its_templates_and_what_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fields = await shown(capsys, tmp_path, "providers east")
    assert (fields["program"], fields["pid"], fields["strangers"]) == ("sim", "4242", "i-stray")
    assert "token_replay none" in fields["promises"]
    assert fields["template"].split() == ["unit", "per", "hour", "cores", "place"]
    assert fields["small"].split() == ["machine", "2", "4", "-"]
    assert fields["overridden"] == "by the configuration: price, capacity.max"
    assert fields["east/big"].startswith("is left alone until 03-17 17:56:40, then tried again: 3 × no_capacity")


@pytest.mark.parametrize(
    ("amount", "told"),
    [(16 * 2**30, "16GiB"), (15_891_378_995, "14.8GiB"), (512 * 2**20, "512MiB"), (7, "7B"), (0, "0B"), (None, None)],
)
def test_memory_is_told_in_the_biggest_unit_that_fits(amount: int | None, told: str | None) -> None:
    assert amount_text("memory", amount) == told


def test_other_amounts_stay_as_they_are() -> None:
    assert [amount_text("cores", 2.5), amount_text("image", ["a", "b"])] == ["2.5", "a|b"]


def test_a_price_is_told_as_the_configuration_writes_it() -> None:
    assert price_text({"amount": "0.17", "currency": "USD", "per": "hour"}) == "0.17 USD/h"
    assert price_text({"amount": "2", "currency": "EUR", "per": "unit_hour"}) == "2 EUR/unit-hour"


def test_a_problem_of_which_only_the_class_is_known_is_its_class() -> None:
    assert problem_text({"error_class": "auth"}) == "auth"


@pytest.mark.parametrize("value", [None, [], {}])
def test_what_is_not_stated_is_nothing(value: object) -> None:
    assert value_text("price", value) is None
    assert value_text("anything", value) is None


def test_an_unknown_nested_field_is_told_all_the_same() -> None:
    told = value_text("new", {"a": 1, "b": None, "c": {"d": True}, "e": ["x", "y"]})
    assert told == "a 1, b -, c (d yes), e x; y"


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (
            {"phase": "installing", "eta_s": 90, "at": "2031-03-04T17:58:12Z"},
            "installing (told at 03-04 17:58:12, about 1m 30s more from then on)",
        ),
        ({"phase": "queued", "eta_s": None, "at": "2031-03-04T17:58:12Z"}, "queued (told at 03-04 17:58:12)"),
        (None, None),
    ],
)
def test_how_far_a_purchase_is_reads_as_a_phase_with_when_it_was_told(
    progress: dict[str, object] | None, text: str | None
) -> None:
    assert value_text("progress", progress) == text
