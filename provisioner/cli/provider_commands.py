"""The commands below `provisioner provider`: for authors of providers, and for operators of one that runs.

It alone knows their names and options; what they print is provider_orders.py's and provider_words.py's.
"""

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from provisioner.cli.door_options import Config, Json, Socket, TokenFile, Url, client
from provisioner.cli.provider_orders import order, print_ordered
from provisioner.cli.provider_words import call, follow, logs, print_called, print_logs

provider_app = typer.Typer(help="For authors and operators of providers.", no_args_is_help=True)

Params = Annotated[
    str | None, typer.Argument(metavar="[JSON|-]", help="The method's parameters; - is standard input; else none.")
]
Name = Annotated[str, typer.Argument(help="The provider's name in the configuration.")]
Why = Annotated[str | None, typer.Option("--why", help="Shown to everybody who wonders, and kept on record.")]


@provider_app.command("new")
def provider_new(
    name: Annotated[str, typer.Argument(help="What it is called: a-z, 0-9 and hyphens.")],
    folder: Annotated[Path | None, typer.Option("--dir", help="Where; else a new folder of that name here.")] = None,
) -> None:
    """Write a provider that works, with its tests, for its author to change."""
    raise typer.Exit(import_module("provisioner.cli.provider_new").provider_new(name, folder))


@provider_app.command("pause")
def provider_pause(
    name: Name,
    for_: Annotated[str, typer.Option("--for", help="How long, such as 90m or 2h; at most 30d.")] = "1h",
    why: Why = None,
    as_json: Json = False,
    socket: Socket = None,
    url: Url = None,
    token_file: TokenFile = None,
    config: Config = None,
) -> None:
    """Buy nothing from a provider for a while; all else goes on."""
    print_ordered(order(client(socket, url, token_file, config), name, "pause", why, {"for": for_}), as_json=as_json)


@provider_app.command("resume")
def provider_resume(
    name: Name,
    why: Why = None,
    as_json: Json = False,
    socket: Socket = None,
    url: Url = None,
    token_file: TokenFile = None,
    config: Config = None,
) -> None:
    """End the pause, and try again at once all that is left alone of a provider."""
    print_ordered(order(client(socket, url, token_file, config), name, "resume", why), as_json=as_json)


@provider_app.command("restart")
def provider_restart(
    name: Name,
    why: Why = None,
    as_json: Json = False,
    socket: Socket = None,
    url: Url = None,
    token_file: TokenFile = None,
    config: Config = None,
) -> None:
    """End a provider's process in order and start it again."""
    print_ordered(order(client(socket, url, token_file, config), name, "restart", why), as_json=as_json)


@provider_app.command("logs")
def provider_logs(
    name: Name,
    lines: Annotated[int, typer.Option("-n", "--lines", min=1, max=10_000, help="How many of each process.")] = 100,
    followed: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what is written until ^C.")] = False,
    as_json: Json = False,
    socket: Socket = None,
    url: Url = None,
    token_file: TokenFile = None,
    config: Config = None,
) -> None:
    """Show what a provider wrote to standard error last, also the process before this one."""
    asked = client(socket, url, token_file, config)
    body = logs(asked, name, lines)
    print_logs(body, as_json=as_json)
    if followed:
        follow(asked, name, body, as_json=as_json)


@provider_app.command("call")
def provider_call(
    name: Name,
    method: Annotated[str, typer.Argument(help="describe, list, request_status, return_status, ping or quote.")],
    params: Params = None,
    as_json: Json = False,
    socket: Socket = None,
    url: Url = None,
    token_file: TokenFile = None,
    config: Config = None,
) -> None:
    """Ask a provider something that changes nothing, in the daemon's own conversation with it."""
    raise typer.Exit(print_called(call(client(socket, url, token_file, config), name, method, params), as_json=as_json))


@provider_app.command("replay", context_settings={"allow_extra_args": True})
def provider_replay(
    context: typer.Context,
    place: Annotated[str, typer.Argument(metavar="FILE|NAME", help="A black box, or with -c a provider's name.")],
    config: Annotated[Path | None, typer.Option("-c", "--config", help="The configuration that has NAME.")] = None,
    process: Annotated[int | None, typer.Option("--process", help="Only this process; played: else the last.")] = None,
    full: Annotated[bool, typer.Option("--full", help="With the frames themselves.")] = False,
    changing: Annotated[bool, typer.Option("--changing", help="Play purchases and give-backs too.")] = False,
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds to wait for an answer.")] = 60.0,
    env: Annotated[list[str] | None, typer.Option("--env", help="A variable the command gets.")] = None,
    credential: Annotated[list[str] | None, typer.Option("--credential", help="A credential file it gets.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print what was said to a provider and by it; with -- COMMAND play that to COMMAND and compare, exit 1 if it
    answers otherwise."""
    replay = import_module("provisioner.cli.provider_replay").provider_replay
    code = replay(
        place,
        context.args,
        config=config,
        process=process,
        full=full,
        changing=changing,
        timeout_s=timeout,
        env_names=env or [],
        credential_files=credential or [],
        as_json=as_json,
    )
    raise typer.Exit(code)
