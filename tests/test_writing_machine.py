"""Any order of writing, by several writers, does what nested lists say it does."""

import contextvars
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from promptdsl import Fragment, ScopeError, Section, Text, Timeline, User, detached, include
from tests.homes import COPYING, Here, Home, Task, Thread, in_bare_thread
from tests.internals import OPENED
from tests.searching import examples
from tests.writing_model import Due, Frame, Part, Writer, held, listed, size


class Boom(Exception):
    """What a block raises."""


KINDS = {"Section": Section, "Fragment": Fragment, "Turn": User, "Root": Timeline}
HOMES: dict[str, Callable[[contextvars.Context], Home]] = {"thread": Thread, "task": Task}

# Ways to open a block, each ending with what closes it: called with the exception that ends it.

Closer = Callable[[Exception | None], None]


def by_hand(block: Any) -> Closer:
    """Open a block as ``with`` does."""
    leave = block.__exit__
    block.__enter__()
    return lambda error: leave(None if error is None else type(error), error, None)


def in_generator(block: Any) -> Closer:
    """Open a block in a generator that stops inside it; it goes on, or is closed there."""

    def steps() -> Iterator[None]:
        with block:
            yield

    paused = steps()
    next(paused)
    return lambda error: next(paused, None) if error is None else paused.close()  # type: ignore[attr-defined, no-any-return]


def in_manager(block: Any) -> Closer:
    """Open a block in a generator that is used as a context manager."""

    @contextmanager
    def card() -> Iterator[None]:
        with block:
            yield

    return by_hand(card())


WAYS = (by_hand, in_generator, in_manager)


def chain() -> list[Any]:
    """Return the components that are open here, the outermost first: ``None`` is ``detached()``."""
    found: list[Any] = []
    frame = OPENED.get()
    while frame is not None:
        found.append(frame.component)
        frame = frame.enclosing
    return found[::-1]


def choice(entries: list[Any]) -> st.SearchStrategy[Any]:
    """Return the strategy of one of the newest of some entries."""
    return st.sampled_from(entries[:-9:-1])


class Writing(RuleBasedStateMachine):
    """Write from several threads and tasks at once, and the same in a model.

    Every rule asks the model which error is due, and does the same with promptdsl. Only one writer
    is at work at a time, so that a run is the same every time.
    """

    def __init__(self) -> None:
        super().__init__()
        self.writers = [Writer(Here())]
        self.parts: list[Part] = []
        self.frames: list[tuple[Writer, Frame, Closer]] = []
        self.count = 0

    def expect(self, due: Due, writer: Writer, work: Callable[[], Any]) -> Any:
        """Let a writer do something, and compare how it ends; return what it came to."""
        found = writer.home.run(work)
        assert due == (type(found) if isinstance(found, Exception) else None), found
        return found

    def someone(self) -> st.SearchStrategy[Writer]:
        """Return the strategy of a writer: the first one writes most, so that its tree is deep."""
        return st.sampled_from([*[self.writers[0]] * 3, *self.writers])

    def usable(self) -> st.SearchStrategy[list[Part]]:
        """Return the strategy of parts to pass on: the newest, of every state."""
        small = [part for part in self.parts if size(part) < 20]
        return st.lists(choice(small), max_size=2, unique=True) if small else st.just([])

    def name(self) -> str:
        """Return an id that was not used yet."""
        self.count += 1
        return f"s{self.count}"

    # Writing.

    @rule(data=st.data(), word=st.sampled_from("ab"))
    def write_text(self, data: st.DataObject, word: str) -> None:
        """Write a text."""
        writer = data.draw(self.someone())
        part = Part("Text")
        due = writer.write(part, word, [])
        self.keep(part, self.expect(due, writer, partial(Text, word)))

    @rule(
        data=st.data(), kind=st.sampled_from(sorted(KINDS)), text=st.none() | st.sampled_from("ab")
    )
    def write_call(self, data: st.DataObject, kind: str, text: str | None) -> None:
        """Write a component with arguments, or with none: to be opened later perhaps."""
        writer = data.draw(self.someone())
        entries = [entry for entry in writer.entries or [] if isinstance(entry, Part)]
        newest = entries[-data.draw(st.integers(1, 3)) :]
        adopted = data.draw(st.permutations(newest)) if data.draw(st.booleans()) else []
        args = list(dict.fromkeys([*adopted, *data.draw(self.usable())]))
        self.write(writer, kind, text, args)

    def write(self, writer: Writer, kind: str, text: str | None, args: list[Part]) -> Part | None:
        """Write a component and return its part of the model, if it was not refused."""
        part = Part(kind, self.name() if kind == "Section" else None)
        given = [] if text is None else [text]
        content = [*given, *(arg.component for arg in args)]
        first = [part.id] if part.id else []
        due = writer.write(part, text, args)
        return self.keep(part, self.expect(due, writer, partial(KINDS[kind], *first, *content)))

    def keep(self, part: Part, found: Any) -> Part | None:
        """Note the component of a part, unless it was refused."""
        if isinstance(found, Exception):
            return None
        part.component = found
        self.parts.append(part)
        return part

    @precondition(lambda self: self.parts)
    @rule(data=st.data())
    def misspell(self, data: st.DataObject) -> None:
        """Try a call that is refused for its id, with arguments."""
        writer = data.draw(self.someone())
        args = data.draw(self.usable())
        content = [arg.component for arg in args]
        self.expect(writer.misspell(args), writer, partial(Section, "no id", *content))

    @precondition(lambda self: self.parts)
    @rule(data=st.data())
    def include_part(self, data: st.DataObject) -> None:
        """Include any part, also one that cannot be."""
        writer = data.draw(self.someone())
        part = data.draw(choice(self.parts))
        if size(part) < 20:
            self.expect(writer.include(part), writer, partial(include, part.component))

    # Opening and closing.

    @rule(data=st.data(), kind=st.sampled_from(sorted(KINDS)), way=st.sampled_from(WAYS))
    def nest(self, data: st.DataObject, kind: str, way: Callable[[Any], Closer]) -> None:
        """Write a component and open it."""
        writer = data.draw(self.someone())
        part = self.write(writer, kind, None, [])
        if part is not None:
            self.open(writer, part, way)

    @precondition(lambda self: self.parts)
    @rule(data=st.data(), way=st.sampled_from(WAYS))
    def enter(self, data: st.DataObject, way: Callable[[Any], Closer]) -> None:
        """Open any part, also one that cannot be opened."""
        writer = data.draw(self.someone())
        self.open(writer, data.draw(choice(self.parts)), way)

    def open(self, writer: Writer, part: Part, way: Callable[[Any], Closer]) -> None:
        """Open a part, and note what closes it."""
        due = writer.enter(part)
        closer = self.expect(due, writer, partial(way, part.component))
        if due is None:
            self.frames.append((writer, writer.stack[-1], closer))

    @rule(data=st.data())
    def detach(self, data: st.DataObject) -> None:
        """Open a ``detached()``."""
        writer = data.draw(self.someone())
        writer.detach()
        closer = self.expect(None, writer, lambda: by_hand(detached()))
        self.frames.append((writer, writer.stack[-1], closer))

    def close(self, entry: tuple[Writer, Frame, Closer], error: Exception | None = None) -> None:
        """Close a frame; an exception goes on through it."""
        writer, frame, closer = entry
        self.frames = [other for other in self.frames if other[1] is not frame]
        due = writer.leave(frame, raised=error is not None)
        self.expect(due, writer, partial(closer, error))

    @precondition(lambda self: self.frames)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        """Close a writer's innermost block."""
        self.close(data.draw(self.innermost()))

    def innermost(self) -> st.SearchStrategy[tuple[Writer, Frame, Closer]]:
        """Return the strategy of what a writer opened last."""
        return st.sampled_from(list({entry[0]: entry for entry in self.frames}.values()))

    @precondition(lambda self: self.frames)
    @rule(data=st.data(), levels=st.integers(1, 3))
    def fail(self, data: st.DataObject, levels: int) -> None:
        """Raise in a writer's innermost block, and catch it some levels up."""
        writer, _, _ = data.draw(self.innermost())
        mine = [entry for entry in self.frames if entry[0] is writer]
        for entry in mine[: -levels - 1 : -1]:
            self.close(entry, Boom())

    @precondition(lambda self: len(self.frames) > 1)
    @rule(data=st.data(), error=st.sampled_from([None, Boom()]))
    def leave_out_of_order(self, data: st.DataObject, error: Exception | None) -> None:
        """Close any block, by any writer."""
        _, frame, closer = data.draw(choice(self.frames))
        self.close((data.draw(self.someone()), frame, closer), error)

    # Elsewhere.

    @precondition(lambda self: len(self.writers) < 4)
    @rule(data=st.data(), home=st.sampled_from(sorted(HOMES)), copied=st.booleans())
    def start(self, data: st.DataObject, home: str, copied: bool) -> None:
        """Start a writer in a thread or task of its own, with or without the context of another."""
        parent = data.draw(self.someone())
        context = parent.home.run(contextvars.copy_context) if copied else contextvars.Context()
        self.writers.append(Writer(HOMES[home](context), parent.stack if copied else ()))

    @rule(data=st.data(), way=st.sampled_from(sorted(COPYING)))
    def write_elsewhere(self, data: st.DataObject, way: str) -> None:
        """Try to write from another thread or task: where a block is open, it is refused."""
        writer = data.draw(self.someone())
        due = None if writer.block is None else ScopeError
        work = partial(COPYING[way], partial(Text, way))
        self.keep(Part("Text", None, [way]), self.expect(due, writer, work))

    @rule(data=st.data(), way=st.sampled_from(sorted(COPYING)))
    def build_elsewhere(self, data: st.DataObject, way: str) -> None:
        """Build a part under ``detached()`` in another thread or task."""
        writer = data.draw(self.someone())
        self.keep_section(writer, partial(COPYING[way], built_detached))

    @rule(data=st.data())
    def build_in_a_bare_thread(self, data: st.DataObject) -> None:
        """Build a part in a thread with no context, where no block is open."""
        writer = data.draw(self.someone())
        self.keep_section(writer, partial(in_bare_thread, built))

    def keep_section(self, writer: Writer, work: Callable[[], Any]) -> None:
        """Let a writer have a part built elsewhere, and note it."""
        part = Part("Section", "built", [Part("Text", None, ["x"])])
        part.state = "closed"
        self.keep(part, self.expect(None, writer, work))

    # What holds after every step.

    @invariant()
    def what_is_open_is_what_the_model_says(self) -> None:
        """Every writer has the same blocks open as its model."""
        expected = [
            [None if frame.part is None else frame.part.component for frame in writer.stack]
            for writer in self.writers
        ]
        found = [writer.home.run(chain) for writer in self.writers]
        assert [list(map(id, row)) for row in expected] == [list(map(id, row)) for row in found]

    @invariant()
    def blocks_hold_what_the_model_says(self) -> None:
        """Every open block holds what its model does: nothing of one that failed, all else."""
        blocks = [frame.part for _, frame, _ in self.frames if frame.part is not None]
        unbroken = [block for block in blocks if block.state == "open"]
        assert [listed(block) for block in unbroken] == [held(b.component) for b in unbroken]

    def teardown(self) -> None:
        """Close what is open, the newest first: all that was not broken is what it was."""
        try:
            while self.frames:
                self.close(self.frames[-1])
            whole = [part for part in self.parts if part.state != "failed"]
            assert [listed(part) for part in whole] == [held(part.component) for part in whole]
        finally:
            for writer in self.writers:
                writer.home.close()


def built() -> Section:
    """Return a section written in a block."""
    with Section("built") as part:
        Text("x")
    return part


def built_detached() -> Section:
    """Return the same, whatever is open around it."""
    with detached():
        return built()


Writing.TestCase.settings = settings(examples(200, fast=6), stateful_step_count=50)
test_any_order_of_writing_by_several_writers = Writing.TestCase
