"""The nursery: a process that has rendered a prompt of its own, from which children are forked.

That prompt comes first: it has every kind of part, so that rendering it loads what a render needs.
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

# A prompt with every kind of part: to render it loads what a render needs.

BUDGET = 700
"""The tokens of the prompt: a part of it is left out."""
MODELS = ("gpt-5", "claude-sonnet-4-5", "gemini-2.5-pro")


def warm_up() -> list[str]:
    """Make a page of such a prompt with a budget and payloads, compared with a snapshot.

    Returns its errors: there are none.
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


def _prompt(turns: int) -> Node:
    messages = [
        Message("user", [TextBlock(f"Question {turn}? " * 20)]) for turn in range(turns * 3)
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


# The nursery: a process that has rendered a prompt of its own, from which children are forked.
#
# It holds no code of users, no thread and no socket. It passes frames on between a server, at its
# standard input and output, and its child; what the child prints becomes frames of their own.


def run_nursery(load: LoadPrompts) -> None:
    """Fork a child for each job at standard input, until it ends.

    The system does not end it with its server: it first ends what its child started.
    """
    warm_up()
    gc.collect()
    gc.freeze()  # a child that searches for garbage copies no page of what it was forked with
    Nursery(load).run()


class Nursery:
    """One child at a time, and the pipes to it; it never waits for the child."""

    def __init__(self, load: LoadPrompts) -> None:
        self._load = load
        self._selector = selectors.DefaultSelector()
        self._server = FrameBuffer()
        self._child: _Child | None = None

    def run(self) -> None:
        """Pass frames on until the server ends."""
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
        content = os.read(0, CHUNK)
        if not content:
            raise EOFError
        for kind, part in self._server.add(content):
            if kind in (KILL, START):
                self._end()
            if kind == START:
                self._fork()
            if kind != KILL and self._child is not None:
                self._child.send(frame(kind, part))

    def _fork(self) -> None:
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
        """Run the child here: in a group of its own, with no descriptor but its pipes."""
        import resource  # only systems with fork() have it

        code = 1
        try:
            os.setsid()
            end_with_parent(parent)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            self._selector.close()
            for number, descriptor in enumerate(pipes):
                os.dup2(descriptor, number)
            os.closerange(3, max(map(int, os.listdir("/proc/self/fd"))) + 1)
            run_child(self._load)
        finally:
            os._exit(code)

    def _end(self) -> None:
        """End the child, if there is one, and report its exit code after all that it sent."""
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
    """A forked process and the pipes to it."""

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
        self._waiting = bytearray()
        self._answers, self._output = FrameBuffer(), PrintedText()
        self._handle = os.pidfd_open(pid)
        self._answering, self._printing = answering, printing
        for descriptor in (asking, answering, printing):
            os.set_blocking(descriptor, False)
        selector.register(self._handle, selectors.EVENT_READ, ended)
        selector.register(answering, selectors.EVENT_READ, self._read_answers)
        selector.register(printing, selectors.EVENT_READ, self._read_output)

    def send(self, content: bytes) -> None:
        """Send bytes when the child takes them."""
        if not self._waiting:
            self._selector.register(self._asking, selectors.EVENT_WRITE, self._write)
        self._waiting += content

    def _write(self) -> None:
        with suppress(BrokenPipeError):  # it is dead: its end is reported soon
            del self._waiting[: os.write(self._asking, self._waiting[:CHUNK])]
            if self._waiting:
                return
        self._waiting.clear()
        self._selector.unregister(self._asking)

    def _read_answers(self) -> bool:
        content = self._content(self._answering)
        for kind, part in self._answers.add(content):
            if kind not in OF_CHILDREN:  # the code wrote to the pipe
                self.kill()
                return False
            write_frame(1, kind, part)
        return bool(content)

    def _read_output(self) -> bool:
        content = self._content(self._printing)
        if part := self._output.cut(content):
            write_frame(1, OUTPUT, part)
        return bool(content)

    def _content(self, descriptor: int) -> bytes:
        """Return what can be read; a pipe that ends is not looked at any more."""
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
        with suppress(ProcessLookupError):  # it may not have its group yet
            os.kill(self._pid, signal.SIGKILL)

    def end(self) -> int:
        """Kill what is left of the child, pass on what it sent, and return its exit code."""
        self.kill()
        _, status = os.waitpid(self._pid, 0)
        while self._read_output() or self._read_answers():
            pass
        for descriptor in (self._handle, self._asking, self._answering, self._printing):
            if descriptor in self._selector.get_map():
                self._selector.unregister(descriptor)
            os.close(descriptor)
        return os.waitstatus_to_exitcode(status)
