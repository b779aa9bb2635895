"""``python -m kgeval``: the same as the command ``kgeval``."""

import sys

from kgeval.cli import main

sys.exit(main())
