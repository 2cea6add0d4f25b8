"""What a budget did to recorded messages: edited results in place of them, or a cut."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import is_
from typing import TypeAlias

import attrs

from promptdsl.messages import Block
from promptdsl.messages.conversation_cache import ReadCache
from promptdsl.messages.message import Message
from promptdsl.tree.group_nodes import ConversationNode
from promptdsl.tree.node import Node
from promptdsl.tree.recorded import first_of, recording, remember
from promptdsl.tree.rewrite import copied, with_content
from promptdsl.tree.turn_nodes import RecordedNode

Edit: TypeAlias = Callable[[Sequence[Message], int], Iterable[Message]]
"""A function that gets the messages of a conversation, and yields them edited from an index on."""


@attrs.frozen
class Trimmed:
    """What a budget did to a prompt from which it removed parts.

    ``since`` is the first message that was written after it last removed any, ``None`` if that is
    not known. Some models bind their reasoning to all that is before it, and take it only from that
    message on.
    """

    since: Message | None = None

    def untrimmed_from(self, messages: Sequence[Message]) -> int:
        """Return the index of the message ``since``, the count of messages if it is not known."""
        indices = (index for index, message in enumerate(messages) if message is self.since)
        return next(indices, len(messages))


@attrs.define(eq=False)
class EditedHistory(ReadCache):
    """Recorded messages whose results were edited; ``messages`` are the original ones."""

    made_of: ReadCache | None = None
    """The recording of the original messages, if they were cleared."""


def members_of(history: ConversationNode) -> Iterator[tuple[int, int, Node]]:
    """Yield each part of a history, after its first message and the end of its messages.

    A turn that is written in the history counts as one message.
    """
    begin = 0
    for member in history.content:
        end = begin + (len(member.items) if isinstance(member, RecordedNode) else 1)
        yield begin, end, member
        begin = end


def edited_run(run: RecordedNode, key: object, edit: Edit) -> RecordedNode:
    """Return a run with each message edited, the same run if no message changed.

    The conversation caches the edited messages under ``key``.
    """

    def fold(messages: Sequence[Message], before: EditedHistory | None) -> EditedHistory:
        before = before or EditedHistory((), (), run._mask, recording(run).start)
        start = len(before.items)
        if start >= len(messages):
            return before
        items = (*before.items, *edit(messages, start))
        edited = EditedHistory(tuple(messages), items, run._mask, before.start)
        edited.findings = before.findings
        return edited

    edited, first = remember(run, key, fold), first_of(run)
    return with_items(run, edited.items[first : first + len(run.items)], edited)


def with_blocks(message: Message, change: Callable[[Block], Block]) -> Message:
    """Return a message with each of its blocks changed, the same message if no block changed.

    ``change`` does not see the text of a message that is one text.
    """
    if message._plain is not None:
        return message
    blocks = tuple(map(change, message.content))
    return message if all(map(is_, blocks, message.content)) else message.replace(content=blocks)


def with_items(run: RecordedNode, items: tuple[Message, ...], known: EditedHistory) -> RecordedNode:
    """Return a run with other messages, the same run if no message differs."""
    if all(new is old for new, old in zip(items, run.items, strict=True)):
        return run
    edited = copied(run, run.content, run._mask)
    object.__setattr__(edited, "items", items)
    object.__setattr__(edited, "known", known)
    return edited


def uncleared(history: ConversationNode) -> ConversationNode:
    """Return a history with its results as they were before they were cleared without a budget."""
    members = [*history.content]
    for index, member in enumerate(members):
        known = recording(member) if isinstance(member, RecordedNode) else None
        if isinstance(known, EditedHistory) and known.made_of is not None:
            members[index] = run = copied(member, member.content, member._mask)
            object.__setattr__(run, "items", known.messages)
            object.__setattr__(run, "known", known.made_of)
    return with_content(history, tuple(members))


def as_recorded(run: RecordedNode) -> Sequence[Message]:
    """Return the messages of a run before their results were cut or cleared."""
    known = recording(run)
    items: Sequence[Message] = run.items
    if isinstance(known, EditedHistory):
        known = known.made_of if isinstance(known.made_of, EditedHistory) else known
        first = run.start - known.start
        items = known.messages[first : first + len(items)]
    return items
