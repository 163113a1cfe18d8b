"""What later versions bring is refused by name, all of it at once, and never ignored."""

from pathlib import Path

import pytest

from provisioner.core.settings import settings_table
from provisioner.core.settings_later import LATER
from provisioner.edge.config_file import Faults, read_settings
from tests.edge.config_texts import MINIMAL, faults_of

WHOLE = Path(__file__).with_name("whole.yaml")

EXPECTED = """\
listen.tls
access
sources.farm.trigger
money.rates
money.zone
budgets[0].rate
budgets[0].day
budgets[0].month
budgets[0].curb_at
budgets[0].at_limit
budgets[1].scope.provider
budgets[1].rate
budgets[2].scope.consumer
budgets[2].rate
budgets[2].units
budgets[2].at_limit
budgets[3].scope.consumer
budgets[3].day
policy.reclaim.idle_at_paid_end
policy.reclaim.max_lifetime
policy.reclaim.unreachable
policy.drain.notice_buffer
policy.step
policy.spares
policy.join.floor
policy.join.cap
policy.hook
orphans
providers.by-hour.templates.big-16.was
providers.licenses.templates.mesher.keep_free
providers.last-year.retiring
keep.gone
keep.records
keep.decisions
"""


def test_a_file_that_uses_everything_has_exactly_the_faults_of_what_is_not_yet_supported() -> None:
    read = read_settings(WHOLE.read_text(encoding="utf-8"), file="whole.yaml", folder="/etc/p")
    assert isinstance(read, Faults)
    assert [fault.field for fault in read.faults] == EXPECTED.splitlines()
    assert all(fault.not_yet for fault in read.faults)


def test_a_fault_of_a_later_setting_says_what_it_will_do() -> None:
    assert faults_of(MINIMAL + "policy: {step: [{units: 250, per: 1m}]}\n") == [
        "c.yaml:6:10 policy.step: is not yet supported by this version (Most units newly bought per time); leave it out"
    ]


@pytest.mark.parametrize("controller", ["{etcd: {endpoints: []}}", "{bridge: [cmd]}"])
def test_another_controller_is_refused_by_name_alone(controller: str) -> None:
    (fault,) = faults_of(MINIMAL.replace("{sqlite: facts.db}", controller))
    assert "is not yet supported by this version" in fault


def line_for(name: str) -> str:
    """A one-line file that holds one setting of a later version."""
    text = "1"
    for key in reversed(name.replace("templates.*", 'templates."*"').split(".")):
        text = "{" + ("x" if key == "*" else key) + ": " + text + "}"
    return text


LATER_NAMES = [later.name for later in LATER] + [s.name for s in settings_table() if s.row.later]


@pytest.mark.parametrize("name", [name for name in LATER_NAMES if not name.startswith("budgets.")])
def test_every_later_setting_is_refused_wherever_it_stands(name: str) -> None:
    read = read_settings(line_for(name), file="c.yaml", folder="/etc/p")
    assert isinstance(read, Faults)
    (fault,) = [fault for fault in read.faults if fault.not_yet]
    assert fault.field.rpartition(".")[2] == name.rpartition(".")[2]
    assert not [fault for fault in read.faults if fault.sentence == "is no setting"]


@pytest.mark.parametrize("name", [name for name in LATER_NAMES if name.startswith("budgets.*.")])
def test_every_later_setting_of_a_budget_is_refused(name: str) -> None:
    item = line_for(name.removeprefix("budgets.*."))
    read = read_settings(f"budgets: [{item}]", file="c.yaml", folder="/etc/p")
    assert isinstance(read, Faults)
    assert [fault.field for fault in read.faults if fault.not_yet] == [name.replace(".*.", "[0].", 1)]
