"""The outline of a prompt: a line for each part."""

from collections.abc import Callable, Mapping
from typing import Any

from promptdsl.foundation.errors import is_one_of
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.unicode import on_one_line
from promptdsl.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.field_checks import Cache
from promptdsl.messages.media.image_size import described
from promptdsl.messages.message import Message
from promptdsl.messages.roles import ROLES
from promptdsl.tree import group_nodes, part_nodes, turn_nodes
from promptdsl.tree.node import Child, Node, label, mark_of

WIDTH = 60
DEEPEST = 40


def outline(root: Node) -> str:
    """Return the parts below a node, indented, each with its size in characters and its line.

    A part without parts, such as a ``Tool``, is itself the only line.
    """
    lines: list[str] = []

    def add(depth: int, name: str, where: object) -> None:
        # From DEEPEST on the indentation stays: it would grow with the square of the depth.
        text = "  " * min(depth, DEEPEST) + on_one_line(name)
        lines.append(f"{text:<{WIDTH}}  {where}".rstrip() if where is not None else text)

    parts = root.content or (root,)
    if isinstance(root, turn_nodes.RootNode):
        parts = (*root.equipment, *root.content)
    stack: list[tuple[Child, int]] = [(child, 0) for child in reversed(parts)]
    while stack:
        node, depth = stack.pop()
        if isinstance(node, str):
            add(depth, _size(node), None)
        elif isinstance(node, turn_nodes.RecordedNode):
            # A recording that is not read yet, or has options, has a line of its own.
            form = "" if node.form == "messages" else f" ({node.form})"
            history = f"history{form}{_history_options(node)}"
            source, components = node.source, _components(node)
            if history != "history":
                add(depth, history + components, source)
                depth += 1
            for item in node.items if node.form == "messages" else ():
                role = item.get("role") if is_mapping(item) else None
                name = f"{role if is_one_of(role, ROLES) else 'message'} (recorded)"
                if isinstance(item, Message):
                    speaker = f" name={item.name}" if item.name else ""
                    blocks = "; ".join(map(_block, item.content))
                    name = f"{item.role} (recorded){speaker}: {blocks}"
                add(depth, name + components, source)
        else:
            add(depth, _described(node), node.source)
            stack.extend((child, depth + 1) for child in reversed(node.content))
    return "\n".join(lines)


def _described(node: Node) -> str:
    """Return the name of a node and its options, as its author wrote them."""
    options = node.options
    describe = _PARTS.get(node._node)  # pyright: ignore[reportPrivateUsage]
    words = [label(node).lower() if describe is None else describe(node)]
    words += [options.address] if options.id else []
    if isinstance(node, part_nodes.SectionNode) and node.title is not None:
        title = node.title
        words.append(repr(title.text if isinstance(title, part_nodes.ValueNode) else title))
    words[-1] += _components(node)
    words += [f"name={options.name}"] if options.name else []
    words += [f"audience={options.audience}"] if options.audience != "all" else []
    words += [f"priority={options.priority:,}"] if options.priority is not None else []
    mark = mark_of(options)
    words += [_cached(mark)] if mark else []
    words += [f"#{tag}" for tag in options.tags]
    return " ".join(words)


def _history_options(node: turn_nodes.RecordedNode | group_nodes.ConversationNode) -> str:
    """Return the options of a history that a budget follows."""
    keep = f" keep={node.keep:,}" if node.keep else ""
    step = "" if node.step is None else f" step={node.step:,}"
    return keep + step + _priority(node.priority or None)


def _priority(priority: float | None) -> str:
    return "" if priority is None else f" priority={priority:,}"


def _components(node: Node) -> str:
    """Return the names of the components that wrote a node and are not in the tree any more."""
    sections = {it.name: str(it) for it in node.options.libraries if it}
    names = [sections.get(name, name) for name in node.options.within]
    return f" by={'/'.join(names)}" if names else ""


def _cached(mark: Cache) -> str:
    return "cached" if mark == "default" else f"cached for {mark}"


def _size(text: str) -> str:
    return "1 character" if len(text) == 1 else f"{len(text):,} characters"


def _turn(node: turn_nodes.TurnNode) -> str:
    kind = "" if node.kind == "written" else f" ({node.kind.replace('_', ' ')})"
    merged = " (merged)" if isinstance(node, turn_nodes.MergedNode) else ""
    return f"{node.role}{kind}{merged}"


def _sized(node: part_nodes.ValueNode | part_nodes.TrustedTextNode | part_nodes.JsonNode) -> str:
    named = f" {node.label}" if isinstance(node, part_nodes.ValueNode) and node.label else ""
    return f"{label(node).lower()}{named}, {_size(node.text)}"


def _untrusted(node: part_nodes.UntrustedNode) -> str:
    origin = "" if node.origin is None else f" from {node.origin!r}"
    return f"untrusted{origin}, {_size(node.text)}"


def _limit(node: group_nodes.LimitNode) -> str:
    end = "" if node.keep == "head" else f" keep={node.keep}"
    return f"limit {node.max_tokens:,} tokens{end}"


def _component(node: group_nodes.ComponentNode) -> str:
    if node.by:
        return f"{node.name} (overridden by {node.by})"
    return str(node.section or node.name)


def _tool(node: turn_nodes.ToolNode) -> str:
    mark = node.definition.cache
    return f"tool definition {node.definition.name}" + (f" {_cached(mark)}" if mark else "")


def _media(node: part_nodes.MediaNode) -> str:
    source = getattr(node.block, "source", None)
    return node.block.type if source is None else f"{node.block.type} {described(source)}"


def _tool_use(node: part_nodes.ToolUseNode) -> str:
    return f"call {node.block.name} ({node.block.id}), {_size(node.block.arguments)}"


_PARTS: Mapping[type[Node], Callable[[Any], str]] = {  # Any: the class it is listed for
    turn_nodes.TurnNode: _turn,
    turn_nodes.MergedNode: _turn,
    turn_nodes.ConsolidatedNode: _turn,
    turn_nodes.ToolTurnNode: lambda node: f"tool {node.tool_use_id}",
    part_nodes.FenceNode: lambda node: node.open.strip() or "unfenced",
    group_nodes.ComponentNode: _component,
    group_nodes.FormatNode: lambda node: f"format {node.format}",
    group_nodes.GroupNode: lambda node: f"group{_priority(node.priority)}",
    group_nodes.FirstFitNode: lambda node: f"first fit{_priority(node.priority)}",
    group_nodes.LimitNode: _limit,
    group_nodes.ReserveNode: lambda node: f"reserve {node.tokens:,} tokens",
    group_nodes.ConversationNode: lambda node: f"history{_history_options(node)}",
    part_nodes.ValueNode: _sized,
    part_nodes.VolatileNode: _sized,
    part_nodes.TrustedTextNode: _sized,
    part_nodes.JsonNode: _sized,
    part_nodes.UntrustedNode: _untrusted,
    part_nodes.VerbatimNode: lambda node: _size(node.text),
    part_nodes.TableNode: lambda node: f"table of {len(node.rows):,} rows",
    part_nodes.ExampleSideNode: lambda node: node.name,
    part_nodes.ToolUseNode: _tool_use,
    part_nodes.ToolResultNode: lambda node: f"result {node.tool_use_id}",
    part_nodes.MediaNode: _media,
    turn_nodes.ToolNode: _tool,
    turn_nodes.OutputNode: lambda node: f"output {node.schema.name}",
    turn_nodes.CacheBreakpointNode: lambda node: f"cache breakpoint {node.ttl or ''}".rstrip(),
}


def _block(block: Block) -> str:
    match block:
        case TextBlock():
            return _size(block.text)
        case ToolUseBlock():
            return f"call {block.name} ({block.id})"
        case ToolResultBlock():
            inner = "; ".join(_block(inner) for inner in block.content)
            return f"result {block.tool_use_id}, {inner}"
        case _:
            return block.type
