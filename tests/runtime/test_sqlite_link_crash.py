"""The facts after kill -9 and after a disk error: all that was acknowledged is there, and nothing by half."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from provisioner.runtime.links.link import Batch, Committed, Put
from provisioner.runtime.links.sqlite import open_sqlite

pytestmark = pytest.mark.e2e

# Writers that put two records in each commit and say so, one line each, only once it is acknowledged.
WRITERS = """
import os, sys, trio
from pathlib import Path
from provisioner.runtime.links.link import Batch, Committed, Put
from provisioner.runtime.links.sqlite import open_sqlite

async def write(link, writer, at, versions):
    while True:
        at += 1
        value = str(at).encode() + b" " * 200
        puts = tuple(Put(side, writer, value, versions.get((side, writer), 0)) for side in ("left", "right"))
        outcome = await link.commit(Batch(puts))
        assert isinstance(outcome, Committed), outcome
        versions["left", writer] = versions["right", writer] = outcome.revision
        os.write(1, f"{writer} {at} {outcome.revision}\\n".encode())

async def main():
    link = await open_sqlite(Path(sys.argv[1]), "clu-a", "prov-1")
    loaded = await link.load()
    versions = {(record.kind, record.id): record.version for record in loaded.records}
    values = {record.id: int(record.value) for record in loaded.records}
    async with trio.open_nursery() as nursery:
        for writer in map(str, range(20)):
            nursery.start_soon(write, link, writer, values.get(writer, 0), versions)

trio.run(main)
"""

# A commit larger than the process may write: an error in the middle of COMMIT, which is no refusal.
DISK_ERROR = """
import json, resource, sys, trio
from pathlib import Path
from provisioner.runtime.links.link import Batch, Put
from provisioner.runtime.links.sqlite import open_sqlite

async def main():
    link = await open_sqlite(Path(sys.argv[1]), "clu-a", "prov-1")
    said = []
    async def commit(id_, size):
        outcome = await link.commit(Batch((Put("a", id_, b"x" * size, 0),)))
        said.append(type(outcome).__name__ + " " + getattr(outcome, "reason", ""))
    await commit("before", 100)
    watch = await link.watch(1)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, most))
    await commit("big", 500_000)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, most))
    await commit("while-broken", 100)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    loaded = await link.load()
    said.append([record.id for record in loaded.records])
    await commit("after", 100)
    said.append(str(await anext(watch)))
    await link.close()
    print(json.dumps(said))

trio.run(main)
"""


def _run(script: str, place: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", script, str(place)], stdout=subprocess.PIPE, text=True)


def _killed_after(place: Path, lines: int) -> list[tuple[str, int, int]]:
    """Run the writers, kill -9 them after so many acknowledgements; all that they said as (writer, value, revision)."""
    with _run(WRITERS, place) as child:
        assert child.stdout is not None
        said = [child.stdout.readline() for _ in range(lines)]
        child.send_signal(signal.SIGKILL)
        said += child.stdout.readlines()
    assert child.returncode == -signal.SIGKILL
    # The last line may itself be cut by the kill.
    words = [line.split() for line in said if line.endswith("\n")]
    return [(writer, int(value), int(revision)) for writer, value, revision in words]


async def test_after_kill_9_all_that_was_acknowledged_is_there_and_nothing_by_half(tmp_path: Path) -> None:
    place = tmp_path / "facts.db"
    last = 0
    for lines in (1, 200, 20, 1500, 3, 700):
        acknowledged: dict[str, tuple[int, int]] = {}
        for writer, value, revision in _killed_after(place, lines):
            acknowledged[writer] = (value, revision)
        link = await open_sqlite(place, "clu-a", "prov-1")
        loaded = await link.load()
        await link.close()
        left = {record.id: (int(record.value), record.version) for record in loaded.records if record.kind == "left"}
        right = {record.id: (int(record.value), record.version) for record in loaded.records if record.kind == "right"}
        assert left == right
        for writer, (value, revision) in acknowledged.items():
            assert left[writer] >= (value, revision)
            # At most the one commit that was under way may be there besides.
            assert left[writer][0] <= value + 1
        newest = max(revision for _, revision in acknowledged.values())
        assert loaded.revision >= newest > last
        last = loaded.revision


async def test_an_error_of_the_disk_in_a_commit_is_unknown_and_a_load_tells_the_truth(tmp_path: Path) -> None:
    place = tmp_path / "facts.db"
    with _run(DISK_ERROR, place) as child:
        assert child.stdout is not None
        before, big, broken, present, after, watched = json.loads(child.stdout.read())
    assert child.returncode == 0
    assert before == "Committed "
    assert big == "Unknown "
    assert broken == "Refused read_only"
    assert present == ["before"]
    assert after == "Committed "
    assert "after" in watched
    link = await open_sqlite(place, "clu-a", "prov-1")
    assert [record.id for record in (await link.load()).records] == ["after", "before"]
    assert await link.commit(Batch((Put("a", "next", b"x", 0),))) == Committed(3)
    await link.close()
