"""The scalar forms of the contract: what a name, a reference, a time or an amount looks like on the wire.

Alone responsible for the patterns and bounds of single values. Knows no message and decodes nothing; the codec
reads the constraints off these annotations, and the published schemas are tested to state the same ones.
"""

from collections.abc import Mapping
from typing import Annotated, Final

from attrs import frozen
from msgspec import Meta

INT_MAX: Final = 2**53 - 1

NAME_PATTERN: Final = r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?\Z"
REF_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9._:@=+/-]{0,199}\Z"
CURSOR_PATTERN: Final = r"^[ -~]{1,2048}\Z"
STATE_ID_PATTERN: Final = r"^[A-Za-z0-9._-]{16,64}\Z"
AMOUNT_PATTERN: Final = r"^(0|[1-9][0-9]{0,11})(\.[0-9]{1,9})?\Z"
CURRENCY_PATTERN: Final = r"^[A-Z]{3}\Z"
ATTRIBUTE_KEY_PATTERN: Final = r"^[a-z][a-z0-9_.]{0,63}\Z"
PATH_PATTERN: Final = r"^/[^\x00]*\Z"

# The whole calendar is in the pattern (month lengths, leap years 1970 to 2999), so that a value that matches can
# always be parsed, and the schema, which can say patterns only, refuses exactly what the codec refuses.
TIME_PATTERN: Final = (
    r"^((19[7-9][0-9]|2[0-9]{3})-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])"
    r"|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
    r"|(19(7[26]|8[048]|9[26])|2[0-9](0[48]|[2468][048]|[13579][26])|2[048]00)-02-29)"
    r"T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,3})?Z\Z"
)


# What a value that does not match is told; never the value itself, which may be a secret in the wrong place.
MUST_BE: Final[Mapping[str, str]] = {
    NAME_PATTERN: "must be a name: up to 40 of a-z, 0-9 and inner hyphens",
    REF_PATTERN: "must be a reference: up to 200 of A-Z, a-z, 0-9 and ._:@=+/-, beginning with a letter or digit",
    CURSOR_PATTERN: "must be 1 to 2048 printable ASCII characters",
    STATE_ID_PATTERN: "must be 16 to 64 of A-Z, a-z, 0-9 and ._-",
    AMOUNT_PATTERN: 'must be an amount like "2.19": up to 12 digits and up to 9 decimals, as text',
    CURRENCY_PATTERN: "must be a currency of three capital letters",
    ATTRIBUTE_KEY_PATTERN: "must have names of up to 64 of a-z, 0-9, _ and ., beginning with a letter",
    PATH_PATTERN: "must be an absolute path",
    TIME_PATTERN: "must be a time like 2031-03-04T17:58:12Z, in UTC, with at most 3 decimals",
}


@frozen
class Matches:
    """The text matches `pattern` (checked apart from msgspec's own checks, which are slow with patterns)."""

    pattern: str


@frozen
class EncodedLimit:
    """The value, written as compact JSON in UTF-8, takes at most `limit_bytes` bytes."""

    limit_bytes: int


Name = Annotated[str, Matches(NAME_PATTERN)]
Ref = Annotated[str, Matches(REF_PATTERN)]
Cursor = Annotated[str, Matches(CURSOR_PATTERN)]
StateId = Annotated[str, Matches(STATE_ID_PATTERN)]
AbsolutePath = Annotated[str, Matches(PATH_PATTERN)]
Time = Annotated[str, Matches(TIME_PATTERN)]
Amount = Annotated[str, Matches(AMOUNT_PATTERN)]
Currency = Annotated[str, Matches(CURRENCY_PATTERN)]

Text = Annotated[str, Meta(max_length=500)]
Word = Annotated[str, Meta(max_length=64)]
UnitName = Annotated[str, Meta(min_length=1, max_length=32)]
HostName = Annotated[str, Meta(max_length=253)]
Revision = Annotated[str, Meta(min_length=1, max_length=64)]
AccessValue = Annotated[str, Meta(max_length=2048)]

Int = Annotated[int, Meta(ge=-INT_MAX, le=INT_MAX)]
Count = Annotated[int, Meta(ge=0, le=INT_MAX)]
Positive = Annotated[int, Meta(ge=1, le=INT_MAX)]
Units = Count
Duration = Count
Epoch = Count
CallId = Positive
FrameBytes = Annotated[int, Meta(ge=1_048_576, le=INT_MAX)]
InFlight = Annotated[int, Meta(ge=1, le=256)]
PageLimit = Annotated[int, Meta(ge=1, le=1000)]
# Bounded like integers: JSON knows one kind of number, so a whole one may arrive written either way.
Finite = Annotated[float, Meta(ge=-INT_MAX, le=INT_MAX)]
Number = Int | Finite

FreeMap = Mapping[str, object]
Config = Annotated[FreeMap, EncodedLimit(512 * 1024)]
RequestData = Annotated[FreeMap, EncodedLimit(16 * 1024)]
Extra = Annotated[FreeMap, EncodedLimit(4 * 1024)]
LogFields = Annotated[FreeMap, EncodedLimit(2 * 1024)]
