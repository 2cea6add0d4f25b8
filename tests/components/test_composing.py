"""Components of an author's own: names, children, and what replaces them."""

import asyncio
import functools
import inspect
import pickle
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import lines_of, raised, this_line
from tests.renders import said
from tests.template_strings import tstring


@component
def persona(name: str) -> None:
    """Write who the model is."""
    Section("persona", "I am ", Value(name), title="Persona")


@component
def back(part: Any) -> Any:
    """Return what it is passed."""
    return part


@component
def card(title: str) -> Generator[None]:
    """Put a section around its children."""
    with Section("card", title=title):
        yield


@component
def bare() -> Generator[None]:
    """Put nothing around its children."""
    yield


@component
def box(*parts: Any, more: Any = (), last: Any = None) -> None:
    """Write its parts into a section."""
    Section("box", *parts, *more, last)


def other(name: str) -> None:
    """Replace a persona."""
    Text("no ", Value(name))


def text_of(part: Node) -> str:
    """Return the only text of a part in system content."""
    [(_, [text])] = said(System(part))
    return text


# What a component writes.


def test_a_component_writes_into_the_open_block() -> None:
    """What the function writes is where the component was called."""
    with System("a") as block:
        persona("<event>")
        Text("z")
    assert [("system", ["a\n\n## Persona\nI am &lt;event>\n\nz"])] == said(block)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Section("s", "x", title="T"), "## T\nx"),
        (lambda: Text("x"), "x"),
        (lambda: Value("<b>"), "&lt;b>"),
        (lambda: "<b>", "<b>"),
        (lambda: 3, "3"),
        (lambda: trusted("<b>"), "<b>"),
        (lambda: tstring("<event>"), "From &lt;event> on."),
        (lambda: Fragment("a", Text("b")), "a\n\nb"),
        (lambda: persona("x"), "## Persona\nI am x"),
        (lambda: Lazy(lambda _: "<b>"), "&lt;b>"),
    ],
)
def test_what_a_component_returns_stands_there(make: Callable[[], Any], expected: str) -> None:
    """A part is where the component is; text is its author's, a value stays one."""

    @component
    def returning() -> Any:
        return make()

    with System("a") as block:
        returning()
        Text("z")
    assert [("system", [f"a\n\n{expected}\n\nz"])] == said(block)


@pytest.mark.parametrize("nothing", [None, False, ""])
def test_a_component_may_come_to_nothing(nothing: Any) -> None:
    """A component that writes nothing, or returns ``flag and part``, leaves nothing."""
    assert [("user", ["x"])] == said(Timeline(User("x", back(nothing)), User(back(nothing))))


@pytest.mark.parametrize(
    ("wrong", "message", "fix"),
    [
        ([Text("a")], "back returned a list", "return Fragment(*parts)"),
        ((Text("a"),), "back returned a tuple", "return Fragment(*parts)"),
        (True, "True cannot be content of a back", "write str(flag) to print it"),
        ({"a": 1}, "a dict cannot be content of a back", "write Json(value)"),
        (b"a", "bytes cannot be content of a back", "decode it: Value(data.decode())"),
        (str, "a type cannot be content of a back", "call it"),
    ],
)
def test_what_a_component_cannot_return(wrong: Any, message: str, fix: str) -> None:
    """An argument that is not content is an error at the line of the call; the block is empty."""

    @component(name="back")
    def returning() -> Any:
        return wrong

    def write() -> None:
        with System("a") as block, suppress(ContentError):
            returning()
        assert [("system", ["a"])] == said(block)
        returning()

    error = raised(ContentError, write)
    assert (message, lines_of(write, 4)) == (error.what, error.at)
    assert error.fix.startswith(fix)


def test_what_a_component_writes_and_returns_stands_there_once() -> None:
    """Returning what was written is the same as not returning it, however deep it is."""

    @component
    def direct() -> Section:
        with Section("s") as part:
            Text("x")
        return part

    @component
    def inner() -> Text:
        with Section("t"):
            return Text("y")

    assert [("system", ["x\n\ny"])] == said(System(direct(), inner()))


def test_a_component_writes_and_returns() -> None:
    """A part that is returned is behind what was written."""
    rules = Section("rules", "never")

    @component
    def both() -> Section:
        Text("a")
        return rules

    assert [("system", ["a\n\nnever"])] == said(System(both()))


def test_a_component_returns_a_part_of_another_tree() -> None:
    """A part that is in a finished tree can be returned as often as one likes."""
    with System() as finished:
        Text("x")
    assert [("user", ["x", "x"])] == said(
        User(back(finished.content[0]), back(finished.content[0]))
    )


def test_a_component_cannot_return_what_stands_in_the_block() -> None:
    """A part that was written into a block that is still open stays there: an error says so."""

    @component
    def returning() -> Node:
        return parts[0]

    def write() -> None:
        with System():
            parts.append(Text("x"))
            returning()

    parts: list[Node] = []
    error = raised(ScopeError, write)
    assert (
        "this Text already belongs to the block in which it was written",
        lines_of(write, 3, 2),
    ) == (
        error.what,
        error.at,
    )


def test_a_component_with_no_block_open_is_a_part() -> None:
    """Its part can be put in place any number of times."""
    part = persona("x")
    with Timeline() as tree:
        System(part)
        with User("q"):
            include(part)
    assert [("system", ["## Persona\nI am x"]), ("user", ["q", "## Persona\nI am x"])] == said(tree)


def test_a_component_under_detached() -> None:
    """A component written under ``detached()`` is in no block until it is put into one."""
    with System("a") as block:
        with detached():
            part = persona("x")
            with card("T") as other_part:
                Text("y")
        Text("b")
        include(part)
    assert [("system", ["a\n\nb\n\n## Persona\nI am x"])] == said(block)
    assert "## T\ny" == text_of(other_part)


def test_a_component_is_rendered_alone() -> None:
    """What a component wrote of turns and sections is a prompt of its own."""

    @component
    def opening() -> None:
        persona("x")
        User("q")

    assert [("system", ["## Persona\nI am x"]), ("user", ["q"])] == said(opening())


def test_a_component_is_what_it_holds() -> None:
    """Components written by the same function are the same when they hold the same."""
    assert (True, False) == (persona("x") == persona("x"), persona("x") == persona("y"))


def test_the_representation_names_the_component() -> None:
    """A component shows as its name with what it wrote."""
    assert (
        "persona(name='persona', Section(id='persona', title='Persona', "
        "Text('I am ', Value(text='x'))))"
    ) == repr(persona("x"))


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda: System(Fragment("a", persona("x"))), "a\n\n## Persona\nI am x"),
        (lambda: System(Section("s", back("x"), title="S")), "## S\nx"),
        (lambda: System(List(back("x"), back(Item("y")), "z")), "- x\n- y\n- z"),
        (lambda: System(List("x", back(List("y")))), "- x\n  - y"),
        (lambda: System(List(Item(back("x"), back(List("y"))))), "- x\n  - y"),
        (lambda: System(Quote(back("x"))), "> x"),
        (lambda: System(Example(back("x"), back(Text("y")))), "Input: x\nOutput: y"),
    ],
)
def test_where_a_component_stands(write: Callable[[], Node], expected: str) -> None:
    """What a component wrote is wherever that may be, as if written there."""
    assert [("system", [expected])] == said(write())


def test_components_hold_turns_and_event_blocks() -> None:
    """A component of turns is in a Timeline, one of event blocks in an Event."""

    @component
    def exchange(question: str) -> None:
        User(question)
        Assistant("a")

    @component
    def click() -> UserAction:
        return UserAction("clicked", target="help")

    tree = Timeline(exchange("q"), Event(click()))
    fence = '<event type="user_action">\nUser clicked: help\n</event>'
    assert [("user", ["q"]), ("assistant", ["a"]), ("user", [fence])] == said(tree)


def test_a_method_is_a_component() -> None:
    """A method, a class method and a static method can be components."""

    class Bot:
        name = "Ada"

        @component
        def hello(self, greeting: str) -> None:
            Text(greeting, " ", self.name)

        @classmethod
        @component
        def kind(cls) -> str:
            return cls.__name__

        @staticmethod
        @component
        def bye() -> str:
            return "bye"

    bot: Any = Bot()
    assert [("system", ["hi Ada\n\nBot\n\nbye"])] == said(
        System(bot.hello("hi"), bot.kind(), bot.bye())
    )


def test_an_argument_of_any_name() -> None:
    """The arguments of a component may have the names that its own call uses."""

    @component
    def said(**words: str) -> Text:
        return Text(" ".join(f"{name}={word}" for name, word in words.items()))

    system = System(said(self="a", args="b", kwargs="c"))
    assert "self=a args=b kwargs=c" == render(system).messages[0].text


def test_a_component_keeps_its_documentation() -> None:
    """What a reader asks of the function is answered by the component."""
    assert ("persona", "Write who the model is.") == (persona.__name__, persona.__doc__)


def test_a_component_of_itself() -> None:
    """A component may write itself."""

    @component
    def countdown(number: int) -> None:
        Text(number)
        if number:
            countdown(number - 1)

    numbers = "\n\n".join(str(number) for number in range(60, -1, -1))
    assert [("system", [numbers])] == said(System(countdown(60)))


def test_a_component_of_itself_without_end() -> None:
    """Endless recursion is the author's own ``RecursionError``, and leaves nothing behind."""

    @component
    def endless() -> None:
        Text("x")
        endless()

    with System("a") as block:
        with pytest.raises(RecursionError):
            endless()
        Text("b")
    assert [("system", ["a\n\nb"])] == said(block)


# Parts as arguments.


def test_parts_given_as_arguments_are_placed_by_the_function() -> None:
    """Parts written in the argument list are where the function puts them, and only there."""
    with System("a") as block:
        box(Text("b"), more=[Text("c"), Value("d")], last=Text("e"))
        Text("z")
    assert System("a", box("b", Text("c"), more=[Value("d")], last=Text("e")), "z") != block
    assert [("system", ["a\n\nb\n\nc\n\nd\n\ne\n\nz"])] == said(block)


def test_parts_given_to_a_component_with_children() -> None:
    """A part passed to a component with children is where its function puts it."""

    @component
    def framed(head: Node) -> Generator[None]:
        include(head)
        yield
        Text("end")

    with System() as block, framed(Heading("T")):
        Text("x")
    assert [("system", ["# T\n\nx\n\nend"])] == said(block)


def test_a_part_the_function_leaves_out_is_nowhere() -> None:
    """A part passed to a component that does not use it does not stay behind in the block."""

    @component
    def counting(*parts: Node) -> int:
        return len(parts)

    with System("a") as block:
        counting(Text("b"), Text("c"))
    assert [("system", ["a\n\n2"])] == said(block)


def test_a_part_that_stands_in_the_block_is_no_argument() -> None:
    """What was written before other things is not moved: an error says where to write it."""

    def write() -> None:
        with System():
            part = Text("a")
            Text("b")
            box(part)

    error = raised(ScopeError, write)
    assert (
        "this Text already belongs to the block in which it was written",
        lines_of(write, 4, 2),
    ) == (
        error.what,
        error.at,
    )


@pytest.mark.parametrize(
    "call",
    [
        lambda: back(Text("b"), Text("c")),  # type: ignore[call-arg]
        lambda: back(prt=Text("b")),  # type: ignore[call-arg]
        lambda: back(Section("b")),
        lambda: back([Text("b"), Section("c")]),
        lambda: box(Text("b"), last=True),
    ],
)
def test_a_call_that_fails_leaves_nothing(call: Callable[[], object]) -> None:
    """The parts in the argument list of a call that raised are not left in the block."""
    with System("a") as block:
        with pytest.raises((ContentError, OptionError)):
            call()
        Text("z")
    assert [("system", ["a\n\nz"])] == said(block)


# What is no component.


async def awaiting() -> None:
    """Await nothing."""


async def yielding() -> Any:
    """Yield nothing."""
    yield


@pytest.mark.parametrize(
    ("wrong", "what", "fix"),
    [
        (awaiting, "not an async def", "write Lazy(function) for a function that awaits"),
        (yielding, "not an async def", "write Lazy(function) for a function that awaits"),
        (functools.partial(other, "x"), "not partial", "write @component before a def"),
        (staticmethod(other), "not staticmethod", "write @component before a def"),
        (int, "not type", "write @component before a def"),
        ("persona", "not str", 'write @component(name="persona") before a def'),
        (print, "not builtin_function_or_method", "write @component before a def"),
    ],
)
def test_what_is_no_plain_function(wrong: Any, what: str, fix: str) -> None:
    """A value that is not a plain function is refused at the author's line."""

    def write() -> None:
        component(wrong)

    error = raised(ContentError, write)
    assert (f"component() takes a plain function, {what}", fix, lines_of(write, 1)) == (
        error.what,
        error.fix,
        error.at,
    )


@pytest.mark.parametrize("name", ["", "a b", "1a", "<b>", "a\n", "é", 3])
def test_what_is_no_name(name: Any) -> None:
    """A name that could not be in an outline is refused at the author's line."""

    def write() -> None:
        component(name=name)(other)

    error = raised(OptionError, write)
    assert (f"{name!r} cannot be the name of a component", lines_of(write, 1)) == (
        error.what,
        error.at,
    )


def test_a_lambda_has_no_name() -> None:
    """A lambda is a component if it gets a name."""
    with pytest.raises(OptionError, match="'<lambda>' cannot be the name of a component"):
        component(lambda: "x")
    assert "x" == text_of(component(name="x")(lambda: "x")())


@pytest.mark.parametrize(
    "call",
    [
        lambda: persona(*()),  # type: ignore[call-arg]
        lambda: persona("a", "b"),  # type: ignore[call-arg]
        lambda: persona("a", nme="b"),  # type: ignore[call-arg]
        lambda: card(tittle="a"),  # type: ignore[call-arg]
    ],
)
def test_wrong_arguments(call: Callable[[], object]) -> None:
    """Wrong arguments are a ``TypeError`` at the author's line that says what it takes."""
    with pytest.raises(TypeError) as caught:
        call()
    error = caught.value
    assert isinstance(error, OptionError)
    assert (lines_of(call, 0), True) == (error.at, "it takes " in error.fix)


# Where it may not stand.


@pytest.mark.parametrize(
    ("write", "what", "fix"),
    [
        (lambda: User(back(User("x"))), "a User cannot be in a User", "a turn cannot be"),
        (lambda: System(back(Item("x"))), "an Item cannot be in a System", "an Item belongs in"),
        (lambda: User(back(ToolUse("t", {}, id="1"))), "a ToolUse cannot", "only an Assistant"),
        (lambda: Timeline(back("x")), "a back cannot be in a Timeline", "put it in a System"),
        (lambda: Timeline(back(Text("x"))), "a Text cannot be in a Timeline", "put it in a"),
        (
            lambda: List(back(Section("s", "x"))),
            "a Section cannot be in a List",
            "write the Section",
        ),
    ],
)
def test_where_a_component_may_not_stand(write: Callable[[], object], what: str, fix: str) -> None:
    """What a component wrote is checked like anything else, and the error names both lines."""
    error = raised(PlacementError, write)
    assert error.what.startswith(what)
    assert error.fix.startswith(fix)
    assert lines_of(write, 0, 0) == error.at


def test_a_turn_in_a_turn_names_the_lines_of_both() -> None:
    """The lines are those of the turn inside the component and of the turn around it."""

    @component
    def asking() -> None:
        User("q")

    def write() -> None:
        with User("x"):
            asking()

    error = raised(PlacementError, write)
    assert (*lines_of(asking, 2), *lines_of(write, 1)) == error.at


def test_siblings_of_one_id() -> None:
    """Two components whose sections have one id cannot be next to each other."""

    def write() -> None:
        System(persona("a"), persona("b"))

    assert "the id 'persona' is used twice in one System" == raised(PlacementError, write).what


@pytest.mark.parametrize(
    ("write", "what"),
    [
        (lambda: Text("a", back("x")), "a back cannot be inside a Text"),
        (lambda: Heading(back("x")), "a back cannot be inside a Heading"),
        (lambda: Value(back("x")), "a back cannot be inside a Value"),
        (lambda: Text(tstring(back("x"))), "a back cannot be inside a t-string"),
        (lambda: Table([[back("x")]]), "rows[0][0]: a back cannot be in a cell"),
        (lambda: f"{back('x')}", "a back has no text before it is rendered"),
    ],
)
def test_a_component_is_no_text(write: Callable[[], object], what: str) -> None:
    """Inside of one text a component is an error that names it."""
    assert what == raised(ContentError, write).what


# Children.


def test_children_stand_where_the_function_yields() -> None:
    """What is written in the block is where the generator yields."""

    @component
    def between(text: str) -> Generator[None]:
        Text("before ", text)
        yield
        Text("after ", text)

    with System() as block, between("x"):
        Text("child")
        persona("y")
    assert [("system", ["before x\n\nchild\n\n## Persona\nI am y\n\nafter x"])] == said(block)


def test_children_inside_a_block_of_the_function() -> None:
    """A block that is open where the generator yields holds the children."""
    with System() as block, card("Rules"):
        Text("one")
    assert [("system", ["## Rules\none"])] == said(block)


def test_what_the_function_yields_is_given_to_the_block() -> None:
    """``as`` gives what the generator yields, the component itself when that is nothing."""

    @component
    def counting() -> Generator[int]:
        yield 42

    with System():
        with counting() as number:
            Text(number)
        with card("T") as part:
            Text("x")
    assert (42, "card") == (number, part.name)


def test_children_of_components_with_children() -> None:
    """A component with children can be written with one, and in one."""

    @component
    def page(title: str) -> Generator[None]:
        with Section("page", title=title), card("inner"):
            Text("top")
            yield

    with System() as block, page("P"), card("C"):
        Text("x")
    assert [("system", ["## P\n### inner\ntop\n\n#### C\nx"])] == said(block)


def test_a_component_with_no_children_written() -> None:
    """A block in which nothing is written holds what the function wrote."""

    @component
    def framed() -> Generator[None]:
        Text("a")
        yield

    with System() as block, framed():
        pass
    assert [("system", ["a"])] == said(block)


def test_a_component_with_children_that_is_not_opened() -> None:
    """A component with children that is only called is an error at its line."""

    def write() -> None:
        with System():
            card("T")

    error = raised(ContentError, write)
    assert ("this card was written with no content and no block", lines_of(write, 2)) == (
        error.what,
        error.at,
    )
    assert "with card(...):" in error.fix


def test_a_component_without_a_place_for_children() -> None:
    """Only a function that yields can be opened as a block."""

    def write() -> None:
        with persona("x"):
            Text("y")

    error = raised(ScopeError, write)
    assert lines_of(write, 1, 1) == error.at
    assert "persona cannot be opened as a block: it is finished" == error.what


def test_a_component_is_opened_once() -> None:
    """A component cannot be opened a second time, neither in its block nor behind it."""
    with System(), card("T") as part:
        Text("x")
        with pytest.raises(ScopeError, match="cannot be opened again"):
            part.__enter__()
    with System():
        with card("T") as part:
            Text("x")
        with pytest.raises(ScopeError, match="a block only once"):
            part.__enter__()


def test_a_finished_component_cannot_be_opened() -> None:
    """A component that was placed is finished."""
    part = card("T")
    with part:
        Text("x")
    System(part)
    with pytest.raises(ScopeError, match="it is finished"):
        part.__enter__()


@component
def never(early: bool) -> Generator[None]:
    """Return before it yields."""
    Text("lost")
    if not early:
        yield


@component
def twice() -> Generator[None]:
    """Yield once too often."""
    with suppress(KeyError):
        yield
    yield


def test_a_function_that_never_yields() -> None:
    """A generator that returns before it yields is an error, and nothing of it is left."""

    def write() -> None:
        with never(True):
            Text("x")

    with System("a") as block:
        error = raised(ScopeError, write)
    assert ("the function of never never yields", lines_of(write, 1)) == (error.what, error.at)
    assert [("system", ["a"])] == said(block)


@pytest.mark.parametrize("error", [None, KeyError("x")])
def test_a_function_that_yields_twice(error: Exception | None) -> None:
    """A generator that yields a second time is an error, and nothing of it is left."""

    def write() -> None:
        with twice():
            Text("x")
            _raise(error)

    with System("a") as block:
        found = raised(ScopeError, write)
    assert ("the function of twice yields more than once", lines_of(write, 1)) == (
        found.what,
        found.at,
    )
    assert [("system", ["a"])] == said(block)


def _raise(error: BaseException | None) -> None:
    if error is not None:
        raise error


@component
def failing(when: str) -> Generator[None]:
    """Raise before or after its children."""
    Text("lost")
    if when == "before":
        raise KeyError(when)
    yield
    raise KeyError(when)


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_function_that_raises(when: str) -> None:
    """What the function raises passes, and nothing of the component is left in the block."""
    with System("a") as block:
        with pytest.raises(KeyError, match=when), failing(when):
            Text("x")
        Text("z")
    assert [("system", ["a\n\nz"])] == said(block)


def test_a_plain_function_that_raises() -> None:
    """What a function without children raises passes, and nothing of it is left in the block."""

    @component
    def broken() -> None:
        with Section("s"):
            Text("lost")
            raise KeyError("why")

    with System("a") as block:
        with pytest.raises(KeyError, match="why"):
            broken()
        Text("z")
    assert [("system", ["a\n\nz"])] == said(block)


@pytest.mark.parametrize(
    "error",
    [KeyError("x"), StopIteration(3), GeneratorExit(), KeyboardInterrupt(), RuntimeError("x")],
)
def test_children_that_raise(error: BaseException) -> None:
    """What the block raises passes unchanged, and nothing of the component is left."""

    def write() -> None:
        with card("T"):
            Text("x")
            raise error

    with System("a") as block:
        with pytest.raises(type(error)) as caught:
            write()
        Text("z")
    assert (error, None) == (caught.value, caught.value.__cause__)
    assert [("system", ["a\n\nz"])] == said(block)


def test_a_function_that_raises_another_exception() -> None:
    """A function may turn what its block raised into an exception of its own."""

    @component
    def translating() -> Generator[None]:
        try:
            yield
        except KeyError as error:
            raise ValueError("other") from error

    with System("a") as block:
        with pytest.raises(ValueError, match="other"), translating():
            raise KeyError
        Text("z")
    assert [("system", ["a\n\nz"])] == said(block)


def test_a_function_that_swallows_an_exception() -> None:
    """Where the function catches what its block raised, what was finished stays."""

    @component
    def forgiving() -> Generator[None]:
        try:
            with Section("s"):
                yield
        except KeyError:
            Text("it failed")

    with System("a") as block:
        with forgiving():
            Text("lost")
            raise KeyError
        Text("z")
    assert [("system", ["a\n\nit failed\n\nz"])] == said(block)


def test_an_exception_that_is_swallowed_around_the_children() -> None:
    """Children that are in no block of the function stay up to where they raised."""

    @component
    def forgiving() -> Generator[None]:
        with suppress(KeyError):
            yield

    with System() as block, forgiving():
        Text("kept")
        with Section("s"):
            raise KeyError
    assert [("system", ["kept"])] == said(block)


def test_leaving_the_block_early_is_no_exception() -> None:
    """``return``, ``break`` and ``continue`` inside the block run the rest of the function."""

    def write() -> None:
        with card("T"):
            Text("x")
            return

    with System() as block:
        write()
    assert [("system", ["## T\nx"])] == said(block)


def test_a_block_that_the_function_leaves_open() -> None:
    """A block that is still open when the function is done is an error, and nothing is left."""

    @component
    def leaving() -> None:
        Section("s", "x").__enter__()

    @component
    def leaving_late() -> Generator[None]:
        yield
        Section("s", "x").__enter__()

    def write() -> None:
        with leaving_late():
            Text("x")

    with System("a") as block:
        errors = [raised(ScopeError, leaving), raised(ScopeError, write)]
        Text("z")
    assert [
        f"this {name} is closed out of order: the Section written inside it is still open"
        for name in ("leaving", "leaving_late")
    ] == [error.what for error in errors]
    assert [("system", ["a\n\nz"])] == said(block)


def test_a_suspended_generator_keeps_a_component_open() -> None:
    """A generator that was suspended inside a component is found out where the block closes."""

    def suspended() -> Generator[None]:
        with bare():
            yield

    waiting = suspended()

    def write() -> None:
        with System():
            next(waiting)

    error = raised(ScopeError, write)
    assert "this System is closed out of order" in error.what
    assert lines_of(suspended, 1)[0] == error.at[-1]
    waiting.close()


def test_a_generator_that_closes_a_component_in_order() -> None:
    """A generator that is run to its end inside a block does no harm."""

    @contextmanager
    def around() -> Iterator[None]:
        with card("T"):
            yield

    with System() as block, around():
        Text("x")
    assert [("system", ["## T\nx"])] == said(block)


def in_thread(run: Callable[[], object]) -> list[BaseException]:
    """Return what a function raises in a thread of its own."""
    errors: list[BaseException] = []

    def caught() -> None:
        try:
            run()
        except BaseException as error:
            errors.append(error)

    thread = Thread(target=caught)
    thread.start()
    thread.join()
    return errors


def test_a_component_in_another_thread() -> None:
    """A thread starts with no block open: a component called there is a part."""
    parts: list[Node] = []
    with System("a") as block:
        errors = in_thread(lambda: parts.append(persona("x")))
        Text("z")
    assert ([], [("system", ["a\n\nz"])], "## Persona\nI am x") == (
        errors,
        said(block),
        text_of(parts[0]),
    )


def test_a_component_is_opened_where_it_was_written() -> None:
    """A component that is in an open block cannot be opened in another thread."""
    with System("a") as block:
        part = card("T")
        errors = in_thread(part.__enter__)
        with part:
            Text("x")
    assert [ScopeError] == [type(error) for error in errors]
    assert [("system", ["a\n\n## T\nx"])] == said(block)


def test_a_component_in_another_task() -> None:
    """A task that has a copy of the open block cannot write a component into it."""

    async def main() -> Node:
        with System("a") as block:
            with pytest.raises(ScopeError, match="this persona is written in task"):
                await asyncio.create_task(_called_and_awaited(persona))
            Text("z")
        return block

    assert [("system", ["a\n\nz"])] == said(asyncio.run(main()))


async def _called_and_awaited(write: Callable[..., Any]) -> Any:
    return write("x")


def test_components_in_tasks_beside_each_other() -> None:
    """Tasks that write at the same time, with pauses in their blocks, do not mix."""

    async def write(number: int) -> Node:
        with System() as block, card(str(number)):
            await asyncio.sleep(0)
            Text(number)
            await asyncio.sleep(0)
        return block

    async def main() -> list[Node]:
        return await asyncio.gather(*map(write, range(20)))

    assert [f"## {n}\n{n}" for n in range(20)] == [
        said(block)[0][1][0] for block in asyncio.run(main())
    ]


# Overriding.


def test_a_function_stands_in_for_a_component() -> None:
    """Inside of ``override()`` another function is called, outside of it the component."""
    with System() as block:
        box(persona("a"))
        with override({"persona": other}):
            persona("b")
        persona("c")
    assert [("system", ["### Persona\nI am a\n\nno b\n\n## Persona\nI am c"])] == said(block)


def numbered(number: int) -> Callable[[str], str]:
    """Return a stand-in for a persona that says which it is."""

    def stand_in(name: str) -> str:
        return f"{number} {name}"

    return stand_in


def test_the_innermost_override_wins() -> None:
    """Of several overrides of one name the innermost holds, and the outer again behind it."""
    with System() as block, override({"persona": numbered(1)}):
        with override({"persona": numbered(2)}):
            persona("a")
        persona("b")
    assert [("system", ["2 a\n\n1 b"])] == said(block)


def test_overrides_of_several_names() -> None:
    """Each name has its own stand-in, given together or in blocks inside each other."""

    def back2(part: Any) -> str:
        return f"back {part}"

    with System() as block, override({"persona": numbered(1), "back": back2}):
        persona("a")
        back("b")
        with override({"persona": numbered(2)}):
            persona("c")
            back("d")
    assert [("system", ["1 a\n\nback b\n\n2 c\n\nback d"])] == said(block)


def test_a_stand_in_calls_what_it_stands_in_for() -> None:
    """A stand-in that calls its component by name gets what replaced it outside of the stand-in."""

    def shouting(name: str) -> None:
        Text("HEY")
        persona(name.upper())

    def twofold(name: str) -> None:
        persona(f"{name} and {name}")
        Text("end")

    with System() as block, override({"persona": shouting}), override({"persona": twofold}):
        persona("x")
    assert [("system", ["HEY\n\n## Persona\nI am X AND X\n\nend"])] == said(block)


def test_stand_ins_that_call_each_other() -> None:
    """Stand-ins that call each other's component end at the components themselves."""

    def by_card(name: str) -> None:
        Text("persona of ", name)
        with card(name):
            Text("x")

    def by_persona(title: str) -> Generator[None]:
        Text("card of ", title)
        persona(title)
        yield

    with System() as block, override({"persona": by_card, "card": by_persona}):
        persona("n")
    expected = "persona of n\n\ncard of n\n\n## Persona\nI am n\n\nx"
    assert [("system", [expected])] == said(block)


def test_a_component_stands_in_for_another() -> None:
    """A stand-in may itself be a component: it is shown under the name it replaces."""

    @component
    def robot(name: str) -> str:
        return f"robot {name}"

    with override({"persona": robot}):
        part = persona("x")
        inner = robot("y")
    assert (("persona", "robot"), ("robot", None)) == ((part.name, part.by), (inner.name, inner.by))
    assert ("robot x", "robot y") == (text_of(part), text_of(inner))


def test_what_wraps_a_stand_in_is_called() -> None:
    """A decorated function replaces a component with its decoration."""

    def loud(function: Callable[[str], str]) -> Callable[[str], str]:
        @functools.wraps(function)
        def wrapper(name: str) -> str:
            return function(name).upper()

        return wrapper

    with override({"persona": loud(numbered(1))}):
        assert "1 X" == text_of(persona("x"))


def test_a_stand_in_with_children() -> None:
    """Another generator can replace a component with children; the children are the same."""

    def quoted(title: str) -> Generator[None]:
        Text(title, ":")
        with Quote():
            yield

    with System() as block, override({"card": quoted}), card("T"):
        Text("x")
    assert [("system", ["T:\n\n> x"])] == said(block)


def test_children_of_a_stand_in_keep_the_overrides_of_their_author() -> None:
    """Inside the block of a stand-in its component is the stand-in again: this is not its call."""

    def labelled(title: str) -> Generator[None]:
        Text("<", title, ">")
        with card(title):
            yield

    with System() as block, override({"card": labelled}), card("a"):
        Text("x")
        with card("b"):
            Text("y")
    assert [("system", ["<a>\n\n## a\nx\n\n<b>\n\n### b\ny"])] == said(block)


def test_a_component_overrides_for_its_children() -> None:
    """What a component overrides around its ``yield`` holds for the children, and ends there."""

    @component
    def themed(number: int) -> Generator[None]:
        with override({"persona": numbered(number)}):
            persona("before")
            yield
            persona("after")

    with System() as block:
        with themed(1):
            persona("a")
            with themed(2):
                persona("b")
            with override({"persona": numbered(3)}):
                persona("c")
            persona("d")
        back(persona("e"))
    expected = ["1 before", "1 a", "2 before", "2 b", "2 after", "3 c", "1 d", "1 after"]
    assert [*expected, "## Persona\nI am e"] == said(block)[0][1][0].split("\n\n")


def test_a_stand_in_overrides_for_its_children() -> None:
    """A stand-in that overrides around its ``yield`` does so inside the overrides of its caller."""

    def themed(title: str) -> Generator[None]:
        with override({"persona": numbered(2)}), card(title):
            yield

    with System() as block, override({"back": numbered_back, "card": themed}), card("T"):
        persona("a")
        back("b")
        with card("U"):
            Text("y")
    assert ["## T\n2 a", "back b", "### U\ny"] == said(block)[0][1][0].split("\n\n")


def numbered_back(part: Any) -> str:
    """Replace ``back``."""
    return f"back {part}"


def test_an_exception_ends_an_override() -> None:
    """Also a block that raised ends what it overrode."""
    with suppress(KeyError), override({"persona": other}):
        raise KeyError
    with pytest.raises(KeyError), override({"card": _boom}), card("x"):
        pass
    assert "## Persona\nI am x" == text_of(persona("x"))


def _boom(title: str) -> Generator[None]:
    with override({"persona": other}):
        raise KeyError(title)
        yield


def test_an_override_can_be_used_again() -> None:
    """One override serves many blocks, also inside each other and inside of others."""
    theme = override({"persona": numbered(1)})
    with System() as block:
        with theme, theme:
            persona("a")
        with override({"persona": numbered(2)}), theme:
            persona("b")
        back(persona("c"))
    assert ["1 a", "1 b", "## Persona\nI am c"] == said(block)[0][1][0].split("\n\n")


def test_an_override_of_nothing() -> None:
    """A mapping that happens to be empty overrides nothing."""
    with override({}):
        assert "## Persona\nI am x" == text_of(persona("x"))


def test_an_override_closed_out_of_order() -> None:
    """A generator suspended inside an override is found out where blocks close."""

    def suspended() -> Iterator[None]:
        with override({"persona": numbered(1)}):
            yield

    def write() -> None:
        waiting = suspended()
        with override({"persona": numbered(2)}):
            next(waiting)

    error = raised(ScopeError, write)
    assert ("this override() is closed out of order", lines_of(write, 2)[0]) == (
        error.what,
        error.at[-1],
    )
    assert "## Persona\nI am x" == text_of(persona("x"))


def test_an_override_that_is_gone() -> None:
    """An override that ended with the one around it is an error where it is left."""

    def suspended() -> Iterator[None]:
        with override({"persona": numbered(1)}):
            yield

    waiting = suspended()
    with suppress(ScopeError), override({"persona": numbered(2)}):
        next(waiting)
    with pytest.raises(ScopeError, match="this override"):
        next(waiting)


def test_what_was_written_before_stays() -> None:
    """A part that was written outside an override stays what it is when it is included."""
    part = persona("x")
    with override({"persona": other}), System() as block:
        include(part)
    assert [("system", ["## Persona\nI am x"])] == said(block)


def test_an_override_in_other_threads_and_tasks() -> None:
    """What is overridden in one thread or task is not in another that started without it."""
    texts: list[str] = []

    async def task(number: int) -> str:
        with override({"persona": numbered(number)}):
            await asyncio.sleep(0)
            return text_of(persona("x"))

    async def main() -> list[str]:
        return await asyncio.gather(*map(task, range(20)))

    with override({"persona": other}):
        in_thread(lambda: texts.append(text_of(persona("x"))))
    assert ["## Persona\nI am x"] == texts
    assert [f"{number} x" for number in range(20)] == asyncio.run(main())


def test_one_override_in_many_tasks() -> None:
    """One override may be entered by many tasks at the same time."""
    theme = override({"persona": numbered(7)})

    async def task() -> str:
        with theme:
            await asyncio.sleep(0)
            return text_of(persona("x"))

    async def main() -> list[str]:
        return await asyncio.gather(*(task() for _ in range(20)))

    assert ["7 x"] * 20 == asyncio.run(main())


# What can stand in.


@pytest.mark.parametrize(
    ("name", "near"), [("persna", "did you mean 'persona'?"), ("crd", "did you mean 'card'?")]
)
def test_an_unknown_component(name: str, near: str) -> None:
    """A name no component has is an error at the author's line with the nearest one."""

    def write() -> None:
        override({name: other})

    error = raised(OptionError, write)
    assert (f"no component is called {name!r}", near, lines_of(write, 1)) == (
        error.what,
        error.fix,
        error.at,
    )


@pytest.mark.parametrize(
    ("stand_in", "what"),
    [
        (3, "'persona' cannot be overridden by int"),
        (None, "'persona' cannot be overridden by None"),
        (
            functools.partial(other, "x"),
            "'persona' cannot be overridden by partial",
        ),
        (awaiting, "'persona' cannot be overridden by function"),
    ],
)
def test_what_is_no_stand_in(stand_in: Any, what: str) -> None:
    """A value that is not a plain function or a part is an error at the author's line."""

    def write() -> None:
        override({"persona": stand_in})

    error = raised(OptionError, write)
    assert (what, lines_of(write, 1)) == (error.what, error.at)


ANY_OVERRIDE: Any = override


@pytest.mark.parametrize(
    ("write", "what", "name"),
    [
        (lambda: ANY_OVERRIDE([("persona", other)]), "not list", "persona"),
        (lambda: ANY_OVERRIDE(*()), "not nothing", "persona"),
        (lambda: ANY_OVERRIDE({}, {}), "and nothing else", "persona"),
        (lambda: ANY_OVERRIDE(persona, other), "and nothing else", "persona"),
        (lambda: ANY_OVERRIDE(tone=other), "and no keywords", "tone"),
    ],
)
def test_an_override_takes_a_mapping(write: Callable[[], Any], what: str, name: str) -> None:
    """Anything but one mapping is an error at the author's line that shows the mapping."""
    error = raised(OptionError, write)
    assert (f"override() takes a mapping, {what}", lines_of(write, 0)) == (error.what, error.at)
    assert f'write override({{"{name}": my_{name}}})' == error.fix


FUNCTIONS: dict[str, Any] = {
    "(a)": lambda a: f"{a}",
    "(a) that yields": lambda a: (yield a),
    "(a, b)": lambda a, b: f"{a}{b}",
    "(b, a)": lambda b, a: f"{a}{b}",
    "(x, y)": lambda x, y: f"{x}{y}",
    "(a, b, c)": lambda a, b, c: f"{a}{b}{c}",
    "(a, b, c=1)": lambda a, b, c=1: f"{a}{b}{c}",
    "(a, b=1)": lambda a, b=1: f"{a}{b}",
    "(a, b=1, c=1)": lambda a, b=1, c=1: f"{a}{b}{c}",
    "(a, c=1)": lambda a, c=1: f"{a}{c}",
    "(a, c=1, b=1)": lambda a, c=1, b=1: f"{a}{b}{c}",
    "(a, c=1, **kwargs)": lambda a, c=1, **kwargs: f"{a}{c}{kwargs}",
    "(a, /, b)": lambda a, /, b: f"{a}{b}",
    "(a, *, b)": lambda a, *, b: f"{a}{b}",
    "(a, *, b=1)": lambda a, *, b=1: f"{a}{b}",
    "(a, *args)": lambda a, *args: f"{a}{args}",
    "(a, **kwargs)": lambda a, **kwargs: f"{a}{kwargs}",
    "(*args, **kwargs)": lambda *args, **kwargs: f"{args}{kwargs}",
}
NAMES = {signature: f"like_{number}" for number, signature in enumerate(FUNCTIONS)}
MADE = [component(name=NAMES[signature])(FUNCTIONS[signature]) for signature in FUNCTIONS]


@pytest.mark.parametrize(
    ("original", "stand_in"),
    [
        *((signature, signature) for signature in FUNCTIONS),
        ("(a, b)", "(*args, **kwargs)"),
        ("(a, b)", "(a, b=1)"),
        ("(a, b)", "(a, b, c=1)"),
        ("(a, /, b)", "(a, b)"),
        ("(a, /, b)", "(a, b=1)"),
        ("(a, *, b)", "(a, *, b=1)"),
        ("(a, *, b)", "(a, b)"),
        ("(a, *, b)", "(a, **kwargs)"),
        ("(a, **kwargs)", "(*args, **kwargs)"),
        ("(a, *args)", "(*args, **kwargs)"),
        ("(a)", "(a, *args)"),
        ("(a)", "(a, b=1)"),
        ("(a, b=1)", "(a)"),
        ("(a, *, b=1)", "(a)"),
    ],
)
def test_functions_of_the_same_arguments_stand_in(original: str, stand_in: str) -> None:
    """A function that takes what every call of a component gives can replace it."""
    name = NAMES[original]
    with override({name: FUNCTIONS[stand_in]}):
        ((overridden, function),) = Lazy(_nothing).overrides
        assert (name, "<lambda>") == (overridden, function.__name__)


@pytest.mark.parametrize(
    ("original", "stand_in", "problem"),
    [
        ("(a, b)", "(a)", "it does not take 'b' by position"),
        ("(a, b)", "(a, b, c)", "it requires 'c'"),
        (
            "(a, b)",
            "(a, /, b)",
            "it takes 'a' by position only",
        ),
        ("(a, b)", "(b, a)", "it takes a where b is expected"),
        ("(a, b)", "(x, y)", "it does not take 'a' by name"),
        ("(a, b)", "(a, *, b)", "it does not take 'b' by position"),
        ("(a, /, b)", "(b, a)", "it takes a where b is expected"),
        ("(a, b=1)", "(a, b)", "it requires 'b'"),
        ("(a, *, b=1)", "(a, *, b)", "it requires 'b'"),
        ("(a, **kwargs)", "(a)", "it does not take **kwargs"),
        ("(a, *args)", "(a)", "it does not take *args"),
        ("(*args, **kwargs)", "(a)", "it does not take *args"),
        ("(a)", "(a) that yields", "it yields"),
        ("(a) that yields", "(a)", "it does not yield"),
    ],
)
def test_functions_of_other_arguments_do_not(original: str, stand_in: str, problem: str) -> None:
    """A function that cannot take every call of a component is refused where it is passed."""
    name = NAMES[original]

    def write() -> None:
        override({name: FUNCTIONS[stand_in]})

    error = raised(OptionError, write)
    assert (
        f"<lambda> cannot replace {name}: {problem}",
        f"take the same arguments: {name}{inspect.signature(FUNCTIONS[original])}",
        lines_of(write, 1),
    ) == (error.what, error.fix, error.at)


def test_arguments_are_checked_again_at_the_call() -> None:
    """Where two components have one name, a call that the stand-in cannot take is an error."""
    first = component(name="same")(FUNCTIONS["(a, b)"])
    second = component(name="same")(FUNCTIONS["(a)"])

    def write() -> None:
        with override({"same": FUNCTIONS["(a)"]}):
            second("a")
            first("a", "b")

    error = raised(OptionError, write)
    assert (lines_of(write, 3, 1), True) == (
        error.at,
        "<lambda> cannot replace same" in error.what,
    )


@pytest.mark.parametrize(
    ("original", "stand_in", "call", "problem"),
    [
        ("(a, b=1)", "(a)", lambda like: like(1, 2), "it does not take 'b' by position"),
        ("(a, b=1)", "(a)", lambda like: like(1, b=2), "it does not take 'b' by name"),
        ("(a, b=1)", "(a, *, b=1)", lambda like: like(1, 2), "it does not take 'b' by position"),
        ("(a, b=1)", "(a, c=1)", lambda like: like(1, 2), "it does not take 'b' by name"),
        (
            "(a, b=1, c=1)",
            "(a, c=1, b=1)",
            lambda like: like(1, 2),
            "it takes b where c is expected",
        ),
        ("(a, **kwargs)", "(a, c=1, **kwargs)", lambda like: like(1, d=2), ""),
        ("(a, b=1)", "(a, *, b=1)", lambda like: like(1, b=2), ""),
        ("(a, *args)", "(a, *args)", lambda like: like(1, 2, 3), ""),
    ],
)
def test_what_a_call_gives(
    original: str, stand_in: str, call: Callable[[Any], object], problem: str
) -> None:
    """A stand-in has to take what a call gives, and nothing that the call leaves to its default."""
    like = component(name="like")(FUNCTIONS[original])

    def write() -> str:
        with override({like: FUNCTIONS[stand_in]}):
            try:
                call(like)
            except OptionError as error:
                return error.what.removeprefix("<lambda> cannot replace like: ")
        return ""

    assert problem == write()


# What is seen of it.


def test_the_outline_names_components() -> None:
    """Parts in a turn are under their component; turns and sections say who wrote them."""

    @component
    def opening() -> None:
        persona("x")
        User(back("q"), id="ask")

    with Timeline() as tree, override({"back": numbered_back}):
        opening()
    rows = [row.split("  /")[0].rstrip() for row in render(tree).outline().splitlines()]
    assert [
        "system",
        "  section persona 'Persona' by=opening/persona",
        "    text",
        '      5 characters "I am"',
        "      value, 1 character",
        "user ask by=opening",
        "  back (overridden by numbered_back)",
        "    6 characters",
    ] == rows


def test_the_outline_names_who_stood_in_for_a_component_of_turns() -> None:
    """A turn written by a stand-in says for what and by whom, also in the origin of its message."""

    def asks(name: str) -> User:
        return User(name)

    with Timeline() as tree, override({"persona": asks}):
        persona("x")
    rendered = render(tree)
    assert "user by=persona (overridden by asks)" in rendered.outline()
    assert ("persona (overridden by asks)",) == rendered.messages[0].sources[0].components


def test_a_component_knows_its_line() -> None:
    """The place of a component is where it was called."""
    part, written = persona("x"), this_line()
    assert f"{__file__}:{written}" == str(part.source)


# Deep, wide, kept.


@pytest.mark.parametrize("depth", [2_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_components_very_deep(depth: int) -> None:
    """Components with children inside each other build, render, compare, print and copy."""

    def nested() -> System:
        with System() as block, ExitStack() as blocks:
            for _ in range(depth):
                blocks.enter_context(bare())
            Text("end")
        return block

    tree = nested()
    assert (True, [("system", ["end"])]) == (tree == nested(), said(tree))
    assert tree == pickle.loads(pickle.dumps(tree))
    assert repr(tree).count("bare(") == depth


@pytest.mark.parametrize("depth", [400, pytest.param(3_000, marks=pytest.mark.slow)])
def test_overrides_very_deep(depth: int) -> None:
    """Overrides inside each other are looked up, compared, printed and saved without recursion."""
    with ExitStack() as blocks:
        for _ in range(depth):
            blocks.enter_context(override({"persona": other}))
        blocks.enter_context(override({"back": numbered_back}))
        one_lazy, two = Lazy(_nothing), Lazy(_nothing)
        part = persona("x")
    assert "no x" == text_of(part)
    assert one_lazy == two == pickle.loads(pickle.dumps(one_lazy))
    assert "persona" in repr(one_lazy)


def _nothing(_: object) -> None:
    return None


def test_lazies_under_other_overrides_differ() -> None:
    """Lazies are the same when the same functions replace what they write."""
    with override({"persona": other}):
        under = Lazy(_nothing)
    with override({"persona": other}):
        again = Lazy(_nothing)
    assert (True, False) == (under == again, under == Lazy(_nothing))
    assert (True, False) == (
        hash(under.overrides) == hash(again.overrides),
        under.overrides == "persona",
    )


def test_a_running_stand_in_is_saved() -> None:
    """A saved lazy of a stand-in keeps what its component was outside of the stand-in."""
    with override({"persona": other}), override({"persona": late}):
        part = persona("x")
    saved = pickle.loads(pickle.dumps(part))
    assert "no late x" == text_of(saved)
    assert saved.content[0].overrides == part.content[0].overrides


def late(name: str) -> Lazy:
    """Replace a persona with one that is written late."""
    return Lazy(functools.partial(_late, name))


def _late(name: str, _: object) -> Node:
    return persona(f"late {name}")


@given(st.text())
def test_any_argument_is_a_value_where_the_function_says_so(name: str) -> None:
    """What a component makes a value of is encoded, whoever calls it."""
    direct = System(Section("persona", "I am ", Value(name), title="Persona"))
    assert said(direct) == said(System(persona(name)))
