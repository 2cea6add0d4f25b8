"""Keepers start children, pass frames to and from them, and end them.

A :class:`NurseryKeeper` forks children from a nursery. A :class:`ColdKeeper` starts a new process
for each child.
"""

import asyncio
import os
import signal
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress

from promptdsl.preview.frames import (
    BORN,
    CHUNK,
    ENDED,
    KILL,
    OF_CHILDREN,
    OUTPUT,
    START,
    Frame,
    PrintedText,
    frame,
    next_frame,
)

NURSERY_DIED = b"nursery"
"""The content of ``ENDED`` if the nursery died, and the child with it, instead of an exit code."""


def can_fork() -> bool:
    """Return whether children can be forked: on Linux. On other systems libraries may crash."""
    return sys.platform.startswith("linux") and hasattr(os, "pidfd_open")


class Keeper(ABC):
    """Starts and ends the processes of a preview. It has one child at a time.

    ``command`` is the command line of these processes. The keeper adds what the process is:
    ``nursery``, or ``cold`` for a child.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._process: asyncio.subprocess.Process | None = None

    @abstractmethod
    async def start(self, job: bytes) -> None:
        """Start a child with a job; the last child must have ended."""

    @abstractmethod
    async def receive(self) -> Frame:
        """Return the next frame of the child; the last frame is ``ENDED``."""

    @abstractmethod
    def kill(self) -> None:
        """Kill the child: ``ENDED`` follows."""

    def send(self, kind: bytes, content: bytes) -> None:
        """Send a frame to the child."""
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(
            ConnectionError, RuntimeError
        ):  # the process is dead, and ``receive`` reports that
            self._process.stdin.write(frame(kind, content))

    async def close(self) -> None:
        """End all processes."""
        if self._process is not None:
            _kill_living(self._process)
            await self._process.wait()

    async def _start_process(self, mode: str, stderr: int | None) -> asyncio.subprocess.Process:
        """Start a process, and connect its standard input and output with pipes.

        ``mode`` is what the process is: ``nursery``, or ``cold`` for a child. ``stderr`` is where
        its standard error goes, ``None`` for the standard error of the server.
        """
        process = await asyncio.create_subprocess_exec(
            *self._command,
            mode,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,  # Ctrl-C ends only the server, which ends this process
            limit=CHUNK,
        )
        self._process = process
        return process


class NurseryKeeper(Keeper):
    """Forks children from a nursery; a nursery that died is started again."""

    _pid = 0
    """The id of the process of the child; 0 before it was forked, and after it was ended."""
    _is_dead = False
    """Whether the nursery died before it forked the child."""

    async def start_nursery(self) -> None:
        """Start the nursery, so that it is ready before the first job."""
        await self._start_process("nursery", None)

    async def start(self, job: bytes) -> None:
        """Start a child with a job, and wait until the nursery has forked it.

        So the time that the nursery needs to load does not count as time of the code.
        """
        if self._process is None or self._process.returncode is not None:
            await self.start_nursery()
        self._pid = 0
        self.send(START, job)
        kind, _ = await self._next_frame()
        self._is_dead = kind == ENDED

    async def receive(self) -> Frame:
        """Return the next frame of the child."""
        if self._is_dead:
            return ENDED, NURSERY_DIED
        return await self._next_frame()

    async def _next_frame(self) -> Frame:
        """Return the next frame of the nursery; if the nursery died, end the child."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        received = await next_frame(process.stdout)
        if received is None:
            self._kill_child()
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            return ENDED, NURSERY_DIED
        kind, body = received
        if kind == BORN:
            self._pid = int(body)
        if kind == ENDED:
            self._pid = 0
        return received

    def kill(self) -> None:
        """Kill the child."""
        self.send(KILL, b"")

    async def close(self) -> None:
        """End all processes."""
        self._kill_child()
        await super().close()

    def _kill_child(self) -> None:
        """Kill the child and what it started. A second call kills nothing."""
        if self._pid:
            _kill_group(self._pid)
            self._pid = 0  # another process may get this id


class ColdKeeper(Keeper):
    """Starts a new process for each child, which imports everything again."""

    def __init__(self, command: Sequence[str]) -> None:
        super().__init__(command)
        self._frames: asyncio.Queue[Frame] = asyncio.Queue()
        self._copying: asyncio.Task[None] | None = None

    async def start(self, job: bytes) -> None:
        """Start a child with a job."""
        process = await self._start_process("cold", subprocess.PIPE)
        self._copying = asyncio.create_task(self._copy(process))
        self.send(START, job)

    async def receive(self) -> Frame:
        """Return the next frame of the child."""
        return await self._frames.get()

    def kill(self) -> None:
        """Kill the child."""
        assert self._process is not None
        _kill_living(self._process)

    async def close(self) -> None:
        """End all processes."""
        await super().close()
        if self._copying is not None:
            await self._copying

    async def _copy(self, process: asyncio.subprocess.Process) -> None:
        """Put the frames of a child into the queue, and at last its exit code."""
        assert process.stdout is not None
        assert process.stderr is not None
        copies = [
            asyncio.create_task(self._copy_answers(process.stdout)),
            asyncio.create_task(self._copy_output(process.stderr)),
        ]
        code = await process.wait()
        # Processes that the child started may keep its pipes open. As long as one of them is in the
        # group of the child, the system gives the id of the group to no other process. If none is,
        # the id has been free only since the child ended, a moment ago.
        _kill_group(process.pid)
        await asyncio.wait(copies, timeout=1)
        for task in copies:
            task.cancel()
        self._frames.put_nowait((ENDED, str(code).encode()))

    async def _copy_answers(self, reader: asyncio.StreamReader) -> None:
        while (received := await next_frame(reader)) is not None:
            kind, _ = received
            if kind not in OF_CHILDREN:  # code of the user wrote to the pipe
                self.kill()
                return
            self._frames.put_nowait(received)

    async def _copy_output(self, reader: asyncio.StreamReader) -> None:
        output = PrintedText()
        while content := await reader.read(CHUNK):
            if text := output.cut(content):
                self._frames.put_nowait((OUTPUT, text))


def _kill_living(process: asyncio.subprocess.Process) -> None:
    """Kill a process and what it started, unless the process has ended.

    The process may have ended long ago, so another process may have its id.
    """
    if process.returncode is None:
        _kill_group(process.pid)


def _kill_group(pid: int) -> None:
    """Kill a process and what it started, if any of them is alive. Windows ends only the process.

    ``pid`` is the id of the process and of its group: the process is the first of its group.
    """
    if not hasattr(os, "killpg"):
        with suppress(OSError):
            os.kill(pid, signal.SIGTERM)
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
