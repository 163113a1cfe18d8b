"""What was once written can always be read: one golden line a kind, never changed again."""

import json
from pathlib import Path

import pytest

from provisioner.core.facts import CLASS_OF, FactKind
from provisioner.edge.fact_codec import UnreadableFact, decode_fact, encode_fact

GOLDEN = Path(__file__).parent / "golden_facts.jsonl"


def golden() -> list[tuple[str, dict[str, object]]]:
    """(kind, value) of every golden line."""
    lines = [json.loads(line) for line in GOLDEN.read_text().splitlines()]
    return [(line["kind"], line["value"]) for line in lines]


def test_every_kind_of_fact_has_a_golden_line() -> None:
    assert {kind for kind, _ in golden()} == {k.value for k in FactKind} == {k.value for k in CLASS_OF}


@pytest.mark.parametrize(("kind", "value"), golden(), ids=[k for k, _ in golden()])
def test_a_golden_line_is_read_and_written_back_without_loss(kind: str, value: dict[str, object]) -> None:
    key, fact = decode_fact(kind, "x", json.dumps(value).encode())
    written = json.loads(encode_fact(fact))
    assert key.kind.value == kind
    assert {name: written[name] for name in value} == value


@pytest.mark.parametrize("bad", [b"", b"{", b"[]", b'{"n": "one", "epoch": 1}', b'{"n": 1}', b"\xff"])
def test_a_damaged_record_is_named(bad: bytes) -> None:
    with pytest.raises(UnreadableFact, match="head/planner"):
        decode_fact("head", "planner", bad)


def test_a_kind_nobody_knows_is_named() -> None:
    with pytest.raises(UnreadableFact, match="spell/1"):
        decode_fact("spell", "1", b"{}")
