"""How ids are made from what is given; it draws nothing at random and reads no clock.

Names follow the contract's `name` form (contract v2 §3): lower-case letters, digits and hyphens, at most 40 characters.
"""

import hashlib
from base64 import b32encode


def digest(*parts: str, length: int = 16) -> str:
    """A name-safe digest of the parts; equal parts give equal digests on every machine."""
    raw = hashlib.sha256("\x1f".join(parts).encode()).digest()
    return b32encode(raw).decode().lower().rstrip("=")[:length]


def instance_id(provider: str, provider_id: str, token: str) -> str:
    """The id of an instance: a function of provider, the provider's id and token, so that it is found twice as one."""
    return "in-" + digest("instance", provider, provider_id, token)


def request_id(seed: str, ordinal: int) -> str:
    """The id of the ordinal-th purchase decided in one moment, `seed` being that moment's random text."""
    return "rq-" + digest("request", seed, str(ordinal))


def token_of(request: str, attempt: int) -> str:
    """The idempotency key of one attempt; another attempt has another token."""
    return f"tk-{request.removeprefix('rq-')}-{attempt}"


def return_id(seed: str, ordinal: int) -> str:
    """The id of the ordinal-th give-back decided in one moment."""
    return "rt-" + digest("return", seed, str(ordinal))


def decision_id(seed: str, ordinal: int) -> str:
    """The id of the ordinal-th decision of one moment."""
    return "dc-" + digest("decision", seed, str(ordinal))


def drain_id(seed: str, instance: str) -> str:
    """The id by which a source answers one drain of one instance."""
    return "dr-" + digest("drain", seed, instance)


def cancel_ask_id(request: str) -> str:
    """The name under which the asking for a purchase's end is paced, apart from questions about it."""
    return f"cancel/{request}"
