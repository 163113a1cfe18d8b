import os
import socket
from pathlib import Path

import pytest

from provisioner.core.settings import Address, HttpBind, Listen, Settings
from provisioner.runtime.rest_doors import DoorRefused, check_doors, open_doors, read_token
from tests.edge.rest_worlds import settings_for


def with_socket(path: Path) -> Settings:
    return settings_for(listen=Listen(socket=str(path)))


def refusal(settings: Settings) -> str:
    """Why the doors are not opened, which a look at them before has told already."""
    with pytest.raises(DoorRefused) as foretold:
        check_doors(settings)
    with pytest.raises(DoorRefused) as found, open_doors(settings):
        pass
    assert str(foretold.value) == str(found.value)
    return str(found.value)


def test_a_look_at_doors_that_can_be_opened_leaves_nothing(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("0123456789abcdef", encoding="ascii")
    token.chmod(0o600)
    http = HttpBind(bind=Address(host="127.0.0.1", port=0), token_file=str(token))
    check_doors(settings_for(listen=Listen(socket=str(tmp_path / "api.sock"), http=http)))
    assert [path.name for path in tmp_path.iterdir()] == ["token"]


def test_a_socket_left_behind_by_a_dead_daemon_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    dead.bind(str(path))
    dead.listen()
    dead.close()
    with open_doors(with_socket(path)) as doors:
        assert [door.url for door in doors] == [f"unix:{path}"]
    assert not path.exists()


def test_a_socket_on_which_somebody_answers_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    with open_doors(with_socket(path)):
        assert "somebody answers" in refusal(with_socket(path))
        assert str(path) in refusal(with_socket(path))
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            asking.connect(str(path))
    assert not path.exists()


def test_what_is_no_socket_is_never_removed(tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("data", encoding="ascii")
    assert "is no socket" in refusal(with_socket(path))
    assert path.read_text(encoding="ascii") == "data"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    assert f"make the folder {tmp_path / 'gone'}" in refusal(with_socket(tmp_path / "gone" / "api.sock"))


def test_a_path_that_another_took_over_is_not_removed_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "api.sock"
    with open_doors(with_socket(path)):
        path.unlink()
        path.write_text("another's", encoding="ascii")
    assert path.exists()


def test_the_umask_is_as_before(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with open_doors(with_socket(tmp_path / "api.sock")):
            assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)


def test_a_port_in_use_is_named_and_no_door_stays_open(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("0123456789abcdef", encoding="ascii")
    token.chmod(0o600)
    path = tmp_path / "api.sock"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        http = HttpBind(bind=Address(host="127.0.0.1", port=port), token_file=str(token))
        assert f"port {port}" in refusal(settings_for(listen=Listen(socket=str(path), http=http)))
    assert not path.exists()


@pytest.mark.parametrize(
    ("content", "mode", "told"),
    [
        ("", 0o600, "0 characters"),
        ("short", 0o600, "5 characters"),
        ("0123456789abcdef", 0o644, "open to other users"),
        ("two words are no token", 0o600, "holds no token"),
        ("0123456789abcdefé", 0o600, "holds no token"),
        ("x" * 5_000, 0o600, "holds no token"),
    ],
)
def test_a_token_file_that_can_not_guard_a_door_is_refused(tmp_path: Path, content: str, mode: int, told: str) -> None:
    path = tmp_path / "token"
    path.write_text(content, encoding="utf-8")
    path.chmod(mode)
    with pytest.raises(DoorRefused, match=told) as found:
        read_token(path)
    assert str(path) in str(found.value)
    assert "0123456789" not in str(found.value)


def test_a_missing_token_file_is_answered_with_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(DoorRefused, match="umask 077"):
        read_token(tmp_path / "none")


def test_a_token_is_read_without_its_line_end(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("0123456789abcdef\n", encoding="ascii")
    path.chmod(0o600)
    assert read_token(path) == "0123456789abcdef"


def test_a_pipe_is_no_token_file_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(DoorRefused, match="no plain file"):
        read_token(tmp_path / "pipe")
