"""What the demo shows of decisions reads as a person would say it."""

import pytest

from provisioner.sim.player import decision_texts


@pytest.mark.parametrize(
    ("units", "said"), [(1, "return 1 host at east: drained"), (2, "return 2 hosts at east: drained")]
)
def test_one_host_is_not_called_hosts(units: int, said: str) -> None:
    reason = {"sentence": "drained", "code": "drained"}
    decision = {"what": "return", "provider": "east", "template": None, "units": units, "reason": reason}
    assert decision_texts([decision]) == (said,)
