"""What a snapshot shows of blocks: the signs of blocks that are not text, and how each is sent.

Signs come first. Read :func:`sent_prompt` first in the second part: it returns the blocks of a
prompt, each with how it is sent.
"""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence, Set
from itertools import chain
from typing import Any, NamedTuple, cast

import attrs

from promptdsl import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    OutputSchema,
    PendingToolCalls,
    ReasoningBlock,
    Rendered,
    SentLocation,
    Span,
    TargetError,
    TextBlock,
    ToolResultBlock,
    VideoBlock,
)
from promptdsl.comparing.snapshot_file import ShownTexts
from promptdsl.foundation.frozen import is_mapping

# The signs of blocks that are not text, and schemas as text with a line for each property.


def as_one_word(text: str) -> str:
    """Return a text as one word.

    A text that is empty, has blanks or could be misread is returned as a JSON string.
    """
    plain = text and not text.startswith('"') and not any(map(str.isspace, text))
    return text if plain and not text.endswith((",", ":")) else json_text(text)


def cache_sign(cache: str) -> str:
    """Return the sign of a cache mark; ``cache`` is its lifetime, such as ``5m``."""
    return "─⚑ cache" if cache == "default" else f"─⚑ cache {cache}"


def attachment(
    block: ImageBlock | AudioBlock | DocumentBlock | VideoBlock, texts: ShownTexts
) -> str:
    """Return the words for an attachment: its type, size and digest, or its address; its title."""
    source = block.source
    words: list[str] = [block.type, *filter(None, [block.media_type])]
    content: bytes | None = None
    if source.kind == "base64" or source.value[:5].lower() == "data:":
        try:
            content = base64.b64decode(source.value, validate=True)
        except ValueError:
            content = source.value.encode(errors="surrogatepass")
    if content is None:
        words.append(source.kind)
        address = [texts.name(as_one_word(source.value))]
    else:
        size = block.pixels
        words += [f"{size[0]}x{size[1]}"] if size else []
        words += [f"{len(content):,} B", f"sha256:{_digest(content)}"]
        address = []
    title = [] if block.title is None else ["titled", texts.name(as_one_word(block.title))]
    detail = [] if block.detail is None else ["detail", texts.line(as_one_word(block.detail))]
    return " ".join([texts.line(" ".join(words)), *address, *title, *detail])


def reasoning(block: ReasoningBlock, texts: ShownTexts) -> str:
    """Return the words for reasoning: its origin, and digests of what only its origin can read."""
    secrets = (("signature", block.signature), ("encrypted", block.encrypted))
    words = ["reasoning", *([] if block.origin is None else ["of", as_one_word(block.origin)])]
    for name, secret in secrets:
        if secret is not None:
            words += [name, f"sha256:{_digest(secret.encode(errors='surrogatepass'))}"]
    return texts.line(" ".join(words))


def _digest(content: bytes) -> str:
    """Return the first 12 digits of a SHA-256: enough to show that a content has changed."""
    return hashlib.sha256(content).hexdigest()[:12]


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
"""A name of a property that is shown without quotes."""
_TYPES = ("string", "integer", "number", "boolean", "array", "object", "null")


def schema_text(schema: object, texts: ShownTexts) -> str:
    r"""Return a JSON schema as text: a line for each property, then the other keys as JSON.

    >>> city = {"type": "string", "description": "A city.\nBy name."}
    >>> print(schema_text({"type": "object", "properties": {"city": city}}, ShownTexts({})))
    city (string): A city.⟦LF⟧By name.
    """
    keys: dict[str, Any] = dict(cast("Mapping[str, object]", schema))  # Any: JSON data
    if not isinstance(keys.get("properties"), dict) or keys.get("type") != "object":
        return texts.data(json_text(keys))
    properties = cast("Mapping[str, object]", keys["properties"])
    required: list[object] = keys.get("required", [])
    required_properties = [name for name in properties if name in required]
    if "required" in keys and (not required_properties or required_properties != list(required)):
        # The list is empty, in another order, or has other names: it is shown with the other keys.
        required_properties = []
    else:
        keys.pop("required", None)
    del keys["type"], keys["properties"]
    lines: list[str] = []
    for name, property_schema in properties.items():
        kind, other_keys, description = _property(property_schema)
        words = [kind, "required"] if name in required_properties else [kind]
        shown_name = name if _NAME.fullmatch(name) else json_text(name)
        typed = texts.line(f"{shown_name} ({', '.join(words)})")
        lines.append(typed + texts.data(other_keys) + texts.name(description))
    lines += [texts.data(json_text(keys))] if keys or not lines else []
    return "\n".join(lines)


def _property(schema: object) -> tuple[str, str, str]:
    """Return the type of a property, the other keys of its schema, and its description."""
    if not isinstance(schema, dict):
        return "schema", f" {json_text(schema)}", ""
    rest = dict(cast("Mapping[str, object]", schema))  # Any: JSON data
    description = rest.get("description")
    is_described = isinstance(description, str)
    if is_described:
        del rest["description"]
    kind = " or ".join(_types(rest.get("type")))
    if kind:
        del rest["type"]
    other_keys = f" {json_text(rest)}" if rest else ""
    return kind or "any", other_keys, f": {description}" if is_described else ""


def _types(kind: object) -> list[str]:
    """Return the names in the ``type`` of a schema.

    The list is empty unless ``type`` is one name, or a list of two or more names.
    """
    if isinstance(kind, list):
        kinds = cast("list[object]", kind)
        names = [name for name in kinds if isinstance(name, str) and name in _TYPES]
        return names if 1 < len(names) == len(kinds) else []
    return [kind] if isinstance(kind, str) and kind in _TYPES else []


def json_text(value: object) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


# The blocks of a prompt, each with how it is sent: its role, its cache mark, or not at all.

UNSENT = -2
"""The ``message_index`` of a block that is not sent."""


@attrs.define
class SentBlock:
    """How a block is sent: the index and the role of its message in the request.

    ``message_index`` is ``UNSENT`` for a block that is not sent, and -1 for system text outside the
    messages. ``cache`` is the cache mark that is sent. ``before`` and ``after`` are texts that the
    adapter adds around the block. ``id`` is the id of a call or result as it is sent.
    """

    message_index: int = UNSENT
    role: str = ""
    cache: str | None = None
    id: str | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    added_messages: tuple[tuple[str, str], ...] = ()
    """The messages that the adapter adds before the block: role and text."""
    is_error: bool = False
    """Whether a result is sent with the flag for an error."""
    is_joined: bool = False
    """Whether the block and the next block are sent as one text, with an empty line between."""
    fence: str = ""
    """The name of the tag around a text that the target can only take in a tag, or ``""``."""
    is_changed: bool = False
    """Whether the text that is sent differs from the text of the block."""


@attrs.define
class PromptBlock:
    """A block of a prompt with its spans, and how it is sent.

    ``requested_cache`` is its cache mark in the prompt. ``is_unsent`` is whether a loss or a hint
    says that the block is not sent. ``inner`` are the blocks in the result of a tool.
    """

    block: Block
    spans: Sequence[Span]
    requested_cache: str | None
    is_unsent: bool
    inner: "list[PromptBlock]"
    sent_block: SentBlock


class SentPrompt(NamedTuple):
    """The blocks of each message, and in ``tail`` the messages that are added at the end.

    ``names`` are the names that are sent: of speakers, and of the output schema. If there is no
    target, or calls have no results yet, nobody knows how the prompt is sent: ``is_known`` is
    false, and every block is shown as it is in the prompt.
    """

    blocks: list[list[PromptBlock]]
    tail: tuple[tuple[str, str], ...]
    names: Set[str | None]
    is_known: bool


def sent_prompt(rendered: Rendered) -> SentPrompt:
    """Return the blocks of a prompt, and how each is sent."""
    blocks = _blocks_as_written(rendered)
    try:
        locations = rendered.locations()
    except (TargetError, PendingToolCalls):
        names = {message.name for message in rendered.messages}
        if rendered.output is not None:
            names.add(rendered.output.name)
        return SentPrompt(blocks, (), names, is_known=False)
    for block in chain.from_iterable(blocks):
        block.sent_block = SentBlock()
    tail = _add_locations(blocks, locations)
    speakers = {location.speaker for location in locations}
    return SentPrompt(blocks, tail, speakers | {None, "", _schema_name(rendered)}, is_known=True)


def _blocks_as_written(rendered: Rendered) -> list[list[PromptBlock]]:
    """Return the blocks of each message as they are in the prompt."""
    blocks: list[list[PromptBlock]] = []
    for message in rendered._request_view.messages:
        blocks.append([])
        for view_block in message.blocks:
            block = _block_as_written(
                view_block.block, view_block.spans, is_unsent=view_block.is_unsent
            )
            blocks[-1].append(block)
            for inner in view_block.inner:
                block.inner.append(
                    _block_as_written(inner.block, inner.spans, is_unsent=inner.is_unsent)
                )
    return blocks


def _block_as_written(block: Block, spans: Sequence[Span], *, is_unsent: bool) -> PromptBlock:
    """Return a block with its cache mark in the prompt: from the block, else from its last span."""
    cache: str | None = getattr(block, "cache", None)
    if cache is None and spans:
        cache = spans[-1].cache
    return PromptBlock(block, spans, cache, is_unsent, [], SentBlock(message_index=0, cache=cache))


def _add_locations(
    blocks: Sequence[Sequence[PromptBlock]], locations: Sequence[SentLocation]
) -> tuple[tuple[str, str], ...]:
    """Write into each block how it is sent; return the messages that are added at the end.

    ``locations`` are the locations of all texts and blocks of the payload, in order. A location
    without a block is a text that the adapter adds. Such texts are collected until the next text
    of the prompt.
    """
    added_locations: list[SentLocation] = []
    last_text_block = result_block = SentBlock()
    # About the last tool result: its address, and whether a text of the prompt in it was passed.
    result_address: tuple[str | int, ...] = ()
    has_text = False
    for location, following in zip(locations, (*locations[1:], None), strict=False):
        address = location.address[: len(result_address)]
        is_in_result = bool(result_address) and address == result_address
        if location.message is None or location.block is None:
            if not is_in_result:
                added_locations.append(location)
            elif has_text:
                result_block.after += _added_text(location.text)
            else:
                result_block.before += _added_text(location.text)
            continue
        if location.inner is not None:
            has_text = has_text or (is_in_result and location.text != "")
            continue
        prompt_block = blocks[location.message][location.block]
        block, sent_block = prompt_block.block, prompt_block.sent_block
        sent_block.message_index, sent_block.role = _message_index(location), location.role
        sent_block.is_error, sent_block.fence = location.is_error, location.fence
        sent_block.cache, sent_block.id = location.cache, location.id
        if location.text:
            _add_around(sent_block, location.address, last_text_block, added_locations)
            last_text_block, added_locations = sent_block, []
            # Two texts with one address are sent as one text.
            sent_block.is_joined = following is not None and following.address == location.address
        if location.fence in ("developer", "tool_result"):
            sent_block.before += (f"<{location.fence}>",)
            sent_block.after = (f"</{location.fence}>",)
        if isinstance(block, TextBlock):
            sent_block.is_changed = bool(location.text) and block.text not in location.text
        elif isinstance(block, ToolResultBlock):
            result_block, result_address, has_text = sent_block, location.address, False
    end = SentBlock()
    _add_around(end, (), last_text_block, added_locations)
    return end.added_messages


def _add_around(
    next_text_block: SentBlock,
    next_address: tuple[str | int, ...],
    last_text_block: SentBlock,
    added_locations: Sequence[SentLocation],
) -> None:
    """Add each text of the adapter to a text of the prompt next to it, or as a message.

    A text in the message of the last text is added after the last text, unless the block of the
    next text contains it. A text in the message of the next text is added before the next text. Any
    other text is a message between them. ``next_address`` is the address of the block of the next
    text; empty at the end.
    """
    for addition in added_locations:
        texts, message_index = _added_text(addition.text), _message_index(addition)
        if message_index == last_text_block.message_index and addition.address != next_address:
            last_text_block.after += texts
        elif message_index == next_text_block.message_index:
            next_text_block.before += texts
        else:
            next_text_block.added_messages += tuple((addition.role, text) for text in texts)


def _message_index(location: SentLocation) -> int:
    """Return the index of the message of a location; -1 for system text outside the messages."""
    return -1 if location.entry is None else location.entry


def _added_text(text: str) -> tuple[str, ...]:
    """Return a text that the adapter adds, without line ends around it; ``()`` if it is blank."""
    text = text.strip("\n")
    return (text,) if text.strip() else ()


def _schema_name(rendered: Rendered) -> str | None:
    """Return the name of the output schema in the payload; ``None`` if no schema is sent.

    A schema that is sent without a name has the default name.
    """
    wire = rendered.facts.wire
    output_format: object = rendered._payload() if rendered.output_mode == "native" else None
    for key in wire.output:
        output_format = output_format.get(key) if is_mapping(output_format) else None
    if not is_mapping(output_format) or wire.output_schema not in output_format:
        return None
    return str(output_format.get("name", OutputSchema({}).name))
