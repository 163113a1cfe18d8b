"""The command line: reads arguments, calls who knows, chooses the exit code. No logic lives here.

It alone knows the names of the commands and options, but for those below `provider`; docs/reference/cli.md lists them
all with the exit codes.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Literal

import typer

from provisioner.cli import look
from provisioner.cli.door_options import Config, Json, Socket, TokenFile, Url, client
from provisioner.cli.exits import CommandEnds, Exit
from provisioner.cli.provider_commands import provider_app
from provisioner.cli.push import push
from provisioner.cli.record import print_record
from provisioner.cli.rest_client import Client
from provisioner.cli.show import harmless, print_json
from provisioner.cli.status import gather, print_status, status_lines

app = typer.Typer(
    name="provisioner",
    help="Buys what a cluster's scheduler lacks, and gives it back.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
demand_app = typer.Typer(help="What sources lack.", no_args_is_help=True)
supply_app = typer.Typer(help="What sources have.", no_args_is_help=True)
app.add_typer(demand_app, name="demand")
app.add_typer(supply_app, name="supply")
app.add_typer(provider_app, name="provider")

Source = Annotated[str, typer.Option("--source", help="Who pushes.")]
OneSource = Annotated[str | None, typer.Option("--source", help="Only this source.")]
Snapshot = Annotated[Path, typer.Argument(help="JSON of the snapshot, or of its list alone; - is standard input.")]
ProviderFilter = Annotated[str | None, typer.Option("--provider", help="Only of this provider.")]


@app.command()
def run(
    config: Annotated[Path, typer.Option("-c", "--config", help="The configuration file.")],
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log more.")] = False,
) -> None:
    """Run the daemon until SIGTERM or SIGINT."""
    raise typer.Exit(import_module("provisioner.cli.run").run(config, verbose))


@app.command()
def demo(
    log: Annotated[Path | None, typer.Option("--log", help="A job log (SWF, may be gzipped); else a sample.")] = None,
    start_hour: Annotated[float, typer.Option("--start-hour", help="Where in the log to begin.")] = 0.0,
    hours: Annotated[float, typer.Option("--hours", help="How much of the log to play.")] = 1.0,
    speed: Annotated[float, typer.Option("--speed", help="Seconds of the log in a real second.")] = 75.0,
    as_json: Annotated[bool, typer.Option("--json", help="No progress; one JSON object at the end.")] = False,
) -> None:
    """Play a small cluster against two simulated clouds, about a minute."""
    play = import_module("provisioner.cli.demo").demo
    raise typer.Exit(play(log=log, start_hour=start_hour, hours=hours, speed=speed, json_output=as_json))


@app.command()
def check(
    file: Annotated[Path | None, typer.Argument(help="The configuration file.")] = None,
    config: Annotated[Path | None, typer.Option("-c", "--config", help="The same, as for run.")] = None,
    as_json: Json = False,
) -> None:
    """Print every fault of a configuration file; exit 1 if there is one."""
    chosen = file or config
    if chosen is None or (file is not None and config is not None):
        raise CommandEnds(Exit.USAGE, "name one configuration file: provisioner check FILE")
    raise typer.Exit(import_module("provisioner.cli.check").check(chosen, as_json=as_json))


@app.command()
def status(
    as_json: Json = False, socket: Socket = None, url: Url = None, token_file: TokenFile = None, config: Config = None
) -> None:
    """Say how everything stands, each answer with its next command; exit 1 unless all is well."""
    found = gather(client(socket, url, token_file, config))
    if as_json:
        print_json(found.as_json())
    else:
        print_status(status_lines(found))
    raise typer.Exit(Exit.OK if found.health["status"] == "ok" else Exit.NO)


@app.command()
def providers(
    name: Annotated[str | None, typer.Argument(help="Only this one, with its templates.")] = None,
    as_json: Json = False,
    socket: Socket = None,
    url: Url = None,
    token_file: TokenFile = None,
    config: Config = None,
) -> None:
    """Show how every provider stands, or one with its templates."""
    asked = client(socket, url, token_file, config)
    if name is not None:
        _show(asked.get(look.path_to("/v1/providers", name)), look.print_provider, as_json=as_json)
    else:
        _show(asked.get("/v1/providers"), look.print_providers, as_json=as_json)


@app.command()
def requests(
    name: Annotated[str | None, typer.Argument(metavar="ID", help="Only this one.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Settled ones too.")] = False,
    provider: ProviderFilter = None,
    as_json: Json = False,
    socket: Socket = None,
    url: Url = None,
    token_file: TokenFile = None,
    config: Config = None,
) -> None:
    """Show purchases and give-backs that are open, or one of them whole."""
    asked = client(socket, url, token_file, config)
    if name is not None:
        _show(asked.get(look.path_to("/v1/requests", name)), print_record, as_json=as_json)
        return
    path = look.path_with("/v1/requests", open=None if every else "true", provider=provider)
    _show(look.all_pages(asked, path, "requests"), look.print_requests, as_json=as_json)


@app.command()
def instances(
    name: Annotated[str | None, typer.Argument(metavar="ID", help="Only this one.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Gone ones too.")] = False,
    provider: ProviderFilter = None,
    state: Annotated[str | None, typer.Option("--state", help="Only in this state, such as idle.")] = None,
    as_json: Json = False,
    socket: Socket = None,
    url: Url = None,
    token_file: TokenFile = None,
    config: Config = None,
) -> None:
    """Show hosts and grants that live, or one of them whole."""
    asked = client(socket, url, token_file, config)
    if name is not None:
        _show(asked.get(look.path_to("/v1/instances", name)), print_record, as_json=as_json)
        return
    path = look.path_with("/v1/instances", live=None if every else "true", provider=provider, state=state)
    _show(look.all_pages(asked, path, "instances"), look.print_instances, as_json=as_json)


@app.command()
def costs(
    as_json: Json = False, socket: Socket = None, url: Url = None, token_file: TokenFile = None, config: Config = None
) -> None:
    """Show what everything has cost and what it burns now."""
    _show(client(socket, url, token_file, config).get("/v1/costs"), look.print_costs, as_json=as_json)


@app.command()
def decisions(
    subject: Annotated[
        str | None, typer.Option("--subject", help="A request, a give-back, an instance, or SOURCE/LINE.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many, newest first.")] = 20,
    as_json: Json = False,
    socket: Socket = None,
    url: Url = None,
    token_file: TokenFile = None,
    config: Config = None,
) -> None:
    """Show what was decided and why, newest first."""
    path = look.path_with("/v1/decisions", subject=subject, limit=str(limit))
    _show(client(socket, url, token_file, config).get(path), look.decisions_about(subject), as_json=as_json)


@demand_app.command("show")
def demand_show(
    source: OneSource = None,
    as_json: Json = False,
    socket: Socket = None,
    url: Url = None,
    token_file: TokenFile = None,
    config: Config = None,
) -> None:
    """Show what sources lack and how each line stands."""
    body = _of_source(client(socket, url, token_file, config), "demand", source)
    _show(body, look.print_demand, as_json=as_json)


@demand_app.command("push")
def demand_push(
    file: Snapshot,
    source: Source = "ops",
    as_json: Json = False,
    socket: Socket = None,
    url: Url = None,
    token_file: TokenFile = None,
    config: Config = None,
) -> None:
    """Push a demand snapshot by hand; without a revision it follows the one that stands."""
    _push(client(socket, url, token_file, config), "demand", source, file, as_json=as_json)


@supply_app.command("show")
def supply_show(
    source: OneSource = None,
    as_json: Json = False,
    socket: Socket = None,
    url: Url = None,
    token_file: TokenFile = None,
    config: Config = None,
) -> None:
    """Show what sources have."""
    body = _of_source(client(socket, url, token_file, config), "supply", source)
    _show(body, look.print_supply, as_json=as_json)


@supply_app.command("push")
def supply_push(
    file: Snapshot,
    source: Source = "ops",
    as_json: Json = False,
    socket: Socket = None,
    url: Url = None,
    token_file: TokenFile = None,
    config: Config = None,
) -> None:
    """Push a supply snapshot by hand; without a revision it follows the one that stands."""
    _push(client(socket, url, token_file, config), "supply", source, file, as_json=as_json)


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []})
def conformance(context: typer.Context) -> None:
    """Examine a provider with the conformance kit: conformance [OPTIONS] -- COMMAND."""
    raise typer.Exit(import_module("provisioner.cli.conformance").conformance(context.args))


def _of_source(asked: Client, what: Literal["demand", "supply"], source: str | None) -> look.Body:
    if source is None:
        return asked.get(f"/v1/{what}")
    return {"sources": [asked.get(look.path_to(f"/v1/{what}", source))]}


def _push(asked: Client, what: str, source: str, file: Path, *, as_json: bool) -> None:
    body = push(asked, what, source, file)
    if as_json:
        print_json(body)
    else:
        look.print_pushed(source, body)


def _show(body: look.Body, printed: look.Prints, *, as_json: bool) -> None:
    if as_json:
        print_json(body)
    else:
        printed(body)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command line; the exit code. A refusal is a sentence on standard error, with --json also the error."""
    stated = sys.argv[1:] if arguments is None else arguments
    try:
        app(stated, prog_name="provisioner")
    except CommandEnds as end:
        if "--json" in stated:
            print_json({"error": end.error})
        for line in end.sentence.splitlines():
            print(f"provisioner: {harmless(line)}", file=sys.stderr)
        return end.code
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(Exit.OK if end.code is None else Exit.USAGE)
    return Exit.OK
