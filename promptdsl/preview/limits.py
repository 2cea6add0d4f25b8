"""The limits of what a child prints."""

SHOWN = 64 * 1024
"""The bytes of output that are shown; what comes after them is read and dropped."""


class PrintedText:
    """What a child prints, up to 64 kB."""

    def __init__(self) -> None:
        self._left = SHOWN

    def cut(self, content: bytes) -> bytes:
        """Return as much of some output as is still shown."""
        shown = content[: self._left]
        self._left -= len(shown)
        return shown
