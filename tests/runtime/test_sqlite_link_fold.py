"""Folding a group: however batches fall into groups, each has the outcome it would have had alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from provisioner.runtime.links.fold import Fold, Key
from provisioner.runtime.links.link import Batch, Committed, Delete, Guard, Operation, Put, Record, Refused

IDS = st.sampled_from(["1", "2", "3"])
EXPECTED = st.one_of(st.none(), st.integers(0, 12))
OPERATIONS: st.SearchStrategy[Operation] = st.one_of(
    st.builds(Put, st.just("a"), IDS, st.binary(max_size=3), EXPECTED),
    st.builds(Delete, st.just("a"), IDS, EXPECTED),
    st.builds(Guard, st.just("a"), IDS, st.integers(0, 12)),
)


def _batch(operations: list[Operation]) -> Batch:
    return Batch(tuple(operations))


BATCHES = st.lists(st.lists(OPERATIONS, max_size=3, unique_by=lambda operation: operation.id).map(_batch), max_size=12)


class Store:
    """The plainest thing that could be right: a dictionary, one batch at a time, guards first."""

    def __init__(self) -> None:
        self.records: dict[Key, Record] = {}
        self.revision = 0

    def version(self, operation: Operation) -> int:
        record = self.records.get((operation.kind, operation.id))
        return record.version if record else 0

    def commit(self, batch: Batch) -> int | None:
        if any(op.expect is not None and op.expect != self.version(op) for op in batch.operations):
            return None
        writes = [op for op in batch.operations if isinstance(op, Put) or (isinstance(op, Delete) and self.version(op))]
        self.revision += bool(writes)
        for operation in writes:
            key = (operation.kind, operation.id)
            if isinstance(operation, Put):
                self.records[key] = Record(*key, self.revision, operation.value)
            else:
                del self.records[key]
        return self.revision


@given(BATCHES, st.lists(st.integers(1, 5), min_size=12, max_size=12))
def test_groups_of_any_size_come_to_the_outcomes_and_records_of_one_batch_at_a_time(
    batches: list[Batch], sizes: list[int]
) -> None:
    plain = Store()
    expected = [plain.commit(batch) for batch in batches]
    records: dict[Key, Record] = {}
    revision = 0
    found: list[int | None] = []
    moves = 0
    while batches:
        group, batches = batches[: sizes[0]], batches[sizes[0] :]
        sizes = sizes[1:]
        fold = Fold({key: record.version for key, record in records.items()}, revision)
        for batch in group:
            outcome = fold.take(batch)
            match outcome:
                case Committed():
                    found.append(outcome.revision)
                case Refused():
                    assert outcome.conflicts
                    found.append(None)
        revision = fold.revision
        moves += len(fold.moves)
        for key, record in fold.written.items():
            records.pop(key, None)
            if record is not None:
                records[key] = record
    assert (found, records, revision) == (expected, plain.records, plain.revision)
    assert moves == revision
