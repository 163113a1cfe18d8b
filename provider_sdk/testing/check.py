"""What a check is: a name, the clauses it can judge, and what it does with a stage.

Knows no check in particular.
"""

from collections.abc import Awaitable, Callable

from attrs import frozen

from provider_sdk.testing.stage import Stage
from provider_sdk.testing.verdict import Broken, Inapplicable, Status
from provider_sdk.testing.watch import Watch


@frozen
class Check:
    """One check; its first clause is blamed for what no other clause explains, a crash or silence for example.

    Where one of the clauses `unless` is broken, the check would only find the same again under another name.
    """

    name: str
    clauses: tuple[str, ...]
    run: Callable[[Stage], Awaitable[None]]
    unless: tuple[str, ...] = ()


def check(
    name: str, *clauses: str, unless: tuple[str, ...] = ()
) -> Callable[[Callable[[Stage], Awaitable[None]]], Check]:
    """Make a function a check of these clauses."""
    return lambda run: Check(name, clauses, run, unless)


async def perform(one: Check, stage: Stage) -> None:
    """Run a check to its end and take down what it says of each of its clauses."""
    watch = stage.watch
    watch.begin(one.name, one.clauses[0])
    for clause in one.unless:
        if watch.is_broken(clause):
            _rest(watch, one, f"not reached: {clause} is broken")
            return
    try:
        await one.run(stage)
    except Broken as found:
        watch.broken(found)
        _rest(watch, one, f"not reached: {found.clause or one.clauses[0]} was broken first")
    except Inapplicable as reason:
        _rest(watch, one, str(reason))
    else:
        for clause in one.clauses:
            if not watch.has_said(clause):
                stage.kept(clause)
    await stage.tidy()


def _rest(watch: Watch, one: Check, reason: str) -> None:

    for clause in one.clauses:
        if not watch.has_said(clause):
            watch.say(clause, Status.SKIPPED, reason)
