"""Blocks made ready to be sent, and data as text: recorded blocks, JSON, code, output schemas."""

import json
import os
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable
from functools import partial
from operator import is_
from typing import TypeAlias

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.transformation import FormatBlock
from promptdsl.foundation.errors import ContentError, OptionError
from promptdsl.foundation.escaping import text_of
from promptdsl.foundation.frozen import thawed
from promptdsl.foundation.guards import guard
from promptdsl.foundation.json import ABSENT, read_json
from promptdsl.foundation.source import Source, note_caller
from promptdsl.foundation.unicode import is_valid_unicode, valid_unicode
from promptdsl.messages import (
    Block,
    CodeBlock,
    DataBlock,
    DocumentBlock,
    JsonBlock,
    MediaBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from promptdsl.messages.blocks import default_text
from promptdsl.messages.media_type import MediaSource, file_name
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import OutputMode, OutputSchema
from promptdsl.messages.read_blocks import text_block
from promptdsl.rendering.text.encode import NoteLoss, StringRules, valid_text
from promptdsl.tree.masks import SYSTEM, TEXT
from promptdsl.tree.node import DEFAULTS, Node, make
from promptdsl.tree.part_nodes import CodeNode, JsonNode, TrustedTextNode, ValueNode, VerbatimNode
from promptdsl.tree.rewrite import make_turn
from promptdsl.tree.turn_nodes import OutputNode, PromptedOutputNode, TurnNode

# The output schema as text of the prompt, for targets that take no output schema.

OUTPUT_INSTRUCTION = "Answer with one JSON value that fits this JSON schema, and with nothing else:"
"""The text before an output schema that is sent as text."""


def mode_of(node: OutputNode, facts: ModelFacts) -> tuple[OutputMode, str]:
    """Return how the output schema is sent, and the reason if it is sent as text of the prompt.

    Raises :class:`OptionError` if the author chose ``mode="native"`` (a setting of the request),
    and the target takes none.
    """
    mode = node.schema.mode
    if mode == "prompted":
        return "prompted", ""
    if facts.provider is None:
        return "native", ""
    from promptdsl.providers.shared.schemas import why_not_native

    why = why_not_native(node.schema, facts)
    if why and mode == "native":
        fix = "leave mode out: the schema is then sent as text if the target needs that"
        raise OptionError(f"Output(mode='native'): {why}", fix=fix, at=(node.source,))
    return ("prompted", why) if why else ("native", "")


def prompted_text(output: OutputSchema) -> str:
    """Return the text that asks for an answer that fits a schema; equal schemas have equal texts.

    The schema is on one line, and has no tags.
    """
    schema = thawed(output.schema)
    texts = [output.description, schema.get("description")]
    if output.description is not None:
        schema = {**schema, "description": "\n\n".join(str(text) for text in texts if text)}
    text = json.dumps(schema, ensure_ascii=False).replace("<", "\\u003c")
    return f"{OUTPUT_INSTRUCTION}\n\n{text}"


def prompted_turn(node: PromptedOutputNode) -> TurnNode:
    """Return the system turn with the output schema as text, with the line of its author."""
    text = make(VerbatimNode, mask=TEXT, at=node, text=prompted_text(node.schema))
    return make_turn(
        TurnNode, (text,), SYSTEM, at=node, role="system", kind="written", options=DEFAULTS
    )


# Recorded blocks, made ready to be sent.

MediaRoots: TypeAlias = tuple[str | os.PathLike[str], ...]
"""The folders that data may name files in."""
MediaLoader: TypeAlias = Callable[[str], bytes | bytearray | Awaitable[bytes | bytearray]]
"""A function of the author that returns the bytes at an address."""
Replaced = Callable[[], object]
"""Called when a lone surrogate of a text was replaced."""


def sendable(
    message: Message,
    node: Node,
    index: int,
    *,
    media_roots: MediaRoots,
    lost: list[tuple[Node, int]],
) -> tuple[Message, bool]:
    """Return a recorded message whose blocks can be sent, and whether it has JSON or code.

    The message is the same object if nothing had to change. JSON and code become text later.
    ``node`` is the recording, ``index`` the index of the message in it. Both are appended to
    ``lost`` for each block in which a lone surrogate was replaced.
    """
    content = message.content
    # Most blocks need nothing: calls, valid texts, and results that are one valid text.
    for block in content:
        if type(block) is ToolUseBlock:
            continue
        text: Block = block
        if isinstance(block, ToolResultBlock) and len(block.content) == 1:
            text = block.content[0]
        if not isinstance(text, TextBlock) or not is_valid_unicode(text.text):
            break
    else:  # the loop did not break
        return message, False
    replaced = partial(lost.append, (node, index))
    blocks_to_send = tuple(
        sendable_block(block, media_roots=media_roots, replaced=replaced) for block in content
    )
    if not all(map(is_, blocks_to_send, content)):
        message = message.replace(content=blocks_to_send)
    return message, not is_text(message)


def sendable_block(block: Block, *, media_roots: MediaRoots, replaced: Replaced) -> Block:
    """Return a block that can be sent; the same object if nothing had to change."""
    if isinstance(block, DataBlock | TextBlock) and not isinstance(block, JsonBlock):
        text, changed = valid_unicode(block.text)
        if not changed:
            return block
        replaced()
        return attrs.evolve(block, text=text)
    if isinstance(block, MediaBlock) and block.source.kind == "path":
        from promptdsl.messages.attachment import read_path

        return with_bytes(block, read_path(block.source, media_roots, block.type))
    if isinstance(block, ToolResultBlock):
        content = tuple(
            sendable_block(inner, media_roots=media_roots, replaced=replaced)
            for inner in block.content
        )
        is_unchanged = all(map(is_, content, block.content))
        return block if is_unchanged else attrs.evolve(block, content=content)
    return block


def with_bytes(block: MediaBlock, source: MediaSource) -> MediaBlock:
    """Return an attachment with this source; a document without a title gets its file name."""
    if block.title is not None or not block.is_document:
        return attrs.evolve(block, source=source)
    return attrs.evolve(block, source=source, title=file_name(block.source.value) or None)


# A guarded conversation.


def guarded_block(block: Block, rules: StringRules) -> Block:
    """Return a recorded block whose text contains no fence."""
    if isinstance(block, TextBlock):
        return attrs.evolve(block, text=guard(block.text, rules.guards, rules.literals))
    if isinstance(block, ToolResultBlock):
        content = tuple(guarded_block(inner, rules) for inner in block.content)
        return attrs.evolve(block, content=content)
    return guarded_document(block, rules)


def guarded_document(block: Block, rules: StringRules) -> Block:
    """Return a document whose title and text, if it has one, contain no fence."""
    if not isinstance(block, DocumentBlock):
        return block
    source, title = block.source, block.title
    if title is not None:
        title = guard(title, rules.guards, rules.literals)
    if source.kind == "base64" and f"{source.media_type}".startswith("text/"):
        try:
            text = b64decode(source.value).decode(errors="surrogateescape")
        except ValueError:  # not base64: a target that reads it raises the error
            text = ""
        guarded = guard(text, rules.guards, rules.literals)
        if guarded != text:
            data = guarded.encode(errors="surrogateescape")
            source = attrs.evolve(source, value=b64encode(data).decode())
    return attrs.evolve(block, source=source, title=title)


# JSON and code: the blocks of nodes, and their text.


def data_block(node: JsonNode | CodeNode) -> DataBlock:
    """Return the block of a node, for ``format_block``."""
    if isinstance(node, CodeNode):
        return CodeBlock(code_of(node), node.language)
    value = read_json(node.text)
    if value is ABSENT:
        raise ContentError(
            "format_block cannot read this Json: it is nested too deep",
            fix="make it flatter, or render it without format_block",
            at=(node.source,),
        )
    return JsonBlock(value)


def code_of(node: CodeNode) -> str:
    """Return source code as it was written, without encoding."""
    texts: list[str] = []
    for child in node.content:
        if isinstance(child, str):
            texts.append(child)
        elif isinstance(child, ValueNode | TrustedTextNode):
            texts.append(child.text)
    return "".join(texts)


def formatted(block: Block, format_block: FormatBlock, at: object) -> str | None:
    """Return the text that the author's ``format_block`` returns, ``None`` for the default text."""
    try:
        text = format_block(block)
    except Exception as error:
        note_caller(error, at, f"format_block for a {block.type!r} block")
        raise
    if text is None:
        return None
    if isinstance(text, str):
        return text_of(text)
    raise ContentError(
        f"format_block returned {type(text).__name__} for a {block.type!r} block",
        fix="return its text, or None for the text it has by default",
        at=(at,),
    )


def is_text(message: Message) -> bool:
    """Return whether no block of a message is JSON or code, which has to become text."""
    if message._plain is not None:
        return True
    for block in message.content:
        inner_blocks = block.content if isinstance(block, ToolResultBlock) else (block,)
        if any(isinstance(inner_block, DataBlock) for inner_block in inner_blocks):
            return False
    return True


def as_text(
    message: Message, format_block: FormatBlock | None, at: Source | None, note: NoteLoss
) -> Message:
    """Return a recorded message whose JSON and code are text, by ``format_block`` or default."""
    if is_text(message):
        return message

    def reworded(block: Block) -> Block:
        if isinstance(block, ToolResultBlock):
            return attrs.evolve(block, content=tuple(map(reworded, block.content)))
        if not isinstance(block, DataBlock):
            return block
        text = None if format_block is None else formatted(block, format_block, at)
        if text is not None:
            return text_block(valid_text(text, note))
        return text_block(default_text(block))

    return message.replace(content=tuple(map(reworded, message.content)))
