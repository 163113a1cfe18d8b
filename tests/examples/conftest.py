"""What every test of an example is given: the example, skipped where its language is missing."""

import pytest

from tests.examples.subjects import EXAMPLES, Example


@pytest.fixture(params=EXAMPLES, ids=lambda example: example.name)
def example(request: pytest.FixtureRequest) -> Example:
    """One example after the other."""
    found: Example = request.param
    found.need()
    return found
