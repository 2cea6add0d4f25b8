"""Extract tools: move tools and the output schema out of the content, into ``equipment``.

A cache breakpoint among the turns becomes a cache mark.
"""

from collections.abc import Iterator
from operator import attrgetter
from typing import cast

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.errors import PlacementError
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Loss, OutputSchema, ToolDefinition, hint
from promptdsl.rendering.text.blocks import mode_of
from promptdsl.rendering.text.page import longer, with_cache_mark
from promptdsl.tree.masks import CACHE, RESULT, SHIFT, SPOKEN
from promptdsl.tree.node import Node, make, mark_of
from promptdsl.tree.rewrite import has_content, replace, with_content
from promptdsl.tree.turn_nodes import (
    CacheBreakpointNode,
    OutputNode,
    PromptedOutputNode,
    RecordedNode,
    RootNode,
    ToolNode,
)

_EQUIPMENT = frozenset({ToolNode, OutputNode, CacheBreakpointNode})
"""The classes of the nodes that this pass moves."""
_NODE_CLASS = attrgetter("_node")


def extract_tools(root: RootNode, facts: ModelFacts) -> RootNode:
    """Return the tree with its tools and its output schema in ``equipment``, not among the turns.

    If the target takes no output schema, the schema becomes text of the prompt. Equal tools are
    listed once. A cache breakpoint becomes a cache mark of the turn before it. If no turn before it
    takes one, the last tool before it gets the mark. Without a tool, the breakpoint moves to
    ``equipment``, and a hint reports it. Raises :class:`PlacementError` for two different tools
    with one name, and for two output schemas.
    """
    if _EQUIPMENT.isdisjoint(map(_NODE_CLASS, root.content)):
        return root
    turns: list[Node] = []
    equipment: list[Node] = []
    output: OutputNode | None = None
    # The index of each tool in the equipment, by its name.
    tool_indices: dict[str, int] = {}
    for child in root.content:
        if isinstance(child, ToolNode):
            name, raw = child.definition.name, child.definition.raw
            # A provider's tool without a name may occur with other values, too.
            key = name if raw is None or "name" in raw else repr((raw, child.definition.extra))
            if key not in tool_indices:
                tool_indices[key] = len(equipment)
                equipment.append(child)
                continue
            first_tool = cast("ToolNode", equipment[tool_indices[key]])
            # A cache breakpoint may have put a cache mark on the first tool already.
            without_mark = attrs.evolve(first_tool.definition, cache=None)
            if attrs.evolve(child.definition, cache=None) != without_mark:
                raise PlacementError(
                    f"two tools are called {name!r}",
                    fix='rename one of them: Tool(..., name="...")',
                    at=(child.source, first_tool.source),
                )
        elif isinstance(child, OutputNode):
            if output is not None and output is not child:
                raise PlacementError(
                    "a prompt has one Output",
                    fix="write one type with the fields of both",
                    at=(child.source, output.source),
                )
            if output is None:
                output = child
                equipment.append(_in_its_mode(child, facts))
        elif not isinstance(child, CacheBreakpointNode):
            turns.append(child)
        elif not _mark_last_turn(turns, child):
            if not tool_indices:
                equipment.append(child)
                continue
            index = max(tool_indices.values())
            last_tool = cast("ToolNode", equipment[index])
            cache_mark = longer(last_tool.definition.cache, child.ttl or "default")
            definition = attrs.evolve(last_tool.definition, cache=cache_mark)
            equipment[index] = replace(last_tool, definition=definition)
    return replace(with_content(root, tuple(turns)), equipment=tuple(equipment))


def _in_its_mode(node: OutputNode, facts: ModelFacts) -> OutputNode:
    """Return the output schema as it is sent: as a setting of the request, or as text."""
    if mode_of(node, facts)[0] == "native":
        return node
    return make(PromptedOutputNode, mask=node._mask, at=node, schema=node.schema)


def _mark_last_turn(turns: list[Node], node: CacheBreakpointNode) -> bool:
    """Put a cache mark on the last turn with content; return whether a turn takes it."""
    for index in range(len(turns) - 1, -1, -1):
        turn = turns[index]
        if isinstance(turn, RecordedNode):
            recorded = _recording_with_mark(turn, node)
            if recorded is not None:
                turns[index] = recorded
            return recorded is not None
        if turn._mask & RESULT << SHIFT or has_content(turn.content):
            cache_mark = longer(mark_of(turn.options), node.ttl or "default")
            # The option of an author is ``True``; in a block the same mark is ``"default"``.
            options = attrs.evolve(
                turn.options, cache=True if cache_mark == "default" else cache_mark
            )
            # A turn with a cache mark may no longer take the shortest way of ``lower``.
            turns[index] = replace(turn, options=options, mask=turn._mask & ~SPOKEN | CACHE)
            return True
    return False


def _recording_with_mark(recording: RecordedNode, node: CacheBreakpointNode) -> RecordedNode | None:
    """Return a recording with a cache mark at its last block, ``None`` if the block takes none."""
    messages: tuple[Message, ...] = recording.items
    index = next((i for i in range(len(messages) - 1, -1, -1) if messages[i].content), None)
    if index is None:
        return None
    content = messages[index].content
    marked_block = with_cache_mark(content[-1], node.ttl or "default")
    if marked_block is content[-1]:
        return None
    message = messages[index].replace(content=(*content[:-1], marked_block))
    return replace(recording, items=(*messages[:index], message, *messages[index + 1 :]))


def equipment_of(root: RootNode) -> tuple[tuple[ToolDefinition, ...], OutputSchema | None]:
    """Return the tools and the output schema of a tree after this pass, with their source lines."""
    tools: list[ToolDefinition] = []
    output = None
    for node in root.equipment:
        if isinstance(node, ToolNode):
            tools.append(attrs.evolve(node.definition, at=node._at))
        elif isinstance(node, OutputNode):
            output = attrs.evolve(node.schema, at=node._at)
    return tuple(tools), output


def output_hints(root: RootNode, facts: ModelFacts) -> Iterator[Loss]:
    """Yield a hint if the output schema is sent as text, and its author did not choose that."""
    for node in root.equipment:
        if isinstance(node, PromptedOutputNode) and node.schema.mode is None:
            reason = f"{mode_of(node, facts)[1]}: it is sent as the last part of the system text"
            yield hint("prompted_output", "the output schema", reason, source=node.source)


def lost_marks(root: RootNode) -> Iterator[Loss]:
    """Yield a hint for every cache breakpoint without a part before it that takes a cache mark."""
    for node in root.equipment:
        if isinstance(node, CacheBreakpointNode):
            reason = "no part before it takes a cache mark"
            yield hint("cache_mark", "a cache breakpoint", reason, source=node.source)
