"""Output for a terminal: the progress of long work, and a diff in colours."""

import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from promptdsl.comparing import changed_words

STYLES = {"- ": "red", "+ ": "green", "… ": "dim"}
"""The style of a line, by its sign."""
NOTE_STYLES = {"content": "red", "role": "red", "hint": "yellow", "warning": "yellow"}
"""The style of a note about a prompt, by the kind of the loss that it begins with."""
ROLE_STYLES = {
    "system": "magenta",
    "developer": "magenta",
    "user": "blue",
    "assistant": "green",
    "tool": "yellow",
}
"""The style of the line above a message, by the role that is sent."""
TEXT_STYLES = {
    "label": "dim",
    "dropped": "dim",
    "lost": "red",
    "value": "cyan",
    "volatile": "underline cyan",
}
"""The style of what is no text of the author, by its kind."""
WORDS = "~ "
"""The sign of a line with changed words; on a terminal, the two lines before show them."""
_NAMES = re.compile("`[^`]*`")
_NUMBERS = re.compile(r" *(?:[\d,]+ +(?:[\d.]+%|dropped)|…  )")


def progress(items: Sequence[str], done: str) -> Iterator[str]:
    """Yield the items; after a second, a line on a terminal shows how many are done."""
    shows, start = sys.stderr is not None and sys.stderr.isatty(), time.monotonic()
    for count, item in enumerate(items):
        if shows and time.monotonic() > start + 1:
            print(f"\r{done} {count:,} of {len(items):,}", end="", file=sys.stderr, flush=True)
        yield item
    if shows and time.monotonic() > start + 1:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def coloured(text: str) -> str:
    """Return the text of a diff in colours; without the package ``rich``, the text itself."""
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        return text
    columns = shutil.get_terminal_size().columns
    console = Console(width=columns, force_terminal=True, color_system="standard")
    lines = [line for line in text.split("\n") if not line.startswith(WORDS)]
    with console.capture() as capture:
        for above, line, below in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
            sign = line[:2] if line[:2] in (*STYLES, "  ") else ""
            shown = Text(line[len(sign) :], style=STYLES.get(sign, ""))
            for start, end in _changed_words(above, line, below):
                shown.stylize("reverse", start, end)
            if not sign:
                shown.highlight_regex(_NAMES, "bold")
            # A long line continues below its text, not below its sign.
            for number, row in enumerate(shown.wrap(console, columns - len(sign)) or [shown]):
                begin = Text(" " * len(sign) if number else sign, style=shown.style)
                console.print(begin + row, soft_wrap=True)
    return capture.get().removesuffix("\n")


def coloured_notes(text: str) -> str:
    """Return notes with losses in red and hints in yellow; without ``rich``, the text itself."""
    return _styled(text, lambda line: (NOTE_STYLES.get(line.partition(":")[0], ""), len(line)))


def paint(kind: str, text: str) -> str:
    """Return a text of a request in the style of its kind; without ``rich``, the text itself.

    The line above a message has the colour of the role that is sent.
    """
    try:
        from rich.color import ColorSystem
        from rich.style import Style
    except ImportError:
        return text
    style = (ROLE_STYLES | TEXT_STYLES).get(kind, "bold")
    return Style.parse(style).render(text, color_system=ColorSystem.STANDARD)


def coloured_tokens(text: str) -> str:
    """Return the tokens of a request with their numbers dim."""
    return _styled(text, _number_style)


def _number_style(line: str) -> tuple[str, int]:
    numbers = _NUMBERS.match(line)
    return ("", 0) if numbers is None else ("dim", numbers.end())


def _styled(text: str, style_of: Callable[[str], tuple[str, int]]) -> str:
    """Return lines whose beginning has a style: its name, and how many characters have it."""
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
    """Yield the start and end of the changed words of a line that was changed."""
    is_before = line.startswith("- ") and below.startswith("+ ")
    if not is_before and not (line.startswith("+ ") and above.startswith("- ")):
        return
    start = 0
    old, new = (line, below) if is_before else (above, line)
    for equal, removed, added in changed_words(old[2:], new[2:]):
        start += len(equal)
        end = start + len(removed if is_before else added)
        yield start, end
        start = end
