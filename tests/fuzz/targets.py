"""What is fuzzed: each target by name with its share of the cases, its seeds by scene, and how one case runs.

Whoever draws cases asks here; it runs nothing itself.
"""

import json
from collections.abc import Callable, Mapping
from functools import cache

from attrs import frozen

from tests.contract.wire_types import TYPES
from tests.fuzz import conversations, sayings
from tests.fuzz.daemon_target import run_daemon
from tests.fuzz.frames_target import run_frames
from tests.fuzz.honest import examples
from tests.fuzz.link_target import run_link, scripts
from tests.fuzz.scenes import scenes
from tests.fuzz.schema_target import run_schema
from tests.fuzz.sdk_target import run_sdk

Streams = Mapping[str, tuple[bytes, ...]]


@frozen
class Target:
    """One thing that is fuzzed; `share` is its part of the cases, `run(scene, data)` raises if an oracle breaks."""

    name: str
    share: int
    run: Callable[[str, bytes], None]
    streams: Callable[[], Streams]


@cache
def _frames() -> Streams:
    every = [*sayings.streams(), *conversations.both_ways()]
    return {"lines": tuple(every + [stream for scene in scenes().values() for stream in scene.streams])}


@cache
def _schemas() -> Streams:
    return {name: tuple(json.dumps(value).encode() for value in examples(name)) for name in TYPES}


@cache
def _daemon() -> Streams:
    recorded = conversations.of_providers()
    return {name: (*scene.streams, *recorded) for name, scene in scenes().items()}


@cache
def _sdk() -> Streams:
    return {"any": (*sayings.streams(), *conversations.of_daemons())}


@cache
def _link() -> Streams:
    return {"any": scripts()}


TARGETS: Mapping[str, Target] = {
    target.name: target
    for target in (
        Target("frames", 20, run_frames, _frames),
        Target("schema", 25, run_schema, _schemas),
        Target("daemon", 42, run_daemon, _daemon),
        Target("sdk", 10, run_sdk, _sdk),
        Target("runtime", 3, run_link, _link),
    )
}
