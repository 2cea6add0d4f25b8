"""Where these tests run: in Python 3.14 or newer, which can read them."""

import sys

collect_ignore_glob = [] if sys.version_info >= (3, 14) else ["test_*.py"]
