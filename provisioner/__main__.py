"""`python -m provisioner`: the same as the installed command."""

import sys

from provisioner.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
