"""Reading a stream: its events pass unchanged, and make the message of the reply."""

from collections.abc import AsyncIterable, Awaitable, Iterable, Mapping
from typing import Any, Generic, Self, TypeVar, cast, overload

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.json import ABSENT
from promptdsl.foundation.source import author, door, end_traceback
from promptdsl.messages import Block, ReasoningBlock, TextBlock, ToolUseBlock
from promptdsl.messages.message import Message
from promptdsl.providers.read_response import event_provider, stream_advice
from promptdsl.providers.registry import TARGETS
from promptdsl.providers.shared.checks import mapping
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.streamed import StreamedReply

E = TypeVar("E")


@overload
def read_stream(events: Mapping[str, object]) -> "Reading[Any]": ...  # Any: boto3 has no types
@overload
def read_stream(events: Iterable[E]) -> "Reading[E]": ...
@door
def read_stream(events: object) -> "Reading[Any]":  # Any: as above
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
    given = events.get("stream", events) if is_mapping(events) else events
    is_reply = is_mapping(given) or hasattr(given, "model_dump")
    if isinstance(given, Iterable) and not is_reply and not isinstance(given, str):
        return Reading(cast("Iterable[Any]", given))  # Any: as above
    raise _no_stream(given, "it is a whole reply: read_response(reply)" if is_reply else "")


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
    if isinstance(events, AsyncIterable):
        return AsyncReading(events)
    raise _no_stream(events, "")


def _no_stream(given: object, advice: str) -> DataError:
    fix = advice or stream_advice(given) or "give the stream that the client returned"
    if isinstance(given, Awaitable):
        from promptdsl.foundation.remedies import close

        close(given)
        fix = "await the client: aread_stream(await client...)"
    return DataError(f"a stream is needed, not {type(given).__name__}", fix=fix, at=(author(),))


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
        if not self._provider:
            raise self._nothing()
        adapter = TARGETS[self._provider].adapter
        try:
            response, left_out = adapter.stream.response(self._reply)
            message = adapter.read_response(response)
        except DataError as error:
            raise error.located(author()) from None
        return message if self._reply.ended else _interrupted(message, left_out)

    def _add(self, given: object) -> None:
        """Add an event to the reply, ``ABSENT`` at the end of the stream."""
        if given is ABSENT and not self._provider:
            raise self._nothing()
        if given is ABSENT:
            return
        self._count += 1
        try:
            # A helper of OpenAI's SDK has the chunks in events of its own.
            event = mapping(getattr(given, "chunk", given))
            event = mapping(event["chunk"]) if event.get("type") == "chunk" else event
            if failure := _failure(event):
                raise DataError(failure, fix="send the request again; reading.message has the rest")
            self._provider = self._provider or event_provider(event)
            if self._provider:
                TARGETS[self._provider].adapter.stream.add(self._reply, event)
        except DataError as error:
            fix = error.fix or "give the stream as the client returned it"
            what = f"event {self._count} of the stream: {error.what}"
            raise DataError(what, fix=fix, at=(author(),)) from None

    def _nothing(self) -> DataError:
        what = "the stream has no event of a provider so far"
        return DataError(what, fix=stream_advice(iter(())), at=(author(),))


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


def _failure(event: Param) -> str:
    """Return what the provider says of an error in an event, an empty string without one."""
    kind = event.get("type")
    if kind == "response.failed":
        event = {"error": "the response failed", **mapping(event.get("response"))}
    error = event.get("error") or (event if kind == "error" else None)
    for key in event:
        error = event[key] if str(key).endswith("Exception") else error
    if not is_mapping(error):
        return str(error or "")
    name = error.get("code") or error.get("type")
    return f"{name}: {error.get('message')}"


def _interrupted(message: Message, left_out: list[str]) -> Message:
    """Return the message of a stream that was cut off, without what is not whole."""
    blocks: list[Block] = []
    for block in message.content:
        if isinstance(block, ToolUseBlock) and block.input is None and "custom" not in block.extra:
            left_out.append(f"call of {block.name}")
        elif (
            isinstance(block, ReasoningBlock)
            and block.origin in ("anthropic", "bedrock")
            and not (block.signature or block.encrypted)
        ):
            left_out.append("reasoning")
        elif not isinstance(block, TextBlock) or block.text or block.extra:
            blocks.append(block)
    notes = {"interrupted": left_out} if left_out else {}
    return message.replace(content=tuple(blocks), metadata=notes, finish_reason="interrupted")
