"""Which questions travel together: as many as fit, but those that were open when a process ended go alone."""

from provisioner.core.effects import AskRequest, EffectKey
from provisioner.runtime.provider_link import ASKS_IN_A_FRAME, _in_one_frame


def ask(n: int, *, alone: bool = False) -> AskRequest:
    """The n-th question."""
    return AskRequest(EffectKey("ask_request", "east", f"rq-{n}", 1, 0), "east", 1, f"rq-{n}", alone)


def test_questions_travel_together_up_to_a_frame() -> None:
    waiting = [ask(n) for n in range(ASKS_IN_A_FRAME + 3)]
    together, left = _in_one_frame(waiting)
    assert (together, left) == (waiting[:ASKS_IN_A_FRAME], waiting[ASKS_IN_A_FRAME:])


def test_suspect_questions_go_one_by_one_after_all_others() -> None:
    waiting = [ask(1, alone=True), ask(2), ask(3, alone=True), ask(4)]
    frames = []
    while waiting:
        together, waiting = _in_one_frame(waiting)
        frames.append([a.request for a in together])
    assert frames == [["rq-2", "rq-4"], ["rq-1"], ["rq-3"]]
