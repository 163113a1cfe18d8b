"""How a source's supply snapshot is taken in: entries are matched to instances of ours, and a shrunk view must be
said twice.

It must not know what is done with an idle host; it says only what the source said, and since when.
"""

from attrs import evolve

from provisioner.core.events import Moment, PushedEntry, SupplyPushed
from provisioner.core.evolve import Accepted, Draft
from provisioner.core.facts import FactKind, InstanceFact, Key, ShrunkView, SupplyFact
from provisioner.core.ids import digest
from provisioner.core.instance import InstanceState
from provisioner.core.intake import heard, refused, want_plan
from provisioner.core.model import EntryState, SupplyEntry
from provisioner.core.settings import Settings
from provisioner.core.world import World

SHRUNK_LEAST = 3
SHRUNK_PER_CENT = 20
SHRUNK_AGREE_S = 60.0
"""A snapshot that loses over max(3, 20 %) of joined hosts counts only when a second one 60 s later agrees (design
§6)."""

_CLOSED = (EntryState.DRAINING, EntryState.DRAINED)
_OPEN = (EntryState.IDLE, EntryState.BUSY)


def take_supply(draft: Draft, event: SupplyPushed, now: Moment, settings: Settings) -> Draft:
    """The draft with the newer supply, or a heartbeat, or a refusal that names what stands."""
    present = draft.world.supplies.get(event.source)
    content = content_digest(event.entries)
    order = (event.incarnation, event.revision)
    standing = None if present is None else (present.incarnation, present.revision)
    if present is not None and standing is not None:
        refusal = refused(event.source, order, standing, equal=present.digest == content, what="supply")
        if refusal is not None:
            return draft.reply(refusal)
    draft = heard(draft, event.source, now, settings, demand=False)
    entries, unmatched = _matched(draft.world, event, now, present)
    if present is not None and standing == order and not _agrees_by_now(present, now):
        seen = _observe_idle(draft, present.entries, now)
        return seen.reply(Accepted(event.source, *order, news=False, unmatched=unmatched))
    return _new_snapshot(draft, event, now, present, entries, unmatched, content)


def content_digest(entries: tuple[PushedEntry, ...]) -> str:
    """A digest by which a heartbeat is told from a reused revision."""
    return digest("supply", *sorted(repr(e) for e in entries), length=26)


def _new_snapshot(
    draft: Draft,
    event: SupplyPushed,
    now: Moment,
    present: SupplyFact | None,
    entries: tuple[SupplyEntry, ...],
    unmatched: tuple[str, ...],
    content: str,
) -> Draft:
    lost = _lost(draft.world, present, entries)
    shrunk = _shrunk(present, lost, event, now)
    if shrunk is not None and present is not None:
        entries = (*entries, *(e for e in present.entries if e.instance in lost))
    fact = SupplyFact(event.incarnation, event.revision, now.at, entries, content, shrunk)
    draft = _forget_idle(draft.put(FactKind.SUPPLY, event.source, fact), present, entries)
    draft = _observe_idle(draft, entries, now)
    draft = draft.touch(*_to_look_at(draft.world, entries))
    held = (
        f"{len(lost)} joined hosts are missing at once; they count as missing when a later snapshot agrees"
        if shrunk
        else ""
    )
    accepted = Accepted(event.source, event.incarnation, event.revision, news=True, held_back=held, unmatched=unmatched)
    return want_plan(draft.reply(accepted))


def _matched(
    world: World, event: SupplyPushed, now: Moment, present: SupplyFact | None
) -> tuple[tuple[SupplyEntry, ...], tuple[str, ...]]:
    before = {e.instance: e for e in present.entries} if present is not None else {}
    found: dict[str, SupplyEntry] = {}
    unmatched: list[str] = []
    by_address: dict[str, list[str]] | None = None
    for entry in event.entries:
        if entry.instance is None and entry.provider_id is None and by_address is None:
            by_address = _addresses(world, event.source)
        instance = _instance_of(world, entry, by_address or {})
        if instance in found and entry.state is EntryState.BUSY:
            # Named twice in different words: work that one of them knows of must not be lost.
            found[instance] = _entry(instance, entry, before.get(instance), event, now)
            continue
        if instance is None or instance in found:
            unmatched.append(entry.instance or entry.provider_id or entry.name or entry.address or "?")
            continue
        found[instance] = _entry(instance, entry, before.get(instance), event, now)
    return tuple(found[i] for i in sorted(found)), tuple(unmatched)


def _addresses(world: World, source: str) -> dict[str, list[str]]:
    """Addresses of the living instances bought for this source."""
    found: dict[str, list[str]] = {}
    for instance in world.live.values():
        if any(share.source == source for share in instance.shares):
            for address, _ in instance.addresses:
                found.setdefault(address, []).append(instance.id)
    return found


def _instance_of(world: World, entry: PushedEntry, by_address: dict[str, list[str]]) -> str | None:
    """Ours by id, else by provider and its id, else by address if exactly one living instance has it and the entry is
    younger than it."""
    if entry.instance is not None:
        return entry.instance if entry.instance in world.instances else None
    if entry.provider is not None and entry.provider_id is not None:
        return world.by_provider_id.get((entry.provider, entry.provider_id))
    candidates = by_address.get(entry.address or "", [])
    if entry.token is not None:
        candidates = [i for i in candidates if world.instances[i].token == entry.token]
    if len(candidates) != 1:
        return None
    born = world.instances[candidates[0]].made_at
    return candidates[0] if entry.token is not None or (entry.since is not None and entry.since >= born) else None


def _entry(
    instance: str, pushed: PushedEntry, before: SupplyEntry | None, event: SupplyPushed, now: Moment
) -> SupplyEntry:
    order = (event.incarnation, event.revision)
    stayed = before is not None and before.state is not EntryState.GONE and before.joined_rev[0] == event.incarnation
    reopened_rev, reopened_at = (
        (before.reopened_rev, before.reopened_at) if before is not None and stayed else (None, None)
    )
    if before is not None and stayed and before.state in _CLOSED and pushed.state in _OPEN:
        reopened_rev, reopened_at = order, now.at
    return SupplyEntry(
        instance=instance,
        name=pushed.name or instance,
        state=pushed.state,
        since=pushed.since,
        drain=pushed.drain,
        joined_rev=before.joined_rev if before is not None and stayed else order,
        joined_at=before.joined_at if before is not None and stayed else now.at,
        reopened_rev=reopened_rev,
        reopened_at=reopened_at,
        in_use=pushed.in_use,
        size=pushed.size,
    )


def _lost(world: World, present: SupplyFact | None, entries: tuple[SupplyEntry, ...]) -> frozenset[str]:
    """Instances that stood in the last snapshot, live on and are not on their way out, and are missing now."""
    if present is None:
        return frozenset()
    there = {e.instance for e in entries if e.state is not EntryState.GONE}
    return frozenset(
        e.instance
        for e in present.entries
        if e.state is not EntryState.GONE and e.instance not in there and _stays(world.live.get(e.instance))
    )


def _stays(instance: InstanceFact | None) -> bool:
    serving = (InstanceState.BOOTING, InstanceState.RUNNING, InstanceState.UNKNOWN)
    return instance is not None and instance.state in serving and instance.drain is None and instance.notice is None


def _shrunk(present: SupplyFact | None, lost: frozenset[str], event: SupplyPushed, now: Moment) -> ShrunkView | None:
    """The view to be held back, or None if nothing is missing, little is, or a second snapshot at least 60 s later
    agrees."""
    if present is None or not lost:
        return None
    joined = sum(1 for e in present.entries if e.state is not EntryState.GONE)
    if len(lost) <= max(SHRUNK_LEAST, joined * SHRUNK_PER_CENT // 100) and len(lost) < joined:
        return None
    before = present.shrunk
    first_at = before.first_at if before is not None and set(before.instances) <= lost else now.at
    if before is not None and first_at == before.first_at and now.at - first_at >= SHRUNK_AGREE_S:
        return None
    return ShrunkView(event.incarnation, event.revision, first_at, tuple(sorted(lost)))


def _agrees_by_now(present: SupplyFact, now: Moment) -> bool:
    """Whether a repeated snapshot is the second one that a shrunk view waits for."""
    return present.shrunk is not None and now.at - present.shrunk.first_at >= SHRUNK_AGREE_S


def _observe_idle(draft: Draft, entries: tuple[SupplyEntry, ...], now: Moment) -> Draft:
    """Since when we saw each host idle ourselves; idle age is the smaller of this and the source's word."""
    seen = draft.world.seen
    idle = seen.idle_since.mutate()
    for entry in entries:
        if entry.state in (EntryState.IDLE, *_CLOSED):
            if entry.instance not in idle:
                idle[entry.instance] = now.boot_s
        else:
            idle.pop(entry.instance, None)
    return draft.see(evolve(seen, idle_since=idle.finish()))


def _forget_idle(draft: Draft, present: SupplyFact | None, entries: tuple[SupplyEntry, ...]) -> Draft:
    """What left the snapshot is seen idle from the start when it is back."""
    there = {e.instance for e in entries}
    seen = draft.world.seen
    left = [e.instance for e in present.entries if e.instance not in there] if present is not None else []
    idle = seen.idle_since.mutate()
    for instance in left:
        idle.pop(instance, None)
    return draft.see(evolve(seen, idle_since=idle.finish())) if left else draft


def _to_look_at(world: World, entries: tuple[SupplyEntry, ...]) -> list[Key]:
    """Instances with a drain that the entry may end."""
    drained = (world.live.get(e.instance) for e in entries)
    return [Key(FactKind.INSTANCE, i.id) for i in drained if i is not None and i.drain is not None]
