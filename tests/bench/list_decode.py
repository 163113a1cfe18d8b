"""What it costs to read a list of instances, from the frame's bytes to the engine's own types, against a plain parse.

Knows what a list looks like. Must not know how it is decoded.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import orjson
from attrs import frozen

from provider_sdk.contract import ListResult, decode
from provider_sdk.contract.framing import PROVIDER_FRAME_BYTES, Frame, FrameReader, LineCutter, Oversize
from provisioner.core.events import SeenInstance
from provisioner.edge.list_reader import ListReader, page_of
from tests.bench.measure import Bench, Effort, Measured, Row, median_ratio, median_text

ROUNDS = 31
PAGE = 1_000
READ_BYTES = 65_536
HOSTS_A_PURCHASE = 10


@frozen
class Size:
    """A row, how many pages of a thousand are read, and whether most of what is read was seen in the list before."""

    row: Row
    pages: int
    is_known: bool = True


SIZES = (
    Size(Row("list.decode_1000.ratio_to_orjson", 3.0, "lower"), 1),
    Size(Row("list.decode_1000_unseen.ratio_to_orjson", None, "lower"), 1, is_known=False),
    Size(Row("list.decode_10000.ratio_to_orjson", None, "lower"), 10),
)


class Unread(Exception):
    """The list did not come out whole."""


def host(number: int, turn: int) -> dict[str, object]:
    """One host as a cloud tells of it; each turn one in twenty is new."""
    purchase, new = number // HOSTS_A_PURCHASE, turn if number % 20 == 0 else 0
    born = f"2031-03-04T{purchase % 24:02d}:{purchase // 24 % 60:02d}:{new % 60:02d}Z"
    return {
        "instance": f"i-0123456{number:05x}{new:04x}",
        "template": f"r6i.{('large', 'xlarge', '2xlarge')[purchase % 3]}@us-east-1{'abc'[purchase % 3]}/spot",
        "units": 1,
        "state": "running",
        "name": f"ip-10-{number // 250 % 250}-{number % 250}-{new % 250}.ec2.internal",
        "addresses": [{"address": f"10.{new % 250}.{number // 250 % 250}.{number % 250}", "scope": "private"}],
        "place": {"region": "us-east-1", "zone": f"us-east-1{'abc'[purchase % 3]}"},
        "attributes": {
            "cores": 2 << purchase % 3,
            "memory": {"value": 16 << purchase % 3, "unit": "GiB"},
            "arch": "x86_64",
        },
        "made_at": born,
        "billed_from": born,
        "price": {"amount": "0.0372", "currency": "USD", "per": "hour"},
        "mark": {
            "cluster": "clu-a",
            "lineage": "l-7f3c0b91",
            "provider": "east",
            "request_id": f"rq-01jq8w3k{purchase:06d}",
            "token": f"tk-01jq8w3k5m{purchase:06d}",
            "epoch": 7,
        },
    }


def frames_of(size: Size, turn: int) -> list[bytes]:
    """The frames of one whole list."""
    return [
        orjson.dumps({"jsonrpc": "2.0", "id": page + 1, "result": _page(page, size.pages, turn)}) + b"\n"
        for page in range(size.pages)
    ]


def _page(page: int, pages: int, turn: int) -> dict[str, object]:
    hosts = [host(number, turn) for number in range(page * PAGE, (page + 1) * PAGE)]
    ending: dict[str, object] = {"next": f"page-{page + 1}"} if page + 1 < pages else {}
    return {"instances": hosts, "age_s": 2, "complete": page + 1 == pages, **ending}


def read_as_we_do(reader: ListReader, frames: Sequence[bytes]) -> list[SeenInstance]:
    """As the daemon does: cut into lines, read, checked and translated, page by page."""
    cutter = LineCutter(PROVIDER_FRAME_BYTES)
    found: list[SeenInstance] = []
    for frame in frames:
        for start in range(0, len(frame), READ_BYTES):
            for line in cutter.feed(frame[start : start + READ_BYTES]):
                answer = None if isinstance(line, Oversize) else reader.read(line)
                if answer is None:
                    raise Unread("a page was not read")
                found += answer[1].page.instances
    return found


def read_the_usual_way(frames: Sequence[bytes]) -> list[SeenInstance]:
    """What must come out: the same by framing, codec and translation."""
    found: list[SeenInstance] = []
    for line in FrameReader(PROVIDER_FRAME_BYTES).feed(b"".join(frames)):
        if not isinstance(line, Frame):
            raise Unread("a page is no frame")
        found += page_of(decode(ListResult, line.obj["result"])).instances
    return found


def parse(frames: Sequence[bytes]) -> None:
    """The floor."""
    for frame in frames:
        orjson.loads(frame)


def _measure(size: Size, _: Path, effort: Effort) -> list[Measured]:
    ours_us: list[float] = []
    floor_us: list[float] = []
    known = ListReader()
    for turn in range(effort.rounds_or(ROUNDS) + 1):
        frames, reader = frames_of(size, turn), known if size.is_known else ListReader()
        if read_as_we_do(ListReader(), frames) != read_the_usual_way(frames):
            raise Unread("it is read in two ways, and they differ")
        gc.collect()
        took_us, floor = _timed(partial(read_as_we_do, reader, frames)), _timed(partial(parse, frames))
        if turn:  # the first one builds what is kept for all others
            ours_us.append(took_us)
            floor_us.append(floor)
    said = f"{median_text(ours_us, 'µs')} ÷ {median_text(floor_us, 'µs')}"
    return [Measured(size.row, median_ratio(ours_us, floor_us), len(ours_us) * size.pages * PAGE, said)]


def _timed(work: Callable[[], object]) -> float:
    began_ns = time.perf_counter_ns()
    kept = work()
    took_ns = time.perf_counter_ns() - began_ns
    del kept
    return took_ns / 1e3


BENCHES = tuple(Bench((size.row,), partial(_measure, size)) for size in SIZES)
