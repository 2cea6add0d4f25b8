r"""Certain cuts of a text: the tokens on both sides add up to those of the whole.

o200k_base and cl100k_base split a text by a pattern first and search for tokens inside its matches.
No match contains both sides of a certain cut, and none depends on the text beyond it:

- between a character that is no white space and a following space or tab, as these only begin a
  match,
- between a line end and a character that is neither white space nor ``/``, as a line end only ends
  a match (after punctuation, o200k matches slashes too, as in ``//\n/``).

Two characters decide about a cut, so it stays certain when other text is joined. Python takes
U+001C to U+001F for white space and the patterns do not; that only gives fewer cuts.
"""

import re
from collections.abc import Iterator

_CUT = re.compile(r"\S(?=[ \t])|[\r\n](?=[^\s/])")
_LINE_ENDS = {"\r", "\n"}

WHOLE = 200_000
"""The characters of the longest text that is counted at once; a longer one is counted in pieces."""

FORCED = 900_000
"""The characters of a piece that ends without a certain cut. The pattern fails on more than a
million characters of white space."""


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
        # One character more is searched, for a cut right at the end.
        cuts = [match.end() for match in _CUT.finditer(text, begin, end + 1)]
        cuts = [cut for cut in cuts if cut <= end]
        if cuts or begin == start:
            return cuts[-1] if cuts else None
        size *= 8


def adds_up(before: str, after: str) -> bool:
    """Return whether the tokens of two texts surely add up to those of both together.

    They do when the first ends with a line end, the second does not begin with ``/``, and the
    white space at its beginning has no line end and is followed by a character.
    """
    if before[-1:] not in _LINE_ENDS or not before or after[:1] == "/":
        return False
    space = after[: len(after) - len(after.lstrip())]
    return len(space) < len(after) and not _LINE_ENDS & {*space}


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a long text to count, each with whether it ends at a certain cut.

    The last piece ends with the text.
    """
    start = 0
    while len(text) - start > WHOLE:
        cut = last_cut(text, start, start + WHOLE)
        if cut is None:
            match = _CUT.search(text, start + WHOLE - 1, start + FORCED + 1)
            cut = match and match.end()
        if cut is None and len(text) - start <= FORCED:
            break
        end = cut or start + FORCED
        yield text[start:end], cut is not None
        start = end
    yield text[start:], True
