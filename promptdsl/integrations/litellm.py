"""LiteLLM: the dictionaries of ``litellm.completion``, both ways. LiteLLM itself is not imported.

It takes OpenAI Chat messages for every provider, so they are written as for a server that speaks
Chat: a developer's message as a system message, names left out.
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

import attrs

from promptdsl import (
    Block,
    DataError,
    Message,
    ReasoningBlock,
    Rendered,
    ToolResultBlock,
    read_payload,
)
from promptdsl.integrations import Bridged
from promptdsl.integrations.losses import Crossing, read_cache
from promptdsl.integrations.values import SIGNATURE, entries_of, items_of, listed


def from_litellm(
    messages: Iterable[Any], *, origin: str | None = None
) -> Bridged[tuple[Message, ...]]:
    """Return the messages of a LiteLLM conversation, for a ``History``.

    Takes dictionaries and LiteLLM's own ``Message``. What a model thought is read from
    ``thinking_blocks``; ``origin`` is the provider it came from, to which alone it may be sent
    again. What has no form here is in ``losses``. Raises :class:`DataError` for what is no message
    of Chat.
    """
    given = [_plain(item) for item in listed(messages, "LiteLLM's messages")]
    found = list[Message]()
    crossing = Crossing("promptdsl")
    read = read_payload(given, "openai").messages
    for crossing.index, item in enumerate(given):
        try:
            found.append(_whole(crossing, read[crossing.index], item, origin))
        except DataError as error:
            where = f"messages[{crossing.index}]"
            raise DataError(f"{where}: {error.what}", fix=error.fix) from None
    return Bridged(tuple(found), crossing.checked(strict=False))


def _plain(item: Any) -> Any:
    """Return a message as a dictionary in which an address is a mapping, as Chat has it."""
    item = item.model_dump(exclude_none=True) if hasattr(item, "model_dump") else item
    parts = items_of(entries_of(item).get("content"))
    return {**entries_of(item), "content": [*map(_addressed, parts)]} if parts else item


def _addressed(part: Any) -> Any:
    entries = entries_of(part)
    url = entries.get("image_url")
    return {**entries, "image_url": {"url": url}} if isinstance(url, str) else part


def _whole(
    crossing: Crossing, message: Message, item: Mapping[str, Any], origin: str | None
) -> Message:
    """Return a message with what LiteLLM keeps beside its content."""
    blocks = _signed(crossing, _marked(crossing, message.content, item), item)
    thoughts = _thoughts(item, origin)
    blocks = [b for b in blocks if not (thoughts and type(b) is ReasoningBlock)]
    blocks = [*thoughts, *blocks, *_pictures(item)]
    if item.get("annotations"):
        crossing.lose("hint", "annotations of a message")
    if item.get("provider_specific_fields"):
        crossing.lose("hint", "provider_specific_fields of a message")
    return message if tuple(blocks) == message.content else message.replace(content=tuple(blocks))


def _marked(
    crossing: Crossing, blocks: tuple[Block, ...], item: Mapping[str, Any]
) -> tuple[Block, ...]:
    """Return the blocks of a content with the marks and the formats of their parts."""
    result = blocks[0] if blocks and type(blocks[0]) is ToolResultBlock else None
    inner = blocks if result is None else result.content
    content: Any = item.get("content")
    parts = list(cast("Iterable[Any]", content)) if isinstance(content, list | tuple) else []
    changed = [_part(crossing, *pair) for pair in zip(inner, parts, strict=False)]
    inner = (*changed, *inner[len(changed) :])
    blocks = inner if result is None else (attrs.evolve(result, content=inner),)
    mark = read_cache(crossing, item.get("cache_control"))
    last: Any = blocks[-1] if blocks and mark else None
    if mark and not hasattr(last, "cache"):
        crossing.lose("hint", "a cache mark", "it stands behind nothing")
        return blocks
    return (*blocks[:-1], attrs.evolve(last, cache=mark)) if mark else blocks


def _part(crossing: Crossing, block: Any, part: Mapping[str, Any]) -> Any:
    mark = read_cache(crossing, part.get("cache_control"))
    if mark and hasattr(block, "cache"):
        block = attrs.evolve(block, cache=mark)
    format = entries_of(part.get("file")).get("format")
    if isinstance(format, str) and block.source.media_type is None:
        block = attrs.evolve(block, source=attrs.evolve(block.source, media_type=format))
    return block


def _signed(crossing: Crossing, blocks: tuple[Block, ...], item: Mapping[str, Any]) -> list[Block]:
    """Return blocks, the calls with the signatures that Gemini gave them."""
    given: Iterable[Any] = item.get("tool_calls") or ()
    by_id = {call["id"]: call for call in given if "id" in call}
    return [_call(crossing, block, by_id) for block in blocks]


def _call(crossing: Crossing, block: Any, by_id: Mapping[str, Any]) -> Block:
    call: dict[str, Any] = by_id.get(block.id, {}) if block.type == "tool_use" else {}
    function: dict[str, Any] = call.get("function") or {}
    fields: dict[str, Any] = {
        **(function.get("provider_specific_fields") or {}),
        **(call.get("provider_specific_fields") or {}),
    }
    signature = fields.pop(SIGNATURE, None)
    if fields:
        crossing.lose("hint", "provider_specific_fields of a call")
    if not isinstance(signature, str):
        return cast("Block", block)
    return cast("Block", attrs.evolve(block, extra={**block.extra, SIGNATURE: signature}))


def _pictures(item: Mapping[str, Any]) -> tuple[Block, ...]:
    """Return the pictures a model made, which are read as those of a user are."""
    images: Any = item.get("images")
    if not images:
        return ()
    said = _plain({"role": "user", "content": images})
    return read_payload([said], "openai").messages[0].content


def _thoughts(item: Mapping[str, Any], origin: str | None) -> list[ReasoningBlock]:
    """Return what a model thought; a text alone is read as Chat has it, where nobody says whose."""
    blocks: Iterable[Any] = item.get("thinking_blocks") or ()
    text = item.get("reasoning_content") if origin is not None else None
    thoughts = [_thought(block, origin) for block in blocks]
    return thoughts or ([ReasoningBlock(text, origin=origin)] if text else [])


def _thought(block: Any, origin: str | None) -> ReasoningBlock:
    """Return a thought in Anthropic's form, which LiteLLM gives those of all providers."""
    if not isinstance(block, Mapping):
        raise DataError(f"a thinking block is a dictionary, not {type(block).__name__}")
    entries = cast("Mapping[str, Any]", block)
    if entries.get("type") == "redacted_thinking":
        return ReasoningBlock("", encrypted=entries.get("data"), origin=origin)
    return ReasoningBlock(entries.get("thinking") or "", entries.get("signature"), origin=origin)


_TARGET = "openai_compatible"


def to_litellm(rendered: Rendered, *, strict: bool = False) -> Bridged[list[dict[str, Any]]]:
    """Return the ``messages`` and ``tools`` of ``litellm.completion``.

    Raises :class:`PendingToolCalls` when the last calls are not answered yet, and with
    ``strict=True`` :class:`LossError` when text or media is lost.
    """
    fits = rendered.facts.provider == _TARGET
    target = rendered if fits else rendered.for_target(_TARGET)
    # The form of the answer is said with the call, which is a hint of its own.
    losses = tuple(loss for loss in target.losses if loss.path != "output")
    payload, crossing = target.payload(), Crossing("LiteLLM", losses)
    crossing.lose_settings(rendered)
    return Bridged(
        cast("list[dict[str, Any]]", payload["messages"]),
        crossing.checked(strict=strict),
        tuple(payload.get("tools", ())),
    )


__all__ = ["from_litellm", "to_litellm"]
