"""The outline: the parts of a prompt, a line each."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from promptdsl.foundation.unicode import on_one_line
from promptdsl.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.field_checks import Cache
from promptdsl.messages.media.image_size import described
from promptdsl.messages.message import Message
from promptdsl.tree.group_nodes import (
    ComponentNode,
    ConversationNode,
    FirstFitNode,
    FormatNode,
    GroupNode,
    LimitNode,
    ReserveNode,
)
from promptdsl.tree.node import Node, label, mark_of
from promptdsl.tree.part_nodes import (
    ExampleSideNode,
    FenceNode,
    JsonNode,
    MediaNode,
    SectionNode,
    TableNode,
    ToolResultNode,
    ToolUseNode,
    TrustedTextNode,
    UntrustedNode,
    ValueNode,
    VerbatimNode,
    VolatileNode,
)
from promptdsl.tree.turn_nodes import (
    CacheBreakpointNode,
    MergedNode,
    OutputNode,
    RecordedNode,
    RequestOnlyNode,
    RootNode,
    ToolNode,
    ToolTurnNode,
    TurnNode,
)

WIDTH = 60
DEEPEST = 40


def outline(root: Node) -> str:
    """Return the parts below a node, indented, each with its size in characters and its line."""
    return "\n".join(_line(depth, what, where) for depth, what, where in _entries(root))


def _line(depth: int, what: str, where: object) -> str:
    # Deeper than a page is wide, the indentation stays: it would grow with the square of the depth.
    text = "  " * min(depth, DEEPEST) + on_one_line(what)
    return f"{text:<{WIDTH}}  {where}".rstrip() if where is not None else text


def _entries(root: Node) -> Iterator[tuple[int, str, object]]:
    beside = root.equipment if isinstance(root, RootNode) else ()
    stack: list[tuple[Any, int]] = [(child, 0) for child in reversed((*beside, *root.content))]
    while stack:
        node, depth = stack.pop()
        if isinstance(node, str):
            yield depth, _size(node), None
        elif isinstance(node, RecordedNode):
            for below, what in _recorded(node):
                yield depth + below, what + _by(node), node.source
        else:
            yield depth, _describe(node), node.source
            stack.extend((child, depth + 1) for child in reversed(node.content))


def _recorded(node: RecordedNode) -> Iterator[tuple[int, str]]:
    """Yield the messages of a recording; one that is not read yet, or has options, says so."""
    form = "" if node.form == "messages" else f" ({node.form})"
    head = f"history{form}{_of_history(node)}"
    below = int(head != "history")
    if below:
        yield 0, head
    for item in node.items if node.form == "messages" else ():
        yield below, _message(item) if isinstance(item, Message) else "message (recorded)"


def _of_history(node: RecordedNode | ConversationNode) -> str:
    """Return the options that say what a budget may take of a history."""
    said = [f" keep={node.keep:,}"] if node.keep else []
    said += [] if node.step is None else [f" step={node.step:,}"]
    return "".join(said) + (_priority(node.priority) if node.priority else "")


def _priority(priority: float | None) -> str:
    return "" if priority is None else f" priority={priority:,}"


def _limit(node: LimitNode) -> str:
    end = "" if node.keep == "head" else f" keep={node.keep}"
    return f"limit {_tokens(node.max_tokens)}{end}"


def _tokens(number: int) -> str:
    return f"{number:,} tokens"


def _describe(node: Node) -> str:
    """Return the name of a node and its options, as its author wrote them."""
    match node:
        case ToolTurnNode():
            what = f"tool {node.tool_use_id}"
        case TurnNode():
            what = f"{node.role}{_kind(node)}"
        case SectionNode():
            title = node.title.text if isinstance(node.title, ValueNode) else node.title
            what = f"section {node.options.id}" + (f" {title!r}" if title is not None else "")
            return _with_options(what, node)
        case RequestOnlyNode():
            what = "grounding" if node.grounding else "ephemeral"
        case _:
            what = _describe_part(node)
    return _with_options(what + (f" {node.options.id}" if node.options.id else ""), node)


def _describe_part(node: Node) -> str:
    """Return the name of a part of a turn without an id of its own."""
    describe = _PARTS.get(type(node))
    return label(node).lower() if describe is None else describe(node)


def _sized(node: Any) -> str:
    return f"{label(node).lower()}, {_size(node.text)}"


def _value(node: ValueNode) -> str:
    named = f" {node.label}" if node.label else ""
    return f"{label(node).lower()}{named}, {_size(node.text)}"


def _untrusted(node: UntrustedNode) -> str:
    origin = "" if node.origin is None else f" from {node.origin!r}"
    return f"untrusted{origin}, {_size(node.text)}"


def _component(node: ComponentNode) -> str:
    return f"{node.name} (overridden by {node.by})" if node.by else node.name


def _tool(node: ToolNode) -> str:
    mark = node.definition.cache
    return f"tool definition {node.definition.name}" + (f" {_cached(mark)}" if mark else "")


def _cached(mark: Cache) -> str:
    return "cached" if mark == "default" else f"cached for {mark}"


def _breakpoint(node: CacheBreakpointNode) -> str:
    return f"cache breakpoint {node.ttl}" if node.ttl else "cache breakpoint"


def _media(node: MediaNode) -> str:
    source = getattr(node.block, "source", None)
    return node.block.type if source is None else f"{node.block.type} {described(source)}"


_PARTS: Mapping[type[Node], Callable[[Any], str]] = {
    FenceNode: lambda node: node.open.strip() or "unfenced",
    ComponentNode: _component,
    FormatNode: lambda node: f"format {node.format}",
    GroupNode: lambda node: f"group{_priority(node.priority)}",
    FirstFitNode: lambda node: f"first fit{_priority(node.priority)}",
    LimitNode: _limit,
    ReserveNode: lambda node: f"reserve {_tokens(node.tokens)}",
    ConversationNode: lambda node: f"history{_of_history(node)}",
    ValueNode: _value,
    VolatileNode: _value,
    TrustedTextNode: _sized,
    JsonNode: _sized,
    UntrustedNode: _untrusted,
    VerbatimNode: lambda node: _size(node.text),
    TableNode: lambda node: f"table of {len(node.rows):,} rows",
    ExampleSideNode: lambda node: node.name,
    ToolUseNode: lambda node: (
        f"call {node.block.name} ({node.block.id}), {_size(node.block.arguments)}"
    ),
    ToolResultNode: lambda node: f"result {node.tool_use_id}",
    MediaNode: _media,
    ToolNode: _tool,
    OutputNode: lambda node: f"output {node.schema.name}",
    CacheBreakpointNode: _breakpoint,
}


def _kind(turn: TurnNode) -> str:
    merged = " (merged)" if isinstance(turn, MergedNode) else ""
    return merged if turn.kind == "written" else f" ({turn.kind.replace('_', ' ')}){merged}"


def _with_options(what: str, node: Node) -> str:
    options = node.options
    said = [f"name={options.name}"] if options.name else []
    said += [f"audience={options.audience}"] if options.audience != "all" else []
    said += [_priority(options.priority).strip()] if options.priority is not None else []
    said += [_cached(mark) for mark in (mark_of(options),) if mark]
    said += [f"#{tag}" for tag in options.tags]
    return " ".join([what + _by(node), *said])


def _by(node: Node) -> str:
    """Return the components that wrote a node, which is in none of them any more."""
    within = node.options.within
    return f" by={'/'.join(within)}" if within else ""


def _message(message: Message) -> str:
    name = f" name={message.name}" if message.name else ""
    blocks = "; ".join(_block(block) for block in message.content)
    return f"{message.role} (recorded){name}: {blocks}"


def _block(block: Block) -> str:
    match block:
        case TextBlock():
            return _size(block.text)
        case ToolUseBlock():
            return f"call {block.name} ({block.id})"
        case ToolResultBlock():
            return f"result {block.tool_use_id}, " + "; ".join(_block(b) for b in block.content)
        case _:
            return block.type


def _size(text: str) -> str:
    return f"{len(text):,} characters"
