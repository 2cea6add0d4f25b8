"""The losses of a ``Rendered``: where each is in the prompt, and the warnings about them.

First come the errors of a ``Rendered``, then ``losses_with_lines`` and ``counted_losses``, then
``warn_of_losses``.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.models import facts_for, near_name
from promptdsl.config.wires import wire_of
from promptdsl.foundation.errors import (
    ContentError,
    PendingToolCalls,
    TargetError,
    UnknownNameError,
    nearest,
)
from promptdsl.foundation.source import Source, author, warn_of_lost_content
from promptdsl.messages import Block, ReasoningBlock, TextBlock, ToolResultBlock
from promptdsl.messages.message import Message, last_calls
from promptdsl.messages.prompt import Loss
from promptdsl.rendering.spans import SpanReader, TurnBlock
from promptdsl.rendering.text.layout import WrittenNode
from promptdsl.tree.part_nodes import MediaNode, ToolResultNode, ToolUseNode
from promptdsl.tree.turn_nodes import ToolTurnNode, TurnNode

# The errors of a ``Rendered``: for a payload it does not have, an unknown attribute, an f-string.
#
# Each error names the line ``author()``: the line outside of this package that called it.


def no_target(model: str | None) -> TargetError:
    """Return the error for the payload of a result that was rendered without a target."""
    problem, fix = "this was rendered without a target", "name a target: render(tree, model=...)"
    if model is not None:
        problem = f"the model {model!r} is unknown, so there is no target"
        call = f'render(tree, model={model!r}, provider="openai_compatible")'
        fix = f"name its provider: {call} for open models and most servers"
        # ``None`` if the name is like no known name.
        advice = near_name(model, provider=None)
        fix = " Or ".join(filter(None, (advice, fix)))
    return TargetError(problem, fix=fix, at=(author(),))


def other_target(target: str, facts: ModelFacts) -> TargetError:
    """Return the error for a method like ``to_openai()`` of a result for another target."""
    model, own_method = facts.model, f"to_{facts.wire.provider_format}"
    if facts.wire.is_server:
        fix = f"call {own_method}() or payload(): {facts.provider} has this interface"
    elif wire_of(target).some_models and not facts.chat:
        # The target is OpenAI's Chat, which does not serve this model of OpenAI.
        fix = f"call {own_method}(): OpenAI serves {model!r} in the Responses API alone"
    else:
        model_argument = f"model={model!r}, " if facts_for(model, target).known else ""
        fix = (
            f"render it for that target: render(tree, {model_argument}provider={target!r}), "
            f"or call for_target({target!r}).to_{target}()"
        )
    problem = f"this was rendered for {facts.provider}, so it has no to_{target}()"
    return TargetError(problem, fix=fix, at=(author(),))


def unanswered(messages: Sequence[Message]) -> PendingToolCalls:
    """Return the error for a payload whose last calls have no results yet."""
    caller, calls = last_calls(reversed(messages))
    assert caller is not None
    # A message that was made of data has no line of an author.
    source = caller.sources[0].source if caller._origins else None
    ids = ", ".join(repr(call.id) for call in calls)
    return PendingToolCalls(
        f"the last calls have no results yet: {ids}",
        fix=f"answer them: ToolMessage({calls[0].id!r}, ...)",
        at=(source,),
    )


def unknown_name(name: str, names: Sequence[str]) -> UnknownNameError:
    """Return the error for a public name that a result does not have; it has ``names``."""
    fix = nearest(name, names)
    if name.startswith("to_"):
        targets = ", ".join(
            method for method in names if method.startswith("to_") and method != "to_otel"
        )
        fix = f"it has {targets}; many other servers take to_openai()"
    if name in ("to_dict", "to_json"):
        fix = f"write rendered.record().{name}(), or rendered.payload() for what is sent"
    elif name in ("text", "content"):
        fix = "str(rendered) is the complete request, rendered.messages[-1].text the last message"
    return UnknownNameError(f"a Rendered has no {name!r}", fix=fix, at=(author(),))


def no_text() -> ContentError:
    """Return the error for a result in an f-string or added to a text."""
    return ContentError(
        "a Rendered has messages, so it cannot be put into a text",
        fix='print(rendered) and f"{rendered!s}" show it; in another prompt, write its messages '
        "with History(rendered.messages), or the part itself",
        at=(author(),),
    )


# The losses and hints of a result, each with the address and the line of its content.


def losses_with_lines(
    losses: Sequence[Loss], source: Source | None, span_reader: Callable[[], SpanReader]
) -> tuple[Loss, ...]:
    """Return the losses; a loss in a message gets an address, a line and the message.

    A loss of a block gets the address and line of the node that wrote the block. A loss of a
    complete message gets those of its first turn, for a recorded message those of its ``History``.
    A loss of the complete prompt gets ``source``, the line of the prompt. ``span_reader`` is called
    only if a loss is in a message.
    """
    if all(loss.source and not loss.at for loss in losses):
        return tuple(losses)
    located: list[Loss] = []
    for loss in losses:
        if not loss.at:
            located.append(attrs.evolve(loss, source=loss.source or source))
            continue
        index, *block = loss.at
        reader = span_reader()
        if block:
            turn_block = reader.turn_block(index, block[0])
            node = node_of_block(turn_block, block, is_mark=loss.name == "cache_mark")
            path = reader.address(turn_block.turn, node)
            line = reader.line(node) or turn_block.turn.source
        else:
            turn = reader.message_turn(index)
            path, line = turn.address, turn.source
        message = reader.messages[index]
        located.append(attrs.evolve(loss, path=path, source=line, message=message))
    return tuple(located)


def counted_losses(losses: Iterable[Loss], *, silent: Collection[str]) -> tuple[Loss, ...]:
    """Return the losses, and after them the hints; equal hints of one line become one hint.

    This hint has the other addresses in ``also``. Hints with a name in ``silent`` are left out.
    """
    causes: dict[object, list[Loss]] = {}
    for loss in losses:
        is_hint = loss.kind == "hint"
        cause = (loss.name, loss.what, loss.why, loss.source) if is_hint else id(loss)
        if not is_hint or loss.name not in silent:
            causes.setdefault(cause, []).append(loss)
    counted: list[Loss] = []
    for first_loss, *equal_losses in causes.values():
        also = (path for loss in equal_losses for path in (loss.path, *loss.also))
        counted.append(attrs.evolve(first_loss, also=(*first_loss.also, *also)))
    return tuple(sorted(counted, key=lambda loss: loss.kind == "hint"))


_FRAME = ("section", "gap")
"""The kinds of the pieces around nodes and between them."""


def node_of_block(
    turn_block: TurnBlock, block: Sequence[int], *, is_mark: bool
) -> WrittenNode | None:
    """Return the node that wrote a block; with ``is_mark`` the node that put its cache mark.

    ``block`` is the index of the block in its message, and for a block in a result its index there.
    The result is ``None`` for a block or a cache mark of the turn itself.
    """
    turn, page, node = turn_block.turn, turn_block.page, None
    if is_mark and turn.node.options.cache and turn_block.index_on_page == len(turn.blocks) - 1:
        return None
    indices = [turn_block.index_on_page, *block[1:]]
    # A tool turn has one block, its result, and its page is that of the result's content.
    for index in block[1:] if isinstance(turn.node, ToolTurnNode) else indices:
        if page is None:
            break
        pieces = page.segments[index].pieces
        # The first piece with content; if there is none, the first gap or heading.
        first_piece = next((piece for piece in pieces if piece.kind not in _FRAME), pieces[0])
        node = (page.cache_marks.get(index) if is_mark else None) or first_piece.node
        page = page.results.get(index)
    return node


# The warnings about losses of the author's content.


def warn_of_losses(losses: Iterable[Loss], reader: SpanReader) -> None:
    """Warn of each block, tool and output schema of the author that is not sent.

    There is no warning for recorded messages and for tools of a recorded payload: they are data.
    There is none for single characters that are replaced, either.
    """
    for loss in losses:
        source = _author_line(loss, reader) if loss.kind == "content" else None
        if source is not None:
            warn_of_lost_content(source, loss.what.split(" ")[0], loss._refusal("sent"))


_OF_BLOCKS = frozenset({MediaNode, ToolUseNode, ToolResultNode})
"""The classes of nodes made of a block of a message that an author put into a turn: it is data.

A component that an author wrote, such as ``Image``, has a class of its own."""


def _author_line(loss: Loss, reader: SpanReader) -> Source | None:
    """Return the author's line that wrote the lost content.

    The result is ``None`` for data, and for a text that loses only a character or a signature.
    """
    if not loss.at:
        # A tool and an output schema of a recorded payload have no line.
        return loss.source if loss.path == "output" or loss.path.startswith("tools/") else None
    index, *block = loss.at
    if not block:
        turn = reader.message_turn(index)
        return turn.source if isinstance(turn.node, TurnNode) else None
    turn_block = reader.turn_block(index, block[0])
    if turn_block.page is None:
        return None  # a recorded message
    lost_block = _block_at(reader.messages[index].content, block)
    if isinstance(lost_block, TextBlock | ReasoningBlock):
        return None  # the text is sent: characters were replaced, or a signature is left out
    node = node_of_block(turn_block, block, is_mark=False)
    if node is not None and type(node.node) in _OF_BLOCKS:
        return None
    return reader.line(node) or turn_block.turn.source


def _block_at(content: tuple[Block, ...], location: list[int]) -> Block:
    """Return the block at a location: its index, and the index of a block in a result."""
    block = content[location[0]]
    if len(location) > 1 and isinstance(block, ToolResultBlock):
        return block.content[location[1]]
    return block
