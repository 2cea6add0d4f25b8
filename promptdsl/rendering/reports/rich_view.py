"""A request as a renderable of the library ``rich``.

``rich`` itself calls this, so it is installed and imported.
"""

from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from promptdsl.foundation.unicode import visible
from promptdsl.rendering.reports.cards import Card, Piece, RequestView

STYLES = {
    "system": "magenta",
    "developer": "magenta",
    "user": "blue",
    "assistant": "green",
    "tool": "yellow",
    "losses": "red",
    "hints": "yellow",
}


TINTS = {"value": "cyan", "volatile": "cyan underline"}
"""The styles of values in texts."""


def rich_view(view: RequestView) -> Group:
    """Return a panel for each card of a request, below its summary."""
    cards = (*view.notes(), *view.cards())
    return Group(Text(view.summary, style="bold"), *map(_shown_card, cards))


def _shown_card(card: Card) -> Panel | Text:
    if card.is_dropped:
        return _dropped(card)
    return Panel(
        Text("\n\n").join([*map(_piece, card.pieces), *map(_dropped, card.dropped_inside)]),
        title=Text(visible(f"{card.heading} {card.name}".rstrip(), one_line=True)),
        title_align="left",
        border_style=STYLES.get(card.style, "dim"),
    )


def _dropped(card: Card) -> Text:
    """Return a dropped part on a line: its name, its tokens, and why it is not sent."""
    name, why = (visible(text, one_line=True) for text in (card.name, card.why))
    return Text.assemble(("dropped ", "dim"), (name, "dim strike"), (f" {why}".rstrip(), "dim"))


def _piece(piece: Piece) -> Text:
    text_of_piece = Text()
    if piece.label:
        text_of_piece.append(f"{visible(piece.label)} ", style="italic")
    for text, kind in piece.runs():
        text_of_piece.append(visible(text), style=TINTS.get(kind, ""))
    return text_of_piece
