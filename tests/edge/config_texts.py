"""Texts of configuration files that several tests read; a test appends to MINIMAL from line 6 on."""

from provisioner.core.settings import Settings
from provisioner.edge.config_file import Faults, read_settings

MINIMAL = """\
cluster: demo
controller: {sqlite: facts.db}
listen: {socket: api.sock}
budgets: none
providers: {east: {command: [program]}}
"""


def settings_of(text: str) -> Settings:
    """The settings of a text that must be free of faults."""
    read = read_settings(text, file="c.yaml", folder="/etc/p")
    assert isinstance(read, Settings), str(read)
    return read


def faults_of(text: str) -> list[str]:
    """The printed faults of a text that must have some."""
    read = read_settings(text, file="c.yaml", folder="/etc/p")
    assert isinstance(read, Faults)
    return str(read).splitlines()
