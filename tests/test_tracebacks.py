"""Where tracebacks end: at the function that an author called."""

import asyncio
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import promptdsl
from promptdsl import *
from promptdsl.tokens import counter
from tests.errors import raised
from tests.folding import folded

wrong: Any = object()
"""An argument of a type that nothing takes."""
PACKAGE = str(Path(promptdsl.__file__).parent)


def ours(error: BaseException) -> list[str]:
    """Return the functions of the package in the traceback of an error, the outermost first."""
    frames = traceback.extract_tb(error.__traceback__)
    return [frame.name for frame in frames if frame.filename.startswith(PACKAGE)]


def own(error: BaseException) -> list[str]:
    """Return the functions of this file in the traceback of an error."""
    frames = traceback.extract_tb(error.__traceback__)
    return [frame.name for frame in frames if frame.filename == __file__]


def in_system(write: Callable[[], object]) -> None:
    """Write something in a System that is open."""
    with System("Be kind."):
        write()


def closing(write: Callable[[], object]) -> None:
    """Write something that is refused when its block closes."""
    with Timeline(), System():
        Section("rules", "a")
        write()


def out_of_order() -> None:
    """Close a block before the one inside it."""
    outer, inner = System(), Section("inner")
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)


def finished() -> None:
    """Open a block that is finished."""
    with HI:
        pass


@component
def card(title: str) -> Any:
    """Write a section around children."""
    with Section("card", title=title):
        yield


@component
def careless() -> None:
    """Write something wrong."""
    Section("card", "a", titel="b")  # type: ignore[call-arg]


@component
def never() -> Any:
    """Yield nothing."""
    yield from ()


def wrong_part(_: object) -> object:
    """Write something wrong, for a Lazy."""
    return Section("card", "a", titel="b")  # type: ignore[call-arg]


HI = User("Hi.")
MISSING = "/nowhere/at/all.png"
DOORS: dict[str, Callable[[], object]] = {
    "System": lambda: System([wrong]),  # type: ignore[arg-type]
    "System(option)": lambda: System("a", titel="b"),  # type: ignore[call-arg]
    "System(priority)": lambda: System("a", priority=wrong),
    "User in System": lambda: in_system(lambda: User("a")),
    "User(name) in System": lambda: in_system(lambda: User("a", name="Ada")),
    "Assistant": lambda: Assistant(ToolResult("c", "a")),
    "Event": lambda: Event(wrong),
    "Ephemeral": lambda: Ephemeral("a", order=wrong),
    "Grounding": lambda: Grounding("", "a"),
    "Turn(role)": lambda: Turn("human", "a"),
    "Turn(option)": lambda: Turn("user", "a", titel="b"),
    "ToolMessage": lambda: ToolMessage(wrong, "a"),
    "ToolMessage in System": lambda: in_system(lambda: ToolMessage("c", "a")),
    "Timeline": lambda: Timeline("a"),
    "Timeline(transformation)": lambda: Timeline(HI, transformation=wrong),
    "History": lambda: History(wrong),
    "History(option)": lambda: History([], kep=1),  # type: ignore[call-arg]
    "History.from_openai": lambda: History.from_openai(wrong),
    "Section(id)": lambda: Section("1 a", "a"),
    "Section twice": lambda: closing(lambda: Section("rules", "b")),
    "Fragment": lambda: Fragment(wrong),
    "Text": lambda: Text(wrong),
    "Text in Timeline": lambda: Timeline(Text("a")),
    "Heading": lambda: Heading("a", level=9),
    "Item in System": lambda: closing(lambda: Item("a")),
    "List": lambda: List(HI),
    "Example": lambda: Example(wrong, "a"),
    "Value": lambda: Value(wrong),
    "Volatile": lambda: Volatile("a", label=wrong),
    "Untrusted": lambda: Untrusted(wrong),
    "Untrusted(source)": lambda: Untrusted("a", source=wrong),
    "Json": lambda: Json(wrong),
    "Table": lambda: Table(wrong),
    "Template(vars)": lambda: Template("a", vars=wrong),
    "Template.from_string": lambda: Template.from_string(wrong),
    "Image": lambda: Image(MISSING),
    "Image.from_bytes": lambda: Image.from_bytes(b"not an image"),
    "Image in System": lambda: closing(lambda: Image.from_file_id("a")),
    "UserAction": lambda: UserAction(wrong),
    "UserAction in System": lambda: closing(lambda: UserAction("a")),
    "StateChange": lambda: StateChange(wrong),
    "SystemEvent": lambda: SystemEvent(wrong),
    "Tool": lambda: Tool(wrong),
    "Tool(option)": lambda: Tool(name="a", titel="b"),  # type: ignore[arg-type]
    "ToolUse": lambda: ToolUse("find", wrong, id="c"),
    "ToolResult": lambda: ToolResult(wrong, "a"),
    "Reasoning": lambda: Reasoning(wrong),
    "Output": lambda: Output(wrong),
    "Limit": lambda: Limit(wrong, "a"),
    "FirstFit": lambda: FirstFit(wrong),
    "Reserve": lambda: Reserve(wrong),
    "CacheBreakpoint": lambda: CacheBreakpoint(wrong),
    "Lazy": lambda: Lazy(wrong),
    "include": lambda: include(Text("a")),
    "component": lambda: component(wrong),
    "card(arguments)": lambda: card(1, 2, 3),  # type: ignore[call-arg]
    "careless": careless,
    "never": lambda: never().__enter__(),
    "override": lambda: override(wrong),
    "with, out of order": out_of_order,
    "with, finished": finished,
    "format": lambda: f"{HI}",
    "render": lambda: render(wrong),
    "render(model)": lambda: render(HI, model=wrong),
    "render(option)": lambda: render(HI, modle="gpt-5"),  # type: ignore[arg-type]
    "render(budget)": lambda: render(HI, model="gpt-5", budget=1),
    "render(transformation)": lambda: render(HI, transformation={"forma": "xml"}),
    "render(strict)": lambda: render(
        User(Audio.from_url("https://e.org/a.mp3")), provider="anthropic", strict=True
    ),
    "render(Lazy)": lambda: render(System(Lazy(wrong_part))),
    "render(Template)": lambda: render(System(Template.from_string("{{ name }}"))),
    "render(filter)": lambda: render(System(Template.from_string("{{ 1|uper }}"))),
    "render(include)": lambda: render(System(Template.from_string("{% include 'nope' %}"))),
    "render(History)": lambda: render(History([{"role": "human", "content": "a"}])),
    "render(History.from_openai)": lambda: render(History.from_openai([{"role": "human"}])),
    "render(pairs)": lambda: render(Timeline(ToolMessage("c", "a"))),
    "render(Image)": lambda: render(User(Image.from_path(MISSING)), model="gpt-5"),
    "render(format_block)": lambda: render(
        User(Json({})), transformation={"format_block": lambda _: wrong}
    ),
    "arender": lambda: arender(wrong),
    "arender, awaited": lambda: asyncio.run(arender(HI, model="gpt-5", budget=1)),
    "arender(counter)": lambda: asyncio.run(arender(HI, budget=100, counter=lambda _: -1)),
    "arender(Lazy)": lambda: asyncio.run(arender(System(Lazy(wrong_part)))),
    "payload": lambda: render(HI).payload(),
    "to_anthropic": lambda: render(HI, model="gpt-5").to_anthropic(),
    "for_target": lambda: render(HI).for_target("no provider"),
    "tokens": lambda: render(HI, counter=lambda _: -1).tokens,
    "prefix_report": lambda: prefix_report(wrong, wrong),
    "Message": lambda: Message("human"),  # type: ignore[arg-type]
    "Message.from_dict": lambda: Message.from_dict({"role": "user", "content": [wrong]}),
    "Message.tool_result": lambda: Message.tool_result(wrong),
    "message.replace": lambda: Message("user", "a").replace(role="human"),
    "block_from_dict": lambda: block_from_dict({"type": "image", "source": wrong}),
    "TextBlock": lambda: TextBlock(wrong),
    "ToolResultBlock": lambda: ToolResultBlock("c", [wrong]),
    "read_response": lambda: read_response({}),
    "read_stream": lambda: read_stream(wrong),
    "aread_stream": lambda: aread_stream(wrong),
    "reading.message": lambda: read_stream([]).message,
    "read_payload": lambda: read_payload(wrong, "openai"),
    "read_payload(provider)": lambda: read_payload([], "no provider"),
    "Loss.refuse": lambda: Loss.refuse([Loss("content", "a", "b")], "sent", fix="c"),
    "ChatTemplate": lambda: ChatTemplate(wrong),
    "ChatTemplate.of": lambda: ChatTemplate.of(wrong),
    "MessageTransformationConfig": lambda: MessageTransformationConfig(forma="xml"),  # type: ignore[call-arg]
    "register_model": lambda: register_model("a", provider="no provider"),
    "register_templates": lambda: register_templates(wrong),
    "split_text": lambda: split_text(wrong),
    "dedent": lambda: dedent(wrong),
    "trusted": lambda: trusted(wrong),
    "counter": lambda: counter(wrong),
    "counter.count": lambda: counter("gpt-5").count(wrong),
}
"""Calls that are refused, by the function of the door that refuses them."""
every_door = folded("door", DOORS)


@every_door
def test_a_traceback_ends_at_the_door(door: str) -> None:
    """It has the author's frames, at most one of the package, and no other error in its chain."""
    error = raised(PromptError, DOORS[door])
    assert len(ours(error)) <= 1
    assert own(error) != []
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None


@every_door
def test_an_error_names_the_author(door: str) -> None:
    """The first line that it names is one of the author's."""
    error = raised(PromptError, DOORS[door])
    assert [__file__] == [place.rpartition(":")[0] for place in error.at[:1]]


@every_door
def test_a_variable_keeps_all_frames(door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """``PROMPTDSL_TRACEBACK=1`` keeps the frames up to where the error was raised."""
    monkeypatch.setenv("PROMPTDSL_TRACEBACK", "1")
    error = raised(PromptError, DOORS[door])
    last = traceback.extract_tb(error.__traceback__)[-1]
    assert last.filename.startswith((PACKAGE, "<attrs generated"))


def test_the_frames_of_the_authors_functions_stay() -> None:
    """An error in a function that is called at render shows the way of the author to it."""
    error = raised(OptionError, lambda: render(System(Lazy(wrong_part))))
    assert ["raised", "<lambda>", "wrong_part"] == [
        frame.name
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(PACKAGE)
    ]


def failing(_: object) -> object:
    """Raise an error that is not of the package, for a Lazy."""
    raise KeyError("plan")


def test_other_errors_keep_their_frames() -> None:
    """An error of an author's own function is shown with all frames, as Python does."""
    error = raised(KeyError, lambda: render(System(Lazy(failing))))
    assert len(ours(error)) > 3
    assert ["<lambda>", "failing"] == own(error)


def test_an_error_in_the_block_of_a_component() -> None:
    """It goes on with the traceback that it had."""

    def write() -> None:
        with card("a"):
            failing(None)

    error = raised(KeyError, write)
    assert ([], ["write", "failing"]) == (ours(error), own(error))


# What a function of the author's raises.


class NoPlan(Exception):
    """An exception of the author's own."""


def no_plan(*_: object) -> Any:
    """Raise an exception of the author's own."""
    raise NoPlan("nobody knows the plan")


async def no_plan_later(_: object) -> object:
    """Raise an exception of the author's own, later."""
    raise NoPlan("nobody knows the plan")


AUTHORS: dict[str, tuple[Callable[[], object], str]] = {
    "Lazy": (lambda: render(System(Lazy(no_plan))), "the function of this Lazy"),
    "asynchronous Lazy": (
        lambda: asyncio.run(arender(System(Lazy(no_plan_later)))),
        "the function of this Lazy",
    ),
    "format_block": (
        lambda: render(Event(UserAction("left")), transformation={"format_block": no_plan}),
        "format_block for a 'user_action' block",
    ),
    "format_block of JSON": (
        lambda: render(User(Json({})), transformation={"format_block": no_plan}),
        "format_block for a 'json' block",
    ),
    "transformation of a Timeline": (
        lambda: render(Timeline(HI, transformation=no_plan)),
        "the transformation of Timeline",
    ),
    "transformation": (
        lambda: render(HI, transformation=no_plan),
        "the transformation of render",
    ),
    "counter": (lambda: render(HI, counter=no_plan, budget=10), "the counter given"),
    "counter, later": (lambda: render(HI, counter=no_plan).tokens, "the counter given"),
}


@pytest.mark.parametrize("function", AUTHORS)
def test_an_exception_of_the_authors(function: str) -> None:
    """It keeps its type and its frames, and gets a note with the line that had it called."""
    write, name = AUTHORS[function]
    error = raised(NoPlan, write)
    (note,) = error.__notes__
    place, _, by = note.partition(": raised by ")
    assert ("nobody knows the plan", name) == (str(error), by)
    line = write.__code__.co_firstlineno
    assert f"{__file__}:{line}" == place
    assert own(error)[-1] in ("no_plan", "no_plan_later")


def test_an_exception_is_noted_once() -> None:
    """The same exception, raised again and again from one place, has one note."""
    kept = NoPlan("nobody knows the plan")

    def same(_: object) -> Any:
        raise kept

    system = System(Lazy(same))
    errors = [raised(NoPlan, lambda: render(system)) for _ in range(3)]
    assert [[f"{system.source}: raised by the function of this Lazy"]] * 3 == [
        error.__notes__ for error in errors
    ]


def test_an_error_of_ours_has_no_note() -> None:
    """An error of the package names its own line, in the author's function."""
    error = raised(OptionError, lambda: render(System(Lazy(wrong_part))))
    line = wrong_part.__code__.co_firstlineno + 2
    assert ((f"{__file__}:{line}",), []) == (error.at, getattr(error, "__notes__", []))
