from collections.abc import Iterator

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from provider_sdk.contract import (
    DescribeParams,
    ErrorClass,
    Granularity,
    Instance,
    InstanceNotice,
    InstanceState,
    Kind,
    LeadTime,
    Limit,
    ListParams,
    ListResult,
    NoticeKind,
    Place,
    Problem,
    Template,
    View,
)
from provider_sdk.errors import ContractError
from provider_sdk.pages import KEPT_S, PAGE_TEMPLATES, READINGS, DescribePages, ListPages, revision_of

FRAME_BYTES = 1_048_576


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class FarSide:
    """Lists what it has as an author would."""

    def __init__(self, count: int, frame_bytes: int = FRAME_BYTES, reason: str | None = None) -> None:
        self.clock = Clock()
        self.pages = ListPages(frame_bytes, self.clock)
        self.things = tuple(
            Instance(f"m.{number}", 1, InstanceState.RUNNING, template="small", reason=reason)
            for number in range(count)
        )
        self.complete = True
        self.missing: tuple[Place, ...] = ()
        self.reads = 0
        self.read_s = 0.0

    def list_(self, params: ListParams) -> ListResult:
        page = self.pages.go_on(params)
        if page is not None:
            return page
        reading = self.pages.begin()
        self.clock.now_s += self.read_s
        self.reads += 1
        return reading.answer(params, self.things, complete=self.complete, missing_places=self.missing)

    def walk(self, limit: int = 1000) -> Iterator[ListResult]:
        page = self.list_(ListParams(limit=limit))
        yield page
        while page.next is not None:
            page = self.list_(ListParams(limit=limit, cursor=page.next))
            yield page


def gone(far: FarSide, cursor: str) -> bool:
    try:
        far.list_(ListParams(cursor=cursor))
    except ContractError as refusal:
        return refusal.error_class is ErrorClass.CURSOR_GONE
    return False


@given(st.integers(0, 60), st.integers(1, 20))
def test_ls_3_a_walk_shows_everything_once_and_only_the_last_page_is_complete(count: int, limit: int) -> None:
    far = FarSide(count)
    pages = list(far.walk(limit))
    assert tuple(each for page in pages for each in page.instances) == far.things
    assert [page.complete for page in pages] == [False] * (len(pages) - 1) + [True]
    assert all(len(page.instances) <= limit for page in pages)
    assert far.reads == 1


def test_ls_2_the_age_counts_from_the_begin_of_the_reading_on_every_page() -> None:
    far = FarSide(4)
    far.read_s = 7.0
    first = far.list_(ListParams(limit=2))
    far.clock.now_s += 20
    assert first.next is not None
    assert (first.age_s, far.list_(ListParams(limit=2, cursor=first.next)).age_s) == (7, 27)


def test_ls_5_with_a_missing_place_or_an_error_no_page_is_complete() -> None:
    far = FarSide(3)
    far.missing = (Place(zone="b"),)
    assert [(page.complete, page.missing_places) for page in far.walk()] == [(False, far.missing)]
    far.missing, far.complete = (), False
    assert [page.complete for page in far.walk(2)] == [False, False]


def test_ls_6_named_instances_are_listed_alone_and_the_others_are_not_found() -> None:
    far = FarSide(3)
    page = far.list_(ListParams(instances=("m.2", "m.9", "m.0", "m.2")))
    assert ([each.instance for each in page.instances], page.not_found) == (["m.2", "m.0"], ("m.9",))
    assert (page.complete, page.next) == (False, None)


def test_ls_6_where_something_could_not_be_read_nothing_is_called_not_found() -> None:
    far = FarSide(3)
    far.missing = (Place(zone="b"),)
    assert far.list_(ListParams(instances=("m.9",))).not_found == ()


def test_ls_8_a_cursor_lives_300_s_from_its_last_use_goes_on_twice_and_is_then_gone() -> None:
    far = FarSide(6)
    cursor = far.list_(ListParams(limit=2)).next
    assert cursor is not None
    for _ in range(3):
        far.clock.now_s += 300
        assert [each.instance for each in far.list_(ListParams(limit=2, cursor=cursor)).instances] == ["m.2", "m.3"]
    far.clock.now_s += KEPT_S + 1
    assert gone(far, cursor)


@pytest.mark.parametrize("wrong", ["x", "x.2", "{name}.0", "{name}.6", "{name}.-1", "{name}.²", "{name}.", "."])
def test_ls_8_a_cursor_that_was_never_given_is_gone(wrong: str) -> None:
    far = FarSide(6)
    cursor = far.list_(ListParams(limit=2)).next
    assert cursor is not None
    assert gone(far, wrong.format(name=cursor.partition(".")[0]))


def test_the_readings_kept_are_bounded_and_the_latest_survive() -> None:
    far = FarSide(6)
    cursors = [far.list_(ListParams(limit=2)).next or "" for _ in range(READINGS + 1)]
    assert [gone(far, cursor) for cursor in cursors] == [True] + [False] * READINGS


def test_ls_9_the_thin_view_leaves_identity_state_units_and_notice() -> None:
    far = FarSide(1, reason="why")
    notice = InstanceNotice(NoticeKind.RECLAIM)
    far.things = (evolve(far.things[0], notice=notice),)
    thin = far.list_(ListParams(view=View.STATE)).instances[0]
    assert thin == Instance("m.0", 1, InstanceState.RUNNING, notice=notice)


def test_fr_3_a_page_is_shorter_than_asked_where_it_would_not_fit_a_frame() -> None:
    far = FarSide(20, frame_bytes=65_536 + 3_000, reason="x" * 490)
    pages = list(far.walk())
    assert {len(page.instances) for page in pages} == {5}
    assert len([each for page in pages for each in page.instances]) == 20


def template(name: str, priority: int = 1) -> Template:
    return Template(name, Kind.HOST, "machine", Granularity(max_units=9), LeadTime(1, 2), priority=priority)


def test_ds_1_a_known_revision_is_answered_with_itself_alone() -> None:
    pages = DescribePages(FRAME_BYTES)
    first = pages.answer(DescribeParams(), [template("a")])
    again = pages.answer(DescribeParams(known=first.revision), [template("a")])
    assert (again.revision, again.base, again.templates) == (first.revision, first.revision, ())


def test_ds_4_a_changed_price_or_limit_is_another_revision_and_the_order_of_reading_is_not() -> None:
    one = revision_of([template("a")])
    assert revision_of([template("a", priority=2)]) != one
    assert revision_of([template("a")], [Limit("quota", 3, "vCPU")]) != one
    assert revision_of([template("a")]) == one


def test_ds_2_with_delta_only_what_changed_is_told_and_everything_to_who_knows_another_revision() -> None:
    pages = DescribePages(FRAME_BYTES, delta=True)
    first = pages.answer(DescribeParams(), [template("a"), template("b"), template("c")])
    now = [template("a"), template("b", priority=2), template("d")]
    change = pages.answer(DescribeParams(known=first.revision), now)
    assert (change.base, [each.template for each in change.templates], change.removed) == (
        first.revision,
        ["b", "d"],
        ("c",),
    )
    whole = pages.answer(DescribeParams(known="r-other"), now)
    assert (whole.base, len(whole.templates), whole.revision) == (None, 3, change.revision)


def test_ds_2_without_delta_everything_is_told_each_time() -> None:
    pages = DescribePages(FRAME_BYTES)
    first = pages.answer(DescribeParams(), [template("a")])
    change = pages.answer(DescribeParams(known=first.revision), [template("a"), template("b")])
    assert (change.base, len(change.templates)) == (None, 2)


def test_ds_6_a_long_description_comes_in_pages_of_one_revision() -> None:
    pages = DescribePages(FRAME_BYTES * 16)
    many = [template(f"t.{number}") for number in range(PAGE_TEMPLATES * 2 + 1)]
    page = pages.answer(DescribeParams(), many, [Limit("quota", 3, "vCPU")])
    assert page.limits is not None
    found, revision = list(page.templates), page.revision
    while page.next is not None:
        following = pages.go_on(DescribeParams(cursor=page.next))
        assert following is not None
        assert (following.revision, following.limits) == (revision, None)
        found += following.templates
        page = following
    assert found == many
    with pytest.raises(ContractError):
        pages.go_on(DescribeParams(cursor="x.1"))


def test_problems_of_a_reading_stand_on_its_pages() -> None:
    pages = ListPages(FRAME_BYTES)
    problem = Problem(ErrorClass.TRANSIENT, detail="totals differ")
    assert pages.begin().answer(ListParams(), [], problems=[problem]).problems == (problem,)
