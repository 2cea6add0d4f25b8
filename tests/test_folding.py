"""Folded tests: what fails is found, named and hides nothing."""

from collections.abc import Iterable

import pytest

from tests.errors import raised
from tests.folding import failures, folded, unequal


def wrong(name: str) -> object:
    """Return what is wrong with a case, which is told by its name."""
    if name.startswith("raise"):
        raise ValueError(name)
    if name == "no error":
        raised(ValueError, list)
    return {"right": None, "none": [], "list": ["x"], "text": "y"}[name]


def test_failures() -> None:
    """Each case that fails is named with what is wrong, errors among them."""
    names = ["right", "raise one", "none", "list", "raise two", "text", "unknown", "no error"]
    assert [
        "raise one: ValueError: raise one",
        "list: ['x']",
        "raise two: ValueError: raise two",
        "text: y",
        "unknown: KeyError: 'unknown'",
        "no error: Failed: DID NOT RAISE ValueError",
    ] == failures(names, wrong)


@pytest.mark.parametrize("names", [[], {}, iter(())])
def test_no_case_is_an_error(names: Iterable[str]) -> None:
    """A table without a case is an error: nothing would be tried."""
    with pytest.raises(ValueError, match="there is no case to try"):
        failures(names, wrong)


@pytest.mark.parametrize("factor", [1, 2])
@folded(("number", "double"), [(1, 2), (2, 4)])
def test_rows(number: int, factor: int, double: int) -> None:
    """A folded test gets each row, with its other arguments."""
    assert factor * double == factor * 2 * number


def test_rows_that_fail() -> None:
    """Each row that fails is named, by its id or its text, and the others are tried."""
    tried: list[object] = []

    def test(number: int) -> None:
        tried.append(number)
        _ = 1 / (number % 2)

    problem = "ZeroDivisionError: division by zero"
    folds = [folded("number", [1, 2, 3, 4]), folded("number", [2, 3], ["two", "three"])]
    assert [f"2: {problem}\n4: {problem}", f"two: {problem}"] == [
        str(raised(AssertionError, fold(test))) for fold in folds
    ]
    assert [1, 2, 3, 4, 2, 3] == tried


def test_two_rows_of_one_name() -> None:
    """A row that is named like another is an error: one of them would not be tried."""
    error = raised(ValueError, lambda: folded("number", [1, "1"]))
    assert "two rows have one name" == str(error)


@pytest.mark.parametrize(
    ("expected", "found", "told"),
    [
        ("abc", "abc", ""),
        ([1, 2], [1, 2], ""),
        ("abc", "abd", "at 2: 'abc' is expected, not 'abd' (str, str)"),
        ("ab", "abc", "at 2: 'ab' is expected, not 'abc' (str, str)"),
        ([1], [2], "at 1: '[1]' is expected, not '[2]' (list, list)"),
        (float("nan"), float("nan"), "at 3: 'nan' is expected, not 'nan' (float, float)"),
        (
            "x" * 99 + "a",
            "x" * 99 + "b",
            f"at 99: '{'x' * 40}a' is expected, not '{'x' * 40}b' (str, str)",
        ),
    ],
)
def test_unequal(expected: object, found: object, told: str) -> None:
    """What differs is told from a little before the place, and equal values tell nothing."""
    assert told == unequal(expected, found)
