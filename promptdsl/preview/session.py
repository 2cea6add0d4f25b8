"""A session: it renders the newest save or choice, and publishes what the page shows.

A *child* is a process that runs the code of the prompts and renders them. A keeper starts and ends
it. On Linux the keeper has a *nursery*, a process that forks each child.

In this order: texts for the page, what a reader chose on the page, and :class:`Session`.
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

# Texts for the page: why a child ended, and the command for another machine.


def slow_problem(limit: float, timeout: float) -> JsonDict:
    """Return the error for a child that ran longer than ``limit`` seconds."""
    what = f"the prompt ran longer than {limit:.3g} s, so it was ended"
    if limit != timeout:
        return _problem(what, "choose again, or save a file: it starts again")
    return _problem(what, "look for a loop or a call that waits; --timeout SECONDS gives it more")


def ended_problem(code: bytes, *, is_nursery: bool) -> JsonDict:
    """Return the error for a child that the session did not end.

    ``code`` is its exit code; the number of a signal is negative. With ``is_nursery`` the nursery
    died, and the child with it.
    """
    if is_nursery:
        return _problem(
            "the process that starts the processes of prompts has ended",
            "save a file: it starts again",
        )
    exit_code = int(code)
    how = f"with the exit code {exit_code}"
    if exit_code < 0:
        how = f"by the signal {_signal_name(-exit_code)}"
    return _problem(f"the process of the prompt ended {how}", "save a file: it starts again")


def tunnel_command(port: int) -> str:
    """Return the command that makes a preview on another machine visible on this machine."""
    return f"ssh -N -L {port}:127.0.0.1:{port} USER@MACHINE"


def _signal_name(signal_number: int) -> str:
    try:
        return signal.Signals(signal_number).name
    except ValueError:
        return str(signal_number)


def _problem(what: str, fix: str) -> JsonDict:
    return {"what": what, "fix": fix, "at": [], "code": []}


# What a reader chose on the page: a prompt, a budget, a model, and payloads.

MAX_NAME = 500
"""The maximum number of characters in the name of a prompt, a model or a provider."""
MAX_PAYLOADS = 20
"""The maximum number of payloads that a reader can choose."""
MAX_BUDGET = 1_000_000_000
"""The maximum budget, in tokens."""


@attrs.frozen
class Choices:
    """What a reader chose on the page.

    ``None`` for ``prompt`` is the first prompt. ``None`` for ``budget`` and ``model`` means what
    the command line says. ``targets`` are models and providers: the page shows their payloads after
    those of the command line.
    """

    prompt: str | None = None
    budget: int | None = None
    model: str | None = None
    targets: Sequence[str] = ()

    @classmethod
    def from_data(cls, data: object) -> "Choices":
        """Return the choices in JSON data; raise :class:`ValueError` for any other data."""
        if not isinstance(data, dict) or {*cast("dict[str, object]", data)} != {*_KEYS}:
            raise ValueError(f"the body is not an object with {', '.join(_KEYS)}")
        prompt, budget, model, targets = (cast("dict[str, object]", data)[key] for key in _KEYS)
        if not isinstance(targets, list) or len(cast("list[object]", targets)) > MAX_PAYLOADS:
            raise ValueError(f"targets is not a list of at most {MAX_PAYLOADS} names")
        target_names: list[object] = [*cast("list[object]", targets)]
        if budget is not None and (type(budget) is not int or not 1 <= budget <= MAX_BUDGET):
            raise ValueError("budget is not a number of tokens")
        if not all(_is_name(name) for name in target_names):
            raise ValueError("targets has items that are not names")
        if not all(name is None or _is_name(name) for name in (prompt, model)):
            raise ValueError("prompt or model is not a name")
        return cls(
            cast("str | None", prompt),
            budget,
            cast("str | None", model),
            tuple(cast("list[str]", target_names)),
        )


_KEYS = ("prompt", "budget", "model", "targets")
"""The keys of the choices in JSON: the names of the fields, in their order."""


def _is_name(name: object) -> bool:
    return isinstance(name, str) and 0 < len(name) <= MAX_NAME


# The session.

MIN_TIME_LIMIT = 2.0
"""The minimum time limit for a further answer of a child about the same prompt, in seconds.

The limit is twice the time of the last render if that is longer. The first answer, and the first
one about another prompt, have the limit of the job.
"""
MIN_PATIENCE = 1.0
"""The minimum patience, in seconds.

The patience is how long a render may take after its question if a newer save waits. It is twice the
time from the last question to its answer if that is longer. It is doubled each time that a render
is given up for a newer save.
"""
HEADER: Mapping[str, type | tuple[type, ...]] = {
    "names": list,
    "providers": list,
    "prompt": str,
    "files": dict,
    "error": (dict, NoneType),
    "digest": (str, NoneType),
    "seconds": float,
}
"""The keys that each answer must have, each with the type of its value.

A child also sends ``cpu``, which is only passed on to the page.
"""
QUIET_TIME = 0.15
"""During many saves, a render starts so many seconds after the last save."""
MAX_BURST = 1.5
"""After so many seconds of saves, a render starts although there are further saves."""


@attrs.frozen
class PreviewJob:
    """What a preview shows: the arguments of the function that loads prompts, and the limits.

    ``files`` are the files that the targets name. ``roots`` are the folders whose files are
    watched. ``timeout`` is the limit for import and first render, in seconds.
    """

    arguments: JsonDict
    files: Sequence[str]
    roots: Sequence[str]
    timeout: float = 60
    is_cold: bool = False
    """Whether each child is a new process, instead of a fork of the nursery."""


@attrs.define
class PageState:
    """What the page shows now."""

    page: bytes = b""
    """The last page of ``prompt``: JSON of the child, which is passed on without a change."""
    page_number: int = 0
    prompt: str = ""
    """The name of the prompt on ``page``. The last answer may be an error of another prompt."""
    header: JsonDict = attrs.field(factory=dict[str, Any])
    """The header of the last answer: a page or an error."""
    error: JsonDict | None = None
    """The error that the page shows above the last page."""
    work: str = ""
    """What the child does: ``"importing"``, ``"rendering"``, or nothing (an empty string)."""
    began: float = 0
    """When this work began, by ``time.monotonic``."""
    output: bytes = b""
    """What the child printed."""
    renders: int = 0
    """The number of children that were started."""


class Session:
    """Renders saves and choices, with one child at a time.

    If saves or choices come faster than their renders, only the newest is rendered.
    """

    def __init__(self, job: PreviewJob, keeper: Keeper) -> None:
        self._job, self._keeper = job, keeper
        self._choices = self._last_question = Choices()
        """What the reader chose last, and what the child was asked last."""
        self._is_chosen = False
        """Whether a choice waits.

        To compare it with ``_last_question`` is not enough. The last question may have got no
        answer, and then the reader may choose the same again.
        """
        self._page_state = PageState()
        self._version = 0
        self._changed = asyncio.Event()
        self._work_waits = asyncio.Event()
        self._is_saved = True
        """Whether a save waits. At first it is true, for the first render."""
        self._is_burst = False
        """Whether the save that waits came during a render."""
        self._watched = Watched(job.files, job.roots)
        self._reading: asyncio.Task[None] | None = None
        self._is_killed = False
        """Whether this session ends the child itself, so that its end is not an error."""
        self._answer: asyncio.Future[JsonDict | None] | None = None
        self._answer_parts: dict[bytes, bytes] = {}
        self._snapshots: list[tuple[str, bytes]] = []
        """The digest and the snapshot of the last two different pages, the newest first."""
        self._seconds = 0.0
        """The time of the last render, in seconds."""
        self._patience = MIN_PATIENCE
        """How long a render may take if a newer save waits, in seconds: see ``MIN_PATIENCE``."""
        self._is_ending = False

    async def run(self) -> None:
        """Render and watch until the task is cancelled; then end all processes."""
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
        """Render what was saved or chosen last, then wait for the next save or choice."""
        while True:
            self._work_waits.clear()
            if self._is_saved:
                await self._render_save()
            elif self._is_chosen:
                await self._render_choice()
            else:
                await self._work_waits.wait()

    def choose(self, choices: Choices) -> None:
        """Note what a reader chose, for the next render; it replaces a choice that still waits."""
        self._choices = choices
        self._is_chosen = True
        self._work_waits.set()
        self._publish()

    async def states(self) -> AsyncIterator[bytes]:
        """Yield what the page shows, as a line of JSON, after each change.

        A reader that is slow gets only the newest state.
        """
        version = page_number = -1
        while not self._is_ending:
            if version != self._version:
                version, page_state = self._version, self._page_state
                state = self._state()
                line = json.dumps(state).encode()
                if page_number != page_state.page_number and page_state.page:
                    line = line[:-1] + b', "page": ' + page_state.page + b"}"
                page_number = page_state.page_number
                yield line + b"\n"
            else:
                changed = self._changed
                with suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), timeout=10)
                if not changed.is_set():
                    yield b"\n"  # sending shows whether the reader is still there

    def _state(self) -> JsonDict:
        """Return what the page shows, as JSON data, without the page itself.

        ``prompt`` is the prompt of the last answer, also of an error.
        """
        page_state = self._page_state
        return {
            "version": self._version,
            "work": page_state.work
            and {"name": page_state.work, "seconds": time.monotonic() - page_state.began},
            "error": page_state.error,
            "names": page_state.header.get("names", []),
            "providers": page_state.header.get("providers", []),
            "prompt": page_state.header.get("prompt", ""),
            "hasPage": page_state.page != b"",
            "choices": attrs.asdict(self._choices),
            "seconds": page_state.header.get("seconds"),
            "cpu": page_state.header.get("cpu"),
            "renders": page_state.renders,
            "output": page_state.output.decode("utf-8", "replace"),
            "isCold": self._job.is_cold,
        }

    def _publish(self, **changes: Any) -> None:  # Any: the values of any fields of PageState
        """Change these fields of the page state, and wake the streams of states."""
        for name, new_value in changes.items():
            setattr(self._page_state, name, new_value)
        self._version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    def end(self) -> None:
        """End the streams of states."""
        self._is_ending = True
        self._publish()

    async def _watch(self) -> None:
        """Note each change of a file that was read; after an error, each new file, too.

        The code with the error may have looked for the new file.
        """
        async for _ in self._watched.changes():
            self._is_saved = True
            self._is_burst = self._page_state.work != ""
            self._work_waits.set()

    async def _render_save(self) -> None:
        """Render what was saved last; during many saves, wait for the last of them."""
        if self._is_burst:
            await self._wait_for_quiet()
        await self._end_child()
        self._is_saved = self._is_burst = False
        await self._first_answer()

    async def _wait_for_quiet(self) -> None:
        """Wait until no file was changed for ``QUIET_TIME``, at most ``MAX_BURST`` seconds."""
        end = time.monotonic() + MAX_BURST
        while time.monotonic() < min(self._watched.last_change + QUIET_TIME, end):
            await asyncio.sleep(0.02)

    async def _first_answer(self) -> None:
        """Start a child and show its first answer."""
        self._watched.begin()
        self._publish(work="importing", began=time.monotonic(), output=b"")
        # The next change of the page state shows the new number.
        self._page_state.renders += 1
        job = {"arguments": self._job.arguments, "roots": [*self._job.roots]}
        await self._keeper.start(json.dumps(job).encode())
        self._reading = asyncio.create_task(self._read())
        if self._snapshots:
            self._keeper.send(BEFORE, self._earlier_snapshots())
        await self._ask(self._job.timeout)

    def _earlier_snapshots(self) -> bytes:
        """Return the snapshots of the last pages as JSON: the child compares its page with them."""
        name = json.dumps(self._page_state.prompt).encode()
        rows = [b"[%b, %b]" % (json.dumps(key).encode(), text) for key, text in self._snapshots]
        return b'{"prompt": %b, "snapshots": [%b]}' % (name, b",".join(rows))

    async def _render_choice(self) -> None:
        """Ask the child for what was chosen last; start a child if it has ended."""
        if self._reading is None or self._reading.done():
            await self._first_answer()
            return
        self._publish(work="rendering", began=time.monotonic())
        if self._choices.prompt != self._last_question.prompt:
            await self._ask(self._job.timeout)
        else:
            await self._ask(max(MIN_TIME_LIMIT, 2 * self._seconds))

    async def _ask(self, limit: float) -> None:
        """Ask the child for what was chosen last, and show its answer.

        After ``limit`` seconds, the child is ended, and the page shows an error. If a newer save
        waits, the session waits for the answer only until the end of its patience.
        """
        self._last_question = self._choices
        self._is_chosen = False
        self._answer_parts.clear()
        self._answer = asyncio.get_running_loop().create_future()
        start = time.monotonic()
        self._keeper.send(QUESTION, json.dumps(attrs.asdict(self._last_question)).encode())
        while not self._answer.done():
            waited = time.monotonic() - start
            if waited > limit:
                await self._end_child()
                self._show_error(slow_problem(limit, self._job.timeout))
                return
            if self._is_saved and waited > self._patience:
                # With more patience each time, a slow render is finished even if saves never stop.
                self._patience *= 2
                return
            # At least 19 times a second, look whether the limit is reached or a newer save waits.
            # The last millisecond is needed because ``waited`` has to be more than the limit.
            await asyncio.wait([self._answer], timeout=min(limit - waited, 0.05) + 0.001)
        header = self._answer.result()
        if header is not None:
            self._patience = max(MIN_PATIENCE, 2 * (time.monotonic() - start))
            self._show(header)

    def _show(self, header: JsonDict) -> None:
        """Show an answer: a page, or an error above the last page of the same prompt."""
        is_outdated = self._watched.read(header["files"], is_complete=header["error"] is None)
        if is_outdated:  # a file changed after the render read it
            self._is_saved = True
        page_state = self._page_state
        self._seconds = header["seconds"]
        page, snapshot = self._answer_parts.get(PAGE, b""), self._answer_parts.get(SNAPSHOT, b"")
        if header["prompt"] != page_state.prompt:
            self._snapshots.clear()
            page_state.page = b""
        if page:
            page_state.page, page_state.prompt = page, header["prompt"]
            page_state.page_number += 1
            if snapshot:
                self._remember(header["digest"], snapshot)
        self._publish(header=header, error=header["error"], work="")

    def _remember(self, digest: str, snapshot: bytes) -> None:
        """Store the snapshot of a page, for the comparison with the next page."""
        older_rows = [row for row in self._snapshots if row[0] != digest]
        self._snapshots = [(digest, snapshot), *older_rows[:1]]

    def _show_error(self, error: JsonDict) -> None:
        """Show an error above the last page."""
        self._publish(error=error, work="")

    async def _read(self) -> None:
        """Read the frames of the child until it ends, and show how it ended.

        The page and the snapshot of an answer come before its header.
        """
        while True:
            kind, content = await self._keeper.receive()
            if kind == OUTPUT:
                self._publish(output=self._page_state.output + content)
            elif kind == ANSWER:
                header = _header(content)
                if header is None:  # the page then shows that the child was killed
                    self._keeper.kill()
                else:
                    self._pass_on(header)
            elif kind == ENDED:
                break
            else:
                self._answer_parts[kind] = content
        if not self._is_killed:
            self._show_error(ended_problem(content, is_nursery=content == NURSERY_DIED))
        self._pass_on(None)

    def _pass_on(self, header: JsonDict | None) -> None:
        """Give the header to ``_ask``, which waits for it; ``None`` if the child has ended."""
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
    """Return the header of an answer; ``None`` for content that is not one.

    Such content is from code of the user that wrote to the pipe of the child.
    """
    try:
        header: JsonDict = json.loads(content)
        is_answer = all(
            isinstance(header[key], expected_type) for key, expected_type in HEADER.items()
        )
    except (ValueError, LookupError, TypeError, RecursionError):  # not JSON, or not all keys
        return None
    return header if is_answer else None
