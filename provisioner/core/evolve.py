"""How a decision becomes the next world: changes are folded into facts and indexes; it judges nothing and loses
nothing."""

from collections.abc import Iterable
from typing import Any, TypeVar

from attrs import field, frozen
from immutables import Map

from provisioner.core import giveback, request
from provisioner.core.copying import copied
from provisioner.core.facts import (
    Change,
    DecisionFact,
    DemandFact,
    DescriptionFact,
    EpochFact,
    Fact,
    FactKind,
    HeadFact,
    HealthFact,
    InstanceFact,
    Key,
    OverrideFact,
    ProcessFact,
    RequestFact,
    ReturnFact,
    SupplyFact,
    WishFact,
)
from provisioner.core.instance import InstanceState
from provisioner.core.world import Seen, World


@frozen
class Accepted:
    """A push that counts, or a heartbeat (`news` False); `held_back` says why a shrunk view does not count yet."""

    source: str
    incarnation: int
    revision: int
    news: bool
    held_back: str = ""
    unmatched: tuple[str, ...] = ()


@frozen
class RefusedPush:
    """A push that does not count: `code` is revision_reused or stale_revision; current is what stands."""

    source: str
    code: str
    incarnation: int
    revision: int
    what: str


@frozen
class Ordered:
    """What an operator's order has come to, in sentences."""

    provider: str
    did: tuple[str, ...]


Reply = Accepted | RefusedPush | Ordered


@frozen
class Decision:
    """What one event comes to: fact changes, the new observations, whom it touches besides, and the answer to who
    pushed.

    `touched` are records to look at though they did not change; `providers` those of which every open record is to be
    looked at.
    """

    changes: tuple[Change, ...] = ()
    seen: Seen | None = None
    touched: tuple[Key, ...] = ()
    providers: tuple[str, ...] = ()
    replies: tuple[Reply, ...] = ()


NOTHING = Decision()


@frozen
class Draft:
    """A decision under way: the world as it would be, and what has been changed so far; each step gives a new one."""

    world: World
    changes: tuple[Change, ...] = ()
    touched: tuple[Key, ...] = ()
    providers: tuple[str, ...] = ()
    replies: tuple[Reply, ...] = field(factory=tuple)

    def put(self, kind: FactKind, id: str, value: Fact | None) -> "Draft":
        """The draft with one more record written (or deleted)."""
        change = Change(Key(kind, id), value)
        return copied(self, world=fold(self.world, (change,)), changes=(*self.changes, change))

    def see(self, seen: Seen) -> "Draft":
        """The draft with other observations."""
        return copied(self, world=copied(self.world, seen=seen))

    def touch(self, *keys: Key) -> "Draft":
        """The draft with more records to look at."""
        if self.touched[-len(keys) :] == keys:  # thousands may touch their provider one after the other
            return self
        return copied(self, touched=(*self.touched, *keys))

    def touch_provider(self, provider: str) -> "Draft":
        """The draft with every open record of one provider to look at."""
        return self if provider in self.providers else copied(self, providers=(*self.providers, provider))

    def reply(self, reply: Reply) -> "Draft":
        """The draft with an answer to who pushed."""
        return copied(self, replies=(*self.replies, reply))

    def done(self) -> Decision:
        """The decision."""
        return Decision(self.changes, self.world.seen, self.touched, self.providers, self.replies)


def fold(world: World, changes: Iterable[Change]) -> World:
    """The world with these changes in facts and indexes; versions are set apart, by `stamp`, once a commit gave
    them."""
    for change in changes:
        world = _fold_one(world, change.key, change.value)
    return world


def stamp(world: World, keys: Iterable[Key], revision: int) -> World:
    """The world with the version a commit gave to the records it changed; deleted ones lose theirs."""
    versions = world.versions.mutate()
    for key in keys:
        if is_there(world, key):
            versions[key] = revision
        else:
            versions.pop(key, None)
    return copied(world, versions=versions.finish())


def is_there(world: World, key: Key) -> bool:
    """Whether the record exists in this world."""
    if key.kind is FactKind.HEAD:
        return world.head is not None
    return key.id in _map_of(world, key.kind)


_FIELD = {
    FactKind.EPOCH: "epochs",
    FactKind.DEMAND: "demands",
    FactKind.SUPPLY: "supplies",
    FactKind.REQUEST: "requests",
    FactKind.RETURN: "returns",
    FactKind.INSTANCE: "instances",
    FactKind.DECISION: "decisions",
    FactKind.DESCRIPTION: "descriptions",
    FactKind.HEALTH: "health",
    FactKind.WISH: "wishes",
    FactKind.PROCESS: "processes",
    FactKind.OVERRIDE: "overrides",
}


def _map_of(world: World, kind: FactKind) -> Map[str, Fact]:
    found: Map[str, Fact] = getattr(world, _FIELD[kind])
    return found


def _fold_one(world: World, key: Key, value: Fact | None) -> World:
    match value:
        case None:
            return _deleted(world, key)
        case HeadFact():
            return copied(world, head=value)
        case RequestFact():
            return _with_request(world, value)
        case ReturnFact():
            return _with_return(world, value)
        case InstanceFact():
            return _with_instance(world, value)
        case (
            EpochFact()
            | DemandFact()
            | SupplyFact()
            | DecisionFact()
            | DescriptionFact()
            | HealthFact()
            | WishFact()
            | ProcessFact()
            | OverrideFact()
        ):
            name = _FIELD[key.kind]
            return copied(world, **{name: getattr(world, name).set(key.id, value)})


def _deleted(world: World, key: Key) -> World:
    """Only wishes, health, orders and the snapshots of sources are ever deleted; records of money are not."""
    name = _FIELD[key.kind]
    there = getattr(world, name)
    return copied(world, **{name: there.delete(key.id)}) if key.id in there else world


def _with_request(world: World, value: RequestFact) -> World:
    is_open = value.state in request.OPEN
    return copied(
        world,
        requests=world.requests.set(value.id, value),
        open_requests=_placed(world.open_requests, value.id, value, wanted=is_open),
        under_way=_placed(world.under_way, value.id, value, wanted=value.state in request.UNDER_WAY),
        armed=_placed(world.armed, value.id, value, wanted=is_open and value.armed),
        by_token=world.by_token if value.token in world.by_token else world.by_token.set(value.token, value.id),
    )


def _with_return(world: World, value: ReturnFact) -> World:
    is_open = value.state in giveback.OPEN
    return copied(
        world,
        returns=world.returns.set(value.id, value),
        open_returns=_placed(world.open_returns, value.id, value, wanted=is_open),
    )


def _with_instance(world: World, value: InstanceFact) -> World:
    where = (value.provider, value.provider_id)
    return copied(
        world,
        instances=world.instances.set(value.id, value),
        live=_placed(world.live, value.id, value, wanted=value.state is not InstanceState.GONE),
        by_provider_id=world.by_provider_id.set(where, value.id),
    )


V = TypeVar("V")


def _placed(index: Map[str, V], id: str, value: V, *, wanted: bool) -> Map[str, V]:
    if wanted:
        return index.set(id, value)
    return index.delete(id) if id in index else index


def loaded(world: World, records: Iterable[tuple[Key, int, Fact]]) -> World:
    """The world of all facts just read: the same folding as `fold`, done in bulk so that a start costs little more
    than reading."""
    bulk: dict[FactKind, dict[str, Fact]] = {kind: {} for kind in _FIELD}
    versions: dict[Key, int] = {}
    head = world.head
    for key, version, value in records:
        versions[key] = version
        if isinstance(value, HeadFact):
            head = value
        else:
            bulk[key.kind][key.id] = value
    plain: dict[str, Any] = {_FIELD[kind]: Map(found) for kind, found in bulk.items()}
    return copied(world, versions=Map(versions), head=head, **plain, **_indexes(bulk))


def _indexes(bulk: dict[FactKind, dict[str, Fact]]) -> dict[str, Any]:
    requests = [r for r in bulk[FactKind.REQUEST].values() if isinstance(r, RequestFact)]
    returns = [r for r in bulk[FactKind.RETURN].values() if isinstance(r, ReturnFact)]
    instances = [i for i in bulk[FactKind.INSTANCE].values() if isinstance(i, InstanceFact)]
    return {
        "live": Map({i.id: i for i in instances if i.state is not InstanceState.GONE}),
        "open_requests": Map({r.id: r for r in requests if r.state in request.OPEN}),
        "under_way": Map({r.id: r for r in requests if r.state in request.UNDER_WAY}),
        "armed": Map({r.id: r for r in requests if r.state in request.OPEN and r.armed}),
        "open_returns": Map({r.id: r for r in returns if r.state in giveback.OPEN}),
        "by_token": Map({r.token: r.id for r in requests}),
        "by_provider_id": _by_provider_id(instances),
    }


def _by_provider_id(instances: list[InstanceFact]) -> Map[tuple[str, str], str]:
    found: dict[tuple[str, str], str] = {(i.provider, i.provider_id): i.id for i in instances}
    return Map(found.items())
