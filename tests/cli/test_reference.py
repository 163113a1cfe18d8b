"""The pages about the interfaces say what is there, and nothing else."""

import re
from pathlib import Path

import typer.main

from provisioner.cli import run
from provisioner.cli.exits import Exit
from provisioner.cli.main import app
from provisioner.edge.rest_answers import READS
from provisioner.edge.rest_calls import CALL, LOGS
from provisioner.edge.rest_lines import LATER_LINE_FIELDS, LINE_FIELDS
from provisioner.edge.rest_openapi import PUSHES
from provisioner.edge.rest_orders import ORDERS

ROOT = Path(__file__).resolve().parents[2]
REST = (ROOT / "docs" / "reference" / "rest.md").read_text(encoding="utf-8")
CLI = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")


def test_every_path_is_in_the_reference_and_no_other() -> None:
    named = set(re.findall(r"`(GET|PUT|POST) (/v1/[^`\s]*)`", REST))
    there = {("GET", path) for path in (*READS, "/v1/health", "/v1/openapi.json")} | {("PUT", path) for path in PUSHES}
    there |= {("POST", path) for path in (*ORDERS, CALL)} | {("GET", LOGS)}
    assert {pair for pair in named if pair != ("GET", "/v1/cluster")} == there


def test_every_field_of_a_line_is_in_the_reference() -> None:
    assert [field for field in (*LINE_FIELDS, *LATER_LINE_FIELDS) if f"`{field}`" not in REST] == []


def test_every_error_code_is_in_the_reference_and_no_other() -> None:
    sources = [path for layer in ("runtime", "edge") for path in (ROOT / "provisioner" / layer).glob("rest_*.py")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    used = set(re.findall(r'error_body\(\s*"([a-z_]+)"', code)) | set(
        re.findall(r'^ +\d+: \(\s*"([a-z_]+)"', code, re.M)
    )
    used |= set(re.findall(r'^ +"(stale_revision|revision_reused)": \(', code, re.M)) | {"bad_request"}
    table = REST.partition("| status | code |")[2]
    documented = {
        code for row in re.findall(r"^\| \d+ \|([^|]*)\|", table, re.M) for code in re.findall(r"`([a-z_]+)`", row)
    }
    assert documented == used


def test_every_command_is_in_the_reference_and_no_other() -> None:
    documented = set(re.findall(r"^\| `provisioner ([a-z]+(?: [a-z]+)?)", CLI, re.M))
    commands: set[str] = set()
    for name, command in typer.main.get_group(app).commands.items():
        inner = getattr(command, "commands", None)
        commands |= {name} if inner is None else {f"{name} {part}" for part in inner}
    assert documented == commands


def test_every_exit_code_is_in_the_reference() -> None:
    asks, _, of_run = CLI.partition("Of `run`:")
    assert [code for code in Exit if f"| {int(code)} |" not in asks] == []
    codes = {value for name, value in vars(run).items() if name.startswith("EXIT_")}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", of_run, re.M)} == codes | {0}
