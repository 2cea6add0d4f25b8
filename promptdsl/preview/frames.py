"""Frames on a pipe: a kind, a length and that many bytes. Nothing on a pipe is code.

The limits of what a child prints come last.
"""

import asyncio
import os
from collections.abc import Iterator
from struct import Struct
from typing import TypeAlias

# Frames on a pipe: a kind, a length and that many bytes. Nothing on a pipe is code.

HEAD = Struct(">cI")
"""One byte for the kind, four for the number of bytes that follow."""
CHUNK = 1 << 20
"""The bytes that are read from a pipe at once."""
LARGEST = 1 << 30
"""The bytes of a frame at most; one that is larger is none."""

START, BEFORE, QUESTION, KILL = b"S", b"B", b"Q", b"K"
"""What a server sends: the job, two earlier snapshots, a question; to the nursery: an end."""
ANSWER, PAGE, SNAPSHOT = b"A", b"D", b"T"
"""What a child sends: an answer as JSON, after the page and the snapshot that belong to it."""
OUTPUT, ENDED, BORN = b"O", b"E", b"P"
"""What its keeper adds: what the child printed, its exit code, the id of its process."""
BROKEN = b""
"""The kind of a frame that is too large."""
OF_CHILDREN = (ANSWER, PAGE, SNAPSHOT)

Frame: TypeAlias = tuple[bytes, bytes]
"""A kind and its content."""


def frame(kind: bytes, content: bytes = b"") -> bytes:
    """Return the bytes of a frame."""
    return HEAD.pack(kind, len(content)) + content


class FrameBuffer:
    """Bytes of a pipe, from which frames are taken when they are complete."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def add(self, content: bytes) -> Iterator[Frame]:
        """Add bytes, and yield the frames that are complete now."""
        self._bytes += content
        while len(self._bytes) >= HEAD.size:
            kind, size = HEAD.unpack_from(self._bytes)
            if size > LARGEST:
                self._bytes.clear()
                yield BROKEN, b""
                return
            end = HEAD.size + size
            if len(self._bytes) < end:
                return
            yield kind, bytes(self._bytes[HEAD.size : end])
            del self._bytes[:end]


def read_frame(descriptor: int) -> Frame | None:
    """Return the next frame of a pipe, ``None`` at its end."""
    head = _read(descriptor, HEAD.size)
    if head is None:
        return None
    kind, size = HEAD.unpack(head)
    content = _read(descriptor, size)
    return None if content is None else (kind, content)


def _read(descriptor: int, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        part = os.read(descriptor, min(size - len(parts), CHUNK))
        if not part:
            return None
        parts += part
    return bytes(parts)


def write_frame(descriptor: int, kind: bytes, content: bytes = b"") -> None:
    """Write a frame to a pipe."""
    rest = memoryview(frame(kind, content))
    while rest:
        rest = rest[os.write(descriptor, rest) :]


async def next_frame(reader: asyncio.StreamReader) -> Frame | None:
    """Return the next frame of a stream, ``None`` at its end."""
    try:
        kind, size = HEAD.unpack(await reader.readexactly(HEAD.size))
        if size > LARGEST:
            return BROKEN, b""
        return kind, await reader.readexactly(size)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


# The limits of what a child prints.

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
