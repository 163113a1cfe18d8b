"""Serves the REST interface on Hypercorn's trio connections: one door, one application, every wait bounded.

It alone knows how connections are taken, limited and ended; what is answered is rest_app.py's, how doors are opened
rest_doors.py's. Hypercorn's own accept loop is not used: it makes listening sockets inheritable, and at the end it
would wait for ever for a caller that does not read.
"""

import socket
import struct
import traceback
from importlib.metadata import version
from typing import Final

import trio
from hypercorn.config import Config
from hypercorn.events import Event, RawData, Updated
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper, ConnectionState
from hypercorn.utils import wrap_app

from provisioner.core.settings import Settings
from provisioner.runtime.beside import WorkThread
from provisioner.runtime.log import open_log
from provisioner.runtime.rest_app import Daemon, rest_app
from provisioner.runtime.rest_calls import Reached
from provisioner.runtime.rest_doors import Door, DoorRefused, open_doors
from provisioner.runtime.rest_orders import CALLER
from provisioner.runtime.supervision import Log

__all__ = ["Daemon", "DoorRefused", "serve_rest"]

DISTRIBUTION: Final = "resource-provisioner"
CONNECTIONS_MOST: Final = 256
"""Open connections of one door; who comes when it is full is hung up on at once, and may come again."""
READ_S: Final = 60
SEND_S: Final = 30.0
GRACE_S: Final = 1.0
_CREDENTIALS: Final = struct.Struct("3i")
"""Process, user and group of who connected to a Unix socket (unix(7), SO_PEERCRED)."""


async def serve_rest(
    daemon: Daemon,
    reached: Reached,
    settings: Settings,
    log: Log | None = None,
    *,
    task_status: trio.TaskStatus[list[str]] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serves every configured door until cancelled; started with their URLs once all listen, else DoorRefused.

    On cancellation no new connection is taken, what is being answered has GRACE_S, then everything is cut.
    """
    heard: Log = log if log is not None else open_log(verbose=False)
    with open_doors(settings) as doors:
        beside = WorkThread()
        # One application object a door: Hypercorn and Litestar keep state by application.
        apps = [rest_app(daemon, reached, version(DISTRIBUTION), heard, d.token, beside=beside) for d in doors]
        served = [_Connections(app, heard) for app in apps]
        async with trio.open_nursery() as nursery:
            stop = trio.Event()
            for connections, door in zip(served, doors, strict=True):
                nursery.start_soon(_serve_door, connections, door, stop)
            task_status.started([door.url for door in doors])
            try:
                await trio.sleep_forever()
            finally:
                stop.set()


async def _serve_door(connections: "_Connections", door: Door, stop: trio.Event) -> None:
    """Shielded, so that what is being answered is not cut in the middle; bounded by the grace."""
    with trio.CancelScope(shield=True):
        async with trio.open_nursery() as serving:
            listener = trio.SocketListener(trio.socket.from_stdlib_socket(door.socket))
            accepting = await serving.start(_accept, connections, listener, serving)
            await stop.wait()
            accepting.cancel()
            await connections.end(GRACE_S)
            serving.cancel_scope.cancel()


async def _accept(
    connections: "_Connections",
    listener: trio.SocketListener,
    serving: trio.Nursery,
    task_status: trio.TaskStatus[trio.CancelScope] = trio.TASK_STATUS_IGNORED,
) -> None:
    with trio.CancelScope() as scope:
        task_status.started(scope)
        await trio.serve_listeners(connections.serve, [listener], handler_nursery=serving)


class _Connections:
    """The open connections of one door."""

    def __init__(self, app: object, log: Log) -> None:
        self._log = log
        self._config = _config()
        self._app: AppWrapper = wrap_app(app, self._config.wsgi_max_body_size, "asgi")  # type: ignore[arg-type]
        self._context = WorkerContext(None)
        self._open: set[trio.SocketStream] = set()
        self._none_left = trio.Event()

    async def serve(self, stream: trio.SocketStream) -> None:
        """Serves one connection to its end; a fault in it ends it alone."""
        if len(self._open) >= CONNECTIONS_MOST:
            self._log.warning("rest_full", connections=CONNECTIONS_MOST)
            await trio.aclose_forcefully(stream)
            return
        self._open.add(stream)
        try:
            await _Connection(self._app, self._config, self._context, _carried(stream), stream).run()  # type: ignore[arg-type]
        except Exception as error:  # noqa: BLE001  Hypercorn and Litestar run here
            text = "".join(traceback.format_exception(error))
            self._log.warning("rest_connection_fault", fault=type(error).__name__, traceback=text)
        finally:
            self._open.discard(stream)
            if not self._open:
                self._none_left.set()

    async def end(self, grace_s: float) -> None:
        """Ends every connection: idle ones at once, those being answered within the grace, then all."""
        await self._context.terminated.set()
        self._none_left = trio.Event()
        if self._open:
            with trio.move_on_after(grace_s):
                await self._none_left.wait()
        for stream in tuple(self._open):
            await trio.aclose_forcefully(stream)


class _Connection(TCPServer):
    """Hypercorn's connection with a bound on each write, and gone as soon as its caller is.

    A caller that does not read is hung up on. One who has left would otherwise count for another 5 s, and callers that
    open a connection for each question would fill the door.
    """

    _has_left = False

    async def _read_data(self) -> None:
        await super()._read_data()
        self._has_left = True
        await self.idle_task.stop()

    async def protocol_send(self, event: Event) -> None:
        """Writes within SEND_S, or closes."""
        if not isinstance(event, RawData):
            if not (self._has_left and isinstance(event, Updated)):
                await super().protocol_send(event)
            return
        with trio.move_on_after(SEND_S) as scope:
            try:
                async with self.send_lock:
                    await self.stream.send_all(event.data)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                await self._hang_up()
        if scope.cancelled_caught:
            await self._hang_up()

    async def _hang_up(self) -> None:
        await trio.aclose_forcefully(self.stream)


def _carried(stream: trio.SocketStream) -> ConnectionState:
    """What every question of a connection carries: the user at the other end of a Unix socket, as the kernel says."""
    if stream.socket.family != socket.AF_UNIX:
        return ConnectionState({})
    raw = stream.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    uid = _CREDENTIALS.unpack(raw)[1]
    return ConnectionState({CALLER: f"uid {uid}"})


def _config() -> Config:
    config = Config()
    config.accesslog = None
    config.errorlog = None
    config.include_server_header = False
    config.read_timeout = READ_S
    config.graceful_timeout = GRACE_S
    config.alpn_protocols = ["http/1.1"]
    return config
