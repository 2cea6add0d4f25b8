"""Losses of recorded messages, each with the line of the History it comes from."""

from collections.abc import Container, Mapping, Sequence
from itertools import compress, count
from operator import is_not

import attrs

from promptdsl.foundation.source import Source
from promptdsl.messages.loss import Loss
from promptdsl.messages.message import Message
from promptdsl.rendering.text.strings import LONE_SURROGATE
from promptdsl.tree.node import Node
from promptdsl.tree.turn_nodes import RecordedNode


def surrogate_loss(node: Node, number: int) -> Loss:
    """Return the loss of a lone surrogate in a recorded message."""
    return Loss(*LONE_SURROGATE, f"history[{number}]", node.source)


def located_losses(
    losses: tuple[Loss, ...],
    tree: Node,
    sent: Sequence[Message],
    lowered: Sequence[Message],
) -> tuple[Loss, ...]:
    """Give the losses of recorded messages the line of their ``History``.

    They are told of the messages that were ``lowered``, not of the marked ones that are ``sent``.
    """
    if not losses:
        return ()
    marked = compress(zip(sent, lowered, strict=True), map(is_not, sent, lowered))
    own = {id(one): other for one, other in marked}
    known = [_of_lowered(loss, own) for loss in losses] if own else losses
    places = _places(tree, {id(loss.message) for loss in known if loss.source is None})
    return tuple(_located(loss, places) for loss in known)


def _places(tree: Node, wanted: Container[int]) -> dict[int, tuple[int, Source | None]]:
    """Return, by id, the number of each wanted message in its history, and the history's line."""
    found: dict[int, tuple[int, Source | None]] = {}
    for node in tree.content:
        if isinstance(node, RecordedNode):
            source = node.source
            for index in compress(count(), map(wanted.__contains__, map(id, node.items))):
                found[id(node.items[index])] = (node.start + index, source)
    return found


def _of_lowered(loss: Loss, own: Mapping[int, Message]) -> Loss:
    message = own.get(id(loss.message))
    return loss if message is None else attrs.evolve(loss, message=message)


def _located(loss: Loss, places: Mapping[int, tuple[int, Source | None]]) -> Loss:
    found = places.get(id(loss.message))
    if loss.source is not None or found is None:
        return loss
    index, source = found
    path = loss.path or f"history[{index}]"
    return Loss(loss.kind, loss.what, loss.why, path, source, loss.message)
