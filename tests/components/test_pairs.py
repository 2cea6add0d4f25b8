"""Two of a thing in one call or one block: the trees that are written, and the errors."""

import pytest

from tests.cases_file import read_texts
from tests.components.pairs import CASES, FILE, report


@pytest.mark.parametrize("name", CASES)
def test_two_of_a_thing(name: str) -> None:
    """Trees and errors of a case in which two of a thing meet are those of the file."""
    assert read_texts(FILE)[name] == report(name)


def test_the_file_has_these_cases() -> None:
    """The file of what they come to has each case, and no other."""
    assert [*CASES] == [*read_texts(FILE)]
