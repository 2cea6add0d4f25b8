"""The child: a process that runs the code of one save, and answers questions until the next save.

Read :func:`run_child` first.
"""

import ctypes
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from queue import SimpleQueue
from typing import Any, NoReturn, TypeAlias

import attrs

from promptdsl import PromptError, provider_names
from promptdsl.comparing import ComparedRender, parse, serialise
from promptdsl.foundation.json import JsonDict
from promptdsl.page import PagePrompt, named, page_of_rows, request_rows
from promptdsl.preview.files import FilesRead
from promptdsl.preview.frames import (
    ANSWER,
    BEFORE,
    PAGE,
    QUESTION,
    SNAPSHOT,
    START,
    Frame,
    read_frame,
    write_frame,
)

PR_SET_PDEATHSIG = 1
"""The option of ``prctl`` on Linux for the signal that a process gets when its parent dies."""


@attrs.frozen
class LoadedPrompts:
    """The prompts of a save, and how they are rendered.

    ``options`` are those of :func:`promptdsl.render`. The page shows the payloads for ``models``,
    names of models and providers. ``price`` is that of :func:`promptdsl.page.page_data`.
    """

    prompts: Sequence[PagePrompt]
    options: Mapping[str, Any] = attrs.field(factory=dict[str, Any])  # Any: options of render()
    models: Sequence[str] = ()
    price: Sequence[float] | None = None


LoadPrompts: TypeAlias = Callable[[JsonDict], AbstractContextManager[LoadedPrompts]]
"""A function that runs the code of prompts. They can be rendered until its context ends."""


def end_with_parent(parent: int) -> None:
    """On Linux, let the system end this process when its parent dies.

    On other systems, the process ends when its pipe ends.
    """
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def run_child(load: LoadPrompts) -> NoReturn:
    """Answer questions: they come from standard input, the answers go to standard output.

    What the code of prompts prints goes to standard error. The process ends with the exit code 0
    when its input ends, and with 1 after an error.
    """
    questions, answers = os.dup(0), os.dup(1)
    # For the code of prompts, standard input is empty, and what it prints goes to standard error.
    empty_input = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty_input, 0)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    frames: SimpleQueue[Frame] = SimpleQueue()

    def listen() -> None:
        while True:
            try:
                received = read_frame(questions)
            except OSError:
                received = None
            if received is None:
                os._exit(0)
            frames.put(received)

    threading.Thread(target=listen, daemon=True).start()
    try:
        _answer_all(load, frames, answers)
    except BaseException as error:  # such as a KeyboardInterrupt in the code
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        _flush()
        os._exit(1)


def _answer_all(load: LoadPrompts, frames: "SimpleQueue[Frame]", answers: int) -> None:
    """Load the prompts of a job, and answer each question about them, without an end.

    An answer is the page and the snapshot, if there are any, and then the header.
    """
    kind, content = frames.get()
    assert kind == START, kind
    job: JsonDict = json.loads(content)
    sys.argv = ["promptdsl"]
    files = FilesRead(job["roots"])
    earlier: JsonDict = {"prompt": None, "snapshots": []}
    cpu_before = 0.0
    with load(job["arguments"]) as prompts_of_save:
        while True:
            kind, content = frames.get()
            if kind == BEFORE:
                earlier = json.loads(content)
            elif kind == QUESTION:
                answer = _answer(prompts_of_save, json.loads(content), earlier)
                answer.header["files"] = files.to_dict()
                answer.header["cpu"] = time.process_time() - cpu_before
                cpu_before = time.process_time()
                _flush()
                for name, text in ((PAGE, answer.page), (SNAPSHOT, answer.snapshot)):
                    if text:
                        write_frame(answers, name, text)
                write_frame(answers, ANSWER, json.dumps(answer.header).encode())


def _flush() -> None:
    """Write what the code has printed so far."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (
            AttributeError,
            OSError,
            ValueError,
        ):  # the code may have closed or replaced the stream
            continue


@attrs.frozen
class _Answer:
    """An answer to a question: the frames ``ANSWER``, ``PAGE`` and ``SNAPSHOT``."""

    header: JsonDict
    page: bytes = b""
    snapshot: bytes = b""


def _answer(prompts_of_save: LoadedPrompts, choices: JsonDict, earlier: JsonDict) -> _Answer:
    """Return the page of the prompt that a reader chose, or an error in the header.

    A prompt with one request is compared with the snapshots of the last pages (``earlier``).
    """
    start = time.perf_counter()
    names = [prompt.title for prompt in prompts_of_save.prompts]
    chosen_name = choices["prompt"] or next(iter(names), "")
    header: JsonDict = {"names": names, "providers": [*provider_names()], "error": None}
    header |= {"prompt": chosen_name, "digest": None, "seconds": 0.0}
    if chosen_name not in names:
        what = f"there is no prompt {chosen_name!r}" if chosen_name else "there is no prompt"
        header["error"] = {"what": what, "fix": "choose another one", "at": [], "code": []}
        return _Answer(header)
    prompt = prompts_of_save.prompts[names.index(chosen_name)]
    options = {**prompts_of_save.options, **_chosen(choices)}
    models = [*dict.fromkeys([*prompts_of_save.models, *choices["targets"]])]
    snapshot = b""
    rows: Iterable[JsonDict] = request_rows(prompt, models, options)
    if len(prompt.requests) == 1:
        snapshots: list[tuple[str, str]] = earlier["snapshots"]
        if earlier["prompt"] != prompt.title:
            snapshots = []
        row = _row(prompt, models, options, snapshots)
        header["error"] = row["error"]
        rows = [row]
        if row["record"] is not None:
            header["digest"] = row["record"]["digest"]
            snapshot = _snapshot(row["side"])
    page = b""
    if header["error"] is None:
        # The page lists all prompts, but has only the requests of this one.
        no_rows: Iterable[JsonDict] = ()
        prompt_rows = [
            (page_prompt, rows if page_prompt is prompt else no_rows)
            for page_prompt in prompts_of_save.prompts
        ]
        page = _json(page_of_rows(prompt_rows, price=prompts_of_save.price, content=True)[0])
    header["seconds"] = time.perf_counter() - start
    return _Answer(header, page, snapshot)


def _snapshot(compared: ComparedRender) -> bytes:
    """Return the snapshot of a render, as JSON, for the comparison with a later render.

    It is empty if the snapshot cannot be written.
    """
    try:
        text = serialise(compared.file)
        parse(text)
    except PromptError:
        return b""
    return _json(text)


def _chosen(choices: JsonDict) -> dict[str, Any]:  # Any: options of render()
    """Return the options of a render for what a reader chose on the page."""
    options: dict[str, Any] = {}
    if choices["budget"] is not None:
        options["budget"] = choices["budget"]
    if choices["model"] is not None:
        options |= {"provider": None, "model": None, **named(choices["model"])}
    return options


def _row(
    prompt: PagePrompt,
    models: Sequence[str],
    options: Mapping[str, Any],  # Any: options of render()
    snapshots: Sequence[tuple[str, str]],
) -> JsonDict:
    """Return the request of a prompt, compared with the newest snapshot that differs from it.

    ``snapshots`` are pairs of a digest and a text, the newest first.
    """
    if not snapshots:
        return [*request_rows(prompt, models, options)][-1]
    row: JsonDict = {}
    for digest, text in snapshots:
        compared = attrs.evolve(prompt, before=parse(text))
        row = [*request_rows(compared, models, options)][-1]
        if row["record"] is None or row["record"]["digest"] != digest:
            break
    return row


def _json(data: object) -> bytes:
    """Return JSON on one line, with ASCII only: UTF-8 cannot write half of a surrogate pair."""
    return json.dumps(data, separators=(",", ":")).encode()
