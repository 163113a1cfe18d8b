"""Reads a snapshot from a file and pushes it by hand.

It alone knows what may be left out of such a file: the revision, which then follows the one that stands.
"""

import json
import sys
from pathlib import Path
from typing import Any

from provisioner.cli.exits import CommandEnds, Exit
from provisioner.cli.look import path_to
from provisioner.cli.rest_client import BODY_BYTES_MOST, Client

Body = dict[str, Any]
PARTS = {"demand": "lines", "supply": "entries"}


def push(client: Client, what: str, source: str, file: Path) -> Body:
    """The daemon's answer to the snapshot in a file; `what` is demand or supply, `-` is standard input."""
    body = read_snapshot(file, PARTS[what])
    if "revision" not in body:
        body = {**_following(client.get_if_there(path_to(f"/v1/{what}", source))), **body}
    return client.put(path_to(f"/v1/{what}", source), body)


def read_snapshot(file: Path, part: str) -> Body:
    """The snapshot as the file has it; a bare list is taken as its lines or entries."""
    name = "standard input" if str(file) == "-" else str(file)
    try:
        text = _text(file)
    except OSError as error:
        raise CommandEnds(Exit.USAGE, f"{name} can't be read: {(error.strerror or 'unknown reason').lower()}") from None
    except UnicodeDecodeError:
        raise CommandEnds(Exit.USAGE, f"{name} is no text in UTF-8; save it as UTF-8") from None
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"{name}:{error.lineno}:{error.colno}"
        raise CommandEnds(Exit.USAGE, f'{place}: no JSON from here on; write {{"{part}": […]}}') from None
    except RecursionError:
        raise CommandEnds(Exit.USAGE, f"{name} is nested too deeply to be a snapshot") from None
    if isinstance(found, list):
        return {part: found}
    if not isinstance(found, dict):
        raise CommandEnds(Exit.USAGE, f'{name} holds no snapshot; write {{"{part}": […]}}')
    return found


def _text(file: Path) -> str:
    """Bounded, so that a wrong file name can't fill the memory."""
    if str(file) == "-":
        content = sys.stdin.buffer.read(BODY_BYTES_MOST + 1)
    else:
        with file.open("rb") as opened:
            content = opened.read(BODY_BYTES_MOST + 1)
    if len(content) > BODY_BYTES_MOST:
        raise CommandEnds(Exit.USAGE, f"the snapshot is over {BODY_BYTES_MOST // 2**20} MiB, which no daemon takes")
    return content.decode()


def _following(standing: Body | None) -> Body:
    """The order after what stands, in the same incarnation."""
    if standing is None:
        return {"revision": 1}
    return {"incarnation": standing["incarnation"], "revision": standing["revision"] + 1}
