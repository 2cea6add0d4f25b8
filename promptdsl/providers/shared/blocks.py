"""The blocks and their keys that a provider can express; any other one is a loss."""

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
from promptdsl.providers.shared.request import Carrier, Param, Place, Request

LOADER = "a media_loader can give it the bytes: render(..., media_loader=...)"
"""The advice for an attachment at an address that a target does not take."""

ITEM = "item"
"""The key of a block's extra with the ids it was recorded with, which are no loss."""

JSON = "json"
"""The key of a text's extra that says it is the JSON of a value: no loss where it stays a text."""

FROM = "origin_of_keys"
"""The key of a call's extra with the origin of its further keys, which is no loss."""

SIGNATURE = "thought_signature"
"""The key of Gemini's signature, also among the further keys of its calls at other servers."""

_SILENT = (ITEM, JSON, FROM)


class BlockRules(NamedTuple):
    """The rules by which a provider takes blocks.

    ``origin`` is the provider. ``read`` returns the block that the data of an unknown block
    describes. ``types`` are the types of blocks that a content may have, by the role of its place.
    ``writers`` are the functions that write a block, by its type. ``holds`` returns whether an
    attachment may stay in the result that it is in; any other is moved to the user's turn after it.
    """

    origin: str
    read: Callable[[JsonObject], Block]
    types: Mapping[str, Container[str]]
    writers: Mapping[str, Callable[..., Param | None]]
    holds: Callable[[Request, Place, Any], bool]  # Any: an attachment


def holds_file(request: Request, place: Place, block: MediaBlock) -> bool:
    """Return whether an attachment may stay in a result: its type, and that of its bytes, decide.

    An error is told in texts alone.
    """
    types, media_type = request.facts.result_media, plain_type(block.source.media_type)
    return place.role == "result" and (block.type in types or media_type in types)


def block_params(
    request: Request, place: Place, blocks: Iterable[Block], rules: BlockRules
) -> list[Param]:
    """Return the blocks that may be sent in a place as params; each other one is a loss."""
    params: list[Param] = []
    types = rules.types[place.role]
    holds = rules.holds if place.role in ("result", "error result") else None
    has_notes = request.notes is not None
    request.result = outer = request.block
    for request.block, written in enumerate(blocks):
        block: Block | None = written
        if written.type == "unknown":
            block = _known_block(request, place, written, rules)
        inside = place
        if holds and block and block.type in MEDIA_KINDS and not holds(request, place, block):
            inside = place.inside("user")
        if block and block.type not in (types if inside is place else rules.types["user"]):
            block = _known_block(request, inside, block, rules)
        if block is None:
            continue
        param = rules.writers[block.type](request, inside, block)
        if param and inside is not place:
            text = TextBlock(request.move(place, block, param))
            param = rules.writers["text"](request, place, text)
        if param:
            params.append(param)
            if has_notes:
                request.note(place, block, param)
        else:
            lose_mark(request, place, block)
    request.block, request.result = outer, None
    return params


def _known_block(request: Request, place: Place, block: Block, rules: BlockRules) -> Block | None:
    """Return an unknown block as one of the provider, ``None`` (a loss) for any other block."""
    reason = ""
    if isinstance(block, UnknownBlock):
        reason = why_unknown(block, *request.facts.origins)
        if not reason:
            try:
                block = rules.read(block.data)
            except DataError as error:
                reason = error.what
    if not reason and block.type not in rules.types[place.role]:
        reason = misplaced(place)
    if not reason:
        return block
    lose_block(request, place, block, reason)
    return None


_WHERE = {
    **{"system": "system text", "leading": "system text", "developer": "a developer message"},
    **{"user": "a user message", "tool": "a tool message", "assistant": "an assistant message"},
    **{"result": "a tool result", "error result": "the result of a call that failed"},
}


def misplaced(place: Place) -> str:
    """Return the reason why a block is not sent: its type is not taken in this place."""
    return f"the target takes no such block in {_WHERE[place.role]}"


def lose_blank(request: Request, place: Place, block: TextBlock) -> bool:
    """Return whether a text is blank, so that no target gets it; white space is a hint."""
    if not is_blank(block.text):
        return False
    if block.text:
        request.hint(place, "white_space", "text block", "only white space: left out")
    return True


def lose_block(request: Request, place: Place, block: Block, reason: str) -> None:
    """Lose a block with its cache mark; reasoning is a hint, any other content is a loss of it."""
    name = block.kind if isinstance(block, UnknownBlock) else block.type
    what = f"{on_one_line(name[:60])} block"
    # Mistral's thoughts are parts of the content.
    is_thought = isinstance(block, UnknownBlock) and block.origin and name == "thinking"
    if block.type == "reasoning" or is_thought:
        lose_reasoning(request, place, block, reason, what=what)
    else:
        request.lose(place, "content", what, reason)
    lose_mark(request, place, block)


def lose_reasoning(
    request: Request, place: Place, block: Block, reason: str, *, what: str = "reasoning"
) -> None:
    """Record reasoning that is not sent; its signatures of a server are lost content.

    What is of a server is told with its name, and with that of the target.
    """
    origin = getattr(block, "origin", None)
    if origin is not None and wire_of(origin).is_server:
        reason = f"it is of {origin}, and {request.facts.provider} does not take it"
    request.hint(place, "unsent_reasoning", what, reason)
    if FROM in getattr(block, "extra", {}):
        lose_keys(request, place, block)


def lose_mark(request: Request, place: Place, block: Block) -> None:
    """Lose the cache mark of a block that is not sent, if it has one."""
    if getattr(block, "cache", None):
        request.hint(place, "cache_mark", "cache mark", "the block before it is not sent")


def lose_source(
    request: Request, place: Place, block: MediaBlock, reason: str, *, loadable: bool = False
) -> None:
    """Lose an attachment because of its source; ``loadable``: the bytes at it may be taken."""
    described = filter(None, (block.source.kind, block.source.media_type))
    what = f"{block.type} ({', '.join(described)})"
    request.lose(place, "content", what, f"{reason}; {LOADER}" if loadable else reason)


def lose_keys(request: Request, place: Place, block: Block, known: Container[str] = ()) -> None:
    """Lose the further keys of a block that are not sent; an empty value is no loss."""
    extra: JsonObject = getattr(block, "extra", {})
    for key, value in extra.items():
        if value and key not in _SILENT and key not in known:
            why = _why_unsent(request, block.type, extra)
            _lose_key(request, place, key, value=value, reason=why)


def _why_unsent(request: Request, kind: str, extra: JsonObject) -> str:
    origin, provider = extra.get(FROM), request.facts.provider
    if origin is None:
        return f"the target takes no such key on a block of type {kind}"
    why = f"it is of {origin}, and {provider} does not take it"
    if origin == provider == OPEN:
        return f"{why}: name the server, such as provider='openrouter'"
    return why


def _lose_key(request: Request, place: Place, key: str, *, value: object, reason: str) -> None:
    """Record a key that is not sent: a hint, or lost content where it holds a signature."""
    if is_signed(key, value):
        request.lose(place, "content", f"key {key!r}", reason)
    else:
        request.hint(place, "unsent_key", f"key {key!r}", reason)


def is_signed(key: str, value: object) -> bool:
    """Return whether a key holds a signature, or encrypted reasoning, of a server."""
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


HOLDERS = ("extra_content", "provider_specific_fields")
"""The keys of a call's extra under which servers near OpenAI have a signature of Gemini."""


def signature_of(extra: JsonObject) -> Any:  # Any: JSON
    """Return the signature of Gemini among the further keys of a call, ``None`` without one."""
    for holder in HOLDERS:
        keys = extra.get(holder)
        google = keys.get("google", keys) if is_mapping(keys) else None
        if is_mapping(google) and google.get(SIGNATURE):
            return google[SIGNATURE]
    return extra.get(SIGNATURE)


def further_keys(
    request: Request,
    place: Place,
    block: Carrier,
    known: Collection[str],
    *,
    used: Collection[str] = (),
) -> Param:
    """Return the further keys that the param may have and has not ``used``; others are hints."""
    keys: Param = {}
    for key, value in block.extra.items():
        if value is not None and key in known:
            keys[key] = json_copy(value)
        elif value is not None and key not in (*used, *_SILENT):
            why = _why_unsent(request, block.type, block.extra)
            _lose_key(request, place, key, value=value, reason=why)
    return keys
