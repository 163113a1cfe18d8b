"""What the daemon and a provider said to each other stays on disk: bounded, without secrets, and at no call's cost."""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import uuid
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock as Clock

from provisioner.edge.black_box import FRAME_KEPT_BYTES, Direction, Record
from provisioner.edge.redaction import Hidden
from provisioner.runtime.black_box import BlackBox, records_in
from provisioner.runtime.known_secrets import given_secrets, keep_learning
from provisioner.runtime.supervision import Answered, Lost
from tests.runtime.real_provider import running, started
from tests.runtime.scripted_provider import Lines
from tests.virtual_time import pass_s

MIB = 1 << 20


def box_in(folder: Path, **changes: object) -> BlackBox:
    settings: dict[str, object] = {
        "most_bytes": MIB, "number": 3, "hidden": Hidden(), "log": Lines(), **changes,
    }  # fmt: skip
    return BlackBox(folder, **settings)  # type: ignore[arg-type]


def said(records: list[Record]) -> list[tuple[str, str]]:
    return [(record.direction.value, record.text) for record in records]


def test_frames_both_ways_and_junk_are_kept_as_they_were_on_the_pipe(tmp_path: Path) -> None:
    box = box_in(tmp_path)
    box.told(memoryview(b'{"id":1,"method":"list"}\n'))
    box.heard(b'{"id":1,')
    box.heard(b'"result":{}}\nbanner\x1b[2J \xff\t.\n\n')
    box.note("ended")
    records = records_in(tmp_path)
    assert said(records) == [
        (">", '{"id":1,"method":"list"}'),
        ("<", '{"id":1,"result":{}}'),
        ("<", "banner\x1b[2J \\xff\t."),
        ("=", "ended"),
    ]
    assert [record.number for record in records] == [3, 3, 3, 3]
    assert [record.size for record in records] == [24, 20, 14, 5]
    assert all(record.boot_s > 0 and record.at > 1_700_000_000 for record in records)
    assert (tmp_path / "frames").stat().st_mode & 0o777 == 0o600


def test_half_a_line_at_the_end_of_stdout_is_kept_and_said_to_be_one(tmp_path: Path) -> None:
    box = box_in(tmp_path)
    box.heard(b'{"id":1,"res')
    assert not (tmp_path / "frames").exists()
    box.heard_all()
    (record,) = records_in(tmp_path)
    assert (record.text, record.is_torn) == ('{"id":1,"res', True)


def test_a_long_frame_is_cut_and_its_length_kept(tmp_path: Path) -> None:
    box = box_in(tmp_path)
    for _ in range(50):
        box.heard(b"x" * 100_000)
    box.heard(b"\n")
    (record,) = records_in(tmp_path)
    assert (record.size, len(record.body), record.is_cut) == (5_000_000, FRAME_KEPT_BYTES, True)


def test_both_files_together_stay_within_the_bound_and_hold_the_last(tmp_path: Path) -> None:
    box = box_in(tmp_path, most_bytes=300_000)
    for number in range(5_000):
        box.told(json.dumps({"id": number, "params": "x" * (number % 900)}).encode() + b"\n")
        if number % 500 == 0:
            box.heard(b"y" * 3 * MIB + b"\n")
        assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 300_000
    records = records_in(tmp_path)
    numbers = [json.loads(record.body)["id"] for record in records if record.direction is Direction.TOLD]
    assert numbers == list(range(numbers[0], 5_000))
    assert len(numbers) > 150


def test_the_next_process_writes_on_where_the_last_stopped_in_the_middle_of_a_line(tmp_path: Path) -> None:
    first = box_in(tmp_path)
    first.note("first")
    first.close()
    with (tmp_path / "frames").open("ab") as file:
        file.write(b'1900000000.1 50.1 3 > 400 -\t{"id":9,')
    second = box_in(tmp_path, number=4)
    second.note("second")
    assert [(record.number, record.text) for record in records_in(tmp_path)] == [
        (3, "first"), (3, '{"id":9,'), (4, "second"),
    ]  # fmt: skip


def test_a_disk_that_is_full_costs_records_which_are_counted_and_nothing_else(tmp_path: Path) -> None:
    log, now = Lines(), [0.0]
    box = box_in(tmp_path, log=log, boot_s=lambda: now[0])
    box.note("before")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "frames").stat().st_size + 10, hard))
    try:
        box.note("full")
        now[0] = 30.0
        box.note("not even tried")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    now[0] = 61.0
    box.note("after")
    assert [text for _, text in said(records_in(tmp_path))] == ["before", "2 records are missing here", "after"]
    assert log.warnings == ["black_box_paused"]


def test_a_disk_that_is_slow_is_left_alone_for_a_while(tmp_path: Path) -> None:
    log, readings = Lines(), iter([0.0, 0.5, 0.5, 70.0, 70.0])
    box = box_in(tmp_path, log=log, boot_s=lambda: next(readings))
    for text in ("slow", "left out", "again"):
        box.note(text)
    assert [text for _, text in said(records_in(tmp_path))] == ["slow", "1 records are missing here", "again"]
    assert log.of("black_box_paused")[0]["why"] == "the disk is slow"


def test_a_folder_that_can_not_be_made_costs_the_box_and_not_the_provider(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    log = Lines()
    box = box_in(tmp_path / "file" / "box", log=log)
    box.note("one")
    box.note("two")
    assert log.warnings == ["black_box_paused"]


def test_a_link_in_place_of_the_file_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("")
    (tmp_path / "box").mkdir()
    (tmp_path / "box" / "frames").symlink_to(victim)
    box_in(tmp_path / "box").note("one")
    assert victim.read_text() == ""


def test_a_secret_that_lies_across_the_cut_is_not_kept_in_part(tmp_path: Path) -> None:
    box = box_in(tmp_path, hidden=Hidden(["planted-marker-4711", "s" * 9000]))
    for before in range(FRAME_KEPT_BYTES - 30, FRAME_KEPT_BYTES + 5, 7):
        box.heard(b"x" * before + b"planted-marker-4711" + b"y" * 9000 + b"\n")
    box.heard((b"planted-marker-4711" * 4_000)[:70_000] + b"\n")
    assert b"planted" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


async def test_a_credential_file_that_is_replaced_is_hidden_too(tmp_path: Path, autojump_clock: Clock) -> None:
    where = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    file = tmp_path / "aws.ini"
    file.write_text("[default]\naws_secret_access_key = first-marker-4711\nregion = eu-central-1\n")
    hidden = given_secrets([], ["aws.ini"], where)
    assert hidden.text("first-marker-4711 in eu-central-1") == "[hidden] in eu-central-1"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(keep_learning, hidden, ["aws.ini"], where)
        await pass_s(1)
        file.unlink()
        file.write_text("[default]\naws_secret_access_key = other-marker-4711\n")
        await pass_s(61)
        nursery.cancel_scope.cancel()
    assert hidden.text("first-marker-4711, other-marker-4711") == "[hidden], [hidden]"


# --- with real processes ----------------------------------------------------------------------------------------------


@pytest.mark.e2e
async def test_what_was_in_flight_when_a_provider_died_is_in_its_box(tmp_path: Path) -> None:
    script = """
        def die(message):
            if message["params"]["n"] == 2:
                write(b'half a fra')
                os._exit(3)
        serve(die)
    """
    box = {"blackbox_dir": str(tmp_path / "box"), "blackbox_bytes": MIB, "number": 7}
    outcomes = []
    async with running(tmp_path, script, **box) as run:

        async def call(n: int) -> None:
            outcomes.append(await run.call(n=n))

        async with trio.open_nursery() as calls:
            calls.start_soon(call, 1)
            await trio.testing.wait_all_tasks_blocked()
            calls.start_soon(call, 2)
        await run.process.wait_ended()
    assert [type(outcome) for outcome in outcomes] == [Lost, Lost]
    records = records_in(tmp_path / "box")
    told = [json.loads(record.body) for record in records if record.direction is Direction.TOLD]
    assert [(frame["method"], frame["params"]) for frame in told] == [
        ("initialize", {}), ("request", {"n": 1}), ("request", {"n": 2}),
    ]  # fmt: skip
    assert records[0].text.startswith("process ")
    half = [record for record in records if record.is_torn]
    assert [(record.text, record.direction) for record in half] == [("half a fra", Direction.HEARD)]
    assert "ended (crash)" in records[-1].text
    assert "exit status 3" in records[-1].text


@pytest.mark.e2e
async def test_no_secret_of_a_provider_is_in_its_box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = tmp_path / "credentials"
    secrets.mkdir()
    (secrets / "key.json").write_text('{\n  "private_key": "-----BEGIN\\nplanted-file-4711",\n  "region": "east"\n}\n')
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(secrets))
    monkeypatch.setenv("CLOUD_KEY", 'planted-"env"-4711/ü')
    script = """
        key = json.load(open(os.path.join(os.environ["CREDENTIALS_DIRECTORY"], "key.json")))["private_key"]
        def tell(message):
            say({"id": message["id"], "result": {"env": os.environ["CLOUD_KEY"], "file": key,
                 "instances": [{"access": {"LM": "planted-access-4711", "qos": 'a}b"planted'}, "name": "n1"}]}})
        serve(tell)
    """
    box = {"blackbox_dir": str(tmp_path / "box"), "blackbox_bytes": MIB, "config_secrets": ("planted-config-4711",)}
    given = {"env_names": ("CLOUD_KEY",), "credential_files": ("key.json",), "credentials_dir": str(tmp_path / "cred")}
    async with running(tmp_path, script, **box, **given) as run:
        outcome = await run.call(config={"password": "planted-config-4711"})
        assert isinstance(outcome, Answered)
        assert outcome.result["env"] == 'planted-"env"-4711/ü'
    kept = (tmp_path / "box" / "frames").read_bytes()
    assert b"planted" not in kept
    assert kept.count(b"[hidden]") == 5
    assert b'"name": "n1"' in kept


DAEMON = """
import sys, trio
from provisioner.runtime.supervision import ProcessSpec
from provisioner.runtime.supervisor import open_process
from tests.runtime.scripted_provider import Lines

async def report(_): ...

async def main(folder, marker, *argv):
    async with trio.open_nursery() as nursery:
        spec = ProcessSpec("east", tuple(argv), marker, folder, folder, blackbox_dir=folder, blackbox_bytes=1 << 20)
        process = await open_process(spec, nursery, report, log=Lines())
        await process.call("initialize", {}, 20)
        process.handshake_done(1)
        nursery.start_soon(process.call, "request", {"the": "purchase"}, 20)
        await trio.testing.wait_all_tasks_blocked()
        print("sent", flush=True)
        await trio.sleep_forever()

import trio.testing
trio.run(main, *sys.argv[1:])
"""


@pytest.mark.e2e
async def test_the_box_of_a_daemon_that_was_killed_holds_the_last_frame_it_wrote(tmp_path: Path) -> None:
    provider = 'import sys\nsys.stdin.readline(); print(\'{"jsonrpc":"2.0","id":1,"result":{}}\', flush=True)\n'
    provider += "for line in sys.stdin: pass"
    command = [sys.executable, "-c", DAEMON, str(tmp_path), f"test-{uuid.uuid4()}", sys.executable, "-c", provider]
    daemon = started(*command)
    assert daemon.stdout is not None
    with trio.fail_after(30):
        assert await trio.to_thread.run_sync(daemon.stdout.readline) == b"sent\n"
        os.kill(daemon.pid, signal.SIGKILL)
        await trio.to_thread.run_sync(daemon.wait)
    daemon.stdout.close()
    last = records_in(tmp_path)[-1]
    assert json.loads(last.body)["params"] == {"the": "purchase"}
