"""A session: the child of the newest save, what the page shows of it, and what it waits for.

In this order: problems of a child, what a reader chose on the page, and the session.
"""

import asyncio
import json
import signal
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from types import NoneType
from typing import Any, cast

import attrs

from promptdsl.foundation.json import JsonDict
from promptdsl.preview.files import Watched
from promptdsl.preview.frames import ANSWER, BEFORE, ENDED, OUTPUT, PAGE, QUESTION, SNAPSHOT
from promptdsl.preview.keepers import NURSERY_DIED, Keeper

# What is wrong with a child, as the page shows it.


def slow_problem(limit: float, timeout: float) -> JsonDict:
    """Return the error that a limit was reached."""
    what = f"the prompt ran longer than {limit:.3g} s, so it was ended"
    if limit != timeout:
        return _problem(what, "choose again, or save a file: it starts again")
    return _problem(what, "look for a loop or a call that waits; --timeout SECONDS gives it more")


def ended_problem(code: bytes, *, is_nursery: bool) -> JsonDict:
    """Return the error that the process of a prompt ended by itself."""
    if is_nursery:
        return _problem(
            "the process from which prompts are started ended", "save a file: it starts again"
        )
    number = int(code)
    how = f"with the exit code {number}" if number >= 0 else f"by the signal {_name(-number)}"
    return _problem(f"the process of the prompt ended {how}", "save a file: it starts again")


def tunnel_command(port: int) -> str:
    """Return the command that shows a preview of another machine on this one."""
    return f"ssh -N -L {port}:127.0.0.1:{port} USER@MACHINE"


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _problem(what: str, fix: str) -> JsonDict:
    return {"what": what, "fix": fix, "at": [], "code": []}


# What a reader chose on the page: a prompt, a budget, a model, and payloads.

LONGEST_CHOICE = 500
"""The characters of a name."""
MOST = 20
"""The payloads that are shown at once."""
LARGEST = 1_000_000_000
"""The tokens of a budget."""


@attrs.frozen
class Choices:
    """What is shown instead of what the command line says; ``None`` is as the command line says."""

    prompt: str | None = None
    budget: int | None = None
    model: str | None = None
    targets: Sequence[str] = ()

    @classmethod
    def from_data(cls, data: object) -> "Choices":
        """Return the choices in JSON data. Raises :class:`ValueError` for anything else."""
        if not isinstance(data, dict) or {*cast("dict[str, object]", data)} != {*_NAMES}:
            raise ValueError(f"an object with {', '.join(_NAMES)} is needed")
        prompt, budget, model, targets = (cast("dict[str, object]", data)[name] for name in _NAMES)
        if not isinstance(targets, list) or len(cast("list[object]", targets)) > MOST:
            raise ValueError("targets is no list of names")
        names: list[object] = [*cast("list[object]", targets)]
        if budget is not None and (type(budget) is not int or not 1 <= budget <= LARGEST):
            raise ValueError("budget is no number of tokens")
        if not all(_is_name(name) for name in names):
            raise ValueError("targets has no names")
        if not all(name is None or _is_name(name) for name in (prompt, model)):
            raise ValueError("prompt or model is no name")
        return cls(
            cast("str | None", prompt),
            budget,
            cast("str | None", model),
            tuple(cast("list[str]", names)),
        )


_NAMES = ("prompt", "budget", "model", "targets")


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST_CHOICE


# A session: the child of the newest save, what the page shows of it, and what it waits for.

LATER = 2.0
"""The seconds for a later answer, or twice those of the last render if that is more."""
PATIENCE = 1.0
"""The seconds that a render goes on after a newer save, or twice those from question to answer."""
HEADER: Mapping[str, type | tuple[type, ...]] = {
    "names": list,
    "providers": list,
    "prompt": str,
    "files": dict,
    "error": (dict, NoneType),
    "digest": (str, NoneType),
    "seconds": float,
}
"""What an answer has, and of which kind it is."""
QUIET, LONGEST = 0.15, 1.5
"""The seconds without a save after which the next render of many saves begins, and the most."""


@attrs.frozen
class PreviewJob:
    """What a preview shows: the arguments of the function that loads prompts, and the limits.

    ``files`` are the files that the targets name, ``roots`` the folders whose files are watched,
    ``timeout`` the seconds for import and first render.
    """

    arguments: JsonDict
    files: Sequence[str]
    roots: Sequence[str]
    timeout: float = 60
    is_cold: bool = False
    """Whether each child is a new process, not forked from a warm one."""


@attrs.define
class Shown:
    """What the page shows now. ``page`` is JSON that this process does not read."""

    page: bytes = b""
    page_number: int = 0
    prompt: str = ""
    header: JsonDict = attrs.field(factory=dict[str, Any])
    error: JsonDict | None = None
    work: str = ""
    began: float = 0
    output: bytes = b""
    renders: int = 0


class Session:
    """One child at a time; of many saves, and of many choices, the newest one wins."""

    def __init__(self, job: PreviewJob, keeper: Keeper) -> None:
        self._job, self._keeper = job, keeper
        self._choices = self._asked = Choices()
        """What the reader chose last, and what was asked for last."""
        self._is_chosen = False
        """Whether a choice waits; it may be the same as the last, which had no answer."""
        self._shown = Shown()
        self._version = 0
        self._changed = asyncio.Event()
        self._wanted = asyncio.Event()
        self._is_saved = True
        self._is_burst = False
        """Whether a save came while an older one was rendered."""
        self._watched = Watched(job.files, job.roots)
        self._reading: asyncio.Task[None] | None = None
        self._is_killed = False
        """Whether the child is ended by this session, so that its end is no error."""
        self._answer: asyncio.Future[JsonDict | None] | None = None
        self._parts: dict[bytes, bytes] = {}
        self._snapshots: list[tuple[str, bytes]] = []
        """Digest and snapshot of the last two pages that differ, the newest first."""
        self._seconds = 0.0
        """How long the last render took."""
        self._patience = PATIENCE
        """How long an answer is waited for when a save came; it doubles until there is one."""
        self._is_ending = False

    async def run(self) -> None:
        """Render and watch until the task is cancelled; then all processes end."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._watch())
                tasks.create_task(self._render())
        finally:
            self.end()
            if self._reading is not None:
                self._reading.cancel()
            await self._keeper.close()

    async def _render(self) -> None:
        """Render what was saved or chosen last, and wait for the next."""
        while True:
            self._wanted.clear()
            if self._is_saved:
                await self._render_save()
            elif self._is_chosen:
                await self._render_choice()
            else:
                await self._wanted.wait()

    def choose(self, choices: Choices) -> None:
        """Show what a reader chose; a choice that waits is replaced by it."""
        self._choices = choices
        self._is_chosen = True
        self._wanted.set()
        self._publish()

    async def states(self) -> AsyncIterator[bytes]:
        """Yield what the page shows, as a line of JSON, whenever it changes; the newest alone."""
        version = page_number = -1
        while not self._is_ending:
            if version != self._version:
                version, shown = self._version, self._shown
                state = self._state()
                line = json.dumps(state).encode()
                if page_number != shown.page_number and shown.page:
                    line = line[:-1] + b', "page": ' + shown.page + b"}"
                page_number = shown.page_number
                yield line + b"\n"
            else:
                changed = self._changed
                with suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), timeout=10)
                if not changed.is_set():
                    yield b"\n"  # a reader that left is noticed

    def _state(self) -> JsonDict:
        shown = self._shown
        return {
            "version": self._version,
            "work": shown.work and {"name": shown.work, "seconds": time.monotonic() - shown.began},
            "error": shown.error,
            "names": shown.header.get("names", []),
            "providers": shown.header.get("providers", []),
            "prompt": shown.header.get("prompt", ""),
            "hasPage": shown.page != b"",
            "choices": attrs.asdict(self._choices),
            "seconds": shown.header.get("seconds"),
            "cpu": shown.header.get("cpu"),
            "renders": shown.renders,
            "output": shown.output.decode("utf-8", "replace"),
            "isCold": self._job.is_cold,
        }

    def _publish(self, **changes: Any) -> None:  # Any: fields of Shown
        for name, value in changes.items():
            setattr(self._shown, name, value)
        self._version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    def end(self) -> None:
        """End the streams of states."""
        self._is_ending = True
        self._publish()

    async def _watch(self) -> None:
        """Note each change of a file that was read, or that was missing."""
        async for _ in self._watched.changes():
            self._is_saved = True
            self._is_burst = self._shown.work != ""
            self._wanted.set()

    async def _render_save(self) -> None:
        """Render what was saved last; of many saves, wait for the last one."""
        if self._is_burst:
            await self._finish()
        await self._end_child()
        self._is_saved = self._is_burst = False
        await self._first_answer()

    async def _finish(self) -> None:
        """Wait until no file was changed for a moment."""
        end = time.monotonic() + LONGEST
        while time.monotonic() < min(self._watched.last + QUIET, end):
            await asyncio.sleep(0.02)

    async def _first_answer(self) -> None:
        """Start a child and show its first answer."""
        self._watched.begin()
        self._publish(work="importing", began=time.monotonic(), output=b"")
        self._shown.renders += 1
        job = {"arguments": self._job.arguments, "roots": [*self._job.roots]}
        await self._keeper.start(json.dumps(job).encode())
        self._reading = asyncio.create_task(self._read())
        for name, content in self._before():
            self._keeper.send(name, content)
        await self._ask(self._job.timeout)

    def _before(self) -> list[tuple[bytes, bytes]]:
        """Return the frame with the snapshots of the last pages, if there are any."""
        if not self._snapshots:
            return []
        name = json.dumps(self._shown.prompt).encode()
        rows = [b"[%b, %b]" % (json.dumps(key).encode(), text) for key, text in self._snapshots]
        return [(BEFORE, b'{"prompt": %b, "snapshots": [%b]}' % (name, b",".join(rows)))]

    async def _render_choice(self) -> None:
        """Ask the child for what was chosen last, or a new one if it is gone."""
        if self._reading is None or self._reading.done():
            await self._first_answer()
            return
        self._publish(work="rendering", began=time.monotonic())
        if self._choices.prompt != self._asked.prompt:
            await self._ask(self._job.timeout)
        else:
            await self._ask(max(LATER, 2 * self._seconds))

    async def _ask(self, limit: float) -> None:
        """Ask the child for what was chosen last, and show the answer unless a save came."""
        self._asked = self._choices
        self._is_chosen = False
        self._parts.clear()
        self._answer = asyncio.get_running_loop().create_future()
        began = time.monotonic()
        self._keeper.send(QUESTION, json.dumps(attrs.asdict(self._asked)).encode())
        while not self._answer.done():
            waited = time.monotonic() - began
            if waited > limit:
                await self._end_child()
                self._show_error(slow_problem(limit, self._job.timeout))
                return
            if self._is_saved and waited > self._patience:
                self._patience *= 2  # so that one of many saves is shown
                return
            await asyncio.wait([self._answer], timeout=min(limit - waited, 0.05) + 0.001)
        header = self._answer.result()
        if header is not None:
            self._patience = max(PATIENCE, 2 * (time.monotonic() - began))
            self._show(header)

    def _show(self, header: JsonDict) -> None:
        """Show an answer: a page, or an error over the last page of the same prompt."""
        if self._watched.read(header["files"], is_complete=header["error"] is None):
            self._is_saved = True
        shown = self._shown
        self._seconds = header["seconds"]
        page, snapshot = self._parts.get(PAGE, b""), self._parts.get(SNAPSHOT, b"")
        if header["prompt"] != shown.prompt:
            self._snapshots.clear()
            shown.page = b""
        if page:
            shown.page, shown.prompt = page, header["prompt"]
            shown.page_number += 1
            if snapshot:
                self._remember(header["digest"], snapshot)
        self._publish(header=header, error=header["error"], work="")

    def _remember(self, digest: str, snapshot: bytes) -> None:
        """Keep the snapshot of a page; the next one is compared with it."""
        others = [row for row in self._snapshots if row[0] != digest]
        self._snapshots = [(digest, snapshot), *others[:1]]

    def _show_error(self, error: JsonDict) -> None:
        self._publish(error=error, work="")

    async def _read(self) -> None:
        """Take the frames of the child until it ends."""
        while True:
            kind, content = await self._keeper.receive()
            if kind == OUTPUT:
                self._publish(output=self._shown.output + content)
            elif kind == ANSWER:
                header = _header(content)
                if header is None:
                    self._keeper.kill()
                else:
                    self._finish_question(header)
            elif kind == ENDED:
                break
            else:
                self._parts[kind] = content
        if not self._is_killed:
            self._show_error(ended_problem(content, is_nursery=content == NURSERY_DIED))
        self._finish_question(None)

    def _finish_question(self, header: JsonDict | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(header)

    async def _end_child(self) -> None:
        """End the child, if there is one."""
        if self._reading is None:
            return
        if not self._reading.done():
            self._is_killed = True
            self._keeper.kill()
        await self._reading
        self._is_killed = False
        self._reading = None


def _header(content: bytes) -> JsonDict | None:
    """Return what an answer says of its page, ``None`` for one that the code wrote itself."""
    try:
        header: JsonDict = json.loads(content)
        is_answer = all(isinstance(header[name], kind) for name, kind in HEADER.items())
    except (ValueError, LookupError, TypeError, RecursionError):  # no JSON, or no such object
        return None
    return header if is_answer else None
