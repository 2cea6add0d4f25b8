"""What has been found out about texts, kept for the whole process and bounded by their length."""

from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")

OVERHEAD = 64
"""What an entry is taken to need beside its text, so that short ones are bounded, too."""


class Remembered(Generic[T]):
    """What is known of texts: of those asked for last, up to a number of characters.

    There are two generations. When the younger one has half of the characters it becomes the older
    one, and the older one is forgotten; what is asked for again moves to the younger one. So asking
    is a look into a dictionary, and what is in use stays.
    """

    __slots__ = ("_changing", "_half", "_older", "_size", "younger")

    def __init__(self, characters: int) -> None:
        self._half = characters // 2
        # Read where every call counts, and changed only here.
        self.younger: dict[str, T] = {}
        self._older: dict[str, T] = {}
        self._size = 0
        self._changing = Lock()

    def get(self, text: str) -> T | None:
        """Return what is known of a text, ``None`` for nothing."""
        found = self.younger.get(text)
        if found is None:
            found = self._older.get(text)
            if found is not None:
                self.put(text, found)
        return found

    def put(self, text: str, known: T) -> None:
        """Remember what is known of a text; one that is longer than half of all is not kept."""
        size = len(text) + OVERHEAD
        if size > self._half:
            return
        with self._changing:
            if self._size + size > self._half:
                self._older, self.younger, self._size = self.younger, {}, 0
            if text not in self.younger:
                self._size += size
            self.younger[text] = known

    def __len__(self) -> int:
        return len(self.younger) + len(self._older)
