"""The cache of reading a long conversation, so that its next turn is rendered faster.

The cache is an attribute of the last message that it covers, so it is freed with the conversation.
When the conversation grows, the cache moves to the new last message.
"""

from collections.abc import Sequence
from operator import is_
from typing import Any

import attrs

from promptdsl.foundation.frozen import is_list, new_dict
from promptdsl.messages.message import Message, recalled, remember

SHORTEST = 16
"""The least number of messages of a conversation that is cached."""
NEWEST = 64
"""The largest number of new messages: where there are more, no cache is looked for."""


@attrs.define(eq=False)
class ReadCache:
    """The cache of reading a long history: its messages, and the findings of passes.

    A ``Recorded`` node refers to it. The cache of writing a payload is in ``providers/shared``.
    """

    messages: tuple[Message, ...]
    """All messages of the conversation, as they were given."""
    items: tuple[Message, ...]
    """The messages after reading: what the passes work on."""
    mask: int
    start: int = 0
    """The number of the first item in its history."""
    leading: bool = False
    """Whether all messages may belong to the system text."""
    opaque: bool = False
    """Whether some block has yet to become text."""
    findings: dict[object, Any] = attrs.field(factory=new_dict)  # Any: each pass has its own type
    """The findings of passes. A finding is replaced, never changed: two threads may share it."""

    def kept(self, before: "ReadCache | None") -> "ReadCache":
        """Return this cache, stored if it is long enough, in place of the one ``before``."""
        if len(self.messages) >= SHORTEST:
            remember(self.messages[-1], self)
            if before is not None and before.messages[-1] is not self.messages[-1]:
                remember(before.messages[-1], None)
        return self


def recording_of(messages: object) -> ReadCache | None:
    """Return the cache of a conversation that was read before, if it is the same tuple."""
    last = messages[-1] if is_list(messages) and messages else None
    recording = recalled(last) if type(last) is Message else None
    if isinstance(recording, ReadCache) and recording.messages is messages:
        return recording
    return None


def recorded_before(messages: Sequence[object]) -> ReadCache | None:
    """Return the cache of the longest cached beginning of a conversation."""
    for index in range(len(messages) - 1, max(len(messages) - NEWEST, SHORTEST) - 2, -1):
        message = messages[index]
        if type(message) is not Message:
            return None
        recording = recalled(message)
        if isinstance(recording, ReadCache):
            known = recording.messages
            if len(known) == index + 1 and all(map(is_, known, messages)):
                return recording
    return None
