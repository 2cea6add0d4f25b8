"""A reader of fences that reads one character after another, and slowly: what tests trust.

It knows nothing of how the package reads. A *tag* is an opening bracket, a *gap* (white space,
slashes, characters that nobody sees) and a name; a character that nobody sees inside a name is read
both as absent and as its end. A *literal* is a delimiter that is no tag, in any case, with a gap
between any two of its characters.
"""

from collections.abc import Collection, Iterator
from functools import cache
from itertools import islice
from unicodedata import category, normalize


def ranges(text: str) -> frozenset[str]:
    """Return the characters of ranges that are written as in Unicode's data files."""
    pairs = [(*found.split(".."), found)[:2] for found in text.split()]
    return frozenset(
        chr(code) for low, high in pairs for code in range(int(low, 16), int(high[-5:], 16) + 1)
    )


# Default_Ignorable_Code_Point of DerivedCoreProperties.txt, and the marks of annotations.
UNSEEN = ranges(
    "00AD 034F 061C 115F..1160 17B4..17B5 180B..180F 200B..200F 202A..202E 2060..206F 3164 "
    "FE00..FE0F FEFF FFA0 FFF0..FFFB 1BCA0..1BCA3 1D173..1D17A E0000..E0FFF"
)
BRACKETS = {*"<\u02c2\u1438\u2039\u226e\u2329\u276e\u27e8\u3008\ufe64\uff1c"}
SLASHES = {*"/\\\u1735\u2044\u2215\u29f8\uff0f"}
NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
WORDS = ("amp;", "lt;", "gt;", "quot;", "apos;")
DECIMAL, HEXADECIMAL = {*"0123456789"}, {*"0123456789abcdefABCDEF"}
OWN = frozenset(
    ("event", "context", "developer", "untrusted", "tool_use", "tool_result", "system", "assistant")
)
"""The names of tags that no value forges with any configuration."""


@cache
def is_space(mark: str) -> bool:
    """Return whether a character is white space to a reader; other controls are nothing."""
    return mark in " \t\n\r\v\f" or category(mark) in ("Zs", "Zl", "Zp")


@cache
def is_nothing(mark: str) -> bool:
    """Return whether nobody sees a character."""
    unseen = category(mark) in ("Cc", "Cf", "Cs", "Mn", "Mc", "Me") or mark in UNSEEN
    return not is_space(mark) and (unseen or mark in "\u2800\ufffe\uffff")


@cache
def plain(mark: str) -> str:
    """Return the letters that a character is compared as."""
    letters = normalize("NFKD", normalize("NFKD", mark).casefold()).replace("\u0131", "i")
    return "".join(letter for letter in letters if category(letter)[0] != "M")


@cache
def is_of_name(mark: str) -> bool:
    """Return whether a character can be part of a name."""
    letters = plain(mark)
    seen = letters and not is_space(mark) and not is_nothing(mark) and mark not in BRACKETS
    return bool(seen) and all(letter.isalnum() or letter in "_.-" for letter in letters)


def names_at(text: str, start: int) -> Iterator[tuple[str, bool]]:
    """Yield each name that may be read at a position, and whether the text may go on in it."""
    name = ""
    for position in range(start, len(text)):
        if is_nothing(text[position]):
            yield name.rstrip(".-"), False
        elif is_of_name(text[position]):
            name += plain(text[position])
        else:
            yield name.rstrip(".-"), False
            return
    yield name.rstrip(".-"), False
    yield name, True


def after_gap(text: str, start: int) -> int:
    """Return the position behind white space, slashes and what nobody sees."""
    while start < len(text) and (
        is_space(text[start]) or is_nothing(text[start]) or text[start] in SLASHES
    ):
        start += 1
    return start


def tag_at(text: str, start: int, names: Collection[str]) -> str | None:
    """Return the name of the tag that a reader sees at a position."""
    if text[start] not in BRACKETS:
        return None
    found = [name for name, goes_on in names_at(text, after_gap(text, start + 1)) if not goes_on]
    return next((name for name in found if name in names), None)


def tags_in(text: str, names: Collection[str]) -> list[str]:
    """Return the names of all tags that a reader sees in a text."""
    found = [tag_at(text, start, names) for start in range(len(text))]
    return [name for name in found if name is not None]


def begins_tag(text: str, start: int, names: Collection[str]) -> bool:
    """Return whether a text ends within what a reader could see as a tag, if more followed."""
    if text[start] not in BRACKETS:
        return False
    beginnings = [name for name, goes_on in names_at(text, after_gap(text, start + 1)) if goes_on]
    return any(known.startswith(name) for known in names for name in beginnings)


def seen(text: str) -> str:
    """Return the visible characters of a text."""
    return "".join(mark for mark in text if not is_space(mark) and not is_nothing(mark))


def literals_in(text: str, literal: str) -> int:
    """Return how often a reader sees a literal in a text."""
    wanted, given = [*map(str.lower, seen(literal))], [*map(str.lower, seen(text))]
    starts = range(len(given) - len(wanted) + 1)
    return sum(given[start : start + len(wanted)] == wanted for start in starts)


def literal_at(text: str, start: int, literal: str) -> bool:
    """Return whether a literal is read at a position, or its beginning at the end of the text.

    A beginning in the middle of a word is none.
    """
    if not seen(text[start]):
        return False
    wanted = [*map(str.lower, seen(literal))]
    # No further than the literal: a text may be a megabyte, and is read from each position.
    visible = (text[n].lower() for n in range(start, len(text)) if seen(text[n]))
    given = [*islice(visible, len(wanted))]
    if given == wanted:
        return True
    in_word = start > 0 and text[start].isalnum() and text[start - 1].isalnum()
    return wanted[: len(given)] == given and not in_word


def reference_at(text: str, start: int) -> bool:
    """Return whether a character reference of XML is at a position, or its beginning at the end."""
    if text[start] != "&":
        return False
    rest = text[start + 1 :]
    if any(rest.startswith(word) or word.startswith(rest) for word in WORDS):
        return True
    if rest[:1] != "#":
        return False
    digits, rest = (HEXADECIMAL, rest[2:]) if rest[1:2] == "x" else (DECIMAL, rest[1:])
    behind = next((n for n, mark in enumerate(rest) if mark not in digits), len(rest))
    return behind == len(rest) or (behind > 0 and rest[behind] == ";")


def is_unsent(text: str, start: int) -> bool:
    """Return whether a character is never sent as it is: most controls, a lone carriage return."""
    mark = text[start]
    if mark == "\r":
        return text[start + 1 : start + 2] != "\n"
    return mark not in "\t\n" and (category(mark) in ("Cc", "Cs") or mark in "\ufffe\uffff")


def begins_mark(
    text: str, start: int, names: Collection[str], literals: Collection[str] = ()
) -> bool:
    """Return whether what begins at a position may not stand in a fence."""
    return (
        tag_at(text, start, names) is not None
        or begins_tag(text, start, names)
        or any(literal_at(text, start, literal) for literal in literals)
    )


def _referenced(text: str, at: Collection[int]) -> str:
    """Return a text with references for the characters at some positions."""
    return "".join(
        NAMED.get(mark) or f"&#{ord(mark)};" if position in at else mark
        for position, mark in enumerate(text)
    )


def minimal(value: str, names: Collection[str] = OWN, literals: Collection[str] = ()) -> str:
    """Return what a value becomes in a fence, by the rules."""
    return _referenced(
        value,
        {
            start
            for start in range(len(value))
            if begins_mark(value, start, names, literals)
            or reference_at(value, start)
            or is_unsent(value, start)
        },
    )


def guarded(text: str, names: Collection[str], literals: Collection[str] = ()) -> str:
    """Return what the text of an author becomes in a fence, by the rules."""
    marks = (start for start in range(len(text)) if begins_mark(text, start, names, literals))
    return _referenced(text, {*marks})
