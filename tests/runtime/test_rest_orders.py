"""Orders of operators over REST: committed, answered in sentences, refused by field, and logged with who gave them."""

import os
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from provisioner.core.facts import OverrideFact
from provisioner.edge.rest_reply_schema import ORDERED_SCHEMA
from tests.edge.rest_worlds import NOW, empty_world, lively_world
from tests.runtime.rest_daemon import MemoryDaemon, asked, served
from tests.runtime.scripted_provider import Lines
from tests.runtime.test_rest_server import TOKEN, refused, settings_in

PAUSE = "/v1/providers/east/pause"


def pause_of(daemon: MemoryDaemon) -> OverrideFact:
    """The one pause that stands."""
    assert daemon.held is not None
    (fact,) = daemon.held.overrides.values()
    return fact


async def test_a_pause_is_on_record_with_its_end_and_with_who_gave_it_when_it_is_answered(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    daemon, log = MemoryDaemon(settings, lively_world()), Lines()
    async with served(daemon, settings, log) as (door,):
        found = await asked(door, "POST", PAUSE, {"for": "90m", "why": "wrong prices", "by": "alice"})
        shown = (await asked(door, "GET", "/v1/providers/east")).body["paused"]
    Draft202012Validator(ORDERED_SCHEMA).validate(found.body)
    assert found.status == 200
    by = f"alice (uid {os.getuid()})"
    assert (pause_of(daemon).until_at, pause_of(daemon).by) == (NOW.at + 5400, by)
    assert found.body["paused"] == shown == {
        "until": "2030-03-17T19:16:40Z", "since": "2030-03-17T17:46:40Z", "by": by, "why": "wrong prices",
    }  # fmt: skip
    [line] = log.of("operator")
    assert (line["verb"], line["provider"], line["by"], line["why"]) == ("pause", "east", by, "wrong prices")


async def test_a_pause_without_a_body_lasts_an_hour(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    daemon = MemoryDaemon(settings, lively_world())
    async with served(daemon, settings) as (door,):
        assert (await asked(door, "POST", PAUSE)).status == 200
    assert pause_of(daemon).until_at == NOW.at + 3600


async def test_resume_and_restart_say_what_they_came_to(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    daemon = MemoryDaemon(settings, lively_world())
    async with served(daemon, settings) as (door,):
        await asked(door, "POST", PAUSE)
        resumed = await asked(door, "POST", "/v1/providers/east/resume", {})
        restarted = await asked(door, "POST", "/v1/providers/east/restart", {"why": "stuck"})
    assert "the pause is over" in resumed.body["did"]
    assert resumed.body["paused"] is None
    assert (restarted.body["order"], restarted.body["state"]) == ("restart", "stopping")


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "no unit": ({"for": "90"}, "/for"),
    "no duration": ({"for": "soon"}, "/for"),
    "too long": ({"for": "31d"}, "/for"),
    "nothing": ({"for": "0s"}, "/for"),
    "no text": ({"why": 7}, "/why"),
    "unknown": ({"until": "2h"}, "/until"),
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_faulty_order_names_the_field_and_nothing_is_done(fault: str, tmp_path: Path) -> None:
    body, field = FAULTS[fault]
    settings = settings_in(tmp_path)
    daemon = MemoryDaemon(settings, lively_world())
    async with served(daemon, settings) as (door,):
        error = refused(await asked(door, "POST", PAUSE, body), 400, "faulty")
    assert [f["field"] for f in error["faults"]] == [field]
    assert daemon.held is not None
    assert not daemon.held.overrides


async def test_what_is_ordered_in_the_url_is_refused_and_not_left_out_of_account(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    daemon = MemoryDaemon(settings, lively_world())
    async with served(daemon, settings) as (door,):
        error = refused(await asked(door, "POST", f"{PAUSE}?for=2h"), 400, "faulty")
    assert [f["field"] for f in error["faults"]] == ["for"]
    assert daemon.held is not None
    assert not daemon.held.overrides


async def test_an_order_to_a_provider_nobody_knows_lists_those_that_are(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    async with served(MemoryDaemon(settings, lively_world()), settings) as (door,):
        error = refused(await asked(door, "POST", "/v1/providers/est/restart", {}), 404, "not_found")
    assert error["remedy"] == "name one of those configured: east, west"


async def test_an_order_that_can_not_be_committed_is_not_carried_out(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    daemon, log = MemoryDaemon(settings, empty_world()), Lines()
    async with served(daemon, settings, log) as (door,):
        daemon.refusing = "disk_full"
        refused(await asked(door, "POST", PAUSE, {}), 503, "facts_not_writable")
        daemon.held = None
        refused(await asked(door, "POST", PAUSE, {}), 503, "starting")
    assert log.of("operator") == []


async def test_who_shows_the_token_is_named_as_its_holder(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, http=True)
    daemon = MemoryDaemon(settings, lively_world())
    async with served(daemon, settings) as (_, door):
        assert (await asked(door, "POST", PAUSE, {})).status == 401
        assert (await asked(door, "POST", PAUSE, {}, authorization=f"Bearer {TOKEN}")).status == 200
    assert pause_of(daemon).by == "the holder of the token"
