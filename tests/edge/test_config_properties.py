"""Whatever the text, reading a configuration file ends in Settings or in faults that point into it."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from provisioner.core.settings import Settings, settings_table
from provisioner.core.settings_later import LATER
from provisioner.edge.config_file import Faults, read_settings
from tests.edge.config_texts import MINIMAL

KEYS = sorted({key for row in settings_table() for key in row.name.split(".")} | {e.name.split(".")[-1] for e in LATER})
WORDS = ["none", "all", "never", "10m", "3 USD/h", "16GiB", "80%", "", "yes", "east", "127.0.0.1:1", "r6i.*", "1e999"]

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.sampled_from(WORDS + KEYS)
)
trees = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.sampled_from(KEYS), st.text(max_size=5)), inner, max_size=5),
    ),
    max_leaves=25,
)
MARKS = ["a: ", "b", "- ", "{", "}", "[", "]", "&x ", "*x", "!t ", "? ", ": ", "#", "'", '"', "|\n", ">", ",", "<<: "]
SPACES = ["\n", "  ", "\t", "---\n", "...\n", "%YAML 1.2\n", "\u2028"]
ODD = ["\\", "\ud800", '"\\ud800"', '"\\x00": ', "\x07", "é", "0x1F", "~", "cluster: ", "list: "]
yaml_pieces = st.lists(st.sampled_from(MARKS + SPACES + ODD), max_size=25).map("".join)


def check(text: str) -> None:
    read = read_settings(text, file="c.yaml", folder="/etc/p")
    if isinstance(read, Settings):
        return
    assert isinstance(read, Faults)
    assert read.faults
    lines = text.count("\n") + text.count("\r") + text.count("\x85") + text.count("\u2028") + text.count("\u2029") + 1
    for fault in read.faults:
        assert 1 <= fault.line <= lines + 1
        assert fault.column >= 1
        assert fault.sentence
        assert fault.remedy
        assert str(fault).encode()
        assert len(str(fault).split("\n")) == 1


@given(trees)
def test_any_tree_of_values_is_read_or_refused(tree: Any) -> None:
    check(json.dumps(tree))


@given(trees, st.sampled_from(["policy", "providers", "budgets", "sources", "consumers", "listen", "keep", "return"]))
def test_any_tree_below_a_real_section_is_read_or_refused(tree: Any, key: str) -> None:
    kept = "".join(line for line in MINIMAL.splitlines(keepends=True) if not line.startswith(key))
    check(f"{kept}{key}: {json.dumps(tree)}\n")


@given(trees)
def test_any_tree_below_a_template_is_read_or_refused(tree: Any) -> None:
    check(MINIMAL.replace("[program]", f'[program], templates: {{"*": {json.dumps(tree)}}}'))


@given(yaml_pieces)
def test_any_pieces_of_yaml_are_read_or_refused(text: str) -> None:
    check(text)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    check(text)


@given(st.integers(min_value=0, max_value=len(MINIMAL)), st.text(max_size=3))
def test_a_small_change_of_a_good_file_is_read_or_refused(at: int, piece: str) -> None:
    check(MINIMAL[:at] + piece + MINIMAL[at:])
