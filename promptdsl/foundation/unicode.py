"""Unicode in texts: exact strings, surrogates, invisible characters, and widths of lines.

Between the last two is ``equal_start``, which compares the beginnings of two texts.
"""

import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TextIO, TypeVar, cast

# Exact strings, surrogates and control characters.

T = TypeVar("T")


class _LazyPattern:
    """A regular expression that is compiled with the first call of one of its methods."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __getattr__(self, name: str) -> object:
        # The method becomes an attribute, so that the next use does not call this function.
        method: object = getattr(re.compile(self._text), name)
        self.__dict__[name] = method
        return method


def pattern(text: str) -> re.Pattern[str]:
    """Return a regular expression that is compiled with the first call of one of its methods.

    Character classes beyond ASCII take about half a millisecond each to compile, and most prompts
    need none of them.

    >>> pattern("[a-z]+").findall("one, two")
    ['one', 'two']
    """
    return cast("re.Pattern[str]", _LazyPattern(text))


# The control characters, as the inside of a regular expression's brackets. The next pattern is for
# the end of a class with CR: it excludes the CR of a CR LF.
CONTROL = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff"
NOT_CRLF = r"(?<!\r(?=\n))"
_SURROGATE = pattern(r"[\ud800-\udfff]")
_CONTROLS = pattern(rf"[{CONTROL}\r]{NOT_CRLF}")


def exact(value: T) -> T:
    """Return a string as an exact ``str``, because a subclass may print another text.

    Other values are returned unchanged.
    """
    # Not isinstance(): an object may claim to be a string by its ``__class__``.
    if type(value) is str or not issubclass(type(value), str):
        return value
    return cast("T", str.__str__(cast("str", value)))


def is_blank(text: str) -> bool:
    """Return whether a text is empty or only white space."""
    return not text or text.isspace()


def on_one_line(text: str) -> str:
    """Return text with visible escapes for line ends, control and other unprintable characters."""
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else repr(character)[1:-1] for character in text
    )


# Invisible characters.

_EMOJI = (
    r"[\xa9\xae\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u24c2\u25aa-\u25fe\u2600-\u27bf"
    r"\u2934\u2935\u2b05-\u2b55\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
    r"(?:[\U0001f3fb-\U0001f3ff]|[\ufe0e\ufe0f])?+"
)
# The three flags recommended for general interchange (UTS #51): England, Scotland, Wales.
_FLAG = (
    "\U0001f3f4\U000e0067\U000e0062"
    "(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)"
    "\U000e007f"
)
# Scripts that spell with joiners: Arabic, the Brahmic family, Mongolian.
_JOINING = (
    r"[\u0600-\u061b\u061d-\u0dff\u1000-\u109f\u1780-\u17b3\u17b6-\u180a\u1810-\u18af]"
    r"[\u200c\u200d]"
)
# The invisible characters, as the inside of a regular expression's brackets.
UNSEEN = (
    r"\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff"
)
_ANY_UNSEEN = pattern(f"[{UNSEEN}]")
INVISIBLE = pattern(
    rf"{_FLAG}|{_EMOJI}(?:\u200d{_EMOJI})*+|[0-9#*]\ufe0f\u20e3|{_JOINING}|([{UNSEEN}])"
)
"""A spelling that needs invisible characters; group 1 is an invisible character outside of one."""


def is_valid_unicode(text: str) -> bool:
    """Return whether a text can be written as UTF-8: it has no lone surrogate."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def valid_unicode(text: str) -> tuple[str, bool]:
    """Return a text with U+FFFD for every lone surrogate, and whether it had a lone surrogate."""
    text = exact(text)
    if is_valid_unicode(text):
        return text, False
    return _SURROGATE.sub("\ufffd", text), True


def controls(text: str) -> tuple[str, ...]:
    """Return the characters that every encoding writes as numbers, with names like ``U+0007``.

    These are control characters (also a lone CR), lone surrogates, U+FFFE and U+FFFF. Each is in
    the result once, in order.
    """
    in_lines = text.replace("\n", "").replace("\t", "")
    return () if in_lines.isprintable() else _code_points(_CONTROLS.findall(text))


def visible(text: str, *, one_line: bool = False) -> str:
    """Return text with escapes for its control and invisible characters, to show it to people.

    Newline and tab stay, unless the text has to be on one line. Characters that are part of a
    spelling stay, as in :func:`invisible`.
    """
    if not text.isascii() and _ANY_UNSEEN.search(text):
        text = INVISIBLE.sub(lambda match: _escaped(match[1]) if match[1] else match[0], text)
    unwanted = _NOT_ON_ONE_LINE if one_line else _NOT_IN_TEXT
    return unwanted.sub(lambda match: _escaped(match[0]), text)


def visible_json(text: str) -> str:
    """Return a JSON text with escapes of JSON for its control and invisible characters."""
    if not text.isascii() and _ANY_UNSEEN.search(text):
        text = INVISIBLE.sub(lambda match: _json_escaped(match[1]) if match[1] else match[0], text)
    return _NOT_IN_JSON.sub(lambda match: _json_escaped(match[0]), text)


_NOT_IN_JSON = pattern(r"[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NOT_ON_ONE_LINE = pattern(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_NOT_IN_TEXT = pattern(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def _json_escaped(character: str) -> str:
    data = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[n : n + 2].hex()}" for n in range(0, len(data), 2))


def invisible(text: str) -> tuple[str, ...]:
    """Return the names of the invisible, bidirectional and tag characters, such as ``U+200B``.

    Each is in the result once, in order. Characters that are part of a spelling do not count:
    joiners and selectors in emoji, the tags of the flags of England, Scotland and Wales, joiners in
    scripts that need them.
    """
    if text.isascii() or not _ANY_UNSEEN.search(text):
        return ()
    return _code_points(filter(None, INVISIBLE.findall(text)))


def _code_points(characters: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"U+{ord(character):04X}" for character in dict.fromkeys(characters))


def equal_start(before: Sequence[object], after: Sequence[object]) -> int:
    """Return how many characters, or items, two sequences have in common at their beginning."""
    shorter = min(len(before), len(after))
    if before[:shorter] == after[:shorter]:
        return shorter
    equal, end = 0, shorter
    while end - equal > 1:
        middle = (equal + end) // 2
        if before[equal:middle] == after[equal:middle]:
            equal = middle
        else:
            end = middle
    return equal


# Texts that fit the width of a terminal.


def terminal_width() -> int | None:
    """Return the columns of standard output, ``None`` if it is not a terminal."""
    stdout: TextIO | None = sys.stdout  # ``None`` in a program without a console
    try:
        is_terminal = stdout is not None and stdout.isatty()
    except (ValueError, AttributeError):
        return None
    import shutil  # it is needed for terminals alone

    return shutil.get_terminal_size().columns if is_terminal else None


def columns(text: str) -> int:
    """Return the columns of a text on one line: 2 for a wide character, 0 for an accent."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def cut_to(text: str, width: int) -> str:
    """Return a text cut to at most ``width`` columns, with an ellipsis at its end if it was cut."""
    if columns(text) <= width:
        return text
    if width < 1:
        return ""
    ends = accumulate(map(_columns, text))
    return text[: sum(1 for end in ends if end < width)] + "…"


def file_columns(sources: Iterable[str]) -> int:
    """Return the columns that the longest source needs without its folders; 0 without sources."""
    longest = max((columns(re.split(r"[/\\]", source)[-1]) for source in sources), default=0)
    return longest + len("…/") if longest else 0


def fitted_source(source: str, width: int) -> str:
    """Return a ``file:line`` of at most ``width`` columns.

    The path of a file in the current folder is relative to this folder. The path is cut from its
    left; the result is empty if the file name does not fit.
    """
    source = source.removeprefix(os.path.join(os.getcwd(), ""))
    while columns(source) > width:
        _, separator, rest = source.removeprefix("…").lstrip(os.sep).partition(os.sep)
        if not separator:
            return ""
        source = f"…{os.sep}{rest}"
    return source
