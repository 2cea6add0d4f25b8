"""One test for many cases: each case that fails is named, and the others are tried all the same."""

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from typing import Any

import pytest

Test = Callable[..., None]
LONGEST = 600
"""How many characters of what is wrong with one case are shown."""


def failures(names: Iterable[str], wrong: Callable[[str], object]) -> list[str]:
    """Return one line for each case that fails: its name and what is wrong with it.

    ``wrong`` takes the name of a case and returns what is wrong with it, or nothing; a case for
    which it raises fails, too. A table without cases is an error: the test would always pass.
    """
    names = list(names)
    if not names:
        raise ValueError("there is no case to try")
    return [f"{name}: {problem[:LONGEST]}" for name in names if (problem := _named(wrong, name))]


def _named(wrong: Callable[[str], object], name: str) -> str:
    try:
        problem = wrong(name)
    except (Exception, pytest.fail.Exception) as error:
        return f"{type(error).__name__}: {error}"
    return str(problem) if problem else ""


def folded(
    names: str | tuple[str, ...], rows: Iterable[Any], ids: Iterable[str] = ()
) -> Callable[[Test], Test]:
    """Try a test with every row in one item, where ``parametrize`` makes an item of each.

    A row is the value of one argument or the values of several, and has its id or its text as its
    name. ``failures`` tries them: each that fails is named.
    """
    rows, arguments = [*rows], (names,) if isinstance(names, str) else names
    values = [(row,) for row in rows] if isinstance(names, str) else rows
    named = zip(ids or map(str, rows), values, strict=True)
    cases = {name: dict(zip(arguments, row, strict=True)) for name, row in named}
    if len(cases) < len(rows):
        raise ValueError("two rows have one name")

    def fold(test: Test) -> Test:
        @wraps(test)
        def folded_test(**others: Any) -> None:
            problems = failures(cases, lambda name: test(**cases[name], **others))
            assert [] == problems, "\n".join(problems)

        parameters = signature(test).parameters.values()
        others = [parameter for parameter in parameters if parameter.name not in arguments]
        folded_test.__signature__ = signature(test).replace(parameters=others)  # type: ignore[attr-defined]
        return folded_test

    return fold


def unequal(expected: object, found: object) -> str:
    """Return where two values differ, as text from a little before it; nothing if they are equal.

    Values that are unequal and look the same are told by their types.
    """
    if expected == found:
        return ""
    one, two = (value if isinstance(value, str) else repr(value) for value in (expected, found))
    pairs = zip(one, two, strict=False)
    first = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(two)))
    begin = max(first - 40, 0)
    return (
        f"at {first}: {one[begin : first + 120]!r} is expected, not {two[begin : first + 120]!r}"
        f" ({type(expected).__name__}, {type(found).__name__})"
    )
