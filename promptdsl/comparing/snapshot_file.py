"""The content of a snapshot: a header, then entries; and its text, which is written and read here.

An entry is a turn, the tools, or the output schema. It has a title and parts. A part is a mark of
one line with the text below it.
"""

import re

import attrs

from promptdsl.comparing.escapes import GOES_ON
from promptdsl.comparing.titles import EntryTitle, title_of
from promptdsl.foundation.errors import PromptError
from promptdsl.foundation.source import Source

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
