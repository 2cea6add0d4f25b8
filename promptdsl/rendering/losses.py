"""The losses of a result: their lines, which are about content of the author, and errors.

In this order: the errors of a target, losses and hints with their lines, and the warnings.
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
from promptdsl.rendering.spans import Trace, TurnBlock
from promptdsl.rendering.text.layout import WrittenNode
from promptdsl.tree.part_nodes import MediaNode, ToolResultNode, ToolUseNode
from promptdsl.tree.turn_nodes import ToolTurnNode, TurnNode

# The errors of a ``Rendered``: it has no such payload, no such attribute, or is no text.
#
# ``author()`` is the line outside of this package that called it: the line that the error names.


def no_target(model: str | None) -> TargetError:
    """Return the error for a payload of a result that was rendered without a target."""
    problem, fix = "this was rendered without a target", "name one: render(tree, model=...)"
    if model is not None:
        problem = f"the model {model!r} is unknown, so there is no target"
        call = f'render(tree, model={model!r}, provider="openai_compatible")'
        fix = f"name its provider: {call} for open models and most servers"
        # The advice for a name that is near a known one; ``None`` if it is near none.
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
    caller, waiting = last_calls(reversed(messages))
    assert caller is not None
    # A message that was made of data has no line of an author.
    source = caller.sources[0].source if caller._origins else None
    names = ", ".join(repr(block.id) for block in waiting)
    return PendingToolCalls(
        f"the last calls are not answered yet: {names}",
        fix=f"answer them: ToolMessage({waiting[0].id!r}, ...)",
        at=(source,),
    )


def unknown_name(name: str, names: Sequence[str]) -> UnknownNameError:
    """Return the error for a public name that a result does not have.

    ``names`` are the names that it has.
    """
    fix = nearest(name, names)
    if name.startswith("to_"):
        targets = ", ".join(
            known for known in names if known.startswith("to_") and known != "to_otel"
        )
        fix = f"it has {targets}; many other servers take to_openai()"
    if name in ("to_dict", "to_json"):
        fix = f"write rendered.record().{name}(), or rendered.payload() for what is sent"
    elif name in ("text", "content"):
        fix = "str(rendered) is all of it, rendered.messages[-1].text the last message"
    return UnknownNameError(f"a Rendered has no {name!r}", fix=fix, at=(author(),))


def no_text() -> ContentError:
    """Return the error for a result that is put into a text."""
    return ContentError(
        "a Rendered is messages, not a text to put into another text",
        fix='print(rendered) and f"{rendered!s}" show it; in another prompt, write its messages '
        "with History(rendered.messages), or the part itself",
        at=(author(),),
    )


# The losses and hints of a result, each with the address and the line of what it is about.


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


# Which losses are about content of the author, and the warnings about them.


def warn_of_losses(losses: Iterable[Loss], trace: Trace) -> None:
    """Warn of each block, tool and output schema of the author that is not sent.

    Recorded messages, tools of a recorded payload, and single characters are data: about their
    losses nothing warns.
    """
    for loss in losses:
        source = _author_line(loss, trace) if loss.kind == "content" else None
        if source is not None:
            warn_of_lost_content(source, loss.what.split(" ")[0], loss._refusal("sent"))


_OF_BLOCKS = frozenset({MediaNode, ToolUseNode, ToolResultNode})
"""The nodes of blocks of messages that an author put into a turn; a component has its own class."""


def _author_line(loss: Loss, trace: Trace) -> Source | None:
    """Return the line that wrote what is lost, ``None`` for data and for a part of a block."""
    if not loss.at:
        # A tool and an output schema of a recorded payload have no line.
        return loss.source if loss.path == "output" or loss.path.startswith("tools/") else None
    index, *block = loss.at
    if not block:
        turn = trace.message_turn(index)
        return turn.source if isinstance(turn.node, TurnNode) else None
    turn_block = trace.turn_block(index, block[0])
    if turn_block.page is None:
        return None  # a recorded message
    lost = _block_at(trace.messages[index].content, block)
    if isinstance(lost, TextBlock | ReasoningBlock):
        return None  # the text is sent: characters were replaced, or a signature is left out
    part = part_of_block(turn_block, block, is_mark=False)
    if part is not None and type(part.node) in _OF_BLOCKS:
        return None
    return trace.line(part) or turn_block.turn.source


def _block_at(content: tuple[Block, ...], location: list[int]) -> Block:
    """Return the block at a location: its index, and the index of a block in a result."""
    block = content[location[0]]
    if len(location) > 1 and isinstance(block, ToolResultBlock):
        return block.content[location[1]]
    return block
