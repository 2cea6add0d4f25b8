"""Write the page of the rules, and what is found in written files: python -m tests.checking."""

from tests.checking.pages import PAGE, page
from tests.checking.written import PAGE as WRITTEN
from tests.checking.written import rewritten

PAGE.write_text(page(), "utf-8")
WRITTEN.write_text(rewritten(), "utf-8")
