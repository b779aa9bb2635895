"""``python -m kgeval`` runs the command line, like the command ``kgeval``."""

import sys

from kgeval.cli import main

sys.exit(main())
