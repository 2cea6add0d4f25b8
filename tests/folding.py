"""One test for many cases: each case that fails is named, and the others are tried all the same."""

from collections.abc import Callable, Iterable

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
    return [f"{name}: {said[:LONGEST]}" for name in names if (said := _named(wrong, name))]


def _named(wrong: Callable[[str], object], name: str) -> str:
    try:
        found = wrong(name)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return str(found) if found else ""


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
