"""The answer to one message: each part is recorded before it is shown.

A worker reads and writes only the transcript. Besides its messages, a transcript has notes. `said`
is a part of a reply that was shown; `running` is the id of a call that begins; `state` says what
the worker does. A killed worker writes no last state, so `mend` closes its reply and its call.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic
from typing import Any, TypeVar

from promptdsl import (
    ConflictError,
    Message,
    ToolUseBlock,
    Transcript,
    TranscriptEntry,
    TranscriptError,
    TranscriptStore,
    aread_stream,
)

from .models import Ask, prompt
from .tools import REPEATABLE, Tools

T = TypeVar("T")

LEASE = float(os.environ.get("CHAT_LEASE", "15"))
"""If a worker writes nothing for so many seconds, it counts as dead."""
EVERY = 0.2
"""Text that arrives within so many seconds is recorded and shown together."""
STEPS = 10
"""The maximum number of replies of the model for one answer."""
INTERRUPTED = "The service was stopped during this call: look whether it was done."


class Refused(Exception):
    """A refused request: the HTTP status, and the reason."""


def note_of(entry: TranscriptEntry) -> Any:  # Any: JSON
    """Return the note in a transcript entry; an empty note for all other entries."""
    return entry.data["note"] if entry.type == "note" else {}


def role_of(entry: TranscriptEntry) -> str:
    """Return the role of the message in a transcript entry; an empty text for other entries."""
    return entry.message.role if entry.message is not None else ""


def is_busy(transcript: Transcript) -> bool:
    """Return whether a worker answers now: the newest entry is recent, and has no final state."""
    last = transcript.entries[-1] if transcript.entries else None
    if last is None or last.at is None or note_of(last).get("state", "working") != "working":
        return False
    return (datetime.now(UTC) - datetime.fromisoformat(last.at)).total_seconds() < LEASE


def is_answered(transcript: Transcript) -> bool:
    """Return whether nothing is left to do: the last turn is a complete reply."""
    last = transcript[-1]
    return last.role == "assistant" and not last.calls and last.finish_reason != "interrupted"


def mend(transcript: Transcript) -> None:
    """Close the reply that a dead worker was showing, and the call that it was running."""
    said, running = "", set[str]()
    for entry in transcript.entries:
        if role_of(entry):
            said = ""
        if role_of(entry) == "assistant":
            running.clear()
        said += note_of(entry).get("said", "")
        running.add(note_of(entry).get("running", ""))
    if said:
        transcript.append(Message("assistant", said, finish_reason="interrupted"))
    for call in transcript.pending_calls:
        if call.id in running and call.name not in REPEATABLE:
            transcript.answer(call, INTERRUPTED, error_type="interrupted")


async def take(
    store: TranscriptStore, key: str, message: Message
) -> tuple[Transcript, list[TranscriptEntry], bool]:
    """Record a new message, and begin to answer it, if nobody has answered it yet.

    Return the transcript, the entries of the answer so far, and whether there is something to do.
    Raises :class:`Refused` while a worker answers in this conversation.
    """
    transcript = await Transcript.aopen(key, store=store)
    if is_busy(transcript):
        raise Refused(409, "an answer is in work")
    mend(transcript)
    try:
        question = transcript.append(message, interrupt=True)
    except TranscriptError as error:
        raise Refused(422, error.what) from None
    behind = [entry for entry in transcript.entries if entry.number > question.number]
    following = next((n for n, entry in enumerate(behind) if role_of(entry) == "user"), None)
    if following is not None or is_answered(transcript):
        return transcript, behind[:following], False
    transcript.note({"state": "working"})
    try:
        await transcript.acommit()
    except ConflictError:
        raise Refused(409, "another message was faster") from None
    return transcript, behind, True


def run(tools: Tools, call: ToolUseBlock) -> tuple[str, Any]:
    """Run a call; return its result and the type of its error. An error is a result, too."""
    try:
        return tools[call.name](**(call.input or {})), None
    except Exception as error:
        return f"{type(error).__name__}: {error}", "execution_error"


class Stopped(Exception):
    """The person left."""


@dataclass
class Answer:
    """A worker's answer: ``show`` gets each recorded entry; ``stop`` ends the answer early."""

    transcript: Transcript
    ask: Ask
    tools: Tools
    show: Callable[[TranscriptEntry], None]
    stop: bool = False

    async def work(self) -> str:
        """Work until nothing is left to do; return the last state."""
        state = "failed"
        try:
            for _ in range(STEPS):
                for call in self.transcript.pending_calls:
                    await self._run(call)
                if is_answered(self.transcript):
                    break
                await self._reply()
            state = "done" if is_answered(self.transcript) else "stopped"
        except Stopped:
            state = "stopped"
        except ConflictError as error:
            # Another worker took over, because this one seemed to be dead.
            logging.getLogger(__name__).warning("overtaken: %s", error.what)
            return state
        except Exception:
            logging.getLogger(__name__).exception("no answer")
        mend(self.transcript)
        await self._record(self.transcript.note({"state": state}))
        return state

    async def _record(self, *entries: TranscriptEntry) -> None:
        """Write the changes to the store, then show these entries."""
        await self.transcript.acommit()
        for entry in entries:
            self.show(entry)

    async def _reply(self) -> None:
        """Ask the model, and record its reply: in parts while it arrives, then complete."""
        note, part, since = self.transcript.note, "", monotonic()
        async with aclosing(self.ask(prompt(self.transcript, self.tools))) as stream:
            reading = aread_stream(stream)
            while (text := await self._wait(anext(reading.texts, None), stops=True)) is not None:
                part += text
                if part and monotonic() - since > EVERY:
                    await self._record(note({"said": part}))
                    part, since = "", monotonic()
        entries = [note({"said": part})] if part else []
        cut = reading.message.finish_reason == "interrupted"
        await self._record(*entries, self.transcript.append(reading, interrupted=cut))

    async def _run(self, call: ToolUseBlock) -> None:
        """Record that a call begins, run it without interruption, and record its result."""
        if self.stop:
            raise Stopped
        await self._record(self.transcript.note({"running": call.id}))
        text, error = await self._wait(asyncio.to_thread(run, self.tools, call))
        await self._record(self.transcript.answer(call, text, error_type=error))

    async def _wait(self, work: Awaitable[T], *, stops: bool = False) -> T:
        """Return a result. While it waits, write notes that this worker is busy."""
        task = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait({task}, timeout=LEASE / 3))[0]:
                await self._record(self.transcript.note({"state": "working"}))
                if stops and self.stop:
                    break
            if stops and self.stop:
                raise Stopped
            return task.result()
        finally:
            task.cancel()
            await asyncio.wait({task})
