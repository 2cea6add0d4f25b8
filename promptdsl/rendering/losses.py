"""The losses that a reader is told, with the address and the line of what each is about."""

from collections.abc import Callable, Collection, Iterable, Sequence

import attrs

from promptdsl.foundation.source import Source
from promptdsl.messages.loss import Loss
from promptdsl.rendering.spans import Trace, Writer
from promptdsl.rendering.text.layout import WrittenNode
from promptdsl.tree.turn_nodes import ToolTurnNode


def located_losses(
    losses: Sequence[Loss], source: Source | None, trace: Callable[[], Trace]
) -> tuple[Loss, ...]:
    """Return the losses; those in messages get their message, an address and a line.

    These are of the part that wrote the block, of the first turn for a loss of a whole message, of
    the ``History`` for a recorded one. A loss of the whole prompt gets ``source``, the line of the
    prompt. The ``trace`` is made if a loss is in a message.
    """
    if all(loss.source and not loss.at for loss in losses):
        return tuple(losses)
    located: list[Loss] = []
    for loss in losses:
        if not loss.at:
            located.append(attrs.evolve(loss, source=loss.source or source))
            continue
        index, *block = loss.at
        if block:
            writer = trace().writer(index, block[0])
            part = _part(writer, block, is_mark=loss.name == "cache_mark")
            path = trace().address(writer.turn, part)
            line = trace().line(part) or writer.turn.source
        else:
            turn = trace().whole(index)
            path, line = turn.address, turn.source
        message = trace().messages[index]
        located.append(attrs.evolve(loss, path=path, source=line, message=message))
    return tuple(located)


def told(losses: Iterable[Loss], *, silent: Collection[str]) -> tuple[Loss, ...]:
    """Return the losses, hints last: one hint for one cause on a line, none with a silent name."""
    causes: dict[object, list[Loss]] = {}
    for loss in losses:
        is_hint = loss.kind == "hint"
        cause = (loss.name, loss.what, loss.why, loss.source) if is_hint else id(loss)
        if not is_hint or loss.name not in silent:
            causes.setdefault(cause, []).append(loss)
    counted: list[Loss] = []
    for first, *more in causes.values():
        also = (path for loss in more for path in (loss.path, *loss.also))
        counted.append(attrs.evolve(first, also=(*first.also, *also)))
    return tuple(sorted(counted, key=lambda loss: loss.kind == "hint"))


_FRAME = ("section", "gap")
"""The kinds of the pieces around parts and between them."""


def _part(writer: Writer, block: Sequence[int], *, is_mark: bool) -> WrittenNode | None:
    """Return the part that wrote a block, or with ``is_mark`` its mark; ``None`` for the turn."""
    turn, page, part = writer.turn, writer.page, None
    if is_mark and turn.node.options.cache and writer.place == len(turn.blocks) - 1:
        return None
    places = [writer.place, *block[1:]]
    # The only block of a tool turn is its result: the page is that of the content of the result.
    for place in block[1:] if isinstance(turn.node, ToolTurnNode) else places:
        if page is None:
            break
        pieces = page.segments[place].pieces
        # The first text of a part, or else the first gap or heading.
        first = next((piece for piece in pieces if piece.kind not in _FRAME), pieces[0])
        part = (page.marks.get(place) if is_mark else None) or first.node
        page = page.results.get(place)
    return part
