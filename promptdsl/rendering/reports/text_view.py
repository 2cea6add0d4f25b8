"""The views of a request as text: for a terminal, with a margin, and as Markdown."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple, TypeAlias

from promptdsl.foundation.escaping import code_fences
from promptdsl.foundation.unicode import columns, file_columns, fitted_source, visible
from promptdsl.messages.blocks import described, shown_text
from promptdsl.rendering.reports.cards import (
    NOT_SENT,
    TINTED,
    BlockView,
    Card,
    MessageView,
    Piece,
    RequestView,
)
from promptdsl.rendering.spans import Span

# A request as text for a terminal, a snapshot or a log.
#
# A line of the view itself begins with ``─``. If a line of the prompt begins with ``─``, or with a
# dash that looks like it, it gets a backslash. So no text looks like the heading of a message.

WIDTH = 72
"""The width of the line of dashes above a card, in characters."""
_LIKE_A_RULE = re.compile(r"^(?=[^\S\n]*\\*[─━┄┅┈┉╌╍═―—⎯⸺⸻])", re.MULTILINE)
"""The beginning of a line of the prompt that looks like a line of the view."""
Paint: TypeAlias = Callable[[str, str], str]
"""A function that returns a text of one line in the style of its kind.

A kind is the role of a heading, ``dropped``, ``lost``, ``label``, ``value`` or ``volatile``.
"""


def unstyled(_kind: str, text: str) -> str:
    """Return a text without a style."""
    return text


def text_view(view: RequestView, paint: Paint = unstyled) -> str:
    """Return the cards of a request, each below a line of dashes with its name.

    ``paint`` returns a text in its style.
    """
    return "\n\n".join([_card_text(card, paint) for card in view.cards()])


def _card_text(card: Card, paint: Paint) -> str:
    """Return a card below a line of dashes with its name."""
    name = visible(f"{card.heading} {card.name}".rstrip(), one_line=True)
    rule = paint(card.style, f"── {name} ".ljust(WIDTH, "─"))
    if card.dropped is not None:
        return f"{rule}\n{paint('label', f'─ {visible(card.why, one_line=True)}')}"
    texts = [_piece_text(piece, paint) for piece in card.pieces]
    texts += [paint("dropped", _dropped_line(inner_card)) for inner_card in card.dropped_inside]
    body = "\n\n".join(texts)
    return f"{rule}\n{body}" if body else rule


def _dropped_line(card: Card) -> str:
    """Return the line of a part that was dropped from a message: its name, tokens and reason."""
    line = f"─ dropped {card.name}"
    if card.dropped is not None:
        separator = ": " if card.tokens is None else ", "
        line += separator + card.why
    return visible(line, one_line=True)


def _piece_text(piece: Piece, paint: Paint) -> str:
    """Return the text of a piece, with its label."""
    if piece.tints and not piece.label:
        return _tinted(piece, paint)
    if not piece.label:
        return _LIKE_A_RULE.sub(r"\\", visible(piece.text))
    label = visible(piece.label, one_line=True)
    first_line, *more_lines = f"{label} {visible(piece.text)}".rstrip().split("\n")
    # Further lines are indented, so that none of them looks like a label.
    lines = [f"─ {first_line}", *(f"─   {line}".rstrip() for line in more_lines)]
    kind = "lost" if piece.kind == "lost" else "label"
    return "\n".join([paint(kind, line) for line in lines])


def _tinted(piece: Piece, paint: Paint) -> str:
    """Return a text with its values in their style, line by line."""
    lines: list[list[tuple[str, str]]] = [[]]
    for text, kind in piece.runs():
        first_text, *more_texts = visible(text).split("\n")
        lines[-1].append((first_text, kind))
        lines += [[(line, kind)] for line in more_texts]
    texts: list[str] = []
    for line in lines:
        sign = "\\" if _LIKE_A_RULE.match("".join(text for text, _ in line)) else ""
        runs = (paint(kind, text) if kind and text else text for text, kind in line)
        texts.append(sign + "".join(runs))
    return "\n".join(texts)


# The texts of a message, with a margin that shows the kind and the source line of each row.

MAX_ROWS = 40
"""The maximum number of rows that are shown of a text."""
MIN_TEXT_COLUMNS = 20
"""The minimum number of columns for a text."""
MAX_LINE = 2_000
"""The maximum number of characters that are shown of a line."""
MAX_FILE_NAME_COLUMNS = 500
"""The maximum number of columns of a file name, even if nothing else is cut."""

STYLES: dict[str, str] = dict(zip(TINTED, TINTED, strict=True))
"""The style of a text by the kind of its span; a text of another kind has no style."""
Runs = list[tuple[str, str]]
"""The texts of a row, each with its style; ``""`` for none."""


class TextRow(NamedTuple):
    """A row of a text: the kinds of its spans, the line that wrote it, and its texts."""

    kinds: str
    source: str
    runs: Runs


def text_lines(message: MessageView, *, width: int | None, paint: Paint) -> list[str]:
    """Return the rows of a message; the margin is empty if it would repeat that of the row before.

    Rows fit ``width`` columns. At most 40 lines of a text are shown, and 2,000 characters of a
    line. ``paint`` returns a text in the style of its kind.
    """
    blocks = (inner for block in message.blocks for inner in block.inner or (block,))
    rows = [row for inner in blocks if inner.spans for row in _rows_of_block(inner)]
    kinds_width = max((len(row.kinds) for row in rows), default=0)
    source_width = max((columns(row.source) for row in rows), default=0)
    # Without a width nothing is broken: a line has at most ``MAX_LINE`` characters, of two columns.
    free_columns = 2 * MAX_LINE
    if width is not None:
        # The blanks in the margin and its ``│`` have 7 columns.
        file_width = file_columns(row.source for row in rows)
        max_source_width = max(width - kinds_width - MIN_TEXT_COLUMNS - 7, 0)
        source_width = min(source_width, file_width, max_source_width)
        free_columns = max(width - kinds_width - source_width - 7, MIN_TEXT_COLUMNS)
    lines: list[str] = []
    kinds, source = "", ""  # of the row before
    for row in rows:
        words = [
            row.kinds if row.kinds != kinds else "",
            row.source if row.source != source else "",
        ]
        kinds, source = row.kinds, row.source
        for runs in _broken(row.runs, free_columns):
            source_text = fitted_source(words[1], source_width)
            padding = " " * (source_width - columns(source_text))
            margin = f"  {words[0]:<{kinds_width}}  {source_text}{padding} │ "
            lines.append((paint("label", margin) + _painted(runs, paint)).rstrip())
            words = ["", ""]
    return lines


def _painted(runs: Runs, paint: Paint) -> str:
    return "".join([paint(kind, text) if kind else text for text, kind in runs])


def _rows_of_block(view: BlockView) -> Iterator[TextRow]:
    """Yield the rows of a block."""
    first_span = view.spans[0]
    if first_span.start != first_span.end:
        yield from _text_rows(view.spans)
        return
    text, style = " ".join(filter(None, (described(view.block), shown_text(view.block)))), ""
    if view.is_lost:
        text, style = f"{NOT_SENT}: {text}", "lost"
    text_on_line = visible(text, one_line=True)[:MAX_LINE]
    yield TextRow(_kind(first_span), _source(first_span), [(text_on_line, style)])


def _text_rows(spans: Sequence[Span]) -> Iterator[TextRow]:
    """Yield the rows of a text."""
    lines = [*_lines(spans)]
    kinds, source = "", ""
    for line in lines[:MAX_ROWS]:
        spans_with_text = [span for span, text in line if text.strip()]
        # Readers want the kind and line of the text, not of the signs around it, such as ``- ``.
        shown_spans = [
            span for span in spans_with_text if span.kind != "section"
        ] or spans_with_text
        if shown_spans:
            kinds = " + ".join(dict.fromkeys(map(_kind, shown_spans)))
            source = _source(shown_spans[0])
        runs = [(visible(text), STYLES.get(span.kind, "")) for span, text in line]
        yield TextRow(kinds, source, [(text, style) for text, style in runs if text])
    if len(lines) > MAX_ROWS:
        yield TextRow(kinds, source, [(f"… {len(lines) - MAX_ROWS:,} more lines", "")])


def _lines(spans: Iterable[Span]) -> Iterator[list[tuple[Span, str]]]:
    """Yield the lines of a text, each with the spans in it and their texts."""
    line: list[tuple[Span, str]] = []
    for span in spans:
        first_text, *more_texts = span.text.split("\n")
        line.append((span, first_text))
        for text in more_texts:
            yield line
            line = [(span, text)]
    yield line


def _kind(span: Span) -> str:
    # A record from a file may have any text as its kind.
    return visible(span.kind, one_line=True)


def _source(span: Span) -> str:
    if span.source is None:
        return visible(span.address, one_line=True)
    return visible(fitted_source(str(span.source), MAX_FILE_NAME_COLUMNS), one_line=True)


def _broken(runs: Runs, free_columns: int) -> Iterator[Runs]:
    """Yield the texts of a row in rows of at most ``free_columns``, broken after a word."""
    line: Runs = []
    free_in_row = free_columns
    for text, kind in runs:
        rest = len(text) - MAX_LINE
        cut_text = f"{text[:MAX_LINE]}… {rest:,} more characters" if rest > 0 else text
        for word in _words(cut_text, free_columns):
            if columns(word.rstrip()) > free_in_row and line:
                # Remove the space at the end of a row: later, the code of a style comes after it.
                yield [*line[:-1], (line[-1][0].rstrip(), line[-1][1])]
                line, free_in_row = [], free_columns
            line.append((word, kind))
            free_in_row -= columns(word)
    if line:
        line[-1] = (line[-1][0].rstrip(), line[-1][1])
    yield line


def _words(text: str, free_columns: int) -> Iterator[str]:
    """Yield the words of a text, each with the space after it; a long word in pieces."""
    for word in text.replace(" ", " \0").split("\0"):
        rest = word
        while columns(rest.rstrip()) > free_columns:
            cut = sum(
                1 for end in range(1, free_columns + 1) if columns(rest[:end]) <= free_columns
            )
            yield rest[:cut]
            rest = rest[cut:]
        if rest:
            yield rest


# A request as Markdown: labels are escaped, and a text is in a code block that it cannot close.


def markdown_view(view: RequestView) -> str:
    """Return the cards of a request as Markdown; each can be opened and closed."""
    cards = (*view.notes(), *view.cards())
    return "\n\n".join([f"<p>{_line(view.summary)}</p>", *map(_details, cards)])


def _details(card: Card) -> str:
    title = f"<b>{_line(card.heading)}</b> {_line(card.name)}".rstrip()
    is_open = "" if card.what == "tool definition" else " open"
    if card.dropped is not None:
        title, is_open = f"{title} {_line(card.why)}", ""
    pieces = [f"<details{is_open}>\n<summary>{title}</summary>", *map(_piece, card.pieces)]
    return "\n\n".join([*pieces, *map(_details, card.dropped_inside), "</details>"])


def _piece(piece: Piece) -> str:
    label = [f"<p>{_line(piece.label)}</p>"] if piece.label else []
    text = visible(piece.text)
    start, end = code_fences(text, "text")
    return "\n\n".join([*label, *([f"{start}{text}{end}"] if text else [])])


def _line(text: str) -> str:
    # In an HTML block of Markdown, only HTML must be escaped. An empty line would end the block.
    return escape(visible(text, one_line=True))
