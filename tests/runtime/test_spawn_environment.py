"""A provider's environment is an allow-list: what the contract says and what the operator names, no more."""

from __future__ import annotations

import pytest

from provisioner.runtime.command import SpawnRefused
from provisioner.runtime.environment import build_environment

DAEMON = {"PATH": "/usr/bin", "HOME": "/home/daemon", "TZ": "Asia/Tokyo", "KEY": "s3cret-value", "DB_PASSWORD": "x"}


def test_only_the_contracts_variables_and_the_named_ones_are_there() -> None:
    assert build_environment(
        DAEMON,
        tmp_dir="/run/p/tmp",
        marker="l.east.7.1",
        names=["KEY"],
        credentials_dir="/cred",
        program_dir="/opt/bin",
    ) == {
        "PATH": "/opt/bin:/usr/bin",
        "KEY": "s3cret-value",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PROVISIONER_CONTRACT": "2",
        "PROVISIONER_PROCESS": "l.east.7.1",
        "TMPDIR": "/run/p/tmp",
        "CREDENTIALS_DIRECTORY": "/cred",
    }


def test_naming_path_changes_nothing_and_without_one_the_systems_default_stands() -> None:
    assert build_environment(DAEMON, tmp_dir="/t", marker="m", names=["PATH"])["PATH"] == "/usr/bin"
    assert "/bin" in build_environment({}, tmp_dir="/t", marker="m")["PATH"]


@pytest.mark.parametrize("name", ["TZ", "LANG", "TMPDIR", "PROVISIONER_CONTRACT", "CREDENTIALS_DIRECTORY"])
def test_what_the_daemon_sets_itself_cannot_be_named(name: str) -> None:
    with pytest.raises(SpawnRefused, match=f"{name} is set by the daemon"):
        build_environment({**DAEMON, name: "x"}, tmp_dir="/t", marker="m", names=[name])


def test_a_named_variable_that_the_daemon_lacks_is_refused_without_showing_any_value() -> None:
    with pytest.raises(SpawnRefused, match="AWS_PROFILE is listed") as refused:
        build_environment(DAEMON, tmp_dir="/t", marker="m", names=["KEY", "AWS_PROFILE"])
    assert "s3cret" not in str(refused.value)
