"""The conditions of a demand line's `where` and its `max_price`, from JSON to the core's words.

It alone knows how they are written in JSON; it must not know what they are compared with.
"""

from typing import Final

from provisioner.core.model import Constraint, Per
from provisioner.core.money import nanos_of
from provisioner.edge import quantities
from provisioner.edge.quantities import Complaint
from provisioner.edge.rest_fault import FieldFaults, below, shown
from provisioner.edge.rest_fields import ATTRIBUTE, ATTRIBUTE_REMEDY, Fields, open_object, thousandths

CONDITIONS_MOST: Final = 64
WORDS_MOST: Final = 64
WORD_MOST: Final = 256
_ADVICE: Final = 'write a word, a list of words, a number, a size, or {"min": 4, "max": 16, "not": "spot"}'


def read_where(value: object, at: str, faults: FieldFaults) -> tuple[Constraint, ...]:
    """The conditions, all of which must hold; empty where none are stated."""
    if value is None:
        return ()
    if not isinstance(value, dict) or len(value) > CONDITIONS_MOST:
        remedy = f'write an object of at most {CONDITIONS_MOST} attributes, such as {{"arch": "x86_64"}}'
        faults.add(at, f"{shown(value)} is no object of conditions", remedy)
        return ()
    found: list[Constraint] = []
    for attribute, wanted in value.items():
        here = below(at, attribute)
        if not ATTRIBUTE.fullmatch(attribute):
            faults.add(here, f"{shown(attribute)} is no attribute", ATTRIBUTE_REMEDY)
        elif isinstance(wanted, dict):
            found += _bounds(attribute, wanted, here, faults)
        else:
            found += _plain(attribute, wanted, here, faults)
    return tuple(found)


def _plain(attribute: str, wanted: object, at: str, faults: FieldFaults, *, negated: bool = False) -> list[Constraint]:
    constraint = _condition(attribute, wanted, negated=negated)
    if isinstance(constraint, Complaint):
        faults.add(at, constraint.sentence, constraint.remedy)
        return []
    return [constraint]


def _condition(attribute: str, wanted: object, *, negated: bool) -> Constraint | Complaint:
    match wanted:
        case bool():
            return Constraint(attribute, one_of=("true" if wanted else "false",), negated=negated)
        case int() | float():
            amount = thousandths(wanted)
            return (
                amount
                if isinstance(amount, Complaint)
                else Constraint(attribute, least=amount, most=amount, negated=negated)
            )
        case str():
            return _word(attribute, wanted, negated=negated)
        case list():
            words = tuple(w for w in wanted if isinstance(w, str) and _is_word(w))
            if not words or len(words) != len(wanted) or len(words) > WORDS_MOST:
                return Complaint(f"is no list of 1 to {WORDS_MOST} words", _ADVICE)
            return Constraint(attribute, one_of=words, negated=negated)
        case _:
            return Complaint(f"{shown(wanted)} is no condition", _ADVICE)


def _word(attribute: str, word: str, *, negated: bool) -> Constraint | Complaint:
    """A size such as "16GiB" is a number of bytes; every other text is a word."""
    size = quantities.size_bytes(word)
    if not isinstance(size, Complaint):
        return Constraint(attribute, least=size * 1000, most=size * 1000, negated=negated)
    if not _is_word(word):
        return Complaint(f"{shown(word)} is no word of 1 to {WORD_MOST} printable characters", _ADVICE)
    return Constraint(attribute, one_of=(word,), negated=negated)


def _is_word(text: str) -> bool:
    return 0 < len(text) <= WORD_MOST and text.isprintable()


def _bounds(attribute: str, wanted: dict[str, object], at: str, faults: FieldFaults) -> list[Constraint]:
    fields = open_object(wanted, at, faults, ("min", "max", "not"))
    if fields is None or not any(fields.states(key) for key in ("min", "max", "not")):
        faults.add(at, "states no bound", _ADVICE)
        return []
    least, most = _bound(fields, "min"), _bound(fields, "max")
    found = [Constraint(attribute, least=least, most=most)] if least is not None or most is not None else []
    if least is not None and most is not None and least > most:
        faults.add(at, "no amount can meet it", "write min no bigger than max")
    if fields.states("not"):
        found += _plain(attribute, wanted["not"], below(at, "not"), faults, negated=True)
    return found


def _bound(fields: Fields, key: str) -> int | None:
    if not fields.states(key):
        return None
    amount = thousandths(fields.values[key])
    if isinstance(amount, Complaint):
        fields.refuse(key, amount.sentence, amount.remedy)
        return None
    return amount


def read_max_price(fields: Fields, *, is_grant: bool, currency: str) -> int | None:
    """Nano-units per hour of one whole host, or of one unit of a grant; None where it is not stated.

    Written `"1.5 USD/h"` (grants: `"1.5 USD/unit-hour"`) or `{"amount": "1.5", "currency": "USD"}`, in the currency of
    all sums.
    """
    value = fields.values.get("max_price")
    if value is None:
        return None
    if isinstance(value, dict):
        return _money(value, below(fields.at, "max_price"), fields.faults, currency)
    per = Per.UNIT_HOUR if is_grant else Per.HOUR
    advice = f'write it like "3 {currency}/{"unit-hour" if is_grant else "h"}"'
    if not isinstance(value, str):
        fields.refuse("max_price", f"{shown(value)} is no price", advice)
        return None
    price = quantities.price(value, currency)
    if isinstance(price, Complaint):
        fields.refuse("max_price", price.sentence, price.remedy)
    elif price.currency != currency:
        _foreign(fields.faults, below(fields.at, "max_price"), price.currency, currency)
    elif price.per is not per:
        fields.refuse(
            "max_price", f"{shown(value)} is not for {'one unit' if is_grant else 'one host'} and hour", advice
        )
    else:
        return price.nanos
    return None


def _money(value: dict[str, object], at: str, faults: FieldFaults, currency: str) -> int | None:
    fields = open_object(value, at, faults, ("amount", "currency"))
    if fields is None:
        return None
    amount, stated = fields.text("amount", most=22), fields.text("currency", most=3)
    if amount is None or stated is None:
        for key in ("amount", "currency"):
            if not fields.states(key):
                fields.missing(key, f'write {{"amount": "1.5", "currency": "{currency}"}}')
        return None
    if stated != currency:
        _foreign(faults, below(at, "currency"), stated, currency)
    if not quantities.PLAIN_NUMBER.fullmatch(amount):
        fields.refuse(
            "amount", f"{shown(amount)} is no amount", 'write a decimal text with at most nine decimals, such as "1.5"'
        )
        return None
    return nanos_of(amount)


def _foreign(faults: FieldFaults, at: str, stated: str, currency: str) -> None:
    remedy = f"write it in {currency}; exchange rates are not yet supported"
    faults.add(at, f"{shown(stated)} is not {currency}, the currency of all sums", remedy)
