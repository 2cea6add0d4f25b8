"""What a value becomes in its place, and the decoder: pure string functions.

A value is text that came from elsewhere. In its place it is written with character references, so
that it opens and closes nothing, heads nothing and forges no fence; ``decode`` gives it back:

=============  ===================================================================
``body``       inside a fence or tag
``attribute``  inside the quotes of an attribute
``field``      one line of an event
``inline``     in unfenced instruction text, which is Markdown
``cell``       in a Markdown table
``json_text``  as JSON (read back with a JSON reader, not with ``decode``)
=============  ===================================================================

Author text is sent as written; ``title``, ``guard`` and ``guard_prefixes`` change only what would
leave its place. Encoding is the last step for a text and happens once.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any
from uuid import UUID

from promptdsl.deep_json import write_deep
from promptdsl.errors import ConfigError, ContentError, DataError
from promptdsl.plain_data import plain

# Character classes, as the inside of a regular expression's brackets.
_CONTROL = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff"
_MARKUP = "&<>"
_LINE_END = r"\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"
_NOT_CRLF = r"(?<!\r(?=\n))"

_BODY = re.compile(rf"[{_MARKUP}{_CONTROL}\r]{_NOT_CRLF}")
_ONE_LINE = re.compile(rf"[{_MARKUP}{_CONTROL}{_LINE_END}\t\"']")
_CELL = re.compile(rf"[{_MARKUP}{_CONTROL}{_LINE_END}\t|\\](?<!\\(?!\Z))")
_AUTHORED_CELL = re.compile(rf"[{_LINE_END}|\\](?<!\\(?!\Z))")
_MIDDLE = re.compile(rf"[{_MARKUP}{_CONTROL}{_LINE_END}]")
_INLINE = re.compile(rf"[{_MARKUP}{_CONTROL}\r\u2028\u2029]{_NOT_CRLF}")
_TITLE = re.compile(f"[{_LINE_END}]")
_JSON = re.compile(r"[<>&\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_CONTROLS = re.compile(rf"[{_CONTROL}\r]{_NOT_CRLF}")

_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
_CHARACTERS = {"amp": "&", "lt": "<", "gt": ">", "quot": '"'}
_REFERENCE = re.compile(r"&(?:(amp|lt|gt|quot)|#([0-9]{1,7}));")


def body(value: str) -> str:
    """Return a value for the body of a fence or tag: ``&``, ``<`` and ``>`` are references.

    Newlines and CR LF are kept, a lone CR is ``&#13;``. As in every encoded place, control
    characters other than tab and newline, lone surrogates, U+FFFE and U+FFFF are references by
    number. Returns the same object when nothing needs encoding.
    """
    return _BODY.sub(_reference, _exact(value))


def attribute(value: str) -> str:
    """Return a value for an attribute: one line, and no quote of either kind in it."""
    return _ONE_LINE.sub(_reference, _exact(value))


def field(value: str) -> str:
    """Return a value for one line of an event: newlines and tabs are references, quotes too."""
    return _ONE_LINE.sub(_reference, _exact(value))


def cell(value: str) -> str:
    """Return a value for a cell of a Markdown table: one line, every ``|`` a reference.

    A backslash at the end is one too, as it would escape the bar that closes the cell.
    """
    return _CELL.sub(_reference, _exact(value))


def authored_cell(text: str) -> str:
    """Return an author's cell of a Markdown table on one line, every ``|`` a reference."""
    return _AUTHORED_CELL.sub(_reference, _exact(text))


def title(text: str) -> str:
    """Return the author's title on one line: every line end a reference, all else as written."""
    text = _exact(text)
    return text if text.isprintable() else _TITLE.sub(_reference, text)


def json_text(value: object) -> str:
    r"""Return strict JSON on one line, with ``<``, ``>`` and ``&`` as ``\u003c`` and so on.

    Raises :class:`ContentError` for what JSON has no word for: NaN, a date, a cycle.
    """
    try:
        checked = plain(value, "value")
    except DataError as error:
        raise ContentError(error.what, fix=error.fix) from None
    try:
        text = json.dumps(checked, ensure_ascii=False)
    except RecursionError:
        text = write_deep(checked)
    return _JSON.sub(_json_escape, text)


def decode(text: str) -> str:
    """Return the value that ``body``, ``attribute``, ``field``, ``inline`` or ``cell`` encoded."""
    return _REFERENCE.sub(_character, text) if "&" in text else text


def _exact(text: str) -> str:
    return text if type(text) is str else str.__str__(text)


def _reference(match: re.Match[str]) -> str:
    return _NAMED.get(match[0]) or f"&#{ord(match[0])};"


def _json_escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _character(match: re.Match[str]) -> str:
    if match[1]:
        return _CHARACTERS[match[1]]
    number = int(match[2])
    return chr(number) if number <= 0x10FFFF else match[0]


# Inline. What a Markdown line may start with comes from CommonMark 0.31: thematic breaks (4.1), ATX
# and setext headings (4.2, 4.3), fenced code (4.5), list markers (5.2). Read more widely than
# that, with any white space, at any indentation, behind any list markers: readers differ.

_SPACE = r"[^\S\n]"
_MARKS = r"#=\-*_~`"
_MARKER = r"(?:[-+*]|[0-9]*+[.)])"
_ONLY_MARKS = rf"[-=*_](?:[-=*_]|{_SPACE})*+(?=\n|\Z)"
_LINE = re.compile(
    rf"(\n{_SPACE}*+(?:(?!{_ONLY_MARKS})(?:{_MARKER}{_SPACE}++)++)?+)"
    rf"(?={_ONLY_MARKS}|\#|`{{3}}|~{{3}})(.)"
)
_LAST = re.compile(
    rf"\A({_SPACE}*+(?=(?:{_MARKER}{_SPACE}++)*+"
    rf"(?:(?:[{_MARKS}+]|{_SPACE})*+|{_MARKER}{_SPACE}*+)\Z)[0-9]*+)([{_MARKS}+.)])"
)
_FIRST = re.compile(rf"\A[\s{_MARKS}]")


def inline(value: str) -> str:
    """Return a value for unfenced instruction text, safe whatever stands beside it.

    ``&``, ``<`` and ``>`` are references. So is the first mark of a line that would read as a
    heading, a rule or a code fence. Because of what may stand beside the value, these are too: a
    mark or white space at its start, the first mark of a last line of marks or list markers alone,
    and the line end before a blank last line. Digits are never encoded: behind a last line of
    them, author text that itself reads ``. # x`` is a list item and a heading.
    Returns the same object when nothing needs encoding.
    """
    given = _exact(value)
    if _is_plain(given):
        return given
    text = _LINE.sub(_broken, "\n" + _INLINE.sub(_reference, given))[1:]
    text = _FIRST.sub(_reference, _closed(text), count=1)
    return given if text == given else text


def _is_plain(text: str) -> bool:
    """Whether a text is one line of printable characters that starts with a letter."""
    return (
        text[:1].isalpha()
        and text.isprintable()
        and "&" not in text
        and "<" not in text
        and ">" not in text
    )


def _broken(match: re.Match[str]) -> str:
    return f"{match[1]}&#{ord(match[2])};"


def _closed(text: str) -> str:
    """Return a text whose last line starts nothing, whatever is written behind it."""
    head, end, last = text.rpartition("\n")
    if last.strip() or not end:
        return head + end + _LAST.sub(_broken, last)
    if head.endswith("\r"):
        return f"{head[:-1]}&#13;&#10;{last}"
    return f"{head}&#10;{last}"


# Guards: author text stays inside the fences it stands in.

_TAG = re.compile(r"<(?=\s*+(/?+)\s*+([A-Za-z_\u0130\u0131\u017f\u212a][\w.\-]*+))")
_ASCII_TWINS = str.maketrans("\u0130\u0131\u017f\u212a", "iisk")
"""The letters a reader that ignores case takes for ASCII ones."""


def guard(text: str, names: Collection[str], *, openings: Collection[str] = ()) -> str:
    """Return author text that neither opens nor closes a fence called one of ``names``.

    The ``<`` of what reads as a delimiter of theirs, in any case, with white space or attributes,
    closed or not, is ``&lt;``; all else is as written. ``openings`` are names of fences the text
    does not stand in: it may not open one, and has none to close. Give the finished text of the
    place, its encoded values included: they hold no ``<``, and so cannot complete a delimiter
    behind one the author wrote. Returns the same object when nothing changes.
    """
    closing = _folded(frozenset(names))
    return guard_folded(
        text, closing, closing | _folded(frozenset(openings)) if openings else closing
    )


def guard_folded(text: str, closing: Collection[str], opening: Collection[str]) -> str:
    """Return what :func:`guard` does, for names that :func:`fold` has gone over already."""
    text = _exact(text)
    if "<" not in text:
        return text

    def escaped(match: re.Match[str]) -> str:
        return "&lt;" if fold(match[2]) in (closing if match[1] else opening) else "<"

    guarded = _TAG.sub(escaped, text)
    return text if len(guarded) == len(text) else guarded


@lru_cache(maxsize=32)
def _folded(names: frozenset[str]) -> frozenset[str]:
    return frozenset(map(fold, names))


def fold(name: str) -> str:
    """Return the name of a tag as a tolerant reader compares it."""
    return name.rstrip(".-").translate(_ASCII_TWINS).lower()


def guard_prefixes(text: str, delimiters: Collection[str]) -> str:
    """Return a text in which none of the literal ``delimiters`` occurs.

    The first character of each occurrence becomes a reference by number. Encoded values go through
    this behind ``body``, and ``decode`` still gives them back. Raises :class:`ConfigError` for a
    delimiter that holds ``&`` or ``;`` or could stand inside a reference (``#``, ``12``, ``lt``):
    writing a reference would write the delimiter. Returns the same object when nothing changes.
    """
    pattern = _occurrence(frozenset(delimiters))
    return pattern.sub(_reference, text) if pattern else text


_IN_NUMBER = re.compile("#?[0-9]*")


def _in_reference(delimiter: str) -> bool:
    if "&" in delimiter or ";" in delimiter or _IN_NUMBER.fullmatch(delimiter):
        return True
    return any(delimiter in name for name in _CHARACTERS)


@lru_cache(maxsize=32)
def _occurrence(delimiters: frozenset[str]) -> re.Pattern[str] | None:
    wanted = sorted(filter(None, delimiters))
    for delimiter in wanted:
        check_delimiter(delimiter)
    alternatives = "|".join(map(re.escape, wanted))
    return re.compile(f"(?={alternatives}).", re.DOTALL) if wanted else None


def check_delimiter(delimiter: str, *, tag: bool = False) -> None:
    """Raise :class:`ConfigError` for a text that cannot be kept out of what stands inside it."""
    if not delimiter.strip() or not is_whole(delimiter):
        raise ConfigError(
            f"the delimiter {delimiter!r} is blank, or no valid text",
            fix="choose one that can be seen, such as '[[event'",
        )
    if not tag and _in_reference(delimiter.strip()):
        raise ConfigError(
            f"the delimiter {delimiter!r} reads as part of a character reference",
            fix="choose one with other characters, such as '[[event'",
        )


def code_fences(text: str, language: str | None) -> tuple[str, str]:
    """Return the two ends of a Markdown code fence that is longer than any inside a text.

    A language may come from data: it stays on its line, and leaves the fence a fence.
    """
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{field(language or '').replace('`', '&#96;')}\n", f"\n{fence}"


_BACKTICKS = re.compile("`+")


def inline_line(value: str) -> str:
    """Return a value inline in unfenced text, on one line."""
    return _BREAKS.sub(_reference, inline(value))


def one_line(value: str) -> str:
    """Return a value in the middle of a line, which it cannot leave."""
    return _MIDDLE.sub(_reference, _exact(value))


_BREAKS = re.compile("[\r\n]")


# Values of other types.

_TEXTS: tuple[tuple[type, Callable[[Any], str]], ...] = (
    (str, str.__str__),
    (bool, lambda value: "true" if value else "false"),
    (int, int.__repr__),
    (float, float.__repr__),
    (Decimal, Decimal.__str__),
    (Fraction, Fraction.__str__),
    (datetime, datetime.isoformat),
    (date, date.isoformat),
    (time, time.isoformat),
    (UUID, UUID.__str__),
)


def text_of(value: object) -> str:
    """Return what a value is as text, not yet encoded.

    A ``str`` is its characters; numbers are as Python prints them,
    booleans ``true`` and ``false``, dates and times ISO 8601, a ``UUID`` its usual form. A subclass
    (an enumeration of strings, say) counts as the type it extends; none of its own methods runs.
    Raises :class:`ContentError` for ``None`` and for every other type.
    """
    kind = type(value)
    for known, write in _TEXTS:
        if issubclass(kind, known):
            return _written(value, write)
    raise ContentError(
        f"{kind.__name__} is not text" if value is not None else "None is not text",
        fix="write str(value), or json.dumps(value) for its structure",
    )


def _written(value: object, write: Callable[[Any], str]) -> str:
    try:
        return write(value)
    except ValueError as error:
        raise ContentError(
            f"{type(value).__name__} is not text: {error}", fix="give its text, as a string"
        ) from None


def data_text(value: object) -> str:
    """Return ``text_of(value)``, and nothing for ``None``: event fields and table cells."""
    return "" if value is None else text_of(value)


# What a text holds that a reader does not see.

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
_UNSEEN = (
    r"[\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    r"\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff]"
)
_ANY_UNSEEN = re.compile(_UNSEEN)
_INVISIBLE = re.compile(
    rf"{_FLAG}|{_EMOJI}(?:\u200d{_EMOJI})*+|[0-9#*]\ufe0f\u20e3|{_JOINING}|({_UNSEEN})"
)


def guard_end(text: str) -> str:
    """Return a text whose end cannot begin a delimiter that the text behind it completes."""
    body = text.rstrip()
    body = body[:-1].rstrip() if body.endswith("/") else body
    if not body.endswith("<"):
        return text
    return f"{body[:-1]}&lt;{text[len(body) :]}"


def is_whole(text: str) -> bool:
    """Return whether a text holds no lone surrogate, so that it has a UTF-8 form."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def whole(text: str) -> tuple[str, bool]:
    """Return a text with U+FFFD for every lone surrogate, and whether it held any."""
    text = _exact(text)
    if is_whole(text):
        return text, False
    return _SURROGATE.sub("\ufffd", text), True


def controls(text: str) -> tuple[str, ...]:
    """Return the characters that every encoded place writes by number, as names like ``U+0007``.

    Control characters (a lone CR too), lone surrogates, U+FFFE and U+FFFF; each once, in order.
    """
    return () if text.isprintable() else _names(_CONTROLS.findall(text))


def invisible(text: str) -> tuple[str, ...]:
    """Return the invisible, bidirectional and tag characters, which are kept, as ``U+200B``.

    Each once, in order. Those that spell something are not reported: joiners and selectors in
    emoji, the tags of the flags of England, Scotland and Wales, joiners in scripts that need them.
    """
    if text.isascii() or not _ANY_UNSEEN.search(text):
        return ()
    return _names(filter(None, _INVISIBLE.findall(text)))


def _names(characters: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"U+{ord(character):04X}" for character in dict.fromkeys(characters))
