from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.core.events import ClusterPushed, DemandPushed, PushedEntry, SupplyPushed
from provisioner.core.model import Constraint, EntryState, Kind, Line
from provisioner.edge.rest import LINES_MOST, read_cluster, read_demand, read_supply
from provisioner.edge.rest_fault import FAULTS_SHOWN, Faulty
from tests.edge.rest_worlds import settings_for

SETTINGS = settings_for()
GIB = 2**30 * 1000


def one_line(source: str = "lsf", /, **fields: Any) -> Line:
    """The one line of a demand snapshot that has no faults."""
    line = {"id": "queue", "kind": "host", "count": 1} | fields
    pushed = read_demand(source, {"revision": 1, "lines": [{k: v for k, v in line.items() if v != "absent"}]}, SETTINGS)
    assert isinstance(pushed, DemandPushed), pushed
    return pushed.lines[0]


def faults_of_line(**fields: Any) -> dict[str, str]:
    """The fault messages of one line, by the field below the line."""
    line = {"id": "queue", "kind": "host", "count": 1} | fields
    line = {key: value for key, value in line.items() if value != "absent"}
    return faults(read_demand("lsf", {"revision": 1, "lines": [line]}, SETTINGS), "/lines/0/")


def faults(found: object, prefix: str = "") -> dict[str, str]:
    """Fault messages by field; AssertionError if the body was taken."""
    assert isinstance(found, Faulty), found
    assert all(f.message and f.remedy for f in found.faults)
    return {f.field.removeprefix(prefix): f.message for f in found.faults}


def test_what_the_driver_sends_is_read_as_it_is_meant() -> None:
    body = {
        "revision": 1_900_000_000_123,
        "supply_revision": None,
        "lines": [{"id": "queue", "kind": "host", "count": 7, "each": {"cores": 1}}],
    }
    assert read_demand("driver", body, SETTINGS) == DemandPushed(
        "driver", 0, 1_900_000_000_123, None, (Line("queue", Kind.HOST, 7, each=(("cores", 1000),)),)
    )
    entries = [
        {"instance": "in-a", "name": "h", "state": "idle", "since": "2026-01-02T03:04:05.500000Z", "drain": "dr-1"}
    ]
    assert read_supply("driver", {"revision": 3, "entries": entries}, SETTINGS) == SupplyPushed(
        "driver",
        0,
        3,
        (PushedEntry(EntryState.IDLE, instance="in-a", name="h", since=1_767_323_045.5, drain="dr-1"),),
    )


def test_amounts_are_numbers_or_sizes_in_thousandths() -> None:
    line = one_line(each={"memory": "16GiB", "cores": 0.5, "disk": 1024, "gpus": "2 GiB"})
    assert line.each == (("cores", 500), ("disk", 1_024_000), ("gpus", 2 * GIB), ("memory", 16 * GIB))


def test_conditions_are_words_lists_numbers_sizes_and_bounds() -> None:
    where = {
        "arch": "x86_64", "zone": ["a", "b"], "cores": 4, "memory": "16GiB", "gpus": {"min": 1, "max": 4},
        "model": {"not": "spot"}, "rack": {"not": ["r1", "r2"]}, "numa": True, "template": "4",
        "ghz": {"min": 2.5, "not": 3},
    }  # fmt: skip
    assert one_line(where=where).where == (
        Constraint("arch", one_of=("x86_64",)),
        Constraint("zone", one_of=("a", "b")),
        Constraint("cores", least=4000, most=4000),
        Constraint("memory", least=16 * GIB, most=16 * GIB),
        Constraint("gpus", least=1000, most=4000),
        Constraint("model", one_of=("spot",), negated=True),
        Constraint("rack", one_of=("r1", "r2"), negated=True),
        Constraint("numa", one_of=("true",)),
        Constraint("template", one_of=("4",)),
        Constraint("ghz", least=2500),
        Constraint("ghz", least=3000, most=3000, negated=True),
    )


def test_every_field_of_a_host_line_is_read() -> None:
    line = one_line(
        count=3,
        alone=True,
        priority=-5,
        consumer="asic",
        since="2026-01-02T05:04:05+02:00",
        expires="2026-01-02T03:05:05Z",
        max_price="1.5 USD/h",
    )
    assert (line.count, line.alone, line.priority, line.consumer) == (3, True, -5, "asic")
    assert (line.since, line.expires_at) == (1_767_323_045.0, 1_767_323_105.0)
    assert line.max_price_nanos == 1_500_000_000


def test_null_means_the_same_as_absent() -> None:
    stated = dict.fromkeys(
        ("each", "alone", "resource", "units", "where", "priority", "consumer", "since", "max_price")
    )
    assert one_line(**stated) == one_line()


def test_a_grant_line_is_counted_in_units() -> None:
    line = one_line(kind="grant", resource="abaqus", units=8, count="absent", max_price="2 USD/unit-hour")
    assert line == Line("queue", Kind.GRANT, 8, resource="abaqus", max_price_nanos=2_000_000_000)
    assert one_line(kind="grant", resource="abaqus", count=8).count == 8
    assert one_line(kind="grant", resource="abaqus", count=8, units=8).count == 8
    assert "differ" in faults_of_line(kind="grant", resource="abaqus", count=7, units=8)["count"]
    assert set(faults_of_line(kind="grant", count="absent", each={"cores": 1})) == {"resource", "units", "each"}
    assert set(faults_of_line(resource="abaqus", units=1)) == {"resource", "units"}


def test_a_price_is_per_hour_and_in_the_currency_of_all_sums() -> None:
    assert one_line(max_price={"amount": "0.25", "currency": "USD"}).max_price_nanos == 250_000_000
    for wrong in ("1 USD", "1 EUR/h", "1 USD/purchase", "1 USD/unit-hour", 1, "-1 USD/h"):
        assert set(faults_of_line(max_price=wrong)) == {"max_price"}, wrong
    assert "not USD" in faults_of_line(max_price={"amount": "1", "currency": "EUR"})["max_price/currency"]
    assert set(faults_of_line(max_price={"amount": 1.5, "currency": "USD"})) == {"max_price/amount"}
    assert set(faults_of_line(max_price={})) == {"max_price/amount", "max_price/currency"}


@pytest.mark.parametrize("field", ["min_count", "all_or_nothing", "together", "group", "needed_by", "late"])
def test_what_later_versions_bring_is_refused_by_name(field: str) -> None:
    assert "not yet supported" in faults_of_line(**{field: 1})[field]


def test_an_unknown_field_is_answered_with_the_nearest_known_one() -> None:
    found = read_demand("lsf", {"revison": 1, "revision": 1, "lines": []}, SETTINGS)
    assert isinstance(found, Faulty)
    assert found.faults[0].field == "/revison"
    assert found.faults[0].remedy == "leave it out; did you mean revision?"


def test_all_faults_are_told_at_once_each_with_its_place() -> None:
    body = {
        "revision": -1,
        "incarnation": True,
        "supply_revision": "x",
        "lines": [
            {"id": "a", "kind": "hst", "count": 1},
            7,
            {"id": "a b", "kind": "host", "count": 1.5, "each": {"Cores": 1, "memory": "16GB", "gpus": 0}},
            {"id": "a", "kind": "host", "count": 1, "where": {"arch": [], "zone": {}, "x": {"min": 2, "max": 1}}},
        ],
    }
    assert set(faults(read_demand("LSF", body, SETTINGS))) == {
        "", "/revision", "/incarnation", "/supply_revision", "/lines/0/kind", "/lines/1", "/lines/2/id",
        "/lines/2/count", "/lines/2/each/Cores", "/lines/2/each/memory", "/lines/2/each/gpus", "/lines/3/where/arch",
        "/lines/3/where/zone", "/lines/3/where/x", "/lines/3/id",
    }  # fmt: skip


def test_a_pointer_escapes_what_rfc_6901_escapes() -> None:
    assert "each/a~1b~0c" in faults_of_line(each={"a/b~c": 1})


def test_a_line_id_that_stands_twice_is_a_fault() -> None:
    line = {"id": "a", "kind": "host", "count": 1}
    found = read_demand("lsf", {"revision": 1, "lines": [line, line]}, SETTINGS)
    assert set(faults(found)) == {"/lines/1/id"}


def test_a_body_is_bounded_and_so_is_the_list_of_its_faults() -> None:
    many = [{"id": f"q{n}", "kind": "host", "count": 1} for n in range(LINES_MOST + 1)]
    assert set(faults(read_demand("lsf", {"revision": 1, "lines": many}, SETTINGS))) == {"/lines"}
    found = read_demand("lsf", {"revision": 1, "lines": [1] * 5_000}, SETTINGS)
    assert isinstance(found, Faulty)
    assert (found.count, len(found.faults)) == (5_000, FAULTS_SHOWN)
    assert "5,000 faults, of which the first 500 are listed" in found.message()


def test_lines_of_a_source_that_is_trusted_for_ever_must_expire() -> None:
    line = {"id": "a", "kind": "host", "count": 1}
    assert set(faults(read_demand("ops", {"revision": 1, "lines": [line]}, SETTINGS))) == {"/lines/0/expires"}
    assert one_line("ops", expires="2026-01-02T03:05:05Z").expires_at == 1_767_323_105.0


def test_an_entry_says_which_instance_it_is() -> None:
    def of(**fields: object) -> object:
        return read_supply("lsf", {"revision": 1, "entries": [{"state": "idle", **fields}]}, SETTINGS)

    assert set(faults(of())) == {"/entries/0"}
    assert set(faults(of(name="h"))) == {"/entries/0"}
    assert set(faults(of(provider="east"))) == {"/entries/0/provider_id"}
    assert set(faults(of(provider_id="i-1"))) == {"/entries/0/provider"}
    assert set(faults(of(token="tk-1"))) == {"/entries/0/address"}
    assert set(faults(of(state="idel", instance="in-a"))) == {"/entries/0/state"}
    for whole in ({"instance": "in-a"}, {"provider": "east", "provider_id": "i-1"}, {"address": "10.0.0.1"}):
        assert isinstance(of(**whole), SupplyPushed)
    full = of(token="tk-1", address="10.0.0.1", in_use=3, size={"cores": 4})
    assert isinstance(full, SupplyPushed)
    assert full.entries[0] == PushedEntry(
        EntryState.IDLE, token="tk-1", address="10.0.0.1", in_use=3, size=(("cores", 4000),)
    )


def test_an_instance_that_stands_twice_is_a_fault() -> None:
    def of(*named: dict[str, str]) -> object:
        return read_supply("lsf", {"revision": 1, "entries": [{"state": "idle", **each} for each in named]}, SETTINGS)

    assert set(faults(of({"instance": "in-a"}, {"instance": "in-b"}, {"instance": "in-a"}))) == {"/entries/2"}
    theirs = {"provider": "east", "provider_id": "i-1"}
    assert set(faults(of(theirs, theirs))) == {"/entries/1"}
    assert isinstance(of(theirs, {**theirs, "provider": "west"}), SupplyPushed)
    assert isinstance(of({"address": "10.0.0.1"}, {"address": "10.0.0.1"}), SupplyPushed), "matched only later"


def test_both_in_one_share_the_incarnation_and_the_supply_counts_unless_another_is_named() -> None:
    body: dict[str, Any] = {
        "incarnation": 2,
        "supply": {"revision": 5, "entries": []},
        "demand": {"revision": 6, "lines": []},
    }
    both = ClusterPushed(SupplyPushed("lsf", 2, 5, ()), DemandPushed("lsf", 2, 6, 5, ()))
    assert read_cluster("lsf", body, SETTINGS) == both
    body["demand"]["supply_revision"] = 4
    found = read_cluster("lsf", body, SETTINGS)
    assert isinstance(found, ClusterPushed)
    assert found.demand.supply_revision == 4
    assert set(faults(read_cluster("lsf", {"supply": {"entries": [1]}}, SETTINGS))) == {
        "/demand",
        "/supply/revision",
        "/supply/entries/0",
    }


def test_a_missing_list_is_a_fault_because_an_empty_one_gives_everything_back() -> None:
    assert set(faults(read_demand("lsf", {"revision": 1}, SETTINGS))) == {"/lines"}
    assert set(faults(read_supply("lsf", {"revision": 1}, SETTINGS))) == {"/entries"}


SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=20)
WORDS = st.sampled_from(
    "id kind count each alone resource units where priority consumer since expires max_price min_count incarnation "
    "revision supply_revision lines entries supply demand state instance provider provider_id token address name drain "
    "in_use size min max not amount currency host grant idle cores 16GiB".split()
)
ANY_JSON = st.recursive(
    SCALARS | WORDS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(WORDS | st.text(max_size=9), inner, max_size=6),
)
LINE_FIELDS = ("id", "kind", "count", "each", "where", "units", "resource", "max_price", "since", "consumer")
VALUES = SCALARS | WORDS | st.dictionaries(WORDS, SCALARS | WORDS, max_size=3)
LINES = st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(LINE_FIELDS, VALUES)), max_size=3)


@given(ANY_JSON, st.sampled_from([read_demand, read_supply, read_cluster]))
def test_arbitrary_json_is_taken_or_has_faults_and_never_fails(body: object, read: Any) -> None:
    found = read("lsf", body, SETTINGS)
    assert isinstance(found, DemandPushed | SupplyPushed | ClusterPushed) or (found.count and found.faults)


@given(LINES)
def test_lines_that_are_taken_are_within_their_bounds(lines: list[object]) -> None:
    found = read_demand("lsf", {"revision": 1, "lines": lines}, SETTINGS)
    if isinstance(found, DemandPushed):
        assert all(line.id and line.count >= 0 for line in found.lines)
        assert all(amount > 0 for line in found.lines for _, amount in line.each)
