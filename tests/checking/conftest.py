"""What the tests of the linter share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.checking.looking import ids, looked_at


@pytest.fixture
def findings_of(tmp_path: Path) -> Callable[..., list[str]]:
    """Return a function from code to the rules and the lines of what is found in it."""

    def findings_of(code: str, **options: Any) -> list[str]:  # Any: those of looked_at()
        return ids(looked_at(tmp_path / "prompts.py", code, **options))

    return findings_of
