"""Plays one subject: `play.py honest`, or `play.py NAME` of a broken one; apart, so that the rest is compiled once."""

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.conformance.subjects.broken import FAULTS
from tests.conformance.subjects.honest import Honest

if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    FAULTS.get(sys.argv[1], Honest)().run()
