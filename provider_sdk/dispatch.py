"""The one place that calls jsonrpcserver: one request in, one answer out.

Knows that library's per-request names (its batch entry point needs asyncio, which a trio run does not have) and its
habit of putting exception texts on the wire; must not know what any method does.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from inspect import BoundArguments, Parameter, Signature
from typing import Any, cast

from jsonrpcserver.async_dispatcher import dispatch_request
from jsonrpcserver.dispatcher import create_request, to_response
from jsonrpcserver.response import to_serializable_one
from jsonrpcserver.result import Error, Success

from provider_sdk.contract.errors import write_error
from provider_sdk.errors import ContractError

Params = Mapping[str, object]
Method = Callable[[int, Params], Awaitable[dict[str, Any]]]
"""Takes the call's id and its params as they came; answers the result object or raises ContractError."""


class _AnyParams(Signature):
    """jsonrpcserver binds the params to the method's signature at every call; ours takes what there is."""

    __slots__ = ()

    def bind(self, /, *args: Any, **kwargs: Any) -> BoundArguments:
        """Nothing is bound, and nobody looks at what comes out."""
        return _NOTHING_BOUND


_ANY_PARAMS = _AnyParams([Parameter("call_id", Parameter.POSITIONAL_ONLY), Parameter("params", Parameter.VAR_KEYWORD)])
_NOTHING_BOUND = BoundArguments(_ANY_PARAMS, OrderedDict())


class Dispatcher:
    """Answers requests by name; `unknown` answers all other names, `on_bug` turns a stray exception into an error."""

    def __init__(
        self,
        methods: Mapping[str, Method],
        *,
        unknown: Method,
        on_bug: Callable[[int, Exception], ContractError],
    ) -> None:
        self._methods = _Methods(self._wrapped(unknown))
        self._methods.update((name, self._wrapped(method)) for name, method in methods.items())
        self._on_bug = on_bug

    async def answer(self, call_id: int, method: str, params: Params) -> dict[str, Any]:
        """Run one method to its end and give the whole answer frame as an object; raises nothing."""
        asked = create_request({"method": method, "params": params, "id": call_id})
        request, outcome = await dispatch_request(self._methods, call_id, asked)
        return cast(dict[str, Any], to_serializable_one(to_response(request, outcome)))

    def _wrapped(self, method: Method) -> Callable[..., Awaitable[object]]:
        async def run(call_id: int, /, **params: object) -> object:
            try:
                return Success(await method(call_id, params))
            except ContractError as refusal:
                return Error(**write_error(refusal))
            except Exception as bug:  # noqa: BLE001 - a foreign method; its text may not reach the wire
                return Error(**write_error(self._on_bug(call_id, bug)))

        run.__signature__ = _ANY_PARAMS  # type: ignore[attr-defined]
        return run


class _Methods(dict[str, Callable[..., Awaitable[object]]]):
    def __init__(self, unknown: Callable[..., Awaitable[object]]) -> None:
        super().__init__()
        self._unknown = unknown

    def __missing__(self, name: str) -> Callable[..., Awaitable[object]]:
        return self._unknown
