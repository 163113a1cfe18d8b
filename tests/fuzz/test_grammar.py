"""Cases grown from the types of the contract: whatever a type allows, both sides take without a fault."""

from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from provider_sdk.contract import METHODS, encode
from tests.contract.strategies import values
from tests.fuzz.daemon_target import run_daemon
from tests.fuzz.honest import line, spoken
from tests.fuzz.mutate import mutated
from tests.fuzz.sayings import STATE
from tests.fuzz.scenes import scenes
from tests.fuzz.sdk_target import run_sdk
from tests.sdk.conversation import greeting

SCENE_OF = {
    "initialize": "greeting",
    "describe": "describing",
    "request": "buying",
    "request_status": "asking",
    "list": "listing",
    "return": "returning",
    "return_status": "returning",
    "ping": "idling",
}
slow_to_draw = settings(
    max_examples=30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)


@pytest.mark.parametrize("method", SCENE_OF)
@slow_to_draw
@given(data=st.data())
def test_a_daemon_takes_every_result_the_types_allow_and_its_mutations(method: str, data: st.DataObject) -> None:
    scene = scenes()[SCENE_OF[method]]
    cls: Any = METHODS[method].result
    said = spoken(scene.play(), {method: encode(data.draw(values(cls)))})
    run_daemon(scene.name, said)
    _, changed = mutated(Random(data.draw(st.integers(0, 2**32))), said, scene.streams)
    run_daemon(scene.name, changed)


@pytest.mark.parametrize("method", METHODS)
@settings(slow_to_draw, max_examples=10)
@given(data=st.data())
def test_a_provider_takes_all_params_the_types_allow_and_their_mutations(method: str, data: st.DataObject) -> None:
    cls: Any = METHODS[method].params
    hello = line({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting(STATE)})
    said = line({"jsonrpc": "2.0", "id": 2, "method": method, "params": encode(data.draw(values(cls)))})
    run_sdk("any", hello + said)
    _, changed = mutated(Random(data.draw(st.integers(0, 2**32))), said, (hello, said))
    run_sdk("any", hello + changed)
