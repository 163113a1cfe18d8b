"""Our facts against the clouds' own books: every way in which they disagree, as sentences."""

from collections import Counter

from provisioner.sim.reckoning import reckon
from tests.e2e.daemon import Daemon
from tests.e2e.waiting import wait_until

SETTLED_WITHIN_S = 20.0


def check_accounts(daemon: Daemon, *providers: str) -> None:
    """All is given back, and costs, facts and books are one; a final sum may reach us only with the next list."""
    latest: list[str] = []

    def agree() -> bool:
        latest[:] = disagreements(daemon, *providers)
        return not latest

    try:
        wait_until("facts and books agree", agree, SETTLED_WITHIN_S)
    except AssertionError as over:
        raise AssertionError(f"{over}: {latest}") from None


def disagreements(daemon: Daemon, *providers: str) -> list[str]:
    """What is wrong: sums, things in the books that no fact knows, things left, and tokens that bought twice."""
    books = {name: daemon.books(name) for name in providers}
    account = reckon(daemon.instances(), daemon.rest.get("/v1/costs"), books)
    asked = {purchase["token"]: purchase for purchase in daemon.purchases()}
    found = [*account.findings, *account.left_over]
    for name, entries in books.items():
        for token, units in Counter(entry["token"] for entry in entries for _ in range(entry["units"])).items():
            if token not in asked:
                found.append(f"{name} was bought from under the token {token}, which no purchase of ours bears")
            elif units > asked[token]["units"]:
                found.append(f"{name} made {units} units under {token}, asked were {asked[token]['units']}")
    if account.total != account.booked:
        found.append(f"we count {account.total}, the clouds charge {account.booked}")
    return found
