import os
import socket
import stat
import time
from pathlib import Path
from typing import Any

import trio
from attrs import evolve
from jsonschema import Draft202012Validator

from provisioner.core.facts import FactKind, InstanceFact
from provisioner.core.settings import Address, HttpBind, Listen, Settings
from provisioner.core.world import World
from provisioner.edge.rest_answers import READS
from provisioner.edge.rest_calls import CALL, LOGS
from provisioner.edge.rest_openapi import PUSHES, openapi
from provisioner.edge.rest_orders import ORDERS
from provisioner.edge.rest_reply_schema import ERROR_SCHEMA
from tests.edge.rest_worlds import empty_world, instance, lively_world, settings_for, with_facts
from tests.runtime.rest_daemon import Heard, MemoryDaemon, asked, served

TOKEN = "0123456789abcdef-token"
LINE = {"id": "queue", "kind": "host", "count": 3, "each": {"cores": 1}}


def settings_in(folder: Path, *, http: bool = False) -> Settings:
    """Settings with a socket in this folder, and a loopback door if asked for."""
    token_file = folder / "token"
    token_file.write_text(TOKEN + "\n", encoding="ascii")
    token_file.chmod(0o600)
    bind = HttpBind(bind=Address(host="127.0.0.1", port=0), token_file=str(token_file)) if http else None
    return settings_for(listen=Listen(socket=str(folder / "api.sock"), http=bind))


def refused(found: Heard, status: int, code: str) -> Any:
    """The error, which has the one shape and says what to do."""
    assert found.status == status, found
    Draft202012Validator(ERROR_SCHEMA).validate(found.body)
    assert found.body["error"]["code"] == code
    assert found.body["error"]["remedy"]
    return found.body["error"]


async def test_a_push_is_committed_before_it_is_answered_and_can_be_read_at_once(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    daemon = MemoryDaemon(settings, empty_world())
    async with served(daemon, settings) as (door,):
        found = await asked(door, "PUT", "/v1/demand/lsf", {"revision": 4, "lines": [LINE]})
        assert (found.status, found.body["current"]) == (200, {"incarnation": 0, "revision": 4})
        assert found.headers["content-type"] == "application/json"
        again = await asked(door, "PUT", "/v1/demand/lsf", {"revision": 4, "lines": [LINE]})
        assert (again.status, again.body["news"]) == (200, False)
        shown = await asked(door, "GET", "/v1/demand")
        assert shown.body["sources"][0]["lines"][0]["open"] == 3


async def test_revisions_that_do_not_count_are_refused_with_what_stands(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    async with served(MemoryDaemon(settings, empty_world()), settings) as (door,):
        await asked(door, "PUT", "/v1/supply/lsf", {"revision": 4, "incarnation": 1, "entries": []})
        entry = {"instance": "in-a", "state": "idle"}
        stale = await asked(door, "PUT", "/v1/supply/lsf", {"revision": 9, "entries": []})
        reused = await asked(door, "PUT", "/v1/supply/lsf", {"revision": 4, "incarnation": 1, "entries": [entry]})
        for found, code in ((stale, "stale_revision"), (reused, "revision_reused")):
            assert refused(found, 409, code)["current"] == {"incarnation": 1, "revision": 4}


async def test_both_snapshots_are_taken_in_one_push(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    async with served(MemoryDaemon(settings, empty_world()), settings) as (door,):
        body = {"supply": {"revision": 1, "entries": []}, "demand": {"revision": 2, "lines": [LINE]}}
        found = await asked(door, "PUT", "/v1/cluster/lsf", body)
        assert found.body["current"]["demand"] == {"incarnation": 0, "revision": 2}
        shown = await asked(door, "GET", "/v1/cluster/lsf")
        assert shown.body["demand"]["supply_revision"] == shown.body["supply"]["revision"] == 1


async def test_a_half_of_a_push_of_both_that_does_not_count_leaves_the_other_one_in_force(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    async with served(MemoryDaemon(settings, empty_world()), settings) as (door,):
        await asked(door, "PUT", "/v1/supply/lsf", {"revision": 7, "entries": []})
        body = {"supply": {"revision": 6, "entries": []}, "demand": {"revision": 2, "lines": [LINE]}}
        error = refused(await asked(door, "PUT", "/v1/cluster/lsf", body), 409, "stale_revision")
        assert "but the demand beside it was" in error["message"]
        shown = (await asked(door, "GET", "/v1/cluster/lsf")).body
        assert [shown[half]["revision"] for half in ("supply", "demand")] == [7, 2]


async def test_bodies_that_are_no_snapshot_are_refused_in_the_one_shape(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    daemon = MemoryDaemon(settings, empty_world())
    async with served(daemon, settings) as (door,):
        push = ("PUT", "/v1/demand/lsf")
        assert "byte 1" in refused(await asked(door, *push, b"{]"), 400, "bad_json")["message"]
        for broken in (b"", b"{", b"\xff", b"[" * 100_000, b'{"revision": NaN}'):
            refused(await asked(door, *push, broken), 400, "bad_json")
        faults = refused(await asked(door, *push, {"revision": 1, "lines": [{}]}), 400, "faulty")["faults"]
        assert {fault["field"] for fault in faults} == {"/lines/0/id", "/lines/0/kind", "/lines/0/count"}
        refused(await asked(door, *push, b"{}", Content_Type="text/yaml"), 415, "not_json")
        refused(await asked(door, "PUT", "/v1/demand/Not-A-Name", {"revision": 1, "lines": []}), 400, "faulty")
        assert daemon.held == empty_world()


async def test_a_body_over_the_bound_is_refused_before_it_is_read_whole(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    async with served(MemoryDaemon(settings, empty_world()), settings) as (door,):
        head = b"PUT /v1/demand/lsf HTTP/1.1\r\nHost: x\r\nContent-Length: 17000000\r\n\r\n"
        answer = await _raw(door, head)
        assert answer.startswith(b"HTTP/1.1 413")
        assert b'"too_large"' in answer


async def _raw(door: str, sent: bytes) -> bytes:
    async with await trio.open_unix_socket(door.removeprefix("unix:")) as stream:
        await stream.send_all(sent)
        answer = b""
        while b"}}" not in answer:
            answer += await stream.receive_some()
    return answer


async def test_paths_and_methods_that_are_not_there_are_refused_in_the_one_shape(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    async with served(MemoryDaemon(settings, lively_world()), settings) as (door,):
        refused(await asked(door, "GET", "/"), 404, "not_found")
        refused(await asked(door, "GET", "/v1/instances/in-nobody"), 404, "not_found")
        wrong = await asked(door, "DELETE", "/v1/demand/lsf")
        refused(wrong, 405, "method_not_allowed")
        assert set(wrong.headers["allow"].replace(" ", "").split(",")) == {"GET", "PUT", "OPTIONS"}
        refused(await asked(door, "GET", "/v1/instances?limit=none"), 400, "faulty")


async def test_while_starting_all_is_503_but_health(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    async with served(MemoryDaemon(settings, None), settings) as (door,):
        refused(await asked(door, "GET", "/v1/instances"), 503, "starting")
        refused(await asked(door, "PUT", "/v1/demand/lsf", {"revision": 1, "lines": []}), 503, "starting")
        found = await asked(door, "GET", "/v1/health")
        assert (found.status, found.body["status"]) == (200, "starting")


async def test_while_facts_are_not_writable_pushes_are_503_and_reads_go_on(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    daemon = MemoryDaemon(settings, lively_world())
    async with served(daemon, settings) as (door,):
        push = ("PUT", "/v1/demand/lsf", {"revision": 1, "lines": []})
        daemon.refusing = "the disk is full"
        assert "the disk is full" in refused(await asked(door, *push), 503, "facts_not_writable")["message"]
        daemon.refusing, daemon.why_not = None, "the disk does not answer"
        assert "does not answer" in refused(await asked(door, *push), 503, "facts_not_writable")["message"]
        assert (await asked(door, "GET", "/v1/instances")).status == 200


async def test_a_bug_of_ours_is_500_without_a_word_of_the_exception(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    daemon = MemoryDaemon(settings, empty_world())
    async with served(daemon, settings) as (door,):
        daemon.breaking = True
        found = await asked(door, "GET", "/v1/costs")
        refused(found, 500, "internal")
        assert b"secret" not in found.raw
        assert b"KeyError" not in found.raw
        daemon.breaking = False
        assert (await asked(door, "GET", "/v1/costs")).status == 200


async def test_loopback_answers_nothing_to_who_does_not_show_the_token(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, http=True)
    async with served(MemoryDaemon(settings, empty_world()), settings) as (unix, http):
        assert (await asked(unix, "GET", "/v1/health")).status == 200
        for wrong in (
            {},
            {"Authorization": "Bearer nope"},
            {"Authorization": f"Basic {TOKEN}"},
            {"Authorization": TOKEN},
        ):
            for path in ("/v1/health", "/v1/nowhere"):
                found = await asked(http, "GET", path, **wrong)
                refused(found, 401, "unauthorized")
                assert found.headers["www-authenticate"] == "Bearer"
        for right in (f"Bearer {TOKEN}", f"bearer {TOKEN}"):
            assert (await asked(http, "GET", "/v1/health", Authorization=right)).status == 200


async def test_the_socket_is_its_users_alone_and_gone_at_the_end(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    path = tmp_path / "api.sock"
    async with served(MemoryDaemon(settings, empty_world()), settings):
        assert stat.S_IMODE(path.lstat().st_mode) == 0o600
        listeners = [fd for fd in _descriptors() if _is_listening(fd)]
        assert listeners
        assert not any(os.get_inheritable(fd) for fd in listeners)
    assert not path.exists()


def _descriptors() -> list[int]:
    return [int(name) for name in os.listdir("/proc/self/fd") if Path(f"/proc/self/fd/{name}").exists()]


def _is_listening(fd: int) -> bool:
    if not stat.S_ISSOCK(os.fstat(fd).st_mode):
        return False
    with socket.socket(fileno=os.dup(fd)) as found:
        return found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1


async def test_the_end_does_not_wait_for_a_caller_who_does_not_read(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    world = many(5_000)
    with trio.fail_after(20):
        async with served(MemoryDaemon(settings, world), settings) as (door,):
            deaf = await trio.open_unix_socket(door.removeprefix("unix:"))
            await deaf.send_all(b"GET /v1/instances?limit=10000 HTTP/1.1\r\nHost: x\r\n\r\n")
            await deaf.receive_some(1)
            begun = time.monotonic()
        assert time.monotonic() - begun < 5
        await deaf.aclose()


async def test_one_connection_carries_many_questions(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    async with (
        served(MemoryDaemon(settings, empty_world()), settings) as (door,),
        await trio.open_unix_socket(door.removeprefix("unix:")) as stream,
    ):
        for _ in range(3):
            await stream.send_all(b"GET /v1/supply HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = b""
            while b'{"sources":[]}' not in answer:
                answer += await stream.receive_some()
            assert answer.startswith(b"HTTP/1.1 200")


def many(count: int) -> World:
    """A world of so many live hosts."""
    first = instance("in-0")
    facts: list[tuple[FactKind, str, InstanceFact]] = [
        (FactKind.INSTANCE, f"in-{n:05}", evolve(first, id=f"in-{n:05}", provider_id=f"i-{n}")) for n in range(count)
    ]
    return with_facts(empty_world(), facts)


async def test_pages_over_http_hold_every_instance_once(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    async with served(MemoryDaemon(settings, many(2_500)), settings) as (door,):
        path: str | None = "/v1/instances?live=true"
        ids: list[str] = []
        while path is not None:
            page = (await asked(door, "GET", path)).body
            ids += [found["id"] for found in page["instances"]]
            path = page["next"]
        assert ids == [f"in-{n:05}" for n in range(2_500)]


async def test_the_described_paths_are_the_served_ones(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    async with served(MemoryDaemon(settings, lively_world()), settings) as (door,):
        found = await asked(door, "GET", "/v1/openapi.json")
        assert found.body == openapi(found.body["info"]["version"])
        assert found.body["openapi"].startswith("3.1.")
        for path, methods in found.body["paths"].items():
            served_at = path.replace("{", "").replace("}", "")
            allowed = (await asked(door, "DELETE", served_at)).headers["allow"].lower().replace(" ", "").split(",")
            assert set(methods) == set(allowed) - {"options"}, path
        assert set(found.body["paths"]) == {*READS, *PUSHES, *ORDERS, LOGS, CALL, "/v1/health", "/v1/openapi.json"}
