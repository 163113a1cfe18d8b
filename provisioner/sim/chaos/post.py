"""Where an effect goes: to the process of its provider, or as a frame about reading, buying or giving back.

It stands for the provider link by its promise: every effect begun has exactly one outcome while its daemon lives.
"""

from provisioner.core.effects import (
    AskQuote,
    AskRequest,
    AskReturn,
    CancelRequest,
    Effect,
    ExtendInstances,
    Forget,
    OpenProvider,
    ReadDescription,
    ReadList,
    ReadSome,
    SendRequest,
    SendReturn,
    StartProcess,
    StopProcess,
)
from provisioner.sim.chaos import give_backs, purchases, reading
from provisioner.sim.chaos.frames import Frames
from provisioner.sim.chaos.stage import Daemon


def begin(frames: Frames, daemon: Daemon, effect: Effect) -> None:
    """Begins an effect; its outcome comes as an event while the daemon lives."""
    match effect:
        case StartProcess():
            frames.start(daemon, effect)
        case StopProcess():
            frames.stop(daemon, effect)
        case OpenProvider() | ReadDescription() | ReadList() | ReadSome():
            _read(frames, daemon, effect)
        case SendRequest():
            purchases.send(frames, daemon, effect)
        case AskRequest():
            purchases.ask(frames, daemon, effect)
        case CancelRequest():
            purchases.cancel(frames, daemon, effect)
        case ExtendInstances() | AskQuote():
            raise AssertionError("no provider of a history declares extend or quote")
        case SendReturn() | AskReturn() | Forget():
            _end(frames, daemon, effect)


def _end(frames: Frames, daemon: Daemon, effect: SendReturn | AskReturn | Forget) -> None:
    match effect:
        case SendReturn():
            give_backs.send(frames, daemon, effect)
        case AskReturn():
            give_backs.ask(frames, daemon, effect)
        case Forget():
            give_backs.forget(frames, daemon, effect)


def _read(frames: Frames, daemon: Daemon, effect: OpenProvider | ReadDescription | ReadList | ReadSome) -> None:
    match effect:
        case OpenProvider():
            reading.open_provider(frames, daemon, effect)
        case ReadDescription():
            reading.describe(frames, daemon, effect)
        case ReadList():
            reading.read_list(frames, daemon, effect)
        case ReadSome():
            reading.read_some(frames, daemon, effect)
