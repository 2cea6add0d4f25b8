"""Two of a thing in the functions of the foundation: what each call returns."""

from itertools import zip_longest

from tests.foundation_pairs import FILE, results


def test_calls_with_two_of_a_thing() -> None:
    """Each call returns or raises what the file says, where two of a thing meet in it."""
    lines = zip_longest(FILE.read_text("utf-8").splitlines(), results().splitlines())
    assert [] == [(expected, line) for expected, line in lines if expected != line]
