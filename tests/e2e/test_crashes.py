"""kill -9 at any moment of a life: what costs money is never lost, never bought twice, and always given back."""

import random
import signal
import time

import pytest

from tests.e2e.accounts import check_accounts
from tests.e2e.clouds import SOURCE, cheaper, cloud, settings
from tests.e2e.daemon import Daemon
from tests.e2e.scheduler import Scheduler, give_back, jobs
from tests.e2e.waiting import wait_until

MOMENTS = ("purchase", "boot", "drain", "return")
JITTER_S = 0.4

ONE_HOST = {"revision": 1, "lines": [{"id": "a", "kind": "host", "count": 1, "each": {"cores": 2}}]}


def is_at(play: Scheduler, moment: str) -> bool:
    """Whether some life is at this moment now."""
    states = {instance["state"] for instance in play.live}
    if moment == "purchase":
        return any(request["kind"] == "acquire" for request in play.open)
    return {"boot": "booting", "drain": "draining", "return": "returning"}[moment] in states


def play_to(play: Scheduler, moment: str, draw: random.Random) -> None:
    """Goes on until some life is at this moment, and a little further, so that the kill falls anywhere in it.

    A slow machine may miss a moment; then the kill falls after the last one.
    """
    play.until(f"something is at {moment}", lambda: is_at(play, moment) or play.is_over)
    time.sleep(draw.uniform(0, JITTER_S))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_three_kills_of_the_daemon_and_one_of_each_provider_lose_and_double_nothing(daemon: Daemon, seed: int) -> None:
    play_with_kills(daemon, random.Random(seed), seed)
    check_accounts(daemon, "east", "west")
    assert daemon.stop() == 0
    assert daemon.processes == []


def play_with_kills(daemon: Daemon, draw: random.Random, seed: int) -> None:
    """A whole play in which the daemon is killed at three of the four moments, and each provider at one."""
    slow = {"fulfil_time": "500ms", "lead_time": "1s", "return_time": "600ms", "seed": seed}
    daemon.configure(settings({"east": cloud(**slow), "west": cheaper(cloud(**slow, capacity={"machines": 2}))}))
    daemon.start()
    play = Scheduler(daemon, jobs((0, 1, 4), (0, 1.5, 6), (1, 1, 2)))
    left_out = draw.choice(MOMENTS)
    provider_kills = dict(zip(draw.sample(MOMENTS, 2), ("east", "west"), strict=True))
    for moment in MOMENTS:
        if moment in provider_kills:
            play_to(play, moment, draw)
            daemon.signal_provider(provider_kills[moment], signal.SIGKILL)
        if moment != left_out:
            play_to(play, moment, draw)
            daemon.kill()
            daemon.start(providers_too=False)
    play.until("everything is done and given back", lambda: play.is_over)
    assert (play.cluster.done, play.cluster.broken) == (3, [])


LOST_ANSWERS = {
    "lost on the way": [{"on": "request", "do": "lose_answer", "calls": 1}],
    "not begun when the process ended": [{"on": "request", "do": "exit", "when": "after", "calls": 1}],
    "cut after its first bytes": [{"on": "request", "do": "cut_answer", "bytes": 40, "calls": 1}],
}


@pytest.mark.parametrize("fault", LOST_ANSWERS)
def test_a_purchase_whose_answer_is_lost_is_adopted_and_never_repeated(daemon: Daemon, fault: str) -> None:
    daemon.configure(settings({"east": cloud(faults={"calls": LOST_ANSWERS[fault]})}))
    daemon.start()
    first = daemon.provider("east")["number"]
    daemon.rest.put(f"/v1/demand/{SOURCE}", ONE_HOST)
    [bought] = wait_until("the far side has made it", lambda: daemon.books("east"))
    if fault == "lost on the way":
        daemon.signal_provider("east", signal.SIGKILL)

    [purchase] = wait_until("the purchase is settled", lambda: settled(daemon))
    assert (purchase["state"], purchase["frames"], purchase["made"]) == ("fulfilled", 1, 1)
    [instance] = daemon.live()
    assert (instance["provider_id"], instance["request"]) == (bought["instance"], purchase["id"])
    wait_until("the provider is back", lambda: daemon.provider("east")["number"] == first + 1)
    wait_until("it can be bought from", lambda: daemon.provider("east")["ready"])
    [line] = daemon.rest.get(f"/v1/demand/{SOURCE}")["lines"]
    assert (line["in_flight"], line["open"]) == (1, 0)
    assert [(b["instance"], b["token"]) for b in daemon.books("east")] == [(bought["instance"], purchase["token"])]

    give_back(daemon)
    check_accounts(daemon, "east")


def test_a_purchase_that_never_reached_the_far_side_is_made_once(daemon: Daemon) -> None:
    never = [{"on": "request", "do": "exit", "when": "before", "calls": 1}]
    daemon.configure(settings({"east": cloud(faults={"calls": never})}))
    daemon.start()
    daemon.rest.put(f"/v1/demand/{SOURCE}", ONE_HOST)
    [instance] = wait_until("a host is there", daemon.live)
    made = [purchase for purchase in daemon.purchases() if purchase["made"]]
    assert [purchase["instances"] for purchase in made] == [[instance["id"]]]
    wait_until("nothing is open", lambda: not daemon.open_requests())
    assert len(daemon.books("east")) == 1

    give_back(daemon)
    check_accounts(daemon, "east")


def test_a_daemon_killed_with_its_provider_between_the_purchase_and_its_answer_adopts_it(daemon: Daemon) -> None:
    daemon.configure(settings({"east": cloud(faults={"calls": [{"on": "request", "do": "lose_answer"}]})}))
    daemon.start()
    daemon.rest.put(f"/v1/demand/{SOURCE}", ONE_HOST)
    [bought] = wait_until("the far side has made it", lambda: daemon.books("east"))
    provider = daemon.pid_of("east")
    daemon.kill()
    daemon.start()
    assert daemon.pid_of("east") != provider

    [instance] = wait_until("it is adopted", daemon.live)
    assert instance["provider_id"] == bought["instance"]
    wait_until("nothing is open", lambda: not daemon.open_requests())
    assert len(daemon.books("east")) == 1

    give_back(daemon)
    check_accounts(daemon, "east")


def settled(daemon: Daemon) -> list[dict[str, object]]:
    """All purchases, once none is open."""
    purchases = daemon.purchases()
    return [] if any(purchase["open"] for purchase in purchases) else purchases
