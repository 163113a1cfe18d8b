"""Each house rule finds the fault planted for it and leaves the honest neighbour alone."""

from collections.abc import Callable

import pytest

from tests.house import conduct, mentions, purity, shape, speech
from tests.house.sources import Source, source

Rule = Callable[[Source], list[str]]

CORE = "provisioner/core/planted.py"
EDGE = "provisioner/edge/planted.py"
RUNTIME = "provisioner/runtime/planted.py"
CONTRACT = "provider_sdk/contract/planted.py"
TEST = "tests/core/test_planted.py"
LONG_BODY = "".join(f"    x = {number}\n" for number in range(40))

FAULTS: tuple[tuple[Rule, str, str], ...] = (
    (purity.impurities, CORE, "import time"),
    (purity.impurities, CORE, "from time import monotonic"),
    (purity.impurities, CORE, "import trio"),
    (purity.impurities, CORE, "from pathlib import Path"),
    (purity.impurities, CORE, "import urllib.request"),
    (purity.impurities, CORE, "import provisioner.edge.peer"),
    (purity.impurities, CORE, "from ..edge import peer"),
    (purity.impurities, CORE, "from datetime import datetime\nx = datetime.now()"),
    (purity.impurities, CORE, "import datetime\nx = datetime.datetime.utcnow"),
    (purity.impurities, CORE, "from datetime import date\nx = date.today()"),
    (purity.impurities, EDGE, "import random"),
    (purity.impurities, EDGE, "import secrets"),
    (purity.impurities, EDGE, "import uuid"),
    (purity.impurities, EDGE, "import threading"),
    (purity.impurities, EDGE, "from os import environ"),
    (purity.impurities, EDGE, "x = open('facts')"),
    (purity.impurities, CONTRACT, "import socket"),
    (purity.impurities, CONTRACT, "from provider_sdk import serve"),
    (purity.foreign_imports, CORE, "from provider_sdk.contract import messages"),
    (purity.foreign_imports, RUNTIME, "from provider_sdk import serve"),
    (purity.foreign_imports, RUNTIME, "import providers.simulated"),
    (purity.fork_risks, RUNTIME, "import subprocess"),
    (purity.fork_risks, RUNTIME, "import os\nos.fork()"),
    (purity.fork_risks, RUNTIME, "import trio\ntrio.lowlevel.open_process(['true'])"),
    (purity.second_loops, RUNTIME, "from asyncio import gather"),
    (shape.long_files, RUNTIME, "x = 1\n" * 401),
    (shape.long_functions, CORE, f"def decide():  # long: no excuse here\n{LONG_BODY}"),
    (shape.long_functions, RUNTIME, f"def perform():\n{LONG_BODY}"),
    (shape.gate_exemptions, CORE, "def decide():  # noqa: C901\n    return 1"),
    (shape.empty_names, "provisioner/runtime/lease_utils.py", "x = 1"),
    (shape.empty_names, RUNTIME, "class LeaseManager:\n    x = 1"),
    (shape.empty_names, RUNTIME, "def lease_helper():\n    return 1"),
    (shape.missing_promises, RUNTIME, "x = 1"),
    (shape.missing_promises, RUNTIME, '"""Rim."""\ndef perform():\n    return 1'),
    (shape.missing_promises, RUNTIME, '"""Rim."""\nclass Engine:\n    x = 1'),
    (shape.unchosen_faces, "provider_sdk/__init__.py", "from provider_sdk.provider import Provider"),
    (shape.unchosen_faces, "provider_sdk/__init__.py", "__all__ = ['Provider']"),
    (conduct.broad_excepts, RUNTIME, "try:\n    x = 1\nexcept Exception as fault:\n    x = 2"),
    (conduct.broad_excepts, RUNTIME, "try:\n    x = 1\nexcept:\n    x = 2"),
    (conduct.broad_excepts, RUNTIME, "try:\n    x = 1\nexcept (OSError, BaseException):\n    x = 2"),
    (conduct.broad_excepts, RUNTIME, "with contextlib.suppress(Exception):\n    x = 1"),
    (conduct.unfinished, RUNTIME, "x = 1  # TO" + "DO: more"),
    (conduct.unfinished, RUNTIME, "def perform():\n    pass"),
    (conduct.unfinished, RUNTIME, 'def perform():\n    """Does it."""\n    ...'),
    (conduct.unfinished, RUNTIME, "def perform():\n    raise NotImplementedError"),
    (conduct.float_money, CORE, "def buy(price_nanos: float):\n    return 1"),
    (conduct.float_money, CORE, "class Price:\n    amount_nanos: float | None = None"),
    (conduct.float_money, CORE, "def total_nanos() -> float:\n    return 1"),
    (conduct.mutable_values, CORE, "@attrs.define\nclass Fact:\n    x: int"),
    (conduct.mutable_values, EDGE, "@dataclass\nclass Fact:\n    x: int"),
    (speech.names_that_are_no_sentence, TEST, "def test_request():\n    assert True"),
    (speech.sleeps, TEST, "async def test_it_ends_by_itself():\n    await trio.sleep(1)"),
    (speech.mocks, TEST, "from unittest.mock import Mock"),
    (speech.mocks, TEST, "def test_it_is_our_own_code(monkeypatch):\n    monkeypatch.setattr(a, 'b', 1)"),
    (speech.hidden_failures, TEST, "@pytest.mark.xfail\ndef test_it_fails_some_day():\n    assert False"),
    (speech.hidden_failures, TEST, "def test_it_is_left_out():\n    pytest.skip()"),
    (speech.hidden_failures, TEST, "@pytest.mark.skipif(True)\ndef test_it_is_left_out():\n    assert True"),
)

HONEST: tuple[tuple[Rule, str, str], ...] = (
    (
        purity.impurities,
        CORE,
        "import attrs\nfrom collections.abc import Mapping\nfrom provisioner.core.ids import Token",
    ),
    (purity.impurities, CORE, "from datetime import UTC, datetime\nx = datetime.fromtimestamp(0, UTC)"),
    (purity.impurities, EDGE, "from provider_sdk.contract import messages\nfrom ruamel.yaml import YAML"),
    (purity.impurities, RUNTIME, "import time\nimport trio"),
    (purity.foreign_imports, RUNTIME, "from provider_sdk.contract.framing import FrameReader"),
    (purity.fork_risks, RUNTIME, "import os\nos.posix_spawn('/bin/true', ['true'], {})"),
    (shape.long_files, RUNTIME, '"""Over 400 lines because it is one table."""\n' + "x = 1\n" * 401),
    (shape.long_functions, RUNTIME, f"def perform():  # long: one table, read top to bottom\n{LONG_BODY}"),
    (shape.empty_names, RUNTIME, "class Database:\n    def rebase(self):\n        return 1"),
    (shape.empty_names, TEST, "def test_a_stuck_handler_ends_in_time():\n    assert True"),
    (shape.missing_promises, RUNTIME, '"""Rim."""\ndef _inner():\n    return 1'),
    (shape.unchosen_faces, "provider_sdk/__init__.py", "from provider_sdk.serve import serve\n__all__ = ['serve']"),
    (conduct.broad_excepts, "provider_sdk/serve.py", "try:\n    x = 1\nexcept Exception:\n    x = 2"),
    (conduct.broad_excepts, RUNTIME, "try:\n    x = 1\nexcept BaseException:\n    x = 2\n    raise"),
    (conduct.unfinished, RUNTIME, "class Link(Protocol):\n    def load(self) -> int: ..."),
    (conduct.float_money, CORE, "def buy(price_nanos: int, wait_s: float):\n    return 1"),
    (conduct.mutable_values, CORE, "@frozen\nclass Fact:\n    x: int"),
    (speech.names_that_are_no_sentence, TEST, "def test_a_lost_answer_is_unknown():\n    assert True"),
    (speech.sleeps, TEST, "async def test_it_waits_for_ever():\n    await trio.sleep_forever()"),
    (speech.sleeps, "tests/e2e/test_planted.py", "def test_a_real_wait():\n    time.sleep(1)"),
    (speech.hidden_failures, TEST, "def test_it_needs_strace():\n    pytest.skip('no strace here')"),
)


@pytest.mark.parametrize(("rule", "path", "text"), FAULTS)
def test_a_planted_fault_is_found(rule: Rule, path: str, text: str) -> None:
    assert rule(source(path, text)) != []


@pytest.mark.parametrize(("rule", "path", "text"), HONEST)
def test_an_honest_neighbour_is_left_alone(rule: Rule, path: str, text: str) -> None:
    assert rule(source(path, text)) == []


def test_a_finding_names_the_place_and_the_remedy() -> None:
    assert purity.impurities(source(CORE, "x = 1\nimport time")) == [f"{CORE}:2 imports time: this place is pure"]


def test_two_importers_of_a_wrapped_library_are_both_named() -> None:
    planted = (source("a.py", "import jsonrpcserver"), source("b.py", "from jsonrpcserver.result import Ok"))
    assert purity.importers(planted, "jsonrpcserver") == ["a.py", "b.py"]


@pytest.mark.parametrize(
    "line",
    [
        "path = '/wo" + "rk/main'",
        "see /ro" + "ot/.config",
        "index = https://pypi" + ".org/simple",
        "key = AKIA" + "A" * 16,
    ],
)
def test_a_mention_of_what_must_stay_out_is_found(line: str) -> None:
    assert mentions.mentions("x", line) != []


@pytest.mark.parametrize(
    "line", ["see docs/work/plan", "https://example.org/work/1", "/var/lib/provisioner", "network/root"]
)
def test_a_path_any_machine_may_have_is_left_alone(line: str) -> None:
    assert mentions.mentions("x", line) == []
