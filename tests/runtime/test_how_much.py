"""How much there is to decide: offers count only where a plan may look at them."""

from attrs import evolve
from immutables import Map

from provisioner.core.events import DemandPushed, ListedPage
from provisioner.core.facts import DemandFact, DescriptionFact
from provisioner.core.world import World
from provisioner.runtime.how_much import how_much
from tests.core.play import HOST, TRUSTED, cores

DESCRIPTION = DescriptionFact("idle", "1", ("host",), (), TRUSTED, "r1", "d1", 0.0, (HOST,))
WORLD = World("clu", "lin", descriptions=Map({f"p-{number}": DESCRIPTION for number in range(1_000)}))
LISTED = ListedPage("p-1", 1, 0.0, 0, (), is_first=True)


def test_an_answer_of_one_idle_provider_is_little_beside_any_number_of_others() -> None:
    assert how_much(WORLD, [LISTED], ()) == 0
    satisfied = evolve(WORLD, demands=Map({"lsf": DemandFact(0, 1, None, 0.0, ())}))
    assert how_much(satisfied, [LISTED], ()) == 0


def test_where_something_is_lacked_or_said_to_be_all_offers_count() -> None:
    assert how_much(WORLD, [DemandPushed("lsf", 0, 2, 1, (cores(1),))], ()) == 1_001
    lacking = evolve(WORLD, demands=Map({"lsf": DemandFact(0, 1, None, 0.0, (cores(1),))}))
    assert how_much(lacking, [LISTED], ()) == 1_000
