"""Whether any line in force could use a host like this one, whole and empty; answered once for equal hosts."""

from collections.abc import Callable, Sequence

from provisioner.core.policy.demand import Want, may_share
from provisioner.core.policy.pools import memory_permille
from provisioner.core.policy.rooms import bundles_in
from provisioner.core.policy.standing import Case
from provisioner.core.policy.traits import Traits, mismatch, traits_as_delivered
from provisioner.core.settings import Settings


def usefulness(wanted: Sequence[Want], settings: Settings, counts: Callable[[Want], bool]) -> Callable[[Case], bool]:
    """A question about cases: whether a line in force of the same source that `counts` is satisfied by such a host."""
    by_source: dict[str, list[Want]] = {}
    for want in wanted:
        if want.in_force and counts(want):
            by_source.setdefault(want.key[0], []).append(want)
    known: dict[tuple[object, ...], bool] = {}

    def is_useful(case: Case) -> bool:
        lines = by_source.get("" if case.source is None else case.source.name)
        if not lines:
            return False
        key = _likeness(case)
        if key not in known:
            known[key] = _is_any_satisfied(case, lines, settings)
        return known[key]

    return is_useful


def _is_any_satisfied(case: Case, lines: Sequence[Want], settings: Settings) -> bool:
    instance = case.instance
    permille = memory_permille(settings, instance.provider, instance.template)
    traits = traits_as_delivered(instance, () if case.entry is None else case.entry.size, permille)
    return any(_satisfies(traits, instance.consumer, want, settings) for want in lines)


def _satisfies(traits: Traits, consumer: str, want: Want, settings: Settings) -> bool:
    return (
        may_share(settings, consumer, want.line.consumer)
        and mismatch(traits, want.line) is None
        and bundles_in(traits.size, want.line) > 0
    )


def _likeness(case: Case) -> tuple[object, ...]:
    instance = case.instance
    source = "" if case.source is None else case.source.name
    if instance.request is None:
        return (source, instance.id)
    seen_size = () if case.entry is None else case.entry.size
    return (source, instance.request, seen_size, instance.size, instance.labels, instance.place)
