"""Facts loaded in bulk give the same world as facts folded one by one, and a stamp gives versions to what exists."""

from attrs import evolve

from provisioner.core.effects import SendRequest
from provisioner.core.events import RequestAnswered
from provisioner.core.evolve import fold, loaded, stamp
from provisioner.core.facts import Change, Fact, FactKind, Key
from provisioner.core.world import Seen, World
from tests.core.play import Play, cores, machine, report, settings_for

MAPS = {
    FactKind.EPOCH: "epochs",
    FactKind.DEMAND: "demands",
    FactKind.SUPPLY: "supplies",
    FactKind.REQUEST: "requests",
    FactKind.RETURN: "returns",
    FactKind.INSTANCE: "instances",
    FactKind.DECISION: "decisions",
    FactKind.DESCRIPTION: "descriptions",
    FactKind.HEALTH: "health",
    FactKind.WISH: "wishes",
    FactKind.PROCESS: "processes",
}


def lived() -> World:
    """A world in which something of most kinds exists."""
    play = Play(settings_for("east"))
    play.provider_ready("east")
    play.supply(revision=1)
    play.demand(cores(3), revision=2)
    effect = play.take(SendRequest)
    made = report(play.only_request(), "made", machine("i-1", "running"), machine("i-2", "gone"))
    play.event(RequestAnswered(effect.key, "east", effect.number, effect.request, made))
    return play.world


def facts_of(world: World) -> list[tuple[Key, Fact]]:
    """Every fact of a world."""
    found: list[tuple[Key, Fact]] = [(Key(FactKind.HEAD, "planner"), world.head)] if world.head is not None else []
    for kind, name in MAPS.items():
        found += [(Key(kind, id), fact) for id, fact in getattr(world, name).items()]
    return found


def test_loading_in_bulk_is_folding_one_by_one() -> None:
    world = evolve(lived(), seen=Seen())
    facts = facts_of(world)
    empty = World(world.cluster, world.lineage)
    one_by_one = stamp(fold(empty, [Change(key, fact) for key, fact in facts]), [key for key, _ in facts], 7)
    assert loaded(empty, [(key, 7, fact) for key, fact in facts]) == one_by_one
    assert evolve(one_by_one, versions=world.versions) == world


def test_a_gone_instance_is_kept_but_is_not_among_the_living() -> None:
    world = lived()
    assert len(world.instances) == 2
    assert len(world.live) == 1


def test_a_deleted_record_loses_its_version() -> None:
    world = lived()
    key = Key(FactKind.DEMAND, "lsf")
    stamped = stamp(world, [key], 9)
    assert stamped.versions[key] == 9
    assert key not in stamp(fold(stamped, [Change(key, None)]), [key], 10).versions
