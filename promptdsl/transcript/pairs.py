"""Checks that keep calls and their results in pairs, for every change of a transcript."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from promptdsl.foundation.author_text import INTERRUPTED
from promptdsl.foundation.errors import TranscriptError
from promptdsl.messages import TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.messages.message import Message, answers_in, last_calls, results_in
from promptdsl.messages.pairing import closes_calls
from promptdsl.transcript.entries import TranscriptTurn


def open_after(message: Message, open_calls: Mapping[str, ToolUseBlock]) -> dict[str, ToolUseBlock]:
    """Return the open calls after a message, by id; ``open_calls`` are those before it."""
    if message.role == "assistant":
        return {call.id: call for call in message.calls}
    answered = answers_in(message)
    return {id: call for id, call in open_calls.items() if id not in answered}


def check_next(message: Message, open_calls: Mapping[str, ToolUseBlock]) -> None:
    """Raise :class:`TranscriptError` for a message that cannot follow the open calls."""
    answers = answers_in(message)
    for id, count in Counter(answers).items():
        if id not in open_calls or count > 1:
            what = f"there is no open tool call for the result {id!r}"
            raise TranscriptError(what, fix=no_call_fix(open_calls, _text_of_result(message, id)))
    unanswered = [id for id in open_calls if id not in answers]
    if unanswered and closes_calls(message):
        fix = "answer it with transcript.answer(call, ...), or append with interrupt=True"
        raise TranscriptError(f"the call {unanswered[0]!r} has no result yet", fix=fix)
    check_calls(message)


def no_call_fix(open_calls: Collection[str], text: object) -> str:
    """Return the advice for a result without an open call.

    ``text`` is the text of the result, which may be the id of an open call.
    """
    if isinstance(text, str) and text in open_calls:
        return f"the id of the call comes first: {text!r}, then the text of its result"
    return f"the open calls are: {', '.join(map(repr, open_calls)) or 'none'}"


def _text_of_result(message: Message, id: str) -> str | None:
    """Return the text of a result in a message, ``None`` if the result is not only a text."""
    content = next(block.content for block in results_in(message) if block.tool_use_id == id)
    if len(content) == 1 and isinstance(content[0], TextBlock):
        return content[0].text
    return None


def check_calls(message: Message) -> None:
    """Raise :class:`TranscriptError` for two calls with the same id, or calls of a wrong role."""
    counts = Counter(call.id for call in message.calls)
    repeated_ids = [id for id, count in counts.items() if count > 1]
    if repeated_ids:
        fix = "give each call of a turn an id of its own"
        raise TranscriptError(f"the call id {repeated_ids[0]!r} is used twice in one turn", fix=fix)
    if message.calls and message.role != "assistant":
        raise TranscriptError("only an assistant calls tools", fix="append it as an assistant turn")


def interrupted_result(call: ToolUseBlock) -> Message:
    """Return the result of a call that was interrupted."""
    return Message.tool_result(call.id, INTERRUPTED, name=call.name, error_type="interrupted")


class RemovedResults(NamedTuple):
    """The results of removed calls, by the numbers of their turns.

    ``also`` are the turns that are removed. ``rest`` are the messages that stay in other turns.
    """

    also: list[int]
    rest: dict[int, Message]


def without_results(following: Iterable[TranscriptTurn], call_ids: Iterable[str]) -> RemovedResults:
    """Return the results that are removed together with their calls, which have these ids.

    ``following`` are the turns after the turn with the calls.
    """
    removed_ids, removed = {*call_ids}, RemovedResults([], {})
    for turn in following:
        message = turn.message
        if message is None:
            continue
        if message.role == "assistant":
            break
        remaining = tuple(
            block
            for block in message.content
            if not (isinstance(block, ToolResultBlock) and block.tool_use_id in removed_ids)
        )
        if not remaining and message.content:
            removed.also.append(turn.number)
        elif len(remaining) < len(message.content):
            removed.rest[turn.number] = message.replace(content=remaining)
    return removed


def replaced(following: Iterable[TranscriptTurn], old: Message, new: Message) -> RemovedResults:
    """Return the results that are removed when a message is replaced.

    ``following`` are the turns after it. Raises :class:`TranscriptError` if calls and results would
    not be in pairs after that.
    """
    if old.role != new.role:
        what = f"a turn of the role {old.role!r} cannot become a turn of {new.role!r}"
        raise TranscriptError(what, fix="remove it, and append the new turn")
    if sorted(answers_in(old)) != sorted(answers_in(new)):
        fix = f"keep the ids: {', '.join(map(repr, answers_in(old))) or 'none'}"
        what = "the new turn must have results of the same calls as the old turn"
        raise TranscriptError(what, fix=fix)
    check_calls(new)
    old_ids, new_ids = ({call.id for call in message.calls} for message in (old, new))
    if old_ids >= new_ids:
        return without_results(following, old_ids - new_ids)
    if any(turn.message is not None for turn in following):
        fix = "remove the turn; new calls are appended at the end"
        what = f"the new call {min(new_ids - old_ids)!r} would have no result"
        raise TranscriptError(what, fix=fix)
    return RemovedResults([], {})


def first_kept(messages: Sequence[Message], keep: int) -> int:
    """Return the index of the first message that stays when a summary replaces those before it.

    The index is never inside a batch of calls: then it is that of the message with the calls.
    """
    index = max(len(messages) - keep, 0)
    caller, open_calls = last_calls(reversed(messages[:index]))
    if not open_calls:
        return index
    return max(position for position in range(index) if messages[position] is caller)
