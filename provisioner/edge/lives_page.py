"""The page docs/reference/lives.md, drawn from the tables of the lives, so that it can't differ from them."""

from typing import Any

from provisioner.core.giveback import RETURN_LIFE
from provisioner.core.instance import INSTANCE_LIFE
from provisioner.core.lease import LEASE_LIFE
from provisioner.core.lives import Life
from provisioner.core.process import PROCESS_LIFE
from provisioner.core.request import REQUEST_LIFE

_HEAD = """# Lives

Every record that lives has one table: what is not in it does not happen. This page is printed from the tables
(`python -m provisioner.cli.lives_doc`); a test holds it to them.
"""

_WORDS: dict[str, str] = {
    REQUEST_LIFE.name: (
        "One purchase. `planned` was provably never sent; `sending` is bound to the one process that may carry its "
        "frame; `unknown` keeps its money reserved until a Yes, a valid No, or a promise of the provider ends it."
    ),
    RETURN_LIFE.name: "One give-back of named instances, said again until it is proven.",
    INSTANCE_LIFE.name: (
        "One supplied thing, as stored. Joined, idle, busy and draining are derived from what the cluster says."
    ),
    PROCESS_LIFE.name: "The process of one provider, as this daemon runs it.",
    LEASE_LIFE.name: "The right to act for one provider, or as the planner.",
}


def render() -> str:
    """The whole page as Markdown."""
    lives: tuple[Life[Any, Any], ...] = (REQUEST_LIFE, RETURN_LIFE, INSTANCE_LIFE, PROCESS_LIFE, LEASE_LIFE)
    return "\n".join([_HEAD, *(_section(life) for life in lives)])


def _section(life: Life[Any, Any]) -> str:
    final = ", ".join(f"`{s}`" for s in sorted(str(s) for s in life.final)) or "none"
    lines = [
        f"## {life.name}",
        "",
        _WORDS[life.name],
        "",
        f"Final: {final}.",
        "",
        "| state | what happens | next | why |",
    ]
    lines.append("|---|---|---|---|")
    lines += [f"| `{state}` | `{trigger}` | `{after}` | {why} |" for state, trigger, after, why in life.rows()]
    return "\n".join([*lines, ""])
