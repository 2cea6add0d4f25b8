"""Equip: what is sent beside the messages leaves the turns, and cache breakpoints become marks."""

from collections.abc import Iterator
from typing import Any

import attrs

from promptdsl.foundation.errors import PlacementError
from promptdsl.messages.loss import Loss
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import OutputSchema, ToolDefinition
from promptdsl.rendering.text.page import longer, marked
from promptdsl.tree.masks import CACHE, RESULT, SHIFT, SPOKEN
from promptdsl.tree.node import Node, mark_of
from promptdsl.tree.rewrite import replace, says_something, with_content
from promptdsl.tree.turn_nodes import (
    CacheBreakpointNode,
    OutputNode,
    RecordedNode,
    RootNode,
    ToolNode,
)

_EQUIPMENT = frozenset({ToolNode, OutputNode, CacheBreakpointNode})


def equip(root: Node) -> Node:
    """Return the tree with its tools and its output in ``equipment``, not among the turns.

    A cache breakpoint among the turns becomes a mark of what stands before it; one without anything
    before it goes to ``equipment``, too. A tool that was written twice counts once. Raises
    :class:`PlacementError` for two tools of one name, and for two outputs.
    """
    if _EQUIPMENT.isdisjoint(map(type, root.content)):
        return root
    content: list[Any] = []
    equipment: dict[object, Any] = {}
    for child in root.content:
        if isinstance(child, ToolNode | OutputNode):
            _take(child, equipment)
        elif not isinstance(child, CacheBreakpointNode):
            content.append(child)
        elif not (_mark_last(content, child) or _mark_tool(equipment, child)):
            equipment[id(child)] = child
    return replace(with_content(root, tuple(content)), equipment=tuple(equipment.values()))


def equipment_of(root: RootNode) -> tuple[tuple[ToolDefinition, ...], OutputSchema | None]:
    """Return the tools of an equipped tree and the form of its answer; both know their lines."""
    tools = tuple(
        attrs.evolve(node.definition, at=node.source)
        for node in root.equipment
        if isinstance(node, ToolNode)
    )
    outputs = (node for node in root.equipment if isinstance(node, OutputNode))
    found = next(outputs, None)
    return tools, None if found is None else attrs.evolve(found.schema, at=found.source)


def lost_marks(root: RootNode) -> Iterator[Loss]:
    """Yield a loss for every cache breakpoint that found nothing to mark."""
    for node in root.equipment:
        if isinstance(node, CacheBreakpointNode):
            why = "nothing that takes one stands before it"
            yield Loss("hint", "a cache breakpoint", why, source=node.source)


def _key(node: ToolNode | OutputNode) -> object:
    return node.definition.name if isinstance(node, ToolNode) else OutputNode


def _take(node: ToolNode | OutputNode, equipment: dict[object, Any]) -> None:
    """Put a tool or an output beside those there are; an equal tool is there already."""
    other = equipment.setdefault(_key(node), node)
    if other is node and isinstance(node, ToolNode):
        return
    if isinstance(node, ToolNode) and _unmarked(node) != _unmarked(other):
        what = f"two tools are called {node.definition.name!r}"
        raise _twice(what, 'call one of them otherwise: Tool(..., name="...")', node, other)
    if isinstance(node, OutputNode) and other is not node:
        raise _twice("a prompt has one Output", "write one type that holds both", node, other)


def _unmarked(node: ToolNode) -> ToolDefinition:
    return attrs.evolve(node.definition, cache=None)


def _twice(what: str, fix: str, second: Node, first: Node) -> PlacementError:
    return PlacementError(what, fix=fix, at=(second.source, first.source))


# Cache breakpoints.


def _mark_last(content: list[Any], node: CacheBreakpointNode) -> bool:
    """Mark the last of the turns that is sent; return whether there is one."""
    for index in range(len(content) - 1, -1, -1):
        child = content[index]
        if isinstance(child, RecordedNode):
            recorded = _marked_recording(child, node)
            if recorded is not None:
                content[index] = recorded
            return recorded is not None
        if _is_sent(child):
            content[index] = _marked_turn(child, node)
            return True
    return False


def _is_sent(turn: Node) -> bool:
    return bool(turn.mask & RESULT << SHIFT) or says_something(turn)


def _marked_turn(turn: Node, node: CacheBreakpointNode) -> Node:
    mark = longer(mark_of(turn.options), node.ttl or "default")
    options = attrs.evolve(turn.options, cache=True if mark == "default" else mark)
    # What has options of its own is not plain speech any more.
    return replace(turn, options=options, mask=turn.mask & ~SPOKEN | CACHE)


def _marked_recording(recording: RecordedNode, node: CacheBreakpointNode) -> RecordedNode | None:
    items: tuple[Message, ...] = recording.items
    for index in range(len(items) - 1, -1, -1):
        content = items[index].content
        if content:
            break
    else:
        return None
    last = marked(content[-1], node.ttl or "default")
    if last is content[-1]:
        return None
    said = items[index].replace(content=(*content[:-1], last))
    return replace(recording, items=(*items[:index], said, *items[index + 1 :]))


def _mark_tool(equipment: dict[object, Any], node: CacheBreakpointNode) -> bool:
    """Mark the last of the tools; return whether there is one."""
    last = next((one for one in reversed(equipment.values()) if isinstance(one, ToolNode)), None)
    if last is None:
        return False
    definition = last.definition
    mark = longer(definition.cache, node.ttl or "default")
    equipment[_key(last)] = replace(last, definition=attrs.evolve(definition, cache=mark))
    return True
