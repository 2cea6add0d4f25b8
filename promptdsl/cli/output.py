"""What the commands write: errors, files, and text for a terminal.

In this order: errors; files; settings and JSON; progress and colours; messages as text.
"""

import base64
import json
import os
import re
import shutil
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

import attrs

from promptdsl import (
    Block,
    DataError,
    LibraryError,
    Message,
    PromptError,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from promptdsl.batch import user_frames
from promptdsl.comparing import changed_words, visible, visible_json, write_or_refuse

if TYPE_CHECKING:
    from promptdsl import Difference, LibrarySection, Loss, Source, TokenPart


# The errors of the commands, and the text of an error: its line, its message, its frames.

_MINIMUM_SIMILARITY = 0.65
"""The minimum similarity of a name and its misspelling, for difflib, as in errors of the API."""


class UsageError(Exception):
    """The command was called wrongly."""

    code = 2


class FileError(UsageError):
    """The content of a file is wrong or out of date, but the command was called correctly."""

    code = 1


def suggestion(name: str, candidates: Iterable[str], *, maximum: int | None = None) -> str:
    """Return the end of an error for an unknown name: similar candidates, else all of them.

    It begins with its separator, as in ``": did you mean 'x'?"``. It is empty without candidates.
    If none is similar, it lists only the first ``maximum`` candidates, in alphabetical order.
    """
    from difflib import get_close_matches

    names = [*candidates]
    close = get_close_matches(name, sorted(names), cutoff=_MINIMUM_SIMILARITY)
    if close:
        return f": did you mean {' or '.join(map(repr, close))}?"
    return f"; choose from {', '.join(sorted(names[:maximum]))}" if names else ""


def error_text(error: BaseException, *, target: str, frames: bool) -> str:
    """Return the text of an error: ``file:line``, the problem and the advice.

    The text begins with ``target`` if no line is known. With ``frames``, the traceback through the
    author's code comes first. An error without a line of the author has the complete traceback.
    """
    # For a broken library, show the line at which its code failed.
    cause = error.__cause__ if isinstance(error, LibraryError) else None
    stack = user_frames(cause or error)
    if isinstance(error, PromptError):
        # An error in the arguments of render() has the line of its caller: here, this command.
        command_lines = {f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_stack()}
        first, *further_lines = [line for line in error.at if line not in command_lines] or [target]
        references = [f"  see also {line}" for line in further_lines]
        fix = [f"  {error.fix}"] if error.fix else []
        text = "\n".join([f"{first}: {error.what}", *references, *fix])
    elif isinstance(error, SyntaxError):
        first = f"{error.filename}:{error.lineno}" if error.filename else target
        text = f"{first}: {type(error).__name__}: {error.msg}"
    else:
        first = f"{stack[-1].filename}:{stack[-1].lineno}" if stack else target
        text = f"{first}: {''.join(traceback.format_exception_only(error)).rstrip()}"
    if not frames:
        return text
    lines = traceback.format_list(stack or traceback.extract_tb(error.__traceback__))
    return f"Traceback (most recent call last):\n{''.join(lines)}{text}"


# Writing files: a report, or several files at once.


def write_report(path: str, text: str, may_replace: Callable[[str], bool]) -> None:
    """Write a text to a file; replace an existing file only if ``may_replace`` accepts its text.

    Raises :class:`UsageError` for another existing file, and if the file cannot be written.
    """
    try:
        write_or_refuse(path, text, may_replace)
    except OSError as error:
        problem = f"cannot write {error.filename or path}: {error.strerror or error}"
        raise UsageError(problem) from None
    except DataError as error:
        raise UsageError(f"{error.what}: {error.fix}") from None


def write_files(
    files: Mapping[str, str], *, changed: Mapping[str, str] | None = None, force: bool
) -> None:
    """Write texts as UTF-8 to their paths, and create missing folders.

    Each text is first written to a temporary file next to its path. When all texts are written, the
    temporary files replace the paths. After an error, all new files and folders are removed; a file
    that is already replaced stays so. A replaced file keeps its mode. ``changed`` are edited files,
    which may exist: they keep their line ends, and a link stays a link.

    Raises :class:`UsageError` if one of ``files`` exists, without ``force``, and if a file cannot
    be written.
    """
    existing = [path for path in files if os.path.lexists(path)]
    if existing and not force:
        rest = f" and {len(existing) - 1} more" if existing[1:] else ""
        raise UsageError(f"there is a file {existing[0]}{rest}: --force replaces existing files")
    contents = {path: text.encode("utf-8") for path, text in files.items()}
    changed_files = {os.path.realpath(path): text for path, text in (changed or {}).items()}
    new_folders: list[Path] = []
    temporary_files: dict[str, str] = {}
    new_files: list[str] = []
    path = ""
    try:
        for path, text in changed_files.items():
            has_crlf = os.path.exists(path) and b"\r\n" in Path(path).read_bytes()
            contents[path] = (text.replace("\n", "\r\n") if has_crlf else text).encode("utf-8")
        for path, content in contents.items():
            folders = [folder for folder in Path(path).parents if not folder.is_dir()]
            for folder in reversed(folders):
                folder.mkdir()
                new_folders.append(folder)
            temporary = f"{path}.{os.getpid()}.new"
            with open(temporary, "xb") as file:
                temporary_files[path] = temporary
                file.write(content)
                # The content must be on the disk before the file replaces another.
                file.flush()
                os.fsync(file.fileno())
            if os.path.exists(path):
                shutil.copymode(path, temporary)
            if os.path.isdir(path):
                raise IsADirectoryError(0, "it is a folder", path)
        for path in contents:
            is_new = not os.path.lexists(path)
            os.replace(temporary_files[path], path)
            del temporary_files[path]
            new_files += [path] if is_new else []
    except BaseException as error:
        for temporary in [*temporary_files.values(), *new_files]:
            os.unlink(temporary)
        for folder in reversed(new_folders):
            if not os.listdir(folder):
                folder.rmdir()
        if isinstance(error, OSError):
            problem = f"cannot write {error.filename or path}: {error.strerror}"
            raise UsageError(problem) from None
        raise


# Settings as text, and values as JSON.


def as_explanation(explained: Mapping[str, tuple[object, str]]) -> str:
    """Return a line for each setting: its key, its value, and the layer that set it.

    ``explained`` are the value and the layer of each setting, by its key.
    """
    rows: list[tuple[str, str, str]] = []
    for key, (value, layer) in explained.items():
        if callable(value):
            # The name of a function, without its address.
            text = str(getattr(value, "__qualname__", type(value).__name__))
        elif getattr(value, "kind", None) is None:
            text = str(value)
        else:
            # Only a delimiter has a kind: show its opening and its closing text.
            ends = (getattr(value, "open", ""), getattr(value, "close", ""))
            text = " ... ".join(repr(end)[1:-1] for end in ends if end) or "None"
        rows.append((key, visible(text, one_line=True), layer))
    key_width = max((len(key) for key, _, _ in rows), default=0)
    value_width = max((len(text) for _, text, _ in rows), default=0)
    return "\n".join(
        f"{key:<{key_width}}  {text:<{value_width}}  {layer}" for key, text, layer in rows
    )


def as_json(value: object) -> str:
    """Return strict JSON, with bytes as base64, and values without a JSON type as text.

    Special characters in it are escaped. Raises ``ValueError`` for NaN and infinite numbers,
    ``TypeError`` for a key that is not a text, a number, a truth value or ``None``, and
    ``RecursionError`` for data that is nested too deep.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2, default=_json_default)
    return visible_json(text)


def _json_default(value: object) -> object:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return dict(cast("Mapping[str, object]", value)) if isinstance(value, Mapping) else str(value)


def relative_paths(text: str) -> str:
    """Return a text with a relative path in each ``file:line`` of the current folder.

    A path without a line stays unchanged: it may be a part of a prompt.
    """
    folder_pattern = re.escape(os.path.join(os.getcwd(), ""))
    return re.sub(rf'(?<![^\s"]){folder_pattern}(?=[^\n:"]*(?::|", line )\d)', "", text)


def as_row(reported: "Loss | Difference | TokenPart") -> dict[str, object]:
    """Return the fields of a loss, a difference or a part as JSON data, with its file and line."""
    row = attrs.asdict(reported, recurse=False, filter=lambda field, _: field.name not in _OBJECTS)
    section = row.pop("library", None)
    library = {} if section is None else {"library": as_section(section)}
    return {**row, **library, **location_fields(reported.source)}


def fields(instance: object, *names: str) -> dict[str, object]:
    """Return the attributes with these names by name."""
    return {name: getattr(instance, name) for name in names}


def as_section(section: "LibrarySection") -> dict[str, object]:
    """Return the section of a library as JSON data: its name, version and digest."""
    return attrs.asdict(section)


_OBJECTS = ("source", "message")
"""The fields that are objects, and not JSON data."""


def location_fields(source: "Source | str | None") -> dict[str, object]:
    """Return the file and the line of a source as JSON data; both are ``None`` without a source."""
    file, _, line = relative_paths(str(source or "")).rpartition(":")
    return {"file": file or None, "line": int(line) if line else None}


# Output for a terminal: the progress of long work, and text in colours.

STYLES = {"- ": "red", "+ ": "green", "… ": "dim"}
"""The style of a line of a diff, by its sign."""
NOTE_STYLES = {"content": "red", "role": "red", "hint": "yellow", "warning": "yellow"}
"""The style of a note, by the text before its first colon."""
ROLE_STYLES = {
    "system": "magenta",
    "developer": "magenta",
    "user": "blue",
    "assistant": "green",
    "tool": "yellow",
}
"""The style of the line above a message, by the role of the message."""
TEXT_STYLES = {
    "label": "dim",
    "dropped": "dim",
    "lost": "red",
    "value": "cyan",
    "volatile": "underline cyan",
}
"""The style of text that the author did not write, by its kind."""
WORDS_SIGN = "~ "
"""The sign of a line with changed words; a terminal shows them in the two lines before instead."""
_QUOTED_NAMES = re.compile("`[^`]*`")
_TOKEN_NUMBERS = re.compile(r" *(?:[\d,]+ +(?:[\d.]+%|dropped)|…  )")
"""The numbers at the beginning of a line of ``promptdsl tokens``."""


def is_colourful() -> bool:
    """Return whether standard output is a terminal with colours."""
    return has_colours(sys.stdout)


def has_colours(stream: TextIO | None) -> bool:
    """Return whether a stream is a terminal with colours; a closed stream is ``None``."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    return not is_plain and stream is not None and stream.isatty()


def progress(names: Sequence[str], verb: str) -> Iterator[str]:
    """Yield the names; after a second, a line on a terminal shows how many are done.

    ``verb`` begins the line, such as ``checked``.
    """
    is_terminal, start = sys.stderr is not None and sys.stderr.isatty(), time.monotonic()
    for count, name in enumerate(names):
        if is_terminal and time.monotonic() > start + 1:
            print(f"\r{verb} {count:,} of {len(names):,}", end="", file=sys.stderr, flush=True)
        yield name
    if is_terminal and time.monotonic() > start + 1:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def coloured_diff(text: str) -> str:
    """Return the text of a diff in colours; without the package ``rich``, the text unchanged."""
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        return text
    columns = shutil.get_terminal_size().columns
    console = Console(width=columns, force_terminal=True, color_system="standard")
    lines = [line for line in text.split("\n") if not line.startswith(WORDS_SIGN)]
    with console.capture() as capture:
        for above, line, below in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
            sign = line[:2] if line[:2] in (*STYLES, "  ") else ""
            styled = Text(line[len(sign) :], style=STYLES.get(sign, ""))
            for start, end in _changed_words(above, line, below):
                styled.stylize("reverse", start, end)
            if not sign:
                styled.highlight_regex(_QUOTED_NAMES, "bold")
            # A long line continues below its text, not below its sign.
            for index, row in enumerate(styled.wrap(console, columns - len(sign)) or [styled]):
                begin = Text(" " * len(sign) if index else sign, style=styled.style)
                console.print(begin + row, soft_wrap=True)
    return capture.get().removesuffix("\n")


def coloured_notes(text: str) -> str:
    """Return notes with losses in red and hints in yellow; without ``rich``, the text unchanged."""
    return _styled_lines(
        text, lambda line: (NOTE_STYLES.get(line.partition(":")[0], ""), len(line))
    )


def paint(kind: str, text: str) -> str:
    """Return a text of a request in the style of its kind; without ``rich``, the text unchanged.

    ``kind`` is a key of ``TEXT_STYLES``, or the role of the message below a line.
    """
    try:
        from rich.color import ColorSystem
        from rich.style import Style
    except ImportError:
        return text
    style = (ROLE_STYLES | TEXT_STYLES).get(kind, "bold")
    return Style.parse(style).render(text, color_system=ColorSystem.STANDARD)


def coloured_tokens(text: str) -> str:
    """Return the text of ``promptdsl tokens`` with its numbers dim; without ``rich``, unchanged."""
    return _styled_lines(text, _number_style)


def _number_style(line: str) -> tuple[str, int]:
    numbers = _TOKEN_NUMBERS.match(line)
    return ("", 0) if numbers is None else ("dim", numbers.end())


def _styled_lines(text: str, style_of: Callable[[str], tuple[str, int]]) -> str:
    """Return lines whose beginning has a style; without ``rich``, the text unchanged.

    ``style_of`` returns the style of a line, and how many of its characters have this style.
    """
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        return text
    console = Console(force_terminal=True, color_system="standard")
    lines: list[str] = []
    for line in text.split("\n"):
        style, end = style_of(line)
        if not style:
            lines.append(line)
            continue
        with console.capture() as capture:
            console.print(Text(line[:end], style=style), soft_wrap=True, end="")
        lines.append(capture.get() + line[end:])
    return "\n".join(lines)


def _changed_words(above: str, line: str, below: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each changed part of a line; an unchanged line yields nothing.

    Positions count from the third character of the line: its sign comes before.
    """
    is_old = line.startswith("- ") and below.startswith("+ ")
    if not is_old and not (line.startswith("+ ") and above.startswith("- ")):
        return
    start = 0
    old, new = (line, below) if is_old else (above, line)
    for equal, removed, inserted in changed_words(old[2:], new[2:]):
        start += len(equal)
        end = start + len(removed if is_old else inserted)
        yield start, end
        start = end


# Messages as text for a terminal, with all their blocks.


def as_messages(messages: Sequence[Message]) -> str:
    """Return messages as text, each block with its content indented below it."""
    paragraphs: list[str] = []
    for index, message in enumerate(messages):
        has_name = message.name is not None and message.role != "tool"
        heading = [str(index), message.role, *([str(message.name)] if has_name else [])]
        heading += [f"({message.id})"] if message.id else []
        lines = [" ".join(heading)]
        for block in message.content:
            lines += _indented_lines(_block_lines(block))
        paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


def _block_lines(block: Block) -> Iterator[str]:
    yield _block_summary(block)
    match block:
        case TextBlock() | ReasoningBlock():
            yield from _indented_lines(block.text.split("\n"))
        case ToolUseBlock():
            yield from _indented_lines(block.arguments.split("\n"))
        case ToolResultBlock():
            for inner in block.content:
                yield from _indented_lines(_block_lines(inner))
        case _:
            pass


def _indented_lines(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" if line else line for line in lines)


def _block_summary(block: Block) -> str:
    """Return the type of a block, its id, name or source, and ``cached`` if it has a cache mark."""
    data = block.to_dict()
    words = [str(data.get("type", block.type))]
    match block:
        case ToolUseBlock():
            words += [block.name, f"({block.id})"]
        case ToolResultBlock():
            words += [block.tool_use_id, *([block.error_type or "error"] if block.is_error else [])]
        case _ if isinstance(data.get("source"), dict):
            source = data["source"]
            if source["type"] == "base64":
                size = len(str(source["data"])) * 3 // 4  # base64 has 4 characters for 3 bytes
                words.append(f"{source.get('media_type') or 'base64'}, about {size:,} bytes")
            else:
                # Each other source has a single value: a URL, an id or a path.
                values = (source[key] for key in source if key not in ("type", "media_type"))
                words.append(str(next(values)))
        case _:
            pass
    return " ".join([*words, *(["cached"] if data.get("cache") else [])])
