"""A request as HTML for a notebook: escaped, without scripts, links and addresses to load.

Notebooks show text between dollar signs as formulas, which may contain links. The classes of the
first element prevent that.

The colours are those of the page around it, so that it can be read on light and dark pages.
"""

from html import escape

from promptdsl.foundation.unicode import visible
from promptdsl.rendering.reports.cards import Card, Cards, Piece

LONG = 4_000
"""The number of characters from which a card is closed at first."""

STYLE = """\
.promptdsl { font: 14px/1.5 system-ui, sans-serif; max-width: 60rem; overflow-wrap: anywhere }
.promptdsl > p { margin: 0 0 .5rem }
.promptdsl details { margin: 0 0 .5rem; border: 1px solid rgba(128, 128, 128, .35);
  border-left: 4px solid #888; border-radius: 4px }
.promptdsl .system, .promptdsl .developer { border-left-color: #8a63d2 }
.promptdsl .user { border-left-color: #3478c8 }
.promptdsl .assistant { border-left-color: #2f9e5b }
.promptdsl .tool { border-left-color: #c27c1a }
.promptdsl .losses, .promptdsl .dropped { border-left-color: #d64545 }
.promptdsl .hints { border-left-color: #d9a406 }
.promptdsl summary { padding: .25rem .6rem; cursor: pointer; background: rgba(128, 128, 128, .12) }
.promptdsl small { opacity: .75 }
.promptdsl h6 { margin: .4rem .6rem 0; font: italic 12px/1.5 system-ui, sans-serif; opacity: .85 }
.promptdsl pre { margin: 0; padding: .4rem .6rem; border: 0; background: none; color: inherit;
  font: 13px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere }"""


def html_view(readable: Cards) -> str:
    """Return the cards of a request, each a part that can be opened and closed."""
    cards = [*readable.notes(), *readable.cards()]
    others = len(cards) - len(readable.prompt.messages)
    parts = map(_part, cards, [*[None] * others, *readable.message_tokens()])
    return (
        f'<div class="promptdsl mathjax_ignore tex2jax_ignore"><style>\n{STYLE}\n</style>\n'
        f"<p>{_line(readable.summary)}</p>\n{''.join(parts)}</div>"
    )


def _part(card: Card, tokens: int | None) -> str:
    size = sum(len(piece.text) for piece in card.pieces)
    is_open = "" if size > LONG or card.what == "tool definition" else " open"
    count = "" if tokens is None else f"<small>{tokens:,} tokens</small>"
    title = " ".join(filter(None, (f"<b>{_line(card.heading)}</b>", _line(card.name), count)))
    body = "".join(map(_piece, card.pieces))
    return f'<details class="{card.what}"{is_open}><summary>{title}</summary>{body}</details>\n'


def _piece(piece: Piece) -> str:
    # A line end after <pre> is not shown, so the first of a text has to be the second.
    text = f'<pre dir="auto">\n{escape(visible(piece.text))}</pre>' if piece.text else ""
    return (f"<h6>{_line(piece.label)}</h6>" if piece.label else "") + text


def _line(text: str) -> str:
    return escape(visible(text, one_line=True))
