"""A request as text for a terminal, a snapshot or a log.

A line that begins with ``─`` belongs to the view. A line of the prompt that begins with ``─``, or
with a dash that looks like it, is shown with a backslash before it. So no text looks like the
heading of a message, or like a call.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

from promptdsl.foundation.unicode import visible
from promptdsl.rendering.reports.cards import Card, Piece, RequestView

WIDTH = 72
_LIKE_A_RULE = re.compile(r"^(?=[^\S\n]*\\*[─━┄┅┈┉╌╍═―—⎯⸺⸻])", re.MULTILINE)
Paint: TypeAlias = Callable[[str, str], str]
"""Returns a text of one line in the style of its kind.

A kind is the role of a heading, ``dropped``, ``lost``, ``label``, ``value`` or ``volatile``.
"""


def unstyled(_kind: str, text: str) -> str:
    """Return a text without a style."""
    return text


def text_view(view: RequestView, paint: Paint = unstyled) -> str:
    """Return the cards of a request, each under a rule with its name.

    ``paint`` returns a text in its style; the values in the spans of the view have one.
    """
    return "\n\n".join([_card_text(card, paint) for card in view.cards()])


def _card_text(card: Card, paint: Paint) -> str:
    name = visible(f"{card.heading} {card.name}".rstrip(), one_line=True)
    rule = paint(card.style, f"── {name} ".ljust(WIDTH, "─"))
    if card.dropped is not None:
        return f"{rule}\n{paint('label', f'─ {visible(card.why, one_line=True)}')}"
    texts = [_piece_text(piece, paint) for piece in card.pieces]
    texts += [paint("dropped", _dropped_line(part)) for part in card.inside]
    body = "\n\n".join(texts)
    return f"{rule}\n{body}" if body else rule


def _dropped_line(card: Card) -> str:
    """Return what was dropped of a message, in tokens, and why."""
    line = f"─ dropped {card.name}"
    if card.dropped is not None:
        separator = ": " if card.tokens is None else ", "
        line += separator + card.why
    return visible(line, one_line=True)


def _piece_text(piece: Piece, paint: Paint) -> str:
    if piece.tints and not piece.label:
        return _tinted(piece, paint)
    if not piece.label:
        return _LIKE_A_RULE.sub(r"\\", visible(piece.text))
    label = visible(piece.label, one_line=True)
    first, *more = f"{label} {visible(piece.text)}".rstrip().split("\n")
    # Further lines are indented, so that none of them looks like a label.
    lines = [f"─ {first}", *(f"─   {line}".rstrip() for line in more)]
    kind = "lost" if piece.kind == "lost" else "label"
    return "\n".join([paint(kind, line) for line in lines])


def _tinted(piece: Piece, paint: Paint) -> str:
    """Return a text with its values in their style, line by line."""
    lines: list[list[tuple[str, str]]] = [[]]
    for text, kind in piece.runs():
        first, *more = visible(text).split("\n")
        lines[-1].append((first, kind))
        lines += [[(line, kind)] for line in more]
    shown: list[str] = []
    for line in lines:
        sign = "\\" if _LIKE_A_RULE.match("".join(text for text, _ in line)) else ""
        runs = (paint(kind, text) if kind and text else text for text, kind in line)
        shown.append(sign + "".join(runs))
    return "\n".join(shown)
