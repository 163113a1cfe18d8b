"""A cloud in memory: its books of everything ever made, who may see what when, and what it collects by itself.

It alone knows the truth. It must not know what any daemon believes; time comes in as an argument (seconds, never going
back).
"""

from attrs import define, field

from provisioner.sim.chaos.history import Supplier


@define(eq=False)
class Thing:
    """One machine the cloud has made; it costs money from `made_s` until `leaves_s`.

    `recorded` is whether its provider knows it as one of its own, `named` whether a daemon was told of it by name.
    """

    id: str
    token: str
    made_s: float
    visible_s: float
    runs_s: float
    leaves_s: float | None = None
    reclaimed: bool = False
    recorded: bool = False
    named: bool = False

    def lives(self, now_s: float) -> bool:
        """Whether it still exists and is charged."""
        return self.leaves_s is None or now_s < self.leaves_s


@define(eq=False)
class Order:
    """What the far side itself keeps of one token: how much was asked for, made, and until when more may come."""

    token: str
    units: int
    visible_s: float
    done_s: float
    made: list[Thing] = field(factory=list)


@define(eq=False)
class FarSide:
    """The cloud behind one provider; `wrong` collects what must never happen there."""

    supplier: Supplier
    things: dict[str, Thing] = field(factory=dict)
    orders: dict[str, Order] = field(factory=dict)
    under_way: dict[str, int] = field(factory=dict)
    asked: dict[str, int] = field(factory=dict)
    given_up: set[str] = field(factory=set)
    wrong: list[str] = field(factory=list)

    def make(self, token: str, units: int, now_s: float, delay_s: float) -> Order:
        """Buys under a token: the same order again where the far side knows tokens, more things where it does not.

        `delay_s` is how long what is made stays out of lists.
        """
        was_taken = self.under_way.pop(token, None) is not None
        known = self.orders.get(token)
        exact = self.supplier.promises.token_replay == "exact"
        if known is not None and exact and now_s < known.done_s + self.supplier.promises.token_lifetime_s:
            return known
        # An order that was taken before it was done is known at once; only what it makes is seen later.
        order = Order(token, units, now_s if was_taken else now_s + delay_s, now_s)
        self.orders[token] = order
        free = self.supplier.capacity - sum(t.lives(now_s) for t in self.things.values())
        for _ in range(max(0, min(units, free))):
            thing = Thing(
                id=f"{self.supplier.name}-{len(self.things) + 1}",
                token=token,
                made_s=now_s,
                visible_s=now_s + delay_s,
                runs_s=now_s + self.supplier.lead_s,
            )
            self.things[thing.id] = thing
            order.made.append(thing)
        born = sum(t.token == token for t in self.things.values())
        if born > self.asked.get(token, units):
            self.wrong.append(f"{born} things were made under {token}, {self.asked.get(token, units)} were asked for")
        return order

    def give_up(self, token: str, now_s: float) -> None:
        """Ends an order that was taken and has made nothing yet: it never will."""
        units = self.under_way.pop(token)
        self.given_up.add(token)
        self.orders[token] = Order(token, units, now_s, now_s)

    def leave(self, thing: Thing, at_s: float) -> None:
        """Ends a thing at a time, if nothing ended it before."""
        if thing.leaves_s is None or at_s < thing.leaves_s:
            thing.leaves_s = at_s

    def collect(self, now_s: float) -> None:
        """What nobody was ever told of ends by itself, where the provider promised so."""
        ends_s = self.supplier.promises.unknown_ends_s
        for thing in self.things.values() if ends_s is not None else ():
            if ends_s is not None and not thing.named and now_s >= thing.made_s + ends_s:
                self.leave(thing, now_s)

    def living(self, now_s: float) -> list[Thing]:
        """Everything that is charged now."""
        return [t for t in self.things.values() if t.lives(now_s)]

    def of_token(self, token: str, now_s: float) -> list[Thing]:
        """What bears this token and can be seen."""
        return [t for t in self.things.values() if t.token == token and t.visible_s <= now_s]
