"""Encoding of values for their location in a prompt, and decoding: pure string functions.

At the end are strings and numbers with a label: volatile values.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from typing import TypeAlias, overload

from promptdsl.foundation.errors import ContentError, DataError
from promptdsl.foundation.frozen import Leaf, is_list, is_mapping, json_leaf, plain
from promptdsl.foundation.json import full_stack_error
from promptdsl.foundation.source import public_api
from promptdsl.foundation.unicode import CONTROL, NOT_CRLF, pattern

# A value is text from outside, such as the text of a user. It must not open or close a tag, start a
# heading, or forge a fence (the tags or delimiters around a text). So some of its characters are
# written as character references, such as ``&lt;``. ``decode`` returns the original. There is a
# function for each location:
#
# =============  ===================================================================
# ``body``       inside a fence or tag, in full (``guards.py`` has the minimal encoding)
# ``attribute``  inside the quotes of an attribute
# ``field``      one line of an event
# ``inline``     in instruction text without a fence, which is Markdown
# ``cell``       in a Markdown table
# ``json_text``  as JSON (read back with a JSON reader, not with ``decode``)
# =============  ===================================================================
#
# Author text is sent as the author wrote it. ``title`` and the guards change in it only what would
# end its line, its cell or its fence. Encoding is the last step for a text, and happens once.

_MARKUP = "&<>"
_LINE_END = r"\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029"

_BODY = pattern(rf"[{_MARKUP}{CONTROL}\r]{NOT_CRLF}")
_FIELD = pattern(rf"[{_MARKUP}{CONTROL}{_LINE_END}\t\"']")
_CELL = pattern(rf"[{_MARKUP}{CONTROL}{_LINE_END}\t|\\](?<!\\(?!\Z))")
_AUTHORED_CELL = pattern(rf"[{_LINE_END}|\\](?<!\\(?!\Z))")
_ONE_LINE = pattern(rf"[{_MARKUP}{CONTROL}{_LINE_END}]")
_INLINE = pattern(rf"[{_MARKUP}{CONTROL}\r\u2028\u2029]{NOT_CRLF}")
_TITLE = pattern(f"[{_LINE_END}]")
_JSON = pattern(r"[<>&\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")

_NAMED_REFERENCES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
CHARACTERS = {"amp": "&", "lt": "<", "gt": ">", "quot": '"'}
"""By the name of a reference, its character."""
_REFERENCE = re.compile(r"&(?:(amp|lt|gt|quot)|#([0-9]{1,7}));")


def body(value: str) -> str:
    """Return a value for the body of a fence or tag: ``&``, ``<`` and ``>`` are references.

    Newlines and CR LF stay; a lone CR becomes ``&#13;``. As in every encoding, control characters
    other than tab and newline, lone surrogates, U+FFFE and U+FFFF become references by number.
    Returns the same object if nothing needs encoding.
    """
    return _BODY.sub(reference, str.__str__(value))


def field(value: str) -> str:
    """Return a value for one line of an event: line ends, tabs and quotes are references."""
    return _FIELD.sub(reference, str.__str__(value))


attribute = field
"""The same for an attribute, in quotes of either kind."""


def cell(value: str) -> str:
    """Return a value for a cell of a Markdown table: one line, every ``|`` a reference.

    A backslash at the end becomes a reference, too, because it would escape the bar after it.
    """
    return _CELL.sub(reference, str.__str__(value))


def authored_cell(text: str) -> str:
    """Return an author's cell of a Markdown table on one line, every ``|`` a reference."""
    return _AUTHORED_CELL.sub(reference, str.__str__(text))


def title(text: str) -> str:
    """Return the author's title on one line: each line end is a reference, all else stays."""
    text = str.__str__(text)
    return text if text.isprintable() else _TITLE.sub(reference, text)


def json_text(value: object, name: str = "value", leaf: Leaf = json_leaf) -> str:
    r"""Return strict JSON on one line, with ``<``, ``>`` and ``&`` as escapes, such as ``\u003c``.

    Control characters, lone surrogates, U+2028 and U+2029 are escapes, too.
    ``leaf`` may return JSON data for objects of other types. Raises :class:`ContentError` for a
    value that JSON cannot express (NaN, a date), for data that contains itself, and for data nested
    deeper than 200 levels. The error calls the value ``name``.
    """
    try:
        text = json.dumps(plain(value, name, leaf), ensure_ascii=False)
    except (DataError, RecursionError) as failure:
        error = failure if isinstance(failure, DataError) else full_stack_error()
        raise ContentError(error.what, fix=error.fix) from None
    return _JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


@public_api
def decode(text: str) -> str:
    """Return the original of a value that was encoded in a prompt.

    JSON is not decoded: read it with a JSON reader.

    >>> from promptdsl import decode
    >>> decode("1 &lt; 2 &amp; 2 &lt; 3")
    '1 < 2 & 2 < 3'

    Raises :class:`ContentError` for anything but a string.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        problem = f"decode() takes a string, not {type(text).__name__}"
        raise ContentError(problem, fix="pass the text itself, as a str")
    return _REFERENCE.sub(_decoded_reference, text)


def _decoded_reference(match: re.Match[str]) -> str:
    if match[1]:
        return CHARACTERS[match[1]]
    code_point = int(match[2])
    return chr(code_point) if code_point <= 0x10FFFF else match[0]


def reference(match: re.Match[str]) -> str:
    """Return the character reference of a matched character."""
    return reference_of(match[0])


def reference_of(character: str) -> str:
    """Return the reference of a character."""
    return _NAMED_REFERENCES.get(character) or f"&#{ord(character)};"


# Instruction text without a fence. The signs at the start of a Markdown line are those of
# CommonMark 0.31: thematic breaks (4.1), ATX and setext headings (4.2, 4.3), fenced code (4.5),
# list markers (5.2). Readers of Markdown differ, so the patterns also match any white space, any
# indentation, and signs after any list markers.

_SPACE = r"[^\S\n]"
_SIGNS = r"#=\-*_~`"
_MARKER = r"(?:[-+*]|[0-9]*[.)])"
_ONLY_SIGNS = rf"[-=*_](?:[-=*_]|{_SPACE})*+(?=\n|\Z)"
_SIGN_OF_LINE = pattern(
    rf"(\n{_SPACE}*+(?:(?!{_ONLY_SIGNS})(?:{_MARKER}{_SPACE}+(?=\S))++)?)"
    rf"(?={_ONLY_SIGNS}|\#|`{{3}}|~{{3}})(.)"
)
_SIGN_OF_LAST_LINE = pattern(
    rf"\A({_SPACE}*+(?=(?:{_MARKER}{_SPACE}++)*+"
    rf"(?:(?:[{_SIGNS}+]|{_SPACE})*+|{_MARKER}{_SPACE}*+)\Z)[0-9]*+)([{_SIGNS}+.)])"
)
_FIRST_CHARACTER = pattern(rf"\A[\s{_SIGNS}]")


def inline(value: str) -> str:
    """Return a value for instruction text without a fence, safe between any other texts.

    ``&``, ``<`` and ``>`` become references. So does the first sign of a line that a reader would
    take for a heading, a rule or a code fence. Because of the neighbouring texts, these become
    references, too: a sign or white space at the start, the first sign of a last line that has only
    signs or list markers, and the line end before a blank last line.

    Digits are never encoded. So a last line of digits and the author text ``. # x`` after it are a
    list item with a heading. Returns the same object if nothing needs encoding.
    """
    original = str.__str__(value)
    # The signs inside the text.
    text = _SIGN_OF_LINE.sub(_encoded_sign, "\n" + _INLINE.sub(reference, original))[1:]
    # The last line, which must not begin a heading or the like together with the text after it.
    head, end, last = text.rpartition("\n")
    if last.strip() or not end:
        text = head + end + _SIGN_OF_LAST_LINE.sub(_encoded_sign, last)
    elif head.endswith("\r"):
        text = f"{head[:-1]}&#13;&#10;{last}"
    else:
        text = f"{head}&#10;{last}"
    # The first character, which may continue the text before it.
    text = _FIRST_CHARACTER.sub(reference, text)
    return original if text == original else text


def _encoded_sign(match: re.Match[str]) -> str:
    return f"{match[1]}&#{ord(match[2])};"


def code_fences(text: str, language: str | None) -> tuple[str, str]:
    """Return the start and end of a Markdown code fence that is longer than any fence in a text.

    The language may come from data, so it is encoded: it cannot leave its line nor end the fence.
    """
    fence = max(["``", *_BACKTICKS.findall(text)]) + "`"
    return f"{fence}{field(language or '').replace('`', '&#96;')}\n", f"\n{fence}"


_BACKTICKS = re.compile("`+")


def inline_line(value: str) -> str:
    """Return a value for instruction text without a fence, on one line."""
    return _BREAKS.sub(reference, inline(value))


def one_line(value: str) -> str:
    """Return a value for the middle of a line, with its line ends and markup encoded."""
    return _ONE_LINE.sub(reference, str.__str__(value))


_BREAKS = re.compile("[\r\n]")


# Values of other types.


def _boolean_text(value: bool) -> str:
    return "true" if value else "false"


_Writer: TypeAlias = "tuple[type, Callable[..., str]]"
"""A type, and the function that writes its values as text."""
_COMMON_WRITERS: tuple[_Writer, ...] = (
    (str, str.__str__),
    (bool, _boolean_text),
    (int, int.__repr__),
    (float, float.__repr__),
)


@cache
def _rare_writers() -> tuple[_Writer, ...]:
    # These modules are imported with the first value of another type.
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
    """Return whether a value is a ``Decimal``, a ``Fraction``, a date, a time or a ``UUID``."""
    return isinstance(value, tuple(kind for kind, _ in _rare_writers()))


def is_number(value: object) -> bool:
    """Return whether a value is an ``int``, ``float``, ``Decimal`` or ``Fraction``, no boolean."""
    if isinstance(value, int | float):
        return not isinstance(value, bool)
    return isinstance(value, tuple(kind for kind, _ in _rare_writers()[:2]))


def text_of(value: object) -> str:
    """Return the text of a value, not yet encoded.

    A string stays the same. Numbers and a ``UUID`` are written as Python prints them, booleans as
    ``true`` and ``false``, dates and times in ISO 8601. A subclass, such as an enumeration of
    strings, counts as the type that it extends: its own methods do not run. Raises
    :class:`ContentError` for other types.
    """
    value_type = type(value)
    for supported, write in (
        _COMMON_WRITERS if issubclass(value_type, str | int | float) else _rare_writers()
    ):
        if issubclass(value_type, supported):
            try:
                return write(value)
            except ValueError as error:  # a number with more digits than Python prints
                what = f"{value_type.__name__} is not text: {error}"
                raise ContentError(what, fix="write its text as a string") from None
    from promptdsl.foundation.remedies import text_remedy

    name = "None" if value is None else value_type.__name__
    raise ContentError(f"{name} is not text", fix=text_remedy(value))


def data_text(value: object) -> str:
    """Return ``text_of(value)`` for an event field or a table cell; ``""`` for ``None``."""
    return "" if value is None else text_of(value)


# Strings and numbers with a label: volatile values among strings that are author text.


class Label:
    """The base of volatile values; ``label`` is the name of the value.

    A value that is not volatile has the label ``None``. ``pieces`` are the pieces of a text of
    which only a part is volatile. An operation on the value returns a plain string or number.
    """

    label: str | None = None
    pieces: "tuple[Labelled, ...]" = ()


class Labelled(Label, str):
    """The text of a value."""


class LabelledInt(Label, int):
    """A whole number."""


class LabelledFloat(Label, float):
    """A number."""


@overload
def labelled(value: str, label: str | None) -> Labelled: ...
@overload
def labelled(value: float, label: str | None) -> float: ...
def labelled(value: str | float, label: str | None) -> str | float:
    """Return a value with its label; a boolean is returned unchanged, as it is never in a text."""
    if type(value) is bool:
        return value
    kind = LabelledInt if type(value) is int else LabelledFloat
    copy = Labelled(value) if isinstance(value, str) else kind(value)
    copy.label = label
    return copy


def label_of(pieces: Iterable[object]) -> str | None:
    """Return the first label among the pieces of a text, ``None`` if no piece has one."""
    labels = (
        piece.label for piece in pieces if isinstance(piece, Label) and piece.label is not None
    )
    return next(labels, None)


Labels = Mapping[tuple[object, ...], str]
"""The labels of the volatile values in data, by their paths."""


def json_pieces(value: object, path: tuple[object, ...], labels: Labels) -> tuple[Labelled, ...]:
    """Return the JSON text of data in pieces: its volatile values, and the text around them."""
    pieces: list[Labelled] = []
    small_pieces = _json_pieces(value, path, labels)
    for is_plain, group in groupby(small_pieces, lambda piece: piece.label is None):
        run = [*group]
        pieces += [Labelled("".join(run))] if is_plain else run
    return tuple(pieces)


def _json_pieces(value: object, path: tuple[object, ...], labels: Labels) -> Iterator[Labelled]:
    """Yield the pieces of the JSON text of data, which is nested at most 200 levels deep."""
    if is_mapping(value) or is_list(value):
        entries = [*(value.items() if is_mapping(value) else enumerate(value))]
        start, end = "{}" if is_mapping(value) else "[]"
        for index, (key, item) in enumerate(entries):
            name = f"{json_text(key)}: " if is_mapping(value) else ""
            yield Labelled(f"{', ' if index else start}{name}")
            yield from _json_pieces(item, (*path, key), labels)
        yield Labelled(end if entries else start + end)
    else:
        yield labelled(json_text(value), labels.get(path))
