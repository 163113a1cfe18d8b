"""What a provider says of itself, as events."""

from provider_sdk.contract import ErrorClass, ErrorData
from provisioner.core.events import HealthSeen
from provisioner.runtime.provider_reports import PingWords


def test_a_ping_that_says_another_thing_than_the_last_is_read_also_where_python_calls_the_two_equal() -> None:
    pings = PingWords()
    said = (
        {"health": "ok", "in_flight": 1},
        {"health": "ok", "in_flight": 1},
        {"health": "ok", "in_flight": True},
        {"health": "down", "in_flight": 1},
        ErrorData(ErrorClass.TRANSIENT),
        {"health": "ok", "in_flight": 1},
    )
    found = [event for answer in said for event in pings.events("east", 3, answer)]
    assert [e.health for e in found if isinstance(e, HealthSeen)] == ["ok", "ok", "degraded", "down", "degraded", "ok"]
    assert {(e.provider, e.number) for e in found if isinstance(e, HealthSeen)} == {("east", 3)}
