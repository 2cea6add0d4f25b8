"""Texts that cannot forge a fence: guards for author text, and the minimal encoding of values.

A *fence* is a pair of delimiters around a text: tags, such as ``<event>`` and ``</event>``, or
literal delimiters, such as ``[[event``. A *forged fence* is anything in the text that a reader
could take for one of these delimiters.

A model reads tolerantly, so this file searches tolerantly. Other brackets, white space, slashes,
invisible characters and a missing ``>`` do not hide a tag. Names are compared without accents and
capitals: in NFKD, without combining characters, case folded. Letters of other alphabets that look
alike, such as a Cyrillic ``o``, are not found.

The first character of a forged fence becomes a character reference; all else stays as written. The
next text could complete a delimiter that begins at the end of a text. So this beginning counts as
forged, too, and the result of a guard does not depend on the next text. ``decode`` returns the
original of an encoded value.

Read ``guard`` and ``minimal_body`` first, then ``_readings``: how a tolerant reader reads a name.
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
LONGEST_NAME = 64
"""The maximum length of a name that is read from an author's tag that is not plain ASCII."""
BRACKETS = "<\u02c2\u1438\u2039\u226e\u2329\u276e\u27e8\u3008\ufe64\uff1c"
_SLASHES = frozenset("/\\\u1735\u2044\u2215\u29f8\uff0f")
_NAME = r"[A-Za-z0-9_.\-]++"
# A bracket that may begin a tag. Group 2 is a name in ASCII, if printable ASCII follows the name.
# Without group 2, ``_readings`` has to decide.
_TAG = (
    rf"([{BRACKETS}])(?=[\s/\\]*+"
    rf"(?:({_NAME})(?=[\t\n\r -~])|(?![!-~])|[A-Za-z0-9_]))"
)
# A ``<`` for which ``_readings`` is not needed. Its group is the name after it, or nothing.
_PLAIN = pattern(rf"<[\s/\\]*+(?:({_NAME})(?=[\t\n\r -~])|(?=[!-~])(?![A-Za-z0-9_]))")
# A reference as XML writes it; the second pattern also finds the beginning of a reference at the
# end of the text.
_COMPLETE_REFERENCE = r"&(?=(?:amp|lt|gt|quot|apos|\#[0-9]++|\#x[0-9A-Fa-f]++);)"
_REFERENCE = (
    rf"{_COMPLETE_REFERENCE}"
    r"|&(?=(?:a(?:mp?|p(?:os?)?)?|lt?|gt?|q(?:u(?:ot?)?)?|\#(?:x[0-9A-Fa-f]*+|[0-9]*+))?\Z)"
)


class _References(NamedTuple):
    """The characters that become references in addition to forged fences."""

    begins: str
    """The characters with which ``pattern`` may begin, as in a class of a regular expression."""
    pattern: str


# It matches nothing; the class of first characters may not be empty.
_NO_REFERENCES = _References(r"\x00", "(?!).")
_IN_BODY = _References(rf"&{CONTROL}\r", rf"{_REFERENCE}|[{CONTROL}\r]{NOT_CRLF}")
_IN_JSON = _References("&", _REFERENCE)
_IN_FULL_JSON = _References("&<>", "[&<>]")


def guard(text: str, names: Collection[str], literals: frozenset[str] = NONE) -> str:
    """Return author text that neither opens nor closes a fence.

    The fences are the tags with these ``names``, as :func:`fold` returns them, and the delimiters
    in ``literals``. Values in the text are already encoded. Returns the same object if nothing
    changes. Raises :class:`ConfigError` for a literal that could be part of a reference.
    """
    text = str.__str__(text)
    if literals or (names and has_bracket(text)):
        return _encoded(text, names, literals, _NO_REFERENCES)
    return text


def has_bracket(text: str) -> bool:
    """Return whether a tag may begin in a text."""
    return "<" in text or _has_other_bracket(text)


def _has_other_bracket(text: str) -> bool:
    """Return whether a text has an opening bracket other than ``<``."""
    return not text.isascii() and any(map(text.__contains__, BRACKETS[1:]))


def left_open(text: str) -> str:
    """Return the unfinished tag at the end of a text, from its bracket on; empty for none."""
    if not has_bracket(text):
        return ""
    start = max(map(text.rfind, BRACKETS))
    if any(is_last for _, is_last in _readings(text, start + 1)):
        return text[start:]
    return ""


def guard_end(text: str, names: Collection[str]) -> str:
    """Return author text without an unfinished tag at its end, which the next value could complete.

    ``names`` are the names of such tags. A tag with a complete name stays: it is the author's tag.
    """
    tag_start = left_open(text)
    if not _unfinished(tag_start, names):
        return text
    return f"{text[: -len(tag_start)]}{reference_of(tag_start[0])}{tag_start[1:]}"


def guard_start(text: str, tag_start: str, names: Collection[str]) -> str:
    """Return a text that does not complete ``tag_start``, the unfinished tag before it.

    If the text would complete the tag, its first character becomes a reference, unless a reference
    begins there. A tag with a complete name stays, as in ``guard_end``.
    """
    unfinished = _unfinished(tag_start, names)
    if text[:1] in ("", "&") or not _begins_tag(tag_start + text, 1, unfinished):
        return text
    return f"{reference_of(text[0])}{text[1:]}"


def _unfinished(tag_start: str, names: Collection[str]) -> set[str]:
    """Return the names that an unfinished tag may be the beginning of."""
    if not tag_start:
        return set()
    ends = [name for name, is_last in _readings(tag_start, 1, names) if is_last]
    return {name for end in ends for name in names if name.startswith(end) and name != end}


def minimal_body(value: str, names: Collection[str], literals: frozenset[str] = NONE) -> str:
    """Return a value for the body of a fence, changed only where a fence or a reference begins.

    As in every encoding, these become references, too: control characters other than tab and
    newline, a carriage return without its newline, lone surrogates, U+FFFE and U+FFFF. Returns the
    same object if nothing changes.
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
    """Return a value for text without a fence; the value forges no tag.

    This encodes less than :func:`minimal_body`. The beginning of a reference at the end of the
    value stays, unless another value follows directly (``before_value``) and could complete it. In
    a comment of the author (``in_comment``), every ``>`` becomes a reference. So does a last
    character that would end the comment together with a ``>`` after it. U+2028 and U+2029 become
    references, too, because they end a line for some readers.
    """
    return _encoded(value, names, literals, _references_inline(before_value, in_comment))


@cache
def _references_inline(before_value: bool, in_comment: bool) -> _References:
    """Return the further characters that become references in text without a fence."""
    unsent = rf"{CONTROL}\r\u2028\u2029"
    references = _REFERENCE if before_value else _COMPLETE_REFERENCE
    begins, characters_pattern = f"&{unsent}", f"{references}|[{unsent}]{NOT_CRLF}"
    if in_comment:
        return _References(rf"{begins}>\-\]?", rf"{characters_pattern}|>|[-\]?]\Z")
    return _References(begins, characters_pattern)


def _encoded(
    text: str, names: Collection[str], literals: frozenset[str], references: _References
) -> str:
    """Return a text with the beginnings of forged fences, and ``references``, as references."""
    brackets = None if literals else _brackets(text, names)
    if brackets is None:
        return _referenced(text, _candidate_pattern(literals, references), names, literals)
    encoded = _reference_pattern(references).sub(reference, text)
    if not brackets:
        return encoded
    first, *after = encoded.split("<")
    return "".join((first, *map(add, brackets, after)))


def _brackets(text: str, names: Collection[str]) -> list[str] | None:
    """Return how each ``<`` of a text is written; an empty list if all stay.

    This shortcut is enough for most texts, because their brackets are those of code and markup.
    ``None`` for a text with other brackets, or with a bracket that no ASCII follows.
    """
    before, last_bracket, after = text.rpartition("<")
    heads = _PLAIN.findall(text, 0, len(before) + 1)
    if len(heads) < before.count("<") or _has_other_bracket(text):
        return None
    forged = {head for head in {*heads} if fold(head) in names}
    last_forged = last_bracket and _begins_tag(after, 0, names)
    if not (forged or last_forged):
        return []
    encoded = dict.fromkeys(heads, "<") | dict.fromkeys(forged, "&lt;")
    last_encoded = "&lt;" if last_forged else "<"
    return [*map(encoded.__getitem__, heads), last_encoded]


def json_body(
    text: str, names: Collection[str], literals: frozenset[str] = NONE, *, full: bool = False
) -> str:
    r"""Return JSON from ``json_text`` as it is sent in the body of a fence.

    Each string and each key in the JSON is a separate value. In it, the escapes of ``<``, ``>`` and
    ``&``, such as ``\u003c``, become the characters. They stay escapes where a fence or a reference
    begins. With ``full``, all of them stay escapes.
    """

    def is_same(json_string: str) -> bool:
        return not literals and (full or "\\u" not in json_string) and json_string.isascii()

    if is_same(text):  # as most texts are
        return text
    references = _IN_FULL_JSON if full else _IN_JSON
    candidates = _candidate_pattern(literals, references)

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
                escape = json.dumps(first) if first > "\uffff" else f"\\u{ord(first):04x}"
                pieces += (_json_piece(value[start : candidate.start()]), escape.strip('"'))
                start = candidate.end()
        json_string = f'"{"".join(pieces)}{_json_piece(value[start:])}"'
        # A reader may take an escape for a slash and a letter: ``<\tool_use>``.
        has_escape = "\\" in json_string
        return _candidate_pattern(NONE).sub(escaped, json_string) if has_escape else json_string

    def escaped(match: re.Match[str]) -> str:
        return f"\\u{ord(match[1]):04x}" if _becomes_reference(match, names, NONE) else match[0]

    return _JSON_STRING.sub(rewritten, text)


_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"')
_JSON_UNWANTED = pattern(r"[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")


def _json_piece(text: str) -> str:
    """Return a part of a string as JSON, without the quotes around it."""
    json_text = json.dumps(text, ensure_ascii=False)[1:-1]
    return _JSON_UNWANTED.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text)


class WrittenTags(NamedTuple):
    """The names of the tags in a text, folded, as a tolerant reader finds them."""

    opened: frozenset[str] = NONE
    closed: frozenset[str] = NONE


def written_tags(text: str) -> WrittenTags:
    """Return the tags that a text opens, and those that it closes, with a slash."""
    if not has_bracket(text):
        return WrittenTags()
    opened: set[str] = set()
    closed: set[str] = set()
    for match in _candidate_pattern(NONE).finditer(text):
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
    return "".join(_read_as(character) or "" for character in name).rstrip(".-")


# Finding forged fences.


def _referenced(
    text: str, candidates: re.Pattern[str], names: Collection[str], literals: frozenset[str]
) -> str:
    """Return a text with references for the characters that begin a forged fence."""

    def replaced(match: re.Match[str]) -> str:
        return reference(match) if _becomes_reference(match, names, literals) else match[0]

    encoded = candidates.sub(replaced, text)
    return text if len(encoded) == len(text) else encoded


def _becomes_reference(
    match: re.Match[str], names: Collection[str], literals: frozenset[str]
) -> bool:
    """Return whether a match of ``_candidate_pattern`` becomes a reference.

    It does if it is the first character of a forged fence. A match of group 4 always does.
    """
    bracket, name, first_of_literal = match.group(1, 2, 3)
    if name is not None:
        is_tag = name.rstrip(".-").lower() in names
    elif bracket is not None:
        is_tag = _begins_tag(match.string, match.end(), names)
    else:
        is_tag = first_of_literal is None
    return is_tag or any(_begins(match.string, match.start(), delimiter) for delimiter in literals)


def _begins_tag(text: str, position: int, names: Collection[str]) -> bool:
    """Return whether the name of a tag in ``names`` is at a position, after its bracket.

    At the end of the text, the beginning of a name is enough.
    """
    return any(
        name in names or (is_last and any(full_name.startswith(name) for full_name in names))
        for name, is_last in _readings(text, position, names)
    )


def _readings(
    text: str, position: int, names: Collection[str] = NONE
) -> Iterator[tuple[str, bool]]:
    """Yield the names that may be read after a bracket, each with whether the text ends with it.

    There may be several names, because an invisible character may end a name or be ignored in it.
    Full stops and hyphens at the end of a name are removed, unless the text ends with the name.
    Reading stops at a name that is longer than all ``names``; without ``names``, at a name that is
    longer than ``LONGEST_NAME``.
    """
    end, longest = len(text), max(map(len, names), default=LONGEST_NAME)
    position = _after_gap(text, position)
    name = stops = ""
    while position < end:
        characters = _read_as(text[position])
        position += 1
        if characters is None:
            break
        for character in characters:
            if character in ".-":
                stops += character
            else:
                name, stops = name + stops + character, ""
        if len(name) > longest:
            return
        if not characters:
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
    return character.isspace() or _read_as(character) == ""


@lru_cache(maxsize=4096)
def _read_as(character: str) -> str | None:
    """Return the characters that a character in a name is read as; ``None`` if it ends the name.

    The result is ``""`` for an invisible character: control, format and combining characters,
    fillers, and lone surrogates.
    """
    if character in "\t\n\v\f\r" or character in BRACKETS:
        return None
    if category(character) in _UNSEEN_CATEGORIES or _UNSEEN.match(character):
        return ""
    plain = normalize("NFKD", normalize("NFKD", character).casefold()).replace("\u0131", "i")
    base = "".join(part for part in plain if not category(part).startswith("M"))
    is_name = all(part.isalnum() or part in "_.-" for part in base)
    return base if is_name and base else None


_UNSEEN_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Mn", "Mc", "Me"))
_UNSEEN = pattern(rf"[{UNSEEN}\u2800\ufffe\uffff]")


def _visible(literal: str) -> str:
    """Return a literal delimiter as it is compared: without invisible characters."""
    return "".join(character for character in literal if not _is_blank(character))


def _begins(text: str, position: int, literal: str) -> bool:
    """Return whether a literal is at a position, or the text ends with its beginning there.

    A beginning in the middle of a word does not count: ``done`` does not begin ``EVENT:``.
    """
    in_word = text[position].isalnum() and text[position - 1 : position].isalnum()
    for expected in _visible(literal):
        while position < len(text) and _is_blank(text[position]):
            position += 1
        if position == len(text):
            return not in_word
        if text[position].lower() != expected.lower():
            return False
        position += 1
    return True


@cache
def _reference_pattern(references: _References) -> re.Pattern[str]:
    """Return the pattern of the characters in ``references``, without forged fences."""
    return re.compile(f"[{references.begins}](?<={references.pattern})")


# The patterns of characters that may begin a forged fence. Group 1 is a bracket, group 2 a name
# after it, group 3 the first character of a literal, group 4 any other character that becomes a
# reference.


@lru_cache(maxsize=256)
def _candidate_pattern(
    literals: frozenset[str], references: _References = _NO_REFERENCES
) -> re.Pattern[str]:
    """Return the pattern of characters that may begin a fence, and of those in ``references``.

    The pattern begins with a class of characters, because ``re`` finds such a beginning quickly.
    """
    firsts: list[str] = []
    begins = BRACKETS + references.begins
    for literal in sorted(literals):
        check_delimiter(literal)
        first, *after = map(re.escape, _visible(literal))
        following = rf"(?=\s*+(?:{after[0]}|[^!-~]|\Z))" if after else ""
        firsts.append(f"{first}{following}")
        begins += first
    # Without a literal, group 3 matches nothing.
    candidates = rf"{_TAG}|(?i:({'|'.join(firsts) or '(?!).'}))|({references.pattern})"
    ignores_case = "i" if literals else ""
    return re.compile(rf"(?{ignores_case}:[{begins}])(?<={candidates})")


# Delimiters.


def check_delimiter(delimiter: str, *, tag: bool = False) -> None:
    """Raise :class:`ConfigError` for a delimiter that no guard can keep out of a text."""
    visible = _visible(delimiter).lower()
    if not visible or not is_valid_unicode(delimiter):
        raise ConfigError(
            f"the delimiter {delimiter!r} is blank or not valid Unicode",
            fix="write a delimiter with visible characters, such as '[[event'",
        )
    if tag:
        return
    if any(visible in name for name in CHARACTERS) or _IN_REFERENCE.fullmatch(visible):
        raise ConfigError(
            f"the delimiter {delimiter!r} can be part of a character reference",
            fix="write a delimiter with other characters, such as '[[event'",
        )


_IN_REFERENCE = re.compile("#?[0-9]*|.*[&;].*", re.DOTALL)
"""A part of a numeric character reference, or a text with ``&`` or ``;``."""


def holds(text: str, literals: Collection[str]) -> bool:
    """Return whether a text has one of the literal delimiters, in capitals or not."""
    return any(_visible(literal).lower() in _visible(text).lower() for literal in literals)


def guard_between(before: str, text: str, after: str, literals: frozenset[str]) -> str:
    """Return a text that forms no literal delimiter with the texts ``before`` and ``after`` it.

    This changes only ``text``, because ``before`` and ``after`` do not come from data.
    """
    text = guard(text, NONE, literals)
    joined, end = before + text + after, text + after
    if any(name in joined and name not in before and name not in end for name in literals):
        text = f"&#{ord(text[0])};{text[1:]}"
    return text
