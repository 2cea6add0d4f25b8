"""Content blocks, and their dictionaries, as content of a component.

:func:`block_node` makes a node of each. Before it is the advice for an author who passed a part of
a provider's request instead.
"""

from collections.abc import Mapping
from typing import NamedTuple

import attrs

from promptdsl.components.scope import is_text
from promptdsl.config.wire import CALL as CALL_PART
from promptdsl.config.wire import TEXT as TEXT_PART
from promptdsl.config.wire import Part, Wire
from promptdsl.config.wires import provider_formats
from promptdsl.foundation.errors import ContentError, PlacementError, PromptError, nearest
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.remedies import is_reply
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
    data_node,
)
from promptdsl.tree.rewrite import deep_bits

# The advice for an author who passed a part of a provider's request as content of a component.
#
# The records of the providers (``config/records.py``) list the types of their parts.


class ProviderPart(NamedTuple):
    """A payload part of a provider: its description for an error, and what to write instead."""

    description: str
    fix: str


def provider_part(value: object) -> ProviderPart | None:
    """Return the description of a value that is a payload part; ``None`` for any other value."""
    if not is_mapping(value) or is_reply(value):
        return None
    for wire in provider_formats():
        name = _keyed_name(value, wire) if wire.keyed else _typed_name(value, wire)
        if name is not None:
            fix = f"write {_instead(name, wire.parts[name], value)}"
            history = f"a recorded message is History.from_{wire.name}([message])"
            return ProviderPart(f"a part {name!r} of {wire.name}", f"{fix}; {history}")
    return None


def _typed_name(value: Mapping[str, object], wire: Wire) -> str | None:
    """Return the ``type`` of a payload part, ``None`` if the provider does not have this type.

    A type that content blocks have, too, is not a payload part, nor is the definition of a tool.
    """
    kind = value.get("type")
    if not isinstance(kind, str) or kind not in wire.parts or kind in CLASSES:
        return None
    function = value.get("function")
    is_definition = is_mapping(function) and "arguments" not in function
    return None if is_definition else kind


def _keyed_name(value: Mapping[str, object], wire: Wire) -> str | None:
    """Return the type of a payload part whose only key is its type.

    Returns ``None`` if the provider does not have this type.
    """
    if len(value) != 1:
        return None
    (key,) = value
    name = key if key in wire.parts else _with_underscores(str(key))
    if name not in wire.parts:
        return None
    is_text = wire.parts[name] == TEXT_PART
    is_part = isinstance(value[key], str) if is_text else is_mapping(value[key])
    return name if is_part else None


def _with_underscores(name: str) -> str:
    """Return ``inlineData`` as ``inline_data``, because an SDK takes both."""
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name)


def _instead(name: str, payload_part: Part, value: Mapping[str, object]) -> str:
    """Return what an author writes instead of a payload part."""
    name = _with_underscores(name)
    if payload_part.media is not None:
        component = _media_component(payload_part.media, next(iter(value.values())))
        return f"{component}.from_url(url), {component}.from_base64(data) or .from_file_id(id)"
    if payload_part.texts == CALL_PART.texts:
        return "ToolUse(name, input, id=...) in an Assistant"
    if name.endswith(("_output", "_response", "_result")):
        return "ToolMessage(id, text)"
    if name == "cache_point":
        return "CacheBreakpoint(), or cache=True on a turn"
    if "reasoning" in name or "thinking" in name:
        return "Reasoning(text, signature=...) in an Assistant"
    return "the text itself"


def _media_component(kind: str, content: object) -> str:
    """Return the component of an attachment.

    Gemini's parts do not have the kind in their name, so it is read from their media type.
    """
    if is_mapping(content):
        media_type = content.get("mime_type", content.get("mimeType"))
        top = str(media_type).partition("/")[0]
        if top in ("image", "audio", "video"):
            kind = top
    return kind.capitalize()


# Content blocks, and their dictionaries, as content of a component: a node for each.


def block_node(block: object, component: Node) -> Node:
    """Return the node of a block, or of the dictionary of a block, in a component.

    Raises :class:`ContentError` for a dictionary that is not a block.
    """
    kind = block.get("type") if is_mapping(block) else None
    if kind is not None and kind not in CLASSES:
        raise _unknown(block, component)
    try:
        return _node(block_from_dict(block), component)
    except PromptError as error:
        raise error.located(component.source) from None


def _node(block: Block, at: Node) -> Node:
    """Return the node of a block, the same as that of a component with this content.

    A path in the block is data, so the file is read only under a declared media root.
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
    """Return the node of a tool result; raises the error of ``ToolResult`` for its content."""
    content = tuple(_node(inner, at) for inner in block.content)
    for node in content:
        if node._mask & (CALL | RESULT | EVENT_BLOCK):
            raise PlacementError(
                f"{named_label(node)} cannot be in a ToolResult",
                fix="a tool result holds text and media only",
                at=(at.source,),
            )
    options = DEFAULTS
    if block.name is not None or block.cache is not None:
        options = Options(name=block.name, cache=block.cache or False)
    return make(
        ToolResultNode,
        content,
        mask=bits(RESULT, deep_bits(content)) | implied(options),
        at=at,
        options=options,
        tool_use_id=block.tool_use_id,
        is_error=block.is_error,
        error_type=block.error_type,
    )


def _unknown(block: object, component: Node) -> ContentError:
    """Return the error for a block, or a dictionary, of a type that promptdsl does not have."""
    if payload_part := provider_part(block):
        problem = f"{payload_part.description} cannot be content of {named_label(component)}"
        return ContentError(problem, fix=payload_part.fix, at=(component.source,))
    kind = block.get("type") if is_mapping(block) else None
    name = kind[:60] if is_text(kind) else kind_of(kind)
    problem = f"a block of type {name!r} cannot be content of {named_label(component)}"
    fix = f"{nearest(name, CLASSES)}; write Json(value) for JSON, or its message in a History"
    if kind == "message":
        fix = "write a reply, or a recorded message, in a History: History([read_response(reply)])"
    return ContentError(problem, fix=fix, at=(component.source,))
