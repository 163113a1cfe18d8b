"""The options all commands share that ask a daemon: which door, and whether people or programs read the answer.

It alone knows the order in which a door is looked for; it must not know what is asked.
"""

import os
from pathlib import Path
from typing import Annotated, Final

import typer

from provisioner.cli.exits import CommandEnds, Exit
from provisioner.cli.rest_client import SOCKET_DEFAULT, Client, Where

SOCKET_VARIABLE: Final = "PROVISIONER_SOCKET"

Json = Annotated[bool, typer.Option("--json", help="Print the daemon's own JSON.")]
Socket = Annotated[
    Path | None, typer.Option("--socket", help=f"The daemon's socket; else ${SOCKET_VARIABLE}, else {SOCKET_DEFAULT}.")
]
Url = Annotated[str | None, typer.Option("--url", help="The daemon's loopback URL; needs --token-file.")]
TokenFile = Annotated[Path | None, typer.Option("--token-file", help="The file that holds the token of --url.")]
Config = Annotated[Path | None, typer.Option("-c", "--config", help="Take the door from this configuration file.")]


def client(socket: Path | None, url: str | None, token_file: Path | None, config: Path | None) -> Client:
    """The client of the daemon that the options name; the first of --socket, --url, -c and the environment counts."""
    if socket is not None and url is not None:
        raise CommandEnds(Exit.USAGE, "--socket and --url name two doors; name one")
    if socket is not None:
        return Client(Where(socket=str(socket)))
    if url is not None:
        return Client(Where(url=url, token_file=str(token_file) if token_file is not None else None))
    if config is not None:
        return Client(_from_file(config))
    return Client(Where(socket=os.environ.get(SOCKET_VARIABLE) or SOCKET_DEFAULT))


def _from_file(config: Path) -> Where:
    # Reading a configuration needs the daemon's own modules, which no other command waits for.
    from provisioner.cli.run import load_settings  # noqa: PLC0415

    settings = load_settings(config)
    if isinstance(settings, int):
        raise typer.Exit(settings)
    listen = settings.listen
    if listen.socket is not None:
        return Where(socket=listen.socket)
    if listen.http is None:
        raise CommandEnds(Exit.USAGE, f"{config} opens no door; write listen: {{socket: PATH}}")
    host = f"[{listen.http.host}]" if ":" in listen.http.host else listen.http.host
    return Where(url=f"http://{host}:{listen.http.port}", token_file=listen.http.token_file)
