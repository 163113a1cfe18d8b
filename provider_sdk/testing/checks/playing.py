"""The check that plays legal sequences; it passes itself over where hypothesis is not installed."""

from importlib.util import find_spec

from provider_sdk.testing.check import Check, check
from provider_sdk.testing.stage import Stage
from provider_sdk.testing.verdict import Inapplicable


async def _sequences(stage: Stage) -> None:
    if find_spec("hypothesis") is None:
        raise Inapplicable("hypothesis is not installed (the extra `conformance`)")
    from provider_sdk.testing.sequences import play  # noqa: PLC0415 - an optional dependency

    if stage.subject.sequences < 1:
        raise Inapplicable("the subject file asks for no sequences")
    await play(stage, await stage.open(), stage.subject.sequences)


PLAYING: tuple[Check, ...] = (
    check("legal sequences", "SQ-1", "RQ-1", "RP-1", "RP-2", "IN-1", "RT-1", "LS-4")(_sequences),
)
