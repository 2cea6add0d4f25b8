"""When a component belongs to a tree: open blocks, detached parts, and who may write where."""

import asyncio
import contextvars
import gc
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)

from promptdsl import *
from tests.errors import lines_of, raised
from tests.internals import OPENED, label
from tests.renders import said
from tests.searching import examples


class Boom(Exception):
    """What a block raises."""


@pytest.fixture(autouse=True)
def nothing_stays_open() -> Iterator[None]:
    """Every test leaves no block open, also when it ends in an error."""
    yield
    assert OPENED.get() is None


# Written inside an open block.


def test_a_component_belongs_to_the_block_it_is_written_in() -> None:
    """Components written in a block are its content, in the order they were written."""
    with Timeline() as tree:
        with System():
            Text("a")
            with Section("rules"):
                Text("b")
            Text("c")
        User("q")
    assert tree == Timeline(System(Text("a"), Section("rules", Text("b")), Text("c")), User("q"))
    assert [("system", ["a\n\nb\n\nc"]), ("user", ["q"])] == said(tree)


def test_with_gives_the_component_itself() -> None:
    """``as`` names the component that was opened."""
    block = Section("a")
    with block as opened:
        Text("x")
    assert block is opened


def test_arguments_move_into_the_component_they_are_passed_to() -> None:
    """Components written in an argument list leave the open block for the component of the call."""
    with Timeline() as tree:
        System(Section("rules", Text("a"), Fragment(Text("b"))), Text("c"))
    assert [("system", ["a\n\nb\n\nc"])] == said(tree)


@pytest.mark.parametrize(
    "write",
    [
        lambda: System("Hello ", Value("bob"), "!"),
        lambda: System(Value("Hello "), Value("bob!")),
        lambda: System(Text("Hello ", Value("bob"), "!")),
        lambda: System(Fragment("Hello ", Value("bob!"))),
    ],
)
def test_values_in_arguments_move_too(write: Callable[[], Node]) -> None:
    """A value between the strings of a call is part of their text and of nothing else."""
    with Timeline() as tree:
        write()
        User("q")
    assert [("system", ["Hello bob!"]), ("user", ["q"])] == said(tree)


def test_values_as_titles_move_too() -> None:
    """A title passed as a value belongs to its section, not to the block around it."""
    with Timeline() as tree:
        Section("a", Text("x"), title=Value("T"))
        User("q")
    assert [("system", ["## T\nx"]), ("user", ["q"])] == said(tree)


def test_values_as_attributes_of_request_only_turns_move_too() -> None:
    """A type and a title passed as values belong to the request-only turn, in any order."""
    with Timeline() as tree:
        Ephemeral(Text("x"), title=Value("T"), type=Value("k"))
        Grounding("facts", Text("y"), title=Value("U"))
    expected = [
        '<context type="k" title="T">\nx\n</context>',
        '<context title="U">\ny\n</context>',
    ]
    assert [("user", expected)] == said(tree)


def test_the_newest_entry_may_be_passed_on() -> None:
    """A component written just before is moved by the call it is passed to."""
    with Timeline() as tree, System():
        Text("a")
        part = Text("b")
        Section("s", part, title="S")
    assert [("system", ["a\n\n## S\nb"])] == said(tree)


def test_the_newest_entries_may_be_passed_on_in_any_order() -> None:
    """The newest entries move together; the call says in which order."""
    with Timeline() as tree, System():
        first = Text("a")
        second = Text("b")
        Fragment(second, "between", first)
    assert [("system", ["b\n\nbetween\n\na"])] == said(tree)


def test_a_moved_part_counts_as_detached() -> None:
    """What was moved once can be used again, wherever it is."""
    with Timeline() as tree:
        rules = Text("rules")
        System(rules)
        User(rules, "and more")
        with Assistant():
            include(rules)
    expected = [("system", ["rules"]), ("user", ["rules", "and more"]), ("assistant", ["rules"])]
    assert expected == said(tree)


def test_an_argument_given_twice_in_one_call_stands_there_twice() -> None:
    """One component, moved once, is content as often as it is passed."""
    with Timeline() as tree:
        again = Text("a")
        System(again, "b", again)
    assert [("system", ["a\n\nb\n\na"])] == said(tree)


def older() -> None:
    """Pass on what is not the newest entry of its block."""
    with Timeline(), System():
        part = Text("a")
        Text("b")
        Section("s", part)


def test_an_older_entry_cannot_be_passed_on() -> None:
    """Passing on an older entry is an error with both lines that says what to do."""
    error = raised(ScopeError, older)
    assert lines_of(older, 5, 3) == error.at
    assert "write it in the argument list itself, or build it under `with detached():`" == error.fix


def test_an_entry_of_an_outer_block_cannot_be_passed_on() -> None:
    """What is in a block further out stays there."""

    def write() -> None:
        with Timeline():
            part = Section("s", "a")
            with System():
                Fragment(part)

    assert lines_of(write, 4, 2) == raised(ScopeError, write).at


def test_a_refused_argument_stays_where_it_was() -> None:
    """A call that may not take an older entry leaves it in its block."""
    with Timeline() as tree, System():
        part = Text("a")
        Text("b")
        with suppress(ScopeError):
            Section("s", part, Text("new"))
    assert [("system", ["a\n\nb"])] == said(tree)


@pytest.mark.parametrize(
    "write",
    [
        lambda: User(Text("x"), nam="y"),
        lambda: User(Text("x"), True),
        lambda: User(Text("x"), [Text("y")]),
        lambda: User(Text("x"), User("y")),
        lambda: Section("not an id", Text("x")),
        lambda: Section("s", Text("x"), id="t"),
        lambda: Section("s", Text("x"), title=Text("y")),
        lambda: Ephemeral(Text("x"), position="nowhere"),
        lambda: Ephemeral(Text("x"), order="first"),
        lambda: Ephemeral(Text("x"), title=Value("t"), position="nowhere"),
        lambda: ToolMessage("1", Text("x"), error_type="bad"),
        lambda: ToolResult("1", Text("x"), is_error="no"),  # type: ignore[arg-type]
        lambda: Turn("usr", Text("x")),
        lambda: Text("a", Value("x"), None),
        lambda: Text("a", Value("x"), bold=True),  # type: ignore[arg-type]
        lambda: User(Text("x"), priority="high"),  # type: ignore[arg-type]
        lambda: Group(Text("x"), priority=True),
        lambda: FirstFit(Text("x"), prio=1),  # type: ignore[call-arg]
        lambda: Limit(0, Text("x")),
        lambda: Limit(5, Text("x"), Reserve(5)),
        lambda: Reserve(Text("x")),  # type: ignore[arg-type]
        lambda: History([], keep=Text("x")),  # type: ignore[arg-type]
        lambda: Timeline(Section("s", Text("x"))),
        lambda: Timeline(Section("s", Text("x")), config=None),  # type: ignore[call-arg]
    ],
)
def test_a_call_that_fails_leaves_nothing_in_the_block(write: Callable[[], object]) -> None:
    """What was written in the argument list of a failed call is not left behind in the block."""
    with Timeline() as tree:
        System("before")
        with suppress(PromptError):
            write()
    assert tree == Timeline(System("before"))


# Written with no block open.


def test_a_part_is_used_in_any_number_of_trees() -> None:
    """A part written outside of any block serves several prompts, each of them whole."""
    rules = Section("rules", "Be kind.", title="Rules")
    trees = [Timeline(System(rules), User(str(number))) for number in range(3)]
    expected = [[("system", ["## Rules\nBe kind."]), ("user", [str(n)])] for n in range(3)]
    assert expected == [said(tree) for tree in trees]


def test_a_part_is_used_any_number_of_times_in_one_tree() -> None:
    """The same part at several addresses of one tree is fine, in all ways of placing it."""
    part = Section("s", "x")
    with Timeline() as tree:
        System(part)
        User(part)
        with Assistant():
            include(part)
        with User(part):
            Text("y")
    expected = [
        ("system", ["x"]),
        ("user", ["x"]),
        ("assistant", ["x"]),
        ("user", ["x", "y"]),
    ]
    assert expected == said(tree)


@pytest.mark.parametrize(
    "write",
    [
        lambda value: System("a ", value),
        lambda value: System("a ", Text(value)),
        lambda value: System(Text("a ", value)),
        lambda value: Section("s", "a ", value, title=value),
        lambda value: Ephemeral("a ", value, title=value),
    ],
)
def test_a_value_is_a_part_too(write: Callable[[Node], Node]) -> None:
    """A value is used any number of times, inside of texts and next to them."""
    value = Value("v")
    assert write(value) == write(value) == write(Value("v"))


def test_a_turn_is_a_part_too() -> None:
    """Turns written outside of any block are included like other parts."""
    greeting = User("Hello.")
    with Timeline() as tree:
        include(greeting)
        Assistant("Hi.")
        include(greeting)
    assert [("user", ["Hello."]), ("assistant", ["Hi."]), ("user", ["Hello."])] == said(tree)


def test_include_takes_several_parts() -> None:
    """Parts are included in the order they are passed, each as often as it is passed."""
    a, b = Text("a"), Text("b")
    with Timeline() as tree, System():
        include(a, b, a)
    assert [("system", ["a\n\nb\n\na"])] == said(tree)


def test_include_of_what_was_just_written_changes_nothing() -> None:
    """The newest entry is moved to where it is: it is there once."""
    with Timeline() as tree, System():
        include(Text("a"))
    assert [("system", ["a"])] == said(tree)


def test_nodes_of_a_tree_are_content() -> None:
    """What a finished tree holds can be placed in another one."""
    first = Timeline(System(Section("rules", "x")), User("q"))
    system, user = first.content
    second = Timeline(system, User(system.content[0]), user)
    expected = [("system", ["x"]), ("user", ["x", "q"])]
    assert expected == said(second)


def test_including_a_node_copies_nothing() -> None:
    """A part is the same object at every address."""
    part = Section("s", "x")
    with Timeline(System(part)) as tree, User():
        include(part)
    assert tree.content[0].content[0] is tree.content[1].content[0] is part


def test_the_first_use_freezes_a_part() -> None:
    """A part cannot be opened once it was used, and the error says what to do."""

    def write() -> None:
        part = Section("s", "x")
        System(part)
        with part:
            Text("late")

    error = raised(ScopeError, write)
    assert lines_of(write, 3, 1) == error.at
    assert "this Section cannot be opened as a block: it is finished" == error.what


@pytest.mark.parametrize("name", ["content", "title", "options", "anything"])
def test_a_used_part_cannot_be_changed(name: str) -> None:
    """Every field of a part that was used is frozen, to be deleted neither."""
    part = Section("s", "x")
    System(part)
    with pytest.raises(AttributeError):
        setattr(part, name, ())
    with pytest.raises(AttributeError):
        delattr(part, name)


def test_rendering_freezes() -> None:
    """A prompt that was rendered cannot be written on."""

    def write() -> None:
        tree = Timeline(User("q"))
        render(tree)
        with tree:
            User("late")

    assert lines_of(write, 3, 1) == raised(ScopeError, write).at


def test_a_timeline_is_frozen_when_its_block_closes() -> None:
    """A prompt written as a block is finished when the block is."""
    with Timeline() as tree:
        User("q")
    with pytest.raises(AttributeError):
        tree.content = ()


def test_a_detached_part_opened_in_a_block_stays_detached() -> None:
    """Opening a part in a block fills it; only using it places it."""
    part = Fragment()
    with Timeline() as tree, System():
        with part:
            Text("x")
        Text("y")
        include(part)
    assert [("system", ["y\n\nx"])] == said(tree)


# include() and its errors.


def test_include_needs_an_open_block() -> None:
    """Including where no block is open is an error at its line."""

    def write() -> None:
        include(Text("a"))

    assert lines_of(write, 1) == raised(ScopeError, write).at


def test_include_needs_an_open_block_under_detached() -> None:
    """Under ``detached()`` no block is open, so nothing can be included."""

    def write() -> None:
        part = Text("a")
        with User("q"), detached():
            include(part)

    assert lines_of(write, 3) == raised(ScopeError, write).at


@pytest.mark.parametrize("part", ["text", None, 3, Section])
def test_include_takes_components_only(part: Any) -> None:
    """Including what is no component is an error at the line of the include."""

    def write() -> None:
        with User("q"):
            include(part)

    assert lines_of(write, 2) == raised(ContentError, write).at


def test_include_is_checked_like_writing() -> None:
    """A part that may not be in the block is refused where it is included, with all lines."""

    def write() -> None:
        turn = User("q")
        with Timeline(), System():
            include(turn)

    assert lines_of(write, 3, 2, 1) == raised(PlacementError, write).at


# Appending.


def test_with_appends_to_what_was_given() -> None:
    """A block written on a component with content comes behind the content."""
    with Timeline() as tree, System("a"):
        Text("b")
    assert [("system", ["a\n\nb"])] == said(tree)


def test_with_appends_later_too() -> None:
    """A component written earlier in the open block is filled where it is."""
    with Timeline() as tree, System():
        part = Section("s", "a")
        Text("after")
        with part:
            Text("b")
    assert [("system", ["a\n\nb\n\nafter"])] == said(tree)


def test_with_appends_to_a_detached_component() -> None:
    """A part that was not used yet can be filled by one block."""
    part = System("a")
    with part:
        Text("b")
    assert [("system", ["a\n\nb"])] == said(part)


def test_with_appends_to_a_timeline() -> None:
    """A prompt in call style is continued by a block."""
    tree = Timeline(System("a"))
    with tree:
        User("q")
    assert [("system", ["a"]), ("user", ["q"])] == said(tree)


# Entering twice, changing afterwards.


def test_a_block_is_entered_once() -> None:
    """Opening a block that was closed is an error with both lines."""

    def write() -> None:
        part = Section("s")
        with part:
            Text("a")
        with part:
            Text("b")

    error = raised(ScopeError, write)
    assert lines_of(write, 4, 1) == error.at
    assert "this Section cannot be opened again: its block is closed" == error.what


def test_an_open_block_is_not_entered_again() -> None:
    """Opening a block inside itself is an error with both lines."""

    def write() -> None:
        with System() as part, part:
            Text("b")

    error = raised(ScopeError, write)
    assert lines_of(write, 1, 1) == error.at
    assert "this System cannot be opened again: its block is still open" == error.what


def test_a_closed_block_in_an_open_one_is_not_entered_again() -> None:
    """A closed block cannot be changed, also while the block around it is open."""

    def write() -> None:
        with Timeline():
            with System() as part:
                Text("a")
            with part:
                Text("b")

    assert lines_of(write, 4, 2) == raised(ScopeError, write).at


def test_an_entry_of_a_closed_block_cannot_be_changed() -> None:
    """What is in a closed block is frozen with it."""

    def write() -> None:
        with System():
            part = Section("s", "a")
        with part:
            Text("b")

    assert lines_of(write, 3, 2) == raised(ScopeError, write).at


@pytest.mark.parametrize(
    "use",
    [
        Fragment,
        include,
        render,
    ],
)
def test_an_open_block_cannot_be_used(use: Callable[[Node], object]) -> None:
    """A block that is still open is no argument, no part and no prompt yet."""

    def write() -> None:
        with System("x") as block:
            use(block)

    assert "open" in raised(ScopeError, write).what


def test_an_open_timeline_cannot_be_rendered() -> None:
    """Rendering a half-built prompt is an error that names its line."""

    def write() -> None:
        with Timeline() as tree:
            User("q")
            render(tree)

    assert lines_of(write, 1)[0] in raised(ScopeError, write).at


# Blocks that raise.


def test_a_block_that_raises_leaves_nothing() -> None:
    """A block that raises is not in its parent; what was written before and after is."""
    with Timeline() as tree:
        System("before")
        with suppress(Boom), User("x"):
            Text("y")
            raise Boom
        User("after")
    assert [("system", ["before"]), ("user", ["after"])] == said(tree)


def test_inner_blocks_that_raise_leave_nothing() -> None:
    """An exception that leaves several blocks takes all of them away, and nothing else."""
    with Timeline() as tree, System():
        Text("a")
        with suppress(Boom), Section("outer"):
            Text("b")
            with Section("inner"):
                raise Boom
        Text("c")
    assert [("system", ["a\n\nc"])] == said(tree)


def test_an_exception_caught_inside_leaves_the_outer_block() -> None:
    """Only the blocks an exception leaves are taken away."""
    with Timeline() as tree, System(), Section("outer"):
        Text("a")
        with suppress(Boom), Section("inner"):
            Text("b")
            raise Boom
    assert [("system", ["a"])] == said(tree)


def test_a_part_filled_later_leaves_its_place_when_its_block_raises() -> None:
    """A component written earlier is gone when its block raises, what is behind it stays."""
    with Timeline() as tree, System():
        part = Section("s", "a")
        Text("after")
        with suppress(Boom), part:
            raise Boom
    assert [("system", ["after"])] == said(tree)


def test_included_parts_stay_when_a_block_raises() -> None:
    """A part that was included in a block that raised serves elsewhere as before."""
    part = Section("s", "x")
    with Timeline() as tree:
        with suppress(Boom), System():
            include(part)
            raise Boom
        System(part)
    assert [("system", ["x"])] == said(tree)


def test_a_prompt_that_raises_leaves_nothing_open() -> None:
    """After a prompt raised, the next one is built as if nothing had happened."""
    with suppress(Boom), Timeline(), System(), Section("s"):
        raise Boom
    with Timeline() as tree:
        User("q")
    assert [("user", ["q"])] == said(tree)


def test_a_block_whose_content_is_refused_leaves_nothing() -> None:
    """A block that is refused when it closes is not in its parent."""
    with Timeline() as tree:
        System("before")
        with suppress(PlacementError), System():
            Image.from_url("https://example.com/x.png")
    assert [("system", ["before"])] == said(tree)


def failed() -> Section:
    """Return a section whose block raised."""
    part = Section("s", "x")
    with suppress(Boom), part:
        raise Boom
    return part


@pytest.mark.parametrize(
    "use",
    [
        Fragment,
        render,
        lambda part: part.__enter__(),
    ],
)
def test_a_block_that_raised_cannot_be_used(use: Callable[[Node], object]) -> None:
    """A component whose block raised is no content, no prompt and no block any more."""
    part = failed()
    assert lines_of(failed, 2)[0] in raised(ScopeError, lambda: use(part)).at


def test_a_block_that_raised_cannot_be_included() -> None:
    """Including a component whose block raised is an error."""
    part = failed()

    def write() -> None:
        with System("x"):
            include(part)

    assert (
        "an error ended the block of this Section, so it is not finished"
        == raised(ScopeError, write).what
    )


def test_a_refused_timeline_cannot_be_rendered() -> None:
    """A prompt that was refused when it closed is no prompt, whatever was wrong with it."""
    tree = Timeline(User("q"))
    with suppress(PlacementError), tree:
        Section("s", Image.from_url("https://example.com/x.png"))
    assert "is not finished" in raised(ScopeError, lambda: render(tree)).what


# Threads.


def in_thread(work: Callable[[], object], *, name: str = "worker", copied: bool = False) -> Any:
    """Return what a function returns, or the error it raises, in a thread of its own."""
    outcome: list[Any] = []
    context = contextvars.copy_context() if copied else contextvars.Context()

    def run() -> None:
        try:
            outcome.append(context.run(work))
        except PromptError as error:
            outcome.append(error)

    thread = threading.Thread(target=run, name=name)
    thread.start()
    thread.join()
    return outcome[0]


def test_a_thread_starts_with_no_block_open() -> None:
    """Components written in a thread of its own belong to no block of another thread."""
    with Timeline() as tree:
        part = in_thread(lambda: System("x"))
        User("q")
        include(part)
    assert [("system", ["x"]), ("user", ["q"])] == said(tree)


def test_a_thread_with_a_copied_context_may_not_write() -> None:
    """Writing into another thread's block is an error that names both threads and both lines."""

    def write() -> None:
        User("x")

    with Timeline() as tree:
        error = in_thread(write, copied=True)
        User("q")
    assert (
        "this User is written in thread 'worker', "
        "but the open Timeline belongs to thread 'MainThread'" == error.what
    )
    assert (*lines_of(write, 1), str(tree.source)) == error.at
    assert "detached()" in error.fix
    assert [("user", ["q"])] == said(tree)


def test_a_thread_with_a_copied_context_may_not_include() -> None:
    """Including into another thread's block is the same error."""
    part = System("x")
    with Timeline() as tree:
        error = in_thread(lambda: include(part), copied=True)
        User("q")
    assert isinstance(error, ScopeError)
    assert [("user", ["q"])] == said(tree)


def test_a_thread_with_a_copied_context_may_not_open_a_block() -> None:
    """Opening what is in another thread's block is no way to write in it."""

    def write(part: Section) -> None:
        with part:
            Text("x")

    with Timeline() as tree, System():
        part = Section("s", "a")
        error = in_thread(lambda: write(part), copied=True)
        Text("b")
    assert isinstance(error, ScopeError)
    assert ("b",) == tree.content[0].content[-1].content


def test_a_thread_with_a_copied_context_moves_nothing() -> None:
    """An argument that is in another thread's block stays there."""
    with Timeline() as tree, System():
        part = Text("a")
        error = in_thread(lambda: Section("s", part), copied=True)
    assert isinstance(error, ScopeError)
    assert [("system", ["a"])] == said(tree)


def test_a_thread_builds_parts_under_detached() -> None:
    """Under ``detached()`` a thread with a copied context builds parts that are included later."""

    def build() -> Node:
        with detached(), Section("s") as part:
            Text("x")
        return part

    with Timeline() as tree, System():
        include(in_thread(build, copied=True))
    assert [("system", ["x"])] == said(tree)


def test_threads_build_prompts_at_the_same_time() -> None:
    """Prompts built side by side in threads are each what they would be alone."""
    barrier = threading.Barrier(4)

    def build(number: int) -> list[tuple[str, list[str]]]:
        with Timeline() as tree:
            barrier.wait()
            with System():
                Text(f"system {number}")
                barrier.wait()
            User(f"user {number}")
        return said(tree)

    with ThreadPoolExecutor(4) as pool:
        built = list(pool.map(build, range(4)))
    expected = [[("system", [f"system {n}"]), ("user", [f"user {n}"])] for n in range(4)]
    assert expected == built


def test_one_part_serves_threads_at_the_same_time() -> None:
    """A part that many threads use at once is whole in each of their prompts."""
    part = Section("s", Text("x"), title="S")
    with ThreadPoolExecutor(8) as pool:
        built = list(pool.map(lambda _: said(Timeline(System(part))), range(64)))
    assert [[("system", ["## S\nx"])]] * 64 == built


# Tasks.


def test_tasks_build_prompts_at_the_same_time() -> None:
    """Prompts built in tasks that take turns are each what they would be alone."""

    async def build(number: int) -> list[tuple[str, list[str]]]:
        with Timeline() as tree:
            await asyncio.sleep(0)
            with System():
                await asyncio.sleep(0)
                Text(f"system {number}")
            await asyncio.sleep(0)
            User(f"user {number}")
        return said(tree)

    async def main() -> list[Any]:
        return await asyncio.gather(*(build(number) for number in range(5)))

    expected = [[("system", [f"system {n}"]), ("user", [f"user {n}"])] for n in range(5)]
    assert expected == asyncio.run(main())


def test_gathered_tasks_may_not_write_into_one_block() -> None:
    """Tasks started in a block cannot write into it, so no order ever depends on timing."""

    async def write(number: int) -> None:
        await asyncio.sleep(0)
        Text(str(number))

    async def main() -> tuple[list[Any], Node]:
        with Timeline() as tree, System():
            Text("before")
            outcome = await asyncio.gather(*(write(n) for n in range(3)), return_exceptions=True)
        return outcome, tree

    outcome, tree = asyncio.run(main())
    assert [ScopeError] * 3 == [type(error) for error in outcome]
    assert [("system", ["before"])] == said(tree)


def test_a_foreign_task_is_named_with_the_owner() -> None:
    """Writing into another task's block is an error that names both tasks and both lines."""

    async def write() -> None:
        Text("x")

    async def main() -> tuple[ScopeError, Node]:
        asyncio.current_task().set_name("writer")  # type: ignore[union-attr]
        with System("y") as block, pytest.raises(ScopeError) as caught:
            await asyncio.create_task(write(), name="helper")
        return caught.value, block

    error, block = asyncio.run(main())
    assert (
        "this Text is written in task 'helper', but the open System belongs to task 'writer'"
        == error.what
    )
    assert (*lines_of(write, 1), str(block.source)) == error.at


def test_a_task_run_inside_a_block_is_foreign() -> None:
    """An event loop run inside a block does not write into the block of the code around it."""

    async def write() -> None:
        Text("x")

    def run() -> None:
        with User("q"):
            asyncio.run(write())

    error = raised(ScopeError, run)
    assert "belongs to the code outside any task" in error.what


def test_to_thread_is_foreign() -> None:
    """A function run by ``asyncio.to_thread`` may not write into the task's block."""

    def write() -> None:
        Text("x")

    async def main() -> None:
        with User("q"):
            await asyncio.to_thread(write)

    error = raised(ScopeError, lambda: asyncio.run(main()))
    assert "belongs to thread 'MainThread'" in error.what
    assert lines_of(write, 1)[0] == error.at[0]


def test_to_thread_builds_parts_under_detached() -> None:
    """Parts built under ``detached()`` elsewhere are included where the block is open, in order."""

    def build(text: str) -> Node:
        with detached():
            return Text(text)

    async def task(text: str) -> Node:
        await asyncio.sleep(0)
        return build(text)

    async def main() -> Node:
        with Timeline() as tree, System():
            parts = await asyncio.gather(task("a"), asyncio.to_thread(build, "b"), task("c"))
            include(*parts)
        return tree

    assert [("system", ["a\n\nb\n\nc"])] == said(asyncio.run(main()))


def test_a_task_that_outlives_the_block_may_not_write() -> None:
    """A task started in a block and run after it closed is reported so."""

    async def write() -> None:
        Text("x")

    async def main() -> None:
        with User("q"):
            task = asyncio.create_task(write())
        await task

    assert lines_of(write, 1)[0] == raised(ScopeError, lambda: asyncio.run(main())).at[0]


def test_a_copied_context_that_outlives_the_block_may_not_write() -> None:
    """Writing with a context in which a closed block is open is an error."""
    with User("q"):
        context = contextvars.copy_context()
    error = raised(ScopeError, lambda: context.run(lambda: Text("x")))
    assert "the User around this Text is closed" == error.what


def test_awaiting_inside_a_block_keeps_it() -> None:
    """A coroutine awaited without a task of its own writes into the block around it."""

    async def part() -> None:
        await asyncio.sleep(0)
        Text("x")

    async def main() -> Node:
        with Timeline() as tree, System():
            await part()
        return tree

    assert [("system", ["x"])] == said(asyncio.run(main()))


# Generators.


@contextmanager
def card(title: str) -> Iterator[None]:
    """Open a section around what is written in the block."""
    with Section(title.lower(), title=title):
        Text("top")
        yield
        Text("bottom")


def test_generators_work_as_context_managers() -> None:
    """A generator with a block around its ``yield`` is a block of its own."""
    with Timeline() as tree, System():
        with card("One"):
            Text("x")
            with card("Two"):
                Text("y")
        Text("z")
    text = "## One\ntop\n\nx\n\n### Two\ntop\n\ny\n\nbottom\n\nbottom\n\nz"
    assert [("system", [text])] == said(tree)


def test_an_exception_through_a_generator_leaves_nothing() -> None:
    """An exception in a generator's block takes the block away."""
    with Timeline() as tree, System("a"), suppress(Boom), card("One"):
        raise Boom
    assert [("system", ["a"])] == said(tree)


def test_a_generator_that_writes_in_order_does_no_harm() -> None:
    """A generator that opens and closes its block between two steps writes like any code."""

    def steps() -> Iterator[None]:
        with Section("a"):
            Text("a")
        yield
        with Section("b"):
            Text("b")
        yield

    with Timeline() as tree, System():
        for _ in steps():
            Text("-")
    assert [("system", ["a\n\n-\n\nb\n\n-"])] == said(tree)


def suspended() -> Iterator[None]:
    """Stop inside an open block."""
    with Section("inner", "x"):
        yield


def test_a_generator_suspended_in_a_block_is_shown_by_the_exit() -> None:
    """The block around a suspended one cannot close, and the error names the lines of both."""

    def write() -> None:
        steps = suspended()
        with System("outer"):
            next(steps)

    error = raised(ScopeError, write)
    assert (*lines_of(write, 2, 2), *lines_of(suspended, 2)) == error.at
    assert (
        "this System is closed out of order: the Section written inside it is still open"
        == error.what
    )


def test_after_a_suspended_generator_all_is_as_before() -> None:
    """The error of a suspended generator leaves the block around in order, then and at its end."""
    steps = suspended()
    with Timeline() as tree:
        System("a")
        with suppress(ScopeError), System("b"):
            next(steps)
        User("q")
        steps.close()  # type: ignore[attr-defined]
        User("r")
    assert [("system", ["a"]), ("user", ["q", "r"])] == said(tree)


def test_a_suspended_generator_that_goes_on_is_an_error() -> None:
    """A block whose surroundings closed cannot be closed itself."""

    def write() -> None:
        steps = suspended()
        with suppress(ScopeError), System("outer"):
            next(steps)
        next(steps)

    assert lines_of(suspended, 2)[0] == raised(ScopeError, write).at[0]


def test_blocks_closed_out_of_order_are_an_error() -> None:
    """Closing an outer block before an inner one is an error that names the inner one's line."""

    def write() -> None:
        outer, inner = System("a"), Section("b", "c")
        outer.__enter__()
        inner.__enter__()
        outer.__exit__(None, None, None)

    error = raised(ScopeError, write)
    assert lines_of(write, 4, 1, 1) == error.at


def test_two_blocks_left_open_in_one_that_closes() -> None:
    """Both are taken out: nothing of them is in the block around them."""
    first, second = Section("b", "c"), Fragment("d")
    with Timeline() as tree:
        System("a")
        outer = User("q")
        outer.__enter__()
        first.__enter__()
        second.__enter__()
        with suppress(ScopeError):
            outer.__exit__(None, None, None)
    problems = [raised(ScopeError, partial(System, part)).what for part in (first, second)]
    assert [("system", ["a"])] == said(tree)
    assert problems == [
        "an error ended the block of this Section, so it is not finished",
        "an error ended the block of this Fragment, so it is not finished",
    ]


def test_an_exception_under_way_is_not_replaced() -> None:
    """Blocks closed out of order while an exception is raised let the exception through."""

    def write() -> None:
        steps = suspended()
        with System("outer"):
            next(steps)
            raise Boom

    with pytest.raises(Boom):
        write()


def suspended_detached() -> Iterator[None]:
    """Stop under ``detached()``."""
    with detached():
        yield


def test_a_generator_suspended_under_detached_is_shown_by_the_exit() -> None:
    """A ``detached()`` left open is named like a block left open."""

    def write() -> None:
        steps = suspended_detached()
        with System("outer"):
            next(steps)

    error = raised(ScopeError, write)
    assert (*lines_of(write, 2, 2), *lines_of(suspended_detached, 2)) == error.at


def test_a_suspended_detached_opens_nothing_when_it_ends() -> None:
    """A generator closed long after its surroundings does not bring them back."""
    steps = suspended_detached()
    with suppress(ScopeError), System("outer"):
        next(steps)
    steps.close()  # type: ignore[attr-defined]
    assert [("user", ["q"])] == said(Timeline(User("q")))


def test_a_suspended_detached_opens_nothing_when_it_is_collected() -> None:
    """A generator that nobody holds any more ends without a trace."""
    with suppress(ScopeError), System("outer"):
        steps = suspended_detached()
        next(steps)
    del steps
    gc.collect()
    assert OPENED.get() is None


def test_a_block_left_open_under_detached_is_shown_by_the_exit() -> None:
    """``detached()`` ends with an error when a block inside it is still open."""

    def write() -> None:
        steps = suspended()
        with detached():
            next(steps)

    error = raised(ScopeError, write)
    assert lines_of(suspended, 2)[0] == error.at[-1]


# detached().


def test_detached_is_a_place_with_no_block_open() -> None:
    """Components written under ``detached()`` are parts, and the block goes on afterwards."""
    with Timeline() as tree, System():
        Text("a")
        with detached():
            part = Text("b")
            Text("never used")
        Text("c")
        include(part)
    assert [("system", ["a\n\nc\n\nb"])] == said(tree)


def test_blocks_under_detached_are_whole() -> None:
    """A part with blocks in it is built under ``detached()`` like anywhere."""
    with Timeline() as tree, System():
        with detached(), Section("s") as part:
            Text("x")
        Fragment(part, "y")
    assert [("system", ["x\n\ny"])] == said(tree)


def test_a_function_that_builds_a_prompt_is_called_under_detached() -> None:
    """Another prompt is written while one is being written."""

    def summary() -> str:
        with Timeline() as other:
            User("inner")
        return said(other)[0][1][0]

    with Timeline() as tree:
        with detached():
            text = summary()
        User(f"outer, {text}")
    assert [("user", ["outer, inner"])] == said(tree)


def test_detached_nests() -> None:
    """``detached()`` inside ``detached()`` and inside a block under it ends where it began."""
    with Timeline() as tree, System():
        with detached(), detached(), Section("s") as part:
            with detached():
                inner = Text("x")
            include(inner)
        include(part)
    assert [("system", ["x"])] == said(tree)


def test_an_exception_under_detached_passes_through() -> None:
    """After an exception under ``detached()`` the block around is open again."""
    with Timeline() as tree, System():
        with suppress(Boom), detached(), Section("s"):
            raise Boom
        Text("a")
    assert [("system", ["a"])] == said(tree)


def test_rendering_inside_a_block_leaves_it_open() -> None:
    """A finished prompt is rendered while another one is being written."""
    part = User("x")
    with Timeline() as tree:
        User(said(part)[0][1][0])
    assert [("user", ["x"])] == said(tree)


def test_a_part_of_an_open_block_cannot_be_rendered() -> None:
    """A part that joined an open block belongs to it, under ``detached()``, too."""

    def write() -> None:
        with Timeline(), Group():
            turn = User("x")
            with detached():
                render(turn)

    assert lines_of(write, 4, 2, 1) == raised(ScopeError, write).at


def test_a_part_is_rendered_under_detached_and_after_its_block() -> None:
    """What joined no open block is rendered anywhere: detached, moved, or of a closed block."""
    with Timeline() as tree:
        with User("a"):
            part = Section("rules", "x")
        Fragment(moved := User("y"))
        with detached(), User() as turn:
            Text("z")
        texts = [said(it)[0][1][0] for it in (part, moved, turn)]
    assert (["x", "y", "z"], [("user", ["a", "x", "y"])]) == (texts, said(tree))


def test_a_timeline_while_a_block_is_open_is_an_error() -> None:
    """Writing a prompt inside a block is an error with both lines that says what to do."""

    def write() -> None:
        with System("a"):
            Timeline()

    error = raised(ScopeError, write)
    assert lines_of(write, 2, 1) == error.at
    assert "a Timeline cannot be written while a block is open" == error.what
    assert (
        "write it under `with detached():`, or call its function outside of the block" == error.fix
    )


def test_a_timeline_inside_a_timeline_is_the_same_error() -> None:
    """The error of a prompt inside a prompt says what to do, too."""

    def write() -> None:
        with Timeline(), Timeline():
            User("x")

    assert lines_of(write, 1, 1) == raised(ScopeError, write).at


# Components that are no blocks.


@pytest.mark.parametrize(
    "write",
    [
        lambda: Text("x"),
        lambda: Value("x"),
        lambda: ToolUse("x", {}, id="1"),
        lambda: Image.from_url("https://example.com/x.png"),
    ],
)
def test_what_holds_nothing_is_no_block(write: Callable[[], Any]) -> None:
    """Opening what cannot hold anything is an error that names its line."""
    error = raised(ScopeError, lambda: write().__enter__())
    assert lines_of(write, 0)[0] in error.at


def test_unknown_options_are_refused_before_anything_is_placed() -> None:
    """A component with an unknown option is not in the block."""
    with Timeline() as tree:
        with suppress(OptionError):
            System("x", prio=3)  # type: ignore[call-arg]
        with suppress(ContentError):
            Event(True)
        Note("y")
    assert tree == Timeline(Note("y"))


# Any order of all of these, against nested lists.

Model = list[Any]
words = st.text("abc", min_size=1, max_size=3)


def literal(model: Model) -> list[Node]:
    """Return the components of a model, written as calls."""
    return [
        Text(entry[1])
        if entry[0] == "text"
        else Fragment(None, *literal(entry[1]))
        if entry[0] == "fragment"
        else Section(entry[1], None, *literal(entry[2]))
        for entry in model
    ]


class Building(RuleBasedStateMachine):
    """Write a tree in blocks, calls and parts, and the same tree as nested lists.

    An entry of a model is a list of its kind, its id if it is a section, and its own model; behind
    each is whether it can still be moved (what was included cannot: it is in several places).
    """

    def __init__(self) -> None:
        super().__init__()
        self.timeline = Timeline()
        self.timeline.__enter__()
        self.system = System("start")
        self.system.__enter__()
        self.model: Model = []
        self.open: list[tuple[Any, Model]] = [(self.system, self.model)]
        self.movable: set[int] = set()
        # Entries are told by their id, which another one could get if they went.
        self.kept: list[Any] = []
        self.closed: list[tuple[Any, Any]] = []
        self.entered: set[int] = set()
        self.parts: list[tuple[Node, Any]] = []
        self.count = 0

    @property
    def top(self) -> tuple[Any, Model]:
        """The block on top and its model."""
        return self.open[-1]

    def name(self) -> str:
        """Return an id that was not used yet."""
        self.count += 1
        return f"s{self.count}"

    def add(self, entry: Any, component: Any = None) -> None:
        """Note that an entry was written into the block on top."""
        self.top[1].append(entry)
        self.kept.append(entry)
        self.movable.add(id(entry))
        self.closed.append((component, entry))

    @rule(word=words)
    def write_text(self, word: str) -> None:
        """Write a text."""
        Text(word)
        self.add(["text", word])

    @rule(word=words)
    def write_section(self, word: str) -> None:
        """Write a section in call style, to be opened later perhaps."""
        id = self.name()
        self.add(["section", id, [["text", word]]], Section(id, Text(word)))

    @precondition(lambda self: len(self.open) < 8)
    @rule()
    def enter(self) -> None:
        """Open a new block."""
        id = self.name()
        block = Section(id)
        block.__enter__()
        entry: Any = ["section", id, []]
        self.add(entry)
        self.open.append((block, entry[2]))

    @precondition(lambda self: len(self.open) < 8)
    @rule(data=st.data())
    def reopen(self, data: st.DataObject) -> None:
        """Open a component that was written in call style in the block on top."""
        here = {id(entry) for entry in self.top[1]}
        closed = [
            (component, entry)
            for component, entry in self.closed
            if component is not None and id(entry) in here and id(entry) in self.movable
        ]
        for component, entry in [data.draw(st.sampled_from(closed))] if closed else []:
            self.closed = [pair for pair in self.closed if pair[1] is not entry]
            component.__enter__()
            self.open.append((component, entry[2]))

    @precondition(lambda self: len(self.open) > 1)
    @rule()
    def leave(self) -> None:
        """Close the block on top."""
        block, _ = self.open.pop()
        block.__exit__(None, None, None)

    @precondition(lambda self: len(self.open) > 1)
    @rule()
    def fail(self) -> None:
        """Let the block on top raise."""
        block, model = self.open.pop()
        block.__exit__(Boom, Boom(), None)
        around = self.top[1]
        around[:] = [entry for entry in around if entry[0] != "section" or entry[2] is not model]

    @rule(most=st.integers(1, 4), word=words)
    def adopt(self, most: int, word: str) -> None:
        """Pass the newest entries of the block to a call."""
        block, model = self.top
        count = 0
        while count < min(most, len(model)) and id(model[-1 - count]) in self.movable:
            count += 1
        moving = model[len(model) - count :]
        fragment = Fragment(*block.content[len(block.content) - count :], Text(word))
        del model[len(model) - count :]
        self.movable -= {id(entry) for entry in moving}
        self.add(["fragment", [*moving, ["text", word]]], None)
        assert fragment is block.content[-1]

    @precondition(lambda self: len(self.top[1]) > 1 and id(self.top[1][-2]) in self.movable)
    @rule()
    def adopt_older(self) -> None:
        """Try to pass on an entry that is not the newest."""
        block = self.top[0]
        with pytest.raises(ScopeError):
            Fragment(block.content[-2])

    @rule(word=words)
    def build_part(self, word: str) -> None:
        """Build a part next to the tree."""
        with detached(), Fragment() as part:
            Text(word)
        self.parts.append((part, ["fragment", [["text", word]]]))

    @precondition(lambda self: self.parts)
    @rule(data=st.data())
    def include_part(self, data: st.DataObject) -> None:
        """Include a part, for the first time or again."""
        part, entry = data.draw(st.sampled_from(self.parts))
        include(part)
        self.top[1].append(entry)

    @precondition(lambda self: self.parts)
    @rule(data=st.data(), word=words)
    def pass_part(self, data: st.DataObject, word: str) -> None:
        """Pass a part as an argument, next to a component written there."""
        part, entry = data.draw(st.sampled_from(self.parts))
        id = self.name()
        self.add(["section", id, [["text", word], entry]], Section(id, Text(word), part))

    @rule()
    def write_elsewhere(self) -> None:
        """Try to write from another thread that has this one's context."""
        assert isinstance(in_thread(lambda: Text("x"), copied=True), ScopeError)

    @rule()
    def fail_a_call(self) -> None:
        """Try to write what is refused."""
        with pytest.raises(PromptError):
            Section("not an id", Text("x"))

    @invariant()
    def blocks_hold_what_their_models_say(self) -> None:
        """Every open block has as many entries as its model, of the same kinds."""
        kinds = [[entry[0] for entry in model] for _, model in self.open]
        held = [
            [label(node).lower() for node in block.content if type(node) is not str]
            for block, _ in self.open
        ]
        assert kinds == held

    def teardown(self) -> None:
        """Close all blocks: the tree is the one its model says, and it reads the same."""
        for block, _ in reversed(self.open):
            block.__exit__(None, None, None)
        self.timeline.__exit__(None, None, None)
        expected = Timeline(System("start", *literal(self.model)))
        assert expected == self.timeline
        assert said(expected) == said(self.timeline)


Building.TestCase.settings = settings(examples(60), stateful_step_count=40)
test_any_order_of_writing_builds_the_tree_that_was_written = Building.TestCase


def test_a_block_that_is_left_again_after_its_use() -> None:
    """A block that was closed and used stays as it is; to leave it again is out of order."""
    part = Section("rules", "a")
    leave = part.__exit__
    part.__enter__()
    leave(None, None, None)
    system = System(part)
    leave(ValueError, ValueError("late"), None)
    assert System(Section("rules", "a")) == system
    with pytest.raises(ScopeError, match="this Section is closed out of order"):
        leave(None, None, None)


def test_a_block_that_was_left_and_used_in_a_copied_context() -> None:
    """It stays as it is when it is left where it was entered, and is not open there any more."""
    part = Section("rules", "a")
    leave = part.__exit__
    part.__enter__()
    copied = contextvars.copy_context()
    copied.run(leave, None, None, None)
    system = copied.run(lambda: System(part))
    leave(None, None, None)
    Text("b")  # stands in no block
    assert System(Section("rules", "a")) == system


def test_an_empty_part_of_a_block_that_failed() -> None:
    """It is refused wherever it is used next: a block did not take it."""
    empty = "this Fragment was written with no content"
    with pytest.raises(ContentError, match=empty), System():
        part = Fragment()
    with pytest.raises(ContentError, match=empty), System("a"):
        include(part)
