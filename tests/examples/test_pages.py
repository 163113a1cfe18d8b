"""The pages of the examples keep their word: frames that are to be pasted are answered, configurations are accepted."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.examples.client import greeting, started
from tests.examples.subjects import ROOT, Example

pytestmark = pytest.mark.e2e
PAGES = ROOT.parents[1] / "how-to"


def blocks(example: Example, language: str) -> list[str]:
    """Return the blocks of one language on the page of an example."""
    text = (PAGES / f"provider-in-{example.name}.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


async def test_pasted_frames_are_answered_with_results(example: Example, tmp_path: Path) -> None:
    frames = [json.loads(line) for block in blocks(example, "json") for line in block.splitlines()]
    assert len(frames) >= 3
    async with started(example.command, tmp_path) as client:
        for message in frames:
            params: dict[str, Any] = message["params"]
            if message["method"] == "initialize":
                params |= {"state_dir": str(tmp_path / "state")}
                params["config"].pop("slow_s", None)
            reply = await client.call(message["method"], params)
            assert reply.error == {}
            assert reply.result.get("outcome", "made") == "made"
            assert {item["state"] for item in reply.result.get("items", [])} <= {"returned"}


async def test_the_configuration_of_the_page_is_accepted(example: Example, tmp_path: Path) -> None:
    entries = [YAML(typ="safe").load(block)["providers"] for block in blocks(example, "yaml")]
    assert len(entries) == 1
    for entry in entries[0].values():
        assert entry["command"][-1].endswith("/".join(Path(example.command[-1]).parts[-2:]))
        async with started(example.command, tmp_path) as client:
            hello = await client.call(
                "initialize", greeting(tmp_path / "state", entry["config"], mode="check", epoch=0)
            )
            assert hello.error == {}


def test_the_subject_file_for_the_conformance_kit_is_of_use(example: Example) -> None:
    subject = json.loads((Path(example.command[-1]).parent / "subject.json").read_text())
    assert set(subject) == {"config", "others", "bad_config", "slow_config"}
