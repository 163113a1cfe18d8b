from hypothesis import given
from hypothesis import strategies as st

from provider_sdk.admission import Admission, Ticket
from provider_sdk.served import keys_of

STEPS = st.lists(st.tuples(st.booleans(), st.sets(st.sampled_from("abc"), max_size=2)), max_size=60)


def test_a_read_passes_calls_that_wait_for_their_keys() -> None:
    admission = Admission(slots=2)
    assert admission.enter(Ticket(1, frozenset("a")))
    assert not admission.enter(Ticket(2, frozenset("a")))
    assert admission.enter(Ticket(3, frozenset()))
    assert admission.leave(1) == [2]


def test_a_call_that_is_withdrawn_lets_those_behind_it_run() -> None:
    admission = Admission(slots=3)
    assert admission.enter(Ticket(1, frozenset("a")))
    assert not admission.enter(Ticket(2, frozenset("ab")))
    assert not admission.enter(Ticket(3, frozenset("b")))
    assert admission.withdraw(2) == [3]


def test_what_is_held_counts_what_waits_too() -> None:
    admission = Admission(slots=1)
    admission.enter(Ticket(1, frozenset("a")))
    admission.enter(Ticket(2, frozenset("b")))
    assert admission.held() == frozenset("ab")
    assert admission.drop_waiting() == [2]
    assert admission.held() == frozenset("a")


@given(st.integers(1, 4), STEPS)
def test_no_two_of_one_key_run_none_overtakes_and_none_is_lost(slots: int, steps: list[tuple[bool, set[str]]]) -> None:
    admission = Admission(slots)
    keys: dict[int, frozenset[str]] = {}
    running: list[int] = []
    begun: list[int] = []

    def begin(ids: list[int]) -> None:
        running.extend(ids)
        begun.extend(ids)
        held = [key for one in running for key in keys[one]]
        assert len(held) == len(set(held))
        assert len(running) <= slots

    for number, (comes, wanted) in enumerate(steps):
        if comes or not running:
            keys[number] = frozenset(wanted)
            if admission.enter(Ticket(number, keys[number])):
                begin([number])
        else:
            begin(admission.leave(running.pop(0)))
    while running:
        begin(admission.leave(running.pop(0)))
    assert sorted(begun) == sorted(keys)
    for key in "abc":
        order = [one for one in begun if key in keys[one]]
        assert order == sorted(order)


@given(
    st.sampled_from(["request", "cancel", "forget", "return", "extend", "list"]),
    st.recursive(
        st.none() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["token", "tokens", "items", "instance"]), inner, max_size=3)
        ),
    ),
)
def test_keys_are_read_from_any_params_without_failing(method: str, found: object) -> None:
    params = found if isinstance(found, dict) else {"items": found, "tokens": found, "token": found}
    assert all(isinstance(key, str) for key in keys_of(method, params))


def test_a_token_and_an_instance_of_one_name_are_different_keys() -> None:
    assert (
        keys_of("request", {"token": "x"}) == keys_of("cancel", {"token": "x"}) == keys_of("forget", {"tokens": ["x"]})
    )
    assert keys_of("return", {"items": [{"instance": "x"}]}) == keys_of("extend", {"items": [{"instance": "x"}]})
    assert not keys_of("request", {"token": "x"}) & keys_of("return", {"items": [{"instance": "x"}]})
