"""What is written when the prompt is rendered: lazies and templates."""

import asyncio
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import lines_of, raised
from tests.renders import said
from tests.template_strings import tstring


@component
def persona(name: str) -> None:
    """Write who the model is."""
    Text("I am ", Value(name))


@component
def group(*parts: Any) -> Node:
    """Return parts as they are."""
    return Fragment(*parts)


def late(returned: Any) -> Lazy:
    """Return a lazy that comes to what is passed."""
    return Lazy(lambda _: returned)


# What a lazy returns.


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        ("# <b>", "&#35; <b>"),
        (trusted("# <b>"), "# <b>"),
        (3, "3"),
        (2.5, "2.5"),
        (Decimal("1.10"), "1.10"),
        (Fraction(1, 3), "1/3"),
        (tstring("<event>"), "From &lt;event> on."),
        (Text("<b>"), "<b>"),
        (Value("<b>"), "&lt;b>"),
        (Section("s", "x", title="S"), "## S\nx"),
        (List("a", Value("<b>")), "- a\n- &lt;b>"),
        (Fragment("a", Text("b")), "a\n\nb"),
        (group("a", Text("b")), "a\n\nb"),
        (late("<b>"), "&lt;b>"),
    ],
)
def test_what_a_lazy_returns(returned: Any, expected: str) -> None:
    """Text is a value, ``trusted()`` text its author's; a part is where the lazy is."""
    assert [("system", [f"a\n\n{expected}\n\nz"])] == said(System("a", late(returned), "z"))


@pytest.mark.parametrize("nothing", [None, "", late(None)])
def test_a_lazy_may_come_to_nothing(nothing: Any) -> None:
    """Where a lazy comes to nothing, nothing is sent: no item, no message, no blank line."""
    tree = Timeline(
        System("a", late(nothing), "z"), late(nothing), Assistant(late(nothing)), User("q")
    )
    assert [("system", ["a\n\nz"]), ("user", ["q"])] == said(tree)
    assert [("system", ["- a\n- z"])] == said(System(List("a", late(nothing), "z")))


@given(st.text(min_size=1))
def test_any_text_a_lazy_returns_is_a_value(text: str) -> None:
    """What a lazy returns is sent as a value written there would be."""
    assert said(System("a", Fragment(Value(text)), "z")) == said(System("a", late(text), "z"))


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (True, "True cannot be content of a Lazy"),
        (False, "False cannot be content of a Lazy"),
        (["a"], "a list cannot be content of a Lazy"),
        (("a",), "a tuple cannot be content of a Lazy"),
        ({"a": 1}, "a dict cannot be content of a Lazy"),
        (b"a", "bytes cannot be content of a Lazy"),
        (iter(["a"]), "a list_iterator cannot be content of a Lazy"),
        (print, "a builtin_function_or_method cannot be content of a Lazy"),
        (KeyError("a"), "a KeyError cannot be content of a Lazy"),
    ],
)
def test_what_a_lazy_cannot_return(wrong: Any, what: str) -> None:
    """Anything else is an error with the line of the lazy, also when awaited."""

    def write() -> None:
        lazy = late(wrong)
        render(User("q", lazy))

    def wait() -> None:
        lazy = Lazy(lambda _: wrong)
        asyncio.run(arender(User("q", lazy)))

    error, awaited = raised(ContentError, write), raised(ContentError, wait)
    assert (what, lines_of(late, 2)) == (error.what, error.at)
    assert (what, lines_of(wait, 1)) == (awaited.what, awaited.at)


def test_an_unfinished_part_cannot_be_returned() -> None:
    """A component with nothing in it is not a part, whoever returns it."""
    with detached():
        part = Section("s")
    with pytest.raises(ContentError, match="this Section was written with no content"):
        render(System(late(part)))


# Where a lazy stands.

CONTAINERS: dict[str, Callable[[Any], Node]] = {
    "System": lambda part: System("a", part, "z"),
    "Developer": lambda part: Developer("a", part, "z"),
    "User": lambda part: User("a", part, "z"),
    "Assistant": lambda part: Assistant("a", part, "z"),
    "Event": lambda part: Event("a", part, "z"),
    "Ephemeral": lambda part: Ephemeral("a", part, "z"),
    "Grounding": lambda part: Grounding("g", "a", part, "z"),
    "Section": lambda part: Section("s", "a", part, "z", title="S"),
    "Section of a User": lambda part: User(Section("s", "a", part, "z", title="S")),
    "List": lambda part: System(List("a", part, "z")),
    "Checklist": lambda part: System(Checklist("a", part, "z")),
    "Item": lambda part: System(List(Item("a", part, "z"))),
    "Quote": lambda part: System(Quote("a", part, "z")),
    "Example": lambda part: System(Example(part, "z")),
    "Group": lambda part: System(Group("a", part, "z")),
    "Format": lambda part: System(Format("xml", "a", part, "z")),
    "Fragment": lambda part: User(Fragment("a", part, "z")),
    "component": lambda part: System(group("a", part, "z")),
    "ToolMessage": lambda part: Timeline(
        Assistant(ToolUse("t", {}, id="1")), ToolMessage("1", "a", part, "z")
    ),
    "ToolResult": lambda part: Timeline(
        Assistant(ToolUse("t", {}, id="1")), User(ToolResult("1", "a", part, "z"))
    ),
}
every_holder = pytest.mark.parametrize("holder", CONTAINERS.values(), ids=CONTAINERS)


@every_holder
@pytest.mark.parametrize("model", ["gpt-5", "claude-opus-5"])
def test_a_lazy_stands_in_every_container(holder: Callable[[Any], Node], model: str) -> None:
    """Wherever a lazy is, its text is what a value there is."""
    written, lazy = holder(Fragment(Value("# <b>\n- x"))), holder(late("# <b>\n- x"))
    assert render(written, model=model).messages == render(lazy, model=model).messages


@every_holder
def test_a_lazy_part_stands_in_every_container(holder: Callable[[Any], Node]) -> None:
    """Wherever a lazy is, a part of it is what the part written there is."""
    part = List("p", Value("<b>"))
    assert render(holder(part)).messages == render(holder(late(part))).messages


@every_holder
def test_a_lazy_of_a_lazy_stands_in_every_container(holder: Callable[[Any], Node]) -> None:
    """A lazy in what a lazy returned is called, too, and is where that is."""
    assert render(holder(late("x"))).messages == render(holder(late(Fragment(late("x"))))).messages


def test_lazies_among_turns() -> None:
    """In a Timeline a lazy returns turns, sections, request-only turns, or a Fragment of them."""
    tree = Timeline(
        late(Section("s", "x")),
        late(Fragment(User("a"), Assistant("b"))),
        late(Grounding("g", "c")),
        late(User("q")),
    )
    expected = [
        ("system", ["x"]),
        ("user", ["a"]),
        ("assistant", ["b"]),
        ("user", ["<context>\nc\n</context>", "q"]),
    ]
    assert expected == said(tree)


def test_one_lazy_at_two_places() -> None:
    """A lazy in a part that occurs twice is called for each place."""
    numbers = iter(range(9))
    part = Section("s", Lazy(lambda _: next(numbers)))
    assert [("system", ["0"]), ("user", ["1"])] == said(Timeline(System(part), User(part)))


def test_a_lazy_is_called_once_for_a_render() -> None:
    """Payloads and other targets of one render do not call a lazy again; another render does."""
    numbers = iter(range(9))
    tree = User(Lazy(lambda _: next(numbers)))
    rendered = render(tree)
    payloads: list[Any] = [rendered.to_openai(), rendered.to_anthropic(), rendered.to_openai()]
    other = rendered.for_target("anthropic").messages[0].content[0]
    assert ["0", "0", "0"] == [
        payloads[0]["messages"][0]["content"],
        payloads[1]["messages"][0]["content"][0]["text"],
        payloads[2]["messages"][0]["content"],
    ]
    assert ("0", [("user", ["1"])]) == (getattr(other, "text", None), said(tree))


def test_lazies_are_called_in_document_order() -> None:
    """Lazies are called in the order they are in, those they return behind them."""
    called: list[str] = []

    def noting(name: str, returned: Any = None) -> Lazy:
        def note(_: LazyContext) -> Any:
            called.append(name)
            return returned

        return Lazy(note)

    nested = noting("b", Fragment(noting("d"), noting("e")))
    render(Timeline(System(noting("a"), Section("s", nested)), User(noting("c"))))
    assert ["a", "b", "c", "d", "e"] == called


# What it is told, and where it runs.


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, LazyContext(None, None, None)),
        ({"model": "gpt-5"}, LazyContext("gpt-5", "openai", None)),
        ({"provider": "anthropic"}, LazyContext(None, "anthropic", None)),
        (
            {"model": "gpt-5", "provider": "openai"},
            LazyContext("gpt-5", "openai", None),
        ),
    ],
)
def test_a_lazy_is_told_the_request(asked: dict[str, Any], expected: LazyContext) -> None:
    """The function gets the model and the provider that ``render`` was passed."""
    told: list[LazyContext] = []
    render(User("q", Lazy(told.append)), **asked)
    asyncio.run(arender(User("q", Lazy(told.append)), **asked))
    assert [expected, expected] == told


def test_a_lazy_runs_where_no_block_is_open() -> None:
    """What the function writes on the side goes nowhere, also where a block is open."""

    def writing(_: LazyContext) -> Text:
        Text("lost")
        with System():
            Text("lost")
        return Text("kept")

    with System("a") as block:
        with detached():
            part = User(Lazy(writing))
        inner = said(part)
    assert ([("user", ["kept"])], [("system", ["a"])]) == (inner, said(block))


def test_a_lazy_may_render() -> None:
    """A function may render another prompt, and one with lazies in it."""

    def rendering(_: LazyContext) -> str:
        [message] = render(User(late("inner"))).messages
        return f"said {message.text}"

    assert [("user", ["said inner"])] == said(User(Lazy(rendering)))


def test_what_a_lazy_raises_passes() -> None:
    """An exception of the function is raised by ``render`` unchanged."""
    error = KeyError("x")

    def failing(_: LazyContext) -> None:
        raise error

    assert error is raised_by(lambda: render(User(Lazy(failing))))
    assert error is raised_by(lambda: asyncio.run(arender(User(Lazy(failing)))))


def raised_by(run: Callable[[], object]) -> BaseException:
    """Return what a function raises."""
    with pytest.raises(BaseException) as caught:  # noqa: PT011 (it is the result)
        run()
    return caught.value


def leaving(_: LazyContext) -> None:
    """Leave a block open."""
    Section("s", "x").__enter__()


async def leaving_later(_: LazyContext) -> None:
    """Leave a block open after a pause."""
    await asyncio.sleep(0)
    Section("s", "x").__enter__()


def test_a_lazy_that_leaves_a_block_open() -> None:
    """A block that a function leaves open is an error with the lines of both."""

    def write() -> None:
        render(User(Lazy(leaving)))

    def wait() -> None:
        asyncio.run(arender(User(Lazy(leaving_later))))

    errors = [raised(ScopeError, write), raised(ScopeError, wait)]
    assert ["the function of this Lazy left a Section open"] * 2 == [e.what for e in errors]
    assert [
        lines_of(write, 1) + lines_of(leaving, 2),
        lines_of(wait, 1) + lines_of(leaving_later, 3),
    ] == [error.at for error in errors]
    assert [("user", ["x"])] == said(User("x"))


def test_a_lazy_keeps_the_overrides_of_where_it_was_written() -> None:
    """The overrides around the lazy are in force, not those around ``render``."""

    def robot(name: str) -> str:
        return f"robot {name}"

    def android(name: str) -> str:
        return f"android {name}"

    with override({"persona": robot}):
        tree = Timeline(System(Lazy(lambda _: persona("a"))), User(late_twice()))
    outside = User(Lazy(lambda _: persona("c")))
    with override({"persona": android}):
        assert [("system", ["robot a"]), ("user", ["robot b"])] == said(tree)
        assert [("user", ["I am c"])] == said(outside)


def late_twice() -> Lazy:
    """Return a lazy that comes to a lazy that writes a component."""
    return Lazy(lambda _: Lazy(lambda _: persona("b")))


def test_a_lazy_leaves_no_override() -> None:
    """What a function overrides while it runs ends with it, also when it raises."""

    def failing(_: LazyContext) -> None:
        override({"persona": lambda name: name}).__enter__()
        raise KeyError

    raised_by(lambda: render(User(Lazy(failing))))
    assert [("user", ["I am x"])] == said(User(persona("x")))


# Audiences.


def test_a_lazy_for_people_is_not_called_for_a_model() -> None:
    """What is in a Note, or is for people otherwise, is called for people only."""
    called: list[str] = []

    def noting(_: LazyContext) -> str:
        called.append("x")
        return "x"

    tree = Timeline(
        User("q", Note(Lazy(noting)), Section("s", Lazy(noting), audience="people")),
        Note(Lazy(noting)),
    )
    assert ([("user", ["q"])], []) == (said(tree), called)
    assert 3 == len(" ".join(t for _, b in said(tree, audience="people") for t in b).split("x")) - 1


@pytest.mark.parametrize(
    ("returned", "model", "people"),
    [
        (Note("n"), ["q"], ["q", "n"]),
        (Fragment("a", Note("n")), ["q", "a"], ["q", "a", "n"]),
        (Section("s", "p", audience="people"), ["q"], ["q", "p"]),
        (Section("s", "m", audience="model"), ["q", "m"], ["q"]),
        (Note(late("n")), ["q"], ["q", "n"]),
        (Fragment(Note(Section("s", late("n")))), ["q"], ["q", "n"]),
    ],
)
def test_what_a_lazy_returns_is_selected(
    returned: Node, model: list[str], people: list[str]
) -> None:
    """What a lazy returns for another audience is left out as if it had been written there."""
    tree = User("q", late(returned))
    assert [("user", model)] == said(tree)
    assert [("user", people)] == said(tree, audience="people")


def test_a_turn_for_people_is_selected() -> None:
    """A turn that a lazy returns for people is not sent to a model."""
    tree = Timeline(User("q"), late(Assistant("p", audience="people")), late(Note("n")))
    assert [("user", ["q"])] == said(tree)


def test_what_is_for_people_in_what_a_lazy_returns_is_not_called() -> None:
    """A lazy inside of a Note that a lazy returned is not called for a model."""
    called: list[LazyContext] = []
    tree = User("q", late(Fragment("a", Note(Lazy(called.append)))))
    said(tree)
    asyncio.run(arender(tree))
    assert [] == called
    said(tree, audience="people")
    assert 1 == len(called)


# Asynchronous functions.


async def slow(_: LazyContext) -> str:
    """Return a text after a pause."""
    await asyncio.sleep(0)
    return "<slow>"


class Slow:
    """What is awaited without being a coroutine."""

    def __await__(self) -> Any:
        return slow(LazyContext()).__await__()


@pytest.mark.parametrize("function", [slow, partial(slow), lambda _: Slow()])
def test_render_does_not_wait(function: Any) -> None:
    """``render`` refuses what has to be awaited, names ``arender``, and leaves nothing behind."""

    def write() -> None:
        render(System(Lazy(function)))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        error = raised(ContentError, write)
    assert (
        "the function of this Lazy is asynchronous, and render() cannot await it",
        "use await arender(...)",
        lines_of(write, 1),
    ) == (error.what, error.fix, error.at)


@pytest.mark.parametrize("function", [slow, partial(slow), lambda _: Slow()])
def test_arender_waits(function: Any) -> None:
    """``arender`` awaits coroutines and whatever else can be awaited; their text is a value."""
    [message] = asyncio.run(arender(System(Lazy(function)))).messages
    assert "&lt;slow>" == message.text


# How a lazy is written.


@pytest.mark.parametrize("wrong", [None, "text", 3, slow(LazyContext()).close()])
def test_a_lazy_takes_a_function(wrong: Any) -> None:
    """What cannot be called is refused at the author's line."""

    def write() -> None:
        Lazy(wrong)

    error = raised(ContentError, write)
    kind = "None" if wrong is None else type(wrong).__name__
    assert (f"a Lazy takes a function, not {kind}", lines_of(write, 1)) == (
        error.what,
        error.at,
    )


@pytest.mark.parametrize("weight", [0, -1, True, None, "1", float("nan"), float("inf")])
def test_a_weight_is_a_number_above_zero(weight: Any) -> None:
    """A weight that divides nothing is refused at the author's line."""

    def write() -> None:
        Lazy(str, weight=weight)

    error = raised(OptionError, write)
    assert (f"Lazy(weight={weight!r})", lines_of(write, 1)) == (error.what, error.at)


def test_an_unknown_keyword_of_a_lazy() -> None:
    """An unknown keyword is an error with the nearest known one."""
    error = raised(OptionError, lambda: Lazy(str, wieght=2))  # type: ignore[arg-type]
    assert ("Lazy() takes no 'wieght'", "did you mean 'weight'?") == (error.what, error.fix)


@pytest.mark.parametrize(
    "write",
    [
        lambda: Lazy(Text("b")),  # type: ignore[arg-type]
        lambda: Lazy(Text("b"), weight=0),  # type: ignore[arg-type]
        lambda: Template("a.md.j2", x=Text("b")),
        lambda: Template("a.md.j2", {"x": [Text("b")]}),
        lambda: Template.from_string("a", vars={"x": Text("b")}),
    ],
)
def test_a_call_that_fails_leaves_nothing(write: Callable[[], object]) -> None:
    """A part given where none belongs is not left in the block."""
    with System("a") as block:
        with pytest.raises(ContentError):
            write()
        Text("z")
    assert [("system", ["a\n\nz"])] == said(block)


def test_lazies_are_the_same_with_the_same_function() -> None:
    """Lazies are compared by their function and their weight."""
    assert (True, False, False) == (
        Lazy(str) == Lazy(str),
        Lazy(str) == Lazy(repr),
        Lazy(str) == Lazy(str, weight=2),
    )


@pytest.mark.parametrize(
    "write",
    [lambda part: Text("a", part), Heading, Value, lambda part: Text(tstring(part))],
)
@pytest.mark.parametrize("part", [Lazy(str), Template.from_string("x")])
def test_what_is_written_late_is_no_part_of_one_text(
    write: Callable[[Any], Any], part: Node
) -> None:
    """Inside of one text a lazy or a template is an error: it is next to the text."""
    with pytest.raises(ContentError, match="cannot be inside"):
        write(part)


def test_lazies_that_never_end() -> None:
    """A lazy that returns itself forever is an error with its line."""

    def write() -> None:
        lazy = Lazy(lambda _: Fragment("x", lazy))
        render(User(lazy))

    error = raised(ContentError, write)
    assert ("a Lazy returned another Lazy, 100 times in a row", lines_of(write, 1)) == (
        error.what,
        error.at,
    )


# Templates.


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"x": "# </event>"}, "Hi # &lt;/event>!"),
        ({"x": trusted("# </event>")}, "Hi # </event>!"),
        ({"x": 3}, "Hi 3!"),
    ],
)
def test_a_template_is_text(variables: dict[str, Any], expected: str) -> None:
    """The text of a template is its author's, what a variable puts in is a value."""
    tree = System("a", Template.from_string("Hi {{ x }}!", **variables))
    assert [("system", [f"a\n\n{expected}"])] == said(tree)


def test_a_template_takes_its_variables_both_ways() -> None:
    """Variables come as a mapping, as keywords, or both."""
    both = Template.from_string("{{ a }}{{ b }}", {"a": 1}, b=2)
    assert [("user", ["12", "12", "12"])] == said(
        User(
            both,
            Template.from_string("{{ a }}{{ b }}", vars={"a": 1, "b": 2}),
            Template.from_string("{{ a }}{{ b }}", a=1, b=2),
        )
    )


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (User, "<i> &lt; # <b>&lt;\n- x"),
        (Assistant, "<i> &lt; # <b>&lt;\n- x"),
        (Developer, "<i> &lt; # <b>&amp;lt;\n- x"),
        (Ephemeral, "<context>\n<i> &lt; # <b>&amp;lt;\n- x\n</context>"),
        (
            lambda part: Grounding("g", part),
            "<context>\n<i> &amp;lt; # <b>&amp;lt;\n- x\n</context>",
        ),
    ],
)
def test_a_template_in_every_turn(turn: Callable[[Node], Node], expected: str) -> None:
    """In a conversation a template is sent to the byte, elsewhere its values are encoded."""
    tree = turn(Template.from_string("<i> &lt; # {{ x }}", x="<b>&lt;\n- x"))
    assert [expected] == said(tree)[0][1]


def test_a_template_of_a_file(tmp_path: Path) -> None:
    """A path names a file; an error in it names the line of the component as well."""
    (tmp_path / "role.md.j2").write_text("You are {{ name }}.", encoding="utf-8")
    tree = System(Template(tmp_path / "role.md.j2", name="Ada"))
    assert [("system", ["You are Ada."])] == said(tree)


def test_a_template_that_says_nothing() -> None:
    """An empty template leaves nothing where it is."""
    assert [("system", ["a\n\nz"])] == said(System("a", Template.from_string(""), "z"))
    assert [] == said(User(Template.from_string("{% if x %}y{% endif %}", x=False)))


@pytest.mark.parametrize(
    ("make", "kind", "what"),
    [
        (lambda: Template("missing.md.j2"), TemplateError, "missing.md.j2"),
        (lambda: Template.from_string("{{ x }}"), TemplateError, "x"),
        (lambda: Template.from_string("{% if %}"), TemplateError, ""),
    ],
)
def test_a_template_that_cannot_be_rendered(
    make: Callable[[], Node], kind: type[TemplateError], what: str
) -> None:
    """What is wrong with a template is raised when rendered, with the line of the component."""
    part = make()
    error = raised(kind, lambda: render(System(part)))
    assert what in error.what
    assert lines_of(make, 0) == error.at[-1:]


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: Template.from_string("x", a=object()), "a is an object, not plain data"),
        (lambda: Template.from_string("x", ["a"]), "the variables of a template must be a mapping"),  # type: ignore[arg-type]
        (lambda: Template.from_string("x", {"a": 1}, a=2), "the variable 'a' is passed twice"),
    ],
)
def test_variables_that_are_refused(make: Callable[[], Node], what: str) -> None:
    """A value that is not plain data is refused where it is written."""
    error = raised(ContentError, make)
    assert lines_of(make, 0) == error.at
    assert what in error.what


@pytest.mark.parametrize("name", ["../a", "/a", "", "a\\b"])
def test_a_name_that_leads_out_of_its_folder(name: str) -> None:
    """A name that is not a name of a template is refused where it is written."""

    def write() -> None:
        Template(name)

    assert lines_of(write, 1) == raised(TemplateError, write).at


def test_a_template_is_written_into_the_open_block() -> None:
    """A template is where it was written."""
    with System("a") as block:
        Template.from_string("{{ x }}", x=1)
        Text("z")
    assert [("system", ["a\n\n1\n\nz"])] == said(block)


def test_a_lazy_may_return_a_template() -> None:
    """A template that a lazy returns is rendered like a written one."""
    assert [("system", ["1"])] == said(System(late(Template.from_string("{{ x }}", x=1))))
