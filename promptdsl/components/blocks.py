"""Content blocks, and their dictionaries, as content of a component: each becomes a node."""

import attrs

from promptdsl.components.scope import is_text
from promptdsl.foundation.errors import ContentError, PlacementError, PromptError, nearest
from promptdsl.foundation.frozen import is_mapping
from promptdsl.messages import (
    Block,
    DataBlock,
    EventBlock,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    block_from_dict,
)
from promptdsl.messages.blocks import CLASSES
from promptdsl.messages.field_checks import Cache, kind_of
from promptdsl.tree.data_nodes import data_node
from promptdsl.tree.masks import CALL, EVENT_BLOCK, MEDIA, OPAQUE, RESULT, TEXT, bits
from promptdsl.tree.node import DEFAULTS, Node, Options, implied, make, named_label
from promptdsl.tree.part_nodes import (
    EventBlockNode,
    MediaNode,
    ReasoningNode,
    TextBlockNode,
    TextNode,
    ToolResultNode,
    ToolUseNode,
)
from promptdsl.tree.rewrite import covering


def block_node(block: object, component: Node) -> Node:
    """Return the node of a block, or of its dictionary, that is content of a component."""
    kind = block.get("type") if is_mapping(block) else None
    if kind is not None and kind not in CLASSES:
        raise _unknown(block, component)
    try:
        return _node(block_from_dict(block), component)
    except PromptError as error:
        raise error.located(component.source) from None


def _node(block: Block, at: Node) -> Node:
    """Return the node that a component with the same content would be.

    A path in the block is data, so it is not opened like the path of an author.
    """
    if isinstance(block, DataBlock):
        return data_node(block, at, is_value=False)
    if isinstance(block, EventBlock):
        mask = bits(EVENT_BLOCK)
        return make(EventBlockNode, mask=mask, at=at, block=block, trusted=frozenset[str]())
    cache: Cache | None = getattr(block, "cache", None)
    options = DEFAULTS if cache is None else Options(cache=cache)
    option_bits = implied(options)
    match block:
        case TextBlock(text, cache, extra):
            if extra or (text and cache):
                mask = bits(TEXT) | option_bits
                return make(TextBlockNode, (text,), mask=mask, at=at, options=options, extra=extra)
            return make(TextNode, (text,), mask=bits(TEXT) | (0 if text else OPAQUE), at=at)
        case ToolUseBlock() | ReasoningBlock():
            cls = ToolUseNode if isinstance(block, ToolUseBlock) else ReasoningNode
            mask = bits(CALL) | option_bits
            return make(cls, mask=mask, at=at, options=options, block=block)
        case ToolResultBlock():
            return _result_node(block, at)
        case UnknownBlock():
            raise _unknown(block.data, at)
        case _:
            source = attrs.evolve(block.source, from_data=True)
            block = attrs.evolve(block, source=source)
            mask = bits(MEDIA) | option_bits
            return make(MediaNode, mask=mask, at=at, options=options, block=block)


def _result_node(block: ToolResultBlock, at: Node) -> ToolResultNode:
    """Return the node of a tool result; its content follows the rules of a ``ToolResult``."""
    content = tuple(_node(inner, at) for inner in block.content)
    for part in content:
        if part._mask & (CALL | RESULT | EVENT_BLOCK):
            raise PlacementError(
                f"{named_label(part)} cannot be in a ToolResult",
                fix="a tool result holds text and media only",
                at=(at.source,),
            )
    options = DEFAULTS
    if block.name is not None or block.cache is not None:
        options = Options(name=block.name, cache=block.cache or False)
    return make(
        ToolResultNode,
        content,
        mask=bits(RESULT, covering(content)) | implied(options),
        at=at,
        options=options,
        tool_use_id=block.tool_use_id,
        is_error=block.is_error,
        error_type=block.error_type,
    )


def _unknown(block: object, component: Node) -> ContentError:
    from promptdsl.components.provider_parts import provider_part

    if part := provider_part(block):
        problem = f"{part.description} cannot be content of {named_label(component)}"
        return ContentError(problem, fix=part.fix, at=(component.source,))
    kind = block.get("type") if is_mapping(block) else None
    name = kind[:60] if is_text(kind) else kind_of(kind)
    problem = f"a block of type {name!r} cannot be content of {named_label(component)}"
    fix = f"{nearest(name, CLASSES)}; write Json(value) for JSON, or its message in a History"
    if kind == "message":
        fix = "write a reply, or a recorded message, in a History: History([read_response(reply)])"
    return ContentError(problem, fix=fix, at=(component.source,))
