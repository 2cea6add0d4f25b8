"""Frames: the messages on the pipes between the processes of a preview.

A frame is a kind, a length, and so many bytes. Nobody runs what is in a frame as code. The limit
for the output of a child comes last.
"""

import asyncio
import os
from collections.abc import Iterator
from struct import Struct
from typing import TypeAlias

# Frames: their kinds, and how they are written and read.

HEAD = Struct(">cI")
"""One byte for the kind, four for the number of bytes that follow."""
CHUNK = 1 << 20
"""The maximum number of bytes that are read from a pipe at once."""
MAX_FRAME = 1 << 30
"""The maximum number of bytes in a frame; a larger length means that the pipe is broken."""

START, BEFORE, QUESTION, KILL = b"S", b"B", b"Q", b"K"
"""The kinds of frames that the server sends: a job, earlier snapshots, a question.

``KILL`` is for the nursery: it ends the child.
"""
ANSWER, PAGE, SNAPSHOT = b"A", b"D", b"T"
"""The kinds of frames that a child sends: an answer as JSON, after its page and its snapshot."""
OUTPUT, ENDED, BORN = b"O", b"E", b"P"
"""The kinds of frames about a child: what it printed, its exit code, the id of its process."""
BROKEN = b""
"""The kind of a frame that is too large."""
OF_CHILDREN = (ANSWER, PAGE, SNAPSHOT)
"""The kinds of frames that a child may send."""

Frame: TypeAlias = tuple[bytes, bytes]
"""The kind of a frame, and its content."""


def frame(kind: bytes, content: bytes = b"") -> bytes:
    """Return the bytes of a frame."""
    return HEAD.pack(kind, len(content)) + content


class FrameBuffer:
    """Collects the bytes of a pipe until a frame is complete."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def add(self, content: bytes) -> Iterator[Frame]:
        """Add bytes, and yield the frames that are complete with them.

        After a frame that is too large, whose kind is ``BROKEN``, the other bytes are lost.
        """
        self._bytes += content
        while len(self._bytes) >= HEAD.size:
            kind, size = HEAD.unpack_from(self._bytes)
            if size > MAX_FRAME:
                self._bytes.clear()
                yield BROKEN, b""
                return
            end = HEAD.size + size
            if len(self._bytes) < end:
                return
            yield kind, bytes(self._bytes[HEAD.size : end])
            del self._bytes[:end]


def read_frame(descriptor: int) -> Frame | None:
    """Return the next frame of a pipe; ``None`` at the end of the pipe."""
    head = _read(descriptor, HEAD.size)
    if head is None:
        return None
    kind, size = HEAD.unpack(head)
    content = _read(descriptor, size)
    return None if content is None else (kind, content)


def _read(descriptor: int, size: int) -> bytes | None:
    """Return so many bytes of a pipe; ``None`` if it ends before."""
    content = bytearray()
    while len(content) < size:
        piece = os.read(descriptor, min(size - len(content), CHUNK))
        if not piece:
            return None
        content += piece
    return bytes(content)


def write_frame(descriptor: int, kind: bytes, content: bytes = b"") -> None:
    """Write a frame to a pipe."""
    rest = memoryview(frame(kind, content))
    while rest:
        rest = rest[os.write(descriptor, rest) :]


async def next_frame(reader: asyncio.StreamReader) -> Frame | None:
    """Return the next frame of a stream; ``None`` at the end of the stream.

    A frame that is too large has the kind ``BROKEN``.
    """
    try:
        kind, size = HEAD.unpack(await reader.readexactly(HEAD.size))
        if size > MAX_FRAME:
            return BROKEN, b""
        return kind, await reader.readexactly(size)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


# The limit for the output of a child.

MAX_OUTPUT = 64 * 1024
"""The maximum number of bytes of output on the page. Further output is read, but not shown."""


class PrintedText:
    """Cuts what a child prints to 64 kB."""

    def __init__(self) -> None:
        self._free_bytes = MAX_OUTPUT

    def cut(self, content: bytes) -> bytes:
        """Return the beginning of some output that the page still shows."""
        start = content[: self._free_bytes]
        self._free_bytes -= len(start)
        return start
