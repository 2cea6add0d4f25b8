"""Write into the page on a changed rule what its commands print: python -m tests.examples."""

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.examples.desk import PAGE, page_today

with TemporaryDirectory() as folder:
    PAGE.write_text(page_today(Path(folder)), "utf-8")
