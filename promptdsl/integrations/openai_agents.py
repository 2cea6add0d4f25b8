"""OpenAI Agents SDK: convert its items both ways, and keep its sessions in transcripts.

The SDK need not be installed. Its items are those of OpenAI Responses. Tools belong to the agent,
not to its input. The agent may have instructions, too, but a system message stays in the input.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, cast

from promptdsl import ConflictError, Message, Rendered, Transcript, TranscriptTurn, read_payload
from promptdsl.foundation.frozen import is_mapping, plain, thawed
from promptdsl.integrations import Converted
from promptdsl.integrations.shared import RESPONSES, Conversion, message_list

if TYPE_CHECKING:
    from agents import SessionSettings
    from openai.types.responses import ResponseInputItemParam

__all__ = ["from_openai_agents", "to_openai_agents", "transcript_session"]

AGENTS_ITEM = "agents_item"
"""The key in a note of the transcript for an item."""


def to_openai_agents(
    rendered: Rendered, *, strict: bool = False
) -> "Converted[list[ResponseInputItemParam]]":
    """Return the input of ``Runner.run``; a system message is one of its items.

    >>> from promptdsl import Timeline, User, render
    >>> from promptdsl.integrations.openai_agents import to_openai_agents
    >>> to_openai_agents(render(Timeline(User("Hi.")))).messages
    [{'role': 'user', 'content': 'Hi.'}]

    Tools are not in the input, with a hint: an agent takes functions. Raises
    :class:`PendingToolCalls` if the last calls have no results yet, and with ``strict=True``
    :class:`LossError` if text or media is lost.
    """
    is_for_responses = rendered.facts.provider == RESPONSES
    target = rendered if is_for_responses else rendered.for_target(RESPONSES)
    payload = target._payload()
    # The losses begin with those of the payload, because its items are the input.
    conversion = Conversion.of("the Agents SDK", target, all_losses=True)
    # The SDK takes the tool choice and the output schema elsewhere: each becomes a hint.
    conversion.lose_settings(rendered)
    if rendered.tools:
        conversion.hint("unsent_setting", "tools", "an agent takes functions: Agent(tools=...)")
    items = cast("list[ResponseInputItemParam]", payload["input"])
    # ``checked`` warns of the losses of the conversion. The losses of the payload are reported with
    # them, but it does not warn of these.
    losses = conversion.checked(strict=strict)
    # Do not warn of tools and of the output schema: the agent has them. These losses have no
    # location in the messages.
    target._warn_of([loss for loss in target._losses if loss.at])
    return Converted(items, losses)


def from_openai_agents(
    items: "Sequence[ResponseInputItemParam] | str", *, instructions: str | None = None
) -> Converted[tuple[Message, ...]]:
    """Return the messages of ``result.to_input_list()``, for a ``History``.

    >>> from promptdsl.integrations.openai_agents import from_openai_agents
    >>> messages = from_openai_agents("Hi.", instructions="Be brief.").messages
    >>> [(message.role, message.text) for message in messages]
    [('system', 'Be brief.'), ('user', 'Hi.')]

    ``instructions`` are those of the agent; they become a system message. Raises
    :class:`DataError` for anything but input items.
    """
    text_items = [{"role": "user", "content": items}]
    input_items = text_items if isinstance(items, str) else message_list(items, "input items")
    system = {} if instructions is None else {"instructions": instructions}
    return Converted(read_payload({**system, "input": input_items}, RESPONSES).messages)


def transcript_session(transcript: Transcript, session_id: str = "") -> "TranscriptSession":
    """Return a session of the Agents SDK that keeps its items in a transcript.

    >>> import asyncio
    >>> from promptdsl import Transcript
    >>> from promptdsl.integrations.openai_agents import transcript_session
    >>> session = transcript_session(Transcript(), "ticket-1881")
    >>> asyncio.run(session.add_items([{"role": "user", "content": "Hi."}]))
    >>> asyncio.run(session.get_items()), session.messages[0].text
    ([{'role': 'user', 'content': 'Hi.'}], 'Hi.')

    Pass it to ``Runner.run(agent, "Hi.", session=session)``. The SDK groups traces by
    ``session_id``, and needs the same id to resume a run.
    """
    return TranscriptSession(transcript, session_id)


class TranscriptSession:
    """A session of the Agents SDK that keeps its items in a transcript.

    Make it with :func:`transcript_session`. Each item is a note of the transcript.
    ``History(transcript)`` does not contain notes, but ``History(session.messages)`` contains the
    items. Errors of the transcript reach the caller.

    If ``Transcript.aopen()`` opened the transcript, each call that changes items is one append to
    its store. The call raises :class:`ConflictError` if another writer was faster. Its change is
    then dropped, and the transcript has what the other writer wrote. If ``Transcript.open()``
    opened the transcript, call ``transcript.refresh()`` after this error.
    """

    def __init__(self, transcript: Transcript, session_id: str) -> None:
        self.transcript = transcript
        self.session_id = session_id
        self.session_settings: SessionSettings | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        """The items as messages: an answer has its calls, and each result is a separate message.

        Raises :class:`DataError` for a note that is not an input item, such as an encrypted item.
        """
        return from_openai_agents(self._items()).messages

    async def get_items(self, limit: int | None = None) -> "list[ResponseInputItemParam]":
        """Return all items in order, or the latest items, as many as ``limit`` says.

        By default, ``limit`` is that of ``session_settings``. A limit may separate a result from
        its call. The SDK leaves such a result out of a request.
        """
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        return self._items(limit)

    async def add_items(self, items: "list[ResponseInputItemParam]") -> None:
        """Add items. Raises :class:`DataError`, and adds none, if one of them is not JSON."""
        for item in [plain(item, f"items[{index}]") for index, item in enumerate(items)]:
            self.transcript.note({AGENTS_ITEM: item})
        await self._commit()

    async def pop_item(self) -> "ResponseInputItemParam | None":
        """Remove the latest item and return it; ``None`` without items."""
        last = next(self._backwards(), None)
        if last is None:
            return None
        item: ResponseInputItemParam = thawed(last.note[AGENTS_ITEM])
        self.transcript.remove(last)
        await self._commit()
        return item

    async def clear_session(self) -> None:
        """Remove all items; all other notes and messages stay in the transcript."""
        # ``turns`` of a transcript is a tuple, so the turns may be removed while it is read.
        for turn in self._backwards():
            self.transcript.remove(turn)
        await self._commit()

    async def _commit(self) -> None:
        """Write the changes, if ``Transcript.aopen()`` opened the transcript.

        After a :class:`ConflictError`, the changes are dropped, and the transcript has the content
        of the store.
        """
        try:
            await self.transcript.acommit()
        except ConflictError:
            await self.transcript.arefresh()
            raise

    def _backwards(self) -> Iterator[TranscriptTurn]:
        """Yield the notes that contain an item, the latest note first."""
        for turn in reversed(self.transcript.turns):
            if is_mapping(turn.note) and AGENTS_ITEM in turn.note:
                yield turn

    def _items(self, limit: int | None = None) -> "list[ResponseInputItemParam]":
        stop = None if limit is None else max(limit, 0)
        latest_first = [thawed(turn.note[AGENTS_ITEM]) for turn in islice(self._backwards(), stop)]
        return latest_first[::-1]
