"""Texts with several values: what each is sent as in instructions, in both encodings."""

from itertools import zip_longest

from tests.formats.texts import FILE, results


def test_texts_with_several_values() -> None:
    """Each text is sent as the file says, whatever is beside the values in it."""
    lines = zip_longest(FILE.read_text("utf-8").splitlines(), results().splitlines())
    assert [] == [(expected, line) for expected, line in lines if expected != line]
