"""How facts are written as bytes and read again: JSON with the field names of the fact classes, one class a kind.

A golden line per kind in tests/edge/golden_facts.jsonl is never changed again: what was once written can always be
read. Fields that a newer
version added are ignored by an older one only within a schema version, which the link checks. It must not know what a
fact means.
"""

import msgspec

from provisioner.core.facts import CLASS_OF, Fact, FactKind, Key

_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODERS = {kind: msgspec.json.Decoder(cls) for kind, cls in CLASS_OF.items()}


class UnreadableFact(Exception):
    """A record that is no fact of its kind: the store is damaged or was written by something else."""

    def __init__(self, kind: str, id: str, why: str) -> None:
        super().__init__(f"the record {kind}/{id} can't be read: {why}")
        self.kind, self.id, self.why = kind, id, why


def encode_fact(fact: Fact) -> bytes:
    """The bytes under which a fact is stored."""
    return _ENCODER.encode(fact)


def decode_fact(kind: str, id: str, value: bytes) -> tuple[Key, Fact]:
    """The fact stored under these bytes; UnreadableFact names the record otherwise."""
    try:
        fact_kind = FactKind(kind)
        fact: Fact = _DECODERS[fact_kind].decode(value)
    except ValueError as error:
        raise UnreadableFact(kind, id, str(error)) from None
    except msgspec.MsgspecError as error:
        raise UnreadableFact(kind, id, str(error)) from None
    return Key(fact_kind, id), fact
