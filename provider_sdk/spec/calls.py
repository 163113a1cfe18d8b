"""What belongs to each call besides its types: the refusals to expect of it, what a capability adds, and the examples
that belong together.

Alone responsible for these tables. Knows no form in which they are shown.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from provider_sdk.contract import Capability
from provider_sdk.contract import ErrorClass as E

# Any class may answer any call; these are to be expected of every one.
OF_EVERY_CALL: Final = (
    E.BAD_MESSAGE,
    E.UNKNOWN_METHOD,
    E.BAD_PARAMS,
    E.INTERNAL,
    E.SHUTTING_DOWN,
    E.NOT_INITIALIZED,
    E.TOO_LARGE,
    E.CANCELLED,
    E.THROTTLED,
    E.AUTH,
    E.TRANSIENT,
)

OF_ONE_CALL: Final[Mapping[str, tuple[E, ...]]] = MappingProxyType(
    {
        "initialize": (E.VERSION, E.CONFIG, E.FENCED, E.STATE_LOCKED),
        "describe": (E.CURSOR_GONE,),
        "quote": (E.NO_CAPACITY, E.QUOTA, E.BAD_REQUEST, E.UNKNOWN_TEMPLATE),
        "request": (
            E.FENCED,
            E.NO_CAPACITY,
            E.QUOTA,
            E.BAD_REQUEST,
            E.UNKNOWN_TEMPLATE,
            E.PRICE,
            E.QUOTE_GONE,
            E.TOKEN_CONFLICT,
            E.UNSUPPORTED,
        ),
        "cancel": (E.FENCED, E.UNSUPPORTED),
        "return": (E.FENCED, E.UNSUPPORTED),
        "extend": (E.FENCED, E.UNSUPPORTED),
        "list": (E.CURSOR_GONE,),
    }
)

# Stand in problems and in items of a give-back or an extension, and refuse no call as a whole.
OF_ITEMS: Final = (E.HELD, E.NOT_FOUND)

# Capabilities that make a required method do more.
MORE_BY_CAPABILITY: Final[Mapping[str, Capability]] = MappingProxyType(
    {"describe": Capability.DESCRIBE_DELTA, "list": Capability.LIST_STATE}
)

# Good examples by name: params, and the result that answers them (none for a notification).
PAIRS: Final[Mapping[str, tuple[tuple[str, str | None], ...]]] = MappingProxyType(
    {
        "initialize": (("serve", "exact"), ("check", "nothing-promised")),
        "describe": (("all", "licence-pool"), ("known", "gpu-market")),
        "quote": (("eight", "held"),),
        "request": (("spot", "short"),),
        "request_status": (("one", "unknown"),),
        "cancel": (("one", "being-cancelled"),),
        "return": (("keep-eight", "moving"),),
        "return_status": (("two", "one-not-known"),),
        "list": (("first-page", "complete"),),
        "extend": (("lease", "lease"),),
        "forget": (("both", "empty"),),
        "ping": (("empty", "degraded"),),
        "shutdown": (("twenty", "open"),),
        "cancel_call": (("one", None),),
        "exit": (("empty", None),),
        "changed": (("both", None),),
        "notice": (("reclaim", None),),
        "progress": (("bidding", None),),
        "log": (("warning", None),),
    }
)


def errors_of(method: str) -> tuple[E, ...]:
    """Return the classes to expect of a method, in the order of the table of errors."""
    expected = {*OF_EVERY_CALL, *OF_ONE_CALL.get(method, ())}
    return tuple(each for each in E if each in expected)
