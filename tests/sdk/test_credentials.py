from pathlib import Path

import pytest

from provider_sdk.credentials import REREAD_S, Credentials, FromSecret, Secret
from provider_sdk.errors import ConfigFault, ContractError, ErrorClass

KEY = "hunter2-hunter2"


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def credentials(tmp_path: Path, clock: Clock) -> Credentials:
    (tmp_path / "far.key").write_text(f"{KEY}\n")
    return Credentials(tmp_path, {"FAR_KEY": "from the environment"}, clock)


def test_a_file_is_the_secret_of_its_name_without_its_last_newline(credentials: Credentials) -> None:
    assert credentials.get("far.key").reveal() == KEY


def test_without_a_file_the_variable_of_that_name_is_the_secret(credentials: Credentials) -> None:
    assert credentials.get("FAR_KEY").reveal() == "from the environment"


def test_sc_1_a_file_is_read_again_after_300_s_and_not_before(
    credentials: Credentials, tmp_path: Path, clock: Clock
) -> None:
    credentials.get("far.key")
    (tmp_path / "far.key").write_text("new-secret")
    clock.now_s = REREAD_S - 1
    assert credentials.get("far.key").reveal() == KEY
    clock.now_s = REREAD_S
    assert credentials.get("far.key").reveal() == "new-secret"


def test_sc_1_a_file_is_read_again_at_once_after_the_far_side_refused_it(
    credentials: Credentials, tmp_path: Path
) -> None:
    credentials.get("far.key")
    (tmp_path / "far.key").write_text("new-secret")
    credentials.refused()
    assert credentials.get("far.key").reveal() == "new-secret"


@pytest.mark.parametrize("name", ["absent", "../far.key", "", "/etc/passwd", "a\nb"])
def test_a_secret_that_is_not_there_is_an_auth_refusal(credentials: Credentials, name: str) -> None:
    with pytest.raises(ContractError) as refused:
        credentials.get(name)
    assert refused.value.error_class is ErrorClass.AUTH


def test_a_file_that_is_no_text_or_no_file_is_an_auth_refusal_without_its_content(
    credentials: Credentials, tmp_path: Path
) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "folder").mkdir()
    for name in ("binary", "folder"):
        with pytest.raises(ContractError) as refused:
            credentials.get(name)
        assert refused.value.error_class is ErrorClass.AUTH


def test_the_configuration_names_a_credential_and_never_holds_it(credentials: Credentials) -> None:
    assert credentials.of({"credential": "far.key"}, "/key").reveal() == KEY
    for stated in (KEY, {"credential": 3}, {"credential": "../x"}, None):
        with pytest.raises(ConfigFault) as fault:
            credentials.of(stated, "/key")
        assert fault.value.faults[0][0] == "/key"
        assert KEY not in str(fault.value)


def test_a_secret_prints_as_its_name_and_compares_by_content() -> None:
    secret = Secret("far.key", KEY)
    assert f"{secret} {secret!r} {[secret]}".count(KEY) == 0
    assert secret == Secret("other", KEY)
    assert secret != Secret("far.key", "another")
    assert len({secret, Secret("other", KEY)}) == 1


def test_what_was_read_is_told_to_who_hides_it_whole_and_by_line(credentials: Credentials, tmp_path: Path) -> None:
    (tmp_path / "pair").write_text("user=somebody\npass=long-enough\nx\n")
    credentials.get("pair")
    assert set(credentials.texts()) == {"user=somebody\npass=long-enough\nx", "user=somebody", "pass=long-enough"}


def test_what_is_built_from_a_secret_is_built_anew_only_when_the_secret_changed(
    credentials: Credentials, tmp_path: Path
) -> None:
    built: list[str] = []

    def build(secret: Secret) -> int:
        built.append(secret.reveal())
        return len(built)

    client = FromSecret(credentials, "far.key", build)
    assert (client.get(), client.get()) == (1, 1)
    credentials.refused()
    assert client.get() == 1
    (tmp_path / "far.key").write_text("new-secret")
    credentials.refused()
    assert (client.get(), built) == (2, [KEY, "new-secret"])
