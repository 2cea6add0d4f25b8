"""Assertions about prompts with two of each thing: what passes, and the complete failures."""

import pytest

from tests.testing.claims import CASES, told


@pytest.mark.parametrize("name", CASES)
def test_all_that_is_told(name: str) -> None:
    """Each claim passes, or fails with exactly this text."""
    code, expected = CASES[name]
    assert expected == told(code)
