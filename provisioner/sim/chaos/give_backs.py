"""How one provider is given things back, and asked how that stands, in a history.

It must not know how a frame travels.
"""

from provisioner.core.effects import AskReturn, Forget, SendReturn
from provisioner.core.events import Event, ForgetAnswered, Lost, NotWritten, Refusal, ReturnAnswered, ReturnWords
from provisioner.core.model import Problem
from provisioner.sim.chaos.frames import Call, Frames
from provisioner.sim.chaos.history import Fault
from provisioner.sim.chaos.provider import Process
from provisioner.sim.chaos.stage import Daemon


def send(frames: Frames, daemon: Daemon, effect: SendReturn) -> None:
    """Gives back; saying it again is harmless."""

    def serve(call: Call) -> None:
        process = call.process
        if process is not None and not frames.strikes(call, Fault.FRAME_SWALLOWED):
            frames.answer_later(call, 2.0, lambda: _take(frames, call, effect, process))

    frames.call(daemon, effect, "return", serve, lambda found: _answered(effect, found, asked=False))


def ask(frames: Frames, daemon: Daemon, effect: AskReturn) -> None:
    """Asks how a give-back stands."""

    def make(call: Call, process: Process) -> ReturnWords:
        if frames.strikes(call, Fault.SAID_UNKNOWN):
            return ReturnWords((), known=False)
        return frames.behaviour.give_back_status(effect.return_id, process, frames.stage.now_s())

    def serve(call: Call) -> None:
        process = call.process
        if process is not None:
            frames.answer_later(call, 1.0, lambda: make(call, process))

    frames.call(daemon, effect, "return status", serve, lambda found: _answered(effect, found, asked=True))


def forget(frames: Frames, daemon: Daemon, effect: Forget) -> None:
    """Tells which final answers are stored for good."""
    world = daemon.engine.world()
    tokens = [world.requests[id].token for id in effect.requests] if world is not None else []

    def make() -> None:
        frames.stage.say(f"{frames.name} may forget {tokens}")
        frames.behaviour.forget(tokens, frames.stage.now_s())

    def outcome(found: object) -> Event:
        assert found is None or isinstance(found, Refusal | Lost | NotWritten)  # noqa: S101  nothing else comes of it
        told = (effect.key, effect.provider, effect.number, effect.requests, effect.returns)
        return ForgetAnswered(*told, found)

    frames.call(daemon, effect, "forget", lambda call: frames.answer_later(call, 1.0, make), outcome)


def _take(frames: Frames, call: Call, effect: SendReturn, process: Process) -> object:
    world = call.daemon.engine.world()
    giveback = world.returns.get(effect.return_id) if world is not None else None
    if giveback is None or frames.strikes(call, Fault.FORGOTTEN):
        return ReturnWords(())
    takes_s = frames.stage.rng(call.name, "takes").choice((0.0, 3.0, 12.0))
    words = frames.behaviour.give_back(giveback, process, frames.stage.now_s(), takes_s)
    frames.stage.say(f"{frames.name} takes back {[(i.provider_id, i.state) for i in words.items]}")
    if frames.strikes(call, Fault.ERROR_BUT_MADE):
        return Refusal(Problem("internal"), not_made=False)
    return words


def _answered(effect: SendReturn | AskReturn, found: object, *, asked: bool) -> Event:
    assert isinstance(found, ReturnWords | Refusal | Lost | NotWritten)  # noqa: S101  nothing else comes of a return
    return ReturnAnswered(effect.key, effect.provider, effect.number, effect.return_id, asked=asked, outcome=found)
