"""`provisioner provider replay`: a recorded conversation with a provider, read, or played again to a command.

It alone says where a black box is looked for and how it is printed. What was said, edge/recorded.py knows; how it is
played again, runtime/replaying.py.
"""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import trio

from provisioner.cli.exits import CommandEnds, Exit
from provisioner.cli.show import harmless, print_json, print_lines, print_table
from provisioner.edge.black_box import Direction, Record
from provisioner.edge.recorded import (
    Call,
    Entry,
    Message,
    Other,
    came_to,
    conversation,
    in_figures,
    last_process,
    of_process,
)
from provisioner.edge.redaction import HIDDEN
from provisioner.runtime.black_box import FILE_NAME, records_in
from provisioner.runtime.replaying import Played, SpawnRefused, replay

__all__ = ["provider_replay"]

Body = dict[str, Any]
_SIGNS: Final = {Direction.TOLD: ">", Direction.HEARD: "<", Direction.NOTE: "="}


def provider_replay(  # long: one argument an option of the command
    place: str,
    command: Sequence[str],
    *,
    config: Path | None,
    process: int | None,
    full: bool,
    changing: bool,
    timeout_s: float,
    env_names: Sequence[str],
    credential_files: Sequence[str],
    as_json: bool,
) -> Exit:
    """Prints what is recorded; with a command, plays it and says where the answers differ (NO if one does)."""
    where = _place(place, config)
    entries = conversation(_records(where))
    if process is not None:
        entries = of_process(entries, process)
    if not command:
        if as_json:
            print_json({"file": str(where), "entries": [_entry_json(entry) for entry in entries]})
        else:
            _print_entries(entries, full=full)
        return Exit.OK if entries else Exit.NO
    calls = _calls_of_one(entries, process)
    with tempfile.TemporaryDirectory(prefix="provisioner-replay-") as folder:
        play = partial(
            replay,
            calls,
            command,
            Path(folder),
            changing=changing,
            timeout_s=timeout_s,
            log=_Told(),
            env_names=env_names,
            credential_files=credential_files,
        )
        try:
            played = trio.run(play)
        except SpawnRefused as why:
            raise CommandEnds(Exit.USAGE, str(why)) from None
    return _tell(played, as_json=as_json)


class _Told:
    """What is heard of the command while it runs, on standard error: its own lines, and what is wrong with it."""

    def info(self, event: str, **fields: object) -> None:
        """Its own lines alone; the rest of a course of things is of no interest here."""
        if event == "provider_stderr":
            print(harmless(fields["line"]), file=sys.stderr)

    def warning(self, event: str, **fields: object) -> None:
        """Whatever the supervision warns of."""
        said = ", ".join(f"{name} {value}" for name, value in fields.items())
        print(f"provisioner: {event.replace('_', ' ')}: {harmless(said)}", file=sys.stderr)


def _place(place: str, config: Path | None) -> Path:
    """A file or folder of that name, else the black box of the provider of that name in the configuration."""
    path = Path(place)
    if path.exists():
        inner = path / "blackbox"
        return inner if path.is_dir() and not (path / FILE_NAME).exists() and inner.is_dir() else path
    if config is None:
        raise CommandEnds(
            Exit.USAGE, f"there is no file {place}; name a black box, or a provider together with -c FILE"
        )
    from provisioner.app import folders_of  # noqa: PLC0415  only this way needs the daemon's modules
    from provisioner.cli.run import load_settings  # noqa: PLC0415

    settings = load_settings(config)
    if isinstance(settings, int):
        raise CommandEnds(Exit.USAGE, f"{config} can't be used, so its providers' black boxes are not known")
    entry = settings.providers.get(place)
    if entry is None:
        known = ", ".join(sorted(settings.providers)) or "none"
        raise CommandEnds(Exit.NO, f"{config} has no provider {place}; it has {known}")
    return Path(str(folders_of(settings, entry).blackbox_dir))


def _records(where: Path) -> list[Record]:
    try:
        return records_in(where)
    except OSError as why:
        reason = (why.strerror or "unknown reason").lower()
        raise CommandEnds(Exit.USAGE, f"{where} can't be read: {reason}") from None


def _calls_of_one(entries: Sequence[Entry], process: int | None) -> list[Call]:
    number = process if process is not None else last_process(entries)
    calls = [entry for entry in entries if isinstance(entry, Call) and entry.record.number == number]
    if not calls or calls[0].method != "initialize":
        raise CommandEnds(
            Exit.NO,
            "there is no recorded initialize to begin with; --process NUMBER names another process, and a larger "
            "keep.blackbox keeps more",
        )
    return calls


# --- printed ----------------------------------------------------------------------------------------------------------


def _print_entries(entries: Sequence[Entry], *, full: bool) -> None:
    rows = [_row(entry) for entry in entries]
    print_table(
        ("time (utc)", "proc", "", "id", "what", "came to", "took"),
        rows,
        "Nothing is recorded.",
        whole=("what", "took"),
        below=[_bodies(entry) if full else _remark(entry) for entry in entries],
    )


def _row(entry: Entry) -> tuple[object, ...]:
    record = entry.record
    head = (_time(record.at), record.number, _SIGNS[record.direction])
    match entry:
        case Call(id=id, method=method):
            word, figures = came_to(entry, entry.answer), in_figures(entry)
            return (*head, id, method, word if figures is None else f"{word}, {figures}", _took(entry.took_s))
        case Message(method=method):
            return (*head, None, method, None, None)
        case Other(what=what):
            short = next((word for word in ("note", "junk") if what.startswith(word)), "other")
            return (*head, None, short, None, None)


def _remark(entry: Entry) -> str | None:
    if not isinstance(entry, Other):
        return None
    text = entry.record.text
    return text if entry.record.direction is Direction.NOTE else f"{entry.what}: {text[:200]}"


def _bodies(entry: Entry) -> list[str]:
    records = [entry.record]
    if isinstance(entry, Call) and entry.heard is not None:
        records.append(entry.heard)
    return [f"{_SIGNS[r.direction]} {harmless(r.text)}{_cut(r)}" for r in records]


def _cut(record: Record) -> str:
    return f" … {record.size - len(record.body)} bytes more" if record.is_cut else ""


def _time(at: float) -> str:
    when = datetime.fromtimestamp(at, UTC)
    day = "" if when.date() == datetime.now(UTC).date() else "%m-%d "
    return when.strftime(f"{day}%H:%M:%S.%f")[:-3]


def _took(took_s: float | None) -> str | None:
    if took_s is None:
        return None
    return f"{took_s:.1f} s" if took_s >= 10 else f"{took_s * 1000:.1f} ms"


def _entry_json(entry: Entry) -> Body:
    record = entry.record
    found: Body = {
        "at": datetime.fromtimestamp(record.at, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "boot_s": record.boot_s,
        "process": record.number,
        "direction": record.direction.value,
        "size": record.size,
        "cut": record.is_cut,
        "hidden": record.is_hidden,
        "text": record.text,
    }
    match entry:
        case Call(id=id, method=method):
            word = came_to(entry, entry.answer)
            answer = entry.heard.text if entry.heard is not None else None
            return found | {
                "kind": "call", "id": id, "method": method, "came_to": word, "took_s": entry.took_s, "answer": answer,
            }  # fmt: skip
        case Message(method=method):
            return found | {"kind": "message", "method": method}
        case _:
            return found | {"kind": "other", "what": entry.what}


# --- played again -----------------------------------------------------------------------------------------------------


def _tell(played: Sequence[Played], *, as_json: bool) -> Exit:
    done = [one for one in played if one.now is not None]
    different = [one for one in done if not one.is_same]
    if as_json:
        print_json(
            {
                "played": len(done),
                "skipped": len(played) - len(done),
                "different": len(different),
                "calls": [_played_json(one) for one in played],
            }
        )
    else:
        rows = [(p.call.id, p.call.method, p.then, p.now or "-", _verdict(p)) for p in played]
        print_table(
            ("id", "what", "then", "now", "verdict"),
            rows,
            "Nothing could be played.",
            whole=("what",),
            folded="verdict",
        )
        print_lines([*_doubts(played), f"{len(done)} calls were played, {len(different)} came to something else."])
    return Exit.NO if different or not done else Exit.OK


def _verdict(played: Played) -> str:
    if played.skipped is not None:
        return f"not played: {played.skipped}"
    return "the same" if played.is_same else "different"


def _doubts(played: Sequence[Played]) -> list[str]:
    texts = [one.call.record.text for one in played if one.call.method == "initialize"]
    if any(HIDDEN in text for text in texts):
        return [f"The recorded configuration has secrets in it, which were replaced by {HIDDEN}: it was played so."]
    return []


def _played_json(played: Played) -> Mapping[str, object]:
    return {
        "id": played.call.id,
        "method": played.call.method,
        "then": played.then,
        "now": played.now,
        "same": played.is_same if played.now is not None else None,
        "skipped": played.skipped,
    }
