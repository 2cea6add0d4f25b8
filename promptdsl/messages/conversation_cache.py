"""What is known of a long recording: found once, and kept for the next turn of the conversation.

It hangs on the last message it is about, so it goes when the conversation does. A conversation that
has grown takes it along: the message that was the last one forgets it.
"""

from collections.abc import Sequence
from operator import is_
from typing import Any

from promptdsl.messages.message import Message, recalled, remember

SHORTEST = 64
"""How many messages a recording has that is remembered."""
NEWEST = 64
"""How many messages may have been added since."""


class Recording:
    """The cache of reading a long history: its messages, and what passes found in them.

    A ``Recorded`` node refers to it; the cache of writing is a ``Passage`` in ``providers/shared``.
    ``found`` is by key what ``remember()`` was given: it is replaced and never changed, so that two
    threads may work on one conversation.
    """

    __slots__ = ("__weakref__", "found", "given", "hollow", "items", "leading", "mask", "start")

    def __init__(
        self, given: tuple[Message, ...], items: tuple[Message, ...], mask: int, start: int = 0
    ) -> None:
        self.given = given
        self.start = start
        """Which message of its history the first of the items is."""
        self.items = items
        self.mask = mask
        self.leading = False
        """Whether all of it may belong to the system text."""
        self.hollow = False
        """Whether something in it has to become text yet."""
        self.found: dict[Any, Any] = {}

    def kept(self, before: "Recording | None") -> "Recording":
        """Return this, remembered when it is long enough, in the place of what it goes on from."""
        if len(self.given) >= SHORTEST:
            remember(self.given[-1], self)
            if before is not None and before.given[-1] is not self.given[-1]:
                remember(before.given[-1], None)
        return self


def recording_of(given: object) -> Recording | None:
    """Return what is known of a conversation that was read before, as the same tuple."""
    messages: Any = given
    last: object = messages[-1] if isinstance(given, tuple) and given else None
    found = recalled(last) if type(last) is Message else None
    return found if isinstance(found, Recording) and found.given is given else None


def recorded_before(given: Sequence[Any]) -> Recording | None:
    """Return what is known of the longest beginning of a conversation."""
    for index in range(len(given) - 1, max(len(given) - NEWEST, SHORTEST) - 2, -1):
        message = given[index]
        if type(message) is not Message:
            return None
        found = recalled(message)
        if isinstance(found, Recording):
            known = found.given
            if len(known) == index + 1 and all(map(is_, known, given)):
                return found
    return None
