"""What is known of an offer or a supplied thing, and whether it satisfies a line; it must not know what is bought or
held.

Conditions on numbers look at the size as jobs can use it (memory after `usable`), for offers and for what was
delivered alike: an offer that satisfies a line must do so as a host too, or it would be bought again and again.
"""

from collections.abc import Mapping

from attrs import frozen

from provisioner.core.facts import InstanceFact
from provisioner.core.model import Amounts, Constraint, Kind, Labels, Line, Place
from provisioner.core.reasons import Why

MODEL = "model"
RESOURCE = "resource"
_BYTES = frozenset({"memory", "disk", "gpu_memory"})
_PREFIXES = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))


@frozen(eq=False)
class Traits:
    """One offer or thing as lines look at it; `size` in thousandths as usable."""

    kind: Kind
    provider: str
    template: str
    size: Mapping[str, int]
    labels: Labels
    place: Place

    def words(self, attribute: str) -> tuple[str, ...]:
        """What is stated of an attribute in words, place and the offer's own names included; empty if nothing is."""
        stated = tuple(word for name, word in self.labels if name == attribute)
        named = self._named(attribute)
        return (named, *stated) if named is not None else stated

    def _named(self, attribute: str) -> str | None:
        match attribute:
            case "provider":
                return self.provider
            case "template":
                return self.template
            case "region":
                return self.place.region
            case "zone":
                return self.place.zone
            case "rack":
                return self.place.rack
            case _:
                return None


def traits_as_delivered(instance: InstanceFact, joined_size: Amounts, memory_permille: int) -> Traits:
    """The traits of a live instance: the scheduler's size first, then the larger of what was agreed and delivered."""
    terms = instance.terms
    size = dict(terms.size)
    for resource, amount in usable(instance.size, memory_permille).items():
        size[resource] = max(amount, size.get(resource, 0))
    size.update(joined_size)
    said = {attribute for attribute, _ in instance.labels}
    labels = instance.labels + tuple(pair for pair in terms.labels if pair[0] not in said)
    place = _delivered_place(instance.place, terms.place)
    return Traits(instance.kind, instance.provider, instance.template, size, labels, place)


def usable(size: Amounts, memory_permille: int) -> dict[str, int]:
    """The size that jobs can use: memory is cut to the usable share, all else is as stated."""
    return {name: amount * memory_permille // 1000 if name == "memory" else amount for name, amount in size}


def takes_whole(line: Line) -> bool:
    """Whether one of the line takes a whole host (or one unit of a grant) for itself."""
    return line.alone or not line.each or line.kind is not Kind.HOST


def mismatch(traits: Traits, line: Line) -> tuple[Why, str] | None:
    """Why the traits do not satisfy the line, and the condition or number that says so; room is not looked at."""
    if traits.kind is not line.kind:
        return Why.WRONG_KIND, traits.kind.value
    if line.resource is not None and not _names_resource(traits, line.resource):
        return Why.CONSTRAINT, f"resource is {traits.template}, wanted {line.resource}"
    for constraint in line.where:
        if not holds(traits, constraint):
            return Why.CONSTRAINT, _unmet(traits, constraint)
    return None


def shortage(size: Mapping[str, int], line: Line) -> str | None:
    """The first resource of which a host of this size has less than one bundle, with both numbers."""
    for resource, amount in line.each if line.kind is Kind.HOST else ():
        if size.get(resource, 0) < amount:
            has, wants = amount_text(resource, size.get(resource, 0)), amount_text(resource, amount)
            return f"{resource} {has} < {wants}"
    return None


def holds(traits: Traits, constraint: Constraint) -> bool:
    """Whether one condition holds; an attribute that is not stated satisfies only a negated one."""
    return _plainly_holds(traits, constraint) is not constraint.negated


def amount_text(resource: str, thousandths: int) -> str:
    """An amount as people write it: `2`, `0.5`, `15 GiB`."""
    if resource in _BYTES:
        for unit, factor in _PREFIXES:
            if thousandths >= factor * 1000:
                return f"{round(thousandths / 1000 / factor, 1):g} {unit}"
    whole, part = divmod(thousandths, 1000)
    return f"{whole}.{part:03d}".rstrip("0") if part else str(whole)


def _delivered_place(said: Place, agreed: Place) -> Place:
    return Place(said.region or agreed.region, said.zone or agreed.zone, said.rack or agreed.rack)


def _names_resource(traits: Traits, resource: str) -> bool:
    return resource in (traits.words(RESOURCE) or (traits.template,))


def _plainly_holds(traits: Traits, constraint: Constraint) -> bool:
    number = traits.size.get(constraint.attribute)
    words = traits.words(constraint.attribute)
    if number is None and not words:
        return False
    if constraint.least is not None or constraint.most is not None:
        return number is not None and _within(number, constraint)
    if not constraint.one_of:
        return True
    stated = words or (amount_text("", number or 0),)
    return any(word in constraint.one_of for word in stated)


def _within(number: int, constraint: Constraint) -> bool:
    low = constraint.least is None or number >= constraint.least
    return low and (constraint.most is None or number <= constraint.most)


def _unmet(traits: Traits, constraint: Constraint) -> str:
    name = constraint.attribute
    number = traits.size.get(name)
    has = ",".join(traits.words(name)) or ("not stated" if number is None else amount_text(name, number))
    return f"{name} is {has}, wanted {'not ' if constraint.negated else ''}{_wanted(constraint)}"


def _wanted(constraint: Constraint) -> str:
    parts = []
    if constraint.one_of:
        parts.append("|".join(constraint.one_of))
    if constraint.least is not None:
        parts.append(f">= {amount_text(constraint.attribute, constraint.least)}")
    if constraint.most is not None:
        parts.append(f"<= {amount_text(constraint.attribute, constraint.most)}")
    return " and ".join(parts) or "stated"
