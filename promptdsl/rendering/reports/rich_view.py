"""A request as a renderable of the library ``rich``, which the caller has imported already."""

from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from promptdsl.foundation.unicode import visible
from promptdsl.rendering.reports.cards import Cards, Piece

STYLES = {
    "system": "magenta",
    "developer": "magenta",
    "user": "blue",
    "assistant": "green",
    "tool": "yellow",
    "losses": "red",
    "hints": "yellow",
}


def rich_view(readable: Cards) -> Group:
    """Return a panel for each card of a request, below its summary."""
    panels = [
        Panel(
            Text("\n\n").join(map(_piece, card.pieces)),
            title=Text(visible(f"{card.heading} {card.name}".rstrip(), one_line=True)),
            title_align="left",
            border_style=STYLES.get(card.sent_as or card.what, "dim"),
        )
        for card in (*readable.notes(), *readable.cards())
    ]
    return Group(Text(readable.summary, style="bold"), *panels)


def _piece(piece: Piece) -> Text:
    if not piece.label:
        return Text(visible(piece.text))
    return Text.assemble((visible(piece.label), "italic"), " ", visible(piece.text))
