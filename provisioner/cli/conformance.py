"""`provisioner conformance [options] -- COMMAND`: examines a provider with the SDK's kit.

Knows only the kit's command line; must not know checks or the daemon.
"""

from collections.abc import Sequence

from provider_sdk.testing import main

__all__ = ["conformance"]


def conformance(arguments: Sequence[str]) -> int:
    """Examine a provider; the exit code: 0 all kept, 1 a clause is broken, 2 usage, 3 not started."""
    return main(arguments, program="provisioner conformance")
