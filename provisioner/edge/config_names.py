"""Names of settings the configuration file may not hold: unknown ones, and those of later versions.

It alone knows how such a name is answered; it must not know how values are read.
"""

import difflib
from types import MappingProxyType
from typing import Final

from provisioner.core.settings import settings_table
from provisioner.core.settings_later import LATER

NAMES: Final = tuple(setting.name for setting in settings_table())

NOT_YET: Final = MappingProxyType(
    {later.name: later.sentence for later in LATER}
    | {setting.name: setting.row.sentence for setting in settings_table() if setting.row.later}
)
"""The sentence of each setting that is known but not obeyed yet."""


def not_yet_sentence(name: str) -> str | None:
    """What to say of a setting a later version brings, None if it is none."""
    sentence = NOT_YET.get(name)
    return None if sentence is None else f"is not yet supported by this version ({sentence.rstrip('.')})"


def has_later_keys(name: str) -> bool:
    """True if later versions take a mapping where this one takes a single value."""
    return any(later.startswith(f"{name}.") for later in NOT_YET)


def meant_key(key: str, prefix: str, known: tuple[str, ...]) -> str | None:
    """The key an unknown one was probably meant to be, among `known` and those of later versions under `prefix`."""
    later = tuple(name.removeprefix(prefix) for name in NOT_YET if name.startswith(prefix))
    close = difflib.get_close_matches(key, known + tuple(name for name in later if "." not in name), n=1)
    return close[0] if close else None


def meant_elsewhere(key: str) -> str | None:
    """The full name of a setting that has this key in another section."""
    return next((name for name in NAMES if name.rpartition(".")[2] == key), None)
