"""Keepers start children, pass frames on, and end them: by a nursery, or each as a new process."""

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
"""What ``ENDED`` has instead of an exit code when the nursery died, and the child with it."""


def can_fork() -> bool:
    """Return whether children can be forked: on Linux; elsewhere libraries do not survive it."""
    return sys.platform.startswith("linux") and hasattr(os, "pidfd_open")


class Keeper(ABC):
    """Keeps one child at a time. ``command`` starts the other processes."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._process: asyncio.subprocess.Process | None = None

    @abstractmethod
    async def start(self, job: bytes) -> None:
        """Start a child with a job; there is none now."""

    @abstractmethod
    async def receive(self) -> Frame:
        """Return the next frame of the child; the last one is ``ENDED``."""

    @abstractmethod
    def kill(self) -> None:
        """Kill the child: ``ENDED`` follows."""

    def send(self, kind: bytes, content: bytes) -> None:
        """Send a frame to the child."""
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(ConnectionError, RuntimeError):  # it is dead: its end is reported
            self._process.stdin.write(frame(kind, content))

    async def close(self) -> None:
        """End all processes."""
        if self._process is not None:
            _kill_living(self._process)
            await self._process.wait()

    async def _open(self, mode: str, output: int | None) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            *self._command,
            mode,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=output,
            start_new_session=True,  # Ctrl-C ends the server, which ends the others
            limit=CHUNK,
        )
        self._process = process
        return process


class NurseryKeeper(Keeper):
    """Children are forked from a nursery, which is started again when it died."""

    _pid = 0
    """The process of the child; 0 if there is none."""
    _is_dead = False
    """Whether the nursery died before there was a child."""

    async def open(self) -> None:
        """Start the nursery, before there is a job for it."""
        await self._open("nursery", None)

    async def start(self, job: bytes) -> None:
        """Start a child with a job, when the nursery is warm: its time is not that of the code."""
        if self._process is None or self._process.returncode is not None:
            await self.open()
        self._pid = 0
        self.send(START, job)
        kind, _ = await self._next()
        self._is_dead = kind == ENDED

    async def receive(self) -> Frame:
        """Return the next frame of the child."""
        if self._is_dead:
            return ENDED, NURSERY_DIED
        return await self._next()

    async def _next(self) -> Frame:
        process = self._process
        assert process is not None
        assert process.stdout is not None
        content = await next_frame(process.stdout)
        if content is None:
            self._kill_child()
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
            return ENDED, NURSERY_DIED
        kind, part = content
        if kind == BORN:
            self._pid = int(part)
        if kind == ENDED:
            self._pid = 0
        return content

    def kill(self) -> None:
        """Kill the child."""
        self.send(KILL, b"")

    async def close(self) -> None:
        """End all processes."""
        self._kill_child()
        await super().close()

    def _kill_child(self) -> None:
        if self._pid:
            _kill_group(self._pid)


class ColdKeeper(Keeper):
    """Each child is a new process, which imports everything."""

    def __init__(self, command: Sequence[str]) -> None:
        super().__init__(command)
        self._frames: asyncio.Queue[Frame] = asyncio.Queue()
        self._copying: asyncio.Task[None] | None = None

    async def start(self, job: bytes) -> None:
        """Start a child with a job."""
        process = await self._open("cold", subprocess.PIPE)
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
        """Put what a child sends into the queue, and its exit code when it ended."""
        assert process.stdout is not None
        assert process.stderr is not None
        copies = [
            asyncio.create_task(self._copy_answers(process.stdout)),
            asyncio.create_task(self._copy_output(process.stderr)),
        ]
        code = await process.wait()
        _kill_group(process.pid)  # what it started may hold its pipes
        await asyncio.wait(copies, timeout=1)
        for task in copies:
            task.cancel()
        self._frames.put_nowait((ENDED, str(code).encode()))

    async def _copy_answers(self, reader: asyncio.StreamReader) -> None:
        while (content := await next_frame(reader)) is not None:
            if content[0] not in OF_CHILDREN:  # the code wrote to the pipe
                return self.kill()
            self._frames.put_nowait(content)
        return None

    async def _copy_output(self, reader: asyncio.StreamReader) -> None:
        output = PrintedText()
        while content := await reader.read(CHUNK):
            if part := output.cut(content):
                self._frames.put_nowait((OUTPUT, part))


def _kill_living(process: asyncio.subprocess.Process) -> None:
    """Kill a process and what it started, unless it ended: another may have its number."""
    if process.returncode is None:
        _kill_group(process.pid)


def _kill_group(pid: int) -> None:
    """Kill a process and what it started, if it is alive."""
    if not hasattr(os, "killpg"):
        with suppress(OSError):
            os.kill(pid, signal.SIGTERM)  # Windows ends the process
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
