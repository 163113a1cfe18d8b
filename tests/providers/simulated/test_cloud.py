"""The far side's file: many writers, kill -9, and speed."""

import threading
from pathlib import Path

from providers.simulated.cloud import Cloud
from providers.simulated.config import read_config
from providers.simulated.plan import Granted, Held, Purchase, Refused, decide
from providers.simulated.records import Account, Order, OrderForm
from providers.simulated.site import load_table
from providers.simulated.tables import open_books
from tests.providers.simulated.stage import CONFIG

NOW = 2_000_000_000_000
CONFIGURED = read_config({**CONFIG, "capacity": {"machines": 100_000}, "max_units": 1000}, load_table)[0]
OFFER = CONFIGURED.offers["c6i.large"]


def buy(cloud: Cloud, token: str, units: int = 1) -> Order | Refused:
    purchase = Purchase(token, "c6i.large", units, 1, NOW, OFFER.terms.price)

    def decided(held: Held) -> Refused | Granted:
        return decide(purchase, OFFER, held, CONFIGURED, ())

    mark = {"cluster": "c", "provider": "p", "request_id": "r", "token": token}
    return cloud.buy(OrderForm(token, "r", Account("c", "p"), "same", mark, OFFER.terms, units, NOW), decided)


def test_two_processes_that_send_the_same_tokens_at_once_buy_each_once(tmp_path: Path) -> None:
    clouds = [Cloud(open_books(tmp_path), "test") for _ in range(3)]
    tokens = [f"tk-{number}" for number in range(30)]

    def send_all(cloud: Cloud) -> None:
        for token in tokens:
            assert isinstance(buy(cloud, token, 2), Order)

    threads = [threading.Thread(target=send_all, args=(cloud,)) for cloud in clouds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    things = clouds[0].page("c", "p", 0, 1000, NOW, 0)
    assert len(things) == len({thing.instance for thing in things}) == 60
    for cloud in clouds:
        cloud.close()


def test_a_cloud_made_anew_never_gives_an_old_id_again(tmp_path: Path) -> None:
    ids = []
    for folder in ("one", "two"):
        cloud = Cloud(open_books(tmp_path / folder), "test")
        order = buy(cloud, "tk-1")
        assert isinstance(order, Order)
        ids.append(order.things[0].instance)
        cloud.close()
    assert ids[0] != ids[1]


def test_ids_of_what_was_cancelled_are_not_given_again(tmp_path: Path) -> None:
    cloud = Cloud(open_books(tmp_path), "test")
    first = buy(cloud, "tk-1")
    cloud._connection.execute("DELETE FROM instances")
    second = buy(cloud, "tk-2")
    assert isinstance(first, Order)
    assert isinstance(second, Order)
    assert first.things[0].instance != second.things[0].instance
    cloud.close()
