"""Write the blocks of a message as a provider takes them; any other block or key is a loss.

A function ``lose_x`` records that ``x`` is not sent, as a loss or a hint of the request. It does
not change what is sent.
"""

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from typing import Any, NamedTuple

from promptdsl.config.models import OPEN
from promptdsl.config.wires import wire_of
from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.foundation.json import JsonObject
from promptdsl.foundation.unicode import is_blank, on_one_line
from promptdsl.messages import Block, MediaBlock, TextBlock, UnknownBlock
from promptdsl.messages.media.source import MEDIA_KINDS, plain_type
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.other_providers import why_unknown
from promptdsl.providers.shared.request import Carrier, Location, Param, Request

LOADER = "a media_loader can give it the bytes: render(..., media_loader=...)"
"""The advice about an attachment whose address the target does not take."""

ITEM = "item"
"""The key in ``extra`` for the ids that a block was recorded with. It is never a loss."""

JSON = "json"
"""The key in the ``extra`` of a text that is the JSON of a value. It is never a loss."""

ORIGIN_KEY = "origin_of_keys"
"""The key in ``extra`` for the origin of the further keys of a block. It is never a loss."""

SIGNATURE = "thought_signature"
"""The key of Gemini's signature, also in ``extra`` of calls that other servers wrote."""

_SILENT = (ITEM, JSON, ORIGIN_KEY)


class BlockRules(NamedTuple):
    """The rules by which a provider takes blocks.

    ``origin`` is the provider. ``read`` reads the data of an unknown block as a block. ``types``
    are the types of blocks that a content may have, by its role. ``writers`` are the functions that
    write a block, by its type. ``holds`` returns whether an attachment may stay in its result. If
    not, it is moved to the user message after the result.
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
    """Return the params of the blocks that may be sent here; every other block is a loss."""
    params: list[Param] = []
    types = rules.types[location.role]
    holds = rules.holds if location.role in ("result", "error result") else None
    has_notes = request.notes is not None
    request.result = outer = request.block
    for request.block, written in enumerate(blocks):
        block: Block | None = written
        if written.type == "unknown":
            block = _known_block(request, location, written, rules)
        inside = location
        if holds and block and block.type in MEDIA_KINDS and not holds(request, location, block):
            inside = location.inside("user")
        if block and block.type not in (types if inside is location else rules.types["user"]):
            block = _known_block(request, inside, block, rules)
        if block is None:
            continue
        param = rules.writers[block.type](request, inside, block)
        if param and inside is not location:
            text = TextBlock(request.move(location, block, param))
            param = rules.writers["text"](request, location, text)
        if param:
            params.append(param)
            if has_notes:
                request.note(location, block, param)
        else:
            lose_mark(request, location, block)
    request.block, request.result = outer, None
    return params


def _known_block(
    request: Request, location: Location, block: Block, rules: BlockRules
) -> Block | None:
    """Return an unknown block as a block of the provider, ``None`` (a loss) if it is none."""
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


_WHERE = {
    **{"system": "system text", "leading": "system text", "developer": "a developer message"},
    **{"user": "a user message", "tool": "a tool message", "assistant": "an assistant message"},
    **{"result": "a tool result", "error result": "the result of a call that failed"},
}


def misplaced(location: Location) -> str:
    """Return the reason that a block of this type is not sent at this location."""
    return f"the target takes no such block in {_WHERE[location.role]}"


def left_out_as_blank(request: Request, location: Location, block: TextBlock) -> bool:
    """Return whether a text is blank and so not sent; record a hint if it has white space."""
    if not is_blank(block.text):
        return False
    if block.text:
        request.hint(location, "white_space", "text block", "only white space: left out")
    return True


def lose_block(request: Request, location: Location, block: Block, reason: str) -> None:
    """Record that a block and its cache mark are not sent: a hint for reasoning, else a loss."""
    name = block.kind if isinstance(block, UnknownBlock) else block.type
    what = f"{on_one_line(name[:60])} block"
    # At Mistral, thoughts are parts of the content.
    is_thought = isinstance(block, UnknownBlock) and block.origin and name == "thinking"
    if block.type == "reasoning" or is_thought:
        lose_reasoning(request, location, block, reason, what=what)
    else:
        request.lose(location, "content", what, reason)
    lose_mark(request, location, block)


def lose_reasoning(
    request: Request, location: Location, block: Block, reason: str, *, what: str = "reasoning"
) -> None:
    """Record reasoning that is not sent: a hint, and a loss for signatures of a server.

    For reasoning of a server, the reason names the server and the target.
    """
    origin = getattr(block, "origin", None)
    if origin is not None and wire_of(origin).is_server:
        reason = f"it comes from {origin}, and {request.facts.provider} does not take it"
    request.hint(location, "unsent_reasoning", what, reason)
    if ORIGIN_KEY in getattr(block, "extra", {}):
        lose_keys(request, location, block)


def lose_mark(request: Request, location: Location, block: Block) -> None:
    """Record the cache mark of a block that is not sent, if it has one."""
    if getattr(block, "cache", None):
        request.hint(location, "cache_mark", "cache mark", "the block before it is not sent")


def lose_source(
    request: Request, location: Location, block: MediaBlock, reason: str, *, loadable: bool = False
) -> None:
    """Record an attachment that is lost because of its source.

    ``loadable`` is whether the target may take the bytes at the address.
    """
    described = filter(None, (block.source.kind, block.source.media_type))
    what = f"{block.type} ({', '.join(described)})"
    request.lose(location, "content", what, f"{reason}; {LOADER}" if loadable else reason)


def lose_keys(
    request: Request, location: Location, block: Block, known: Container[str] = ()
) -> None:
    """Record the keys in ``extra`` that are not sent, except those with an empty value."""
    extra: JsonObject = getattr(block, "extra", {})
    for key, value in extra.items():
        if value and key not in _SILENT and key not in known:
            why = _why_unsent(request, block.type, extra)
            _lose_key(request, location, key, value=value, reason=why)


def _why_unsent(request: Request, kind: str, extra: JsonObject) -> str:
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
    """Return whether a key has a signature of a server, or encrypted reasoning."""
    if key == "reasoning_opaque":
        return True
    items = [value]
    while items:
        item = items.pop()
        if is_list(item):
            items += item
        elif is_mapping(item):
            items += item.values()
            if item.get("type") in _ENCRYPTED or any(item.get(name) for name in _SIGNATURES):
                return True
    return False


_SIGNATURES = ("signature", SIGNATURE, "thought_signatures")
_ENCRYPTED = ("reasoning.encrypted", "redacted_thinking")


CONTAINERS = ("extra_content", "provider_specific_fields")
"""The keys in ``extra`` of a call for Gemini's signature, at servers with the Chat format."""


def signature_of(extra: JsonObject) -> Any:  # Any: JSON
    """Return Gemini's signature in the ``extra`` of a call, ``None`` without one."""
    for container in CONTAINERS:
        keys = extra.get(container)
        google = keys.get("google", keys) if is_mapping(keys) else None
        if is_mapping(google) and google.get(SIGNATURE):
            return google[SIGNATURE]
    return extra.get(SIGNATURE)


def further_keys(
    request: Request,
    location: Location,
    block: Carrier,
    known: Collection[str],
    *,
    used: Collection[str] = (),
) -> Param:
    """Return the keys in ``extra`` that the param may have; a hint for each other key.

    ``used`` are keys that the param has already.
    """
    keys: Param = {}
    for key, value in block.extra.items():
        if value is not None and key in known:
            keys[key] = json_copy(value)
        elif value is not None and key not in (*used, *_SILENT):
            why = _why_unsent(request, block.type, block.extra)
            _lose_key(request, location, key, value=value, reason=why)
    return keys
