"""What a budget did to recorded messages: edited results in place of them, or a cut."""

from collections.abc import Sequence

import attrs

from promptdsl.messages.conversation_cache import ReadCache
from promptdsl.messages.message import Message
from promptdsl.tree.recorded import recording
from promptdsl.tree.rewrite import copied
from promptdsl.tree.turn_nodes import RecordedNode


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
    """Recorded messages whose results were edited; ``given`` are the original messages."""

    made_of: ReadCache | None = None
    """The recording of the original messages, if they were cleared."""


def with_items(run: RecordedNode, items: tuple[Message, ...], known: EditedHistory) -> RecordedNode:
    """Return a run with other messages, the same run if no message differs."""
    if all(new is old for new, old in zip(items, run.items, strict=True)):
        return run
    edited = copied(run, run.content, run._mask)
    object.__setattr__(edited, "items", items)
    object.__setattr__(edited, "known", known)
    return edited


def as_recorded(run: RecordedNode) -> Sequence[Message]:
    """Return the messages of a run before their results were cut or cleared."""
    known = recording(run)
    items: Sequence[Message] = run.items
    if isinstance(known, EditedHistory):
        known = known.made_of if isinstance(known.made_of, EditedHistory) else known
        first = run.start - known.start
        items = known.messages[first : first + len(items)]
    return items
