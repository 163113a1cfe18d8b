"""The codec: strict, complete in its faults, and the same by the fast way as by the strict one."""

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from provider_sdk.contract import (
    METHODS,
    BadShape,
    DescribeResult,
    InitializeResult,
    Instance,
    InstanceKind,
    InstanceState,
    ListParams,
    ListResult,
    Mark,
    ParamFault,
    PartialMark,
    PingParams,
    Promises,
    Replay,
    Report,
    RequestParams,
    RequestStatusResult,
    ReturnStatusResult,
    decode,
    decode_noting,
    encode,
)
from provider_sdk.contract.codec import FAST
from provider_sdk.contract.fast import decode_fast
from provider_sdk.contract.strict import strict_converter
from tests.contract.strategies import values

BIG: list[Any] = [ListResult, Report, RequestStatusResult, DescribeResult]


def _strictly(cls: Any, raw: object) -> Any:
    try:
        return strict_converter().structure(raw, cls)
    except BadShape:
        return None


def _instance(**parts: object) -> dict[str, object]:
    return {"instance": "i-1", "units": 1, "state": "running", **parts}


def _list(*instances: object) -> dict[str, object]:
    return {"instances": list(instances), "age_s": 0, "complete": True}


def _faults(cls: Any, raw: object) -> dict[str, str]:
    with pytest.raises(BadShape) as refused:
        decode(cls, raw)
    return {fault.path: fault.detail for fault in refused.value.faults}


def test_all_faults_are_found_each_with_its_pointer() -> None:
    raw = _list(
        _instance(units=-1, addresses=[{"address": "a", "scope": "private"}, {"address": 5}]),
        _instance(access={"a/b~c": 1}, made_at="yesterday"),
        "nothing",
    )
    assert set(_faults(ListResult, raw | {"complete": "yes"})) == {
        "/instances/0/units",
        "/instances/0/addresses/1/address",
        "/instances/0/addresses/1/scope",
        "/instances/1/access/a~1b~0c",
        "/instances/1/made_at",
        "/instances/2",
        "/complete",
    }


def test_a_value_that_is_no_object_at_all_is_the_fault() -> None:
    assert _faults(PingParams, []) == {"": "must be an object"}


@pytest.mark.parametrize("cls", [ListResult, RequestParams], ids=["fast", "strict"])
def test_null_means_the_same_as_absent(cls: Any) -> None:
    if cls is ListResult:
        raw = _list(_instance(kind=None, name=None, addresses=None, mark=None, place={"zone": None}))
        assert decode(cls, raw) == decode(cls, _list(_instance(place={})))
    else:
        assert "is required" in _faults(cls, {"token": None})["/token"]


def test_an_empty_list_of_instances_asked_for_is_not_the_same_as_none() -> None:
    assert decode(ListParams, {"instances": []}).instances == ()
    assert encode(ListParams(instances=())) == {"instances": []}
    assert decode(ListParams, {}).instances is None


def test_items_not_known_are_told_from_no_items() -> None:
    read = decode(ReturnStatusResult, {"returns": [{"return_id": "a"}, {"return_id": "b", "items": []}]})
    assert [status.items for status in read.returns] == [None, ()]


def test_gr_2_fields_of_a_later_version_are_ignored_everywhere() -> None:
    raw = _list(_instance(x=1, mark={"token": "tk", "y": {}}, place={"zone": "a", "building": 7}))
    assert decode(ListResult, raw | {"z": []}) == decode(
        ListResult, _list(_instance(mark={"token": "tk"}, place={"zone": "a"}))
    )


def test_gr_2_an_instance_of_an_unknown_kind_is_never_left_out_since_it_costs_money() -> None:
    later = _instance(kind="function")
    listed = decode_noting(ListResult, _list(_instance(), later))
    report = {"request_id": "rq-1", "token": "tk-1", "outcome": "made", "instances": [later]}
    asked = decode_noting(RequestStatusResult, {"requests": [report]})
    assert [each.kind for each in listed.value.instances] == [InstanceKind.HOST, InstanceKind.HOST]
    assert [each.kind for each in decode(Report, report).instances] == [InstanceKind.HOST]
    assert [each.kind for each in asked.value.requests[0].instances] == [InstanceKind.HOST]
    assert (listed.skipped, asked.skipped) == ((), ())


def test_gr_2_templates_of_unknown_kinds_are_skipped_and_reported_and_faults_of_the_others_still_found() -> None:
    known, later = _template(), _template(kind="function", unit=7)
    read = decode_noting(DescribeResult, {"revision": "r", "templates": [known, later, known]})
    assert len(read.value.templates) == 2
    assert [skip.path for skip in read.skipped] == ["/templates/1"]
    with pytest.raises(BadShape):
        decode(DescribeResult, {"revision": "r", "templates": [later, _template(unit=7)]})


def test_nothing_is_reported_as_skipped_where_all_is_known() -> None:
    assert decode_noting(ListResult, _list(_instance())).skipped == ()


def test_the_weakest_promises_are_what_a_provider_that_says_nothing_makes() -> None:
    weakest = Promises()
    assert weakest.token.replay is Replay.NONE
    assert (weakest.token.lifetime_s, weakest.token.unknown_ends_s) == (0, None)
    assert (weakest.list.delay_s, weakest.memory.keep_s, weakest.calls.late_effect_s) == (3600, 604_800, 60)
    assert (weakest.calls.in_flight, weakest.calls.answer_limit_s("request")) == (1, 60)


def test_the_return_promise_is_called_return_on_the_wire() -> None:
    raw = {"version": "2.0", "provider": {"name": "a", "version": "1"}, "kinds": [], "state_id": "x" * 16}
    read = decode(InitializeResult, {**raw, "promises": {"return": {"partial": True}}})
    assert read.promises.return_.partial
    assert encode(read)["promises"] == {"return": {"partial": True}}


def test_a_whole_mark_may_be_given_to_an_instance_and_is_read_back_as_a_partial_one() -> None:
    mark = Mark("clu", "lin", "prov", "rq", "tk", 3)
    written = encode(Instance("i-1", 1, InstanceState.RUNNING, mark=mark))
    assert written["mark"] == {
        "cluster": "clu",
        "lineage": "lin",
        "provider": "prov",
        "request_id": "rq",
        "token": "tk",
        "epoch": 3,
    }
    assert decode(Instance, written).mark == PartialMark("clu", "lin", "prov", "rq", "tk", 3)


def _template(**parts: object) -> dict[str, object]:
    lead_time = {"typical_s": 1, "worst_s": 1}
    return {
        "template": "t",
        "kind": "grant",
        "unit": "u",
        "granularity": {"max_units": 1},
        "lead_time": lead_time,
    } | parts


_BULKY = _instance(access={f"k{n}": "v" * 2000 for n in range(5)})


@pytest.mark.parametrize(
    ("cls", "raw", "path"),
    [
        (ListResult, _list(_BULKY), "/instances/0"),
        (Report, {"request_id": "r", "token": "t", "outcome": "made", "instances": [_BULKY]}, "/instances/0"),
        (DescribeResult, {"revision": "1", "templates": [_template(extra={"a": "x" * 4096})]}, "/templates/0/extra"),
        (DescribeResult, {"revision": "1", "templates": [_template(variants=["x" * 500] * 30)]}, "/templates/0"),
        (RequestParams, {"data": {"a": "x" * 16_384}}, "/data"),
    ],
)
def test_what_takes_more_bytes_than_its_bound_is_refused(cls: Any, raw: object, path: str) -> None:
    assert "bytes" in _faults(cls, raw)[path]


def test_a_number_that_is_not_finite_is_refused_by_both_ways() -> None:
    for number in (float("nan"), float("inf"), 2**60):
        assert "/instances/0/attributes/cores" in _faults(ListResult, _list(_instance(attributes={"cores": number})))


def test_a_whole_number_stays_whole_and_true_stays_true() -> None:
    read = decode(ListResult, _list(_instance(attributes={"cores": 2, "x.ssd": True, "load": 1.5})))
    attributes = read.instances[0].attributes or {}
    assert [type(value) for value in attributes.values()] == [int, bool, float]


_WRONG = [
    None,
    True,
    0,
    -1,
    1.5,
    2**53,
    "",
    "x",
    "X y",
    "x\n",
    "é",
    [],
    {},
    [None],
    {"a": None},
    "z" * 600,
    float("nan"),
]


def _places(raw: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    parts = raw.items() if isinstance(raw, dict) else enumerate(raw) if isinstance(raw, list) else ()
    for key, part in parts:
        found += _places(part, (*path, key))
    return found


def _as_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_json(part) for key, part in value.items()}
    return [_as_json(part) for part in value] if isinstance(value, list | tuple) else value


def _with(raw: Any, path: tuple[Any, ...], value: object) -> Any:
    changed = copy.deepcopy(raw)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return changed


@pytest.mark.parametrize("cls", sorted(FAST, key=str), ids=lambda cls: cls.__name__)
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(data=st.data())
def test_the_fast_way_says_yes_only_to_what_the_strict_way_reads_as_the_same(cls: Any, data: st.DataObject) -> None:
    raw = _as_json(encode(data.draw(values(cls))))
    assert decode_fast(cls, raw) == _strictly(cls, raw) is not None
    places = _places(raw)
    if places:
        path = data.draw(st.sampled_from(places))
        changed = _with(raw, path, data.draw(st.sampled_from(_WRONG)))
        fast = decode_fast(cls, changed)
        assert fast is None or fast == _strictly(cls, changed)


@pytest.mark.parametrize("cls", [m.params for m in METHODS.values()] + BIG, ids=lambda cls: cls.__name__)
@settings(max_examples=40)
@given(
    raw=st.recursive(
        st.sampled_from(_WRONG),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(
                st.sampled_from(["instances", "state", "units", "token", "requests", "mark", "kind"]), inner
            )
        ),
        max_leaves=6,
    )
)
def test_no_json_makes_the_codec_fail_in_another_way_than_badshape(cls: Any, raw: object) -> None:
    try:
        value = decode(cls, raw)
    except BadShape as bad:
        assert bad.faults  # noqa: PT017 - either end is right
        assert all(isinstance(fault, ParamFault) for fault in bad.faults)  # noqa: PT017
    else:
        assert isinstance(value, cls)
