"""Tools and outputs: what is sent next to the messages."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, Optional

import pytest
from pydantic import BaseModel

from promptdsl import *
from tests.components.failing import Failed, failed, refusal
from tests.errors import lines_of, raised, with_article
from tests.internals import is_closed

EMPTY_OBJECT = {"type": "object", "properties": {}}
TEXT = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


def search(q: str) -> str:
    """Search the index."""
    return q


class Plain:
    """No type of data."""


@dataclass
class Answer:
    """What is answered."""

    text: str
    sure: bool = False


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (Tool(search), ToolDefinition("search", "Search the index.", TEXT)),
        (Tool(search, name="find it!"), ToolDefinition("find it!", "Search the index.", TEXT)),
        (Tool(search, description="Find."), ToolDefinition("search", "Find.", TEXT)),
        (Tool(name="ping"), ToolDefinition("ping", None, EMPTY_OBJECT)),
        (
            Tool(name="find", description="Find.", input_schema=TEXT),
            ToolDefinition("find", "Find.", TEXT),
        ),
        (
            Tool(**{"name": "find", "description": "Find.", "input_schema": TEXT}),  # type: ignore[call-overload]
            ToolDefinition("find", "Find.", TEXT),
        ),
        (Tool(lambda: None, name="nothing"), ToolDefinition("nothing", None, EMPTY_OBJECT)),
    ],
)
def test_tools(tool: Tool, expected: ToolDefinition) -> None:
    """A tool is a function, or what is said of it."""
    assert expected == tool.definition


def test_a_schema_cannot_change() -> None:
    """Changing what was passed changes no tool."""
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    tool = Tool(name="ping", input_schema=schema)
    schema["properties"]["late"] = {}
    assert Tool(name="ping") == tool


CLOSED = {
    "description": "What is answered.",
    "type": "object",
    "properties": {"text": {"type": "string"}, "sure": {"type": "boolean", "default": False}},
    "required": ["text", "sure"],
    "additionalProperties": False,
}
OPEN = {
    "description": "What is answered.",
    "type": "object",
    "properties": {"text": {"type": "string"}, "sure": {"type": "boolean", "default": False}},
    "required": ["text"],
}


KEYED = {"$defs": {"A": {"type": "object"}}, "$ref": "#/$defs/A"}
INTEGERS = {"type": "array", "items": {"type": "integer"}}
PERHAPS = {"anyOf": [INTEGERS, {"type": "null"}]}


class Mood(Enum):  # noqa: D101 (its schema says it)
    GOOD = "good"


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (Output(Answer), OutputSchema(CLOSED, "Answer")),
        (Output(Answer, strict=False), OutputSchema(OPEN, "Answer", strict=False)),
        (Output(OPEN), OutputSchema(OPEN)),
        (
            Output(Answer, name="the answer", description="d"),
            OutputSchema(CLOSED, "the_answer", "d"),
        ),
        (Output(OPEN, name="x" * 99), OutputSchema(OPEN, "x" * 64)),
        (Output(KEYED), OutputSchema(KEYED)),
        (
            Output(int | None, strict=False),
            OutputSchema({"anyOf": [{"type": "integer"}, {"type": "null"}]}, strict=False),
        ),
        (Output(list[int], strict=False), OutputSchema(INTEGERS, strict=False)),
        (
            Output(Optional[list[int]], strict=False),  # noqa: UP045 (it has a name)
            OutputSchema(PERHAPS, strict=False),
        ),
        (
            Output(Mood, strict=False),
            OutputSchema({"enum": ["good"], "type": "string"}, "Mood", strict=False),
        ),
    ],
)
def test_outputs(output: Output, expected: OutputSchema) -> None:
    """An output is a type, closed when strict, or a schema as it is; its name is made to fit."""
    assert expected == output.schema


def test_the_schema_of_a_type_is_closed() -> None:
    """What is made of a type keeps the rules of strict outputs."""
    assert is_closed(Output(Answer).schema.schema)


def test_a_definition_is_kept() -> None:
    """A definition that was read is kept as it is, with all it knows."""
    whole = ToolDefinition("t", "d", TEXT, "1h", {"strict": True}, None, "anthropic")
    raw = ToolDefinition("find", raw={"type": "web_search"}, origin="openai_responses")
    assert (whole, raw) == (Tool(whole).definition, Tool(raw).definition)


def test_a_form_is_kept() -> None:
    """A form that was read is kept as it is, also where no provider would take it."""
    form = OutputSchema({"type": "array"}, "the form", "d", strict=True)
    assert form == Output(form).schema


class Boxed(BaseModel):
    """A thing in a box."""

    answer: Answer | None


def test_an_answer_in_a_field() -> None:
    """What is no object is asked for in a field of one."""
    assert is_closed(Output(Boxed).schema.schema)


def beside() -> Any:
    """Return a node that is next to the turns."""
    return Tool(search)


@pytest.mark.parametrize("make", [beside, lambda: Output(Answer)])
def test_where_they_stand(make: Callable[[], Any]) -> None:
    """Tools and outputs are in a timeline, a fragment, a group, a component, a lazy there."""

    @component
    def equipped() -> None:
        make()

    with Timeline() as timeline:
        with Fragment():
            make()
        with Group(Fragment(make())):
            pass
        equipped()
        Lazy(lambda _: make())
        User("hi")
    assert isinstance(timeline.content[0].content[0], type(make()))


BESIDE = "write it next to the turns, directly in the Timeline"


@pytest.mark.parametrize(
    ("holder", "component"),
    [
        (System, "System"),
        (Developer, "Developer"),
        (User, "User"),
        (Assistant, "Assistant"),
        (Event, "Event"),
        (lambda *parts: Turn("tool", *parts), "Tool"),
        (lambda *parts: ToolMessage("1", *parts), "ToolMessage"),
        (lambda *parts: ToolResult("1", *parts), "ToolResult"),
        (lambda *parts: Section("s", *parts), "Section"),
        (lambda *parts: Grounding("g", *parts), "Grounding"),
        (Ephemeral, "Ephemeral"),
        (Note, "Note"),
        (List, "List"),
        (Quote, "Quote"),
    ],
)
@pytest.mark.parametrize(
    ("part", "name"),
    [
        (Tool(search), "Tool"),
        (Output(Answer), "Output"),
        (Fragment(Tool(search)), "Tool"),
    ],
)
def test_nowhere_else(holder: Callable[..., Any], component: str, part: Any, name: str) -> None:
    """Inside a turn, or a part of one, they are refused, in a fragment too."""
    error = raised(PlacementError, lambda: holder(part))
    what = f"{with_article(name)} cannot be in {with_article(component)}"
    assert (what, BESIDE) == (error.what, error.fix)


def test_refused_when_written() -> None:
    """In an open block they are refused on their own line, before the block closes."""

    def write() -> None:
        with System():
            Tool(search)
            raise AssertionError("too late")

    error = raised(PlacementError, write)
    assert (f"{with_article('Tool')} cannot be in a System", lines_of(write, 2, 1)) == (
        error.what,
        error.at,
    )


def test_a_lazy_in_a_turn() -> None:
    """A lazy inside a turn cannot return a tool."""
    error = raised(PlacementError, lambda: render(System(Lazy(lambda _: Tool(search)))))
    assert BESIDE == error.fix


class Holder:
    """What has a method."""

    def unbound(self) -> None:
        """Do nothing."""


unbound = Holder.unbound
IN_A_FIELD = "put it in a field of a model, or write strict=False if the provider takes it"
SCHEMAS = '{"type": "object", "properties": {"name": {"type": "string"}}}'
WITHOUT = "write attrs.evolve(definition, name=...)"


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (
            lambda: Tool(3),  # type: ignore[call-overload]
            refusal(
                ContentError, "Tool(search), or Tool(name=..., description=..., input_schema=...)"
            ),
        ),
        (lambda: Tool(None), refusal(ContentError, 'Tool(search), or Tool(name="search", ...)')),  # type: ignore[call-overload]
        (lambda: Tool(name=""), refusal(ContentError, 'Tool(search), or Tool(name="search", ...)')),
        (lambda: Tool(lambda: None), refusal(ContentError, 'write Tool(function, name="search")')),
        (lambda: Tool(name=3), refusal(OptionError, "write a string")),  # type: ignore[call-overload]
        (lambda: Tool(search, description=3), refusal(OptionError, "write a string")),  # type: ignore[call-overload]
        (lambda: Tool(search, nam="x"), refusal(OptionError, "did you mean 'name'?")),  # type: ignore[call-overload]
        (
            lambda: Tool(search, input_schema=TEXT),  # type: ignore[call-overload]
            refusal(OptionError, "leave the function or input_schema out"),
        ),
        (
            lambda: Tool(name="x", input_schema={"type": "array"}),
            refusal(ContentError, '{"type": "object", "properties": {...}}'),
        ),
        (
            lambda: Tool(name="x", input_schema=[]),  # type: ignore[call-overload]
            refusal(ContentError, '{"type": "object", "properties": {...}}'),
        ),
        (
            lambda: Tool(name="x", input_schema={"type": "object", "x": {1}}),
            refusal(ContentError, "write sorted(values)"),
        ),
        (
            lambda: Tool(unbound),
            refusal(ContentError, "give the method of an object: Tool(thing.method)"),
        ),
        (
            lambda: Tool(name="x", input_schema={"type": "object", "properties": [1]}),
            refusal(ContentError, SCHEMAS),
        ),
        (
            lambda: Tool(ToolDefinition("x"), name="y"),  # type: ignore[call-overload]
            refusal(OptionError, WITHOUT),
        ),
        (
            lambda: Output(OutputSchema({}), strict=False),
            refusal(OptionError, WITHOUT),
        ),
        (
            lambda: Output({"type": "object", "required": "a"}),
            refusal(ContentError, '{"type": "object", "required": ["name"]}'),
        ),
        (lambda: Output(int), refusal(ContentError, IN_A_FIELD)),
        (lambda: Output(list[int]), refusal(ContentError, IN_A_FIELD)),
        (lambda: Output(Any), refusal(ContentError, IN_A_FIELD)),
        (lambda: Output(Answer | Boxed), refusal(ContentError, IN_A_FIELD)),
        (lambda: Output({}), refusal(ContentError, IN_A_FIELD)),
        (lambda: Output({"type": "string"}), refusal(ContentError, IN_A_FIELD)),
        (lambda: Output(lambda x: x), refusal(ContentError, "Output(Answer), or Output({...})")),
        (
            lambda: Output(partial(search)),
            refusal(ContentError, "Output(Answer), or Output({...})"),
        ),
        (lambda: Output("text"), refusal(ContentError, "Output(Answer), or Output({...})")),
        (lambda: Output(Answer, strict=1), refusal(OptionError, "write True or False")),  # type: ignore[call-overload]
        (lambda: Output(Answer, strict=None), refusal(OptionError, "write True or False")),  # type: ignore[call-overload]
        (lambda: Output(Answer, nam="x"), refusal(OptionError, "did you mean 'name'?")),  # type: ignore[call-overload]
        (
            lambda: Output(Plain),
            refusal(ContentError, "use plain types, dataclasses, TypedDicts or pydantic models"),
        ),
    ],
)
def test_refusals(write: Callable[[], object], expected: Failed) -> None:
    """What is no tool and no output is refused on its line, and leaves the block as it was."""
    assert expected == failed(write)


def test_the_lines_of_an_error() -> None:
    """An error about a function names the line of the tool and that of the function."""

    def write() -> None:
        Tool(unbound)

    error = raised(ContentError, write)
    line = f"{unbound.__code__.co_filename}:{unbound.__code__.co_firstlineno}"
    assert (*lines_of(write, 1), line) == error.at


@pytest.mark.parametrize("node", [Tool(search), Output(Answer)])
def test_values(node: Any) -> None:
    """They are nodes as all others: equal, printed, copied and saved by what they say."""
    tree = Timeline(node)
    saved = pickle.loads(pickle.dumps(tree))
    assert (tree, tree, repr(tree)) == (saved, copy.deepcopy(tree), repr(saved))


def test_deep_schemas() -> None:
    """A schema of 199 levels is kept, compared and saved; a deeper one is refused."""
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(99):
        schema = {"type": "object", "properties": {"a": schema}}
    tool = Timeline(Tool(name="deep", input_schema=schema))
    assert tool == pickle.loads(pickle.dumps(tool))
    deeper = {"type": "object", "properties": {"a": schema}}
    error = raised(ContentError, lambda: Tool(name="deep", input_schema=deeper))
    assert (True, 1) == (error.what.endswith("is nested deeper than 200 levels"), len(error.at))


@pytest.mark.parametrize(
    "provider",
    ["openai", "openai_responses", "openai_compatible", "anthropic", "gemini", "bedrock"],
)
def test_a_schema_of_the_deepest_level_is_sent(provider: str) -> None:
    """The levels that a payload adds around the schema of a tool do not count."""
    data: Any = 1
    for _ in range(199):
        data = [data]
    tool = Tool(name="deep", input_schema={"type": "object", "x": data})
    assert render(Timeline(tool, User("a")), provider=provider).payload()
