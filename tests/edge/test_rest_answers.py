from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from attrs import evolve
from immutables import Map
from jsonschema import Draft202012Validator

from provisioner.core.evolve import Accepted, RefusedPush
from provisioner.core.facts import DemandFact, FactKind
from provisioner.core.instance import InstanceState
from provisioner.core.model import EntryState, Kind, Line, Place, Problem
from provisioner.core.money import nanos_of
from provisioner.core.reasons import Reason, Why
from provisioner.core.request import RequestState
from provisioner.core.world import Ask, End, LineStatus, ListView, PlanView, World
from provisioner.edge.rest_answers import READS, Answer, Question, answer_to
from provisioner.edge.rest_health import health
from provisioner.edge.rest_reply_schema import ERROR_SCHEMA, PUSH_REPLY_SCHEMA, REPLY_SCHEMAS
from provisioner.edge.rest_sources import accepted_json, refused_json
from tests.edge.rest_worlds import (
    NOW,
    decision,
    empty_world,
    entry,
    giveback,
    instance,
    lively_world,
    purchase,
    settings_for,
    with_facts,
    with_instances,
)

SETTINGS = settings_for()
NAMES = {
    "source": "lsf", "provider": "east", "request": "rq-two", "instance": "in-a", "decision": "dc-one",
}  # fmt: skip


def ask(world: World, url: str, name: str = "") -> Answer:
    """The answer to a URL whose last part may be a name."""
    parts = urlsplit(url)
    path = parts.path if not name else parts.path.replace(name, "{" + _parameter(parts.path) + "}")
    return answer_to(READS[path], Question(world, NOW, SETTINGS, parts.path, name, tuple(parse_qsl(parts.query))))


def _parameter(path: str) -> str:
    return {"demand": "source", "supply": "source", "cluster": "source", "providers": "provider", "requests": "request",
            "instances": "instance", "decisions": "decision"}[path.split("/")[2]]  # fmt: skip


def body(world: World, url: str, name: str = "") -> Any:
    answer = ask(world, url, name)
    assert answer.status == 200, answer
    return answer.body


def with_demand(world: World, *lines: Line) -> World:
    return with_facts(world, [(FactKind.DEMAND, "lsf", DemandFact(0, 3, 7, NOW.at - 9, lines))])


def holds(schema: Mapping[str, Any], found: object) -> None:
    Draft202012Validator(schema).validate(found)


@pytest.mark.parametrize("path", sorted(READS))
@pytest.mark.parametrize("world", [lively_world(), empty_world()], ids=["lively", "empty"])
def test_every_answer_has_its_documented_shape(path: str, world: World) -> None:
    parameter = path.partition("{")[2].rstrip("}")
    name = NAMES.get(parameter, "")
    answer = ask(with_demand(world, Line("queue", Kind.HOST, 2)), path.replace("{" + parameter + "}", name), name)
    holds(REPLY_SCHEMAS[path] if answer.status == 200 else ERROR_SCHEMA, answer.body)
    assert answer.status == 200 or (not world.supplies and answer.status == 404)


@pytest.mark.parametrize("path", sorted(path for path in READS if "{" in path))
def test_what_is_not_there_is_not_found(path: str) -> None:
    parameter = path.partition("{")[2].rstrip("}")
    answer = ask(lively_world(), path.replace("{" + parameter + "}", "nobody"), "nobody")
    assert answer.status == 404
    holds(ERROR_SCHEMA, answer.body)


def test_an_instance_is_shown_as_the_contract_with_other_programs_says() -> None:
    found = body(lively_world(), "/v1/instances/in-a", "in-a")
    assert found["attributes"] == {"cores": 4, "memory": 16 * 2**30, "arch": "x86_64", "image": ["a", "b"]}
    assert found["state"] == "busy"
    assert found["price"] == {"amount": "1", "currency": "USD", "per": "hour"}
    assert found["cost"] == "1"
    assert found["for"] == [{"source": "lsf", "line": "queue", "units": 4}]
    assert found["joined_at"] == "2030-03-17T16:56:40Z"
    assert found["place"] == {"region": "r", "zone": "r-a"}
    assert found["addresses"] == [{"address": "10.0.0.1", "scope": "private"}]
    assert (found["drain"], found["notice"], found["idle_since"]) == (None, None, None)


def test_a_size_that_was_not_delivered_is_what_jobs_can_use_of_the_agreed_one_in_whole_bytes() -> None:
    host = evolve(
        instance("in-a"), size=(), terms=evolve(instance("in-a").terms, size=(("memory", 3_972_844_748_800),))
    )
    found = body(with_instances(empty_world(), host), "/v1/instances/in-a", "in-a")
    assert found["attributes"]["memory"] == 3_972_844_748
    assert isinstance(found["attributes"]["memory"], int)


def test_states_are_shown_with_the_clusters_word_and_the_drain() -> None:
    found = {i["id"]: i["state"] for i in body(lively_world(), "/v1/instances")["instances"]}
    assert found == {
        "in-a": "busy",
        "in-b": "draining",
        "in-c": "returning",
        "in-d": "booting",
        "in-e": "gone",
        "in-f": "running",
    }


def test_a_drain_and_idleness_are_shown() -> None:
    found = body(lively_world(), "/v1/instances/in-b", "in-b")
    assert found["drain"] == {
        "id": "dr-1", "kind": "ask", "reason": "idle", "asked_at": "2030-03-17T17:46:10Z", "deadline": None,
    }  # fmt: skip
    assert found["idle_since"] == "2030-03-17T17:36:40Z"


def test_idleness_is_never_older_than_our_own_observation() -> None:
    world = lively_world()
    world = evolve(world, seen=evolve(world.seen, idle_since=Map({"in-b": NOW.boot_s - 20})))
    assert body(world, "/v1/instances/in-b", "in-b")["idle_since"] == "2030-03-17T17:46:20Z"


def test_a_give_back_open_too_long_is_shown_as_stuck() -> None:
    late = evolve(SETTINGS, return_retry=evolve(SETTINGS.return_retry, stuck_after_s=30.0))
    question = Question(lively_world(), NOW, late, "/v1/instances/in-c", "in-c")
    found: Any = READS["/v1/instances/{instance}"].answer(question).body
    assert (found["state"], found["return"]["stuck"], found["reason"]) == ("stuck", True, "idle")


def test_live_instances_leave_out_gone_ones_and_filters_hold_together() -> None:
    def ids(query: str) -> list[str]:
        return [i["id"] for i in body(lively_world(), f"/v1/instances?{query}")["instances"]]

    assert ids("live=true") == ["in-a", "in-b", "in-c", "in-d", "in-f"]
    assert ids("live=false") == ["in-e"]
    assert ids("state=draining&live=true") == ["in-b"]
    assert ids("provider=west") == []


def test_pages_hold_every_record_once_though_records_come_and_go_between_them() -> None:
    world = with_instances(empty_world(), *(instance(f"in-{n:03}") for n in range(0, 20, 2)))
    seen: list[str] = []
    url: str | None = "/v1/instances?live=true&limit=3"
    while url is not None:
        page = body(world, url)
        seen += [i["id"] for i in page["instances"]]
        url = page["next"]
        last = seen[-1]
        gone = evolve(world.instances[last], state=InstanceState.GONE)
        world = with_instances(world, gone, instance("in-000a"), instance("in-0185"))
    assert sorted(set(seen)) == seen
    assert [id for id in seen if len(id) == 6] == [f"in-{n:03}" for n in range(0, 20, 2)]


def test_a_page_of_the_exact_length_is_the_last_one() -> None:
    world = with_instances(empty_world(), *(instance(f"in-{n}") for n in range(3)))
    assert body(world, "/v1/instances?limit=3")["next"] is None
    assert body(world, "/v1/instances?limit=2")["next"] == "/v1/instances?limit=2&after=in-1"


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=10001", "limit=x", "limit=٣", "live=yes", "state=tired", "colour=red", "live=true&live=true"],
)
def test_faulty_parameters_are_refused_by_name(query: str) -> None:
    answer = ask(lively_world(), f"/v1/instances?{query}")
    assert answer.status == 400
    holds(ERROR_SCHEMA, answer.body)
    error: Any = answer.body["error"]
    assert error["faults"][0]["field"] == query.partition("=")[0]


def test_a_path_without_parameters_takes_none() -> None:
    assert ask(lively_world(), "/v1/costs?provider=east").status == 400


def test_the_total_is_the_sum_of_what_every_instance_says_itself() -> None:
    world = lively_world()
    found = body(world, "/v1/costs")
    stated = [i["cost"] for i in body(world, "/v1/instances")["instances"]]
    assert nanos_of(found["total"]) == sum(nanos_of(cost) for cost in stated if cost is not None)
    assert found["unpriced"] == stated.count(None) == 1
    assert found["per_provider"] == {"east": found["total"]}
    assert found["per_consumer"] == {"default": found["total"]}
    assert nanos_of(found["burn_per_hour"]) == sum(nanos_of(sum_) for sum_ in found["burn_by_state"].values())
    assert found["reserved"] == "2.5"


def test_open_requests_are_purchases_and_give_backs_that_are_not_settled() -> None:
    found = body(lively_world(), "/v1/requests?open=true")["requests"]
    assert [(r["id"], r["kind"], r["state"]) for r in found] == [
        ("rq-two", "acquire", "taken"),
        ("rt-one", "return", "planned"),
    ]
    assert found[0]["reserve"] == "2.5"
    assert found[0]["problems"] == [{"error_class": "no_capacity", "units": 1, "reason": "sold out"}]
    assert found[1]["instances"] == ["in-c"]
    assert [r["id"] for r in body(lively_world(), "/v1/requests?open=false")["requests"]] == ["rq-one"]
    assert [r["id"] for r in body(lively_world(), "/v1/requests?kind=return")["requests"]] == ["rt-one"]


def test_decisions_come_newest_first_and_a_cursor_goes_on_after_pruning() -> None:
    world = with_facts(
        empty_world(),
        [(FactKind.DECISION, f"dc-{n}", decision(f"dc-{n}", NOW.at + n // 2, f"rq-{n}")) for n in range(6)],
    )
    first = body(world, "/v1/decisions?limit=2")
    assert [d["id"] for d in first["decisions"]] == ["dc-5", "dc-4"]
    pruned = with_facts(world, [])
    pruned = evolve(pruned, decisions=pruned.decisions.delete("dc-4"))
    second = body(pruned, first["next"])
    assert [d["id"] for d in second["decisions"]] == ["dc-3", "dc-2"]
    assert ask(world, "/v1/decisions?after=nonsense").status == 400
    assert ask(world, "/v1/decisions?after=x~y").status == 400


def test_decisions_are_found_by_request_and_by_line() -> None:
    assert [d["id"] for d in body(lively_world(), "/v1/decisions?subject=rq-two")["decisions"]] == ["dc-two"]
    assert len(body(lively_world(), "/v1/decisions?subject=lsf/queue")["decisions"]) == 2
    assert body(lively_world(), "/v1/decisions?subject=lsf")["decisions"] == []


def test_a_line_no_pass_has_looked_at_is_open_as_a_whole() -> None:
    world = with_demand(empty_world(), Line("queue", Kind.HOST, 5))
    line = body(world, "/v1/demand")["sources"][0]["lines"][0]
    assert (line["count"], line["met"], line["in_flight"], line["open"]) == (5, 0, 0, 5)
    assert line["reason"] == {"code": "not_planned", "sentence": "not planned yet"}


def test_a_planned_line_shows_how_it_stands_and_when_more_is_expected() -> None:
    status = LineStatus("lsf", "queue", 5, 2, 1, 2, Reason(Why.CAPACITY, "small of east"), expected_at=NOW.at + 60)
    world = with_demand(empty_world(), Line("queue", Kind.HOST, 5))
    world = evolve(world, seen=evolve(world.seen, plan=PlanView(lines=(status,))))
    line = body(world, "/v1/demand/lsf", "lsf")["lines"][0]
    assert (line["count"], line["met"], line["in_flight"], line["open"]) == (5, 2, 1, 2)
    assert line["reason"] == {"code": "capacity", "sentence": "has no capacity left (small of east)"}
    assert line["expected_at"] == "2030-03-17T17:47:40Z"


def test_a_status_of_another_count_is_not_shown_for_the_line_that_replaced_it() -> None:
    status = LineStatus("lsf", "queue", 5, 5, 0, 0, Reason(Why.MET))
    world = with_demand(empty_world(), Line("queue", Kind.HOST, 9))
    world = evolve(world, seen=evolve(world.seen, plan=PlanView(lines=(status,))))
    assert body(world, "/v1/demand/lsf", "lsf")["lines"][0]["open"] == 9


def test_a_provider_shows_what_is_left_alone_and_what_nobody_knows() -> None:
    east = body(lively_world(), "/v1/providers/east", "east")
    assert (east["state"], east["ready"], east["pid"], east["version"], east["instances"]) == (
        "ready",
        True,
        4242,
        "1.0",
        5,
    )
    assert east["strangers"] == ["i-stray"]
    assert east["list"] is None
    assert east["held_to"] == {
        "calls": 8,
        "frame_bytes": 16 * 2**20,
        "memory_bytes": None,
        "memory_by": "none",
        "stderr_rate": 100,
    }
    assert [(b["template"], b["parked"], b["until"]) for b in east["blocked"]] == [
        ("big", False, "2030-03-17T17:56:40Z")
    ]
    west = body(lively_world(), "/v1/providers/west", "west")
    assert (west["ready"], west["last_end"], west["starts_again_at"]) == (
        False,
        "exit status 1",
        "2030-03-17T17:47:10Z",
    )
    assert [(b["template"], b["parked"], b["until"]) for b in west["blocked"]] == [("*", True, None)]


def test_a_provider_shows_what_its_list_leaves_out() -> None:
    world = lively_world()
    partial = ListView(passes=3, problems=(Problem("auth"),), missing=(Place(region="eu", zone="b"),))
    world = evolve(world, seen=evolve(world.seen, lists=world.seen.lists.set("east", partial)))
    shown = body(world, "/v1/providers/east", "east")["list"]
    assert (shown["complete"], shown["missing_places"]) == (False, [{"region": "eu", "zone": "b"}])
    assert [p["error_class"] for p in shown["problems"]] == ["auth"]


def test_a_template_shows_the_operators_word_and_what_the_provider_said() -> None:
    template = body(lively_world(), "/v1/providers/east", "east")["templates"][0]
    assert template["price"] == {"amount": "2", "currency": "USD", "per": "hour"}
    assert (template["hourly"], template["capacity"]["max"]) == ("2", 5)
    assert template["overridden"] == {"price": {"amount": "1", "currency": "USD", "per": "hour"}, "capacity.max": 50}


def test_health_names_every_reason() -> None:
    found: Any = health(lively_world(), "the disk is full", NOW, SETTINGS, "1.2.3")
    holds(REPLY_SCHEMAS["/v1/health"], found)
    assert found["status"] == "degraded"
    assert found["uptime_s"] == 1000.0
    assert len(found["reasons"]) == 3
    assert any("no fact knows" in reason for reason in found["reasons"])
    assert "the disk is full" in found["reasons"][0]
    assert "west" in found["reasons"][1]
    silent: Any = health(with_demand(empty_world(), Line("q", Kind.HOST, 1)), None, NOW, SETTINGS, "1")
    assert any("lsf is silent" in reason for reason in silent["reasons"])
    starting: Any = health(None, None, NOW, SETTINGS, "1")
    holds(REPLY_SCHEMAS["/v1/health"], starting)
    assert starting["status"] == "starting"


def test_a_push_is_answered_with_its_drains_and_with_what_may_serve_again() -> None:
    world = lively_world()
    supply = world.supplies["lsf"]
    reopened = evolve(
        supply, entries=(*supply.entries, entry("in-f", EntryState.DRAINED), entry("in-c", EntryState.DRAINED))
    )
    world = with_facts(world, [(FactKind.SUPPLY, "lsf", reopened)])
    found: Any = accepted_json(world, "lsf", (Accepted("lsf", 0, 7, news=True, unmatched=("stray",)),))
    holds(PUSH_REPLY_SCHEMA, found)
    assert found["current"] == {"incarnation": 0, "revision": 7}
    assert [(d["instance"], d["id"], d["kind"]) for d in found["drain"]] == [("in-b", "dr-1", "ask")]
    assert found["reopened"] == ["in-f"]
    assert found["unmatched"] == ["stray"]
    other: Any = accepted_json(world, "ops", (Accepted("ops", 0, 1, news=True),))
    assert (other["drain"], other["reopened"]) == ([], [])


@pytest.mark.parametrize("code", ["stale_revision", "revision_reused"])
def test_a_push_that_does_not_count_is_told_what_stands(code: str) -> None:
    found: Any = refused_json((RefusedPush("lsf", code, 1, 9, "demand"),))
    holds(ERROR_SCHEMA, found)
    assert found["error"]["code"] == code
    assert found["error"]["current"] == {"incarnation": 1, "revision": 9}


def test_of_two_snapshots_each_is_told_apart() -> None:
    replies = (RefusedPush("lsf", "stale_revision", 0, 9, "supply"), Accepted("lsf", 0, 4, news=True))
    found: Any = refused_json(replies)
    holds(ERROR_SCHEMA, found)
    assert found["error"]["current"] == {
        "supply": {"incarnation": 0, "revision": 9},
        "demand": {"incarnation": 0, "revision": 4},
    }
    assert "but the demand beside it was" in found["error"]["message"]
    assert refused_json((Accepted("lsf", 0, 4, news=True),)) is None


def test_a_give_back_that_does_not_end_is_in_the_verdict_with_what_it_costs() -> None:
    late = giveback("rt-one", "in-c", planned_at=NOW.at - 3600)
    world = with_facts(lively_world(), [(FactKind.RETURN, "rt-one", late)])
    found: Any = health(world, None, NOW, SETTINGS, "1")
    [reason] = [r for r in found["reasons"] if "does not take back" in r]
    assert reason == (
        "provider east does not take back 1 thing (1 give-back): costing 1 USD/h since 2030-03-17T16:46:40Z; "
        "see `provisioner requests --provider east`"
    )
    fresh: Any = health(lively_world(), None, NOW, SETTINGS, "1")
    assert not [r for r in fresh["reasons"] if "does not take back" in r]


def test_what_was_open_when_a_process_ended_twice_is_shown_with_the_provider_the_record_and_the_verdict() -> None:
    parked = evolve(purchase("rq-two", state=RequestState.UNKNOWN), crashes=2)
    returning = evolve(giveback("rt-one", "in-c"), crashes=3)
    world = with_facts(lively_world(), [(FactKind.REQUEST, "rq-two", parked), (FactKind.RETURN, "rt-one", returning)])
    end = End(NOW.boot_s - 30, "exit status 1", ("request rq-two", "list"), 7, "Segmentation fault")
    view = evolve(world.seen.processes["east"], ends=(end,), describe_crashes=2)
    lists = evolve(world.seen.lists["east"], crashes=2)
    seen = evolve(
        world.seen, processes=world.seen.processes.set("east", view), lists=world.seen.lists.set("east", lists),
        asks=Map({"rq-two": Ask(3, 9.0, crashes=2)}),
    )  # fmt: skip
    world = evolve(world, seen=seen)
    shown = body(world, "/v1/providers/east", "east")
    holds(REPLY_SCHEMAS["/v1/providers/{provider}"], shown)
    assert shown["ends"] == [
        {
            "at": "2030-03-17T17:46:10Z", "reason": "exit status 1", "open": ["request rq-two", "list"],
            "open_count": 7, "last_words": "Segmentation fault",
        }
    ]  # fmt: skip
    assert shown["parked"] == ["rq-two", "rt-one"]
    assert shown["asked_seldom"] == ["describe", "list", "request_status rq-two"]
    record = body(world, "/v1/requests/rq-two", "rq-two")
    assert (record["crashes"], record["parked"]) == (2, True)
    found: Any = health(world, None, NOW, SETTINGS, "1")
    assert any("ended twice with 1 purchase open" in r for r in found["reasons"])
    assert any("does not take back 1 thing" in r for r in found["reasons"])
