"""Opens the doors of the REST interface: a Unix socket for the daemon's own user, and a loopback port with its token.

It alone knows what may stand in the way of listening, and says it in one sentence. It must not know what is served.
"""

import errno
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from attrs import frozen

from provisioner.core.settings import Address, Settings

BACKLOG: Final = 100
ASK_S: Final = 1.0
TOKEN_BYTES_MOST: Final = 4096
TOKEN_CHARACTERS_LEAST: Final = 16
OWNER_ONLY: Final = 0o177


class DoorRefused(Exception):
    """A door can't be opened; the sentence says which, why, and what to do."""


@frozen(eq=False)
class Door:
    """A listening socket, its URL, the token callers must show (if any), and the path to remove at the end."""

    socket: socket.socket
    url: str
    token: str | None = None
    path: Path | None = None
    inode: tuple[int, int] | None = None


@contextmanager
def open_doors(settings: Settings) -> Iterator[list[Door]]:
    """All configured doors, listening, and closed at the end; DoorRefused says what is in the way."""
    doors: list[Door] = []
    try:
        if settings.listen.socket is not None:
            doors.append(_unix_door(Path(settings.listen.socket)))
        if settings.listen.http is not None:
            token = read_token(Path(settings.listen.http.token_file))
            doors.append(_loopback_door(settings.listen.http.bind, token))
        yield doors
    finally:
        for door in doors:
            _close(door)


def check_doors(settings: Settings) -> None:
    """DoorRefused for what would be in the way of open_doors; of the socket nothing is to be seen yet."""
    if settings.listen.socket is not None:
        path = Path(settings.listen.socket)
        _clear_stale(path)
        if not os.access(path.parent, os.W_OK | os.X_OK):
            number = errno.EACCES if path.parent.exists() else errno.ENOENT
            raise _not_made(path, OSError(number, os.strerror(number)))
    if settings.listen.http is not None:
        token = read_token(Path(settings.listen.http.token_file))
        _close(_loopback_door(settings.listen.http.bind, token))


def read_token(path: Path) -> str:
    """The token in a file for its owner's eyes alone; DoorRefused if it is missing, too short or open to others."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            # Opening a pipe would wait for a writer.
            raise DoorRefused(f"the token file {path} is no plain file; name another one")
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(TOKEN_BYTES_MOST + 1)
    except OSError as error:
        raise DoorRefused(
            f"the token file {path} can't be read ({_reason(error)}); make one with "
            f"`umask 077; head -c 24 /dev/urandom | base64 > {path}`"
        ) from None
    if stat.S_IMODE(mode) & 0o077:
        raise DoorRefused(f"the token file {path} is open to other users; run `chmod 600 {path}`")
    token = content.decode("ascii", errors="replace").strip()
    if len(content) > TOKEN_BYTES_MOST or not token.isascii() or not token.isprintable() or " " in token:
        raise DoorRefused(f"the token file {path} holds no token: one line of printable ASCII without spaces is wanted")
    if len(token) < TOKEN_CHARACTERS_LEAST:
        raise DoorRefused(
            f"the token in {path} has {len(token)} characters; at least {TOKEN_CHARACTERS_LEAST} are wanted"
        )
    return token


def _unix_door(path: Path) -> Door:
    _clear_stale(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The mode is right from the first moment: the umask holds during the bind alone.
    before = os.umask(OWNER_ONLY)
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise _not_made(path, error) from None
    finally:
        os.umask(before)
    listener.listen(BACKLOG)
    listener.setblocking(False)
    return Door(listener, f"unix:{path}", path=path, inode=_inode(path))


def _not_made(path: Path, error: OSError) -> DoorRefused:
    return DoorRefused(f"the socket {path} can't be made: {_reason(error)}; {_advice(error, path)}")


def _advice(error: OSError, path: Path) -> str:
    if error.errno == errno.ENOENT:
        return f"make the folder {path.parent}"
    return "choose another path for listen.socket, or run as a user who may write there"


def _clear_stale(path: Path) -> None:
    """Removes a socket that a former daemon left behind, but only if nobody answers on it."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise DoorRefused(f"the socket {path} can't be looked at: {_reason(error)}; {_advice(error, path)}") from None
    if not stat.S_ISSOCK(mode):
        raise DoorRefused(f"{path} is no socket; remove it, or choose another path for listen.socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(ASK_S)
        try:
            asking.connect(str(path))
        except ConnectionRefusedError:
            path.unlink(missing_ok=True)
            return
        except FileNotFoundError:
            return
        except OSError as error:
            why = f"the socket {path} is in use or out of reach ({_reason(error)})"
            raise DoorRefused(f"{why}; end who uses it, or choose another path for listen.socket") from None
    raise DoorRefused(
        f"somebody answers on the socket {path} already, so another daemon runs; end it, or choose another path"
    )


def _loopback_door(address: Address, token: str) -> Door:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise DoorRefused(
            f"can't listen on {address.host} port {address.port}: {_reason(error)}; choose another port for listen.http"
        ) from None
    listener.setblocking(False)
    host = f"[{address.host}]" if family == socket.AF_INET6 else address.host
    return Door(listener, f"http://{host}:{listener.getsockname()[1]}", token=token)


def _close(door: Door) -> None:
    """The path is removed only while it still leads to our socket: another daemon may have taken it meanwhile."""
    if door.path is not None and door.inode is not None and _inode(door.path) == door.inode:
        door.path.unlink(missing_ok=True)
    door.socket.close()


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _reason(error: OSError) -> str:
    return (error.strerror or "unknown reason").lower()
