"""`python -m provider_sdk.testing [options] -- COMMAND`: see `command`."""

import sys

from provider_sdk.testing.command import main

sys.exit(main(sys.argv[1:]))
