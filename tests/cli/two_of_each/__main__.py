"""Write what the commands print today, and then read it: python -m tests.cli.two_of_each."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.cli.two_of_each.cases import CASES
from tests.cli.two_of_each.running import FILE, Printed, outcome

found: dict[str, Printed] = {}
for name in CASES:
    with TemporaryDirectory() as folder:
        found[name] = outcome(name, Path(folder).resolve())
FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
