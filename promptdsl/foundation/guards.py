"""Texts that cannot forge a fence: guards for author text, the minimal encoding for values.

A *fence* is the beginning and the end around a text: the tags of a name, such as ``<event>`` and
``</event>``, or literal delimiters, such as ``[[event``. A *forged fence* is what a reader could
take for the beginning or the end of one. It is found as a tolerant reader finds it: other brackets,
white space, slashes, invisible characters and a missing ``>`` do not hide it. Names are compared
without accents and capitals: in NFKD, without combining characters, case folded. Look-alike
letters, such as a Cyrillic ``o``, are not found.

The first character of a forged fence becomes a character reference; all else stays as written. The
beginning of a fence at the end of a text counts as a forged one, because the next text could
complete it. So the result of a guard does not depend on the next text. ``decode`` returns the
original of an encoded value.

Begin with ``guard`` and ``minimal_body``, then ``_readings``: how a tolerant reader reads a name.
"""

import json
import re
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from operator import add
from typing import NamedTuple
from unicodedata import category, normalize

from promptdsl.foundation.errors import ConfigError
from promptdsl.foundation.escaping import CHARACTERS, reference, reference_of
from promptdsl.foundation.unicode import CONTROL, NOT_CRLF, UNSEEN, is_valid_unicode, pattern

NONE: frozenset[str] = frozenset()
LONGEST = 64
"""The longest name that is read from an author's tag that is not written in plain ASCII."""
BRACKETS = "<\u02c2\u1438\u2039\u226e\u2329\u276e\u27e8\u3008\ufe64\uff1c"
_SLASHES = frozenset("/\\\u1735\u2044\u2215\u29f8\uff0f")
_NAME = r"[A-Za-z0-9_.\-]++"
# A bracket that may begin a tag. Group 2 is a name in ASCII, if printable ASCII follows it.
# Without group 2 a closer look is needed.
_TAG = (
    rf"([{BRACKETS}])(?=[\s/\\]*+"
    rf"(?:({_NAME})(?=[\t\n\r -~])|(?![!-~])|[A-Za-z0-9_]))"
)
# A ``<`` that needs no closer look. Its group is the name behind it, or nothing.
_PLAIN = pattern(rf"<[\s/\\]*+(?:({_NAME})(?=[\t\n\r -~])|(?=[!-~])(?![A-Za-z0-9_]))")
# A reference as XML writes it, or also the beginning of one at the end of the text.
_COMPLETE_REFERENCE = r"&(?=(?:amp|lt|gt|quot|apos|\#[0-9]++|\#x[0-9A-Fa-f]++);)"
_REFERENCE = (
    rf"{_COMPLETE_REFERENCE}"
    r"|&(?=(?:a(?:mp?|p(?:os?)?)?|lt?|gt?|q(?:u(?:ot?)?)?|\#(?:x[0-9A-Fa-f]*+|[0-9]*+))?\Z)"
)


class _Others(NamedTuple):
    """What becomes a reference next to forged fences: its first characters, and its pattern."""

    begins: str
    pattern: str


# It matches nothing; a class of first characters may not be empty.
_NOTHING = _Others(r"\x00", "(?!).")
_IN_BODY = _Others(rf"&{CONTROL}\r", rf"{_REFERENCE}|[{CONTROL}\r]{NOT_CRLF}")
_IN_JSON = _Others("&", _REFERENCE)
_IN_FULL_JSON = _Others("&<>", "[&<>]")


def guard(text: str, names: Collection[str], literals: frozenset[str] = NONE) -> str:
    """Return author text that neither opens nor closes a fence.

    The fences are the tags with these ``names``, as :func:`fold` returns them, and ``literals``.
    Values in the text are encoded already. Returns the same object when nothing changes. Raises
    :class:`ConfigError` for a literal that could be part of a reference.
    """
    text = str.__str__(text)
    if literals or (names and has_bracket(text)):
        return _encoded(text, names, literals, _NOTHING)
    return text


def has_bracket(text: str) -> bool:
    """Return whether a tag may begin in a text."""
    return "<" in text or _has_other_bracket(text)


def _has_other_bracket(text: str) -> bool:
    """Return whether a text holds an opening bracket that is no ``<``."""
    return not text.isascii() and any(map(text.__contains__, BRACKETS[1:]))


def left_open(text: str) -> str:
    """Return the beginning of a tag that a text ends with, from its bracket on, or nothing."""
    if not has_bracket(text):
        return ""
    start = max(map(text.rfind, BRACKETS))
    if any(is_last for _, is_last in _readings(text, start + 1)):
        return text[start:]
    return ""


def guard_end(text: str, names: Collection[str]) -> str:
    """Return author text at whose end no tag begins that a value after it could complete.

    ``names`` are the names of such tags. A complete name is kept: it is a tag of the author.
    """
    begun = left_open(text)
    if not _unfinished(begun, names):
        return text
    return f"{text[: -len(begun)]}{reference_of(begun[0])}{begun[1:]}"


def guard_start(text: str, begun: str, names: Collection[str]) -> str:
    """Return a text that does not complete a tag which the author's text before it began.

    If it did, its first character becomes a reference, unless it begins one. A complete name is
    kept, as in ``guard_end``.
    """
    wanted = _unfinished(begun, names)
    if text[:1] in ("", "&") or not _begins_tag(begun + text, 1, wanted):
        return text
    return f"{reference_of(text[0])}{text[1:]}"


def _unfinished(begun: str, names: Collection[str]) -> set[str]:
    """Return the names of which a text ends with the beginning."""
    if not begun:
        return set()
    ends = [name for name, is_last in _readings(begun, 1, names) if is_last]
    return {name for end in ends for name in names if name.startswith(end) and name != end}


def minimal_body(value: str, names: Collection[str], literals: frozenset[str] = NONE) -> str:
    """Return a value for the body of a fence, changed only where a fence or a reference begins.

    As in every encoding, control characters other than tab and newline, a carriage return
    without its newline, lone surrogates, U+FFFE and U+FFFF are references, too. Returns the same
    object when nothing changes.
    """
    return _encoded(str.__str__(value), names, literals, _IN_BODY)


def readable_tags(
    value: str,
    names: Collection[str],
    literals: frozenset[str] = NONE,
    *,
    before_value: bool = False,
    in_comment: bool = False,
) -> str:
    """Return a value for text without a fence that forges no tag.

    Less is encoded than in :func:`minimal_body`: the beginning of a reference at its end stays,
    unless another value follows directly (``before_value``), which could complete it. In a comment
    of the author, every ``>`` becomes a reference, and so does a last character that would end the
    comment with a ``>`` after it. U+2028 and U+2029, which end a line for some readers, are
    references, too.
    """
    return _encoded(value, names, literals, _others_inline(before_value, in_comment))


@cache
def _others_inline(before_value: bool, in_comment: bool) -> _Others:
    """Return what is written as a reference in text without a fence."""
    unsent = rf"{CONTROL}\r\u2028\u2029"
    references = _REFERENCE if before_value else _COMPLETE_REFERENCE
    begins, others = f"&{unsent}", f"{references}|[{unsent}]{NOT_CRLF}"
    if in_comment:
        return _Others(rf"{begins}>\-\]?", rf"{others}|>|[-\]?]\Z")
    return _Others(begins, others)


def _encoded(text: str, names: Collection[str], literals: frozenset[str], others: _Others) -> str:
    """Return a text with references for the beginnings of forged fences, and for the ``others``."""
    brackets = None if literals else _brackets(text, names)
    if brackets is None:
        return _referenced(text, _patterned(literals, others), names, literals)
    written = _alone(others).sub(reference, text)
    if not brackets:
        return written
    first, *behind = written.split("<")
    return "".join((first, *map(add, brackets, behind)))


def _brackets(text: str, names: Collection[str]) -> list[str] | None:
    """Return how each ``<`` of a text is written, an empty list where all stay.

    Return ``None`` for a text that needs a closer look: one with other brackets, or with a bracket
    that no ASCII follows. Most texts need none, as their brackets are those of code and markup.
    """
    before, last, behind = text.rpartition("<")
    heads = _PLAIN.findall(text, 0, len(before) + 1)
    if len(heads) < before.count("<") or _has_other_bracket(text):
        return None
    forged = {head for head in {*heads} if fold(head) in names}
    last_forged = last and _begins_tag(behind, 0, names)
    if not (forged or last_forged):
        return []
    written = dict.fromkeys(heads, "<") | dict.fromkeys(forged, "&lt;")
    last_written = "&lt;" if last_forged else "<"
    return [*map(written.__getitem__, heads), last_written]


def json_body(
    text: str, names: Collection[str], literals: frozenset[str] = NONE, *, full: bool = False
) -> str:
    r"""Return JSON that ``json_text`` wrote as it is sent in the body of a fence.

    Each string and each key in it is a value of its own. Its ``<``, ``>`` and ``&`` are written as
    they are, except where a fence or a reference begins: there they stay ``\u003c`` and so on.
    With ``full`` all of them stay so.
    """

    def is_same(written: str) -> bool:
        return not literals and (full or "\\u" not in written) and written.isascii()

    if is_same(text):  # as most texts are
        return text
    others = _IN_FULL_JSON if full else _IN_JSON
    candidates = _patterned(literals, others)

    def rewritten(match: re.Match[str]) -> str:
        string = match[0]
        if is_same(string):
            return string
        value: str = json.loads(string)
        pieces: list[str] = []
        start = 0
        for candidate in candidates.finditer(value):
            first = candidate[0]
            if (full and first == "<") or _becomes_reference(candidate, names, literals):
                number = json.dumps(first) if first > "\uffff" else f"\\u{ord(first):04x}"
                pieces += (_json_piece(value[start : candidate.start()]), number.strip('"'))
                start = candidate.end()
        written = f'"{"".join(pieces)}{_json_piece(value[start:])}"'
        # An escape reads as a slash and a letter, too: ``<\tool_use>``.
        return _patterned(NONE).sub(escaped, written) if "\\" in written else written

    def escaped(match: re.Match[str]) -> str:
        return f"\\u{ord(match[1]):04x}" if _becomes_reference(match, names, NONE) else match[0]

    return _JSON_STRING.sub(rewritten, text)


_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"')
_JSON_UNWANTED = pattern(r"[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def _json_piece(text: str) -> str:
    """Return a part of a string as JSON, without the quotes around it."""
    written = json.dumps(text, ensure_ascii=False)[1:-1]
    return _JSON_UNWANTED.sub(lambda match: f"\\u{ord(match[0]):04x}", written)


class WrittenTags(NamedTuple):
    """The names of the tags in a text, folded, as a tolerant reader finds them."""

    opened: frozenset[str] = NONE
    closed: frozenset[str] = NONE


def written_tags(text: str) -> WrittenTags:
    """Return the tags that a text opens, and those that it closes: after a slash."""
    if not has_bracket(text):
        return WrittenTags()
    opened: set[str] = set()
    closed: set[str] = set()
    for match in _patterned(NONE).finditer(text):
        start, end = match.end(), _after_gap(text, match.end())
        names = opened if _SLASHES.isdisjoint(text[start:end]) else closed
        if match[2]:
            names.add(fold(match[2]))
        else:
            names.update(name for name, is_last in _readings(text, end) if not is_last)
    return WrittenTags(frozenset(opened - {""}), frozenset(closed - {""}))


def paired_tags(text: str) -> frozenset[str]:
    """Return the tags that a text both opens and closes."""
    opened, closed = written_tags(text)
    return opened & closed


@lru_cache(maxsize=256)
def fold(name: str) -> str:
    """Return the name of a tag as a tolerant reader compares it."""
    if name.isascii():
        return name.rstrip(".-").lower()
    return "".join(_letters(character) or "" for character in name).rstrip(".-")


# Finding forged fences.


def _referenced(
    text: str, candidates: re.Pattern[str], names: Collection[str], literals: frozenset[str]
) -> str:
    """Return a text with references for the characters that begin a forged fence."""

    def replaced(match: re.Match[str]) -> str:
        return reference(match) if _becomes_reference(match, names, literals) else match[0]

    written = candidates.sub(replaced, text)
    return text if len(written) == len(text) else written


def _becomes_reference(
    match: re.Match[str], names: Collection[str], literals: frozenset[str]
) -> bool:
    """Return whether the match of a pattern below becomes a reference.

    It does if it is the first character of a forged fence, and always if it is group 4.
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
    """Return whether a tag with one of the names follows a bracket.

    At the end of the text the beginning of a name is enough.
    """
    return any(
        name in names or (is_last and any(known.startswith(name) for known in names))
        for name, is_last in _readings(text, position, names)
    )


def _readings(
    text: str, position: int, names: Collection[str] = NONE
) -> Iterator[tuple[str, bool]]:
    """Yield the names that may be read after a bracket, each with whether the text ends with it.

    There may be several: an invisible character may end a name, or be left out of it. Full stops
    and hyphens at the end of a name are cut, unless the text ends with it. Reading stops at a name
    that is longer than all ``names``, or than ``LONGEST`` where there are no ``names``.
    """
    end, longest = len(text), max(map(len, names), default=LONGEST)
    position = _after_gap(text, position)
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
        if len(name) > longest:
            return
        if not letters:
            yield name, False
    else:
        yield name + stops, True
    yield name, False


def _after_gap(text: str, position: int) -> int:
    """Return the position after the white space, slashes and invisible characters at a position."""
    while position < len(text) and (text[position] in _SLASHES or _is_blank(text[position])):
        position += 1
    return position


def _is_blank(character: str) -> bool:
    """Return whether a character is white space, or invisible."""
    return character.isspace() or _letters(character) == ""


@lru_cache(maxsize=4096)
def _letters(character: str) -> str | None:
    """Return the letters that a character in a name is read as, ``None`` if it ends the name.

    They are ``""`` for an invisible character: control, format and combining characters, fillers,
    and lone surrogates.
    """
    if character in "\t\n\v\f\r" or character in BRACKETS:
        return None
    if category(character) in _UNSEEN_CATEGORIES or _UNSEEN.match(character):
        return ""
    plain = normalize("NFKD", normalize("NFKD", character).casefold()).replace("\u0131", "i")
    letters = "".join(letter for letter in plain if not category(letter).startswith("M"))
    is_name = all(letter.isalnum() or letter in "_.-" for letter in letters)
    return letters if is_name and letters else None


_UNSEEN_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Mn", "Mc", "Me"))
_UNSEEN = pattern(rf"[{UNSEEN}\u2800\ufffe\uffff]")


def _visible(literal: str) -> str:
    """Return a literal delimiter as it is compared: without invisible characters."""
    return "".join(character for character in literal if not _is_blank(character))


def _begins(text: str, position: int, literal: str) -> bool:
    """Return whether a literal is at a position, or its beginning up to the end of the text.

    A beginning in the middle of a word does not count: ``done`` does not begin ``EVENT:``.
    """
    in_word = text[position].isalnum() and text[position - 1 : position].isalnum()
    for wanted in _visible(literal):
        while position < len(text) and _is_blank(text[position]):
            position += 1
        if position == len(text):
            return not in_word
        if text[position].lower() != wanted.lower():
            return False
        position += 1
    return True


@cache
def _alone(others: _Others) -> re.Pattern[str]:
    """Return the pattern of the ``others`` alone, without forged fences."""
    return re.compile(f"[{others.begins}](?<={others.pattern})")


# The patterns of characters that may begin a forged fence. Group 1 is a bracket, group 2 a name
# after it, group 3 the first character of a literal, group 4 all else that becomes a reference.


@lru_cache(maxsize=256)
def _patterned(literals: frozenset[str], others: _Others = _NOTHING) -> re.Pattern[str]:
    """Return the pattern of possible fences and of the ``others`` that become references.

    It begins with one class of characters: ``re`` finds such a beginning quickly.
    """
    firsts: list[str] = []
    begins = BRACKETS + others.begins
    for literal in sorted(literals):
        check_delimiter(literal)
        first, *after = map(re.escape, _visible(literal))
        following = rf"(?=\s*+(?:{after[0]}|[^!-~]|\Z))" if after else ""
        firsts.append(f"{first}{following}")
        begins += first
    # Without a literal, group 3 matches nothing.
    candidates = rf"{_TAG}|(?i:({'|'.join(firsts) or '(?!).'}))|({others.pattern})"
    ignores_case = "i" if literals else ""
    return re.compile(rf"(?{ignores_case}:[{begins}])(?<={candidates})")


# Delimiters.


def check_delimiter(delimiter: str, *, tag: bool = False) -> None:
    """Raise :class:`ConfigError` for a delimiter that no guard can keep out of a text."""
    bare = _visible(delimiter).lower()
    if not bare or not is_valid_unicode(delimiter):
        raise ConfigError(
            f"the delimiter {delimiter!r} is blank, or no valid text",
            fix="choose one that can be seen, such as '[[event'",
        )
    if tag:
        return
    if any(bare in name for name in CHARACTERS) or _IN_REFERENCE.fullmatch(bare):
        raise ConfigError(
            f"the delimiter {delimiter!r} reads as part of a character reference",
            fix="choose one with other characters, such as '[[event'",
        )


_IN_REFERENCE = re.compile("#?[0-9]*|.*[&;].*", re.DOTALL)
"""A part of the reference of a character by its number, or a text with a border of references."""


def holds(text: str, literals: Collection[str]) -> bool:
    """Return whether a text holds one of the literal delimiters, in any case."""
    return any(_visible(literal).lower() in _visible(text).lower() for literal in literals)


def guard_between(before: str, text: str, after: str, literals: frozenset[str]) -> str:
    """Return a text that forms no literal delimiter with the texts ``before`` and ``after`` it.

    Only this text is changed: the two others do not come from data.
    """
    text = guard(text, NONE, literals)
    joined, end = before + text + after, text + after
    if any(name in joined and name not in before and name not in end for name in literals):
        text = f"&#{ord(text[0])};{text[1:]}"
    return text
