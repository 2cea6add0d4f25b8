"""A request as text for a terminal, a snapshot or a log.

A line that begins with ``─`` belongs to the view. A line of the prompt that begins with ``─``, or
with a dash that looks like it, is shown with a backslash before it. So no text looks like the
heading of a message, or like a call.
"""

import re
from collections.abc import Mapping

from promptdsl.foundation.unicode import visible
from promptdsl.messages.prompt import Prompt
from promptdsl.rendering.reports.cards import Card, Piece, cards_of

WIDTH = 72
_LIKE_A_RULE = re.compile(r"^(?=[^\S\n]*\\*[─━┄┅┈┉╌╍═―—⎯⸺⸻])", re.MULTILINE)


def text_view(prompt: Prompt, sent_as: Mapping[int, str]) -> str:
    """Return the cards of a request, each under a rule with its name."""
    return "\n\n".join(map(_card_text, cards_of(prompt, sent_as)))


def _card_text(card: Card) -> str:
    name = visible(f"{card.heading} {card.name}".rstrip(), one_line=True)
    rule = f"── {name} ".ljust(WIDTH, "─")
    body = "\n\n".join(map(_piece_text, card.pieces))
    return f"{rule}\n{body}" if body else rule


def _piece_text(piece: Piece) -> str:
    if not piece.label:
        return _LIKE_A_RULE.sub(r"\\", visible(piece.text))
    label = visible(piece.label, one_line=True)
    first, *more = f"{label} {visible(piece.text)}".rstrip().split("\n")
    # Further lines are indented, so that none of them looks like a label.
    return "\n".join([f"─ {first}", *(f"─   {line}".rstrip() for line in more)])
