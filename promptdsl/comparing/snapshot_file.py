"""The content of a snapshot: a header, then entries; and its text, written and read here.

In this order: the signs for characters and values, the titles of entries, the file, and its texts.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import TypeAlias

import attrs

from promptdsl import Span
from promptdsl.foundation import unicode
from promptdsl.foundation.errors import PromptError
from promptdsl.foundation.source import Source
from promptdsl.foundation.unicode import INVISIBLE, UNSEEN, pattern

# The signs of a snapshot: ``⟦...⟧`` for invisible characters, and for values that change.
#
# ``⟦CR⟧`` and ``⟦U+200B⟧`` are characters, ``⟦⟦⟧`` is a literal ``⟦``, ``⟦date⟧`` and ``⟦uuid-1⟧``
# are values. Each ``⟦`` in a snapshot begins a sign, so two different texts never look equal.

visible, visible_json = unicode.visible, unicode.visible_json
columns, cut_to, terminal_width = unicode.columns, unicode.cut_to, unicode.terminal_width
"""Public here for the commands: they import nothing from ``foundation``."""
OPEN, CLOSE = "⟦", "⟧"
GOES_ON = "⟦+⟧"
"""The sign at the end of a line before a mark: the text continues without a line end."""

NAMES = {
    "⟦": "⟦", "\r": "CR", "\n": "LF", "\t": "TAB", " ": "SP", "\xa0": "NBSP", "\0": "NUL",
    "\x1b": "ESC", "\u200b": "ZWSP", "\u200c": "ZWNJ", "\u200d": "ZWJ", "\ufeff": "BOM",
    "\u2028": "LS", "\u2029": "PS",
}  # fmt: skip
_NONCHARACTERS = r"\ufdd0-\ufdef" + "".join(
    rf"\U{plane:04x}fffe\U{plane:04x}ffff" for plane in range(1, 17)
)
_BLANKS = r"\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u2800"
_UNSEEN = pattern(f"[{UNSEEN}]")
_ALWAYS = pattern(
    rf"[⟦\x00-\x08\x0b-\x1f\x7f-\x9f{_BLANKS}\ud800-\udfff\ufffe\uffff{_NONCHARACTERS}]"
)
_TRAILING = re.compile(r"[ \t\u3000]+(?=\n|\Z)")
_PLAIN_NAME = re.compile(r"[a-z](?:[a-z0-9_ .:-]*[a-z0-9_])?")
_NUMBERED = re.compile(r"-[0-9]+\Z")


def escape(character: str) -> str:
    """Return the sign of a character, such as ``⟦CR⟧`` or ``⟦U+202E⟧``."""
    return f"⟦{NAMES.get(character) or f'U+{ord(character):04X}'}⟧"


def shown(text: str, *, one_line: bool = False) -> str:
    r"""Return text with signs for invisible characters, except for blanks at line ends.

    Joiners and selectors that belong to a spelling, as in emoji, are kept.

    >>> shown("a\rb\u200b ⟦date⟧")
    'a⟦CR⟧b⟦ZWSP⟧ ⟦⟦⟧date⟧'
    """
    if one_line and ("\n" in text or "\t" in text):
        # In two steps: literal brackets must be escaped before signs are written.
        lines = [shown(line) for line in re.split(r"([\n\t])", text)]
        return "".join(escape(line) if line in ("\n", "\t") else line for line in lines)
    if text.isascii() and text.isprintable():
        return text
    text = _ALWAYS.sub(lambda match: escape(match[0]), text)
    if text.isascii() or not _UNSEEN.search(text):
        return text
    return INVISIBLE.sub(lambda match: escape(match[1]) if match[1] else match[0], text)


def printable(text: str) -> str:
    r"""Return lines of a file from anybody, with signs for invisible characters.

    The signs in these lines are kept.

    >>> printable("Today is ⟦date⟧.\x1b[2J")
    'Today is ⟦date⟧.⟦ESC⟧[2J'
    """
    return "⟦".join(map(shown, text.split("⟦")))


def ended(text: str) -> str:
    r"""Return text with signs for the blanks at the end of each line.

    >>> ended("a  \nb")
    'a⟦SP⟧⟦SP⟧\nb'
    """
    return _TRAILING.sub(lambda match: "".join(map(escape, match[0])), text)


def alias(name: str, number: int = 0) -> str:
    """Return the sign for a value that changes, with its number if there are several values.

    A name that could be misread as another sign is written as a JSON string.

    >>> alias("date"), alias("uuid", 2), alias("CR"), alias("uuid-2")
    ('⟦date⟧', '⟦uuid-2⟧', '⟦"CR"⟧', '⟦"uuid-2"⟧')
    """
    if not _PLAIN_NAME.fullmatch(name) or _NUMBERED.search(name):
        name = json.dumps(name).replace("\x7f", "\\u007f")
    return f"⟦{name}-{number}⟧" if number else f"⟦{name}⟧"


# The titles of the entries of a snapshot: what an entry is, and how its message is sent.

ABOVE, NOT_SENT = ", in the message above", ", not sent"
"""The notes on a message that is sent as a part of the message above it, and on one not sent."""
_TITLE = re.compile(
    r"(, not strict)?(?: as (\w+))?(?:, in (<\w+>))?(, name not sent)?"
    rf"""(?:, id sent as ("(?:[^"\\]|\\.)*"|[^\s"]+))?({ABOVE}|{NOT_SENT})?\Z"""
)


@attrs.frozen
class EntryTitle:
    """The title of the entry of a turn, of the tools, or of the output schema.

    ``what`` is the title in the prompt: a first word such as ``event``, then id and names. The
    other fields tell how it is sent. ``role`` and ``id`` are empty if they are sent unchanged.
    ``fence`` is the tag around it. ``note`` is ``ABOVE``, ``NOT_SENT``, or empty.

    >>> title = EntryTitle("event left", role="user", note=ABOVE)
    >>> str(title), title.kind, title.sent_as
    ('event left as user, in the message above', 'event left', 'user, in the message above')
    >>> title_of(str(title)) == title
    True
    """

    what: str
    is_strict: bool = True
    role: str = ""
    fence: str = ""
    is_named: bool = True
    id: str = ""
    note: str = ""

    @property
    def kind(self) -> str:
        """The title without how it is sent."""
        return self.what if self.is_strict else f"{self.what}, not strict"

    @property
    def first_word(self) -> str:
        """The first word, such as ``event``."""
        return re.split("[ ,]", self.kind)[0]

    @property
    def sent_as(self) -> str:
        """How it is sent: its role first, then what else differs."""
        return f"{self.role or self.first_word}{self._sent()}"

    def __str__(self) -> str:
        return self.kind + (f" as {self.role}" if self.role else "") + self._sent()

    def _sent(self) -> str:
        fence = f", in {self.fence}" if self.fence else ""
        name = "" if self.is_named else ", name not sent"
        id = f", id sent as {self.id}" if self.id else ""
        return f"{fence}{name}{id}{self.note}"


def title_of(text: str | EntryTitle) -> EntryTitle:
    """Return the title with this text; a title is returned as it is."""
    if isinstance(text, EntryTitle):
        return text
    end = _TITLE.search(text)
    assert end is not None  # the pattern also matches an empty end
    strict, role, fence, name, id, note = end.groups("")
    return EntryTitle(text[: end.start()], not strict, role, fence, not name, id, note)


# The content of a snapshot: a header, then entries; and its text, which is written and read here.
#
# An entry is a turn, the tools, or the output schema. It has a title and parts. A part is a mark of
# one line with the text below it.

VERSION = "promptdsl-snapshot: 1"
"""The first line of the header: the kind of the file, and the version of its format."""


class SnapshotFormatError(PromptError):
    """A text that is not a snapshot; the message names the line.

    >>> from promptdsl.comparing.snapshot_file import SnapshotFormatError, parse
    >>> try:
    ...     parse("Hello")
    ... except SnapshotFormatError as error:
    ...     print(error.what)
    line 1 of the snapshot is not '---'
    """


@attrs.frozen
class FilePart:
    """A mark of one line, such as ``─▷ rules/tone``, and the text after it.

    The mark is empty for text directly below the title of an entry. All characters are visible:
    ``⟦...⟧`` stands for an invisible one, or for a value that changes. A mark that begins with
    ``─▷`` is in the middle of a text; every other mark ends a text. ``source`` is the line of code
    that wrote the beginning of the text. It is not in the file, and does not count when parts are
    compared.
    """

    mark: str
    text: str = ""
    source: Source | None = attrs.field(default=None, eq=False, repr=False)


@attrs.frozen
class FileEntry:
    """A turn, the tools or the output schema.

    ``title`` may be given as text, such as ``event as user``.
    """

    title: EntryTitle = attrs.field(converter=title_of)
    parts: tuple[FilePart, ...] = ()


@attrs.frozen
class PromptFile:
    """The content of a snapshot.

    ``header`` has pairs of a name and a line of text, in order; a name such as ``hint`` may occur
    more than once. ``total`` are the exact tokens, ``libraries`` the names and versions of the
    section libraries. Both are only known for a rendered prompt; they are not in the file, and do
    not count when files are compared.
    """

    header: tuple[tuple[str, str], ...]
    entries: tuple[FileEntry, ...]
    total: int | None = attrs.field(default=None, eq=False, repr=False)
    libraries: tuple[tuple[str, str | None], ...] = attrs.field(default=(), eq=False, repr=False)


TITLE = "──▶ "
WITHIN = "─▷ "
"""The beginning of a mark in the middle of a text: it names the section of the text below it."""
_LIKE_A_MARK = re.compile(r"^(?=\\|[^\S\n]*[─━┄┅┈┉╌╍═―—⎯⸺⸻])", re.MULTILINE)
_ESCAPE = re.compile(r"^\\", re.MULTILINE)
_VERSION_LINE = re.compile(r"---\r?\npromptdsl-snapshot: ([0-9]{1,9})$", re.MULTILINE)
_HEADER_LINE = re.compile(r"([a-z][a-z -]*):(?: (.+))?")

_COUNT = re.compile(r"^(tokens: ~|dropped: .*, ~)([\d,]+)", re.MULTILINE)
"""A rounded number in a header, with the text before it."""


def serialise(file: PromptFile) -> str:
    r"""Return the text of a snapshot; it ends with one newline.

    >>> print(serialise(PromptFile((), (FileEntry("user", (FilePart("", "Hi.\n─▷ x"),)),))))
    ---
    promptdsl-snapshot: 1
    ---
    <BLANKLINE>
    ──▶ user
    Hi.
    \─▷ x
    <BLANKLINE>
    """
    lines = ["---", VERSION]
    lines += [f"{name}: {value}" if value else f"{name}:" for name, value in file.header]
    lines.append("---")
    for entry in file.entries:
        lines += ("", f"{TITLE}{entry.title}")
        for part, after in zip(entry.parts, (*entry.parts[1:], None), strict=False):
            if part.mark:
                lines.append(part.mark)
            text = _LIKE_A_MARK.sub(r"\\", part.text)
            if after and after.mark.startswith(WITHIN):
                # The mark needs a line of its own, also in the middle of a line of the text.
                if text:
                    lines.append(text[:-1] if text.endswith("\n") else f"{text}{GOES_ON}")
            elif text:
                lines.append(f"{text}\\" if text.endswith("\n") else text)
    lines.append("")
    return "\n".join(lines)


def parse(text: str) -> PromptFile:
    """Return the content of a snapshot, the inverse of :func:`serialise`.

    Line ends may be CRLF, and the text may begin with a byte order mark. Raises
    :class:`SnapshotFormatError` for any other text.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0] != "---":
        raise _wrong(1, "is not '---'")
    if lines.pop() != "":
        raise _wrong(len(lines) + 1, "has no line end")
    header, start = _read_header(lines)
    entries: list[FileEntry] = []
    for number, line in enumerate(lines[start:], start):
        if line.startswith(TITLE):
            if lines[number - 1] != "":
                raise _wrong(number, "is not the empty line before a message")
            if entries:
                entries[-1] = _entry(lines[start : number - 1])
            start = number
            entries.append(FileEntry(line))
        elif not entries and (line or number > start):
            raise _wrong(number + 1, f"does not begin with {TITLE!r}")
    if entries:
        entries[-1] = _entry(lines[start:])
    elif start < len(lines):
        raise _wrong(start + 1, f"does not begin with {TITLE!r}")
    return PromptFile(header, tuple(entries))


def is_same_snapshot(stored: str, actual: str) -> bool:
    r"""Return whether two snapshots differ at most in rounded tokens, by a tenth or by 20.

    A volatile value changes these tokens from run to run. A sentence of the base changes the tokens
    of each model.

    >>> near, far = (f"---\ntokens: ~{count} (o200k_base)\n---\n" for count in (350, 380))
    >>> stored = near.replace("350", "340")
    >>> is_same_snapshot(stored, near), is_same_snapshot(stored, far)
    (True, False)
    """
    (before, old), (after, new) = _counts(stored), _counts(actual)
    return before == after and all(
        abs(now - was) <= max(20, was / 10) for was, now in zip(old, new, strict=True)
    )


def newer_version(text: str) -> bool:
    r"""Return whether a newer promptdsl wrote a snapshot: the version of its format is higher.

    >>> newer_version("---\npromptdsl-snapshot: 2\n---\n")
    True
    """
    match = _VERSION_LINE.match(text)
    return match is not None and int(match[1]) > int(VERSION.rpartition(" ")[2])


def _read_header(lines: list[str]) -> tuple[tuple[tuple[str, str], ...], int]:
    """Return the pairs of the header, and the number of its lines."""
    if lines[1:2] != [VERSION]:
        raise _wrong(2, f"is not {VERSION!r}", fix="a newer promptdsl may have written it")
    pairs: list[tuple[str, str]] = []
    for number, line in enumerate(lines[2:], 3):
        if line == "---":
            return tuple(pairs), number
        match = _HEADER_LINE.fullmatch(line)
        if not match:
            raise _wrong(number, "is not a line of the header, such as 'model: gpt-5 (openai)'")
        pairs.append((match[1], match[2] or ""))
    raise _wrong(len(lines), "is the last line, but the header has no end: '---'")


def _counts(text: str) -> tuple[str, list[int]]:
    """Return a snapshot without the rounded numbers of its header, and these numbers."""
    header, end, messages = text.partition("\n---\n")
    counts = [int(match[2].replace(",", "")) for match in _COUNT.finditer(header)]
    return _COUNT.sub(r"\1", header) + end + messages, counts


def _entry(lines: list[str]) -> FileEntry:
    """Return the entry in some lines; the first line is its title."""
    parts: list[FilePart] = []
    mark, body = "", list[str]()
    for line in (*lines[1:], None):
        if line is not None and not line.startswith("─"):
            body.append(line)
            continue
        text = _ESCAPE.sub("", "\n".join(body))
        if body and line is not None and line.startswith(WITHIN):
            text = text.removesuffix(GOES_ON) if text.endswith(GOES_ON) else f"{text}\n"
        if mark or body or parts:
            parts.append(FilePart(mark, text))
        mark, body = line or "", []
    return FileEntry(lines[0].removeprefix(TITLE), tuple(parts))


def _wrong(line: int, problem: str, *, fix: str = "") -> SnapshotFormatError:
    advice = "restore the file, or delete it and write it again with --snapshot-update"
    return SnapshotFormatError(f"line {line} of the snapshot {problem}", fix=fix or advice)


# Texts as a snapshot shows them: values that change from run to run are signs.

Scrubber: TypeAlias = "str | re.Pattern[str] | Callable[[str], Iterable[str]]"
"""Finds values that change: a regular expression, or a function that returns the values."""

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"(?P<colon>:)?')
"""A string of JSON; a key is followed by a colon."""


class ShownTexts:
    """The texts of a snapshot. Volatile values are numbered in order, scrubbed ones by value."""

    def __init__(self, scrubbers: Mapping[str, Scrubber]) -> None:
        self.scrubbers = {
            name: re.compile(scrubber) if isinstance(scrubber, str) else scrubber
            for name, scrubber in scrubbers.items()
        }
        self.locations: Counter[str] = Counter()
        """How many volatile values with each label there are so far."""
        self.numbers: dict[str, dict[str, int]] = {}
        """The number of each scrubbed value, by the name of its scrubber."""
        self.signs: list[str] = []
        """The signs of the volatile values so far."""

    def volatile(self, span: Span) -> str:
        """Return the sign of a volatile value; the first with a label has no number."""
        label = span.label or "value"
        self.locations[label] += 1
        number = self.locations[label]
        self.signs.append(alias(label, number if number > 1 else 0))
        return self.signs[-1]

    def of_spans(self, spans: Iterable[tuple[str, Span]]) -> str:
        """Return the text of spans, scrubbed; the text of a volatile span is already its sign."""
        pieces: list[str] = []
        for is_sign, run in groupby(spans, lambda pair: pair[1].kind == "volatile"):
            text = "".join([text for text, _ in run])
            pieces.append(text if is_sign else self._shown(text))
        return ended("".join(pieces))

    def text(self, text: str) -> str:
        """Return a text, scrubbed."""
        return ended(self._shown(text))

    def name(self, text: str) -> str:
        """Return an id, a file name or a description on one line, scrubbed."""
        return ended(self._shown(text, one_line=True))

    def data(self, text: str) -> str:
        """Return JSON on one line; its texts are scrubbed, its keys and numbers are not."""
        pieces: list[str] = []
        start = 0
        for match in _STRING.finditer(text):
            if not match["colon"]:
                pieces += [shown(text[start : match.start()], one_line=True)]
                pieces += [self._shown(match[0], one_line=True)]
                start = match.end()
        return ended("".join([*pieces, shown(text[start:], one_line=True)]))

    def line(self, text: str) -> str:
        """Return a fact on one line, such as the model or the name of a tool; never scrubbed."""
        return ended(shown(text, one_line=True))

    def _shown(self, text: str, *, one_line: bool = False) -> str:
        return "".join(
            piece if is_sign else shown(piece, one_line=one_line)
            for is_sign, piece in self.scrubbed(text)
        )

    def scrubbed(self, text: str) -> list[tuple[bool, str]]:
        """Return the pieces of a text; each pair begins with whether the piece is a sign."""
        pieces = [(False, text)]
        for name, scrubber in self.scrubbers.items():
            pieces = [
                new
                for is_sign, piece in pieces
                for new in ([(True, piece)] if is_sign else self._split(name, scrubber, piece))
            ]
        return pieces

    def _split(
        self, name: str, scrubber: "re.Pattern[str] | Callable[[str], Iterable[str]]", text: str
    ) -> Iterator[tuple[bool, str]]:
        if not isinstance(scrubber, re.Pattern):
            # The longest value first, as a value may begin with another one.
            values = sorted({value for value in scrubber(text) if value}, key=len, reverse=True)
            scrubber = re.compile("|".join(map(re.escape, values)) or "(?!)")
        numbers = self.numbers.setdefault(name, {})
        start = 0
        for match in scrubber.finditer(text):
            if match[0]:
                yield False, text[start : match.start()]
                # A volatile value may have a label equal to this name.
                number = numbers.setdefault(match[0], self.locations[name] + len(numbers) + 1)
                yield True, alias(name, number)
                start = match.end()
        yield False, text[start:]
