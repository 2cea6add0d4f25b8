"""Reads Pydantic AI's requests and responses.

Read ``read`` first, then ``_read_request`` and ``_read_response``.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile
from typing import TypeAlias, cast

import attrs
from pydantic_ai import messages as ai

from promptdsl import (
    Block,
    DataError,
    Message,
    ModelFacts,
    ProviderName,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    block_from_dict,
)
from promptdsl.foundation.json import JsonValue
from promptdsl.integrations import Converted
from promptdsl.integrations.pydantic_ai.details import (
    DEVELOPER,
    ITEM_DETAILS,
    ORIGINS,
    REDACTED_IDS,
    Media,
    read_media,
    read_reasons,
    read_usage,
)
from promptdsl.integrations.shared import (
    ITEM,
    JSON,
    RESPONSES,
    SIGNATURE,
    CacheableBlock,
    Conversion,
    MessageKind,
    Role,
    instruction_role,
    joined_reasoning,
    message_list,
)


def read(conversation: object, provider: ProviderName | None) -> Converted[tuple[Message, ...]]:
    """Return the messages of a history; see ``from_pydantic_ai``."""
    conversion, messages = Conversion("promptdsl"), list[Message]()
    history = message_list(conversation, "Pydantic AI's messages")
    requests = [
        model_message for model_message in history if isinstance(model_message, ai.ModelRequest)
    ]
    instructions = [request.instructions for request in requests if request.instructions]
    try:
        for index, model_message in enumerate(history):
            conversion.index = index  # hints and errors name this message
            match model_message:
                case ai.ModelRequest():
                    _read_request(conversion, model_message, messages)
                case ai.ModelResponse():
                    messages.append(_read_response(conversion, model_message))
                case _:
                    fix = "give the messages of result.all_messages()"
                    name = type(model_message).__name__
                    raise DataError(f"a {name} is not a ModelRequest or ModelResponse", fix=fix)
    except DataError as error:
        raise conversion.located(error) from None
    if instructions:
        # Pydantic AI sends only the latest instructions. OpenAI Responses has a field for them, so
        # they come before all messages. In requests of other formats they come after the leading
        # system prompts.
        leading = sum(1 for _ in takewhile(lambda message: message.role == "system", messages))
        is_first = ModelFacts(provider).wire.provider_format == RESPONSES
        index = 0 if is_first else leading
        messages.insert(index, Message("system", instructions[-1], kind="recorded"))
    return Converted(tuple(messages), conversion.checked(strict=False))


def _read_request(
    conversion: Conversion, request: ai.ModelRequest, messages: list[Message]
) -> None:
    """Append the messages of a request to ``messages``: one for each user prompt.

    Consecutive system prompts become one message, and so do consecutive results. A system prompt
    that was a developer message is not joined with other system prompts.
    """
    current = map(_current_part, request.parts)
    for _, run in groupby(enumerate(current), key=_message_key):
        parts = [part for _, part in run]
        blocks = [block for part in parts for block in _request_blocks(conversion, part)]
        role: Role = "tool" if isinstance(parts[0], ai.ToolReturnPart) else "user"
        kind: MessageKind = "recorded"
        if isinstance(parts[0], ai.SystemPromptPart):
            is_developer = parts[0].metadata == DEVELOPER
            role, kind = instruction_role(messages, is_developer=is_developer)
        if blocks:
            messages.append(Message(role, tuple(blocks), kind=kind))


def _current_part(part: ai.ModelRequestPart) -> ai.ModelRequestPart:
    """Return a part; for a ``RetryPromptPart``, the part that Pydantic AI sends instead.

    Pydantic AI has no public function for this. But it replaces the part when it loads a stored
    history, so the part is stored and loaded here.
    """
    if part.part_kind != "retry-prompt":
        return part
    stored = ai.ModelMessagesTypeAdapter.dump_python([ai.ModelRequest([part])])
    (request,) = ai.ModelMessagesTypeAdapter.validate_python(stored)
    (current,) = request.parts
    return cast("ai.ModelRequestPart", current)


def _message_key(numbered: tuple[int, ai.ModelRequestPart]) -> object:
    """Return a key that is equal for consecutive parts of one message."""
    index, part = numbered
    if isinstance(part, ai.SystemPromptPart):
        return "system prompts", part.metadata == DEVELOPER
    return "results" if isinstance(part, ai.ToolReturnPart) else index


def _request_blocks(conversion: Conversion, part: ai.ModelRequestPart) -> Sequence[Block]:
    """Return the blocks of a part of a request; a part of an unknown kind is a loss."""
    match part:
        case ai.SystemPromptPart():
            return [TextBlock(part.content)]
        case ai.UserPromptPart():
            return _prompt_blocks(conversion, part)
        case ai.ToolReturnPart():
            blocks = tuple(_result_blocks(conversion, part))
            is_error = part.outcome in ai.ERROR_OUTCOMES
            result = ToolResultBlock(part.tool_call_id, blocks, part.tool_name, is_error)
            if part.outcome not in ("success", "failed"):
                result = attrs.evolve(result, extra={ITEM: {"outcome": part.outcome}})
            return [result]
        case ai.RetryFeedbackPart():
            return [TextBlock(part.model_response())]
        case _:
            conversion.lose("content", f"a part of kind {part.part_kind!r}")
            return []


def _result_blocks(conversion: Conversion, part: ai.ToolReturnPart) -> Iterator[Block]:
    """Yield the blocks of a result: one for each file, and one for each value that is not empty.

    A value that is not a text becomes JSON, marked by ``JSON``. An empty text yields no block.

    A list without files is one value: so Pydantic AI sends it to OpenAI and Gemini. An empty list
    is one value, too, although Pydantic AI sends an empty text for it.
    """
    # The texts that Pydantic AI sends, and the same values before they became texts.
    texts: Sequence[str | Media] = part.content_items(mode="str", wrap_if_error=False)
    values: Sequence[object] = part.content_items(mode="jsonable", wrap_if_error=False)
    if isinstance(part.content, list) and not part.files:
        texts = [part.model_response_str(wrap_if_error=False) or "[]"]
        values = [values]
    for text, value in zip(texts, values, strict=True):
        if not isinstance(text, str):
            yield read_media(conversion, text)
        elif text and isinstance(value, str):
            yield TextBlock(text)
        elif text:
            yield TextBlock(text, extra={JSON: True})


def _prompt_blocks(conversion: Conversion, part: ai.UserPromptPart) -> Sequence[Block]:
    """Return the blocks of a user prompt, each with the cache point after it."""
    if isinstance(part.content, str):
        return [TextBlock(part.content)] if part.content else []
    blocks: list[Block] = []
    for content in part.content:
        if not isinstance(content, ai.CachePoint):
            inner = content.content if isinstance(content, ai.TextContent) else content
            if isinstance(inner, str):
                blocks.append(TextBlock(inner))
            else:
                blocks.append(read_media(conversion, inner))
            continue
        last = blocks[-1] if blocks else None
        if not isinstance(last, CacheableBlock):
            reason = "there is no block before it that can have a cache mark"
            conversion.hint("cache_mark", "a cache point", reason)
            continue
        # Of several cache points after one block, that with the longest lifetime is kept.
        if last.cache is not None:
            conversion.hint("cache_mark", "a cache point", "another one follows the same block")
        if "1h" in (last.cache, content.ttl):
            blocks[-1] = attrs.evolve(last, cache="1h")
        else:
            blocks[-1] = attrs.evolve(last, cache="5m")
    return blocks


def _read_response(conversion: Conversion, response: ai.ModelResponse) -> Message:
    """Return the message of a response."""
    blocks: list[Block] = []
    # The signature that the part before has for this part, and the id of the last reasoning.
    signature_for_next: str | None = None
    reasoning_id: JsonValue = None
    for part, next_part in zip(response.parts, [*response.parts[1:], None], strict=False):
        signature_from_last, signature_for_next = signature_for_next, None
        match part:
            case ai.ThinkingPart():
                _hint_details(conversion, part, "raw_content", SIGNATURE)
                block = _reasoning_block(part)
                reasoning_id = block.extra.get("id")
                if _signs_next(part, next_part):
                    signature_for_next = part.signature
                    block = attrs.evolve(block, signature=None)
                blocks.append(block)
            case ai.TextPart() | ai.ToolCallPart() | ai.FilePart():
                extra = _item_of(part, reasoning_id)
                handled_keys = ITEM_DETAILS if extra else ()
                _hint_details(conversion, part, SIGNATURE, *handled_keys)
                signature = signature_from_last
                if signature is None:
                    signature = _signature_in(part)
                if isinstance(signature, str):
                    extra[SIGNATURE] = signature
                blocks.append(_reply_block(conversion, part, extra))
            case _:
                conversion.lose("content", f"a part of kind {part.part_kind!r}")
    # Pydantic AI has a refusal in the details; then there are no parts.
    refusal: object = (response.provider_details or {}).get("refusal")
    if isinstance(refusal, str) and refusal:
        blocks.append(TextBlock(refusal, extra={"refusal": True}))
    finish_reason, raw_finish_reason = read_reasons(response)
    return Message(
        "assistant",
        joined_reasoning(blocks),
        kind="recorded",
        token_usage=read_usage(conversion, response.usage),
        finish_reason=finish_reason,
        raw_finish_reason=raw_finish_reason,
    )


_ReplyPart: TypeAlias = ai.TextPart | ai.ToolCallPart | ai.FilePart


def _item_of(part: _ReplyPart, reasoning_id: JsonValue) -> dict[str, JsonValue]:
    """Return ``ITEM`` with the item of OpenAI Responses for a text or a call; else an empty dict.

    ``reasoning_id`` is the id of the reasoning before the item, ``None`` without reasoning. OpenAI
    refuses the id of the item without this reasoning. So ``to_pydantic_ai`` writes the id of the
    item only if it also writes the reasoning.
    """
    if ORIGINS.get(part.provider_name or "") != RESPONSES or isinstance(part, ai.FilePart):
        return {}
    details = part.provider_details or {}
    details = {key: details.get(key) for key in ITEM_DETAILS}
    fields = {"id": part.id, **details, "reasoning": reasoning_id}
    item = {key: value for key, value in fields.items() if isinstance(value, str)}
    return {ITEM: item} if item.keys() - {"reasoning"} else {}


def _reply_block(conversion: Conversion, part: _ReplyPart, extra: dict[str, JsonValue]) -> Block:
    """Return the block of a text, a call or a file, with ``extra``."""
    match part:
        case ai.TextPart():
            if part.citations:
                conversion.hint("unsent_key", "citations of a text")
            return TextBlock(part.content, extra=extra)
        case ai.ToolCallPart():
            use = {"type": "tool_use", "id": part.tool_call_id, "name": part.tool_name}
            arguments = {} if part.args is None else part.args
            return block_from_dict({**use, "input": arguments, **extra})
        case ai.FilePart():
            block = read_media(conversion, part.content)
            if extra and isinstance(block, CacheableBlock):
                return attrs.evolve(block, extra=extra)
            return block


def _reasoning_block(part: ai.ThinkingPart) -> ReasoningBlock:
    """Return the block of reasoning; what its signature means depends on the provider."""
    origin = ORIGINS.get(part.provider_name or "", part.provider_name)
    if origin == RESPONSES:
        # An item of OpenAI Responses has an id, and sometimes the text of the reasoning.
        extra: dict[str, JsonValue] = {} if part.id is None else {"id": part.id}
        texts: Sequence[JsonValue] = (part.provider_details or {}).get("raw_content") or ()
        if texts:
            extra["content"] = [{"type": "reasoning_text", "text": text} for text in texts]
        return ReasoningBlock(part.content, None, part.signature, origin, extra)
    # For Claude's redacted reasoning, the signature is the encrypted reasoning.
    if part.id in REDACTED_IDS:
        return ReasoningBlock(part.content, encrypted=part.signature, origin=origin)
    signature = _signature_in(part)
    if signature is None:
        signature = part.signature
    return ReasoningBlock(part.content, signature, origin=origin)


def _signature_in(part: ai.ModelResponsePart) -> str | None:
    """Return Gemini's signature in the details of a part; ``None`` without a signature."""
    signature: str | None = (part.provider_details or {}).get(SIGNATURE)
    return signature


def _signs_next(part: ai.ThinkingPart, next_part: ai.ModelResponsePart | None) -> bool:
    """Return whether the signature of Gemini's reasoning belongs to the part after it."""
    if ORIGINS.get(part.provider_name or "") != "gemini" or part.signature is None:
        return False
    if not isinstance(next_part, ai.TextPart | ai.ToolCallPart):
        return False
    return _signature_in(part) is None and _signature_in(next_part) is None


def _hint_details(
    conversion: Conversion, part: ai.ThinkingPart | _ReplyPart, *handled_keys: str
) -> None:
    """Record a hint if a part has details of the provider other than ``handled_keys``."""
    if set(part.provider_details or ()) - {*handled_keys}:
        conversion.hint("unsent_key", f"provider_details of a part of kind {part.part_kind!r}")
