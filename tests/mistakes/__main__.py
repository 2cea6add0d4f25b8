"""Write into the pages what a user is told today, and then read them: python -m tests.mistakes."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.mistakes.pages import PAGES, fill, rewrite

with TemporaryDirectory() as folder:
    fill(Path(folder))
    os.chdir(folder)
    for page in PAGES:
        rewrite(page)
