"""What an operator orders of one provider from the command line, and how the answers read.

It alone knows how an order is said to the daemon and who says it; what it comes to is the daemon's knowledge.
"""

import getpass
import os
from collections.abc import Mapping
from typing import Any

from provisioner.cli.look import path_to
from provisioner.cli.rest_client import Client
from provisioner.cli.show import clock_text, print_json, print_lines

Body = dict[str, Any]
INDENT = 2
BY_MOST = 64


def order(client: Client, provider: str, verb: str, why: str | None, more: Mapping[str, object] | None = None) -> Body:
    """The daemon's answer to an order; the name of who types it goes with it."""
    body = {"by": who_types(), "why": why, **(more or {})}
    return client.post(f"{path_to('/v1/providers', provider)}/{verb}", body)


def who_types() -> str | None:
    """The name of the person, also behind sudo; None where the system knows none."""
    try:
        name = os.environ.get("SUDO_USER") or getpass.getuser()
    except (KeyError, OSError):
        return None
    return name[:BY_MOST] if name.isprintable() and name else None


def print_ordered(body: Body, *, as_json: bool) -> None:
    """What an order has come to, a sentence a line, and where that leaves the provider."""
    if as_json:
        print_json(body)
        return
    paused = body["paused"]
    until = f", paused until {clock_text(paused['until'])}" if paused else ""
    print_lines([f"{body['provider']}: {body['state'].replace('_', ' ')}{until}"])
    print_lines(body["did"], indent=INDENT, label="")
