"""Payloads in the order of a provider's cache, and the beginning that two payloads share.

The order is: tools, settings such as the output schema, system text, messages. Cache marks are left
out: two texts with a cache mark between them are compared as one text. Read ``shared_by`` first.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias, cast

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.wires import of_all
from promptdsl.foundation.unicode import equal_start
from promptdsl.tokens.count import TextCounter
from promptdsl.tokens.encodings import last_cut
from promptdsl.tokens.payloads import (
    CONTENT_KEYS,
    ENTRY_KEYS,
    MARKS,
    REPLY,
    SYSTEM_PATHS,
    TEXT_TYPES,
    TOOL_PATHS,
    WireObject,
    WireValue,
    compact,
    definitions,
    entries_key,
    entry_tokens,
    pruned,
    value_at,
)

Payload: TypeAlias = WireObject

MAX_TOKEN_CHARACTERS = 64
"""The maximum number of characters in a token at the end of a common text."""
GAP = "\n\n"
"""The gap between two texts with a cache mark between them."""


@attrs.frozen
class CacheOrder:
    """A payload in the order of a cache; ``rest`` are all other settings.

    ``choice`` is the tool choice, if it changes what is cached. ``prompt`` is the text that a chat
    template wrote.
    """

    tools: Sequence[WireValue]
    rest: Payload
    system: Sequence[WireValue]
    choice: WireValue
    messages: Sequence[WireValue]
    prompt: str | None = None


class Shared(NamedTuple):
    """The beginning that two requests share, as a payload, and the location where it ends.

    ``location`` is ``""`` for equal requests. ``is_complete`` says that all of the first request is
    shared.
    """

    payload: Payload
    location: str
    is_complete: bool


def cache_order(payload: Payload, facts: ModelFacts) -> CacheOrder:
    """Return a payload of any provider in the order of a cache."""
    rest = {key: value for key, value in payload.items() if key not in _ELSEWHERE}
    config = _mapping(payload.get("config")) or {}
    config = {key: value for key, value in config.items() if key not in _ELSEWHERE}
    wire = facts.wire
    key, prompt = entries_key(payload), payload.get("prompt")
    return CacheOrder(
        [tool for path in TOOL_PATHS for tool in definitions(value_at(payload, *path))],
        {**rest, "config": config} if config else rest,
        [part for path in SYSTEM_PATHS for part in _items(value_at(payload, *path))],
        value_at(payload, *wire.choice) if wire.cached_choice else None,
        [] if key is None else _items(payload[key]),
        prompt if isinstance(prompt, str) else None,
    )


# The keys whose values have a field of ``CacheOrder``, so they are not in ``rest``.
_ELSEWHERE = frozenset(
    {
        *("prompt", *ENTRY_KEYS),
        *of_all(lambda wire: (*wire.tools, *wire.choice, *wire.system[:2])),
    }
)


def _items(value: WireValue) -> list[WireValue]:
    """Return the items of a list; any other value is the only item."""
    if isinstance(value, list | tuple):
        return [*cast("Sequence[WireValue]", value)]
    return [value] if value else []


def _mapping(value: WireValue) -> Payload | None:
    return value if isinstance(value, Mapping) else None


def beginning_tokens(payload: Payload, tokens: TextCounter, facts: ModelFacts) -> int:
    """Return the tokens of the beginning of a request, without the frame of the reply."""
    framed = 0 if "prompt" in payload else REPLY
    return entry_tokens(payload, tokens, facts).total - framed


def shared_by(before: CacheOrder, after: CacheOrder) -> Shared:
    """Return the beginning that two requests share."""
    if before.prompt is not None and after.prompt is not None:
        # The text that the chat template wrote, and the attachments in it.
        length = equal_start(before.prompt, after.prompt)
        count = _alike(before.messages, after.messages)
        text = after.prompt[: certain(before.prompt, after.prompt, length)]
        is_same = before.prompt == after.prompt and count == len(before.messages) == len(
            after.messages
        )
        payload = {"prompt": text, "messages": after.messages[:count]}
        return Shared(payload, "" if is_same else "prompt", is_complete=is_same)
    # Tools, then settings such as the output schema.
    count = _alike(before.tools, after.tools)
    shared: dict[str, WireValue] = {"tools": after.tools[:count]}
    if count < max(len(before.tools), len(after.tools)):
        return Shared(shared, f"tools[{count}]", is_complete=False)
    if _key(before.rest) != _key(after.rest):
        return Shared(shared, "settings", is_complete=False)
    shared.update(after.rest)
    # The system text. If the tool choice differs, nothing after it is shared.
    system = _common_beginning(_pieces("", before.system), _pieces("", after.system))
    shared["system"] = system.parts
    if not system.is_same:
        return Shared(shared, "system", is_complete=False)
    if _key(before.choice) != _key(after.choice):
        return Shared(shared, "tool_choice", is_complete=False)
    # The messages, and the beginning of the first message that differs.
    count = _alike(before.messages, after.messages)
    messages = [*after.messages[:count]]
    shared["messages"] = messages
    is_complete = count == len(before.messages)
    if is_complete and count == len(after.messages):
        return Shared(shared, "", is_complete=True)
    if not is_complete and count < len(after.messages):
        old, new = _mapping(before.messages[count]), _mapping(after.messages[count])
        if old and new and _key(_header(old)) == _key(_header(new)):
            content = _common_beginning(_message_pieces(old), _message_pieces(new))
            messages.append({**_header(new), "content": content.parts})
            is_complete = content.is_complete and count == len(before.messages) - 1
    return Shared(shared, f"messages[{count}]", is_complete=is_complete)


def _alike(before: Sequence[WireValue], after: Sequence[WireValue]) -> int:
    """Return how many values are equal at the beginning of two lists; cache marks do not count."""
    for index, (old, new) in enumerate(zip(before, after, strict=False)):
        # The first comparison is enough for most values. JSON with another order of keys differs.
        if compact(old) != compact(new) and _message_key(old) != _message_key(new):
            return index
    return min(len(before), len(after))


# Blocks, as a cache with cache marks compares them.


@attrs.define
class LocatedBlock:
    """A block of a request: a tool, system text or a payload part of a message.

    Blocks are compared by ``key``. The first block of a message has it as ``message``, without its
    content. ``part`` is ``None`` for a message without content.
    """

    location: str
    part: WireValue
    key: object
    is_marked: bool
    message: Payload | None


def cache_blocks(payload: Payload, order: CacheOrder) -> list[LocatedBlock]:
    """Return the blocks of a request in the order of a cache.

    A payload part that is only a cache mark belongs to the block before it. Other settings change
    the keys of all blocks but tools. Another tool choice changes the keys of messages.
    """
    blocks: list[LocatedBlock] = []

    def add(
        location: str, part: WireValue, settings_key: object, message: Payload | None = None
    ) -> None:
        parts = [part, *_items(value_at(message, "output"))]
        objects = [inner for inner in parts if isinstance(inner, Mapping)]
        is_marked = any(not MARKS.isdisjoint(inner) for inner in objects)
        if blocks and part is not None and not _is_part(part):
            blocks[-1].is_marked = True
        else:
            key = location, _text_of(part) or _key(part), message and _key(message), settings_key
            blocks.append(LocatedBlock(location, part, key, is_marked, message))

    settings = _key(order.rest)
    for path in TOOL_PATHS:
        for tool in _items(value_at(payload, *path)):
            add("tools", tool, None)
    for part in order.system:
        add("system", part, settings)
    for item in order.messages:
        message = _mapping(item) or {"role": "user", "content": item}
        parts = [part for key in CONTENT_KEYS for part in _items(message.get(key))]
        for index, part in enumerate(parts or [None]):
            header = None if index else _header(message)
            add("messages", part, (settings, _key(order.choice)), header)
    return blocks


def beginning_of(order: CacheOrder, blocks: Sequence[LocatedBlock]) -> Payload:
    """Return the payload of the first blocks of a request."""
    lists: dict[str, list[WireValue]] = {"tools": [], "system": []}
    messages: list[WireValue] = []
    content: list[WireValue] = []
    for block in blocks:
        if block.message is not None:
            content = []
            messages.append(
                block.message if block.part is None else {**block.message, "content": content}
            )
        lists.get(block.location, content).append(block.part)
    rest: Payload = order.rest if len(blocks) > len(lists["tools"]) else {}
    return {**lists, **rest, "messages": messages}


# Messages.


class ContentPiece(NamedTuple):
    """A payload part of a message, or several neighbouring parts that are one text.

    ``key`` is the key of the message that has it. Pieces are compared by ``key`` and ``identity``:
    the text, or a key made of another payload part.
    """

    key: str
    identity: "str | _Key"
    parts: tuple[WireValue, ...]


class _Beginning(NamedTuple):
    """The beginning that two contents share, as payload parts.

    ``is_same`` says that both contents are equal. ``is_complete`` says that all of the first
    content is shared.
    """

    parts: list[WireValue]
    is_same: bool
    is_complete: bool


def _message_key(message: WireValue) -> object:
    mapping = _mapping(message)
    if mapping is None:
        return message
    keys = [key for key in mapping if key not in MARKS]
    return keys, _key(_header(mapping)), [piece[:2] for piece in _message_pieces(mapping)]


_NO_HEADER = frozenset({*CONTENT_KEYS, *MARKS})
"""The keys of a message that are not in its header."""


def _header(message: Payload) -> Payload:
    """Return a message without its content and cache marks: mostly just its role."""
    return {key: value for key, value in message.items() if key not in _NO_HEADER}


def _message_pieces(message: Payload) -> list[ContentPiece]:
    return [piece for key in CONTENT_KEYS for piece in _pieces(key, _items(message.get(key)))]


def _common_beginning(before: list[ContentPiece], after: list[ContentPiece]) -> _Beginning:
    """Return the beginning that two contents share; two texts share their first tokens."""
    count = equal_start([piece[:2] for piece in before], [piece[:2] for piece in after])
    parts = [part for piece in after[:count] for part in piece.parts]
    if count in (len(before), len(after)):
        return _Beginning(parts, len(before) == len(after), count == len(before))
    old, new = before[count].identity, after[count].identity
    if before[count].key != after[count].key or isinstance(old, tuple) or isinstance(new, tuple):
        return _Beginning(parts, is_same=False, is_complete=False)
    # The payload parts of the second text, up to the last token that both texts share.
    length, start = equal_start(old, new), 0
    end = certain(old, new, length)
    for text in map(_text_of, after[count].parts):
        if text is not None and end > start:
            parts.append(text[: end - start])
        start += len(text or "") + len(GAP)
    is_complete = length == len(old) and count == len(before) - 1
    return _Beginning(parts, is_same=False, is_complete=is_complete)


def _pieces(key: str, items: Sequence[WireValue]) -> list[ContentPiece]:
    """Return the pieces of a content without cache marks; neighbouring texts are one piece."""
    pieces: list[ContentPiece] = []
    for is_text, group in groupby(filter(_is_part, items), lambda item: _text_of(item) is not None):
        if is_text:
            texts = tuple([_text_of(item) or "" for item in group])
            pieces.append(ContentPiece(key, GAP.join(texts), texts))
        else:
            pieces += [ContentPiece(key, _key(item), (item,)) for item in group]
    return pieces


def _is_part(item: WireValue) -> bool:
    """Return whether an item of a content is more than a cache mark."""
    mapping = _mapping(item)
    return mapping is None or not mapping.keys() <= MARKS


def _text_of(item: WireValue) -> str | None:
    """Return the text of a payload part, ``None`` if the part is more than a text."""
    if isinstance(item, str):
        return item
    part = _mapping(item)
    if part is None or not part.keys() <= _TEXT_KEYS or part.get("type") not in _TYPES_OF_TEXT:
        return None
    text = part.get("text")
    return text if isinstance(text, str) else None


_TEXT_KEYS = frozenset({"text", "type", *MARKS})
"""The keys of a payload part that is only a text."""
_TYPES_OF_TEXT = (None, *TEXT_TYPES)
"""The types of such a part; Gemini and Bedrock write none."""


_Key: TypeAlias = tuple[str, tuple[str | bytes, ...]]


def _key(value: WireValue) -> _Key:
    """Return a key to compare a value by: its JSON without cache marks, and the bytes in it."""
    without_marks, encoded = pruned(value, MARKS)
    return compact(without_marks), tuple(encoded)


def certain(before: str, after: str, length: int) -> int:
    """Return the length of the common beginning that surely has the same tokens in both texts.

    ``length`` is that of the common beginning, in characters. Its last token may continue
    differently in each text, so it is left out. The result is ``length`` if it is not known where a
    token ends near the end.
    """
    if all(
        length in (0, len(text)) or last_cut(text, length - 1, length) == length
        for text in (before, after)
    ):
        return length
    start = max(length - MAX_TOKEN_CHARACTERS, 0)
    return last_cut(after, start, length - 1) or (length if start else 0)
