"""What the tests on real processes share: a folder for one daemon, and the certainty that nothing is left running."""

import shutil
from collections.abc import Iterator

import pytest

from tests.e2e.daemon import Daemon, short_folder


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    """A daemon not yet configured; whatever a test does to it, its processes and files are gone afterwards."""
    made = Daemon(short_folder())
    try:
        yield made
    finally:
        made.clean_up()
        print(made.log)  # noqa: T201  shown only with a failure
        shutil.rmtree(made.folder)
