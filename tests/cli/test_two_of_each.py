"""Commands on two of a thing: all that they print and write, to the letter."""

from pathlib import Path

import pytest

from tests.cli.two_of_each.cases import CASES
from tests.cli.two_of_each.running import expected, outcome

EXPECTED = expected()


def test_every_case_is_expected() -> None:
    """The file has what each case prints, and no other case."""
    assert [*EXPECTED] == [*CASES]


@pytest.mark.parametrize("name", CASES)
def test_what_is_printed(name: str, tmp_path: Path) -> None:
    """Each command exits with its code, prints its data and its notes, and writes its files."""
    assert EXPECTED[name] == outcome(name, tmp_path)
