"""Blocks built without checks, from values that are known to be valid.

A draft is an object of a subclass whose fields can be set. When all fields are set, its class is
changed to the frozen class. A text block takes 190 ns then instead of 710 ns, a message of one text
400 ns instead of 1,600 ns.
"""

from typing import Any

from promptdsl.foundation.frozen import EMPTY
from promptdsl.messages.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.field_checks import Cache


def draft_of(frozen_class: type) -> Any:  # Any: its slots may be set, which its base forbids
    """Return a subclass whose fields can be set; setting ``__class__`` freezes an object again."""
    # Calling a class without arguments is faster than object.__new__, which packs a tuple.
    methods = ("__init__", "__setattr__", "__delattr__")
    slots = {"__slots__": (), **{name: getattr(object, name) for name in methods}}
    return type(f"{frozen_class.__name__}Draft", (frozen_class,), slots)


_TextDraft = draft_of(TextBlock)
_ToolUseDraft = draft_of(ToolUseBlock)
_ToolResultDraft = draft_of(ToolResultBlock)


def text_block(text: str, cache: Cache | None = None) -> TextBlock:
    """Return ``TextBlock(text, cache)``."""
    draft = _TextDraft()
    draft.text = text
    draft.cache = cache
    draft.extra = EMPTY
    draft.__class__ = TextBlock
    block: TextBlock = draft
    return block


def tool_use_block(id: str, name: str, arguments: str) -> ToolUseBlock:
    """Return ``ToolUseBlock(id, name, arguments)``."""
    draft = _ToolUseDraft()
    draft.id = id
    draft.name = name
    draft.arguments = arguments
    draft.cache = None
    draft.extra = EMPTY
    draft.__class__ = ToolUseBlock
    block: ToolUseBlock = draft
    return block


def tool_result_block(
    tool_use_id: str, content: tuple[Block, ...], name: str | None = None
) -> ToolResultBlock:
    """Return ``ToolResultBlock(tool_use_id, content, name)``."""
    draft = _ToolResultDraft()
    draft.tool_use_id = tool_use_id
    draft.content = content
    draft.name = name
    draft.is_error = False
    draft.error_type = None
    draft.cache = None
    draft.extra = EMPTY
    draft.__class__ = ToolResultBlock
    block: ToolResultBlock = draft
    return block
