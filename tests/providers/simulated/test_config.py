"""The provider's section of the configuration: what is read, what is refused, and that schema and reader agree."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from provider_sdk.provider import ConfigFault
from providers.simulated.config import Config, read_config
from providers.simulated.draws import Spread
from providers.simulated.fault_orders import ACTS
from providers.simulated.offers import Billing, Price
from providers.simulated.reading import parse_duration_ms
from providers.simulated.site import CONFIG_DIR, load_table
from tests.providers.simulated.stage import CONFIG, Stage

SCHEMA = json.loads((Path(__file__).parents[3] / "providers" / "simulated" / "config.schema.json").read_text())
FULL: Mapping[str, object] = {
    **CONFIG,
    "models": ["on_demand", "spot"],
    "currency": "USD",
    "capacity": {"machines": 8, "per_template": 4, "error": "quota", "stated": False},
    "fulfil_time": {"typical": "1s", "worst": "2s", "distribution": "uniform"},
    "quote_valid": "90s",
    "list_delay": "5s",
    "gone_visible": "1h",
    "billing": {"quantum": "1h", "minimum": "1h", "starts": "made", "ends": "return_accepted"},
    "hold": {"min": "1m", "max": "1d"},
    "spot": {"mean_time_to_notice": "1h", "notice": "2m", "price_factor": "0.3"},
    "boot_failures": 0.1,
    "min_units": 1,
    "step_units": 1,
    "max_units": 50,
    "priority": 3,
    "overrides": {"c6i.x*": {"capacity": 2, "lead_time": 0}},
    "templates": {
        "big": {
            "kind": "host",
            "cores": 64,
            "memory": "256GiB",
            "disk": {"value": 1, "unit": "TiB"},
            "gpus": 1,
            "gpu_model": "H100",
            "arch": "x86_64",
            "os": "linux",
            "attributes": {"fast": True},
            "price": {"amount": "2", "currency": "USD", "per": "hour", "once": "0.5"},
            "model": "reserved",
        },
        "seats": {"kind": "grant", "unit": "token", "capacity": 20, "price": "0.5", "access": {"LM_PROJECT": "a"}},
    },
    "failures": {"no_capacity": 0.1, "throttled": {"rate": 0.1, "retry_after": "5s"}},
    "faults": {
        "calls": [
            {"on": "request", "do": "error", "calls": [2, "4-5", "9-"], "error_class": "auth", "outcome": "unknown"},
            {"on": "request", "do": "partial", "made": 2, "rate": 0.5, "templates": ["c6i.*"]},
            {"on": "request", "do": "fulfil_late", "for": "5s"},
            {"on": "request", "do": "cut_answer", "bytes": 10, "calls": 3, "code": 9},
            {"on": "initialize", "do": "exit", "when": "before"},
            {"on": "list", "do": "empty_list"},
            {"on": "list", "do": "incomplete_list"},
            {"on": "return", "do": "item_errors", "items": 2, "retry_after": 3},
            {"on": "request_status", "do": "unknown_outcome"},
            {"on": "*", "do": "delay_answer", "for": "10ms"},
        ],
        "process": {
            "stderr_flood": {"bytes_per_s": 1000, "newlines": False},
            "stdout_junk": {"text": "hello", "every": 2},
            "grandchild": {"for": "1m", "leaves_group": True},
            "ignore_sigterm": True,
            "outlive_stdin": "5s",
            "crash_after": "50ms",
        },
        "prices": {"omit": ["c6i.large"], "currency": {"c6i.xlarge": "EUR"}},
    },
    "health": {"state": "down", "error_class": "auth", "detail": "no"},
    "cloud_dir": "/srv/cloud",
    "domain": "example.test",
    "in_flight": 4,
    "answer_time": "30s",
    "token_lifetime": "1d",
    "page": 100,
}


def read(values: Mapping[str, object]) -> Config:
    config, faults = read_config(values, load_table)
    assert faults == []
    return config


def faults_of(values: Mapping[str, object]) -> dict[str, str]:
    return {fault.path: fault.detail for fault in read_config(values, load_table)[1]}


def test_the_documented_example_is_read() -> None:
    offer = read(CONFIG).offers["c6i.large"]
    assert offer.terms.price == Price(68_000_000, "USD", "hour")
    assert offer.terms.place == {"region": "us-east-1", "zone": "us-east-1a"}
    assert offer.terms.attributes["memory"] == {"value": 4096, "unit": "MiB"}
    assert offer.lead == Spread(3000, 8000, "lognormal")


def test_everything_can_be_said_at_once_and_the_schema_knows_all_of_it() -> None:
    config = read(FULL)
    Draft202012Validator.check_schema(SCHEMA)
    Draft202012Validator(SCHEMA).validate(FULL)
    assert set(SCHEMA["properties"]) == set(FULL)
    assert config.offers["c6i.large-spot"].terms.price == Price(20_400_000)
    assert (config.offers["c6i.xlarge"].capacity, config.offers["c6i.large"].capacity) == (2, 4)
    assert config.offers["big"].terms.billing == Billing(3600, 3600, "made", "return_accepted")
    assert config.offers["big"].terms.price == Price(2 * 10**9, "USD", "hour", 500_000_000)
    assert config.faults.rules[0].spans == ((2, 2), (4, 5), (9, 2**53))
    assert [rule.error_class for rule in config.faults.rules][-2:] == ["no_capacity", "throttled"]


def _objects(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = [schema] if "properties" in schema else []
    for value in schema.values():
        for part in value if isinstance(value, list) else [value]:
            found += _objects(part) if isinstance(part, dict) else []
    return found


def test_every_object_of_the_schema_is_closed() -> None:
    assert all(part.get("additionalProperties") is False for part in _objects(SCHEMA))


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("/capacty", {"capacty": {}}),
        ("/price_factor", {"price_factor": 0.8}),
        ("/price_factor", {"price_factor": "-1"}),
        ("/lead_time/typical", {"lead_time": {"typical": "3 s"}}),
        ("/lead_time/worst", {"lead_time": {"typical": "3s", "worst": "2s"}}),
        ("/lead_time/distribution", {"lead_time": {"distribution": "normal"}}),
        ("/billing/quantum", {"billing": {"quantum": "500ms"}}),
        ("/billing/starts", {"billing": {"starts": "now"}}),
        ("/capacity/machines", {"capacity": {"machines": -1}}),
        ("/capacity/machines", {"capacity": {"machines": True}}),
        ("/capacity", {"capacity": 8}),
        ("/types", {"types": ["c9x.*"]}),
        ("/types", {"types": [3]}),
        ("/catalog", {"catalog": "nowhere.csv"}),
        ("/catalog", {"catalog": "type,vcpu\na,1"}),
        ("/catalog/0", {"catalog": [{"type": "a"}], "types": ["a"]}),
        ("/models", {"models": ["hourly"]}),
        ("/overrides/m7*", {"overrides": {"m7*": {}}}),
        ("/overrides/c6i.*/hold", {"overrides": {"c6i.*": {"hold": 3}}}),
        ("/templates/a b", {"templates": {"a b": {"cores": 1}}}),
        ("/templates/x/cores", {"templates": {"x": {}}}),
        ("/templates/x/price/amount", {"templates": {"x": {"cores": 1, "price": {"currency": "USD"}}}}),
        ("/templates/x/price", {"templates": {"x": {"cores": 1, "price": "3 USD"}}}),
        ("/templates/x/memory", {"templates": {"x": {"cores": 1, "memory": "much"}}}),
        ("/templates/c6i.large", {"templates": {"c6i.large": {"cores": 1}}}),
        ("/templates/x~1y/attributes/Big", {"templates": {"x/y": {"cores": 1, "attributes": {"Big": 1}}}}),
        ("/failures/no_luck", {"failures": {"no_luck": 0.1}}),
        ("/failures/quota", {"failures": {"quota": 2}}),
        ("/faults/calls/0/do", {"faults": {"calls": [{"on": "list"}]}}),
        ("/faults/calls/0/on", {"faults": {"calls": [{"on": "list", "do": "partial"}]}}),
        ("/faults/calls/0/calls", {"faults": {"calls": [{"on": "list", "do": "delay", "calls": "often"}]}}),
        ("/faults/calls/0/bytes", {"faults": {"calls": [{"on": "list", "do": "delay", "bytes": 3}]}}),
        ("/faults/process/crash_after", {"faults": {"process": {"crash_after": "soon"}}}),
        ("/faults/prices/currency/*", {"faults": {"prices": {"currency": {"*": "euro"}}}}),
        ("/health/state", {"health": {"state": "fine"}}),
        ("/cloud_dir", {"cloud_dir": "relative"}),
        ("/currency", {"currency": "usd"}),
        ("/max_units", {"min_units": 200}),
    ],
)
def test_a_fault_is_reported_at_its_place(path: str, values: Mapping[str, object]) -> None:
    assert path in faults_of({**CONFIG, **values})


def test_nothing_for_sale_is_a_fault() -> None:
    assert faults_of({}) == {"/types": "nothing is for sale: name types of the price table, or write templates"}


def test_hs_4_all_faults_come_at_once_with_the_nearest_known_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigFault) as caught:
        Stage(tmp_path, capacty={}, seed=-1, lead_time={"typical": []})
    assert dict(caught.value.faults) == {
        "/lead_time/typical": 'must be a duration: whole seconds, or a string such as "500ms", "3s", "2m", "1h"',
        "/seed": "must be a whole number from 0 to 9007199254740991",
        "/capacty": "unknown key; did you mean capacity?",
    }


def test_a_price_table_lies_beside_the_configuration_or_at_an_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "mine.csv"
    table.write_text("type,vcpu,mem_mib,gpu,arch,usd_per_hour\nmine,1,1024,0,arm64,0.01\n")
    assert list(read({"catalog": str(table)}).offers) == ["mine"]
    monkeypatch.setenv(CONFIG_DIR, str(tmp_path))
    assert list(read({"catalog": "mine.csv"}).offers) == ["mine"]


@pytest.mark.parametrize(
    ("told", "milliseconds"),
    [(3, 3000), ("3s", 3000), ("250ms", 250), ("1.5h", 5_400_000), ("2m", 120_000), ("7d", 604_800_000)],
)
def test_durations_have_several_notations(told: object, milliseconds: int) -> None:
    assert parse_duration_ms(told) == milliseconds


@pytest.mark.parametrize("told", [True, -1, "3", "s", "3 s", "", None, 2.5, "1h30m"])
def test_what_is_no_duration_is_none(told: object) -> None:
    assert parse_duration_ms(told) is None


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from(["", "3s", "c6i.*", "0.5", "request", "error", "USD"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["calls", "do", "on", "rate", "price", "kind", "hold", "typical", "process", "prices", "x"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(sorted(SCHEMA["properties"])), JSON, max_size=6))
def test_no_configuration_makes_the_reader_fail(values: dict[str, object]) -> None:
    config, faults = read_config(values, load_table)
    assert faults or config.offers


def test_the_readme_names_every_key_and_every_act() -> None:
    page = (Path(__file__).parents[3] / "providers" / "simulated" / "README.md").read_text()
    rule = SCHEMA["properties"]["faults"]["properties"]["calls"]["items"]["properties"]
    process = SCHEMA["properties"]["faults"]["properties"]["process"]["properties"]
    words = [*SCHEMA["properties"], *rule, *rule["do"]["enum"]]
    assert [word for word in words if f"`{word}" not in page] == []
    assert [word for word in process if f"| `{word}: " not in page] == []
    assert set(rule["do"]["enum"]) == set(ACTS)
