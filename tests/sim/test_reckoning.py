"""Accounts: every way in which records and books can disagree is found and said."""

from typing import Any

from provisioner.sim.reckoning import Account, reckon


def ours(id: str = "in-1", **stated: Any) -> dict[str, Any]:
    shown = {"id": id, "provider": "east", "provider_id": f"i-{id}", "name": id, "state": "gone", "cost": "0.25"}
    return {**shown, **stated}


def theirs(id: str = "in-1", **stated: Any) -> dict[str, Any]:
    return {"instance": f"i-{id}", "state": "gone", "charged": "0.25", **stated}


def account(instances: list[dict[str, Any]], total: str = "0.25", books: list[dict[str, Any]] | None = None) -> Account:
    return reckon(instances, {"total": total, "currency": "USD"}, {"east": [theirs()] if books is None else books})


def test_records_that_agree_have_no_findings() -> None:
    found = account([ours()])
    assert (found.findings, found.left_over, found.hosts) == ((), (), {"east": 1})
    assert (found.total, found.booked, found.currency) == ("0.25", "0.25", "USD")


def test_a_total_that_is_not_the_sum_is_found() -> None:
    (finding,) = account([ours()], total="0.26").findings
    assert finding == "the total is 0.26, the instances' own costs add up to 0.25"


def test_an_instance_of_unknown_cost_is_found() -> None:
    (finding,) = account([ours(cost=None)], total="0").findings
    assert finding == "no cost is known of in-1"


def test_an_instance_only_the_cloud_knows_is_found() -> None:
    (finding,) = account([ours()], books=[theirs(), theirs("in-2")]).findings
    assert finding == "i-in-2 is in the books of east and not in our records"


def test_an_instance_only_we_know_is_found() -> None:
    (finding,) = account([ours()], books=[]).findings
    assert finding == "i-in-1 is in our records and not as often in the books of east"


def test_an_instance_we_hold_twice_is_found() -> None:
    (finding,) = account([ours(), {**ours(), "id": "in-9"}], total="0.5").findings
    assert finding == "i-in-1 is in our records and not as often in the books of east"


def test_a_cost_the_books_do_not_show_is_found() -> None:
    (finding,) = account([ours()], books=[theirs(charged="0.3")]).findings
    assert finding == "in-1 cost 0.25 by our record, 0.3 by its provider's books"


def test_what_lives_is_left_over_by_our_records_and_by_the_books() -> None:
    found = account([ours(state="idle")], books=[theirs(state="running")])
    assert found.left_over == ("in-1 at east (idle)", "i-in-1 at east (running in its books)")
