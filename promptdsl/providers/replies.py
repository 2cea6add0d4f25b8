"""Read a reply: a response, an object of an SDK, or a stream whose events are passed on.

Read ``read_response`` first; streams (``read_stream``, ``Reading``) are in the second half.
"""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from functools import cache, partial
from typing import Any, Generic, TypeVar, cast

from promptdsl.config.models import check_provider
from promptdsl.config.wires import provider_formats, wire_of
from promptdsl.foundation.errors import DataError, OptionError, TargetError, shown, shown_name
from promptdsl.foundation.frozen import is_list, is_mapping, list_or_empty, mapping_or_empty, plain
from promptdsl.foundation.json import Absent, JsonValue, has_shape, read_answer
from promptdsl.foundation.source import author, public_api
from promptdsl.messages import Block, ReasoningBlock, TextBlock, ToolUseBlock, UnknownBlock
from promptdsl.messages.message import Message
from promptdsl.messages.names import ProviderName
from promptdsl.messages.prompt import OutputSchema
from promptdsl.messages.schemas import resolved
from promptdsl.providers.registry import TARGETS
from promptdsl.providers.shared.reading import items, mapping
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.streamed import StreamedReply

# Read a reply: return the message in a response, an object of an SDK or a dictionary.
#
# After ``read_response`` come its structured output and ids, then the advice about objects that are
# no reply. At the end, keys tell which provider sent a reply or an event.


@public_api
def read_response(
    reply: object,
    *,
    structured: bool | OutputSchema | None = False,
    provider: ProviderName | None = None,
    id: str | None = None,
) -> Message:
    """Return the assistant message of a reply: the object that an SDK returned, or a dictionary.

    Next to the content of the model, the message has:

    - ``finish_reason`` is why the model stopped: ``stop``, ``length``, ``tool_use``, ``filtered``,
      ``refused``, ``paused``, ``error``, or an unknown word as the provider sent it.
      ``raw_finish_reason`` is the provider's word if it is another one.
    - ``token_usage`` has the token counts: ``input`` (also from a cache), ``output``,
      ``cache_read``, ``cache_write``, ``reasoning`` and ``total``.
    - ``metadata["response_id"]`` is the provider's id of the reply.
    - ``structured_output`` is the value if the SDK parsed the answer.

    The options:

    - With ``structured=True``, ``structured_output`` is the JSON value in the text of the answer:
      the complete text, the value in a code fence, or the only object or list in the prose. A
      message that only calls tools has none. If there may be several values, write the schema
      instead, such as ``rendered.output``: the value with its type and its required keys is read.
    - ``provider`` names the server that sent the reply, such as ``deepseek``. Content that only
      this server takes is sent back to this server only. By default the provider is recognised by
      the keys of the reply, and a reply of Chat may come from any server.
    - ``id`` is the id of the message, with which a ``History`` can pin it and a transcript can find
      it.

    A stream is read with :func:`read_stream`.

    >>> from promptdsl import read_response
    >>> content = [{"type": "text", "text": "Rain."}]
    >>> reply = {"type": "message", "content": content, "stop_reason": "end_turn"}
    >>> message = read_response(reply)
    >>> message.text, message.finish_reason
    ('Rain.', 'stop')

    Raises :class:`DataError` for a reply that no provider sends or that ``provider`` does not send,
    and for an error without an answer. If ``structured`` asks for a value, it also raises it for an
    answer with none or with several, and for a refusal. Raises :class:`TargetError` for an unknown
    provider.
    """
    structured_option = cast("object", structured)
    if not isinstance(structured_option, bool | OutputSchema | None):
        fix = "write True, or a schema such as rendered.output"
        raise OptionError(f"structured={shown(structured)}", fix=fix, at=(author(),))
    provider_name = checked_provider(provider)
    if id is not None and (not isinstance(id, str) or not id):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise OptionError(f"id={shown(id)}", fix="write a text that is not empty", at=(author(),))
    try:
        fields = mapping(reply)
        sender = provider_of(fields)
        if sender is None:
            shown_keys = ", ".join(map(shown_name, fields)) or "none"
            raise DataError(f"no provider sends a response with these keys: {shown_keys}")
        message = with_response_id(
            TARGETS[provider_of_reply(sender, provider_name)].read_response(fields), fields
        )
        message = message if id is None else message.replace(id=id)
        if message.role != "assistant":
            raise DataError(f"a response is a message of the model, not a {message.role} message")
        parsed = plain(_as_data(_parsed(reply)), "structured_output")
    except DataError as error:
        fix = advice_about(reply) or error.fix or "give the object the client returned"
        raise DataError(error.what, fix=fix, at=(author(),)) from None
    if structured is None or structured is False:
        return message if parsed is None else message.replace(structured_output=parsed)
    if message.calls and not message.text.strip():
        return message
    try:
        return message.replace(structured_output=_answer_of(message, structured))
    except DataError as error:
        raise DataError(error.what, fix=error.fix, at=(author(),)) from None


def _parsed(reply: object) -> object:
    """Return the value that an SDK parsed from the answer of a reply, ``None`` without one."""
    choice = next(iter(getattr(reply, "choices", None) or ()), None)
    for container in (getattr(choice, "message", None), reply):
        for name in ("parsed", "output_parsed", "parsed_output"):
            value = getattr(container, name, None)
            if value is not None:
                return value
    return None


def _answer_of(message: Message, structured: OutputSchema | bool) -> JsonValue:
    """Return the JSON value in an answer; raises :class:`DataError` for a refusal or no value."""
    reason = f" (finish_reason {message.finish_reason!r})" if message.finish_reason else ""
    if message.is_refusal:
        what = f"the model refused to answer{reason}: {message.text[:60]!r}"
        raise DataError(what, fix="ask for something else, or show the refusal")
    has_expected_shape = None
    if isinstance(structured, OutputSchema):
        schema = resolved(structured.schema, structured.schema)
        has_expected_shape = partial(has_shape, schema=schema)
    answer = read_answer(message.text, has_expected_shape)
    if isinstance(answer, Absent):
        raise DataError(
            f"the answer is not JSON{reason}: {message.text[:60]!r}",
            fix="ask for it with an Output(schema), and allow tokens for the complete answer",
        )
    return answer


def with_response_id(message: Message, fields: Mapping[str, object]) -> Message:
    """Return the message of a reply, with the provider's id of the reply if there is one."""
    id = response_id(fields)
    if id is None:
        return message
    return message.replace(metadata={**message.metadata, "response_id": id})


def response_id(fields: Mapping[str, object]) -> str | None:
    """Return the provider's id of a reply, ``None`` without one. Replies of Bedrock have none."""
    ids = map(fields.get, ("id", "response_id", "responseId"))
    return next((id for id in ids if isinstance(id, str) and id), None)


def checked_provider(provider: str | None) -> str | None:
    """Return the provider that an author chose; raises :class:`TargetError` if it is unknown."""
    try:
        if provider is not None:
            check_provider(provider)
    except TargetError as error:
        raise error.located(author()) from None
    return provider


def provider_of_reply(sender: str, provider_name: str | None) -> str:
    """Return the provider of a reply: ``provider_name``, or ``sender`` if that is ``None``.

    ``sender`` is the provider whose format the reply has. Raises :class:`DataError` if the chosen
    provider sends replies in another format.
    """
    if provider_name is None or wire_of(provider_name).provider_format == sender:
        return provider_name or sender
    problem = f"{provider_name} sends replies in another format: this one looks like {sender}"
    raise DataError(problem, fix="name the provider or the server that sent it, or leave it out")


def advice_about(reply: object, reader: str = "read_response") -> str:
    """Return the advice for an object that is not a reply, or an empty string."""
    if isinstance(reply, Message):
        return "it is a message already"
    if isinstance(reply, str):
        return 'a text alone is Message("assistant", text)'
    if hasattr(reply, "__await__"):
        from promptdsl.foundation.remedies import close

        close(reply)
        return f"await the client: {reader}(await client...)"
    if hasattr(reply, "__aiter__"):
        loop = "reading = aread_stream(stream); async for event in reading: ..."
        advice = f"read an asynchronous stream by {loop}; then reading.message"
        return "read its message: reading.message" if hasattr(reply, "__iter__") else advice
    if hasattr(reply, "__enter__") and not hasattr(reply, "__iter__"):
        return "open it: with ... as stream: reading = read_stream(stream)"
    first: object = reply[0] if is_list(reply) and reply else reply
    fields: Mapping[str, object] = {}
    with suppress(DataError):
        fields = mapping(first)
    provider = event_provider(fields)
    # If the events of a provider are complete responses, a single one is a response.
    is_event = provider != "" and (first is not reply or wire_of(provider).event != ())
    is_iterator = hasattr(reply, "__iter__") and hasattr(reply, "close")
    if is_event or is_iterator or "stream" in fields or hasattr(reply, "__next__"):
        loop = "reading = read_stream(stream); for event in reading: ..."
        return f"read a stream by {loop}; then reading.message"
    if "role" in fields:
        return "it is a message: read it with a History, such as History.from_openai([message])"
    return "the request failed: read reply['error']" if fields.get("error") else ""


def event_provider(event: Mapping[str, object]) -> str:
    """Return the provider that sends events like this one, an empty string for an unknown event."""
    features = [f"{key}: {shown_name(event.get(key))}" for key in ("type", "object")]
    for key, value in event.items():
        name = shown_name(key)
        features.append(f"key: {name}")
        for item in list_or_empty(value):
            features += [f"{name}[]: {shown_name(inner)}" for inner in mapping_or_empty(item)]
    for wire in provider_formats():
        if any(feature.startswith(wire.event) for feature in features):
            return wire.name
    provider = provider_of(event)
    if provider is None or wire_of(provider).event:
        return ""
    return provider


def provider_of(fields: Mapping[str, object]) -> str | None:
    """Return the provider whose responses have these keys, ``None`` if no provider has them.

    Single keys, which only one provider has, are checked before pairs, which others may have, too.
    """
    for features, provider in _response_features():
        if all(_has(fields, key, value) for key, value in features.items()):
            return provider
    return None


@cache
def _response_features() -> list[tuple[Mapping[str, object], str]]:
    """Return the keys by which responses are recognised, each with its provider, single ones first.

    A single key belongs to one provider only.
    """
    rows = [(features, wire.name) for wire in provider_formats() for features in wire.response]
    return sorted(rows, key=lambda row: len(row[0]))


def _has(fields: Mapping[str, object], key: str, expected: object) -> bool:
    """Return whether a key has the expected value, or a value of the expected type."""
    value = fields.get(key)
    is_right = isinstance(value, expected) if isinstance(expected, type) else value == expected
    return key in fields and is_right


def _as_data(value: object) -> object:
    """Return a value that an SDK parsed as data: models and enumerations, also in a list."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    if isinstance(value, Enum):
        return value.value
    return [_as_data(item) for item in value] if is_list(value) else value


# Read a stream: pass its events on unchanged, and collect the message of the reply.

E = TypeVar("E")  # an event of a stream
_EMPTY = Message("assistant", (), kind="recorded", finish_reason="interrupted")
"""The message of a stream before any event was read."""


@public_api
def read_stream(events: Iterable[E], *, provider: ProviderName | None = None) -> "Reading[E]":
    """Return a :class:`Reading`: iterate over it to get the events; it collects the ``message``.

    Iterate over ``reading.texts`` instead to get the pieces of the answer's text. Both read the
    same stream.

    ``events`` is the stream that a client returned, or a list of recorded events. If the stream was
    interrupted, the message has the texts and the complete blocks, its ``finish_reason`` is
    ``interrupted``, and ``metadata["interrupted"]`` names the content that is left out.
    ``provider`` names the server that sends the stream, as in :func:`read_response`.

    >>> from promptdsl import read_stream
    >>> chunks = [{"choices": [{"delta": {"content": text}}]} for text in ("Ra", "in.")]
    >>> reading = read_stream(chunks)
    >>> [chunk["choices"][0]["delta"]["content"] for chunk in reading]
    ['Ra', 'in.']
    >>> reading.message.text, reading.message.finish_reason
    ('Rain.', 'interrupted')
    >>> [text for text in read_stream(chunks).texts]
    ['Ra', 'in.']

    Raises :class:`DataError` if ``events`` is not a stream. When iterated, raises it for an event
    that cannot be read, is an error, or belongs to a second answer (``n=2``). Raises
    :class:`TargetError` for an unknown provider.
    """
    provider_name = checked_provider(provider)
    stream: Any = events.get("stream") if is_mapping(events) else events  # Any: it is iterated only
    if isinstance(stream, str) or hasattr(stream, "model_dump") or not hasattr(stream, "__iter__"):
        raise _no_stream(events)
    return Reading(iter(stream), provider_name)


@public_api
def aread_stream(events: AsyncIterable[E], *, provider: ProviderName | None = None) -> "Reading[E]":
    """Return what :func:`read_stream` returns, to be iterated with ``async for``.

    >>> import asyncio
    >>> from promptdsl import aread_stream
    >>> async def stream():
    ...     yield {"candidates": [{"content": {"parts": [{"text": "Rain."}]}}]}
    >>> async def text():
    ...     reading = aread_stream(stream())
    ...     return [reading.message.text async for event in reading]
    >>> asyncio.run(text())
    ['Rain.']
    """
    provider_name = checked_provider(provider)
    if not hasattr(events, "__aiter__"):
        raise _no_stream(events)
    return Reading(aiter(events), provider_name)


def _no_stream(argument: object) -> DataError:
    """Return the error for an object that is not a stream."""
    fix = "give the stream that a client returns with stream=True; read_response reads a reply"
    fix = advice_about(argument, "aread_stream") or fix
    return DataError(f"a stream is needed, not {type(argument).__name__}", fix=fix)


class Reading(Generic[E]):
    """The events of a stream, and the message that they make so far; see :func:`read_stream`."""

    def __init__(
        self, events: Any, provider_name: str | None
    ) -> None:  # Any: an iterator of either kind
        self._events = events
        self._provider_name = provider_name
        self._count = 0
        self._provider = ""
        self._reply = StreamedReply()
        self._message: Message | None = None
        self._passed = 0
        """The number of events that were passed on although no known provider sends them."""
        self._has_started = self._has_ended = False
        """Whether the iteration has started, and whether all events were read."""

    def __iter__(self) -> Iterator[E]:
        self._begin("__next__", "asynchronous: read it with aread_stream and async for")
        for event in self._events:
            self._add(event)
            yield event
        self._has_ended = True

    async def __aiter__(self) -> AsyncIterator[E]:
        self._begin("__anext__", "synchronous: write for event in reading")
        async for event in self._events:
            self._add(event)
            yield event
        self._has_ended = True

    def _begin(self, method: str, advice: str) -> None:
        """Begin to iterate; raises :class:`DataError` if the events have no such method."""
        if not hasattr(self._events, method):
            raise DataError(f"this stream is {advice}", at=(author(),))
        self._has_started = True

    @property
    def texts(self) -> "StreamTexts":
        """An iterator over the text of the answer as it arrives, in pieces that are not empty.

        Reasoning, calls and refusals are left out. It reads the same stream as the events: you may
        begin with one and continue with the other, and no piece comes twice. All pieces joined are
        the texts of ``message``.

        >>> from promptdsl import read_stream
        >>> deltas = [{"content": "Ra"}, {"reasoning_content": "Hm."}, {"content": "in."}]
        >>> reading = read_stream([{"choices": [{"delta": delta}]} for delta in deltas])
        >>> [text for text in reading.texts], reading.message.text
        (['Ra', 'in.'], 'Rain.')
        """
        return StreamTexts(self)

    @property
    @public_api
    def message(self) -> Message:
        """The message so far.

        While you read the stream, and after it failed or you left it, this never raises an error:
        without events that make a message, it is an empty message. Raises :class:`DataError` before
        you iterate over the stream, and if the complete stream is not an answer of a provider.
        """
        is_unfinished = self._has_started and not self._has_ended
        if not self._provider:
            if is_unfinished or (self._has_ended and not self._passed):
                return _EMPTY
            fix = "read the stream of a client: for event in reading: ...; then reading.message"
            raise DataError("no event of a provider was read so far", fix=fix)
        if self._message is None:
            try:
                message = TARGETS[self._provider].read_response(self._reply.response)
            except DataError as error:
                if is_unfinished:
                    return _EMPTY
                fix = "give read_stream all events of the stream, from the first on"
                raise DataError(
                    f"the events do not make an answer: {error.what}", fix=fix
                ) from None
            if not self._reply.ended:
                message = _interrupted(message, TARGETS[self._provider].facts.thinking_tags)
            self._message = with_response_id(message, self._reply.response)
        return self._message

    @property
    def response(self) -> tuple[Param, str]:
        """The reply so far in the format of a response, and its provider."""
        return self._reply.response, self._provider

    def _text_in(self, event: object) -> str:
        """Add an event, and return the new text in it."""
        before = [len(text) for text in self._texts_so_far()]
        self._add(event)
        after = self._texts_so_far()
        before += [0] * (len(after) - len(before))
        return "".join(text[start:] for text, start in zip(after, before, strict=False))

    def _texts_so_far(self) -> list[str]:
        return TARGETS[self._provider].texts_so_far(self._reply) if self._provider else []

    def _last_text(self) -> str:
        """End the stream, and return the text that only its end makes certain.

        The text may begin like reasoning, or be in the last event only.
        """
        if self._has_ended:
            return ""
        self._has_ended = True
        earlier_text, blocks = "".join(self._texts_so_far()), tuple[Block, ...]()
        with suppress(DataError):  # if the events are not an answer, ``message`` raises
            blocks = self.message.content
        texts = [block for block in blocks if isinstance(block, TextBlock)]
        text = "".join(block.text for block in texts if not block.extra.get("refusal"))
        return text[len(earlier_text) :] if text.startswith(earlier_text) else ""

    def _add(self, event_or_helper: object) -> None:
        self._count += 1
        self._message = None
        try:
            # A helper of OpenAI's SDK puts the chunks into other events.
            event = mapping(getattr(event_or_helper, "chunk", event_or_helper))
            event = mapping(event.get("chunk", event))
            _refuse(event)
            if not self._provider and (sender := event_provider(event)):
                self._provider = provider_of_reply(sender, self._provider_name)
            if self._provider:
                TARGETS[self._provider].add_event(self._reply, event)
            else:
                self._passed += 1
        except DataError as error:
            fix = error.fix or "give the stream that the client returned"
            what = f"event {self._count} of the stream: {error.what}"
            raise DataError(what, fix=fix, at=(author(),)) from None


class StreamTexts(Iterator[str], AsyncIterator[str]):
    """An iterator over the texts of a stream; see :attr:`Reading.texts`."""

    def __init__(self, reading: Reading[Any]) -> None:  # Any: events of any client
        self._reading = reading

    def __next__(self) -> str:
        reading = self._reading
        reading._begin("__next__", "asynchronous: read it with aread_stream and async for")
        for event in reading._events:
            if text := reading._text_in(event):
                return text
        if text := reading._last_text():
            return text
        raise StopIteration

    async def __anext__(self) -> str:
        reading = self._reading
        reading._begin("__anext__", "synchronous: write for text in reading.texts")
        async for event in reading._events:
            if text := reading._text_in(event):
                return text
        if text := reading._last_text():
            return text
        raise StopAsyncIteration


def _refuse(event: Param) -> None:
    """Raise :class:`DataError` for an error of the provider and for a second answer."""
    key = "choices" if event.get("choices") else "candidates"
    answers = items(event.get(key) or (), key)
    if any(is_mapping(answer) and answer.get("index") for answer in answers):
        fix = "ask for one answer: n=1, or for Gemini candidate_count=1"
        raise DataError("a second answer to one request", fix=fix)
    # Responses has the error in the response that failed. Bedrock names the exception in the key.
    fields = mapping(event.get("response")) if event.get("type") == "response.failed" else event
    error_keys = [key for key in fields if key == "error" or str(key).endswith("Exception")]
    errors = [fields[key] for key in error_keys if fields[key]]
    if errors or event.get("type") in ("error", "response.failed"):
        fix = "send the request again; reading.message has what came before"
        # Without an error, all fields are shown.
        raise DataError(f"the provider sent an error: {[*errors, fields][0]}", fix=fix)


def _interrupted(message: Message, tags: tuple[str, str] | None) -> Message:
    """Return the message of an interrupted stream, without its incomplete blocks."""
    blocks: list[Block] = []
    incomplete: list[str] = []
    unknown = [block.data for block in message.content if isinstance(block, UnknownBlock)]
    answered_ids = [data.get("tool_use_id") for data in unknown]
    for block in message.content:
        data = block.data if isinstance(block, UnknownBlock) else block.extra
        name = str(data.get("type", block.type))
        is_open = data.get("status") == "in_progress"
        call = data.get("function_call")
        if isinstance(block, ToolUseBlock):
            # The arguments of an incomplete call are no JSON object yet.
            name, is_open = f"call of {block.name}", block.input is None
        elif is_mapping(call) and call.get("will_continue"):
            name, is_open = f"call of {call.get('name')}", True
        elif isinstance(block, ReasoningBlock) and wire_of(block.origin).signs:
            is_open = not (block.signature or block.encrypted)
        elif isinstance(block, TextBlock) and tags and block is message.content[0]:
            # A text that begins with the opening tag is reasoning until a tag closes it.
            name, is_open = "reasoning", block.text.startswith(tags[0])
        elif name.endswith("_tool_use"):
            # The service refuses a call of its own tool without the result.
            is_open = data.get("id") not in answered_ids
        if is_open:
            incomplete.append(name)
        elif not isinstance(block, TextBlock) or block.text or block.extra:
            blocks.append(block)
    notes = {"interrupted": incomplete} if incomplete else {}
    return message.replace(content=tuple(blocks), metadata=notes, finish_reason="interrupted")
