"""What may have to be done outside, as a closed union of frozen values; derived from the world, never remembered
beside it.

An effect's key is (effect, record, carrier, n): equal keys are the same act and are never begun twice while one is in
flight.
"""

from attrs import frozen


@frozen
class EffectKey:
    """Names one act: the effect's name, the provider and the record it serves, the process that carries it, and the
    count of its repetitions."""

    effect: str
    provider: str
    record: str
    process: int
    n: int


@frozen
class StartProcess:
    """Start the provider's process; what an earlier daemon left of it must be proven gone first."""

    key: EffectKey
    provider: str
    number: int
    epoch: int


@frozen
class OpenProvider:
    """Send `initialize` to the process just recorded."""

    key: EffectKey
    provider: str
    number: int
    epoch: int


@frozen
class StopProcess:
    """End the provider's process by the stop ladder."""

    key: EffectKey
    provider: str
    number: int
    reason: str


@frozen
class ReadDescription:
    """Ask the provider to describe itself; with `known` only for what has changed since that revision."""

    key: EffectKey
    provider: str
    number: int
    known: str | None = None


@frozen
class ReadList:
    """Read the provider's whole list, page by page, in one pass."""

    key: EffectKey
    provider: str
    number: int


@frozen
class ReadSome:
    """Read the present state of named instances; never a proof of absence."""

    key: EffectKey
    provider: str
    number: int
    refs: tuple[str, ...]


@frozen
class SendRequest:
    """Write the request frame of one purchase, once, by the process it is bound to."""

    key: EffectKey
    provider: str
    number: int
    request: str
    timeout_s: int


@frozen
class AskRequest:
    """Ask for the outcome of one purchase; asks of one provider may travel in one frame, but not those `alone`."""

    key: EffectKey
    provider: str
    number: int
    request: str
    alone: bool = False


@frozen
class CancelRequest:
    """Ask that no further unit of one purchase be made; asking again is harmless."""

    key: EffectKey
    provider: str
    number: int
    request: str


@frozen
class Forget:
    """Tell the provider that these final answers are stored for good, so that it may drop its records of them."""

    key: EffectKey
    provider: str
    number: int
    requests: tuple[str, ...]
    returns: tuple[str, ...]


@frozen
class SendReturn:
    """Give named instances back; saying it again is harmless."""

    key: EffectKey
    provider: str
    number: int
    return_id: str


@frozen
class AskReturn:
    """Ask how a give-back stands; asks of one provider may travel in one frame, but not those `alone`."""

    key: EffectKey
    provider: str
    number: int
    return_id: str
    alone: bool = False


@frozen
class ExtendItem:
    """One instance, as its provider calls it, and until when (epoch) it is to be left to us."""

    instance: str
    provider_id: str
    until_at: float


@frozen
class ExtendInstances:
    """Put off the end of instances; saying it again is harmless, the later time wins."""

    key: EffectKey
    provider: str
    number: int
    items: tuple[ExtendItem, ...]


@frozen
class AskQuote:
    """Ask what so many units of a template would cost; obliges nobody."""

    key: EffectKey
    provider: str
    number: int
    template: str
    units: int


Effect = (
    StartProcess
    | OpenProvider
    | StopProcess
    | ReadDescription
    | ReadList
    | ReadSome
    | SendRequest
    | AskRequest
    | CancelRequest
    | Forget
    | ExtendInstances
    | AskQuote
    | SendReturn
    | AskReturn
)
