r"""Certain cuts of a text: the tokens of both sides add up to those of the complete text.

o200k_base and cl100k_base first split a text by a pattern, then search for tokens in each match.
A cut is certain if no match contains both of its sides, and no match depends on the text beyond it.
There are two kinds:

- between a character that is not white space and a space or tab after it, because these can only
  begin a match,
- between a line end and a character that is neither white space nor ``/``, because a line end can
  only end a match (after punctuation, o200k also matches slashes, as in ``//\n/``).

Two characters decide whether a cut is certain, so it stays certain when other text is joined. For
Python, U+001C to U+001F are white space; for the patterns they are not. That only gives fewer cuts.
"""

import re
from collections.abc import Iterator

_CUT = re.compile(r"\S(?=[ \t])|[\r\n](?=[^\s/])")
_LINE_ENDS = {"\r", "\n"}

AT_ONCE = 200_000
"""The most characters that are counted at once. A longer text is counted in pieces."""

FORCED = 900_000
"""The characters of a piece that ends without a certain cut.

It is the limit because the pattern fails on more than a million characters of white space.
"""


def first_cut(text: str, start: int = 0) -> int | None:
    """Return the first certain cut after ``start``, or ``None``."""
    match = _CUT.search(text, start)
    return match and match.end()


def last_cut(text: str, start: int = 0, end: int | None = None) -> int | None:
    """Return the last certain cut after ``start`` and no later than ``end``, or ``None``."""
    end = len(text) if end is None else end
    size = 64
    while True:
        begin = max(start, end - size)
        # Search one more character, for a cut exactly at the end.
        cuts = [match.end() for match in _CUT.finditer(text, begin, end + 1)]
        cuts = [cut for cut in cuts if cut <= end]
        if cuts or begin == start:
            return cuts[-1] if cuts else None
        size *= 8


def adds_up(before: str, after: str) -> bool:
    """Return whether the tokens of two texts certainly add up to those of both together.

    They do if the first ends with a line end, and the second does not begin with ``/`` and has a
    character other than white space in its first line.
    """
    if before[-1:] not in _LINE_ENDS or not before or after[:1] == "/":
        return False
    space = after[: len(after) - len(after.lstrip())]
    return len(space) < len(after) and not _LINE_ENDS & {*space}


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a long text, each with whether it ends at a certain cut.

    The end of the text is certain, too.
    """
    start = 0
    while len(text) - start > AT_ONCE:
        cut = last_cut(text, start, start + AT_ONCE)
        if cut is None:
            match = _CUT.search(text, start + AT_ONCE - 1, start + FORCED + 1)
            cut = match and match.end()
        if cut is None and len(text) - start <= FORCED:
            break
        end = cut or start + FORCED
        yield text[start:end], cut is not None
        start = end
    yield text[start:], True
