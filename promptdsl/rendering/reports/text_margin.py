"""The texts of a message, each once, with a margin that says what wrote its lines."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from promptdsl.foundation.terminal_width import columns, file_columns, fitted_source
from promptdsl.foundation.unicode import visible
from promptdsl.messages.description import described, shown_text
from promptdsl.rendering.reports.cards import NOT_SENT, TINTED, BlockView, MessageView
from promptdsl.rendering.reports.text_view import Paint
from promptdsl.rendering.spans import Span

MOST = 40
"""The most rows of a text that are shown."""
LEAST = 20
"""The least columns of a text."""
LONGEST = 2_000
"""The most characters of a line that are shown."""
WIDEST = 500
"""The columns of a file name where nothing is cut."""

STYLES = dict(zip(TINTED, TINTED, strict=True))
"""The style of a text by the kind of its span; any other text has none."""
Runs = list[tuple[str, str]]
"""The texts of a row, each with its kind: empty for a text that has no style."""


class TextRow(NamedTuple):
    """A row of a text: the kinds of what is in it, the line that wrote it, and its texts."""

    kinds: str
    source: str
    runs: Runs


def text_lines(message: MessageView, *, width: int | None, paint: Paint) -> list[str]:
    """Return the texts of a message; the margin is shown where it changes.

    Lines fit ``width`` columns. Of a text 40 lines are shown, of a line 2,000 characters. ``paint``
    returns a text in the style of its kind.
    """
    blocks = (part for block in message.blocks for part in block.inner or (block,))
    rows = [row for part in blocks if part.spans for row in _rows(part)]
    kinds = max((len(row.kinds) for row in rows), default=0)
    sources = max((columns(row.source) for row in rows), default=0)
    room = 2 * LONGEST
    if width is not None:
        file_width = file_columns(row.source for row in rows)
        sources = min(sources, file_width, max(width - kinds - LEAST - 7, 0))
        room = max(width - kinds - sources - 7, LEAST)
    lines: list[str] = []
    kind, source = "", ""
    for row in rows:
        words = [row.kinds if row.kinds != kind else "", row.source if row.source != source else ""]
        kind, source = row.kinds, row.source
        for runs in _broken(row.runs, room):
            shown = fitted_source(words[1], sources)
            margin = f"  {words[0]:<{kinds}}  {shown}{' ' * (sources - columns(shown))} │ "
            lines.append((paint("label", margin) + _painted(runs, paint)).rstrip())
            words = ["", ""]
    return lines


def _painted(runs: Runs, paint: Paint) -> str:
    return "".join([paint(kind, text) if kind else text for text, kind in runs])


def _rows(view: BlockView) -> Iterator[TextRow]:
    """Yield the rows of a block."""
    first = view.spans[0]
    if first.start != first.end:
        yield from _text_rows(view.spans)
        return
    text, style = " ".join(filter(None, (described(view.block), shown_text(view.block)))), ""
    if view.is_lost:
        text, style = f"{NOT_SENT}: {text}", "lost"
    shown = visible(text, one_line=True)[:LONGEST]
    yield TextRow(_kind(first), _source(first), [(shown, style)])


def _text_rows(spans: Sequence[Span]) -> Iterator[TextRow]:
    """Yield the rows of a text."""
    lines = [*_lines(spans)]
    kinds, source = "", ""
    for line in lines[:MOST]:
        written = [span for span, text in line if text.strip()]
        # The signs around a text, such as those of a list, are not what a reader looks for.
        shown = [span for span in written if span.kind != "section"] or written
        if shown:
            kinds = " + ".join(dict.fromkeys(map(_kind, shown)))
            source = _source(shown[0])
        runs = [(visible(text), STYLES.get(span.kind, "")) for span, text in line]
        yield TextRow(kinds, source, [(text, style) for text, style in runs if text])
    if len(lines) > MOST:
        yield TextRow(kinds, source, [(f"… {len(lines) - MOST:,} more lines", "")])


def _lines(spans: Iterable[Span]) -> Iterator[list[tuple[Span, str]]]:
    """Yield the lines of a text, each with the spans in it and their texts."""
    line: list[tuple[Span, str]] = []
    for span in spans:
        first, *more = span.text.split("\n")
        line.append((span, first))
        for text in more:
            yield line
            line = [(span, text)]
    yield line


def _kind(span: Span) -> str:
    # In the file of a record it may be any text.
    return visible(span.kind, one_line=True)


def _source(span: Span) -> str:
    if span.source is None:
        return visible(span.address, one_line=True)
    return visible(fitted_source(str(span.source), WIDEST), one_line=True)


def _broken(runs: Runs, room: int) -> Iterator[Runs]:
    """Yield the texts of a row in rows of at most ``room`` columns, broken after a word."""
    line: Runs = []
    free = room
    for text, kind in runs:
        rest = len(text) - LONGEST
        shown = f"{text[:LONGEST]}… {rest:,} more characters" if rest > 0 else text
        for word in _words(shown, room):
            if columns(word.rstrip()) > free and line:
                # Colours would keep a space at the end of a row.
                yield [*line[:-1], (line[-1][0].rstrip(), line[-1][1])]
                line, free = [], room
            line.append((word, kind))
            free -= columns(word)
    if line:
        line[-1] = (line[-1][0].rstrip(), line[-1][1])
    yield line


def _words(text: str, room: int) -> Iterator[str]:
    """Yield the words of a text with the space after each; a long one in pieces."""
    for word in text.replace(" ", " \0").split("\0"):
        rest = word
        while columns(rest.rstrip()) > room:
            cut = sum(1 for end in range(1, room + 1) if columns(rest[:end]) <= room)
            yield rest[:cut]
            rest = rest[cut:]
        if rest:
            yield rest
