"""Assertions about prompts with two of a thing: what holds, and the whole text of what fails."""

import pytest

from tests.testing.claims import CASES, told


@pytest.mark.parametrize("name", CASES)
def test_all_that_is_told(name: str) -> None:
    """Each claim holds or fails, and a failure is told to the letter."""
    code, expected = CASES[name]
    assert expected == told(code)
