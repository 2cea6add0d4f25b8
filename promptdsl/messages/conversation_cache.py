"""The cache of reading a long conversation, for its next turn.

It is an attribute of the last message that it covers, so it is freed with the conversation. When
the conversation grows, the cache moves to the new last message.
"""

from collections.abc import Sequence
from operator import is_
from typing import Any

import attrs

from promptdsl.foundation.frozen import is_list, new_dict
from promptdsl.messages.message import Message, recalled, remember

SHORTEST = 16
"""The smallest number of messages of a recording that is cached."""
NEWEST = 64
"""The largest number of messages after the recording: in front of more, it is not searched."""


@attrs.define(eq=False)
class Recording:
    """The cache of reading a long history: its messages, and the findings of passes.

    A ``Recorded`` node refers to it; the cache of writing is a ``Passage`` in ``providers/shared``.
    """

    given: tuple[Message, ...]
    items: tuple[Message, ...]
    mask: int
    start: int = 0
    """The number of the first item in its history."""
    leading: bool = False
    """Whether all messages may belong to the system text."""
    hollow: bool = False
    """Whether some block has yet to become text."""
    found: dict[object, Any] = attrs.field(factory=new_dict)  # Any: each pass knows its own finding
    """The findings of passes. A value is replaced, never changed: two threads may share it."""

    def kept(self, before: "Recording | None") -> "Recording":
        """Return this recording, cached if it is long enough, in place of the one ``before``."""
        if len(self.given) >= SHORTEST:
            remember(self.given[-1], self)
            if before is not None and before.given[-1] is not self.given[-1]:
                remember(before.given[-1], None)
        return self


def recording_of(given: object) -> Recording | None:
    """Return the recording of a conversation that was read before, if it is the same tuple."""
    last = given[-1] if is_list(given) and given else None
    recording = recalled(last) if type(last) is Message else None
    return recording if isinstance(recording, Recording) and recording.given is given else None


def recorded_before(given: Sequence[object]) -> Recording | None:
    """Return the recording of the longest cached beginning of a conversation."""
    for index in range(len(given) - 1, max(len(given) - NEWEST, SHORTEST) - 2, -1):
        message = given[index]
        if type(message) is not Message:
            return None
        recording = recalled(message)
        if isinstance(recording, Recording):
            known = recording.given
            if len(known) == index + 1 and all(map(is_, known, given)):
                return recording
    return None
