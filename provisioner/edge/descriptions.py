"""How the pages of a description become one: in full, or a change applied to what is held (DS-1, DS-2).

It alone knows how templates, removals and limits are joined; it must not know when a description is read, nor what
is bought of it.
"""

from collections.abc import Iterable, Sequence

from attrs import frozen

from provider_sdk.contract import DescribeResult
from provisioner.core.facts import DescriptionFact
from provisioner.core.ids import digest
from provisioner.core.model import SharedLimit, Template
from provisioner.edge import from_provider

TEMPLATES_MOST = 20_000
"""The contract's own bound (DS-6)."""


@frozen
class Reading:
    """A whole description after one pass; equal contents have equal digests, whatever the provider calls them.

    `revision` is empty where the pages named several: nothing may be applied to such a one.
    """

    revision: str
    digest: str
    templates: tuple[Template, ...]
    limits: tuple[SharedLimit, ...]


def joined(
    pages: Sequence[DescribeResult], known: str | None, held: DescriptionFact | None, *, whole: bool = True
) -> Reading | str:
    """What is on offer after these pages of one pass, or a sentence why they say nothing.

    `known` is the revision asked about, `held` what it stood for. A change is applied only to that very revision; pages
    without `base` replace all. `whole` is whether every page could be read to the last template: what is not in a
    change would else count as unchanged. In a change `limits`, where stated, are all of them, as in a full description.
    """
    base = pages[0].base
    if any(page.base != base for page in pages[1:] if page.base is not None):
        return "its pages are changes to different revisions"
    if base is None:
        return _reading(pages, {}, None)
    if base != known or held is None:
        return f"it tells changes to the revision {base}, which it was not asked about"
    if not whole:
        return f"not all of its changes to the revision {base} can be read"
    if _says_nothing_new(pages, base):
        return Reading(base, held.digest, held.templates, held.limits)
    gone = {name for page in pages for name in page.removed}
    return _reading(pages, {t.template: t for t in held.templates if t.template not in gone}, held.limits)


def _says_nothing_new(pages: Sequence[DescribeResult], base: str) -> bool:
    return all(p.revision == base and not p.templates and not p.removed and p.limits is None for p in pages)


def _reading(
    pages: Sequence[DescribeResult], kept: dict[str, Template], limits: tuple[SharedLimit, ...] | None
) -> Reading | str:
    """The kept templates with those of the pages over them; a template named twice counts as said last."""
    for page in pages:
        kept.update({wire.template: from_provider.template(wire) for wire in page.templates})
    if len(kept) > TEMPLATES_MOST:
        return f"it describes {len(kept):,} templates, more than {TEMPLATES_MOST:,}"
    if limits is None or any(page.limits is not None for page in pages):
        told = from_provider.limits(wire for page in pages for wire in page.limits or ())
        limits = _in_order({limit.limit: limit for limit in told})
    templates = tuple(kept[name] for name in sorted(kept))
    revisions = {page.revision for page in pages}
    revision = pages[-1].revision if len(revisions) == 1 else ""
    return Reading(revision, description_digest(templates, limits), templates, limits)


def _in_order(limits: dict[str, SharedLimit]) -> tuple[SharedLimit, ...]:
    return tuple(limits[name] for name in sorted(limits))


def description_digest(templates: Iterable[Template], shared: Iterable[SharedLimit]) -> str:
    """What changes when the content of a description does, whatever the provider says of its revision."""
    return digest("description", repr(tuple(templates)), repr(tuple(shared)), length=26)
