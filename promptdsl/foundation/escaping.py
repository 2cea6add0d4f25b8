"""The encoding of values for their place, and the decoder: pure string functions.

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

Author text is sent as written; ``title`` and the guards change only what would leave its place.
Encoding is the last step for a text and happens once.
"""

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from promptdsl.foundation.errors import ContentError, DataError
from promptdsl.foundation.frozen import plain
from promptdsl.foundation.json import stack_is_full
from promptdsl.foundation.pattern import pattern
from promptdsl.foundation.unicode import CONTROL, NOT_CRLF

_MARKUP = "&<>"
_LINE_END = r"\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"

_BODY = pattern(rf"[{_MARKUP}{CONTROL}\r]{NOT_CRLF}")
_ONE_LINE = pattern(rf"[{_MARKUP}{CONTROL}{_LINE_END}\t\"']")
_CELL = pattern(rf"[{_MARKUP}{CONTROL}{_LINE_END}\t|\\](?<!\\(?!\Z))")
_AUTHORED_CELL = pattern(rf"[{_LINE_END}|\\](?<!\\(?!\Z))")
_MIDDLE = pattern(rf"[{_MARKUP}{CONTROL}{_LINE_END}]")
_INLINE = pattern(rf"[{_MARKUP}{CONTROL}\r\u2028\u2029]{NOT_CRLF}")
_TITLE = pattern(f"[{_LINE_END}]")
_JSON = pattern(r"[<>&\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")

_NAMED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
CHARACTERS = {"amp": "&", "lt": "<", "gt": ">", "quot": '"'}
_REFERENCE = re.compile(r"&(?:(amp|lt|gt|quot)|#([0-9]{1,7}));")


def body(value: str) -> str:
    """Return a value for the body of a fence or tag: ``&``, ``<`` and ``>`` are references.

    Newlines and CR LF are kept, a lone CR is ``&#13;``. As in every encoded place, control
    characters other than tab and newline, lone surrogates, U+FFFE and U+FFFF are references by
    number. Returns the same object when nothing needs encoding.
    """
    return _BODY.sub(reference, str.__str__(value))


def attribute(value: str) -> str:
    """Return a value for an attribute: one line, and no quote of either kind in it."""
    return _ONE_LINE.sub(reference, str.__str__(value))


def field(value: str) -> str:
    """Return a value for one line of an event: newlines and tabs are references, quotes too."""
    return _ONE_LINE.sub(reference, str.__str__(value))


def cell(value: str) -> str:
    """Return a value for a cell of a Markdown table: one line, every ``|`` a reference.

    A backslash at the end is one too, as it would escape the bar that closes the cell.
    """
    return _CELL.sub(reference, str.__str__(value))


def authored_cell(text: str) -> str:
    """Return an author's cell of a Markdown table on one line, every ``|`` a reference."""
    return _AUTHORED_CELL.sub(reference, str.__str__(text))


def title(text: str) -> str:
    """Return the author's title on one line: every line end a reference, all else as written."""
    text = str.__str__(text)
    return text if text.isprintable() else _TITLE.sub(reference, text)


def json_text(value: object) -> str:
    r"""Return strict JSON on one line, with ``<``, ``>`` and ``&`` as ``\u003c`` and so on.

    Raises :class:`ContentError` for values that JSON cannot say: NaN, a date, a cycle.
    """
    try:
        text = json.dumps(plain(value, "value"), ensure_ascii=False)
    except RecursionError:
        error = stack_is_full()
        raise ContentError(error.what, fix=error.fix) from None
    except DataError as error:
        raise ContentError(error.what, fix=error.fix) from None
    return _JSON.sub(_json_escape, text)


def decode(text: str) -> str:
    """Return the value that ``body``, ``attribute``, ``field``, ``inline`` or ``cell`` encoded.

    >>> from promptdsl import decode
    >>> decode("1 &lt; 2 &amp; 2 &lt; 3")
    '1 < 2 & 2 < 3'
    """
    return _REFERENCE.sub(_character, text) if "&" in text else text


def reference(match: re.Match[str]) -> str:
    """Return the character reference of a matched character."""
    return _NAMED.get(match[0]) or f"&#{ord(match[0])};"


def _json_escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _character(match: re.Match[str]) -> str:
    if match[1]:
        return CHARACTERS[match[1]]
    number = int(match[2])
    return chr(number) if number <= 0x10FFFF else match[0]


# Inline. What a Markdown line may start with comes from CommonMark 0.31: thematic breaks (4.1), ATX
# and setext headings (4.2, 4.3), fenced code (4.5), list markers (5.2). Read more widely than
# that, with any white space, at any indentation, after any list markers: readers differ.

_SPACE = r"[^\S\n]"
_MARKS = r"#=\-*_~`"
_MARKER = r"(?:[-+*]|[0-9]*+[.)])"
_ONLY_MARKS = rf"[-=*_](?:[-=*_]|{_SPACE})*+(?=\n|\Z)"
_LINE = pattern(
    rf"(\n{_SPACE}*+(?:(?!{_ONLY_MARKS})(?:{_MARKER}{_SPACE}++)++)?+)"
    rf"(?={_ONLY_MARKS}|\#|`{{3}}|~{{3}})(.)"
)
_LAST = pattern(
    rf"\A({_SPACE}*+(?=(?:{_MARKER}{_SPACE}++)*+"
    rf"(?:(?:[{_MARKS}+]|{_SPACE})*+|{_MARKER}{_SPACE}*+)\Z)[0-9]*+)([{_MARKS}+.)])"
)
_FIRST = pattern(rf"\A[\s{_MARKS}]")


def inline(value: str) -> str:
    """Return a value for unfenced instruction text, safe whatever stands beside it.

    ``&``, ``<`` and ``>`` are references. So is the first mark of a line that would read as a
    heading, a rule or a code fence. Because of what may stand beside the value, these are too: a
    mark or white space at its start, the first mark of a last line of marks or list markers alone,
    and the line end before a blank last line. Digits are never encoded: after a last line of
    them, author text that itself reads ``. # x`` is a list item and a heading.
    Returns the same object when nothing needs encoding.
    """
    given = str.__str__(value)
    if _is_plain(given):
        return given
    text = _LINE.sub(_broken, "\n" + _INLINE.sub(reference, given))[1:]
    text = _FIRST.sub(reference, _closed(text), count=1)
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
    """Return a text whose last line starts nothing, whatever follows it."""
    head, end, last = text.rpartition("\n")
    if last.strip() or not end:
        return head + end + _LAST.sub(_broken, last)
    if head.endswith("\r"):
        return f"{head[:-1]}&#13;&#10;{last}"
    return f"{head}&#10;{last}"


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
    return _BREAKS.sub(reference, inline(value))


def one_line(value: str) -> str:
    """Return a value in the middle of a line, which it cannot leave."""
    return _MIDDLE.sub(reference, str.__str__(value))


_BREAKS = re.compile("[\r\n]")


# Values of other types.

Text = tuple[type, Callable[[Any], str]]
_COMMON: tuple[Text, ...] = (
    (str, str.__str__),
    (bool, lambda value: "true" if value else "false"),
    (int, int.__repr__),
    (float, float.__repr__),
)


@cache
def _rare() -> tuple[Text, ...]:
    # Loaded with the first value that is none of the common ones.
    from datetime import date, datetime, time
    from decimal import Decimal
    from fractions import Fraction
    from uuid import UUID

    return (
        (Decimal, Decimal.__str__),
        (Fraction, Fraction.__str__),
        (datetime, datetime.isoformat),
        (date, date.isoformat),
        (time, time.isoformat),
        (UUID, UUID.__str__),
    )


def is_rare(value: object) -> bool:
    """Whether a value is a ``Decimal``, a ``Fraction``, a date, a time or a ``UUID``."""
    return isinstance(value, tuple(kind for kind, _ in _rare()))


def is_number(value: object) -> bool:
    """Whether a value is an ``int``, a ``float``, a ``Decimal`` or a ``Fraction``; no boolean."""
    if isinstance(value, int | float):
        return not isinstance(value, bool)
    return isinstance(value, tuple(kind for kind, _ in _rare()[:2]))


def text_of(value: object) -> str:
    """Return the text of a value, not yet encoded.

    A ``str`` is its characters; numbers are as Python prints them,
    booleans ``true`` and ``false``, dates and times ISO 8601, a ``UUID`` its usual form. A subclass
    (an enumeration of strings, say) counts as the type it extends; none of its own methods runs.
    Raises :class:`ContentError` for ``None`` and for every other type.
    """
    kind = type(value)
    for known, write in _COMMON if issubclass(kind, str | int | float) else _rare():
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
    """Return ``text_of(value)``, or no text for ``None``, as in event fields and table cells."""
    return "" if value is None else text_of(value)
