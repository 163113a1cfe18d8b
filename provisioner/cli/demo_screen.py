"""How the demo is seen: a live picture in a terminal, a line every few seconds elsewhere, and the summary at the end.

It alone knows the words and the layout; it decides nothing.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from provisioner.sim.performance import Outcome
from provisioner.sim.player import Progress

__all__ = ["screen", "summary_json", "summary_text"]

Show = Callable[[Progress], None]

LINE_EVERY_S: Final = 3.0
_ORDER: Final = ("booting", "running", "joined", "idle", "busy", "draining", "returning")
_COLOURS: Final[Mapping[str, str]] = {
    "booting": "yellow",
    "running": "yellow",
    "idle": "cyan",
    "busy": "green",
    "draining": "magenta",
    "returning": "magenta",
}


@contextmanager
def screen(console: Console, *, quiet: bool) -> Iterator[Show]:
    """What shows progress while the block runs: live in a terminal, as lines elsewhere, not at all if quiet."""
    if quiet:
        yield _show_nothing
    elif console.is_terminal and not console.is_dumb_terminal:
        with Live(console=console, auto_refresh=False) as live:
            yield lambda progress: live.update(picture(progress), refresh=True)
    else:
        yield _Lines(console)


def _show_nothing(progress: Progress) -> None:
    return None


class _Lines:
    """Prints a line when it is time for one."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._next_s = 0.0

    def __call__(self, progress: Progress) -> None:
        if progress.real_s >= self._next_s:
            self._next_s = progress.real_s + LINE_EVERY_S
            self._console.print(line(progress), markup=False, highlight=False, soft_wrap=True)


def line(progress: Progress) -> str:
    """One moment in one line."""
    hosts = "; ".join(f"{name} {_counts(states)}" for name, states in sorted(progress.hosts.items()))
    return (
        f"{progress.real_s:4.0f} s  jobs: {progress.queued} queued, {progress.running} running, "
        f"{progress.done} of {progress.jobs} done  hosts: {hosts or 'none'}  cost: {progress.cost} {progress.currency}"
    )


def _counts(states: Mapping[str, int]) -> str:
    return " ".join(f"{states[state]} {state}" for state in sorted(states, key=_rank))


def _rank(state: str) -> tuple[int, str]:
    return (_ORDER.index(state) if state in _ORDER else len(_ORDER), state)


def picture(progress: Progress) -> Group:
    """One moment as a picture of some twenty lines, 80 columns wide."""
    head = Text.assemble(
        ("Two clouds, one small cluster", "bold"),
        f"   {progress.real_s:.0f} s   the log is at {_clock(progress.log_s)}",
        ("   stopping: everything is given back" if progress.stopping else "", "bold yellow"),
    )
    return Group(head, Text(), _jobs(progress), Text(), _clouds(progress), Text(), _decided(progress))


def _clock(log_s: float) -> str:
    return f"{int(log_s // 3600)}:{int(log_s // 60) % 60:02}"


def _jobs(progress: Progress) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_row(
        "jobs", ProgressBar(total=max(progress.jobs, 1), completed=progress.done, width=30), _job_text(progress)
    )
    used = f"{progress.cores_used} of {progress.cores} cores busy"
    lack = f", {progress.lack} lacking" if progress.lack else ""
    bar = ProgressBar(total=max(progress.cores, 1), completed=progress.cores_used, width=30)
    grid.add_row("cores", bar, Text(used + lack))
    return grid


def _job_text(progress: Progress) -> Text:
    return Text(f"{progress.queued} queued, {progress.running} running, {progress.done} of {progress.jobs} done")


def _clouds(progress: Progress) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, states in sorted(progress.hosts.items()):
        squares = Text()
        for state in sorted(states, key=_rank):
            squares.append("■" * states[state], style=_COLOURS.get(state, "red"))
        table.add_row(Text(name, style="bold"), squares, Text(_counts(states), style="dim"))
    if not progress.hosts:
        table.add_row(Text("no hosts", style="dim"))
    table.add_row(Text("cost", style="bold"), Text(f"{progress.cost} {progress.currency}"))
    return table


def _decided(progress: Progress) -> Text:
    text = Text("last decisions", style="bold", no_wrap=True, overflow="ellipsis")
    for decision in progress.decisions:
        text.append(f"\n  {decision}", style="not bold dim")
    return text


def summary_json(outcome: Outcome) -> Mapping[str, Any]:
    """The summary for programs; money as decimal strings, times in seconds (waits in seconds of the log)."""
    account = outcome.account
    return {
        "ok": outcome.went_well,
        "interrupted": outcome.interrupted,
        "jobs": outcome.jobs,
        "done": outcome.done,
        "dropped": outcome.dropped,
        "mean_wait_s": round(outcome.mean_wait_s, 1),
        "longest_wait_s": round(outcome.longest_wait_s, 1),
        "hosts": dict(account.hosts),
        "peak_hosts": outcome.peak_hosts,
        "refused_drains": outcome.refused_drains,
        "taken_by_clouds": outcome.taken,
        "outages": outcome.outages,
        "cost": account.total,
        "booked": account.booked,
        "currency": account.currency,
        "left_over": list(account.left_over),
        "wrong": [*outcome.wrong, *account.findings],
        "real_s": round(outcome.real_s, 1),
    }


def summary_text(outcome: Outcome) -> str:
    """The summary for people."""
    account = outcome.account
    dropped = f", {outcome.dropped} dropped" if outcome.dropped else ""
    bought = ", ".join(f"{count} from {name}" for name, count in account.hosts.items()) or "none"
    lines = [
        f"jobs            {outcome.done} of {outcome.jobs} done{dropped}",
        f"waiting         {outcome.mean_wait_s:.0f} s on average, {outcome.longest_wait_s:.0f} s at most (of the log)",
        f"hosts bought    {bought}; {outcome.peak_hosts} at the same time at most",
        f"refused drains  {outcome.refused_drains} (a host had work again before it was given back, and stayed)",
        f"cost            {account.total} {account.currency}",
        f"took            {outcome.real_s:.0f} s",
    ]
    if outcome.went_well:
        lines[-1:-1] = [
            "                equal to the sum over the hosts, and to what the clouds' own books say",
            "given back      everything; the clouds' own books show no host left",
        ]
    lines += [f"LEFT OVER       {thing}" for thing in account.left_over]
    lines += [f"WRONG           {sentence}" for sentence in (*outcome.wrong, *account.findings)]
    return "\n".join(lines)
