"""The losses of recorded messages, which get the line of their ``History``."""

from collections.abc import Iterator, Sequence
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


def unread_losses(node: RecordedNode) -> Iterator[Loss]:
    """Yield a hint for each key in a recording of a provider's form that its reader passes over."""
    from promptdsl.providers.unread import unread_keys

    why = f"History.from_{node.form} does not read it, so it is not sent"
    for key, place in unread_keys(node.items, node.form):
        yield Loss("hint", f"key {key!r}", why, place, node.source)
