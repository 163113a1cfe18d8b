"""The fast reading of lists says what the usual reading says, or nothing."""

import copy
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from provider_sdk.contract import BadShape, ListResult, decode, encode
from provider_sdk.contract.framing import Frame, read_line
from provisioner.edge.list_reader import ListPage, ListReader, PageResult, page_of
from tests.contract.strategies import values

WRONG: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    2**53,
    "",
    "Ä",
    "a b",
    "x" * 600,
    [],
    {},
    [1],
    {"a": 1},
    "2031-02-30T00:00:00Z",
]
READER = ListReader()
"""One for all, as the daemon has one for all lists of a provider: what it kept must never make a bad list pass."""


def host(number: int = 0, **parts: object) -> dict[str, object]:
    return {
        "instance": f"i-{number:08x}",
        "template": "r6i.large@us-east-1a/spot",
        "units": 1,
        "state": "running",
        "name": f"node-{number}",
        "addresses": [{"address": f"10.0.0.{number}", "scope": "private"}],
        "place": {"region": "us-east-1", "zone": "us-east-1a"},
        "attributes": {"cores": 2, "memory": {"value": 16, "unit": "GiB"}, "arch": "x86_64"},
        "made_at": "2031-03-04T17:58:12Z",
        "price": {"amount": "0.0372", "currency": "USD", "per": "hour"},
        "mark": {"cluster": "clu-a", "token": f"tk-{number}", "epoch": 7},
        **parts,
    }


def answer(*hosts: object, **parts: object) -> dict[str, Any]:
    result = {"instances": list(hosts), "age_s": 2, "complete": True, **parts}
    return {"jsonrpc": "2.0", "id": 5, "result": result}


def the_usual_way(line: bytes) -> ListPage | None:
    found = read_line(line)
    if not isinstance(found, Frame) or found.obj.get("jsonrpc") != "2.0" or "error" in found.obj:
        return None
    try:
        return page_of(decode(ListResult, found.obj.get("result")))
    except BadShape:
        return None


def says_nothing_else(line: bytes) -> bool:
    """True if it was read the fast way; fails if that says anything else than the usual way."""
    found = READER.read(line)
    if found is None:
        return False
    assert found[1].page == the_usual_way(line)
    frame = read_line(line)
    assert isinstance(frame, Frame)
    assert found[0] == frame.obj["id"]
    assert dict(found[1]) == frame.obj["result"]
    return True


def test_a_list_as_clouds_give_it_is_read_the_fast_way() -> None:
    strange = host(3, kind="remnant", state="gone", reason="returned", charged={"amount": "1.5", "currency": "USD"})
    del strange["template"], strange["mark"]
    noticed = host(4, notice={"kind": "reclaim", "deadline": "2031-03-04T18:20:11Z"}, access={"qos": "a"})
    line = orjson.dumps(answer(host(1), host(2), strange, noticed, next="page-2", not_found=[], problems=[]))
    assert says_nothing_else(line)
    found = READER.read(line)
    assert found is not None
    assert [seen.provider_id for seen in found[1].page.instances] == [f"i-{n:08x}" for n in (1, 2, 3, 4)]
    assert found[1].page.next == "page-2"


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":5,"result":{"instances":[],"age_s":2,"age_s":2,"complete":true}}',
        b'{"jsonrpc":"2.0","id":5,"result":{"instances":[],"age_s":2,"complete":true},"error":{"code":1}}',
        b'{"jsonrpc":"2.0","id":5,"result":{"instances":[{"instance":"i","units":1,"units":1,"state":"running"}],'
        b'"age_s":2,"complete":true}}',
        b'{"jsonrpc":"2.0","id":5,"result":{"instances":[{"instance":"i","units":1,"state":"running","place":{"zone":"a"'
        b',"zone":"b"}}],"age_s":2,"complete":true}}',
        b'{"jsonrpc":"2.0","id":5,"result":{"instances":[{"instance":"i","units":1,"state":"running","mark":{"x":NaN}}],'
        b'"age_s":2,"complete":true}}',
        b'{"jsonrpc":"2.0","id":5,"result":{"instances":[{"instance":"i","units":1e0,"state":"running"}],'
        b'"age_s":2,"complete":true}}',
        b'{"jsonrpc":"2.0","id":5,"result":{"instances":[{"instance":"i","units":1,"state":"running","place":{"x":'
        + b"[" * 40
        + b"]" * 40
        + b'}}],"age_s":2,"complete":true}}',
        b'{"jsonrpc":"2.0","id":0,"result":{"instances":[],"age_s":2,"complete":true}}',
        b'[{"jsonrpc":"2.0","id":5,"result":{"instances":[],"age_s":2,"complete":true}}]',
        b'{"jsonrpc":"2.0","id":5,"method":"list","result":{"instances":[],"age_s":2,"complete":true}}',
    ],
)
def test_fr_2_what_is_no_good_frame_or_no_good_list_is_left_to_the_usual_way(line: bytes) -> None:
    assert READER.read(line) is None


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(data=st.data())
def test_any_list_and_any_list_with_one_value_changed_is_read_as_the_usual_way_reads_it(data: st.DataObject) -> None:
    raw = {"jsonrpc": "2.0", "id": 5, "result": orjson.loads(orjson.dumps(encode(data.draw(values(ListResult)))))}
    says_nothing_else(orjson.dumps(raw))
    _change(raw, data)
    says_nothing_else(orjson.dumps(raw))


@settings(max_examples=300)
@given(data=st.data())
def test_a_usual_list_with_one_value_changed_is_read_as_the_usual_way_reads_it(data: st.DataObject) -> None:
    raw = answer(host(1, kind="host"), host(2), next="p", missing_places=[])
    assert says_nothing_else(orjson.dumps(raw))
    _change(raw, data)
    says_nothing_else(orjson.dumps(raw))


@settings(max_examples=500)
@given(place=st.integers(0, 2_000), size=st.integers(0, 4), put=st.binary(max_size=4) | st.sampled_from(
    [b'"', b",", b"}", b"{", b"null", b" ", b"\\u0041", b'"units":1,', b"\xc3\xa4", b"\r", b"0", b"1.0", b"-0"]
))  # fmt: skip
def test_a_usual_list_with_some_bytes_changed_is_read_as_the_usual_way_reads_it(
    place: int, size: int, put: bytes
) -> None:
    line = orjson.dumps(answer(host(1, kind="host"), host(2), next="p"))
    at = place % len(line)
    changed = line[:at] + put + line[at + size :]
    if b"\n" not in changed:  # it is a line
        says_nothing_else(changed)


def _change(raw: dict[str, Any], data: st.DataObject) -> None:
    """Puts a wrong value, or one of another place, somewhere into it."""
    places = list(_places(raw))
    holder, key = data.draw(st.sampled_from(places))
    other, other_key = data.draw(st.sampled_from(places))
    holder[key] = copy.deepcopy(data.draw(st.sampled_from([*WRONG, other[other_key]])))


def _places(value: Any) -> Any:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield value, key
        yield from _places(part)


def test_what_was_kept_is_let_go_before_it_fills_the_memory() -> None:
    reader = ListReader(kept_most=3)
    line = orjson.dumps(answer(*(host(number) for number in range(50))))
    found = reader.read(line)
    assert found is not None
    assert isinstance(found[1], PageResult)
    assert found[1].page == the_usual_way(line)
    assert max(len(known) for known in (reader._refs, reader._times, *reader._pieces.values())) <= 4
