"""A provider that is up and can't be listed is told; how the rest of the verdict reads is tested elsewhere."""

from typing import Any

from attrs import evolve

from provisioner.core.model import Problem
from provisioner.core.world import ListView
from provisioner.edge.rest_health import health
from tests.edge.rest_worlds import NOW, lively_world, settings_for

SETTINGS = settings_for()


def test_a_provider_whose_list_fails_again_and_again_is_in_the_verdict_though_its_process_is_up() -> None:
    world = lively_world()
    view = evolve(world.seen.processes["east"], since_boot_s=1_000.0, problem=Problem("internal", detail="see its log"))
    seen = evolve(world.seen, processes=world.seen.processes.set("east", view))

    def unread(begun_boot_s: float) -> list[str]:
        lists = seen.lists.set("east", ListView(complete_begun_boot_s=begun_boot_s))
        found: Any = health(evolve(world, seen=evolve(seen, lists=lists)), None, NOW, SETTINGS, "1")
        return [reason for reason in found["reasons"] if "no whole list" in reason]

    assert unread(NOW.boot_s - 299) == []
    assert unread(NOW.boot_s - 301) == [
        "no whole list of provider east was read since 2030-03-17T17:41:39Z (internal: see its log): what came or went "
        "there is not known; see `provisioner provider logs east` and `provisioner provider call east list`"
    ]
