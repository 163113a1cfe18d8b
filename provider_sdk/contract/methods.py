"""The table of methods and notifications: what each carries, who must have it, and what it changes.

Alone responsible for the names of methods. Decodes nothing and calls nothing.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal

from attrs import frozen

from provider_sdk.contract import messages as m
from provider_sdk.contract import notifications as n
from provider_sdk.contract.types import Report
from provider_sdk.contract.words import Capability


@frozen
class Method:
    """One method: types of params and result; `changing` ones may have an effect at the far side."""

    name: str
    params: type[object]
    result: type[object]
    required: bool
    changing: bool
    capability: Capability | None = None


@frozen
class NotificationKind:
    """One notification: who sends it and the type of its params."""

    name: str
    params: type[object]
    sender: Literal["daemon", "provider"]


def _required(name: str, params: type[object], result: type[object], *, changing: bool = False) -> Method:
    return Method(name, params, result, required=True, changing=changing)


def _optional(
    name: str, params: type[object], result: type[object], capability: Capability, *, changing: bool
) -> Method:
    return Method(name, params, result, required=False, changing=changing, capability=capability)


METHODS: Final[Mapping[str, Method]] = MappingProxyType(
    {
        method.name: method
        for method in (
            _required("initialize", m.InitializeParams, m.InitializeResult),
            _required("describe", m.DescribeParams, m.DescribeResult),
            _required("request", m.RequestParams, Report, changing=True),
            _required("request_status", m.RequestStatusParams, m.RequestStatusResult),
            _required("return", m.ReturnParams, m.ReturnResult, changing=True),
            _required("return_status", m.ReturnStatusParams, m.ReturnStatusResult),
            _required("list", m.ListParams, m.ListResult),
            _required("ping", m.PingParams, m.PingResult),
            _required("shutdown", m.ShutdownParams, m.ShutdownResult),
            _optional("quote", m.QuoteParams, m.QuoteResult, Capability.QUOTE, changing=False),
            _optional("cancel", m.CancelParams, Report, Capability.CANCEL, changing=True),
            _optional("extend", m.ExtendParams, m.ExtendResult, Capability.EXTEND, changing=True),
            _optional("forget", m.ForgetParams, m.ForgetResult, Capability.FORGET, changing=False),
        )
    }
)

NOTIFICATIONS: Final[Mapping[str, NotificationKind]] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            NotificationKind("cancel_call", n.CancelCall, "daemon"),
            NotificationKind("exit", n.Exit, "daemon"),
            NotificationKind("changed", n.Changed, "provider"),
            NotificationKind("notice", n.Notice, "provider"),
            NotificationKind("progress", n.Progress, "provider"),
            NotificationKind("log", n.Log, "provider"),
        )
    }
)
