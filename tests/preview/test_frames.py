"""Frames on a pipe: what is written is read, in any pieces, and the end of a pipe is no frame."""

import asyncio
import os

from hypothesis import given
from hypothesis.strategies import binary, integers, lists, sampled_from, tuples

from tests.internals import (
    BROKEN,
    FrameBuffer,
    PrintedText,
    frame,
    next_frame,
    read_frame,
    write_frame,
)

FRAMES = lists(tuples(sampled_from([b"A", b"D", b"R"]), binary(max_size=50)), max_size=5)


@given(FRAMES, integers(1, 9))
def test_pieces(frames: list[tuple[bytes, bytes]], size: int) -> None:
    """Frames that come in pieces of any size are taken when they are complete."""
    content = b"".join(frame(*row) for row in frames)
    pieces = [content[start : start + size] for start in range(0, len(content), size)]
    buffer = FrameBuffer()
    assert frames == [row for piece in pieces for row in buffer.add(piece)]


def test_a_pipe() -> None:
    """A frame is read as it was written; a pipe that ends in the middle of one has no more."""
    out, into = os.pipe()
    write_frame(into, b"A", b"x" * 30_000)
    write_frame(into, b"Q")
    os.write(into, frame(b"D", b"cut")[:-1])
    os.close(into)
    read = [read_frame(out) for _ in range(3)]
    os.close(out)
    assert [(b"A", b"x" * 30_000), (b"Q", b""), None] == read


def test_the_output_is_cut() -> None:
    """Of the output the first 64 kB are shown, whatever its pieces are."""
    output = PrintedText()
    assert [64 * 1024] == [sum(len(output.cut(b"x" * size)) for size in (1, 70_000, 5))]


def test_a_frame_that_is_too_large() -> None:
    """What claims to be larger than any frame is no frame, and nothing of it is kept."""
    head = b"A" + (2**30 + 1).to_bytes(4, "big")
    buffer = FrameBuffer()
    assert [(BROKEN, b"")] == [*buffer.add(head + b"x")]
    assert [(b"A", b"y")] == [*buffer.add(frame(b"A", b"y"))]

    async def read() -> object:
        reader = asyncio.StreamReader()
        reader.feed_data(head)
        return await next_frame(reader)

    assert (BROKEN, b"") == asyncio.run(read())
