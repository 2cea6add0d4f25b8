"""LiteLLM: convert the messages of ``litellm.completion`` both ways. LiteLLM need not be installed.

LiteLLM takes OpenAI Chat messages for all providers. It adds keys for what Chat does not have:
``thinking_blocks``, ``cache_control`` and ``provider_specific_fields``. ``to_litellm`` writes the
prompt for the provider ``litellm``, with the facts of the model. ``from_litellm`` reads Chat
messages, and then adds to each what LiteLLM's keys say.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache, partial
from typing import Any, Final

import attrs

from promptdsl import (
    Block,
    DataError,
    Loss,
    MediaSource,
    Message,
    ModelFacts,
    ProviderName,
    ReasoningBlock,
    Rendered,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    block_from_dict,
    provider_names,
    read_payload,
)
from promptdsl.foundation.json import JsonObject, JsonValue
from promptdsl.integrations import Converted
from promptdsl.integrations.shared import (
    ITEM,
    MESSAGE_CACHE_MARK,
    ORIGIN_KEY,
    SIGNATURE,
    CacheableBlock,
    Conversion,
    MediaBlock,
    list_of,
    mapping_of,
    message_list,
    strictly,
)

__all__ = ["from_litellm", "to_litellm"]

_LITELLM: Final = "litellm"
"""The name of LiteLLM among the providers; its format is that of OpenAI Chat."""
_UNNAMED_SERVER = "openai_compatible"
"""The origin of Chat messages that are read without the name of a server."""
_FIELDS_KEY = "provider_specific_fields"
"""LiteLLM's key for data of a provider in an answer, a call or a function, such as signatures."""
_ITEMS_KEY = "reasoning_items"
"""LiteLLM's key for the reasoning items of OpenAI Responses in an answer."""
_LITELLM_KEYS = (_FIELDS_KEY, _ITEMS_KEY, "cache_control", "annotations")
"""The keys of a message that :func:`read_payload` does not get: they are read in this file."""


def to_litellm(
    rendered: Rendered, *, strict: bool = False
) -> Converted[list[dict[str, Any]]]:  # Any: these entries are for LiteLLM
    """Return the ``messages`` and ``tools`` of ``litellm.completion``.

    >>> from promptdsl import Timeline, User, render
    >>> from promptdsl.integrations.litellm import to_litellm
    >>> to_litellm(render(Timeline(User("Hi.")))).messages
    [{'role': 'user', 'content': 'Hi.'}]

    Render for the model that LiteLLM calls: texts, roles, cache marks and signatures are written
    for this model, so do not send them to another model.

    Raises :class:`PendingToolCalls` if the last calls have no results yet, and with
    ``strict=True`` :class:`LossError` if text or media is lost.
    """
    target = rendered if rendered.facts.provider else rendered.for_target(_LITELLM)
    converted = target._through_gateway(_LITELLM, **_changed_facts(target.facts))
    payload = converted._payload()  # raises PendingToolCalls
    # Finding the lines of losses takes time: without ``strict``, ``Converted`` finds them later.
    find_losses = partial(_losses, target, converted)
    losses = strictly(find_losses, "LiteLLM") if strict else find_losses
    # This warns the author of lost content. With ``strict``, it has raised an error already.
    # The output schema is a setting of the call, not of the messages.
    converted._warn_of([loss for loss in converted._losses if loss.path != "output"])
    return Converted(payload["messages"], losses, tuple(payload.get("tools", ())))


def _losses(rendered: Rendered, converted: Rendered) -> tuple[Loss, ...]:
    """Return the losses of a prompt and of its settings.

    ``converted`` is the prompt as it is written for LiteLLM.
    """
    # The output schema belongs to the call: ``lose_settings`` has a hint for it.
    reported = (*converted.losses, *converted.hints)
    losses = [loss for loss in reported if loss.path != "output"]
    if rendered.facts.wire.two_sided:
        # The messages of this model have two sides, user and assistant. LiteLLM takes the names
        # of speakers, but leaves them out for this model. This model also refuses calls without
        # tools. So the hints about both are those of the render for the model.
        losses = [loss for loss in losses if loss.name != "speaker_name"]
        losses += [hint for hint in rendered.hints if hint.name in ("speaker_name", "no_tools")]
    conversion = Conversion("LiteLLM", tuple(losses))
    conversion.lose_settings(rendered)
    return tuple(conversion.losses)


_AS_AT_A_SERVER = (
    *("later_system", "several_systems", "list_roles", "media", "document_types", "exact_id"),
    *("user_after_results", "result_names", "missing_reasoning"),
)
"""The facts that LiteLLM takes from a Chat server: it sends Chat messages to it unchanged."""


@lru_cache(maxsize=64)
def _changed_facts(model: ModelFacts) -> dict[str, Any]:  # Any: each fact has its own type
    """Return the facts of LiteLLM that change when it calls this model, by name.

    ``ModelFacts`` explains each fact.
    """
    wire = model.wire
    # OpenAI takes ids of at most 40 characters. The ids for other models have no limit, because
    # LiteLLM writes Gemini's signatures into ids (BerriAI/litellm#37849).
    longest_id = 40 if model.provider in ("openai", "openai_responses") else None
    # A model with two sides may get a separate block for each text, so texts are not joined here.
    reads_texts_apart = wire.two_sided and not wire.joins
    changes: dict[str, Any] = {
        "longest_id": longest_id,
        "names": True,
        "binds_reasoning": model.binds_reasoning,
        # If messages have two sides, LiteLLM would move a later system message. So promptdsl sends
        # it in a user message, as without LiteLLM.
        "later_system": not wire.two_sided,
        "instructions": model.instructions,
        "result_instructions": model.result_instructions,
        # LiteLLM passes cache marks on. For Gemini, it would store only the marked messages in a
        # cache, which changes their order. So Gemini gets no marks: its facts have none.
        "cache_marks": model.cache_marks,
        "answer_marks": model.answer_marks,
        "tool_marks": model.tool_marks,
        # A model that takes the cache mark of a tool takes a mark with a lifetime, and a mark on
        # the message of a result.
        "lasting_marks": model.tool_marks,
        "message_marks": model.tool_marks,
        "joins_texts": not reads_texts_apart,
        "media": model.media,
        "tool_schemas": model.tool_schemas,
        "strict_schemas": model.strict_schemas,
    }
    if wire.provider_format == "openai" and model.provider != _LITELLM:
        # These facts of the server replace those above with the same name, such as ``media``.
        changes |= {name: getattr(model, name) for name in _AS_AT_A_SERVER}
    if wire.two_sided:
        # LiteLLM passes on the addresses of files. The render for the model has already replaced
        # each address that the model does not take by the bytes of its file.
        changes["file_addresses"] = True
    if wire.provider_format == "anthropic":
        changes["result_media"] = ("image", "document")
    return changes


def from_litellm(
    messages: Iterable[object], *, origin: ProviderName | None = None
) -> Converted[tuple[Message, ...]]:
    """Return the messages of a LiteLLM conversation, for a ``History``.

    >>> from promptdsl.integrations.litellm import from_litellm
    >>> from_litellm([{"role": "user", "content": "Hi."}]).messages[0].text
    'Hi.'

    Takes dictionaries, and LiteLLM's ``Message``. Reasoning is read from ``thinking_blocks``.
    ``origin`` is the provider that wrote the reasoning: only this provider gets it back. Content
    that is lost is in ``losses``, and lost details are in ``hints``. Raises :class:`TargetError`
    for an unknown origin, and :class:`DataError` for anything but Chat messages.
    """
    originals = [
        _plain_message(original) for original in message_list(messages, "LiteLLM's messages")
    ]
    conversion, read_messages = Conversion("promptdsl"), list[Message]()
    # A Chat server may have keys of its own, so its name is passed to read_payload(). An unknown
    # name is passed, too: read_payload() refuses it.
    server: ProviderName = "openai"
    if origin is not None and (
        origin not in provider_names() or ModelFacts(origin).wire.provider_format == "openai"
    ):
        server = origin
    chat_messages = read_payload([*map(_chat_message, originals)], server).messages
    try:
        # There is a message for each original. Hints and errors have the index of the current one.
        for index, message in enumerate(chat_messages):
            conversion.index = index
            original = mapping_of(originals[index])
            read_messages.append(_complete_message(conversion, message, original, origin))
    except DataError as error:
        raise conversion.located(error) from None
    return Converted(tuple(read_messages), conversion.checked(strict=False))


def _plain_message(message: object) -> object:
    """Return a message as a dictionary, with pictures and files in parts as Chat has them.

    The address of a picture is in a mapping. A picture whose ``data:`` address has another type is
    a file.
    """
    dump = getattr(message, "model_dump", None)
    message = dump(exclude_none=True) if callable(dump) else message
    parts = [mapping_of(part) or part for part in list_of(mapping_of(message).get("content"))]
    for index, part in enumerate(parts):
        fields = mapping_of(part)
        url = fields.get("image_url")
        url = mapping_of(url).get("url", url)
        if isinstance(url, str) and url.startswith("data:") and not url.startswith("data:image/"):
            # LiteLLM writes a file of any type as a picture.
            other_fields = {key: value for key, value in fields.items() if key != "image_url"}
            parts[index] = {**other_fields, "type": "file", "file": {"file_data": url}}
        elif isinstance(fields.get("image_url"), str):
            parts[index] = {**fields, "image_url": {"url": url}}
    return {**mapping_of(message), "content": parts} if parts else message


def _chat_message(message: object) -> object:
    """Return a message as :func:`read_payload` gets it.

    The keys that this file reads itself are left out: ``_LITELLM_KEYS`` of the message, the cache
    mark of a call, the provider's fields of a function, and the media type of a part (``format``).
    The ``index`` of a streamed call is left out, too. Other keys of LiteLLM stay, such as
    ``thinking_blocks``. A part with a cache mark also gets the cache mark of Chat.
    """
    fields = mapping_of(message)
    if not fields:
        return message
    chat_message = {key: value for key, value in fields.items() if key not in _LITELLM_KEYS}
    calls, parts = list_of(fields.get("tool_calls")), list_of(fields.get("content"))
    if calls:
        chat_message["tool_calls"] = [
            _without(call, {"index": None, "cache_control": None, "function": (_FIELDS_KEY,)})
            for call in calls
        ]
    if parts:
        chat_message["content"] = [
            _without(part, {"image_url": ("format",), "file": ("format",)}) for part in parts
        ]
    for part in list_of(chat_message.get("content")):
        if isinstance(part, dict) and part.get("cache_control"):
            # The text after a cache mark was sent with an empty line before it. The reader removes
            # this line only after a part with the cache mark of Chat.
            part["prompt_cache_breakpoint"] = True
    return chat_message


def _without(part: JsonValue, removed_keys: Mapping[str, tuple[str, ...] | None]) -> JsonValue:
    """Return a part or a call without some keys.

    ``None`` for a key of ``removed_keys`` removes this key. A tuple removes these keys from the
    mapping under the key.
    """
    if not isinstance(part, Mapping):
        return part
    fields = dict(part)
    for key, inner_keys in removed_keys.items():
        if inner_keys is None:
            fields.pop(key, None)
        elif isinstance(fields.get(key), Mapping):
            inner = dict(mapping_of(fields[key]))
            for inner_key in inner_keys:
                inner.pop(inner_key, None)
            fields[key] = inner
    return fields


def _complete_message(
    conversion: Conversion, message: Message, original: JsonObject, origin: str | None
) -> Message:
    """Return a message with what LiteLLM has in addition to Chat: marks, signatures, reasoning."""
    blocks = _with_marks(conversion, message.content, original)
    if message.role == "assistant":
        calls = iter(list_of(original.get("tool_calls")))
        for index, block in enumerate(blocks):
            if isinstance(block, ToolUseBlock):
                call = mapping_of(next(calls, None))
                blocks[index] = _signed_call(conversion, block, call, origin)
        blocks = _answer_blocks(blocks, original, origin)
    if original.get("annotations"):
        conversion.hint("unsent_key", "annotations of a message")
    return message if tuple(blocks) == message.content else message.replace(content=tuple(blocks))


# The reasoning of an answer, and its further keys.
#
# The further keys are keys of the answer that only its provider understands. There is no block for
# them: the first reasoning block has them in its ``extra``. So the reasoning of read_payload()
# contains both. ``_further_keys`` reads the keys from it, and ``_reasoning_blocks`` the reasoning.
# ``_answer_blocks`` then adds the keys to the first reasoning block again.


def _answer_blocks(blocks: list[Block], original: JsonObject, origin: str | None) -> list[Block]:
    """Return the blocks of an answer: first its reasoning, then all others.

    The first reasoning block also has, under ``ORIGIN_KEY``, the provider that understands the
    further keys. If there are further keys but no reasoning, an empty reasoning block has them.
    """
    chat_reasoning, other_blocks = list[ReasoningBlock](), list[Block]()
    for block in blocks:
        if isinstance(block, ReasoningBlock):
            chat_reasoning.append(block)
        else:
            other_blocks.append(block)
    answer_keys = _further_keys(chat_reasoning, original)
    fields = mapping_of(answer_keys.get(_FIELDS_KEY))
    texts = [block for block in other_blocks if isinstance(block, TextBlock)]
    signatures = list_of(fields.get("thought_signatures"))
    # LiteLLM lists Gemini's signatures apart from the texts. If the fields have nothing but one
    # signature, and the answer has one text, the signature is that of the text.
    is_signature_of_text = len(fields) == len(texts) == len(signatures) == 1
    if is_signature_of_text and isinstance(original.get("content"), str):
        text = texts[0]
        signed = attrs.evolve(text, extra={**text.extra, SIGNATURE: signatures[0]})
        other_blocks[other_blocks.index(text)] = signed
        del answer_keys[_FIELDS_KEY]
    reasoning = _reasoning_blocks(chat_reasoning, original, origin)
    if not answer_keys:
        return [*reasoning, *other_blocks]
    first = reasoning[0] if reasoning else ReasoningBlock("", origin=origin)
    extra = {**first.extra, **answer_keys, ORIGIN_KEY: origin or _UNNAMED_SERVER}
    return [attrs.evolve(first, extra=extra), *reasoning[1:], *other_blocks]


def _further_keys(
    chat_reasoning: list[ReasoningBlock], original: JsonObject
) -> dict[str, JsonValue]:
    """Return the further keys of an answer, without the copies of the reasoning in them.

    These are the keys that :func:`read_payload` kept in the reasoning, and those of LiteLLM.
    """
    answer_keys: dict[str, JsonValue] = {}
    for block in chat_reasoning:
        answer_keys |= block.extra
    answer_keys |= {key: original[key] for key in (_FIELDS_KEY, _ITEMS_KEY) if original.get(key)}
    # These two keys are not further keys: ``_reasoning_blocks`` reads the thinking blocks, and
    # ``_answer_blocks`` sets the origin.
    answer_keys.pop("thinking_blocks", None)
    answer_keys.pop(ORIGIN_KEY, None)
    fields = dict(mapping_of(answer_keys.get(_FIELDS_KEY)))
    if "thinking_blocks" in fields and fields["thinking_blocks"] == original.get("thinking_blocks"):
        # LiteLLM has the thinking blocks twice in its replies.
        del fields["thinking_blocks"]
        answer_keys[_FIELDS_KEY] = fields
    if not fields:
        answer_keys.pop(_FIELDS_KEY, None)
    return answer_keys


def _reasoning_blocks(
    chat_reasoning: list[ReasoningBlock], original: JsonObject, origin: str | None
) -> list[ReasoningBlock]:
    """Return the reasoning of an answer: a block for each of its thinking blocks.

    With thinking blocks, the text under ``reasoning_content`` is a copy, and the first block has it
    under ``ITEM``. Without thinking blocks, this text is the reasoning. Without both, the reasoning
    is that of :func:`read_payload`, without its further keys.
    """
    reasoning = [_read_thinking(part, origin) for part in list_of(original.get("thinking_blocks"))]
    text = original.get("reasoning_content")
    if not isinstance(text, str) or not text:
        return reasoning or [
            attrs.evolve(block, extra={}) for block in chat_reasoning if block.text
        ]
    if reasoning:
        return [_with_item(reasoning[0], {"reasoning_content": text}), *reasoning[1:]]
    return [ReasoningBlock(text, origin=origin or _UNNAMED_SERVER)]


def _with_item(block: ReasoningBlock, recorded: JsonObject) -> ReasoningBlock:
    """Return a reasoning block with more data under ``ITEM``, which no provider gets as content."""
    return attrs.evolve(
        block, extra={**block.extra, ITEM: {**mapping_of(block.extra.get(ITEM)), **recorded}}
    )


# Cache marks, media types and signatures.


def _with_marks(
    conversion: Conversion, blocks: tuple[Block, ...], original: JsonObject
) -> list[Block]:
    """Return the blocks of a message with its cache marks, and with the media types of its parts.

    The message itself may have a cache mark, and each of its parts.
    """
    parts = [mapping_of(part) for part in list_of(original.get("content"))]
    match blocks:
        case [ToolResultBlock() as result]:
            # A tool message of Chat has only its result. The parts are those of the result.
            content = _with_marks_of_parts(conversion, result.content, parts)
            marked: list[Block] = [attrs.evolve(result, content=tuple(content))]
        case _:
            marked = _with_marks_of_parts(conversion, blocks, parts)
    # The cache mark of the message belongs to the text if the content is a text, else to the last
    # block.
    cache_mark = conversion.read_cache(original.get("cache_control"))
    texts = [index for index, block in enumerate(marked) if isinstance(block, TextBlock)]
    if cache_mark and texts and isinstance(original.get("content"), str):
        text = marked[texts[0]]
        assert isinstance(text, TextBlock)
        extra = {**text.extra, ITEM: MESSAGE_CACHE_MARK}
        marked[texts[0]] = attrs.evolve(text, cache=cache_mark, extra=extra)
    elif cache_mark and marked and isinstance(marked[-1], CacheableBlock):
        marked[-1] = attrs.evolve(marked[-1], cache=cache_mark)
    elif cache_mark:
        conversion.hint("cache_mark", "a cache mark", "there is nothing before it")
    return marked


def _with_marks_of_parts(
    conversion: Conversion, blocks: tuple[Block, ...], parts: list[JsonObject]
) -> list[Block]:
    """Return the blocks of a content, each with the cache mark and the media type of its part."""
    marked = [*blocks]
    # The reasoning of an answer has no part: read_payload() reads it from other keys, and puts it
    # before the blocks of the parts. The blocks after those of the parts, such as calls, have none.
    indexes = [index for index, block in enumerate(blocks) if not isinstance(block, ReasoningBlock)]
    for index, part in zip(indexes, parts, strict=False):
        block = blocks[index]
        cache_mark = conversion.read_cache(part.get("cache_control"))
        if "cache_control" in part and isinstance(block, CacheableBlock):
            marked[index] = attrs.evolve(block, cache=cache_mark)
        media = marked[index]
        if isinstance(media, MediaBlock):
            fields = mapping_of(part.get("file", part.get("image_url")))
            marked[index] = attrs.evolve(media, source=_source(media, fields.get("format")))
    return marked


def _source(block: MediaBlock, media_type: JsonValue) -> MediaSource:
    """Return the source of an attachment, with the media type that LiteLLM has next to it."""
    source = block.source
    if isinstance(media_type, str):
        source = attrs.evolve(source, media_type=source.media_type or media_type)
    # LiteLLM has the address of a file under the key for an id.
    if source.kind == "file_id" and source.value.startswith(("http://", "https://")):
        source = attrs.evolve(source, kind="url")
    return source


def _signed_call(
    conversion: Conversion, block: ToolUseBlock, call: JsonObject, origin: str | None
) -> ToolUseBlock:
    """Return a call with its cache mark and with Gemini's signature.

    The signature is in the fields of the call, or in those of its function. If the call has other
    fields, all its fields stay in ``extra``. Other fields of the function are lost, with a hint.
    """
    cache = conversion.read_cache(call.get("cache_control")) or block.cache
    extra: dict[str, JsonValue] = dict(block.extra)
    fields = mapping_of(call.get(_FIELDS_KEY))
    function_fields = dict(mapping_of(mapping_of(call.get("function")).get(_FIELDS_KEY)))
    if fields.keys() <= {SIGNATURE}:
        # The signature of the function is read here, so it is not lost below.
        function_signature = function_fields.pop(SIGNATURE, None)
        signature = fields.get(SIGNATURE, function_signature)
        if isinstance(signature, str):
            extra.pop(_FIELDS_KEY, None)
            extra[SIGNATURE] = signature
    if function_fields:
        conversion.hint("unsent_key", f"{_FIELDS_KEY} of a function")
    # read_payload() does not know ``origin``. A signature of Gemini needs no origin.
    extra.pop(ORIGIN_KEY, None)
    if not extra.keys() <= {SIGNATURE}:
        extra[ORIGIN_KEY] = origin or _UNNAMED_SERVER
    return attrs.evolve(block, extra=extra, cache=cache)


def _read_thinking(part: JsonValue, origin: str | None) -> ReasoningBlock:
    """Return the reasoning of a thinking block.

    LiteLLM has the reasoning of all providers in Anthropic's format. A block that Anthropic would
    not write is kept under ``ITEM``, too. Raises :class:`DataError` for anything but a dictionary.
    """
    if not isinstance(part, Mapping):
        raise DataError(f"a thinking block must be a dictionary, not {type(part).__name__}")
    fields = mapping_of(part)
    if fields.get("type") == "redacted_thinking":
        content, usual_keys = {"text": "", "encrypted": fields.get("data")}, {"type", "data"}
    else:
        content = {"text": fields.get("thinking") or "", "signature": fields.get("signature")}
        usual_keys = {"type", "thinking", "signature"}
    block = block_from_dict({"type": "reasoning", **content, "origin": origin})
    assert isinstance(block, ReasoningBlock)
    # Anthropic's blocks are signed or encrypted. Gemini signs parts, not reasoning.
    is_signed = (block.signature or block.encrypted) and origin != "gemini"
    is_usual = set(fields) == usual_keys and is_signed
    return block if is_usual else _with_item(block, {"thinking": dict(fields)})
