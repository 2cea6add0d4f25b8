"""Read a stream: pass its events on unchanged, and collect the message of the reply."""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import suppress
from typing import Any, Generic, TypeVar

from promptdsl.config.wires import wire_of
from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.source import author, public_api
from promptdsl.messages import Block, ReasoningBlock, TextBlock, ToolUseBlock, UnknownBlock
from promptdsl.messages.message import Message
from promptdsl.messages.provider_names import ProviderName
from promptdsl.providers.read_response import (
    advice_about,
    event_provider,
    named_provider,
    sent_by,
    with_response_id,
)
from promptdsl.providers.registry import TARGETS
from promptdsl.providers.shared.checks import items, mapping
from promptdsl.providers.shared.request import Param
from promptdsl.providers.shared.streamed import StreamedReply

E = TypeVar("E")
_EMPTY = Message("assistant", (), kind="recorded", finish_reason="interrupted")
"""The message of a stream of which nothing was read."""


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
    named = named_provider(provider)
    stream: Any = events.get("stream") if is_mapping(events) else events  # Any: it is iterated only
    if isinstance(stream, str) or hasattr(stream, "model_dump") or not hasattr(stream, "__iter__"):
        raise _no_stream(events)
    return Reading(iter(stream), named)


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
    named = named_provider(provider)
    if not hasattr(events, "__aiter__"):
        raise _no_stream(events)
    return Reading(aiter(events), named)


def _no_stream(argument: object) -> DataError:
    fix = "give the stream that a client returns with stream=True; read_response reads a reply"
    fix = advice_about(argument, "aread_stream") or fix
    return DataError(f"a stream is needed, not {type(argument).__name__}", fix=fix)


class Reading(Generic[E]):
    """The events of a stream, and the message that is collected; see :func:`read_stream`."""

    def __init__(self, events: Any, named: str | None) -> None:  # Any: an iterator of either kind
        self._events = events
        self._named = named
        self._count = 0
        self._provider = ""
        self._reply = StreamedReply()
        self._message: Message | None = None
        self._passed = 0
        """The number of events passed on that no provider is known to send."""
        self._has_begun = self._has_ended = False
        """Whether the iteration has begun, and whether all events were read."""

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
        if not hasattr(self._events, method):
            raise DataError(f"this stream is {advice}", at=(author(),))
        self._has_begun = True

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

        While the stream is read, and after it failed or was left, it never raises an error:
        without events that make a message, it is an empty message. Raises :class:`DataError` before
        the stream is iterated, and if the complete stream is not an answer of a provider.
        """
        is_unfinished = self._has_begun and not self._has_ended
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
        """End the stream, and return the text that is known only now.

        The text may have begun like reasoning, or be in the last event only.
        """
        if self._has_ended:
            return ""
        self._has_ended = True
        shown, blocks = "".join(self._texts_so_far()), tuple[Block, ...]()
        with suppress(DataError):  # if the events are not an answer, ``message`` raises
            blocks = self.message.content
        texts = [block for block in blocks if isinstance(block, TextBlock)]
        text = "".join(block.text for block in texts if not block.extra.get("refusal"))
        return text[len(shown) :] if text.startswith(shown) else ""

    def _add(self, event_or_helper: object) -> None:
        self._count += 1
        self._message = None
        try:
            # A helper of OpenAI's SDK sends the chunks inside other events.
            event = mapping(getattr(event_or_helper, "chunk", event_or_helper))
            event = mapping(event.get("chunk", event))
            _refuse(event)
            if not self._provider and (sender := event_provider(event)):
                self._provider = sent_by(sender, self._named)
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
    failed = mapping(event.get("response")) if event.get("type") == "response.failed" else event
    keys = [key for key in failed if key == "error" or str(key).endswith("Exception")]
    errors = [failed[key] for key in keys if failed[key]]
    if errors or event.get("type") in ("error", "response.failed"):
        fix = "send the request again; reading.message has what came before"
        raise DataError(f"the provider says: {[*errors, failed][0]}", fix=fix)


def _interrupted(message: Message, tags: tuple[str, str] | None) -> Message:
    """Return the message of an interrupted stream, without its incomplete blocks."""
    blocks: list[Block] = []
    left_out: list[str] = []
    unknown = [block.data for block in message.content if isinstance(block, UnknownBlock)]
    answered = [data.get("tool_use_id") for data in unknown]
    for block in message.content:
        data = block.data if isinstance(block, UnknownBlock) else block.extra
        name = str(data.get("type", block.type))
        is_open = data.get("status") == "in_progress"
        call = data.get("function_call")
        if isinstance(block, ToolUseBlock):
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
            is_open = data.get("id") not in answered
        if is_open:
            left_out.append(name)
        elif not isinstance(block, TextBlock) or block.text or block.extra:
            blocks.append(block)
    notes = {"interrupted": left_out} if left_out else {}
    return message.replace(content=tuple(blocks), metadata=notes, finish_reason="interrupted")
