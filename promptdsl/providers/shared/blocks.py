"""Write the blocks of a message as a provider takes them. Any other block is a loss.

First come texts and JSON in a form that can be sent, then the blocks (read ``block_params``), then
the origin of content that was read from a server.
"""

import base64
import json
import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, cast

import attrs

from promptdsl.config.models import OPEN
from promptdsl.config.wire import Wire
from promptdsl.config.wires import wire_of
from promptdsl.foundation.errors import DataError
from promptdsl.foundation.escaping import attribute
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.foundation.guards import guard
from promptdsl.foundation.json import JsonObject, read_json, write_json
from promptdsl.foundation.unicode import is_blank, is_valid_unicode, on_one_line, valid_unicode
from promptdsl.messages import (
    Block,
    MediaBlock,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
)
from promptdsl.messages.media_type import MEDIA_KINDS, MediaSource, data_url, plain_type
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt, ToolDefinition
from promptdsl.providers.shared.reading import why_unknown
from promptdsl.providers.shared.request import Carrier, Location, Param, Request

# Texts, JSON, names and attachments in a form that can be sent: lone surrogates become U+FFFD.

V = TypeVar("V")

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
"""A surrogate in JSON text, plain or escaped. It may be lone or belong to a pair."""

REFUSED = re.compile(r"[^a-zA-Z0-9_-]")
"""A character that most providers refuse in names and ids."""

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""A control character, or the end of a line."""

_NO_FILE = re.compile(rf"[/\\]|{CONTROL.pattern}")
"""The characters that a file name cannot have: separators of paths, control characters."""

_MAX_FILE_NAME = 255
"""The greatest length of a file name on most systems."""

_OFFICE = "application/vnd.openxmlformats-officedocument."
_SUFFIXES = {
    "text/plain": "txt",
    "text/markdown": "md",
    "text/csv": "csv",
    "text/html": "html",
    "application/json": "json",
    "application/rtf": "rtf",
    "application/msword": "doc",
    "application/vnd.ms-excel": "xls",
    _OFFICE + "wordprocessingml.document": "docx",
    _OFFICE + "spreadsheetml.sheet": "xlsx",
    _OFFICE + "presentationml.presentation": "pptx",
}

TEXT_TYPE = re.compile(
    r"text/.*|application/(.*\+(json|xml|yaml)|(x-)?(json[a-z0-9]*|ndjson|xml|yaml|toml|sql|sh"
    r"|javascript|typescript|python))"
)
"""The media types of texts, code among them (OpenAI's documentation of file inputs)."""


def utf8(text: str) -> str:
    """Return a text with U+FFFD for lone surrogates, which UTF-8 cannot encode."""
    return valid_unicode(text)[0]


def mended(name: str, longest: int, refused: re.Pattern[str] = REFUSED) -> str:
    """Return the first ``longest`` characters of a name or an id, ``_`` for each refused one."""
    return (refused.sub("_", name) or "_")[:longest]


def json_copy(value: V) -> V:
    """Return a copy of a JSON value, with U+FFFD for lone surrogates.

    Raises :class:`DataError` for a value that JSON cannot express.
    """
    # The data of an author has at most 200 levels. A payload adds a few levels around it.
    text = write_json(value, outer_levels=10)
    if "\\ud" in text:  # an escaped surrogate, or a text that looks like one
        text = utf8(json.dumps(value, ensure_ascii=False))
    return cast("V", json.loads(text))


def arguments_of(request: Request, location: Location, block: ToolUseBlock) -> Param:
    """Return the arguments of a call as an object.

    Arguments that are not a JSON object become a text in an object, with a hint.
    """
    text = block.arguments
    arguments = read_json(text if has_arguments(request, location, block) else "{}")
    if not isinstance(arguments, dict):
        why = "they are not a JSON object, so they are sent as a text in an object"
        request.hint(location, "mended_arguments", "arguments of a call", why)
        return {"arguments": utf8(text)}
    if ("\\u" in text or not text.isascii()) and _SURROGATE.search(text):
        copied = json_copy(arguments)
        if copied != arguments:
            request.lose_surrogate(location, f"arguments of {block.name}")
        return copied
    return arguments


def has_arguments(request: Request, location: Location, block: ToolUseBlock) -> bool:
    """Return whether the arguments of a call are not blank. It records a hint for blank arguments.

    Models write blank arguments for a tool without parameters, and servers fail to read them in the
    next request (vllm-project/vllm#19419). So the caller sends ``{}``, like Pydantic AI 2.68.
    """
    if is_blank(block.arguments):
        why = "they are blank, so {} is sent"
        request.hint(location, "mended_arguments", "arguments of a call", why)
        return False
    return True


def are_arguments(text: str) -> bool:
    """Return whether the text of a call's arguments is a JSON object."""
    return text == "{}" or isinstance(read_json(text), dict)


def text_of_arguments(request: Request, location: Location, block: ToolUseBlock, key: str) -> str:
    """Return the arguments of a call as text, with a hint if the text is not a JSON object.

    ``key`` is the key of the text in the payload. With any other key than ``arguments``, the tool
    takes any text, so there is no hint.
    """
    if key == "arguments" and not are_arguments(block.arguments):
        if not has_arguments(request, location, block):
            return "{}"
        why = "they are not a JSON object, and are sent unchanged"
        request.hint(location, "mended_arguments", "arguments of a call", why)
    return request.clean(location, block.arguments, key)


def is_sendable(request: Request, location: Location, *texts: str | None) -> bool:
    """Return whether reasoning has no lone surrogate, so that it can be sent unchanged.

    It records a hint if it cannot.
    """
    if all(is_valid_unicode(text) for text in texts if text):
        return True
    why = "it has a lone surrogate, which cannot be sent"
    request.hint(location, "unsent_reasoning", "reasoning", why)
    return False


def with_bytes(source: MediaSource) -> MediaSource:
    """Return a source. A ``data:`` address becomes a source with the bytes in the address."""
    return (data_url(source.value) if source.kind == "url" else None) or source


def text_of_file(source: MediaSource) -> str | None:
    """Return the text of a file, ``None`` if there are no bytes or they are not a text."""
    if source.kind != "base64" or not TEXT_TYPE.fullmatch(plain_type(source.media_type) or ""):
        return None
    try:
        return base64.b64decode(source.value).decode()
    except ValueError:
        return None


def fenced(tag: str, text: str, **attributes: str | None) -> str:
    """Return a text in a tag. The text cannot close the tag. Empty attributes are left out."""
    written_attributes = [
        f' {key}="{attribute(value)}"' for key, value in attributes.items() if value
    ]
    return f"<{tag}{''.join(written_attributes)}>\n{guard(text, (tag,))}\n</{tag}>"


def file_name(title: str | None, media_type: str) -> str:
    """Return the file name of a document: its title, or ``document`` with a suffix for its type.

    Services read the type of a file from the suffix.
    """
    if not title or title.isspace():
        return f"document.{_SUFFIXES.get(media_type, 'pdf')}"
    return _NO_FILE.sub("_", title)[:_MAX_FILE_NAME]


def lose_title(request: Request, location: Location, title: str, name: str) -> None:
    """Record a hint if the name of a document in the payload is not its title."""
    if name != title:
        reason = f"it is blank, too long, or has refused characters: sent as {name[:60]!r}"
        request.hint(location, "mended_name", "title of a document", reason)


# Write the blocks of a message as a provider takes them. Any other block is a loss.
#
# A function ``lose_x`` records a loss or a hint: ``x`` is not sent. It does not change the payload.

LOADER = "a media_loader can give it the bytes: render(..., media_loader=...)"
"""The advice about an attachment if the target does not take its address."""

ITEM = "item"
"""The key in ``extra`` for the ids with which a block was recorded. It is never a loss."""

JSON = "json"
"""The key in the ``extra`` of a text that says: the text is JSON. It is never a loss."""

ORIGIN_KEY = "origin_of_keys"
"""The key in ``extra`` for the server that sent the other keys there. It is never a loss."""

SIGNATURE = "thought_signature"
"""The key of Gemini's signature, also in ``extra`` of calls that other servers wrote."""

_SILENT = (ITEM, JSON, ORIGIN_KEY)
"""The keys in ``extra`` that are never reported: promptdsl wrote them, not the provider."""


class BlockRules(NamedTuple):
    """The rules by which a provider takes blocks.

    ``origin`` is the provider. ``read`` makes a block of the data of an unknown block. ``types``
    has, for each role of a content, the types of blocks that the content may have. ``writers`` has
    the function that writes each type of block. ``holds`` returns whether an attachment may stay in
    its result; if not, it moves to the user message after the result.
    """

    origin: str
    read: Callable[[JsonObject], Block]
    types: Mapping[str, Container[str]]
    writers: Mapping[str, Callable[..., Param | None]]
    holds: Callable[[Request, Location, Any], bool]  # Any: an attachment


def holds_file(request: Request, location: Location, block: MediaBlock) -> bool:
    """Return whether an attachment may stay in a result, by its type and its media type.

    The result of a failed call has texts only.
    """
    types, media_type = request.facts.result_media, plain_type(block.source.media_type)
    return location.role == "result" and (block.type in types or media_type in types)


def block_params(
    request: Request, location: Location, blocks: Iterable[Block], rules: BlockRules
) -> list[Param]:
    """Return the params of the blocks that may be sent at this location.

    Every other block is a loss. An attachment that may not stay in a result moves to the next user
    message, and a text replaces it.
    """
    params: list[Param] = []
    types = rules.types[location.role]
    holds = rules.holds if location.role in ("result", "error result") else None
    has_notes = request.notes is not None
    # If a block is being written already, it is a result, and these are the blocks in it.
    request.result_index = outer_index = request.block_index
    for index, original in enumerate(blocks):
        request.block_index = index
        block: Block | None = original
        if original.type == "unknown":
            block = _readable_block(request, location, original, rules)
        destination = location
        if holds and block and block.type in MEDIA_KINDS and not holds(request, location, block):
            destination = location.with_role("user")
        if block and block.type not in (types if destination is location else rules.types["user"]):
            block = _readable_block(request, destination, block, rules)
        if block is None:
            continue
        param = rules.writers[block.type](request, destination, block)
        if param and destination is not location:
            text = TextBlock(request.move_file(location, block, param))
            param = rules.writers["text"](request, location, text)
        if param:
            params.append(param)
            if has_notes:
                request.note(location, block, param)
        else:
            lose_mark(request, location, block)
    request.block_index, request.result_index = outer_index, None
    return params


def _readable_block(
    request: Request, location: Location, block: Block, rules: BlockRules
) -> Block | None:
    """Return a block that the provider takes here, or record a loss and return ``None``.

    The data of an unknown block is read as a block of the provider.
    """
    reason = ""
    if isinstance(block, UnknownBlock):
        reason = why_unknown(block, *request.facts.origins)
        if not reason:
            try:
                block = rules.read(block.data)
            except DataError as error:
                reason = error.what
    if not reason and block.type not in rules.types[location.role]:
        reason = misplaced(location)
    if not reason:
        return block
    lose_block(request, location, block, reason)
    return None


# The location in words, by the role of the content.
_WHERE = {
    **{"system": "system text", "leading": "system text", "developer": "a developer message"},
    **{"user": "a user message", "tool": "a tool message", "assistant": "an assistant message"},
    **{"result": "a tool result", "error result": "the result of a call that failed"},
}


def misplaced(location: Location) -> str:
    """Return why a block is not sent: the target takes no block of its type at this location."""
    return f"the target takes no such block in {_WHERE[location.role]}"


def left_out_as_blank(request: Request, location: Location, block: TextBlock) -> bool:
    """Return whether a text is blank, so that it is not sent; record a hint for white space."""
    if not is_blank(block.text):
        return False
    if block.text:
        why = "it is only white space, so it is left out"
        request.hint(location, "white_space", "text block", why)
    return True


def lose_block(request: Request, location: Location, block: Block, reason: str) -> None:
    """Record that a block and its cache mark are not sent: a hint for reasoning, else a loss."""
    name = block.kind if isinstance(block, UnknownBlock) else block.type
    what = f"{on_one_line(name[:60])} block"
    # At Mistral, reasoning is a part of the content, of type ``thinking``.
    is_thinking = isinstance(block, UnknownBlock) and block.origin and name == "thinking"
    if block.type == "reasoning" or is_thinking:
        lose_reasoning(request, location, block, reason, what=what)
    else:
        request.lose(location, "content", what, reason)
    lose_mark(request, location, block)


def lose_reasoning(
    request: Request, location: Location, block: Block, reason: str, *, what: str = "reasoning"
) -> None:
    """Record that reasoning is not sent: a hint, and a loss if keys in ``extra`` have a signature.

    For reasoning of a server, the reason names the server and the target.
    """
    origin = getattr(block, "origin", None)
    if origin is not None and wire_of(origin).is_server:
        reason = f"it comes from {origin}, and {request.facts.provider} does not take it"
    request.hint(location, "unsent_reasoning", what, reason)
    if ORIGIN_KEY in getattr(block, "extra", {}):
        lose_keys(request, location, block)


def lose_mark(request: Request, location: Location, block: Block) -> None:
    """Record a hint about the cache mark, if a block that is not sent has one."""
    if getattr(block, "cache", None):
        request.hint(location, "cache_mark", "cache mark", "the block before it is not sent")


def lose_source(
    request: Request, location: Location, block: MediaBlock, reason: str, *, loadable: bool = False
) -> None:
    """Record a loss: the target does not take the source of an attachment.

    If it may take the bytes at the address (``loadable``), the loss advises to load them.
    """
    described = filter(None, (block.source.kind, block.source.media_type))
    what = f"{block.type} ({', '.join(described)})"
    request.lose(location, "content", what, f"{reason}; {LOADER}" if loadable else reason)


def lose_keys(
    request: Request, location: Location, block: Block, sent_keys: Container[str] = ()
) -> None:
    """Record the keys in ``extra`` that are not sent, except those with an empty value."""
    extra: JsonObject = getattr(block, "extra", {})
    for key, value in extra.items():
        if value and key not in _SILENT and key not in sent_keys:
            reason = _why_unsent(request, block.type, extra)
            _lose_key(request, location, key, value=value, reason=reason)


def _why_unsent(request: Request, kind: str, extra: JsonObject) -> str:
    """Return why a key in the ``extra`` of a block of this type is not sent."""
    origin, provider = extra.get(ORIGIN_KEY), request.facts.provider
    if origin is None:
        return f"the target takes no such key on a block of type {kind}"
    why = f"it comes from {origin}, and {provider} does not take it"
    if origin == provider == OPEN:
        return f"{why}: name the server, such as provider='openrouter'"
    return why


def _lose_key(
    request: Request, location: Location, key: str, *, value: object, reason: str
) -> None:
    """Record a key that is not sent: a loss if it has a signature, otherwise a hint."""
    if is_signed(key, value):
        request.lose(location, "content", f"key {key!r}", reason)
    else:
        request.hint(location, "unsent_key", f"key {key!r}", reason)


def is_signed(key: str, value: object) -> bool:
    """Return whether the value of a key has a server's signature, or encrypted reasoning in it."""
    if key == "reasoning_opaque":  # its value is a text that only the server can read
        return True
    unvisited = [value]
    while unvisited:
        value = unvisited.pop()
        if is_list(value):
            unvisited += value
        elif is_mapping(value):
            unvisited += value.values()
            if value.get("type") in _ENCRYPTED or any(value.get(name) for name in _SIGNATURES):
                return True
    return False


_SIGNATURES = ("signature", SIGNATURE, "thought_signatures")
"""The keys of signatures, at any depth of a value."""
_ENCRYPTED = ("reasoning.encrypted", "redacted_thinking")
"""The types of objects with encrypted reasoning."""


CONTAINERS = ("extra_content", "provider_specific_fields")
"""The keys in the ``extra`` of a call under which servers with the Chat format put a signature."""


def signature_of(extra: JsonObject) -> Any:  # Any: JSON
    """Return Gemini's signature in the ``extra`` of a call, ``None`` if there is none."""
    for container in CONTAINERS:
        fields = extra.get(container)
        google = fields.get("google", fields) if is_mapping(fields) else None
        if is_mapping(google) and google.get(SIGNATURE):
            return google[SIGNATURE]
    return extra.get(SIGNATURE)


def further_keys(
    request: Request,
    location: Location,
    block: Carrier,
    allowed: Collection[str],
    *,
    used: Collection[str] = (),
) -> Param:
    """Return the ``allowed`` keys of a block's ``extra``; record a hint or a loss for each other.

    There is no hint about ``used`` keys: the param already says what they say.
    """
    keys: Param = {}
    for key, value in block.extra.items():
        if value is not None and key in allowed:
            keys[key] = json_copy(value)
        elif value is not None and key not in (*used, *_SILENT):
            reason = _why_unsent(request, block.type, block.extra)
            _lose_key(request, location, key, value=value, reason=reason)
    return keys


# The origin of content that was read from a server: the server, not the provider of its format.
#
# The adapter of a provider also reads the servers with its format, such as ``openrouter``. It does
# not know the server, so it names itself or its format as the origin of the content. The functions
# here replace this origin by the name of the server.
#
# A ``Wire`` is the record of a provider or a server. ``wire.name`` is its name, and
# ``wire.origins`` are all origins that its adapter may name.


def prompt_with_server_as_origin(prompt: Prompt, wire: Wire) -> Prompt:
    """Return a prompt that was read from a server, with the server as the origin of its content.

    Messages, tools and a conversation that the server stores (``stored``) may have an origin. So
    may calls whose results do not follow at once: ``unpaired_at`` is the provider whose payload had
    them, because other providers may refuse this order.
    """
    stored = prompt.stored
    if stored is not None and stored.origin in wire.origins:
        stored = attrs.evolve(stored, origin=wire.name)
    is_unpaired_at_server = prompt.unpaired_at in wire.origins
    return attrs.evolve(
        prompt,
        messages=tuple(message_with_server_as_origin(message, wire) for message in prompt.messages),
        tools=tuple(_tool_of_server(tool, wire) for tool in prompt.tools),
        stored=stored,
        unpaired_at=wire.name if is_unpaired_at_server else prompt.unpaired_at,
    )


def message_with_server_as_origin(message: Message, wire: Wire) -> Message:
    """Return a message that was read from a server, with the server as the origin of its blocks."""
    # Most messages consist of one text, ``_plain``. They have no block with an origin.
    if message._plain is not None:
        return message
    blocks = _blocks_of_server(message.content, wire)
    return message if blocks == message.content else message.replace(content=blocks)


def _tool_of_server(tool: ToolDefinition, wire: Wire) -> ToolDefinition:
    # The origin matters only for a tool with raw data. Every server takes a function.
    is_raw_of_server = tool.raw is not None and tool.origin in wire.origins
    return attrs.evolve(tool, origin=wire.name) if is_raw_of_server else tool


def _blocks_of_server(blocks: Sequence[Block], wire: Wire) -> tuple[Block, ...]:
    new_blocks: list[Block] = []
    for block in blocks:
        new_block: Block = block
        if isinstance(block, ToolResultBlock):
            new_block = attrs.evolve(block, content=_blocks_of_server(block.content, wire))
        elif isinstance(block, ReasoningBlock | UnknownBlock) and block.origin in wire.origins:
            new_block = attrs.evolve(block, origin=wire.name)
        # ``extra`` has keys that only some servers know, and under ``ORIGIN_KEY`` the name of their
        # server. They were read from this server, whatever name the adapter wrote there.
        if isinstance(new_block, ReasoningBlock | ToolUseBlock) and ORIGIN_KEY in new_block.extra:
            new_block = attrs.evolve(new_block, extra={**new_block.extra, ORIGIN_KEY: wire.name})
        new_blocks.append(new_block)
    return tuple(new_blocks)
