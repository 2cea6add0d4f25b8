"""The classes of a snapshot, and its text: :func:`serialise` writes it, :func:`parse` reads it.

In this order: brackets for characters and values, the titles of entries, the file, and the texts in
it. To read a snapshot, begin with :class:`PromptFile`.

A snapshot has a header, then entries. An entry is a turn, the tools, or the output schema. It has a
title and parts. A part is a sign, one line such as ``─▷ rules``, and the text below it.
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

# The brackets of a snapshot: ``⟦...⟧`` for invisible characters, and for values that change.
#
# ``⟦CR⟧`` and ``⟦U+200B⟧`` are characters, ``⟦⟦⟧`` is a literal ``⟦``, ``⟦date⟧`` and ``⟦uuid-1⟧``
# are values. Each ``⟦`` in a snapshot begins a bracket, so two different texts never look equal.

visible, visible_json = unicode.visible, unicode.visible_json
columns, cut_to, terminal_width = unicode.columns, unicode.cut_to, unicode.terminal_width
"""The commands import these names from here, because they import nothing from ``foundation``."""
OPEN, CLOSE = "⟦", "⟧"
GOES_ON = "⟦+⟧"
"""The bracket at the end of a line before a sign: the text continues without a line end."""

CHARACTER_NAMES = {
    "⟦": "⟦", "\r": "CR", "\n": "LF", "\t": "TAB", " ": "SP", "\xa0": "NBSP", "\0": "NUL",
    "\x1b": "ESC", "\u200b": "ZWSP", "\u200c": "ZWNJ", "\u200d": "ZWJ", "\ufeff": "BOM",
    "\u2028": "LS", "\u2029": "PS",
}  # fmt: skip
_NONCHARACTERS = r"\ufdd0-\ufdef" + "".join(
    rf"\U{plane:04x}fffe\U{plane:04x}ffff" for plane in range(1, 17)
)
_ODD_BLANKS = r"\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u2800"
_UNSEEN_CHARACTER = pattern(f"[{UNSEEN}]")
# The characters that always become brackets. Joiners and selectors become brackets only where they
# belong to no spelling: ``INVISIBLE`` finds these.
_ALWAYS_SHOWN = pattern(
    rf"[⟦\x00-\x08\x0b-\x1f\x7f-\x9f{_ODD_BLANKS}\ud800-\udfff\ufffe\uffff{_NONCHARACTERS}]"
)
_BLANKS_AT_END = re.compile(r"[ \t\u3000]+(?=\n|\Z)")
# A plain name begins in lower case, so it is not the bracket of a character. A name that ends in a
# number is not plain: it could be one of several values with one name.
_PLAIN_NAME = re.compile(r"[a-z](?:[a-z0-9_ .:-]*[a-z0-9_])?")
_NUMBER_AT_END = re.compile(r"-[0-9]+\Z")


def bracket_of(character: str) -> str:
    """Return the bracket for a character, such as ``⟦CR⟧`` or ``⟦U+202E⟧``."""
    return f"⟦{CHARACTER_NAMES.get(character) or f'U+{ord(character):04X}'}⟧"


def with_brackets(text: str, *, one_line: bool = False) -> str:
    r"""Return text with brackets for invisible characters; blanks at line ends stay.

    Joiners and selectors that belong to a spelling, as in emoji, stay as they are. With
    ``one_line``, line ends and tabs become brackets, too.

    >>> with_brackets("a\rb\u200b ⟦date⟧")
    'a⟦CR⟧b⟦ZWSP⟧ ⟦⟦⟧date⟧'
    """
    if one_line and ("\n" in text or "\t" in text):
        # Line ends come last: else their new brackets would be taken for literal ones.
        lines = [with_brackets(line) for line in re.split(r"([\n\t])", text)]
        return "".join(bracket_of(line) if line in ("\n", "\t") else line for line in lines)
    if text.isascii() and text.isprintable():
        return text
    text = _ALWAYS_SHOWN.sub(lambda match: bracket_of(match[0]), text)
    if text.isascii() or not _UNSEEN_CHARACTER.search(text):
        return text
    return INVISIBLE.sub(lambda match: bracket_of(match[1]) if match[1] else match[0], text)


def printable(text: str) -> str:
    r"""Return lines of a snapshot that may be from anybody, safe to print on a terminal.

    Invisible characters become brackets. The brackets in these lines stay.

    >>> printable("Today is ⟦date⟧.\x1b[2J")
    'Today is ⟦date⟧.⟦ESC⟧[2J'
    """
    return "⟦".join(map(with_brackets, text.split("⟦")))


def with_end_brackets(text: str) -> str:
    r"""Return text with brackets for the blanks at the end of each line.

    >>> with_end_brackets("a  \nb")
    'a⟦SP⟧⟦SP⟧\nb'
    """
    return _BLANKS_AT_END.sub(lambda match: "".join(map(bracket_of, match[0])), text)


def value_bracket(name: str, number: int = 0) -> str:
    """Return the bracket for a value that changes; ``number`` 0 means no number.

    A name that could be misread as another bracket is written as a JSON string.

    >>> [value_bracket(name) for name in ("date", "CR", "uuid-2")] + [value_bracket("uuid", 2)]
    ['⟦date⟧', '⟦"CR"⟧', '⟦"uuid-2"⟧', '⟦uuid-2⟧']
    """
    if not _PLAIN_NAME.fullmatch(name) or _NUMBER_AT_END.search(name):
        name = json.dumps(name).replace("\x7f", "\\u007f")
    return f"⟦{name}-{number}⟧" if number else f"⟦{name}⟧"


# The titles of the entries of a snapshot: what an entry is, and how it is sent.

ABOVE, NOT_SENT = ", in the message above", ", not sent"
"""The note on an entry that is sent in the message of the entry above it, and on one not sent."""
_TITLE = re.compile(
    r"(, not strict)?(?: as (\w+))?(?:, in (<\w+>))?(, name not sent)?"
    rf"""(?:, id sent as ("(?:[^"\\]|\\.)*"|[^\s"]+))?({ABOVE}|{NOT_SENT})?\Z"""
)


@attrs.frozen
class EntryTitle:
    """The title of the entry of a turn, of the tools, or of the output schema.

    ``what`` is the title in the prompt: a first word such as ``event``, then id and names. The
    other fields are how the entry is sent. ``role`` and ``id`` are empty if they are sent
    unchanged. ``fence`` is the tag that the adapter adds around the entry. ``is_named`` is false if
    its name is not sent. ``note`` is ``ABOVE``, ``NOT_SENT``, or empty.

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
        """The first part of the title, without how the entry is sent."""
        return self.what if self.is_strict else f"{self.what}, not strict"

    @property
    def first_word(self) -> str:
        """The first word, such as ``event``."""
        return re.split("[ ,]", self.kind)[0]

    @property
    def sent_as(self) -> str:
        """The rest of the title, how the entry is sent: the role, then what else differs."""
        return f"{self.role or self.first_word}{self._sending_notes()}"

    def __str__(self) -> str:
        return self.kind + (f" as {self.role}" if self.role else "") + self._sending_notes()

    def _sending_notes(self) -> str:
        fence = f", in {self.fence}" if self.fence else ""
        name = "" if self.is_named else ", name not sent"
        id = f", id sent as {self.id}" if self.id else ""
        return f"{fence}{name}{id}{self.note}"


def title_of(text: str | EntryTitle) -> EntryTitle:
    """Return the title that has this text; an :class:`EntryTitle` is returned as it is."""
    if isinstance(text, EntryTitle):
        return text
    end = _TITLE.search(text)
    assert end is not None  # the pattern matches an empty end, too
    strict, role, fence, name, id, note = end.groups("")
    return EntryTitle(text[: end.start()], not strict, role, fence, not name, id, note)


# The content of a snapshot, and its text: written by ``serialise``, read by ``parse``.

VERSION = "promptdsl-snapshot: 1"
"""The line after the first ``---``: the kind of the file, and the version of its format."""


class SnapshotFormatError(PromptError):
    """The error for a text that is not a snapshot; its message names the line.

    >>> from promptdsl.comparing.snapshot_file import SnapshotFormatError, parse
    >>> try:
    ...     parse("Hello")
    ... except SnapshotFormatError as error:
    ...     print(error.what)
    line 1 of the snapshot is not '---'
    """


@attrs.frozen
class FilePart:
    """A sign, one line such as ``─▷ rules/tone``, and the text below it.

    The sign is empty for text directly below the title of an entry. All characters are visible:
    ``⟦...⟧`` replaces an invisible character, or a value that changes. A sign that begins with
    ``─▷`` is in the middle of a text; every other sign ends the text above it. ``source`` is the
    line of code that wrote the beginning of the text. The file does not have it, so a comparison of
    parts ignores it.
    """

    sign: str
    text: str = ""
    source: Source | None = attrs.field(default=None, eq=False, repr=False)


@attrs.frozen
class FileEntry:
    """An entry of a snapshot: a turn, the tools or the output schema.

    ``title`` may be a text, such as ``event as user``: it is read as an :class:`EntryTitle`.
    """

    title: EntryTitle = attrs.field(converter=title_of)
    parts: tuple[FilePart, ...] = ()


@attrs.frozen
class PromptFile:
    """The content of a snapshot.

    ``header`` has pairs of a name and a line of text, in order; a name such as ``hint`` may occur
    more than once. ``total`` is the exact number of tokens, ``libraries`` are the names and
    versions of the section libraries. Only a rendered prompt has these two. The file does not have
    them, so a comparison of files ignores them.
    """

    header: tuple[tuple[str, str], ...]
    entries: tuple[FileEntry, ...]
    total: int | None = attrs.field(default=None, eq=False, repr=False)
    libraries: tuple[tuple[str, str | None], ...] = attrs.field(default=(), eq=False, repr=False)


TITLE_SIGN = "──▶ "
SECTION_SIGN = "─▷ "
"""How a title begins, and a sign in the middle of a text, which names the section below it."""
# ``serialise`` writes a backslash before a line that begins like a sign, or with a backslash.
_LIKE_A_SIGN = re.compile(r"^(?=\\|[^\S\n]*[─━┄┅┈┉╌╍═―—⎯⸺⸻])", re.MULTILINE)
_ESCAPE = re.compile(r"^\\", re.MULTILINE)
_VERSION_LINE = re.compile(r"---\r?\npromptdsl-snapshot: ([0-9]{1,9})$", re.MULTILINE)
_HEADER_LINE = re.compile(r"([a-z][a-z -]*):(?: (.+))?")

_ROUNDED_COUNT = re.compile(r"^(tokens: ~|dropped: .*, ~)([\d,]+)", re.MULTILINE)
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
    lines += [
        f"{name}: {text_line}" if text_line else f"{name}:" for name, text_line in file.header
    ]
    lines.append("---")
    for file_entry in file.entries:
        lines += ("", f"{TITLE_SIGN}{file_entry.title}")
        for part, next_part in zip(file_entry.parts, (*file_entry.parts[1:], None), strict=False):
            if part.sign:
                lines.append(part.sign)
            text = _LIKE_A_SIGN.sub(r"\\", part.text)
            if next_part and next_part.sign.startswith(SECTION_SIGN):
                # The sign needs its own line, even if the section begins in the middle of a line.
                if text:
                    lines.append(text[:-1] if text.endswith("\n") else f"{text}{GOES_ON}")
            elif text:
                # A last line end would look like the end of the line above: a backslash shows it.
                lines.append(f"{text}\\" if text.endswith("\n") else text)
    lines.append("")
    return "\n".join(lines)


def parse(text: str) -> PromptFile:
    """Return the content of a snapshot; it is the inverse of :func:`serialise`.

    Line ends may be CRLF, and the text may begin with a byte order mark. Raises
    :class:`SnapshotFormatError` for a text that is not a snapshot.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0] != "---":
        raise _format_error(1, "is not '---'")
    if lines.pop() != "":
        raise _format_error(len(lines) + 1, "has no line end")
    header, start = _read_header(lines)
    file_entries: list[FileEntry] = []
    # Only the next title ends an entry, so the list has a title alone until then.
    for index, line in enumerate(lines[start:], start):
        if line.startswith(TITLE_SIGN):
            if lines[index - 1] != "":
                raise _format_error(index, "is not the empty line before a message")
            if file_entries:
                file_entries[-1] = _read_entry(lines[start : index - 1])
            start = index
            file_entries.append(FileEntry(line))
        elif not file_entries and (line or index > start):
            raise _format_error(index + 1, f"does not begin with {TITLE_SIGN!r}")
    if file_entries:
        file_entries[-1] = _read_entry(lines[start:])
    elif start < len(lines):
        raise _format_error(start + 1, f"does not begin with {TITLE_SIGN!r}")
    return PromptFile(header, tuple(file_entries))


def is_same_snapshot(stored: str, actual: str) -> bool:
    r"""Return whether two snapshots are equal, but for small differences in rounded tokens.

    A count in the header may differ by a tenth of the stored count or by 20 tokens, whichever is
    more. The first reason is that a scrubbed value may have another length in each run. The second
    is that a sentence of the base changes the tokens of each model.

    >>> near, far = (f"---\ntokens: ~{count} (o200k_base)\n---\n" for count in (350, 380))
    >>> stored = near.replace("350", "340")
    >>> is_same_snapshot(stored, near), is_same_snapshot(stored, far)
    (True, False)
    """
    (before, old_counts), (after, new_counts) = _counts(stored), _counts(actual)
    return before == after and all(
        abs(new_count - old_count) <= max(20, old_count / 10)
        for old_count, new_count in zip(old_counts, new_counts, strict=True)
    )


def newer_version(text: str) -> bool:
    r"""Return whether a snapshot has a newer format than this promptdsl can read.

    >>> newer_version("---\npromptdsl-snapshot: 2\n---\n")
    True
    """
    match = _VERSION_LINE.match(text)
    return match is not None and int(match[1]) > int(VERSION.rpartition(" ")[2])


def _read_header(lines: list[str]) -> tuple[tuple[tuple[str, str], ...], int]:
    """Return the pairs of the header, and the number of lines up to its second ``---``."""
    if lines[1:2] != [VERSION]:
        raise _format_error(
            2, f"is not {VERSION!r}", fix="if a newer promptdsl wrote it, use that version"
        )
    pairs: list[tuple[str, str]] = []
    for line_number, line in enumerate(lines[2:], 3):
        if line == "---":
            return tuple(pairs), line_number
        match = _HEADER_LINE.fullmatch(line)
        if not match:
            raise _format_error(
                line_number, "is not a line of the header, such as 'model: gpt-5 (openai)'"
            )
        pairs.append((match[1], match[2] or ""))
    raise _format_error(len(lines), "is the last line, but the header has no end: '---'")


def _counts(text: str) -> tuple[str, list[int]]:
    """Return a snapshot without the rounded numbers of its header, and these numbers."""
    header, end, messages = text.partition("\n---\n")
    counts = [int(match[2].replace(",", "")) for match in _ROUNDED_COUNT.finditer(header)]
    return _ROUNDED_COUNT.sub(r"\1", header) + end + messages, counts


def _read_entry(lines: list[str]) -> FileEntry:
    """Return the entry in some lines; the first line is its title."""
    parts: list[FilePart] = []
    sign, text_lines = "", list[str]()
    for line in (*lines[1:], None):  # ``None`` ends the last part
        if line is not None and not line.startswith("─"):
            text_lines.append(line)
            continue
        text = _ESCAPE.sub("", "\n".join(text_lines))
        if text_lines and line is not None and line.startswith(SECTION_SIGN):
            text = text.removesuffix(GOES_ON) if text.endswith(GOES_ON) else f"{text}\n"
        if sign or text_lines or parts:
            parts.append(FilePart(sign, text))
        sign, text_lines = line or "", []
    return FileEntry(lines[0].removeprefix(TITLE_SIGN), tuple(parts))


def _format_error(line: int, problem: str, *, fix: str = "") -> SnapshotFormatError:
    advice = "restore the file, or delete it and write it again with --snapshot-update"
    return SnapshotFormatError(f"line {line} of the snapshot {problem}", fix=fix or advice)


# Texts as a snapshot shows them: brackets replace the values that change from run to run.

Scrubber: TypeAlias = "str | re.Pattern[str] | Callable[[str], Iterable[str]]"
"""Finds values that change: a regular expression, or a function that returns the values."""

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"(?P<colon>:)?')
"""A string of JSON; a key is followed by a colon."""


class ShownTexts:
    """Makes the texts of one snapshot, and numbers the values that change.

    Each ``Volatile`` value gets the next number of its label, even if two values are equal. Equal
    scrubbed values get the same number.
    """

    def __init__(self, scrubbers: Mapping[str, Scrubber]) -> None:
        self.scrubbers = {
            name: re.compile(scrubber) if isinstance(scrubber, str) else scrubber
            for name, scrubber in scrubbers.items()
        }
        self.label_counts: Counter[str] = Counter()
        """The number of volatile values so far, by label."""
        self.value_numbers: dict[str, dict[str, int]] = {}
        """The number of each scrubbed value, by the name of its scrubber."""
        self.brackets: list[str] = []
        """The brackets of the volatile values so far."""

    def volatile(self, span: Span) -> str:
        """Return the bracket of a volatile value; the first value of a label has no number."""
        label = span.label or "value"
        self.label_counts[label] += 1
        number = self.label_counts[label]
        self.brackets.append(value_bracket(label, number if number > 1 else 0))
        return self.brackets[-1]

    def of_spans(self, spans: Iterable[tuple[str, Span]]) -> str:
        """Return the text of spans, scrubbed; the text of a volatile span is already a bracket."""
        pieces: list[str] = []
        for is_bracket, run in groupby(spans, lambda pair: pair[1].kind == "volatile"):
            text = "".join([text for text, _ in run])
            pieces.append(text if is_bracket else self._visible_text(text))
        return with_end_brackets("".join(pieces))

    def text(self, text: str) -> str:
        """Return a text, scrubbed."""
        return with_end_brackets(self._visible_text(text))

    def name(self, text: str) -> str:
        """Return an id, a file name or a description on one line, scrubbed."""
        return with_end_brackets(self._visible_text(text, one_line=True))

    def data(self, text: str) -> str:
        """Return JSON on one line; its texts are scrubbed, its keys and numbers are not."""
        pieces: list[str] = []
        start = 0
        for match in _STRING.finditer(text):
            if not match["colon"]:
                pieces += [with_brackets(text[start : match.start()], one_line=True)]
                pieces += [self._visible_text(match[0], one_line=True)]
                start = match.end()
        return with_end_brackets("".join([*pieces, with_brackets(text[start:], one_line=True)]))

    def line(self, text: str) -> str:
        """Return a fact on one line, such as the model or the name of a tool, without scrubbing."""
        return with_end_brackets(with_brackets(text, one_line=True))

    def _visible_text(self, text: str, *, one_line: bool = False) -> str:
        return "".join(
            piece if is_bracket else with_brackets(piece, one_line=one_line)
            for is_bracket, piece in self.scrubbed(text)
        )

    def scrubbed(self, text: str) -> list[tuple[bool, str]]:
        """Return the pieces of a text, each with whether it is the bracket of a scrubbed value."""
        pieces = [(False, text)]
        for name, scrubber in self.scrubbers.items():
            pieces = [
                new
                for is_bracket, piece in pieces
                for new in (
                    [(True, piece)] if is_bracket else self._split_at_values(name, scrubber, piece)
                )
            ]
        return pieces

    def _split_at_values(
        self, name: str, scrubber: "re.Pattern[str] | Callable[[str], Iterable[str]]", text: str
    ) -> Iterator[tuple[bool, str]]:
        """Yield the pieces of a text; the values that a scrubber finds become brackets."""
        if not isinstance(scrubber, re.Pattern):
            # A value may begin with another value, so the longest is tried first.
            longest_first = sorted(
                {value for value in scrubber(text) if value}, key=len, reverse=True
            )
            scrubber = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
        value_numbers = self.value_numbers.setdefault(name, {})
        start = 0
        for match in scrubber.finditer(text):
            if match[0]:
                yield False, text[start : match.start()]
                # A volatile value may have a label that is equal to this name.
                number = value_numbers.setdefault(
                    match[0], self.label_counts[name] + len(value_numbers) + 1
                )
                yield True, value_bracket(name, number)
                start = match.end()
        yield False, text[start:]
