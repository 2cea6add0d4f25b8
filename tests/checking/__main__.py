"""Write the page of the rules from their files: python -m tests.checking."""

from tests.checking.pages import PAGE, page

PAGE.write_text(page(), "utf-8")
