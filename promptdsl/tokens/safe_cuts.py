r"""Where a text can be cut so that the tokens on both sides add up to those of the whole.

o200k_base and cl100k_base split a text by a pattern first and look for tokens inside of what it
matches. No match holds both sides of a certain cut, and none depends on what stands beyond it:

- between what is not white space and a following space or tab, as these only begin a match,
- between a line end and what is neither white space nor ``/``, as a line end only ends a match
  (after punctuation o200k takes slashes along, as in ``//\n/``).

Both are found by looking at two characters, so a cut stays certain whatever a text is joined to.
Python takes U+001C to U+001F for white space where the patterns do not: there are fewer cuts then.
"""

import re
from collections.abc import Iterator

_CUT = re.compile(r"\S(?=[ \t])|[\r\n](?=[^\s/])")
_LAST = 64
"""How many characters are searched for the last cut first."""

WHOLE = 200_000
"""The characters of a text that is counted at once; a longer one is counted piece by piece."""

FORCED = 900_000
"""Where a piece ends without a certain cut. Beyond a million characters of white space the pattern
runs out of the room it has."""


def first_cut(text: str, start: int = 0) -> int | None:
    """Return the first certain cut behind ``start``, ``None`` where there is none."""
    found = _CUT.search(text, start)
    return found and found.end()


def last_cut(text: str, start: int = 0, end: int | None = None) -> int | None:
    """Return the last certain cut behind ``start`` and no later than ``end``."""
    end = len(text) if end is None else end
    size = _LAST
    while True:
        begin = max(start, end - size)
        # One character more is looked at, and a cut before it is the last.
        cuts = [found.end() for found in _CUT.finditer(text, begin, end + 1)]
        cuts = [cut for cut in cuts if cut <= end]
        if cuts or begin == start:
            return cuts[-1] if cuts else None
        size *= 8


def adds_up(before: str, after: str) -> bool:
    """Return whether the tokens of two texts surely add up to those of both together.

    They do when the first ends in a line end, the second does not begin with ``/``, and its leading
    white space holds no line end and is followed by something.
    """
    if before[-1:] not in _LINE_ENDS or not before or after[:1] == "/":
        return False
    space = after[: len(after) - len(after.lstrip())]
    return len(space) < len(after) and not _LINE_ENDS & {*space}


_LINE_ENDS = {"\r", "\n"}


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces in which a long text is counted, each with whether it ends at a certain cut.

    The last one ends with the text.
    """
    start = 0
    while len(text) - start > WHOLE:
        cut = last_cut(text, start, start + WHOLE) or _cut_after(text, start)
        if cut is None and len(text) - start <= FORCED:
            break
        end = cut or start + FORCED
        yield text[start:end], cut is not None
        start = end
    yield text[start:], True


def _cut_after(text: str, start: int) -> int | None:
    found = _CUT.search(text, start + WHOLE - 1, start + FORCED + 1)
    return found and found.end()
