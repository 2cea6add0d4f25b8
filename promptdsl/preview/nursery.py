"""The nursery: a process that has everything loaded that a render needs, and forks children.

It loads everything by rendering a prompt with every kind of part. That prompt comes first; then
read :class:`Nursery`.
"""

import gc
import json
import os
import selectors
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from promptdsl import (
    Assistant,
    Code,
    Developer,
    Ephemeral,
    Event,
    Fragment,
    Grounding,
    Group,
    History,
    Json,
    Lazy,
    List,
    Message,
    Node,
    Note,
    Reasoning,
    Section,
    System,
    Table,
    Template,
    Text,
    TextBlock,
    Timeline,
    Tool,
    ToolMessage,
    ToolUse,
    Untrusted,
    User,
    UserAction,
    Value,
    render,
)
from promptdsl.comparing import parse, prompt_file, serialise
from promptdsl.page import PagePrompt, made_page
from promptdsl.preview.child import LoadPrompts, end_with_parent, run_child
from promptdsl.preview.frames import (
    BORN,
    CHUNK,
    ENDED,
    KILL,
    OF_CHILDREN,
    OUTPUT,
    START,
    FrameBuffer,
    PrintedText,
    frame,
    write_frame,
)

# A prompt with every kind of part: rendering it loads what any render needs.

BUDGET = 700
"""The budget of the prompt, in tokens: so small that a part is dropped."""
MODELS = ("gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro")
"""The targets of the payloads: one for each of the most used formats."""


def warm_up() -> list[str]:
    """Make a page of the prompt with a budget and payloads, compared with a snapshot.

    Returns the errors of the page, which must be none. The last error is left out: it is made on
    purpose, to load what an error needs.
    """
    before = parse(serialise(prompt_file(render(_prompt(1), model=MODELS[0]))))
    prompt = PagePrompt("warm", (_prompt(2), LookupError("no plan")), before=before)
    options: dict[str, Any] = {"model": MODELS[0], "budget": BUDGET, "cache": "auto"}
    data, errors = made_page(prompt, models=MODELS[1:], price=None, content=True, **options)
    json.dumps(data)
    return errors[:-1]


def search(query: str) -> str:
    """Find a page."""
    return query


def _prompt(repetitions: int) -> Node:
    """Return a prompt with every kind of part, and a history of three messages per repetition."""
    messages = [
        Message("user", [TextBlock(f"Question {turn}? " * 20)]) for turn in range(repetitions * 3)
    ]
    with Timeline() as prompt:
        with System():
            Section("role", "Be kind to ", Value("Ada <b>"), ".", title="Role")
            with Fragment(), Group():
                Text("a\nb")
                Note("Be short.")
            Template.from_string("Hello {{ name }}.", name="Ada")
            Untrusted("Some text.", source="mail")
        Developer("Answer in JSON.")
        Tool(search)
        History(messages)
        Grounding("terms.md", "word " * 90, priority=-1)
        Grounding("facts", Table([{"name": "Ada"}]), Json({"a": 1}), Code("x"), List("a", "b"))
        with Assistant():
            Reasoning("Let me think.")
            ToolUse("search", {"query": "x"}, id="c1")
        ToolMessage("c1", "A result.")
        Ephemeral("Now.")
        Event(UserAction("clicked", target="help"))
        User("Why? ", Lazy(lambda context: str(context.model)))
    return prompt


# The nursery: a process that has everything loaded, and forks children.
#
# It has no code of users, no thread and no socket. It passes frames from its standard input, where
# the server is, to its child, and from the child to its standard output. What the child prints
# becomes frames, too.


def run_nursery(load: LoadPrompts) -> None:
    """Fork a child for each job at standard input, until standard input ends.

    When the server dies, the system does not end the nursery: first it must end what its child
    started.
    """
    warm_up()
    gc.collect()
    gc.freeze()  # garbage collection in a child then copies no memory of the nursery
    Nursery(load).run()


class Nursery:
    """Has one child at a time and the pipes to it, and never waits for the child."""

    def __init__(self, load: LoadPrompts) -> None:
        self._load = load
        self._selector = selectors.DefaultSelector()
        self._server_frames = FrameBuffer()
        self._child: _Child | None = None

    def run(self) -> None:
        """Pass frames between the server and the child until the server ends."""
        self._selector.register(0, selectors.EVENT_READ, self._read_server)
        try:
            while True:
                for key, _ in self._selector.select():
                    key.data()
        except (EOFError, BrokenPipeError):
            return
        finally:
            self._kill()

    def _read_server(self) -> None:
        """Read frames of the server: fork or end the child, or pass them to it."""
        content = os.read(0, CHUNK)
        if not content:
            raise EOFError
        for kind, body in self._server_frames.add(content):
            if kind in (KILL, START):
                self._end()
            if kind == START:
                self._fork()
            if kind != KILL and self._child is not None:
                self._child.send(frame(kind, body))

    def _fork(self) -> None:
        """Fork a child, and report the id of its process."""
        # The child gets ``questions``, ``answers`` and ``printed``; the other ends stay here.
        pipes = [os.pipe(), os.pipe(), os.pipe()]
        (questions, asking), (answering, answers), (printing, printed) = pipes
        parent = os.getpid()
        pid = os.fork()
        if not pid:
            self._become_child(parent, questions, answers, printed)
        for descriptor in (questions, answers, printed):
            os.close(descriptor)
        self._child = _Child(pid, (asking, answering, printing), self._selector, self._end)
        write_frame(1, BORN, str(pid).encode())

    def _become_child(self, parent: int, *pipes: int) -> NoReturn:
        """Run the child in this process: in a new process group, with only its pipes open."""
        import resource  # only systems with fork() have it

        try:
            os.setsid()
            end_with_parent(parent)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            self._selector.close()
            for target, descriptor in enumerate(pipes):
                os.dup2(descriptor, target)
            os.closerange(3, max(map(int, os.listdir("/proc/self/fd"))) + 1)
            run_child(self._load)
        finally:  # after an error before run_child(), which ends the process itself
            os._exit(1)

    def _end(self) -> None:
        """End the child, if there is one; report its exit code after everything that it sent."""
        child = self._child
        if child is None:
            return
        code = child.end()
        self._child = None
        write_frame(1, ENDED, str(code).encode())

    def _kill(self) -> None:
        if self._child is not None:
            self._child.kill()


class _Child:
    """A forked process and the pipes to it; ``ended`` is called when the process has ended."""

    def __init__(
        self,
        pid: int,
        pipes: tuple[int, int, int],
        selector: selectors.BaseSelector,
        ended: Callable[[], None],
    ) -> None:
        asking, answering, printing = pipes
        self._pid, self._asking = pid, asking
        self._selector = selector
        self._unsent = bytearray()
        self._answer_frames, self._output = FrameBuffer(), PrintedText()
        self._handle = os.pidfd_open(pid)
        self._answering, self._printing = answering, printing
        for descriptor in (asking, answering, printing):
            os.set_blocking(descriptor, False)
        selector.register(self._handle, selectors.EVENT_READ, ended)
        selector.register(answering, selectors.EVENT_READ, self._read_answers)
        selector.register(printing, selectors.EVENT_READ, self._read_output)

    def send(self, content: bytes) -> None:
        """Send bytes as soon as the child reads them."""
        if not self._unsent:
            self._selector.register(self._asking, selectors.EVENT_WRITE, self._write)
        self._unsent += content

    def _write(self) -> None:
        with suppress(BrokenPipeError):  # the child is dead: ``_end`` reports it soon
            del self._unsent[: os.write(self._asking, self._unsent[:CHUNK])]
            if self._unsent:
                return
        self._unsent.clear()
        self._selector.unregister(self._asking)

    def _read_answers(self) -> bool:
        """Pass frames of the child to the server; return whether there may be more."""
        content = self._content(self._answering)
        for kind, body in self._answer_frames.add(content):
            if kind not in OF_CHILDREN:  # code of the user wrote to the pipe
                self.kill()
                return False
            write_frame(1, kind, body)
        return bool(content)

    def _read_output(self) -> bool:
        content = self._content(self._printing)
        if text := self._output.cut(content):
            write_frame(1, OUTPUT, text)
        return bool(content)

    def _content(self, descriptor: int) -> bytes:
        """Return the bytes that can be read now; stop watching a pipe that has ended."""
        try:
            content = os.read(descriptor, CHUNK)
        except BlockingIOError:
            return b""
        if not content and descriptor in self._selector.get_map():
            self._selector.unregister(descriptor)
        return content

    def kill(self) -> None:
        """Kill the child and what it started."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)
        with suppress(ProcessLookupError):  # the child may not have its process group yet
            os.kill(self._pid, signal.SIGKILL)

    def end(self) -> int:
        """Kill the child, pass on everything that it sent, and return its exit code."""
        self.kill()
        _, status = os.waitpid(self._pid, 0)
        while self._read_output() or self._read_answers():
            pass
        for descriptor in (self._handle, self._asking, self._answering, self._printing):
            if descriptor in self._selector.get_map():
                self._selector.unregister(descriptor)
            os.close(descriptor)
        return os.waitstatus_to_exitcode(status)
