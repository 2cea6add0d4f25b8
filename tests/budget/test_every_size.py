"""What is left of results and limits at every size, to the letter."""

import pytest

from tests.budget.every_size import CASES, expected

EXPECTED = expected()


def test_every_case_is_expected() -> None:
    """The file has what is left in each case, and no other case."""
    assert [*EXPECTED] == [*CASES]


@pytest.mark.parametrize("name", CASES)
def test_what_is_left(name: str) -> None:
    """A larger size leaves more; what no longer fits has a mark, and what went is counted."""
    assert EXPECTED[name] == {size: CASES[name](int(size)) for size in EXPECTED[name]}
