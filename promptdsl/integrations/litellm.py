"""LiteLLM: convert the dictionaries of ``litellm.completion``, both ways, without LiteLLM itself.

It takes OpenAI Chat messages for every provider, so they are written as for a server that speaks
Chat: a developer's message as a system message, names left out.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from promptdsl import (
    Block,
    DataError,
    Message,
    ModelFacts,
    ProviderName,
    ReasoningBlock,
    Rendered,
    ToolResultBlock,
    ToolUseBlock,
    block_from_dict,
    read_payload,
)
from promptdsl.foundation.json import JsonObject, JsonValue
from promptdsl.integrations import Bridged
from promptdsl.integrations.losses import Crossing
from promptdsl.integrations.values import (
    SIGNATURE,
    MarkedBlock,
    MediaBlock,
    entries_of,
    items_of,
    listed,
)

__all__ = ["from_litellm", "to_litellm"]

_TARGET = "openai_compatible"


def to_litellm(
    rendered: Rendered, *, strict: bool = False
) -> Bridged[list[dict[str, Any]]]:  # Any: these entries are for LiteLLM
    """Return the ``messages`` and ``tools`` of ``litellm.completion``.

    >>> from promptdsl import Timeline, User, render
    >>> from promptdsl.integrations.litellm import to_litellm
    >>> to_litellm(render(Timeline(User("Hi.")))).messages
    [{'role': 'user', 'content': 'Hi.'}]

    Cache marks are those that the model of ``rendered`` takes. Send them to no other model.

    Raises :class:`PendingToolCalls` when the last calls have no result yet, and with
    ``strict=True`` :class:`LossError` when text or media is lost.
    """
    model = rendered.facts
    target = rendered if model.provider == _TARGET else rendered.for_target(_TARGET)
    facts = attrs.evolve(
        target.facts,
        # It forwards pictures in results; Gemini's signatures are in ids (BerriAI/litellm#37849).
        result_media=("image",),
        longest_id=40 if model.provider in ("openai", "openai_responses") else None,
        # It passes marks on, those with a time to live to models that take one after a tool. For
        # Gemini it makes a stored cache of the marked messages alone, which changes their order.
        cache_marks=model.cache_marks,
        answer_marks=model.answer_marks,
        tool_marks=model.tool_marks,
        lasting_marks=model.tool_marks,
        message_marks=model.tool_marks,
        # It moves a later system message itself, where a provider takes none.
        later_system=True,
    )
    target = target.with_facts(facts)
    # The schema of the answer belongs to the call, which is a hint of its own.
    losses = tuple(loss for loss in target.losses if loss.path != "output")
    payload, crossing = target.payload(), Crossing("LiteLLM", losses)
    crossing.lose_settings(rendered)
    return Bridged(
        payload["messages"], crossing.checked(strict=strict), tuple(payload.get("tools", ()))
    )


def from_litellm(
    messages: Iterable[object], *, origin: ProviderName | str | None = None
) -> Bridged[tuple[Message, ...]]:
    """Return the messages of a LiteLLM conversation, for a ``History``.

    >>> from promptdsl.integrations.litellm import from_litellm
    >>> from_litellm([{"role": "user", "content": "Hi."}]).messages[0].text
    'Hi.'

    Takes dictionaries and LiteLLM's own ``Message``. Reasoning is read from ``thinking_blocks``;
    ``origin`` is the provider it came from, and only that provider gets it again. Losses are in
    ``losses``. Raises :class:`DataError` for anything but messages of Chat.
    """
    entries = [_plain_message(item) for item in listed(messages, "LiteLLM's messages")]
    crossing, read_messages = Crossing("promptdsl"), list[Message]()
    # The further keys of a server of Chat are its own.
    named = "openai"
    if origin is not None and ModelFacts(origin).wire.form == named:
        named = origin
    chat_messages = read_payload(entries, named).messages
    try:
        for crossing.index, message in enumerate(chat_messages):
            item = entries_of(entries[crossing.index])
            read_messages.append(_whole_message(crossing, message, item, origin))
    except DataError as error:
        raise crossing.located(error) from None
    return Bridged(tuple(read_messages), crossing.checked(strict=False))


def _plain_message(item: object) -> object:
    """Return a message as a dictionary, with each address in a mapping, as Chat has it."""
    dump = getattr(item, "model_dump", None)
    item = dump(exclude_none=True) if callable(dump) else item
    parts = [entries_of(part) or part for part in items_of(entries_of(item).get("content"))]
    for index, part in enumerate(parts):
        url, mark = (entries_of(part).get(key) for key in ("image_url", "cache_control"))
        if isinstance(url, str):
            parts[index] = {**entries_of(part), "image_url": {"url": url}}
        if mark:
            # The text after a mark of Chat is read without the blank line before it.
            parts[index] = {**entries_of(parts[index]), "prompt_cache_breakpoint": True}
    return {**entries_of(item), "content": parts} if parts else item


def _whole_message(
    crossing: Crossing, message: Message, item: JsonObject, origin: str | None
) -> Message:
    """Return a message with all that LiteLLM keeps beside its content."""
    blocks = _marked_blocks(crossing, message.content, item)
    # The signatures of Gemini's calls.
    calls = [entries_of(call) for call in items_of(item.get("tool_calls"))]
    by_id = {call["id"]: call for call in calls if "id" in call}
    for index, block in enumerate(blocks):
        if isinstance(block, ToolUseBlock):
            blocks[index] = _signed_call(crossing, block, by_id.get(block.id, {}))
    # Reasoning. A text alone stays as Chat has it when its origin is not known.
    thoughts = [_read_thought(part, origin) for part in items_of(item.get("thinking_blocks"))]
    text = item.get("reasoning_content")
    if text and isinstance(text, str) and origin is not None and not thoughts:
        thoughts = [ReasoningBlock(text, origin=origin)]
    if thoughts:
        blocks = [*thoughts, *(b for b in blocks if not isinstance(b, ReasoningBlock))]
    for key in ("annotations", "provider_specific_fields"):
        if item.get(key):
            crossing.hint("unsent_key", f"{key} of a message")
    return message if tuple(blocks) == message.content else message.replace(content=tuple(blocks))


def _marked_blocks(crossing: Crossing, blocks: tuple[Block, ...], item: JsonObject) -> list[Block]:
    """Return the blocks of a content with the cache marks and the media types of their parts."""
    result = blocks[0] if blocks and isinstance(blocks[0], ToolResultBlock) else None
    marked: list[Block] = list(blocks if result is None else result.content)
    parts = map(entries_of, items_of(item.get("content")))
    for index, (block, part) in enumerate(zip(marked, parts, strict=False)):
        mark = crossing.read_cache(part.get("cache_control"))
        if "cache_control" in part and isinstance(block, MarkedBlock):
            marked[index] = attrs.evolve(block, cache=mark)
        media_type = entries_of(part.get("file")).get("format")
        media = marked[index]
        if isinstance(media, MediaBlock) and isinstance(media_type, str):
            source = attrs.evolve(media.source, media_type=media.source.media_type or media_type)
            marked[index] = attrs.evolve(media, source=source)
    if result is not None:
        marked = [attrs.evolve(result, content=tuple(marked))]
    # The mark of a message is after its last block.
    mark = crossing.read_cache(item.get("cache_control"))
    last = marked[-1] if marked else None
    if mark and isinstance(last, MarkedBlock):
        marked[-1] = attrs.evolve(last, cache=mark)
    elif mark:
        crossing.hint("cache_mark", "a cache mark", "there is nothing before it")
    return marked


def _signed_call(crossing: Crossing, block: ToolUseBlock, call: JsonObject) -> ToolUseBlock:
    function = entries_of(call.get("function"))
    fields = {
        **entries_of(function.get("provider_specific_fields")),
        **entries_of(call.get("provider_specific_fields")),
    }
    signature = fields.pop(SIGNATURE, None)
    if fields:
        crossing.hint("unsent_key", "provider_specific_fields of a call")
    extra = {key: value for key, value in block.extra.items() if key != "provider_specific_fields"}
    if len(extra) == 1:
        extra = {}  # what is left is where the keys came from
    if isinstance(signature, str):
        extra[SIGNATURE] = signature
    cache = crossing.read_cache(call.get("cache_control")) or block.cache
    return attrs.evolve(block, extra=extra, cache=cache)


def _read_thought(part: JsonValue, origin: str | None) -> Block:
    """Return reasoning in Anthropic's form, which LiteLLM gives the reasoning of all providers."""
    if not isinstance(part, Mapping):
        raise DataError(f"a thinking block is a dictionary, not {type(part).__name__}")
    entries = entries_of(part)
    if entries.get("type") == "redacted_thinking":
        content = {"text": "", "encrypted": entries.get("data")}
    else:
        content = {"text": entries.get("thinking") or "", "signature": entries.get("signature")}
    return block_from_dict({"type": "reasoning", **content, "origin": origin})
