"""What the tests of the linter share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checking.looking import found_in


@pytest.fixture
def found(tmp_path: Path) -> Callable[..., list[str]]:
    """Return a function from code to the rules and lines that are found in it."""
    return found_in(tmp_path)
