"""Two of a thing side by side, in each other, and in another order: all that a prompt comes to."""

import pytest

from tests.cases_file import read_texts
from tests.formats.pairs import FILE, NAMES, report


@pytest.mark.parametrize("name", NAMES)
def test_two_of_a_thing(name: str) -> None:
    """Messages, losses and spans of a prompt in which two of a thing meet are those of the file."""
    assert read_texts(FILE)[name] == report(name)


def test_the_file_has_these_prompts() -> None:
    """The file of what they come to has each prompt, and no other."""
    assert NAMES == [*read_texts(FILE)]
