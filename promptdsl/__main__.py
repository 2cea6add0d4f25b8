"""``python -m promptdsl``: the command without its script."""

import sys

from promptdsl.cli import main

sys.exit(main())
