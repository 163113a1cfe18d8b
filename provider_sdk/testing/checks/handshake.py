"""Checks of §2: versions, first frames, faulty configuration, the locked folder, check mode, epochs at the start."""

from pathlib import Path
from typing import Final

from provider_sdk.contract import (
    ErrorClass,
    Health,
    InitializeResult,
    ListResult,
    PingResult,
    ShutdownResult,
    frame,
    notification_object,
)
from provider_sdk.testing import acting
from provider_sdk.testing.check import Check, check
from provider_sdk.testing.conversation import Conversation
from provider_sdk.testing.stage import Stage
from provider_sdk.testing.verdict import Broken, Inapplicable

EXIT_CONFIG: Final = 78
EXIT_S: Final = 6.0


async def _greeting(stage: Stage) -> None:
    """The gate: nothing else can be examined before this."""
    conversation = await stage.shared()
    stage.provider = f"{conversation.program.name} {conversation.program.version}"


async def _versions(stage: Stage) -> None:
    for offered in (["2.1", "2.0"], ["3.0", "2.0"]):
        conversation = await stage.start()
        reply = await conversation.greet(versions=offered)
        version = reply.result(InitializeResult, "HS-3").version
        if version not in offered:
            raise reply.broken("HS-3", f"one version of {offered}")
    conversation = await stage.start()
    reply = await conversation.greet(versions=["3.0"])
    if not reply.refused("HS-3", ErrorClass.VERSION).supported:
        raise reply.broken("HS-3", "the list `supported` of what is spoken here")
    await _ends_with_78(conversation, "HS-3", reply.text)


async def _ends_with_78(conversation: Conversation, clause: str, sent: str) -> None:
    status = await conversation.process.wait_end(EXIT_S)
    if status != EXIT_CONFIG:
        came = "the process still runs" if status is None else f"exit status {status}"
        raise Broken(clause, f"the end of the process with status {EXIT_CONFIG}", came, sent)


async def _too_early(stage: Stage) -> None:
    conversation = await stage.start()
    await conversation.write(frame(notification_object("x-early", {})))
    await conversation.write(frame(notification_object("cancel_call", {"id": 1})))
    (await conversation.call("list", {})).refused("HS-2", ErrorClass.NOT_INITIALIZED)
    (await conversation.call("ping", {})).refused("HS-2", ErrorClass.NOT_INITIALIZED)
    reply = await conversation.greet()
    reply.result(InitializeResult, "HS-2")
    again = await conversation.call("initialize", conversation.greeting())
    again.refused("HS-2", ErrorClass.BAD_MESSAGE)
    (await conversation.call("ping")).result(PingResult, "HS-2")


async def _faulty_config(stage: Stage) -> None:
    if stage.subject.bad_config is None:
        raise Inapplicable("the subject file has no bad_config")
    conversation = await stage.start(config=stage.subject.bad_config)
    reply = await conversation.greet()
    if not reply.refused("HS-4", ErrorClass.CONFIG).faults:
        raise reply.broken("HS-4", "the list of all faults")
    await _ends_with_78(conversation, "HS-4", reply.text)


async def _far_side_down(stage: Stage) -> None:
    """What the far side is like is said by ping, whatever it is."""
    conversation = await stage.shared()
    reply = await conversation.call("ping")
    if reply.result(PingResult).health not in set(Health):
        raise reply.broken("SH-ping", "a health of the contract")


async def _locked(stage: Stage) -> None:
    first = await stage.open()
    second = await stage.start(first.state_dir)
    reply = await second.greet()
    reply.refused("HS-6", ErrorClass.STATE_LOCKED)
    pinged = await first.call("ping")
    pinged.result(PingResult, "HS-6")
    await stage.end(first)
    await stage.end(second)
    third = await stage.start(first.state_dir)
    (await third.greet()).result(InitializeResult, "HS-6")


async def _check_mode(stage: Stage) -> None:
    conversation = await stage.start(epoch=0)
    reply = await conversation.greet(mode="check")
    reply.result(InitializeResult, "HS-7")
    for method in ("describe", "list", "ping"):
        found = await conversation.call(method)
        if found.error is not None:
            raise found.broken("HS-7", f"a result of {method} in check mode")
    (await conversation.call("shutdown", {"grace_s": 5})).result(ShutdownResult, "HS-7")
    await conversation.process.close_stdin()
    status = await conversation.process.wait_end(EXIT_S + 5.0)
    if status is None:
        raise Broken("HS-7", "the end of the process after a check", conversation.how_it_is())
    if status != 0:
        raise Broken("EX-1", "exit status 0 after a check", conversation.how_it_is())


async def _epochs(stage: Stage) -> None:
    first = await stage.start(epoch=9)
    (await first.greet()).result(InitializeResult, "EP-1")
    await stage.end(first)
    late = await stage.start(first.state_dir, epoch=8)
    reply = await late.greet()
    reply.refused("EP-1", ErrorClass.FENCED)
    if await late.process.wait_end(EXIT_S) is None:
        raise Broken("EP-1", "the end of the process after fenced", "it still runs", reply.text)
    higher = await stage.start(first.state_dir, epoch=10)
    (await higher.greet()).result(InitializeResult, "EP-1")


async def _state_id(stage: Stage) -> None:
    first = await stage.open()
    await stage.end(first)
    again = await stage.open(first.state_dir)
    other = await stage.open()
    if again.state_id != first.state_id:
        raise Broken("ST-4", f"the same state_id in the same folder ({first.state_id})", again.state_id)
    if other.state_id == first.state_id:
        raise Broken("ST-4", "another state_id in another folder", other.state_id)


async def _nothing_changes(stage: Stage) -> None:
    """Handshakes alone bring nothing into being, as far as lists show it."""
    first = await stage.open()
    if not await _lists_nothing(first):
        raise Inapplicable("there are things in a fresh state folder, so that nothing new would stand out")
    await stage.end(first)
    again = await stage.open(first.state_dir)
    listing = await acting.list_all(again)
    if listing.living:
        names = ", ".join(each.instance for each in listing.living)
        raise Broken("HS-5", "nothing new after two handshakes", names, "initialize")


async def _lists_nothing(conversation: Conversation) -> bool:
    return not (await conversation.call("list")).result(ListResult).instances


async def _secrets(stage: Stage) -> None:
    """A credential file and the passed variables must be found nowhere: state folder, stderr, frames."""
    canary = stage.identity.fresh("canary-secret")
    (stage.credentials / "conformance").write_text(canary, encoding="utf-8")
    conversation = await stage.open()
    await conversation.call("describe")
    await conversation.call("list")
    secrets = [canary, *(value for value in stage.subject.env.values() if len(value) >= 8)]
    await stage.end(conversation)
    for secret in secrets:
        _not_in(secret, conversation)


def _not_in(secret: str, conversation: Conversation) -> None:
    needle = secret.encode()
    if secret in conversation.process.tail:
        raise Broken("SC-1", "no secret in the log", "a credential's value on stderr")
    for path in Path(conversation.state_dir).rglob("*"):
        if path.is_file() and needle in path.read_bytes():
            raise Broken("SC-1", "no secret in state_dir", f"a credential's value in {path.name}")
    if any(secret in text for text in conversation.heard):
        raise Broken("SC-1", "no secret in a frame", "a credential's value in an answer")


HANDSHAKE: tuple[Check, ...] = (
    check("versions offered and refused", "HS-3")(_versions),
    check("frames before and after the handshake's time", "HS-2")(_too_early),
    check("a faulty configuration is told whole", "HS-4")(_faulty_config),
    check("ping tells the far side's health", "SH-ping")(_far_side_down),
    check("two processes never serve one folder", "HS-6")(_locked),
    check("started to check only", "HS-7")(_check_mode),
    check("handshakes change nothing", "HS-5")(_nothing_changes),
    check("a lower epoch is refused", "EP-1")(_epochs),
    check("state_id stays with its folder", "ST-4")(_state_id),
    check("credentials are found nowhere", "SC-1")(_secrets),
)
GREETING: Check = check("handshake", "HS-1", "SH-initialize")(_greeting)
