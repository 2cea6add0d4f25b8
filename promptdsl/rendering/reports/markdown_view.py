"""A request as Markdown: escaped, and every text in a code block that it cannot close."""

from html import escape

from promptdsl.foundation.escaping import code_fences
from promptdsl.foundation.unicode import visible
from promptdsl.rendering.reports.cards import Card, Piece, RequestView


def markdown_view(view: RequestView) -> str:
    """Return the cards of a request, each a part that can be opened and closed."""
    cards = (*view.notes(), *view.cards())
    return "\n\n".join([f"<p>{_line(view.summary)}</p>", *map(_part, cards)])


def _part(card: Card) -> str:
    title = f"<b>{_line(card.heading)}</b> {_line(card.name)}".rstrip()
    is_open = "" if card.what == "tool definition" else " open"
    if card.dropped is not None:
        title, is_open = f"{title} {_line(card.why)}", ""
    pieces = [f"<details{is_open}>\n<summary>{title}</summary>", *map(_piece, card.pieces)]
    return "\n\n".join([*pieces, *map(_part, card.inside), "</details>"])


def _piece(piece: Piece) -> str:
    label = [f"<p>{_line(piece.label)}</p>"] if piece.label else []
    text = visible(piece.text)
    start, end = code_fences(text, "text")
    return "\n\n".join([*label, *([f"{start}{text}{end}"] if text else [])])


def _line(text: str) -> str:
    # In an HTML block only HTML has to be escaped; it ends with the first empty line.
    return escape(visible(text, one_line=True))
