"""The handshake: version, state folder, epoch, and the author's `open` (clauses HS-1 to HS-7, EP-1).

Knows what must be true before the first answer; must not know streams, queues or later calls.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

from provider_sdk.author import AuthorThreads
from provider_sdk.config_check import config_faults
from provider_sdk.contract.codec import encode
from provider_sdk.contract.errors import FAULT_PATH_CHARS, FAULTS_SENT
from provider_sdk.contract.messages import InitializeParams, InitializeResult
from provider_sdk.contract.methods import METHODS
from provider_sdk.contract.types import LimitFact, ParamFault
from provider_sdk.contract.words import ErrorClass, Kind
from provider_sdk.credentials import Credentials
from provider_sdk.errors import ConfigFault, ContractError, StateError, StateFull, StateLocked
from provider_sdk.log import Log
from provider_sdk.notify import Notifier
from provider_sdk.provider import Opened, Provider, Start
from provider_sdk.served import checked, read_params
from provider_sdk.state import StateFolder

EXIT_ORDERLY = 0
EXIT_CRASH = 1
EXIT_CONFIG = 78


@frozen
class Greeting:
    """A handshake that succeeded: what is answered, and what the conversation goes on with."""

    result: dict[str, object]
    opened: Opened
    start: Start


async def greet(
    provider: Provider, params: Mapping[str, object], notify: Notifier, threads: AuthorThreads, log: Log
) -> Greeting:
    """Do the provider's part of `initialize`; raises ContractError, after which the process must end.

    The state folder stays locked only if this succeeds.
    """
    version = choose_version(provider.versions, params.get("versions"))
    asked = read_params(InitializeParams, params)
    state = StateFolder(Path(asked.state_dir))
    _lock(state)
    try:
        state_id = _claim(state, asked)
        start = _start(asked, state, notify, log)
        opened = await _open(provider, start, threads)
    except BaseException:
        state.unlock()
        raise
    result = InitializeResult(
        version=version,
        provider=provider.info,
        kinds=tuple(Kind(kind) for kind in provider.kinds),
        state_id=state_id,
        capabilities=tuple(opened.capabilities),
        promises=opened.promises,
    )
    return Greeting(encode(result), opened, start)


def choose_version(ours: Sequence[str], theirs: object) -> str:
    """The first of the daemon's versions, best first, that we speak; raises `version` (HS-3).

    Read before all else, since params of a later version may have another shape.
    """
    offered = [version for version in theirs if isinstance(version, str)] if isinstance(theirs, list) else []
    for version in offered:
        if version in ours:
            return version
    if not offered:
        fault = ParamFault("/versions", "a list of at least one version is required")
        raise ContractError(ErrorClass.BAD_PARAMS, faults=(fault,))
    raise ContractError(ErrorClass.VERSION, supported=tuple(ours))


def exit_code_after(refusal: ErrorClass) -> int:
    """How a process ends whose handshake was refused: 78 needs an operator, 0 a lease, 1 another try."""
    if refusal in (ErrorClass.VERSION, ErrorClass.CONFIG):
        return EXIT_CONFIG
    return EXIT_ORDERLY if refusal in (ErrorClass.FENCED, ErrorClass.STATE_LOCKED) else EXIT_CRASH


def _lock(state: StateFolder) -> None:
    try:
        state.lock()
    except StateLocked as problem:
        raise ContractError(ErrorClass.STATE_LOCKED, str(problem)[:500]) from problem
    except StateFull as problem:
        raise ContractError(ErrorClass.TRANSIENT, str(problem)[:500], reason="state") from problem


def _claim(state: StateFolder, asked: InitializeParams) -> str:
    try:
        claim = state.claim_epoch(asked.lineage, asked.epoch)
        state_id = state.remember().state_id
    except StateError as problem:
        raise ContractError(ErrorClass.TRANSIENT, str(problem)[:500], reason="state") from problem
    if not claim.granted:
        limit = LimitFact(name="epoch", value=claim.highest, used=asked.epoch)
        raise ContractError(ErrorClass.FENCED, "a higher epoch has been here", limit=limit)
    return state_id


def _start(asked: InitializeParams, state: StateFolder, notify: Notifier, log: Log) -> Start:
    folder = None if asked.credentials_dir is None else Path(asked.credentials_dir)
    credentials = Credentials(folder, os.environ)
    log.hide(credentials.texts)
    return Start(
        cluster=asked.cluster,
        lineage=asked.lineage,
        provider=asked.provider,
        owner=asked.owner,
        epoch=asked.epoch,
        mode=asked.mode,
        config=asked.config,
        state=state,
        credentials_dir=folder,
        notify=notify,
        frame_bytes=asked.frame_bytes,
        answer_s_max=asked.answer_s_max,
        credentials=credentials,
        log=log,
    )


async def _open(provider: Provider, start: Start, threads: AuthorThreads) -> Opened:
    try:
        if provider.config_schema is not None:
            faults_found = config_faults(provider.config_schema, start.config)
            if faults_found:
                raise ConfigFault(faults_found)
        opened = checked(await threads.run(provider.open, start), Opened)
    except ConfigFault as problem:
        told = problem.faults[:FAULTS_SENT]
        faults = tuple(ParamFault(path[:FAULT_PATH_CHARS], detail[:500]) for path, detail in told)
        raise ContractError(ErrorClass.CONFIG, faults=faults) from problem
    except StateError as problem:
        raise ContractError(ErrorClass.TRANSIENT, str(problem)[:500], reason="state") from problem
    for name, entry in METHODS.items():
        if entry.capability in opened.capabilities and getattr(type(provider), name) is getattr(Provider, name):
            raise TypeError(f"the capability {name} is declared and the method is not written")
    return opened
