"""What sources push over REST: a parsed JSON body to DemandPushed, SupplyPushed or ClusterPushed, or to all its faults.

It alone knows the shape of the three snapshots; how one line is read is its neighbours' knowledge. It must not know
what a snapshot comes to.
"""

from collections.abc import Callable
from typing import Final, TypeVar

from provisioner.core.events import ClusterPushed, DemandPushed, PushedEntry, SupplyPushed
from provisioner.core.model import EntryState, Line
from provisioner.core.settings import Settings
from provisioner.edge.config_context import NAME_REMEDY, is_name
from provisioner.edge.rest_fault import Faulty, FieldFaults, below, shown
from provisioner.edge.rest_fields import Fields, open_object
from provisioner.edge.rest_lines import read_line

BODY_BYTES_MOST: Final = 16 * 1024 * 1024
LINES_MOST: Final = 10_000
ENTRIES_MOST: Final = 100_000
DEMAND_FIELDS: Final = ("incarnation", "revision", "supply_revision", "lines")
SUPPLY_FIELDS: Final = ("incarnation", "revision", "entries")
CLUSTER_FIELDS: Final = ("incarnation", "supply", "demand")
ENTRY_FIELDS: Final = (
    "instance", "provider", "provider_id", "token", "address", "name", "state", "since", "drain", "in_use", "size",
)  # fmt: skip
ENTRY_STATES: Final = tuple(state.value for state in EntryState)

T = TypeVar("T")


def read_demand(source: str, body: object, settings: Settings) -> DemandPushed | Faulty:
    """The demand snapshot of one source, or all faults of the body."""
    faults = FieldFaults()
    _check_source(source, faults)
    fields = open_object(body, "", faults, DEMAND_FIELDS)
    event = None if fields is None else _demand(source, fields, _incarnation(fields), settings)
    return _settled(event, faults)


def read_supply(source: str, body: object, settings: Settings) -> SupplyPushed | Faulty:
    """The supply snapshot of one source, or all faults of the body."""
    faults = FieldFaults()
    _check_source(source, faults)
    fields = open_object(body, "", faults, SUPPLY_FIELDS)
    event = None if fields is None else _supply(source, fields, _incarnation(fields))
    return _settled(event, faults)


def read_cluster(source: str, body: object, settings: Settings) -> ClusterPushed | Faulty:
    """Both snapshots of one source for one commit; the demand has counted this supply unless it says another."""
    faults = FieldFaults()
    _check_source(source, faults)
    fields = open_object(body, "", faults, CLUSTER_FIELDS)
    event = None if fields is None else _cluster(source, fields, settings)
    return _settled(event, faults)


def _settled(event: T | None, faults: FieldFaults) -> T | Faulty:
    if event is None or faults.count:
        return Faulty(faults.found(), faults.count)
    return event


def _check_source(source: str, faults: FieldFaults) -> None:
    if not is_name(source):
        faults.add("", f"{shown(source)}, the source in the path, is no name", NAME_REMEDY)


def _incarnation(fields: Fields) -> int:
    return fields.whole("incarnation") or 0


def _revision(fields: Fields) -> int:
    if not fields.states("revision"):
        fields.missing("revision", "write a whole number that grows with every new snapshot")
    return fields.whole("revision") or 0


def _demand(source: str, fields: Fields, incarnation: int, settings: Settings) -> DemandPushed:
    must_expire = settings.source(source).fresh_for_s is None
    currency = settings.money.currency

    def one(value: object, at: str, faults: FieldFaults) -> Line | None:
        return read_line(value, at, faults, currency=currency, must_expire=must_expire)

    numbered = _each(fields, "lines", LINES_MOST, one)
    _refuse_repeated(fields, numbered)
    if isinstance(fields.values.get("supply_revision"), dict):
        message = "a revision for each of several sources is not yet supported by this version"
        fields.refuse("supply_revision", message, "write the revision of this source's own supply")
        counted = None
    else:
        counted = fields.whole("supply_revision")
    return DemandPushed(source, incarnation, _revision(fields), counted, tuple(line for _, line in numbered))


def _supply(source: str, fields: Fields, incarnation: int) -> SupplyPushed:
    numbered = _each(fields, "entries", ENTRIES_MOST, _entry)
    _refuse_twice(fields, numbered)
    return SupplyPushed(source, incarnation, _revision(fields), tuple(entry for _, entry in numbered))


def _refuse_twice(fields: Fields, numbered: list[tuple[int, PushedEntry]]) -> None:
    """Of two entries for one instance, one drained and one busy, either could be the truth."""
    seen: set[object] = set()
    for n, entry in numbered:
        id_ = entry.instance or (entry.provider, entry.provider_id)
        if id_ != (None, None) and id_ in seen:
            message = "another entry names the same instance already"
            fields.faults.add(f"{below(fields.at, 'entries')}/{n}", message, "write one entry for each instance")
        seen.add(id_)


def _cluster(source: str, fields: Fields, settings: Settings) -> ClusterPushed | None:
    incarnation = _incarnation(fields)
    parts: dict[str, Fields] = {}
    for key, known in (("supply", SUPPLY_FIELDS[1:]), ("demand", DEMAND_FIELDS[1:])):
        if not fields.states(key):
            other = "demand" if key == "supply" else "supply"
            fields.missing(key, f"write both snapshots, or push to /v1/{other}/{source} alone")
            continue
        inner = open_object(fields.values[key], below("", key), fields.faults, known)
        if inner is not None:
            parts[key] = inner
    supply = _supply(source, parts["supply"], incarnation) if "supply" in parts else None
    demand = _demand(source, parts["demand"], incarnation, settings) if "demand" in parts else None
    if supply is None or demand is None:
        return None
    if not parts["demand"].states("supply_revision"):
        demand = DemandPushed(source, incarnation, demand.revision, supply.revision, demand.lines)
    return ClusterPushed(supply, demand)


def _each(
    fields: Fields, key: str, most: int, read: Callable[[object, str, FieldFaults], T | None]
) -> list[tuple[int, T]]:
    """Every element of a list with its number; an absent list is a fault, or it would pass for an empty one."""
    value = fields.values.get(key)
    if value is None:
        fields.missing(key, f'write "{key}": [] if there are none')
        return []
    if not isinstance(value, list):
        fields.refuse(key, f"{shown(value)} stands where a list is wanted", f'write "{key}": […]')
        return []
    if len(value) > most:
        fields.refuse(key, f"{len(value):,} are more than {most:,}", "put lines of equal shape together")
        return []
    at = below(fields.at, key)
    found = ((n, read(element, below(at, n), fields.faults)) for n, element in enumerate(value))
    return [(n, element) for n, element in found if element is not None]


def _refuse_repeated(fields: Fields, numbered: list[tuple[int, Line]]) -> None:
    seen: set[str] = set()
    for n, line in numbered:
        if line.id and line.id in seen:
            message = f"another line has the id {shown(line.id)} already"
            fields.faults.add(f"{below(fields.at, 'lines')}/{n}/id", message, "give each line an id of its own")
        seen.add(line.id)


def _entry(value: object, at: str, faults: FieldFaults) -> PushedEntry | None:
    fields = open_object(value, at, faults, ENTRY_FIELDS)
    if fields is None:
        return None
    state = fields.choice("state", ENTRY_STATES)
    if not fields.states("state"):
        fields.missing("state", f"write {' or '.join(ENTRY_STATES)}")
    _check_identity(fields)
    return PushedEntry(
        state=EntryState(state) if state is not None else EntryState.HELD,
        instance=fields.ref("instance"),
        provider=fields.name("provider"),
        provider_id=fields.ref("provider_id"),
        token=fields.name("token"),
        address=fields.text("address"),
        name=fields.text("name"),
        since=fields.time("since"),
        drain=fields.ref("drain"),
        in_use=fields.whole("in_use"),
        size=fields.amounts("size"),
    )


def _check_identity(fields: Fields) -> None:
    """An entry says which instance it is: by our id, by the provider's, or by address."""
    if fields.states("provider") != fields.states("provider_id"):
        there, lacking = ("provider", "provider_id") if fields.states("provider") else ("provider_id", "provider")
        fields.refuse(lacking, f"{lacking} is missing beside {there}", "write both, or the instance")
    elif fields.states("token") and not fields.states("address"):
        fields.refuse("address", "address is missing beside token", "write both, or the instance")
    elif not any(fields.states(key) for key in ("instance", "provider_id", "address")):
        remedy = "write instance, or provider and provider_id, or address"
        fields.faults.add(fields.at, "the entry does not say which instance it is", remedy)
