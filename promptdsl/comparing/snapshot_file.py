"""The content of a snapshot: a header, and for each message its texts between marks."""

import re

import attrs

from promptdsl.comparing.escapes import GOES_ON
from promptdsl.comparing.titles import EntryTitle, title_of
from promptdsl.foundation.errors import PromptError
from promptdsl.foundation.source import Source

VERSION = "promptdsl-snapshot: 1"
"""The first line of the header: what the file is, and the version of its form."""


class SnapshotFormatError(PromptError):
    """A text that is not a snapshot; the message tells the line.

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

    The mark is empty for text directly after the title of an entry. All characters can be seen:
    ``⟦...⟧`` are those that could not, and values that change. A mark that begins with ``─▷``
    stands in the middle of a text; every other one ends a text. ``source`` is the line that
    wrote the beginning of the text; it is not in the file, and does not count when parts are
    compared.
    """

    mark: str
    text: str = ""
    source: Source | None = attrs.field(default=None, eq=False, repr=False)


@attrs.frozen
class FileEntry:
    """A message, the tools or the form of the answer.

    ``title`` may be given as its text, such as ``event as user``.
    """

    title: EntryTitle = attrs.field(converter=title_of)
    parts: tuple[FilePart, ...] = ()


@attrs.frozen
class PromptFile:
    """A prompt as a snapshot keeps it.

    ``header`` has pairs of a name and a line of text, in order; a name such as ``hint`` may be
    there more than once. ``total``, the exact tokens, and ``libraries``, the name and version of
    each, are known of a prompt that was rendered; they are not in the file, and do not count when
    files are compared.
    """

    header: tuple[tuple[str, str], ...]
    entries: tuple[FileEntry, ...]
    total: int | None = attrs.field(default=None, eq=False, repr=False)
    libraries: tuple[tuple[str, str | None], ...] = attrs.field(default=(), eq=False, repr=False)


TITLE = "──▶ "
WITHIN = "─▷ "
"""The beginning of a mark in the middle of a text: the section of what comes next."""
_LIKE_A_MARK = re.compile(r"^(?=\\|[^\S\n]*[─━┄┅┈┉╌╍═―—⎯⸺⸻])", re.MULTILINE)
_ESCAPE = re.compile(r"^\\", re.MULTILINE)
_VERSION_LINE = re.compile(r"---\r?\npromptdsl-snapshot: ([0-9]{1,9})$", re.MULTILINE)
_HEADER_LINE = re.compile(r"([a-z][a-z -]*):(?: (.+))?")

_COUNT = re.compile(r"^(tokens: ~|dropped: .*, ~)([\d,]+)", re.MULTILINE)
"""A number in a header that is rounded, after what is before it."""


def serialise(file: PromptFile) -> str:
    r"""Return the text of a snapshot; it ends in one newline.

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
                # The mark stands at the beginning of a line of the text.
                if text:
                    lines.append(text[:-1] if text.endswith("\n") else f"{text}{GOES_ON}")
            elif text:
                lines.append(f"{text}\\" if text.endswith("\n") else text)
    lines.append("")
    return "\n".join(lines)


def parse(text: str) -> PromptFile:
    """Return the content of a snapshot, the inverse of :func:`serialise`.

    Line ends may be CRLF, and a byte order mark may stand first. Raises
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
    r"""Tell whether two snapshots differ at most in rounded tokens, by a tenth or by 20.

    A volatile value changes them from run to run, a sentence of the base those of each model.

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
    r"""Tell whether a newer promptdsl wrote a snapshot: the version of its form is above ours.

    >>> newer_version("---\npromptdsl-snapshot: 2\n---\n")
    True
    """
    match = _VERSION_LINE.match(text)
    return match is not None and int(match[1]) > int(VERSION.rpartition(" ")[2])


def _read_header(lines: list[str]) -> tuple[tuple[tuple[str, str], ...], int]:
    """Return the pairs of the header, and the number of lines up to its end."""
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
    raise _wrong(len(lines), "is the last one, and the header has no end: '---'")


def _counts(text: str) -> tuple[str, list[int]]:
    """Return a snapshot without the rounded numbers of its header, and these."""
    header, end, messages = text.partition("\n---\n")
    counts = [int(match[2].replace(",", "")) for match in _COUNT.finditer(header)]
    return _COUNT.sub(r"\1", header) + end + messages, counts


def _entry(lines: list[str]) -> FileEntry:
    """Return the entry of some lines, of which the first is its title."""
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
