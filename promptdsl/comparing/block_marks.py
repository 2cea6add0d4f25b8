"""Blocks that are no text in a snapshot: the text of each, and how it is sent."""

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

# The text of marks for blocks that are no text, and of schemas, with a line for each property.


def as_one_word(text: str) -> str:
    """Return a text as one word: as a JSON string if it has blanks or could be misread."""
    plain = text and not text.startswith('"') and not any(map(str.isspace, text))
    return text if plain and not text.endswith((",", ":")) else json_text(text)


def cache_mark(cache: str) -> str:
    """Return the mark of a position up to which a provider caches."""
    return "─⚑ cache" if cache == "default" else f"─⚑ cache {cache}"


def attachment(
    block: ImageBlock | AudioBlock | DocumentBlock | VideoBlock, texts: ShownTexts
) -> str:
    """Return the words for an attachment: its type, size and digest or its address; its title."""
    source = block.source
    words: list[str] = [block.type, *filter(None, [block.media_type])]
    data: bytes | None = None
    if source.kind == "base64" or source.value[:5].lower() == "data:":
        try:
            data = base64.b64decode(source.value, validate=True)
        except ValueError:
            data = source.value.encode(errors="surrogatepass")
    if data is None:
        words.append(source.kind)
        address = [texts.name(as_one_word(source.value))]
    else:
        size = block.pixels
        words += [f"{size[0]}x{size[1]}"] if size else []
        words += [f"{len(data):,} B", f"sha256:{_digest(data)}"]
        address = []
    title = [] if block.title is None else ["titled", texts.name(as_one_word(block.title))]
    detail = [] if block.detail is None else ["detail", texts.line(as_one_word(block.detail))]
    return " ".join([texts.line(" ".join(words)), *address, *title, *detail])


def reasoning(block: ReasoningBlock, texts: ShownTexts) -> str:
    """Return the words for reasoning: its origin, and digests of what only its provider reads."""
    secrets = (("signature", block.signature), ("encrypted", block.encrypted))
    words = ["reasoning", *([] if block.origin is None else ["of", as_one_word(block.origin)])]
    for name, value in secrets:
        if value is not None:
            words += [name, f"sha256:{_digest(value.encode(errors='surrogatepass'))}"]
    return texts.line(" ".join(words))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
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
    needed = [name for name in properties if name in required]
    if "required" in keys and (not needed or needed != list(required)):
        needed = []  # empty or in another order: the list is kept with the other keys
    else:
        keys.pop("required", None)
    del keys["type"], keys["properties"]
    lines: list[str] = []
    for name, value in properties.items():
        kind, more, description = _property(value)
        words = [kind, "required"] if name in needed else [kind]
        shown = name if _NAME.fullmatch(name) else json_text(name)
        typed = texts.line(f"{shown} ({', '.join(words)})")
        lines.append(typed + texts.data(more) + texts.name(description))
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
    more = f" {json_text(rest)}" if rest else ""
    return kind or "any", more, f": {description}" if is_described else ""


def _types(kind: object) -> list[str]:
    """Return the names of types; an empty list unless they are one name, or a list of several."""
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
"""The number of the message of a block that is not sent."""


@attrs.define
class SentBlock:
    """How a block is sent: the number and role of its message in the request.

    ``number`` is ``UNSENT`` for a block that is not sent, and -1 for system text outside the
    messages. ``before`` and ``after`` are texts that the adapter adds around it. ``id`` is the id
    of a call or result as it is sent.
    """

    number: int = UNSENT
    role: str = ""
    cache: str | None = None
    id: str | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    added_messages: tuple[tuple[str, str], ...] = ()
    """The messages that the adapter adds before it: role and text."""
    is_error: bool = False
    """Whether a result is sent with the flag of an error."""
    is_joined: bool = False
    """Whether an empty line and more text follow it in the block that is sent."""
    fence: str = ""
    """The name of the tag around a text that can only be sent in a tag."""
    is_changed: bool = False
    """Whether its text is changed when it is sent."""


@attrs.define
class PromptBlock:
    """A block of a prompt with its spans, and how it is sent.

    ``wanted`` is its cache mark in the prompt. ``is_unsent`` is whether a loss or a hint says that
    it is not sent. ``inner`` are the blocks in a result.
    """

    block: Block
    spans: Sequence[Span]
    wanted: str | None
    is_unsent: bool
    inner: "list[PromptBlock]"
    sent: SentBlock


class SentPrompt(NamedTuple):
    """The blocks of each message, and the messages that are added at the end.

    ``names`` are the names that are sent: of speakers, and of the output schema. Where
    ``is_known`` is false, nothing is known of how it is sent: there is no target, or calls have no
    results yet. Then every block is shown as it is in the prompt.
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
        block.sent = SentBlock()
    tail = _add_locations(blocks, locations)
    speakers = {location.speaker for location in locations}
    return SentPrompt(blocks, tail, speakers | {None, "", _schema_name(rendered)}, is_known=True)


def _blocks_as_written(rendered: Rendered) -> list[list[PromptBlock]]:
    """Return the blocks of each message as they are in the prompt."""
    blocks: list[list[PromptBlock]] = []
    for message in rendered._request_view.messages:
        blocks.append([])
        for part in message.blocks:
            block = _block_as_written(part.block, part.spans, is_unsent=part.is_unsent)
            blocks[-1].append(block)
            for inner in part.inner:
                block.inner.append(
                    _block_as_written(inner.block, inner.spans, is_unsent=inner.is_unsent)
                )
    return blocks


def _block_as_written(block: Block, spans: Sequence[Span], *, is_unsent: bool) -> PromptBlock:
    """Return a block with its cache mark in the prompt: its own, or that after its text."""
    wanted: str | None = getattr(block, "cache", None)
    if wanted is None and spans:
        wanted = spans[-1].cache
    return PromptBlock(block, spans, wanted, is_unsent, [], SentBlock(number=0, cache=wanted))


def _add_locations(
    blocks: Sequence[Sequence[PromptBlock]], locations: Sequence[SentLocation]
) -> tuple[tuple[str, str], ...]:
    """Note in each block how it is sent; return the messages that are added at the end."""
    added: list[SentLocation] = []
    last = result = SentBlock()
    in_result: tuple[str | int, ...] = ()
    has_text = False
    for location, following in zip(locations, (*locations[1:], None), strict=False):
        is_inside = bool(in_result) and location.address[: len(in_result)] == in_result
        if location.message is None or location.block is None:
            if not is_inside:
                added.append(location)
            elif has_text:
                result.after += _added_text(location.text)
            else:
                result.before += _added_text(location.text)
            continue
        if location.inner is not None:
            has_text = has_text or (is_inside and location.text != "")
            continue
        prompt_block = blocks[location.message][location.block]
        block, sent = prompt_block.block, prompt_block.sent
        sent.number, sent.role, sent.is_error = _number(location), location.role, location.is_error
        sent.cache, sent.id, sent.fence = location.cache, location.id, location.fence
        if location.text:
            _add_around(sent, location.address, last, added)
            last, added = sent, []
            sent.is_joined = following is not None and following.address == location.address
        if location.fence in ("developer", "tool_result"):
            sent.before += (f"<{location.fence}>",)
            sent.after = (f"</{location.fence}>",)
        if isinstance(block, TextBlock):
            sent.is_changed = bool(location.text) and block.text not in location.text
        elif isinstance(block, ToolResultBlock):
            result, in_result, has_text = sent, location.address, False
    end = SentBlock()
    _add_around(end, (), last, added)
    return end.added_messages


def _add_around(
    sent: SentBlock, address: tuple[str | int, ...], last: SentBlock, added: Sequence[SentLocation]
) -> None:
    """Put the texts that were added since the last text after it, before the next, or between.

    ``address`` is the address of the next text; empty at the end.
    """
    for addition in added:
        texts, number = _added_text(addition.text), _number(addition)
        if number == last.number and addition.address != address:
            last.after += texts
        elif number == sent.number:
            sent.before += texts
        else:
            sent.added_messages += tuple((addition.role, text) for text in texts)


def _number(location: SentLocation) -> int:
    return -1 if location.entry is None else location.entry


def _added_text(text: str) -> tuple[str, ...]:
    """Return a text that the adapter adds, without blank lines around it; ``()`` if it is blank."""
    text = text.strip("\n")
    return (text,) if text.strip() else ()


def _schema_name(rendered: Rendered) -> str | None:
    """Return the name of the output schema that is sent, its default if it is sent without one."""
    wire = rendered.facts.wire
    output_format: object = rendered._payload() if rendered.output_mode == "native" else None
    for key in wire.output:
        output_format = output_format.get(key) if is_mapping(output_format) else None
    if not is_mapping(output_format) or wire.output_schema not in output_format:
        return None
    return str(output_format.get("name", OutputSchema({}).name))
