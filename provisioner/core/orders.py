"""What operators order, as events in the past tense; each bears who gave the order and why.

What an order comes to is operator.py's knowledge.
"""

from attrs import frozen


@frozen
class ProviderPaused:
    """An operator has ordered that nothing is bought from a provider until a time (epoch seconds)."""

    provider: str
    until_at: float
    why: str
    by: str


@frozen
class ProviderResumed:
    """An operator has ended the pause, and has put right whatever the provider was left alone for."""

    provider: str
    why: str
    by: str


@frozen
class ProviderRestarted:
    """An operator has ordered another process of a provider."""

    provider: str
    why: str
    by: str


OperatorEvent = ProviderPaused | ProviderResumed | ProviderRestarted
