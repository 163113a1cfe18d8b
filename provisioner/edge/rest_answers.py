"""Every question the REST interface answers from the world alone: its path, what it takes, the answer and its status.

It alone knows which paths can be read; how things are shown is its neighbours' knowledge. It must not know how it is
asked.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from attrs import evolve, frozen

from provisioner.core.events import Moment
from provisioner.core.settings import Settings
from provisioner.core.world import World
from provisioner.edge.rest_costs import costs
from provisioner.edge.rest_decisions import DECISION_FILTERS, DECISIONS_DEFAULT, decision_json, decisions_page
from provisioner.edge.rest_fault import FieldFault, Json, error_body, shown
from provisioner.edge.rest_instances import INSTANCE_FILTERS, instance_json, instances_page, view
from provisioner.edge.rest_page import Asked, Filter, read_asked
from provisioner.edge.rest_providers import all_providers, one_provider
from provisioner.edge.rest_requests import REQUEST_FILTERS, request_json, requests_page
from provisioner.edge.rest_sources import all_demand, all_supply, one_cluster, one_demand, one_supply


@frozen
class Answer:
    """The status and the JSON object of one answer."""

    status: int
    body: Json


@frozen(eq=False)
class Question:
    """What is asked: the committed world and the moment, the path, the name in it (or empty), and the parameters."""

    world: World
    now: Moment
    settings: Settings
    path: str
    name: str = ""
    query: tuple[tuple[str, str], ...] = ()


@frozen(eq=False)
class Read:
    """One path that can be read: what it is for, its filters (None: it takes no parameters at all), and who answers."""

    summary: str
    answer: Callable[[Question], Answer]
    filters: tuple[Filter, ...] | None = None


def answer_to(read: Read, question: Question) -> Answer:
    """The answer, or a refusal that lists every fault of the parameters."""
    if read.filters is None and question.query:
        name = question.query[0][0]
        return refused_parameters((FieldFault(name, f"{shown(name)} is no parameter here", "leave it out"),))
    return read.answer(question)


def refused_parameters(faults: tuple[FieldFault, ...]) -> Answer:
    """The refusal of a question with faulty parameters."""
    return Answer(400, error_body("faulty", "the parameters have faults", "put them right", faults=faults))


def no_such(what: str, name: str, where: str) -> Answer:
    """The answer about something that is not there."""
    return Answer(404, error_body("not_found", f"there is no {what} {shown(name)}", f"GET {where} lists all there are"))


def _found(body: Json | None, what: str, question: Question, where: str) -> Answer:
    return Answer(200, body) if body is not None else no_such(what, question.name, where)


def _paged(
    page: Callable[[Question, Asked], Json | tuple[FieldFault, ...]], filters: tuple[Filter, ...]
) -> Callable[[Question], Answer]:
    def answer(question: Question) -> Answer:
        asked = read_asked(question.path, question.query, filters)
        if not isinstance(asked, Asked):
            return refused_parameters(asked)
        body = page(question, asked)
        return refused_parameters(body) if isinstance(body, tuple) else Answer(200, body)

    return answer


def _demand(q: Question) -> Answer:
    return Answer(200, all_demand(q.world, q.now, q.settings))


def _one_demand(q: Question) -> Answer:
    return _found(one_demand(q.world, q.name, q.now, q.settings), "demand of the source", q, "/v1/demand")


def _supply(q: Question) -> Answer:
    return Answer(200, all_supply(q.world, q.now, q.settings))


def _one_supply(q: Question) -> Answer:
    return _found(one_supply(q.world, q.name, q.now, q.settings), "supply of the source", q, "/v1/supply")


def _one_cluster(q: Question) -> Answer:
    return _found(one_cluster(q.world, q.name, q.now, q.settings), "source", q, "/v1/demand")


def _providers(q: Question) -> Answer:
    return Answer(200, all_providers(q.world, q.now, q.settings))


def _one_provider(q: Question) -> Answer:
    return _found(one_provider(q.world, q.name, q.now, q.settings), "provider", q, "/v1/providers")


def _requests(q: Question, asked: Asked) -> Json:
    return requests_page(q.world, q.now, q.settings, asked)


def _one_request(q: Question) -> Answer:
    record = q.world.requests.get(q.name) or q.world.returns.get(q.name)
    body = None if record is None else request_json(record, q.world, q.now, q.settings)
    return _found(body, "request", q, "/v1/requests")


def _instances(q: Question, asked: Asked) -> Json:
    return instances_page(q.world, q.now, q.settings, asked)


def _one_instance(q: Question) -> Answer:
    instance = q.world.instances.get(q.name)
    body = None if instance is None else instance_json(instance, view(q.world, q.now, q.settings))
    return _found(body, "instance", q, "/v1/instances")


def _costs(q: Question) -> Answer:
    return Answer(200, costs(q.world, q.now, q.settings))


def _decisions(q: Question, asked: Asked) -> Json | tuple[FieldFault, ...]:
    states_limit = any(name == "limit" for name, _ in q.query)
    return decisions_page(q.world, asked if states_limit else evolve(asked, limit=DECISIONS_DEFAULT))


def _one_decision(q: Question) -> Answer:
    decision = q.world.decisions.get(q.name)
    return _found(None if decision is None else decision_json(decision), "decision", q, "/v1/decisions")


READS: Final[Mapping[str, Read]] = MappingProxyType(
    {
        "/v1/demand": Read("What every source lacks and how each line stands", _demand),
        "/v1/demand/{source}": Read("What one source lacks", _one_demand),
        "/v1/supply": Read("What every source has", _supply),
        "/v1/supply/{source}": Read("What one source has", _one_supply),
        "/v1/cluster/{source}": Read("Both snapshots of one source", _one_cluster),
        "/v1/providers": Read("How every provider stands", _providers),
        "/v1/providers/{provider}": Read("One provider with its templates", _one_provider),
        "/v1/requests": Read("Purchases and give-backs", _paged(_requests, REQUEST_FILTERS), REQUEST_FILTERS),
        "/v1/requests/{request}": Read("One purchase or give-back", _one_request),
        "/v1/instances": Read("Hosts and grants", _paged(_instances, INSTANCE_FILTERS), INSTANCE_FILTERS),
        "/v1/instances/{instance}": Read("One host or grant", _one_instance),
        "/v1/costs": Read("What everything has cost and what it burns", _costs),
        "/v1/decisions": Read("Decisions, newest first", _paged(_decisions, DECISION_FILTERS), DECISION_FILTERS),
        "/v1/decisions/{decision}": Read("One decision", _one_decision),
    }
)
"""Every path that is answered from the world alone."""
