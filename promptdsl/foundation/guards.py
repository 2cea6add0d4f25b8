"""Texts that cannot forge a fence: guards for author text, the minimal encoding for values.

A *mark* is what reads as an end of a fence: a tag with one of some names, or a literal delimiter
such as ``[[event``. Marks are found as a tolerant reader sees them: other brackets, white space,
slashes and characters that nobody sees do not hide one. Names are compared in NFKD, without
combining marks, case folded. Look-alike letters are not promised.

The first character of a mark becomes a reference; all else stays as written. So does the beginning
of a mark at the end of a text, because the next text could complete it: what a text becomes never
depends on its neighbours. ``decode`` returns the original of an encoded value.
"""

import json
import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import takewhile
from unicodedata import category, normalize

from promptdsl.foundation.errors import ConfigError
from promptdsl.foundation.escaping import CHARACTERS, reference
from promptdsl.foundation.unicode import CONTROL, NOT_CRLF, UNSEEN, is_whole, pattern

NONE: frozenset[str] = frozenset()
LONGEST = 64
"""The most characters of a name that is written with characters nobody sees."""
_BRACKETS = "<\u02c2\u1438\u2039\u226e\u2329\u276e\u27e8\u3008\ufe64\uff1c"
_SLASHES = frozenset("/\\\u1735\u2044\u2215\u29f8\uff0f")
# A bracket that may begin a tag. Group 2 is a name in ASCII, when printable ASCII follows it;
# without it a closer look is needed.
_TAG = (
    rf"([{_BRACKETS}])(?=[\s/\\]*+"
    r"(?:([A-Za-z0-9_.\-]++)(?=[\t\n\r -~])|(?![!-~])|[A-Za-z0-9_.\-]))"
)
# A reference as XML writes it, or the beginning of one at the end of the text.
_REFERENCE = (
    r"&(?=(?:amp|lt|gt|quot|apos|\#[0-9]++|\#x[0-9A-Fa-f]++);"
    r"|(?:a(?:mp?|p(?:os?)?)?|lt?|gt?|q(?:u(?:ot?)?)?|\#(?:x[0-9A-Fa-f]*+|[0-9]*+))?\Z)"
)
_ANY = pattern(rf"[{_BRACKETS}&{CONTROL}\r]")
_UNWANTED = rf"[{CONTROL}\r]{NOT_CRLF}"


def guard(text: str, names: Collection[str], literals: frozenset[str] = NONE) -> str:
    """Return author text that neither opens nor closes a fence.

    The fences are the tags with these ``names``, as :func:`fold` returns them, and ``literals``.
    Give it a finished text, or one whose values are encoded. Returns the same object when nothing
    changes. Raises :class:`ConfigError` for a literal that could be part of a reference.
    """
    text = str.__str__(text)
    if not literals and (not names or ("<" not in text and text.isascii())):
        return text
    return _referenced(text, _marks(literals), names, literals)


def minimal_body(value: str, names: Collection[str], literals: frozenset[str] = NONE) -> str:
    """Return a value for the body of a fence, changed only where a mark or a reference begins.

    As in every encoded place, control characters other than tab and newline, a carriage return
    without its newline, lone surrogates, U+FFFE and U+FFFF are references, too. Returns the same
    object when nothing changes.
    """
    value = str.__str__(value)
    if not literals and not _ANY.search(value):  # as most values
        return value
    return _referenced(value, _values(literals), names, literals)


def json_body(
    text: str, names: Collection[str], literals: frozenset[str] = NONE, *, full: bool = False
) -> str:
    r"""Return the JSON ``text`` of ``json_text`` for the body of a fence.

    Each string in it is a value of its own. Its ``<``, ``>`` and ``&`` are written as they are,
    and as ``\u003c`` and so on only where a mark or a reference begins; with ``full`` always.
    """
    marks = _full(literals) if full else _strings(literals)

    def rewritten(match: re.Match[str]) -> str:
        string = match[0]
        if not literals and "\\u" not in string and string.isascii():
            return string
        value: str = json.loads(string)
        pieces: list[str] = []
        start = 0
        for mark in marks.finditer(value):
            if (full and mark[0] == "<") or _is_mark(mark, names, literals):
                pieces += (_json_piece(value[start : mark.start()]), f"\\u{ord(mark[0]):04x}")
                start = mark.end()
        return f'"{"".join(pieces)}{_json_piece(value[start:])}"'

    return _JSON_STRING.sub(rewritten, text)


_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"')
_JSON_UNWANTED = pattern(r"[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def _json_piece(text: str) -> str:
    """Return a part of a string as JSON, without the quotes around it."""
    written = json.dumps(text, ensure_ascii=False)[1:-1]
    return _JSON_UNWANTED.sub(lambda match: f"\\u{ord(match[0]):04x}", written)


def tag_names(text: str) -> frozenset[str]:
    """Return the names of the tags in a text, folded, as a tolerant reader finds them."""
    if "<" not in text and text.isascii():
        return NONE
    found: set[str] = set()
    for match in _marks(NONE).finditer(text):
        if match[2]:
            found.add(fold(match[2]))
        else:
            readings = takewhile(lambda it: len(it[0]) <= LONGEST, _readings(text, match.end()))
            found.update(name for name, _ in readings)
    return frozenset(found - {""})


@lru_cache(maxsize=256)
def fold(name: str) -> str:
    """Return the name of a tag as a tolerant reader compares it."""
    if name.isascii():
        return name.rstrip(".-").lower()
    return "".join(_letters(mark) or "" for mark in name).rstrip(".-")


# Reading marks.


def _referenced(
    text: str, marks: re.Pattern[str], names: Collection[str], literals: frozenset[str]
) -> str:
    """Return a text with references for the characters that begin a mark."""

    def replaced(match: re.Match[str]) -> str:
        name = match[2]
        if name is not None and not literals and name.rstrip(".-").lower() not in names:
            return match[1]  # as nearly all brackets are
        return reference(match) if _is_mark(match, names, literals) else match[0]

    written = marks.sub(replaced, text)
    return text if len(written) == len(text) else written


def _is_mark(match: re.Match[str], names: Collection[str], literals: frozenset[str]) -> bool:
    """Return whether a match of a pattern below is the first character of a mark.

    The last group of a pattern for values is no mark, but is always a reference.
    """
    bracket, name, literal = match.group(1, 2, 3)
    if name is not None:
        is_tag = name.rstrip(".-").lower() in names
    elif bracket is not None:
        is_tag = _begins_tag(match.string, match.end(), names)
    else:
        is_tag = literal is None
    return is_tag or any(_begins(match.string, match.start(), wanted) for wanted in literals)


def _begins_tag(text: str, position: int, names: Collection[str]) -> bool:
    """Return whether a tag with one of the names, or the end of the text, follows a bracket."""
    longest = max(map(len, names), default=0)
    for name, is_last in _readings(text, position):
        if is_last:
            return any(known.startswith(name) or known == fold(name) for known in names)
        if name in names:
            return True
        if len(name) > longest:
            return False
    return False


def _readings(text: str, position: int) -> Iterator[tuple[str, bool]]:
    """Yield the names that may be read after a bracket.

    A character that nobody sees may end a name, or be no part of it. A name that reaches the end of
    the text has ``True`` beside it, and its last full stops and hyphens.
    """
    end = len(text)
    while position < end and _is_gap(text[position]):
        position += 1
    name = stops = ""
    while position < end:
        letters = _letters(text[position])
        position += 1
        if letters is None:
            break
        for letter in letters:
            if letter in ".-":
                stops += letter
            else:
                name, stops = name + stops + letter, ""
        if not letters:
            yield name, False
    else:
        yield name + stops, True
    yield name, False


def _is_gap(mark: str) -> bool:
    """Return whether a character may stand between a bracket and a name."""
    return mark.isspace() or mark in _SLASHES or _letters(mark) == ""


@lru_cache(maxsize=4096)
def _letters(mark: str) -> str | None:
    """Return the part of a name that a character is read as, ``None`` for the end of the name.

    A character that nobody sees is nothing, ``""``: control, format and combining characters,
    fillers, and a lone surrogate.
    """
    if mark.isspace():
        return None
    if category(mark) in _UNSEEN_CATEGORIES or _UNSEEN.match(mark):
        return ""
    plain = normalize("NFKD", normalize("NFKD", mark).casefold()).replace("\u0131", "i")
    letters = "".join(letter for letter in plain if not category(letter).startswith("M"))
    is_name = all(letter.isalnum() or letter in "_.-" for letter in letters)
    return letters if is_name and letters else None


_UNSEEN_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Mn", "Mc", "Me"))
_UNSEEN = pattern(rf"[{UNSEEN}\u2800\ufffe\uffff]")


def _visible(literal: str) -> str:
    """Return a literal delimiter as it is compared: in lower case, without what is not seen."""
    return "".join(mark for mark in literal if not mark.isspace() and _letters(mark) != "").lower()


def _begins(text: str, position: int, literal: str) -> bool:
    """Return whether a literal is at a position, or its beginning up to the end of the text.

    A beginning in the middle of a word is none: ``done`` does not begin ``EVENT:``.
    """
    in_word = text[position].isalnum() and text[position - 1 : position].isalnum()
    for wanted in _visible(literal):
        while position < len(text) and (text[position].isspace() or _letters(text[position]) == ""):
            position += 1
        if position == len(text):
            return not in_word
        if text[position].lower() != wanted:
            return False
        position += 1
    return True


# The patterns of characters that may begin a mark. Group 1 is a bracket, group 2 a name after it,
# group 3 the first character of a literal, group 4 all else that is written as a reference.


def _patterned(rest: str, literals: frozenset[str]) -> re.Pattern[str]:
    """Return the pattern of marks, with the ``rest`` of what is written as a reference."""
    firsts: list[str] = []
    for literal in sorted(filter(None, literals)):
        check_delimiter(literal)
        first, *others = map(re.escape, _visible(literal))
        following = rf"(?=\s*+(?:{others[0]}|[^!-~]|\Z))" if others else ""
        firsts.append(f"{first}{following}")
    # Without a literal, group 3 never matches.
    return re.compile(rf"{_TAG}|(?i:({'|'.join(firsts) or '(?!)'}))|({rest})")


@lru_cache(maxsize=64)
def _marks(literals: frozenset[str]) -> re.Pattern[str]:
    """Return the pattern of marks."""
    return _patterned("(?!)", literals)


@lru_cache(maxsize=64)
def _strings(literals: frozenset[str]) -> re.Pattern[str]:
    """Return the pattern of marks and references, for the strings in JSON."""
    return _patterned(_REFERENCE, literals)


@lru_cache(maxsize=64)
def _full(literals: frozenset[str]) -> re.Pattern[str]:
    """Return the pattern of marks and of ``&``, ``<`` and ``>``."""
    return _patterned("[&<>]", literals)


@lru_cache(maxsize=64)
def _values(literals: frozenset[str]) -> re.Pattern[str]:
    """Return the pattern of marks, references and characters that are never sent as they are."""
    return _patterned(f"{_REFERENCE}|{_UNWANTED}", literals)


# Delimiters.


def check_delimiter(delimiter: str, *, tag: bool = False) -> None:
    """Raise :class:`ConfigError` for a delimiter that no guard can keep out of a text."""
    bare = _visible(delimiter)
    if not bare or not is_whole(delimiter):
        raise ConfigError(
            f"the delimiter {delimiter!r} is blank, or no valid text",
            fix="choose one that can be seen, such as '[[event'",
        )
    if tag:
        return
    in_name = any(bare in name for name in CHARACTERS)
    if in_name or "&" in bare or ";" in bare or _IN_NUMBER.fullmatch(bare):
        raise ConfigError(
            f"the delimiter {delimiter!r} reads as part of a character reference",
            fix="choose one with other characters, such as '[[event'",
        )


_IN_NUMBER = re.compile("#?[0-9]*")


def holds(text: str, literals: Collection[str]) -> bool:
    """Return whether a text holds one of the literal delimiters, in any case."""
    return any(_visible(literal) in _visible(text) for literal in literals)


def guard_between(before: str, text: str, after: str, literals: frozenset[str]) -> str:
    """Return a text that forms no literal delimiter with the texts ``before`` and ``after`` it.

    Neither of the two is changed: only the text may come from data.
    """
    text = guard(text, NONE, literals)
    whole, end = before + text + after, text + after
    if any(name in whole and name not in before and name not in end for name in literals):
        text = f"&#{ord(text[0])};{text[1:]}"
    return text
