"""The calls that a provider need not serve, as effects become frames and answers become events: quote and extend.

It keeps no record and decides nothing; that a provider declared them was decided before (GR-3).
"""

from attrs import evolve, frozen

from provider_sdk.contract import ExtendResult, QuoteResult
from provisioner.core.effects import AskQuote, ExtendInstances
from provisioner.core.events import ExtendAnswered, ExtendWord, Lost, NotWritten, Quote, QuoteAnswered, Refusal
from provisioner.core.extending import is_kept
from provisioner.core.providers import epoch_of
from provisioner.core.world import World
from provisioner.edge import from_provider, to_provider
from provisioner.runtime.call_outcomes import Told, Unreadable, decoded, not_understood
from provisioner.runtime.provider_process import Committed, ProcessSeat


@frozen(eq=False)
class OptionalCalls:
    """Makes these calls of one provider; what can't be read of an answer is told."""

    seat: ProcessSeat
    engine: Committed
    told: Told

    async def extend(self, effect: ExtendInstances) -> None:
        """Puts ends off; what has begun to go meanwhile is left out. The outcome is an event."""
        world = self.engine.world()
        effect = evolve(effect, items=tuple(i for i in effect.items if _is_still_kept(world, i.instance)))
        if world is None or not effect.items:
            outcome: tuple[ExtendWord, ...] | Refusal | NotWritten | Lost = NotWritten("no longer owed")
        else:
            not_after = self.engine.moment().boot_s + self.seat.timeout_s("extend")
            params = to_provider.extend_params(effect.items, epoch_of(world, effect.provider), not_after)
            called = await self.seat.call(effect.number, "extend", params, owed=effect)
            answer = decoded(ExtendResult, called, self.told)
            if isinstance(answer, ExtendResult):
                outcome = tuple(from_provider.extend_word(i) for i in answer.items)
            else:
                outcome = not_understood(answer) if isinstance(answer, Unreadable) else answer
        await self.engine.tell(ExtendAnswered(effect.key, effect.provider, effect.number, effect.items, outcome))

    async def quote(self, effect: AskQuote) -> None:
        """Asks for a price; the outcome is an event."""
        params = to_provider.quote_params(effect.template, effect.units)
        answer = decoded(QuoteResult, await self.seat.call(effect.number, "quote", params, owed=effect), self.told)
        outcome: Quote | Refusal | NotWritten | Lost
        match answer:
            case QuoteResult():
                outcome = from_provider.quote(answer)
            case Unreadable():
                outcome = not_understood(answer)
            case _:
                outcome = answer
        await self.engine.tell(QuoteAnswered(effect.key, effect.provider, effect.number, effect.template, outcome))


def _is_still_kept(world: World | None, instance: str) -> bool:
    fact = world.live.get(instance) if world is not None else None
    return fact is not None and is_kept(fact)
