"""The losses and hints of a result, each with the address and the line of what it is about."""

from collections.abc import Callable, Collection, Iterable, Sequence

import attrs

from promptdsl.foundation.source import Source
from promptdsl.messages.loss import Loss
from promptdsl.rendering.spans import Trace, TurnBlock
from promptdsl.rendering.text.layout import WrittenNode
from promptdsl.tree.turn_nodes import ToolTurnNode


def losses_with_lines(
    losses: Sequence[Loss], source: Source | None, trace: Callable[[], Trace]
) -> tuple[Loss, ...]:
    """Return the losses; those in messages get their message, an address and a line.

    Address and line are those of the part that wrote the block. For a loss of a complete message
    they are those of its first turn, for a recorded message those of its ``History``. A loss of the
    complete prompt gets ``source``, the line of the prompt. ``trace`` is called if a loss is in a
    message.
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
            turn_block = trace().turn_block(index, block[0])
            part = part_of_block(turn_block, block, is_mark=loss.name == "cache_mark")
            path = trace().address(turn_block.turn, part)
            line = trace().line(part) or turn_block.turn.source
        else:
            turn = trace().message_turn(index)
            path, line = turn.address, turn.source
        message = trace().messages[index]
        located.append(attrs.evolve(loss, path=path, source=line, message=message))
    return tuple(located)


def counted_losses(losses: Iterable[Loss], *, silent: Collection[str]) -> tuple[Loss, ...]:
    """Return the losses, hints last; equal hints of a line are one hint, which counts them.

    Hints with a name in ``silent`` are left out.
    """
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


def part_of_block(
    turn_block: TurnBlock, block: Sequence[int], *, is_mark: bool
) -> WrittenNode | None:
    """Return the part that wrote a block, or with ``is_mark`` the cache mark after the block.

    The result is ``None`` for the turn itself.
    """
    turn, page, part = turn_block.turn, turn_block.page, None
    if is_mark and turn.node.options.cache and turn_block.location == len(turn.blocks) - 1:
        return None
    locations = [turn_block.location, *block[1:]]
    # The only block of a tool turn is its result: the page is that of the content of the result.
    for location in block[1:] if isinstance(turn.node, ToolTurnNode) else locations:
        if page is None:
            break
        pieces = page.segments[location].pieces
        # The first text of a part, or else the first gap or heading.
        first = next((piece for piece in pieces if piece.kind not in _FRAME), pieces[0])
        part = (page.cache_marks.get(location) if is_mark else None) or first.node
        page = page.results.get(location)
    return part
