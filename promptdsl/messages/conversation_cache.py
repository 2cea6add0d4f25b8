"""The cache of a long conversation that was read, so that its next turn is rendered faster.

The cache is an attribute of the last message that it covers. So it is freed with the conversation.
When the conversation grows, the cache moves to the new last message.
"""

from collections.abc import Sequence
from operator import is_
from typing import Any

import attrs

from promptdsl.foundation.frozen import is_list, new_dict
from promptdsl.messages.message import Message, recalled, remember

SHORTEST = 16
"""The minimum number of messages of a conversation that is cached."""
MAXIMUM_NEW = 64
"""The maximum number of new messages: after more of them, no cache is searched."""


@attrs.define(eq=False)
class ReadCache:
    """The cache of a long history that was read: its messages, and the findings of passes.

    A ``RecordedNode`` refers to it. The cache for written payloads is in ``providers/shared``.
    """

    messages: tuple[Message, ...]
    """All messages of the conversation, as the author passed them."""
    items: tuple[Message, ...]
    """The messages that the passes work on."""
    mask: int
    """The mask of the node with these items: what they contain (``tree/masks.py``)."""
    start: int = 0
    """The index of the first item in its history."""
    leading: bool = False
    """Whether all messages may belong to the system text."""
    opaque: bool = False
    """Whether a block has not become text yet."""
    findings: dict[object, Any] = attrs.field(factory=new_dict)  # Any: each pass has its own type
    """The findings of passes. A finding is replaced, never changed: two threads may share it."""

    def kept(self, before: "ReadCache | None") -> "ReadCache":
        """Store this cache if it is long enough, instead of the cache ``before``; return it."""
        if len(self.messages) >= SHORTEST:
            remember(self.messages[-1], self)
            if before is not None and before.messages[-1] is not self.messages[-1]:
                remember(before.messages[-1], None)
        return self


def recording_of(messages: object) -> ReadCache | None:
    """Return the cache of a conversation, if the same tuple was read before, else ``None``."""
    last = messages[-1] if is_list(messages) and messages else None
    cache = recalled(last) if type(last) is Message else None
    if isinstance(cache, ReadCache) and cache.messages is messages:
        return cache
    return None


def recorded_before(messages: Sequence[object]) -> ReadCache | None:
    """Return the cache of the longest cached beginning of a conversation, else ``None``."""
    # The last message that a cache covers: one of the newest, and at least the SHORTEST-th.
    lowest_index = max(len(messages) - MAXIMUM_NEW, SHORTEST) - 1
    for index in range(len(messages) - 1, lowest_index - 1, -1):
        message = messages[index]
        if type(message) is not Message:
            return None
        cache = recalled(message)
        if isinstance(cache, ReadCache):
            cached_messages = cache.messages
            if len(cached_messages) == index + 1 and all(map(is_, cached_messages, messages)):
                return cache
    return None
