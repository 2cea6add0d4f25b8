"""Write what is told of claims on their page: python -m tests.testing."""

from tests.testing.claims import PAGE, rewritten

PAGE.write_text(rewritten(), "utf-8")
