"""A request as a renderable of the library ``rich``, which the caller has imported already."""

from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from promptdsl.budget.dropped import in_tokens
from promptdsl.foundation.unicode import visible
from promptdsl.rendering.reports.cards import Card, Cards, Piece

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
"""The styles of text that is no text of the author."""


def rich_view(readable: Cards) -> Group:
    """Return a panel for each card of a request, below its summary."""
    panels = [
        Panel(
            Text("\n\n").join([*map(_piece, card.pieces), *map(_dropped, card.inside)]),
            title=Text(visible(f"{card.heading} {card.name}".rstrip(), one_line=True)),
            title_align="left",
            border_style=STYLES.get(card.sent_as or card.what, "dim"),
        )
        if not card.is_dropped
        else _dropped(card)
        for card in (*readable.notes(), *readable.cards())
    ]
    return Group(Text(readable.summary, style="bold"), *panels)


def _dropped(card: Card) -> Text:
    """Return a dropped part on a line: its name, its tokens, and why it is not sent."""
    words = [in_tokens(card.tokens)] if card.tokens is not None else []
    words += [card.dropped.reason] if card.dropped else []
    name = visible(card.name, one_line=True)
    why = visible(": ".join(words), one_line=True)
    return Text.assemble(("dropped ", "dim"), (name, "dim strike"), (f" {why}".rstrip(), "dim"))


def _piece(piece: Piece) -> Text:
    shown = Text()
    if piece.label:
        shown.append(f"{visible(piece.label)} ", style="italic")
    for text, kind in piece.runs():
        shown.append(visible(text), style=TINTS.get(kind, ""))
    return shown
