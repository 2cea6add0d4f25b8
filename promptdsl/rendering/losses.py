"""The losses of recorded messages get the line of their ``History``."""

from collections.abc import Sequence
from itertools import compress, count
from operator import is_not

from promptdsl.foundation.source import Source
from promptdsl.messages.loss import Loss
from promptdsl.messages.message import Message
from promptdsl.tree.turn_nodes import RecordedNode, RootNode


def located_losses(
    losses: tuple[Loss, ...],
    tree: RootNode,
    sent: Sequence[Message],
    lowered: Sequence[Message],
) -> tuple[Loss, ...]:
    """Return the losses; losses of recorded messages get the line of their ``History``.

    The result refers to ``lowered`` messages, not to their copies in ``sent``, which have automatic
    cache marks.
    """
    if not losses:
        return ()
    pairs = compress(zip(sent, lowered, strict=True), map(is_not, sent, lowered))
    originals = {id(marked): original for marked, original in pairs}
    messages = [
        None if loss.message is None else originals.get(id(loss.message), loss.message)
        for loss in losses
    ]
    wanted = {
        id(message) for message, loss in zip(messages, losses, strict=True) if loss.source is None
    }
    # By id of a message: its index in its history, and the line of the history.
    places: dict[int, tuple[int, Source | None]] = {}
    for node in tree.content:
        if isinstance(node, RecordedNode):
            for index in compress(count(), map(wanted.__contains__, map(id, node.items))):
                places[id(node.items[index])] = (node.start + index, node.source)
    located: list[Loss] = []
    for loss, message in zip(losses, messages, strict=True):
        path, source = loss.path, loss.source
        if source is None and id(message) in places:
            index, source = places[id(message)]
            path = path or f"history[{index}]"
        located.append(Loss(loss.kind, loss.what, loss.why, path, source, message))
    return tuple(located)
