"""A request as text for a terminal, a snapshot or a log.

A line that begins with ``─`` belongs to the view. A line of the prompt that begins with ``─``, or
with a dash that looks like it, is shown with a backslash before it. So no text looks like the
heading of a message, or like a call.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from promptdsl.budget.dropped import in_tokens
from promptdsl.foundation.unicode import visible
from promptdsl.messages.loss import Loss
from promptdsl.messages.prompt import Prompt
from promptdsl.rendering.reports.cards import (
    NO_TINTS,
    Card,
    DroppedCard,
    Piece,
    cards_of,
    tints_of,
)

WIDTH = 72
_LIKE_A_RULE = re.compile(r"^(?=[^\S\n]*\\*[─━┄┅┈┉╌╍═―—⎯⸺⸻])", re.MULTILINE)
Paint: TypeAlias = Callable[[str, str], str]
"""Returns a text of one line in the style of its kind.

A kind is the role of a heading, ``dropped``, ``lost``, ``label``, ``value`` or ``volatile``.
"""


def unstyled(_kind: str, text: str) -> str:
    """Return a text without a style."""
    return text


def text_view(
    prompt: Prompt,
    sent_as: Mapping[int, str],
    *,
    dropped: Sequence[DroppedCard] = (),
    losses: Iterable[Loss] = (),
    spans: Iterable[Mapping[str, Any]] = (),  # Any: as in a record
    paint: Paint = unstyled,
) -> str:
    """Return the cards of a request, each under a rule with its name.

    ``paint`` returns a text in its style; the values in ``spans`` have one.
    """
    tints = tints_of(spans) if spans else NO_TINTS
    cards = cards_of(prompt, sent_as, dropped=dropped, tints=tints, losses=losses)
    return "\n\n".join([_card_text(card, paint) for card in cards])


def _card_text(card: Card, paint: Paint) -> str:
    name = visible(f"{card.heading} {card.name}".rstrip(), one_line=True)
    rule = paint(card.sent_as or card.what, f"── {name} ".ljust(WIDTH, "─"))
    if card.dropped is not None:
        return f"{rule}\n{paint('label', '─ ' + _reason(card))}"
    texts = [_piece_text(piece, paint) for piece in card.pieces]
    for part in card.inside:
        separator = ", " if part.tokens is not None else ": "
        why = separator + _reason(part) if part.dropped else ""
        texts.append(paint("dropped", f"─ dropped {visible(part.name, one_line=True)}{why}"))
    body = "\n\n".join(texts)
    return f"{rule}\n{body}" if body else rule


def _reason(card: Card) -> str:
    """Return what was dropped, in tokens, and why."""
    reason = visible(card.dropped.reason, one_line=True) if card.dropped else ""
    return reason if card.tokens is None else f"{in_tokens(card.tokens)}: {reason}"


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
