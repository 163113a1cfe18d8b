"""Strict reading and lean writing of the contract's attrs classes, through cattrs.

Alone responsible for checking values against the annotations of `forms` and `types`: no coercion, every bound and
pattern, all faults. Knows no message; `codec` decides which classes take a faster way.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, cast, get_args, get_origin

import attrs
from cattrs import Converter
from cattrs.fns import identity
from cattrs.gen import make_dict_unstructure_fn, override
from msgspec import Meta

from provider_sdk.contract.checks import bounds, pattern_check, size_check
from provider_sdk.contract.forms import EncodedLimit, Matches
from provider_sdk.contract.shape import Gathering, fault
from provider_sdk.contract.types import AttributeValue, Quantity, Template
from provider_sdk.contract.words import DROPPED_WHEN_UNKNOWN, WEAKEST, Kind

Read = Callable[[object], object]
Hook = Callable[[object, object], object]


@cache
def strict_converter() -> Converter:
    """Return the one converter of the contract: strict in reading, leaving out what is at its default in writing."""
    converter = Converter(detailed_validation=False)
    for plain in (bool, int, float):
        converter.register_structure_hook(plain, _plain_hook(plain))
    converter.register_structure_hook(str, _text_hook())
    for matches, factory in (
        (is_mapping, _mapping_hook),
        (is_tuple, _tuple_hook),
        (_is_optional, _optional_hook),
        (_is_number, _number_hook),
        (_is_attribute_value, _attribute_hook),
        (is_annotated, _annotated_hook),
        (is_class, _class_hook),
    ):
        converter.register_structure_hook_factory(matches, factory)
    converter.register_unstructure_hook_factory(is_class, _class_writer)
    converter.register_unstructure_hook_func(_is_free_map, dict)
    converter.register_unstructure_hook_factory(is_tuple, _list_writer)
    converter.register_unstructure_hook_factory(_is_one_or_none, _optional_writer)
    return converter


def wire_name(field: str) -> str:
    """Return the wire's name of a field: a Python field ends in `_` where the word is reserved."""
    return field.removesuffix("_")


def misses_attributes(template: Mapping[str, object]) -> bool:
    """Return whether the raw object of a template lacks the attributes that every host template states."""
    return template.get("kind") == Kind.HOST and template.get("attributes") is None


# --- what a type is


def is_class(t: object) -> bool:
    """Return whether `t` is a class of the contract."""
    return isinstance(t, type) and attrs.has(t)


def _is_vocabulary(t: object) -> bool:
    return isinstance(t, type) and issubclass(t, StrEnum)


def is_annotated(t: object) -> bool:
    """Return whether `t` is a type with constraints."""
    return get_origin(t) is Annotated


def is_mapping(t: object) -> bool:
    """Return whether `t` is a map."""
    return get_origin(t) is Mapping


def _is_free_map(t: object) -> bool:
    return is_mapping(t) and get_args(t)[1] is object


def is_tuple(t: object) -> bool:
    """Return whether `t` is a list."""
    return get_origin(t) is tuple


def members(t: object) -> tuple[object, ...]:
    """Return the members of a union, none for another type."""
    return get_args(t) if get_origin(t) in (Union, UnionType) else ()


def _is_optional(t: object) -> bool:
    return type(None) in members(t)


def _is_one_or_none(t: object) -> bool:
    return _is_optional(t) and len(members(t)) == 2


def _bare(t: object) -> object:
    return get_args(t)[0] if is_annotated(t) else t


def _is_number(t: object) -> bool:
    return {_bare(member) for member in members(t)} == {int, float}


def _is_attribute_value(t: object) -> bool:
    return bool(members(t)) and t == AttributeValue


# --- reading: each hook returns the checked value or raises BadShape


def _reader(t: object, converter: Converter) -> Read:
    hook = cast(Hook, converter.get_structure_hook(t))
    return lambda raw: hook(raw, t)


def _plain_hook(plain: type[object]) -> Hook:
    what = {str: "must be a text", bool: "must be true or false", int: "must be a whole number"}.get(
        plain, "must be a number"
    )

    def read(raw: object, _: object) -> object:
        if type(raw) is not plain:
            raise fault(what)
        return raw

    return read


def _class_hook(t: type[Any], converter: Converter) -> Hook:
    plan = [
        (part.name, wire_name(part.name), part.default is attrs.NOTHING, _reader(part.type, converter))
        for part in attrs.fields(t)
    ]

    def read(raw: object, _: object) -> object:
        if not isinstance(raw, dict):
            raise fault("must be an object")
        faults = Gathering()
        stated: dict[str, object] = {}
        for name, on_wire, required, part in plan:
            value = raw.get(on_wire)
            if value is not None:
                stated[name] = faults.read(on_wire, part, value)
            elif required:
                faults.miss(on_wire)
        if t is Template and misses_attributes(raw):
            faults.miss("attributes")
        faults.refuse_if_any()
        return t(**stated)

    return read


def _optional_hook(t: object, converter: Converter) -> Hook:
    stated = tuple(member for member in members(t) if member is not type(None))
    hook = _reader(Union[stated], converter)  # noqa: UP007 - built at run time
    return lambda raw, _: None if raw is None else hook(raw)


def _tuple_hook(t: object, converter: Converter) -> Hook:
    item = _reader(get_args(t)[0], converter)

    def read(raw: object, _: object) -> object:
        if not isinstance(raw, list | tuple):
            raise fault("must be a list")
        faults = Gathering()
        items = tuple(faults.read(place, item, part) for place, part in enumerate(raw))
        faults.refuse_if_any()
        return items

    return read


def _mapping_hook(t: object, converter: Converter) -> Hook:
    key_type, value_type = get_args(t)
    read_key = _reader(key_type, converter)
    read_value: Read = (lambda raw: raw) if value_type is object else _reader(value_type, converter)

    def read(raw: object, _: object) -> object:
        if not isinstance(raw, Mapping):
            raise fault("must be an object")
        faults = Gathering()
        for key in raw:
            faults.read(key, read_key, key)
        entries = {key: faults.read(key, read_value, value) for key, value in raw.items()}
        faults.refuse_if_any()
        return entries

    return read


def _number_hook(t: object, converter: Converter) -> Hook:
    ways = {_bare(member): _reader(member, converter) for member in members(t)}

    def read(raw: object, _: object) -> object:
        way = ways.get(type(raw))
        if way is None:
            raise fault("must be a number")
        return way(raw)

    return read


def _attribute_hook(t: object, converter: Converter) -> Hook:
    by_type = {get_origin(_bare(member)) or _bare(member): _reader(member, converter) for member in members(t)}
    by_type[dict] = by_type[Quantity]
    by_type[list] = by_type[tuple]

    def read(raw: object, _: object) -> object:
        way = by_type.get(type(raw))
        if way is None:
            raise fault("must be a number, a text, true or false, a list of texts, or an object of value and unit")
        return way(raw)

    return read


def _text_hook() -> Hook:
    # One hook for texts and vocabularies: cattrs finds the one of `str` for every class derived from it.
    plain = _plain_hook(str)
    return lambda raw, t: _word_hook(cast(type[StrEnum], t))(raw, t) if _is_vocabulary(t) else plain(raw, t)


@cache
def _word_hook(t: type[StrEnum]) -> Hook:
    words = {word.value: word for word in t}
    weakest = WEAKEST.get(t)
    may_drop = t in DROPPED_WHEN_UNKNOWN

    def read(raw: object, _: object) -> object:
        if not isinstance(raw, str):
            raise fault("must be a text")
        word = words.get(raw, weakest)
        if word is None and not may_drop:
            raise fault("must be one of " + ", ".join(words))
        return word

    return read


def _annotated_hook(t: object, converter: Converter) -> Hook:
    inner, *marks = get_args(t)
    read_inner = _reader(inner, converter)
    before = [size_check(mark.limit_bytes) for mark in marks if isinstance(mark, EncodedLimit)]
    after = [pattern_check(mark.pattern) for mark in marks if isinstance(mark, Matches)]
    after += [check for mark in marks if isinstance(mark, Meta) for check in bounds(mark)]

    def read(raw: object, _: object) -> object:
        for check in before:
            check(raw)
        value = read_inner(raw)
        for check in after:
            check(value)
        return value

    return read


# --- writing


def _class_writer(t: type[Any], converter: Converter) -> Callable[[object], dict[str, object]]:
    names: Any = {part.name: override(rename=wire_name(part.name)) for part in attrs.fields(t)}
    write = make_dict_unstructure_fn(t, converter, _cattrs_omit_if_default=True, **names)
    return cast(Callable[[object], dict[str, object]], write)


def _optional_writer(t: object, converter: Converter) -> Callable[[Any], object]:
    """None is nearly always left out before, and what is written as it stands costs no call."""
    inner = next(member for member in members(t) if member is not type(None))
    write = cast(Callable[[Any], object], converter.get_unstructure_hook(inner))
    return write if write is identity else lambda value: None if value is None else write(value)


def _list_writer(t: object, converter: Converter) -> Callable[[Any], list[object]]:
    item = converter.get_unstructure_hook(get_args(t)[0])
    return lambda value: [item(part) for part in value]
