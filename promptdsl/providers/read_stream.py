"""Reading a stream: its events pass unchanged, and make the message of the reply."""

from collections.abc import AsyncIterable, Iterable
from typing import Generic, Self, TypeVar

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.json import ABSENT
from promptdsl.foundation.source import author, door, end_traceback
from promptdsl.messages import Block, ReasoningBlock, TextBlock, ToolUseBlock, UnknownBlock
from promptdsl.messages.message import Message
from promptdsl.providers.read_response import advice_about, event_provider
from promptdsl.providers.registry import TARGETS
from promptdsl.providers.shared.checks import is_list, mapping
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.streamed import StreamedReply

E = TypeVar("E")


@door
def read_stream(events: Iterable[E]) -> "Reading[E]":
    """Return the events of a stream, to be iterated, and the message that they make.

    ``events`` is the stream that a client returned, boto3's response with one, or a list of
    recorded events: objects of an SDK or dictionaries. ``reading.message`` is the message so far,
    in the end that of :func:`read_response`. Of a stream that was cut off it has the texts and the
    whole blocks: its ``finish_reason`` is ``interrupted``, and ``metadata["interrupted"]`` names
    what is left out.

    >>> from promptdsl import read_stream
    >>> chunks = [{"choices": [{"delta": {"content": text}}]} for text in ("Ra", "in.")]
    >>> reading = read_stream(chunks)
    >>> [chunk["choices"][0]["delta"]["content"] for chunk in reading]
    ['Ra', 'in.']
    >>> reading.message.text, reading.message.finish_reason
    ('Rain.', 'interrupted')

    Raises :class:`DataError` for anything but a stream. Iterating raises it for an event that
    cannot be read or is an error, and for several answers (``n=2``); the message so far stays.
    """
    stream: object = events.get("stream", events) if is_mapping(events) else events
    if is_mapping(stream) or isinstance(stream, str) or hasattr(stream, "model_dump"):
        raise _no_stream(stream, "it is no stream: read_response(reply), or ask with stream=True")
    if not isinstance(stream, Iterable):
        raise _no_stream(stream, advice_about(stream, "read_stream"))
    return Reading(stream)


@door
def aread_stream(events: AsyncIterable[E]) -> "AsyncReading[E]":
    """Return what :func:`read_stream` returns, for the stream of an asynchronous client.

    >>> import asyncio
    >>> from promptdsl import aread_stream
    >>> async def stream():
    ...     yield {"candidates": [{"content": {"parts": [{"text": "Rain."}]}}]}
    >>> async def read():
    ...     reading = aread_stream(stream())
    ...     async for event in reading:
    ...         pass
    ...     return reading.message.text
    >>> asyncio.run(read())
    'Rain.'
    """
    if not isinstance(events, AsyncIterable):
        raise _no_stream(events, advice_about(events, "aread_stream"))
    return AsyncReading(events)


def _no_stream(given: object, fix: str) -> DataError:
    what = f"a stream is needed, not {type(given).__name__}"
    return DataError(what, fix=fix or "give the stream that the client returned", at=(author(),))


class _Reply:
    """The reply that the events of a stream make."""

    def __init__(self) -> None:
        self._provider = ""
        self._reply = StreamedReply()
        self._count = 0

    @property
    @door
    def message(self) -> Message:
        """The message so far; :class:`DataError` before the first event of a provider."""
        self._add(ABSENT)
        try:
            message = TARGETS[self._provider].adapter.read_response(self._reply.response)
        except DataError as error:
            raise error.located(author()) from None
        return message if self._reply.ended else _interrupted(message)

    def _add(self, given: object) -> None:
        """Add an event to the reply. At the end, ``ABSENT``, there has to be one of a provider."""
        if given is ABSENT:
            if not self._provider:
                fix = "iterate the client's stream: for event in reading: ..., then reading.message"
                raise DataError("no event of a provider so far", fix=fix, at=(author(),))
            return
        self._count += 1
        try:
            # A helper of OpenAI's SDK has the chunks in events of its own.
            event = mapping(getattr(given, "chunk", given))
            event = mapping(event["chunk"]) if event.get("type") == "chunk" else event
            _refuse_errors(event)
            self._provider = self._provider or event_provider(event)
            if self._provider:
                TARGETS[self._provider].adapter.add_event(self._reply, event)
        except DataError as error:
            what, fix = f"event {self._count} of the stream: {error.what}", error.fix
            fix = fix or "give the stream that the client returned"
            raise DataError(what, fix=fix, at=(author(),)) from None


class Reading(_Reply, Generic[E]):
    """The events of a stream, and its message; see :func:`read_stream`."""

    def __init__(self, events: Iterable[E]) -> None:
        super().__init__()
        self._events = iter(events)

    def __iter__(self) -> Self:
        return self

    @door
    def __next__(self) -> E:
        event = next(self._events, ABSENT)
        self._add(event)
        if event is ABSENT:
            raise StopIteration
        return event


class AsyncReading(_Reply, Generic[E]):
    """The events of an asynchronous stream, and its message; see :func:`aread_stream`."""

    def __init__(self, events: AsyncIterable[E]) -> None:
        super().__init__()
        self._events = aiter(events)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> E:
        event = await anext(self._events, ABSENT)
        try:
            self._add(event)
        except DataError as error:
            end_traceback(error)
            raise
        if event is ABSENT:
            raise StopAsyncIteration
        return event


def _refuse_errors(event: Param) -> None:
    """Raise :class:`DataError` for an error of the provider, and for a second answer."""
    for answers in (event.get("choices"), event.get("candidates")):
        if is_list(answers) and any(
            is_mapping(answer) and answer.get("index") for answer in answers
        ):
            fix = "ask for one answer: n=1, or for Gemini candidate_count=1"
            raise DataError("a second answer to one request", fix=fix)
    kind, error = event.get("type"), event.get("error")
    if kind == "response.failed":
        error = mapping(event.get("response")).get("error") or kind
    elif kind == "error":
        error = error or event
    for key in event:
        error = event[key] if str(key).endswith("Exception") else error
    if error:
        entries = mapping(error) if is_mapping(error) else {"message": error}
        name = entries.get("code") or entries.get("type") or "error"
        fix = "send the request again; reading.message has what came before"
        raise DataError(f"{name}: {entries.get('message')}", fix=fix)


def _interrupted(message: Message) -> Message:
    """Return the message of a stream that was cut off, without what is not whole."""
    blocks: list[Block] = []
    left_out: list[str] = []
    unknown = [block.data for block in message.content if isinstance(block, UnknownBlock)]
    answered = [data.get("tool_use_id") for data in unknown]
    for block in message.content:
        data = block.data if isinstance(block, UnknownBlock) else block.extra
        name = str(data.get("type", block.type))
        is_open = data.get("status") == "in_progress"
        if isinstance(block, ToolUseBlock):
            name, is_open = f"call of {block.name}", not block.id or block.input is None
        elif isinstance(block, ReasoningBlock) and block.origin in ("anthropic", "bedrock"):
            is_open = not (block.signature or block.encrypted)
        elif name.endswith("_tool_use"):
            # The service refuses a call of a tool of its own without the result.
            is_open = data.get("id") not in answered
        if is_open:
            left_out.append(name)
        elif not isinstance(block, TextBlock) or block.text or block.extra:
            blocks.append(block)
    notes = {"interrupted": left_out} if left_out else {}
    return message.replace(content=tuple(blocks), metadata=notes, finish_reason="interrupted")
