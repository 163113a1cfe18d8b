"""How one provider is opened, described and listed in a history; it must not know what is bought there."""

from provisioner.core.effects import OpenProvider, ReadDescription, ReadList, ReadSome
from provisioner.core.events import (
    Described,
    Event,
    Listed,
    Lost,
    NotWritten,
    ProviderNotOpened,
    ProviderOpened,
    ReadFailed,
    Refusal,
)
from provisioner.sim.chaos.frames import Call, Frames
from provisioner.sim.chaos.history import Fault
from provisioner.sim.chaos.stage import Daemon


def open_provider(frames: Frames, daemon: Daemon, effect: OpenProvider) -> None:
    """The handshake."""
    promises = frames.behaviour.far.supplier.promises
    opened = ProviderOpened(
        effect.key,
        effect.provider,
        effect.number,
        "chaos",
        "1",
        ("host",),
        frames.behaviour.far.supplier.capabilities,
        promises,
        "0123456789abcdef",
    )

    def serve(call: Call) -> None:
        fails = frames.strikes(call, Fault.OPEN_FAILS)
        frames.answer_later(call, 1.0, lambda: Lost("it said nothing") if fails else opened)

    def outcome(found: object) -> Event:
        if isinstance(found, ProviderOpened):
            return found
        return ProviderNotOpened(effect.key, effect.provider, effect.number, "lost", str(found))

    frames.call(daemon, effect, "open", serve, outcome)


def describe(frames: Frames, daemon: Daemon, effect: ReadDescription) -> None:
    """The description, which never changes."""
    templates = frames.behaviour.templates()
    described = Described(effect.key, effect.provider, effect.number, "r1", f"d-{frames.name}", templates, ())
    frames.call(
        daemon,
        effect,
        "describe",
        lambda call: frames.answer_later(call, 1.0, lambda: described),
        lambda found: _read(effect, "description", found),
    )


def read_list(frames: Frames, daemon: Daemon, effect: ReadList) -> None:
    """The whole list, as it is when it is answered; its begin is when it was asked for."""
    begun_s = frames.stage.now_s()

    def make(call: Call) -> Listed:
        seen = frames.behaviour.listed(frames.stage.now_s())
        complete = True
        if frames.strikes(call, Fault.LIST_INCOMPLETE):
            seen, complete = seen[: len(seen) // 2], False
        elif frames.strikes(call, Fault.LIST_EMPTY):
            # An honest provider calls an empty success complete only where its far side is known to be the right one.
            complete = _is_known_to_hold(frames, daemon, {s.provider_id for s in seen})
            seen = ()
        return Listed(effect.key, effect.provider, effect.number, begun_s, complete, 0, seen)

    frames.call(
        daemon,
        effect,
        "list",
        lambda call: frames.answer_later(call, 2.0, lambda: make(call)),
        lambda found: _read(effect, "list", found),
    )


def _is_known_to_hold(frames: Frames, daemon: Daemon, listed: set[str]) -> bool:
    """Whether the daemon could know that an empty list is false: it holds something that stands on the true one."""
    world = daemon.engine.world()
    held = world.live.values() if world is not None else ()
    return any(i.provider == frames.name and i.provider_id in listed and i.return_id is None for i in held)


def read_some(frames: Frames, daemon: Daemon, effect: ReadSome) -> None:
    """The present state of named things."""

    def make() -> Listed:
        now_s = frames.stage.now_s()
        seen, missing = frames.behaviour.named(effect.refs, now_s)
        return Listed(
            effect.key, effect.provider, effect.number, now_s, False, 0, seen, named=effect.refs, not_found=missing
        )

    frames.call(
        daemon,
        effect,
        "named",
        lambda call: frames.answer_later(call, 1.0, make),
        lambda found: _read(effect, "named", found),
    )


def _read(effect: ReadDescription | ReadList | ReadSome, what: str, found: object) -> Event:
    if isinstance(found, Described | Listed):
        return found
    assert isinstance(found, Refusal | Lost | NotWritten)  # noqa: S101  nothing else comes of a read
    return ReadFailed(effect.key, effect.provider, effect.number, what, found)
