"""Where a text may be cut: behind a paragraph, a sentence or a word, else between characters."""

import re
import unicodedata

PARAGRAPH, SENTENCE, WORD = 3, 2, 1

# Ideographic, fullwidth and halfwidth stops need no space behind them.
_PLACES = re.compile("\\s+|[\u3002\uff01\uff1f\uff0e\uff61][\u300d\u300f\uff09\u201d\u2019]*")
_ENDS = frozenset(".!?\u2026")
_CLOSERS = "\"'\u201d\u2019\u00bb)]*_"
_LOOK_BACK = 4
"""How many characters are looked at for the end of a sentence: its mark, and what closes after."""


_AROUND = 64
"""How many characters around two places are looked at, for white space that goes on there."""


def best_boundary(text: str, start: int, end: int, *, last: bool) -> int | None:
    """Return the first or last place between two positions where most ends, if anything does.

    A paragraph is more than a sentence, that is more than a word, and a line ends as a sentence
    does. The place is behind the white space; where that goes on too far, in the middle of it.
    """
    best, level = None, 0
    for found in _PLACES.finditer(text, max(0, start - _AROUND), end + _AROUND):
        if found.end() < start:
            continue
        if found.start() > end:
            break
        place, ending = found.end(), _ending(text, found)
        if place > end:
            if not found[0].isspace():
                break
            place = end if last else start
        if ending > level or (last and ending == level):
            best, level = place, ending
    return best


def _ending(text: str, found: re.Match[str]) -> int:
    space = found[0]
    if not space.isspace():
        return SENTENCE
    lines = max(space.count("\n"), space.count("\r"))
    if lines:
        return PARAGRAPH if lines > 1 else SENTENCE
    before = text[max(0, found.start() - _LOOK_BACK) : found.start()].rstrip(_CLOSERS)
    return SENTENCE if before[-1:] in _ENDS and before else WORD


def whole_character(text: str, place: int, *, forwards: bool = False) -> int:
    """Return the nearest place, backwards unless told, that parts nothing seen as one character.

    CR LF, a surrogate pair, and a letter with its marks and joiners are one. Of more marks than
    anybody writes some are parted.
    """
    step = 1 if forwards else -1
    for near in range(place, place + step * _MOST_MARKS, step):
        if not 0 < near < len(text) or not _is_inside(text[near - 1], text[near]):
            return min(max(near, 0), len(text))
    return place


_MOST_MARKS = 32
_JOINER = "\u200d"


def _is_inside(before: str, after: str) -> bool:
    """Return whether two characters are seen as one."""
    if after < "\u0300":
        return before == "\r" and after == "\n"
    is_joined = _JOINER in (before, after) or unicodedata.category(after)[0] == "M"
    is_pair = "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"
    return is_joined or is_pair or "\U0001f3fb" <= after <= "\U0001f3ff"
