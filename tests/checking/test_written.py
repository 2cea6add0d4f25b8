"""Whole files: what is found in each, to the letter, and that nothing else is."""

import pytest

from tests.checking.written import CASES, found_in


@pytest.mark.parametrize("name", CASES)
def test_all_that_is_found(name: str) -> None:
    """Of several mistakes in a file each is found at its place, and nothing beside them."""
    assert CASES[name].found == found_in(CASES[name])
