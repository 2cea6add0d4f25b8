"""Transcripts: conversations recorded as a log of entries, in memory, a file or a store."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self, cast

from promptdsl.foundation.errors import (
    ContentError,
    OptionError,
    TranscriptError,
    nearest,
    shown,
)
from promptdsl.foundation.frozen import is_mapping, plain
from promptdsl.foundation.source import public_api
from promptdsl.messages import Block, ToolUseBlock
from promptdsl.messages.field_checks import ErrorType, kind_of
from promptdsl.messages.message import Message, answers_in
from promptdsl.messages.names import ProviderName
from promptdsl.messages.pairing import closes_calls
from promptdsl.transcript import pairs
from promptdsl.transcript.base import Clock, Ids, NewEntry, Target
from promptdsl.transcript.entries import (
    TranscriptEntry,
    TranscriptTurn,
    message_of,
    type_of,
    utc_now,
)
from promptdsl.transcript.log import state_after
from promptdsl.transcript.stored import StoredLog
from promptdsl.transcript.values import (
    NewMessage,
    Repair,
    above,
    checked,
    client_messages,
    new_message,
    with_text,
)


class Transcript(StoredLog):
    """A recorded conversation: its messages, all their edits, and notes that only people see.

    A transcript is a sequence of its current messages, so ``History(transcript)`` shows them to a
    model. Nothing is ever overwritten: an edit is another entry, and every entry keeps its number.
    Calls and results stay in pairs. A change that raises an error changes nothing. Threads may
    share a transcript.

    - ``messages`` are the first messages: anything that :meth:`append` accepts.
    - ``clock`` returns the time of an entry; with ``None``, entries have no time.
    - ``ids`` gives ids to messages without an id: ``"uuid"``, ``"uuid7"`` or a function.

    >>> from promptdsl import History, Timeline, Transcript, render
    >>> transcript = Transcript()
    >>> question = transcript.append("Why was I charged twice?")
    >>> answer = transcript.append({"role": "assistant", "content": "Let me look."})
    >>> edit = transcript.replace(question, "Why twice?")
    >>> [message.text for message in render(Timeline(History(transcript))).messages]
    ['Why twice?', 'Let me look.']
    >>> back = transcript.undo()
    >>> transcript[0].text, len(transcript.entries)
    ('Why was I charged twice?', 4)

    Raises :class:`TranscriptError` for calls and results that are not in pairs.
    """

    @public_api
    def __init__(
        self, messages: Iterable[object] = (), *, clock: Clock = utc_now, ids: Ids = None
    ) -> None:
        self._begin(clock, ids)
        if isinstance(messages, str):
            raise ContentError(
                "messages is a text, not a list of messages", fix=f"Transcript([{shown(messages)}])"
            )
        if not hasattr(messages, "__iter__") or is_mapping(messages):
            fix = "write Transcript([message]), or Transcript() for an empty transcript"
            raise ContentError(f"messages must be a list, not {kind_of(messages)}", fix=fix)
        for index, value in enumerate(messages):
            name = type_of(value)
            if name is not None:
                new, message = _registered_entry(name, value)
            else:
                appended = new_message(value)
                new, message = _message_entry(appended), appended.message
                if self._ids is not None and message.id is None:
                    fix = "give each message an id, or append them"
                    raise TranscriptError(f"messages[{index}] has no id", fix=fix)
            if message is not None:
                pairs.check_next(message, self._open_calls())
            self._commit([new])

    # Changes.

    @public_api
    def append(
        self,
        value: object,
        *,
        interrupt: bool = False,
        interrupted: bool = False,
        provider: ProviderName | None = None,
    ) -> TranscriptEntry:
        """Record a message, and return its entry.

        ``value`` is one of these: a text (a user's turn); a :class:`Message` or its dictionary; the
        reply of a provider, or a stream that was read; a turn that was written outside of a block;
        an object of a type that :func:`entry_type` registered. The file of a path is read now, and
        its bytes are stored. If a current message has the same id and content, nothing is added,
        and the entry of that message is returned.

        ``provider`` names the server that sent a reply, such as ``deepseek``, as in
        :func:`read_response`; a stream that was read knows its server.

        ``interrupt=True`` first answers the calls without a result, as interrupted.
        ``interrupted=True`` is for a reply that was cut off. Calls whose arguments are not a JSON
        object are not recorded, and ``repairs`` lists them. The other calls are answered as
        interrupted.
        """
        with self._lock:
            name = type_of(value)
            if name is not None:
                new, message = _registered_entry(name, value)
            else:
                appended = new_message(value, provider)
                existing = self._entry_with_id(appended.message)
                if existing is not None:
                    return existing
                if interrupted:
                    appended = self._without_cut_calls(appended)
                if self._ids is not None and appended.message.id is None:
                    id = self._ids()
                    if self._turn_of(id) is not None:
                        fix = "pass a function that makes each id only once"
                        what = f"ids= made the id {shown(id)}, which another message has"
                        raise OptionError(what, fix=fix)
                    appended = appended._replace(message=appended.message.replace(id=id))
                new = _message_entry(appended)
                message = appended.message
            before: list[NewEntry] = []
            after: list[NewEntry] = []
            cut_off: Iterable[object] = ()
            if message is not None:
                open_calls = self._open_calls()
                if interrupt and closes_calls(message):
                    unanswered = open_calls.keys() - set(answers_in(message))
                    before = [_interrupted(open_calls[id]) for id in open_calls if id in unanswered]
                    open_calls = {
                        id: call for id, call in open_calls.items() if id not in unanswered
                    }
                pairs.check_next(message, open_calls)
                if interrupted:
                    after = [*map(_interrupted, message.calls)]
                    cut_off = cast("Any", message.metadata.get("interrupted", ()))
            entry = self._commit([*before, new, *after])[len(before)]
            self.repairs += tuple(f"a {what} was cut, and is left out" for what in cut_off)
            return entry

    def _entry_with_id(self, message: Message) -> TranscriptEntry | None:
        """Return the entry of a current message with the same id, ``None`` without one.

        Raises :class:`TranscriptError` if that message has other content.
        """
        turn = self._turn_of(message.id)
        if turn is None:
            return None
        if turn.message != message:
            fix = "give it another id, or replace the message"
            raise TranscriptError(
                f"the id {message.id!r} belongs to a message with other content", fix=fix
            )
        return turn.entry

    def _turn_of(self, id: str | None) -> TranscriptTurn | None:
        """Return the current turn whose message has this id, else ``None``."""
        turns = self._state.with_message(id) if id else []
        return turns[-1] if turns else None

    def _without_cut_calls(self, reply: NewMessage) -> NewMessage:
        """Return a reply that was cut off, without its incomplete calls."""
        message = reply.message
        if message.role != "assistant":
            raise OptionError(
                "interrupted=True is for a reply that was cut off", fix="leave it out"
            )
        left_out = [call for call in message.calls if call.input is None]
        if not left_out:
            return reply
        names = [f"call of {call.name}" for call in left_out]
        content = tuple(block for block in message.content if block not in left_out)
        metadata = {**message.metadata, "interrupted": names}
        return reply._replace(message=message.replace(content=content, metadata=metadata))

    @public_api
    def answer(
        self,
        call: ToolUseBlock | str,
        content: str | Sequence[Block | Mapping[str, object]],
        *,
        is_error: bool = False,
        error_type: ErrorType | None = None,
    ) -> TranscriptEntry:
        """Record the result of an open call; return the entry.

        ``call`` is the block of the call, or its id. ``content`` is a text or a list of blocks.
        :meth:`Message.tool_result` explains ``error_type``.
        """
        with self._lock:
            id: object = getattr(call, "id", call)
            if not isinstance(id, str):
                fix = "pass a call of transcript.pending_calls, or its id"
                raise OptionError(f"{kind_of(call)} is not a call", fix=fix)
            open_calls = {pending.id: pending for pending in self.pending_calls}
            if id not in open_calls:
                fix = pairs.no_call_fix(open_calls, content)
                raise TranscriptError(f"the call {id!r} is not open", fix=fix)
            name = open_calls[id].name
            return self.append(
                Message.tool_result(
                    id, content, name=name, is_error=is_error, error_type=error_type
                )
            )

    @public_api
    def replace(
        self, target: Target, value: object, *, provider: ProviderName | None = None
    ) -> TranscriptEntry:
        """Replace a turn, which keeps its number and its role; return the entry.

        ``target`` is a message, its id, a turn, an entry or a number. A text replaces the texts of
        the turn; its calls and attachments stay. A result must stay with its call. A call that the
        new content does not have is removed with its result. Only the last turn may get new calls.
        ``provider`` names the server of a reply, as in :meth:`append`.
        """
        with self._lock:
            turn, old = self._target(target)
            changed = (
                NewMessage(with_text(old, value), {})
                if isinstance(value, str)
                else new_message(value, provider)
            )
            message = changed.message
            if message.id is None and self._ids is not None and old.id is not None:
                changed = changed._replace(message=message.replace(id=old.id))
            elif message.id not in (None, old.id) and self._entry_with_id(message) is not None:
                raise TranscriptError(f"the id {message.id!r} is taken", fix="give it another id")
            removed = pairs.replaced(self._state.turns_after(turn.number), old, changed.message)
            data = {"turn": turn.number, **_message_data(changed), **_removed_data(removed)}
            return self._commit([NewEntry("replace", data, changed.message)])[0]

    @public_api
    def remove(self, target: Target) -> TranscriptEntry:
        """Remove a turn, together with the results of its calls; return the entry.

        ``target`` is as in :meth:`replace`.
        """
        with self._lock:
            number = self._number_of(target)
            turn = self._state.get(number)
            removed = pairs.RemovedResults([], {})
            if turn is None or turn.message is not None:
                _, old = self._target(number)
                if answers_in(old):
                    fix = "remove the turn that makes the call, or replace the result"
                    raise TranscriptError("a result cannot be removed alone", fix=fix)
                ids = [call.id for call in old.calls]
                removed = pairs.without_results(self._state.turns_after(number), ids)
            data = {"turn": number, **_removed_data(removed)}
            return self._commit([NewEntry("remove", data, None)])[0]

    @public_api
    def compact(self, summary: str, *, keep: int = 20) -> TranscriptEntry:
        """Replace all messages except the last ``keep`` by a summary; return its entry.

        More messages stay if the summary would divide a batch of calls. System messages at the
        beginning stay. A later summary replaces this summary. The text is a value: it cannot end
        its tag ``<summary>``.
        """
        with self._lock:
            if not isinstance(summary, str) or not summary.strip():  # pyright: ignore[reportUnnecessaryIsInstance]
                raise TranscriptError("a summary is a text that is not empty", fix="write a text")
            if type(keep) is not int or keep < 0:
                what = f"keep= must be a number of messages, not {shown(keep)}"
                raise OptionError(what, fix="write 0 or more")
            leading = {turn.number for turn in self._state.leading()}
            turns = [turn for turn in self._state.turns if turn.number not in leading]
            messages = [(turn.number, turn.message) for turn in turns if turn.message is not None]
            index = pairs.first_kept([message for _, message in messages], keep)
            if index == 0:
                fix = "write a smaller keep=, or wait until there are more messages"
                raise TranscriptError("there are no new messages to summarise", fix=fix)
            data = {"text": summary, "upto": messages[index - 1][0]}
            return self._commit([NewEntry("summary", plain(data, ""))])[0]

    @public_api
    def undo(self, to: TranscriptEntry | int | str | None = None) -> TranscriptEntry:
        """Go back to the state before the last change, or after an entry; return the new entry.

        ``to`` is the entry, its number, or the id of its message. Without ``to``, notes and tags do
        not count as changes. An undo can be undone: ``undo(to=number)``.
        """
        with self._lock:
            number = self._state.before_change(self._entries) if to is None else self._after(to)
            if number is None:
                raise TranscriptError("there is no change to undo", fix="append something first")
            return self._commit([NewEntry("undo", {"to": number}, None)])[0]

    @public_api
    def note(self, data: object) -> TranscriptEntry:
        """Record JSON data that only people see, no model; return the entry."""
        with self._lock:
            return self._commit([NewEntry("note", {"note": plain(data, "note")}, None)])[0]

    @public_api
    def tag(self, **metadata: object) -> TranscriptEntry:
        """Set tags, such as the title; the value ``None`` removes a tag. Return the entry."""
        with self._lock:
            if not metadata:
                raise TranscriptError(
                    "tag() needs at least one tag", fix='write tag(title="Invoice 77")'
                )
            data = {"metadata": plain(metadata, "metadata")}
            return self._commit([NewEntry("metadata", data, None)])[0]

    @public_api
    def fork(self, at: TranscriptEntry | int | str | None = None) -> Self:
        """Return a copy in memory, of all entries or of the entries up to ``at``.

        The copy has the same message objects. ``at`` is as ``to`` in :meth:`undo`.
        """
        with self._lock:
            number = self._last if at is None else self._after(at)
            copy = type(self).__new__(type(self))
            copy._begin(self._clock, self._ids)
            copy._entries = {n: entry for n, entry in self._gapless().items() if n <= number}
            copy._state = state_after(copy._entries)
            copy._changed()
            copy._note_refusal(copy._entries.values())
            return copy

    # Targets.

    def _after(self, entry: TranscriptEntry | int | str) -> int:
        """Return the number of the entry to go back to; 0 is the empty transcript.

        Raises :class:`TranscriptError` for an unknown number or id.
        """
        number = entry.number if isinstance(entry, TranscriptEntry) else entry
        if isinstance(number, str):
            number = self._with_id(number).number
        if type(number) is not int or (number not in self._entries and number != 0):
            what = f"there is no entry {shown(number)}"
            raise TranscriptError(what, fix=f"the last entry has the number {self._last}")
        return number

    def _with_id(self, id: str) -> TranscriptTurn:
        """Return the current turn whose message has an id; :class:`TranscriptError` without one."""
        turn = self._turn_of(id)
        if turn is None:
            ids = [message.id for message in self.messages if message.id]
            fix = nearest(id, ids) if ids else "no message has an id: write its number"
            raise TranscriptError(f"no message has the id {shown(id)}", fix=fix)
        return turn

    def _number_of(self, target: Target) -> int:
        """Return the number of a turn; :class:`TranscriptError` if it is not certain."""
        if isinstance(target, str):
            return self._with_id(target).number
        if isinstance(target, Message):
            turns = self._state.with_message(id(target))
            if len(turns) != 1:
                what = f"the transcript has this message {len(turns)} times"
                raise TranscriptError(
                    what, fix="pass one of its messages, or the number of its turn"
                )
            return turns[0].number
        number = target if isinstance(target, int) else getattr(target, "number", None)
        if type(number) is not int:
            fix = "pass one of its messages, an id, a turn, an entry or a number"
            raise TranscriptError(f"{shown(target)} is not a turn of this transcript", fix=fix)
        return number

    def _target(self, target: Target) -> tuple[TranscriptTurn, Message]:
        """Return a current turn and its message; :class:`TranscriptError` for anything else."""
        number = self._number_of(target)
        turn = self._state.get(number)
        if turn is None or turn.message is None:
            what = f"entry {number} is not a current message"
            if self._state.summary is not None and number == self._state.summary.number:
                what = f"entry {number} is the summary"
            raise TranscriptError(what, fix="transcript.turns lists the current turns")
        return turn, turn.message

    # Conversations of a browser and of providers.

    @classmethod
    @public_api
    def from_client(cls, data: object, *, clock: Clock = utc_now, ids: Ids = None) -> Self:
        """Return the conversation that a browser sent, as dictionaries of :class:`Message`.

        It accepts user, assistant and tool turns with text, addresses, base64, calls and results.
        Raises :class:`DataError` for anything else.
        """
        return cls(client_messages(data), clock=clock, ids=ids)

    @classmethod
    def _recorded(
        cls, data: object, provider_format: str, origin: str | None, repair: Repair
    ) -> Self:
        if repair not in ("error", "fill", "prune"):
            fix = 'write "error", "fill" or "prune"'
            raise OptionError(f"unknown repair {shown(repair)}", fix=fix)
        messages = [*above().recording(data, provider_format, origin)]
        paired, notes = above().repair(messages, repair)
        self = cls(message for _, message in paired)
        self.repairs = tuple(notes)
        return self

    @classmethod
    @public_api
    def from_openai(
        cls,
        data: object,
        *,
        repair: Repair = "error",
        origin: ProviderName | None = None,
    ) -> Self:
        """Return a conversation in the format of OpenAI Chat.

        ``repair`` says what to do with calls without a result and results without a call:
        ``error`` refuses them, ``fill`` answers the calls as interrupted, ``prune`` removes them.
        ``repairs`` lists the repairs. ``origin`` names the server that recorded the conversation,
        such as ``deepseek``: content that only this server accepts is sent back only to it.

        Raises :class:`TargetError` for an ``origin`` that is unknown or has another format.
        """
        return cls._recorded(data, "openai", origin, repair)

    @classmethod
    @public_api
    def from_openai_responses(
        cls,
        data: object,
        *,
        repair: Repair = "error",
        origin: ProviderName | None = None,
    ) -> Self:
        """Return a conversation in the format of OpenAI Responses; see :meth:`from_openai`."""
        return cls._recorded(data, "openai_responses", origin, repair)

    @classmethod
    @public_api
    def from_anthropic(
        cls,
        data: object,
        *,
        repair: Repair = "error",
        origin: ProviderName | None = None,
    ) -> Self:
        """Return a conversation in the format of Anthropic; see :meth:`from_openai`."""
        return cls._recorded(data, "anthropic", origin, repair)

    @classmethod
    @public_api
    def from_gemini(
        cls,
        data: object,
        *,
        repair: Repair = "error",
        origin: ProviderName | None = None,
    ) -> Self:
        """Return a conversation in the format of Gemini; see :meth:`from_openai`."""
        return cls._recorded(data, "gemini", origin, repair)

    @classmethod
    @public_api
    def from_bedrock(
        cls,
        data: object,
        *,
        repair: Repair = "error",
        origin: ProviderName | None = None,
    ) -> Self:
        """Return a conversation in the format of Bedrock Converse; see :meth:`from_openai`."""
        return cls._recorded(data, "bedrock", origin, repair)

    @classmethod
    @public_api
    def from_chat_template(cls, data: object, *, repair: Repair = "error") -> Self:
        """Return a conversation in the format of chat templates; see :meth:`from_openai`."""
        return cls._recorded(data, "chat_template", None, repair)


def _message_data(changed: NewMessage) -> dict[str, Any]:  # Any: JSON
    data: dict[str, Any] = {"message": changed.message.to_dict()}
    if changed.reply:
        data["reply"] = dict(changed.reply)
    return data


def _registered_entry(name: str, value: object) -> tuple[NewEntry, Message | None]:
    """Return the entry of an object of a registered type, and the message that a model gets."""
    message, data = message_of(name, value), {"value": cast("Any", value).to_json()}
    return NewEntry(name, plain(data, name), message and checked(message), value), message


def _message_entry(appended: NewMessage) -> NewEntry:
    data = _message_data(appended) if appended.reply else None
    return NewEntry("message", data, appended.message)


def _interrupted(call: ToolUseBlock) -> NewEntry:
    """Return the entry of the result that says that a call was interrupted."""
    return NewEntry("message", None, pairs.interrupted_result(call))


def _removed_data(removed: pairs.RemovedResults) -> dict[str, Any]:  # Any: JSON
    data: dict[str, Any] = {}
    if removed.also:
        data["also"] = removed.also
    if removed.rest:
        data["rest"] = {str(number): message.to_dict() for number, message in removed.rest.items()}
    return data
