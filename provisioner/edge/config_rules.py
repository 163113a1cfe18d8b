"""What must hold between several values of one section of the configuration file.

It alone knows these rules; it must not know where in the file the values stand.
"""

from collections.abc import Iterator
from typing import Final

from attrs import frozen

from provisioner.core.settings import BackOff, Consumer, LeadTime, Listen, PolicySettings, ReturnRetry, Settings
from provisioner.edge.config_fault import Path, quoted
from provisioner.edge.quantities import duration_text

SOCKET_PATH_MOST: Final = 107
"""Bytes the kernel takes for the path of a Unix socket (unix(7): sun_path holds 108 with the end mark)."""


@frozen
class Breach:
    """A rule that does not hold: the path below the section, and what to say."""

    below: Path
    sentence: str
    remedy: str


def breaches(section: object, providers: tuple[str, ...]) -> Iterator[Breach]:
    """The rules that one finished section breaks; `providers` are the names the file gives to its providers."""
    match section:
        case Listen():
            yield from _doors(section)
        case BackOff(first_s=first, most_s=most):
            yield from _in_order(("first",), first, ("most",), most)
        case ReturnRetry(first_s=first, most_s=most):
            yield from _in_order(("retry", "first"), first, ("retry", "most"), most)
        case LeadTime(typical_s=typical, worst_s=worst):
            yield from _in_order(("typical",), typical, ("worst",), worst)
        case PolicySettings(min_interval_s=shortest, tick_s=longest):
            yield from _in_order(("min_interval",), shortest, ("tick",), longest)
        case Consumer(providers=tuple(named)):
            yield from _known(named, providers)
        case Settings(providers=offered) if not offered:
            yield Breach(("providers",), "names no provider", "write at least one")
        case _:
            pass  # most sections have no rule


def _doors(listen: Listen) -> Iterator[Breach]:
    if listen.socket is None and listen.http is None:
        yield Breach((), "opens no door", "write `socket: PATH`, or `http` with `bind` and `token_file`")
    length = len((listen.socket or "").encode())
    if length > SOCKET_PATH_MOST:
        yield Breach(
            ("socket",),
            f"the whole path is {length} bytes long, a Unix socket's may have {SOCKET_PATH_MOST}",
            "choose a shorter folder, such as /run/provisioner",
        )


def _in_order(low: Path, low_s: float, high: Path, high_s: float) -> Iterator[Breach]:
    if low_s > high_s:
        yield Breach(
            low,
            f"{duration_text(low_s)} is longer than `{high[-1]}`, {duration_text(high_s)}",
            f"write at most {duration_text(high_s)}, or a longer `{high[-1]}`",
        )


def _known(named: tuple[str, ...], providers: tuple[str, ...]) -> Iterator[Breach]:
    for n, name in enumerate(named):
        if name not in providers:
            known = ", ".join(providers) or "none"
            yield Breach(("providers", n), f"{quoted(name)} is no provider of this file", f"the file has: {known}")
