"""A child: it runs the code of the prompts of one save, and answers until the next one."""

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

PARENT_DIES = 1
"""The number of ``PR_SET_PDEATHSIG`` of Linux."""


@attrs.frozen
class LoadedPrompts:
    """The prompts of a save, and how each is rendered.

    ``options`` are those of :func:`promptdsl.render`; ``models`` are names of models and providers
    whose payloads are shown; ``price`` is that of :func:`promptdsl.page.page_data`.
    """

    prompts: Sequence[PagePrompt]
    options: Mapping[str, Any] = attrs.field(factory=dict[str, Any])  # Any: options of render()
    models: Sequence[str] = ()
    price: Sequence[float] | None = None


LoadPrompts: TypeAlias = Callable[[JsonDict], AbstractContextManager[LoadedPrompts]]
"""A function that runs the code of prompts; they can be rendered until its context ends."""


def end_with_parent(parent: int) -> None:
    """End this process when its parent dies, where Linux does so; else its pipe ends first."""
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(PARENT_DIES, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def run_child(load: LoadPrompts) -> NoReturn:
    """Answer the questions at standard input at standard output; what code prints is an error.

    The process ends with its input.
    """
    questions, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    frames: SimpleQueue[Frame] = SimpleQueue()

    def listen() -> None:
        while True:
            try:
                content = read_frame(questions)
            except OSError:
                content = None
            if content is None:
                os._exit(0)
            frames.put(content)

    threading.Thread(target=listen, daemon=True).start()
    code = 1
    try:
        _answer_all(load, frames, answers)
    except BaseException as error:  # such as a KeyboardInterrupt of the code
        sys.excepthook(type(error), error, error.__traceback__)
    finally:
        _flush()
        os._exit(code)


def _answer_all(load: LoadPrompts, frames: "SimpleQueue[Frame]", answers: int) -> None:
    kind, content = frames.get()
    assert kind == START, kind
    job: JsonDict = json.loads(content)
    sys.argv = ["promptdsl"]
    files = FilesRead(job["roots"])
    before: JsonDict = {"prompt": None, "snapshots": []}
    cpu = 0.0
    with load(job["arguments"]) as loaded:
        while True:
            kind, content = frames.get()
            if kind == BEFORE:
                before = json.loads(content)
            elif kind == QUESTION:
                answer = _answer(loaded, json.loads(content), before)
                answer.header["files"] = files.to_dict()
                answer.header["cpu"] = time.process_time() - cpu
                cpu = time.process_time()
                _flush()
                for name, text in ((PAGE, answer.page), (SNAPSHOT, answer.snapshot)):
                    if text:
                        write_frame(answers, name, text)
                write_frame(answers, ANSWER, json.dumps(answer.header).encode())


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):  # code may have closed or replaced it
            continue


@attrs.frozen
class _Answer:
    header: JsonDict
    page: bytes = b""
    snapshot: bytes = b""


def _answer(loaded: LoadedPrompts, choices: JsonDict, before: JsonDict) -> _Answer:
    """Return the page of the prompt that was chosen, as it was chosen, or why there is none."""
    began = time.perf_counter()
    names = [prompt.title for prompt in loaded.prompts]
    chosen_name = choices["prompt"] or next(iter(names), "")
    header: JsonDict = {"names": names, "providers": [*provider_names()], "error": None}
    header |= {"prompt": chosen_name, "digest": None, "seconds": 0.0}
    if chosen_name not in names:
        what = f"there is no prompt {chosen_name!r}" if chosen_name else "there is no prompt"
        header["error"] = {"what": what, "fix": "choose another one", "at": [], "code": []}
        return _Answer(header)
    prompt = loaded.prompts[names.index(chosen_name)]
    options = {**loaded.options, **_chosen(choices)}
    models = [*dict.fromkeys([*loaded.models, *choices["targets"]])]
    snapshot = b""
    rows: Iterable[JsonDict] = request_rows(prompt, models, options)
    if len(prompt.requests) == 1:
        snapshots: list[tuple[str, str]] = before["snapshots"]
        if before["prompt"] != prompt.title:
            snapshots = []
        row = _row(prompt, models, options, snapshots)
        header["error"] = row["error"]
        rows = [row]
        if row["record"] is not None:
            header["digest"] = row["record"]["digest"]
            snapshot = _snapshot(row["side"])
    page = b""
    if header["error"] is None:
        nothing: Iterable[JsonDict] = ()
        prompt_rows = [(other, rows if other is prompt else nothing) for other in loaded.prompts]
        page = _json(page_of_rows(prompt_rows, price=loaded.price, content=True)[0])
    header["seconds"] = time.perf_counter() - began
    return _Answer(header, page, snapshot)


def _snapshot(side: ComparedRender) -> bytes:
    """Return the snapshot of a render that a later one is compared with, if it can be written."""
    try:
        text = serialise(side.file)
        parse(text)
    except PromptError:
        return b""
    return _json(text)


def _chosen(choices: JsonDict) -> dict[str, Any]:  # Any: options of render()
    """Return the options of a render that a reader chose on the page."""
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
    """Return the request of a prompt, compared with the last snapshot that differs from it.

    A snapshot is a digest and a text.
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
    """Return JSON on one line; it has no half of a surrogate pair, which UTF-8 cannot write."""
    return json.dumps(data, separators=(",", ":")).encode()
