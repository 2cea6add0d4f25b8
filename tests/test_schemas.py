"""JSON schemas: of types, closed as strict outputs demand, and whether one is."""

import subprocess
import sys
from dataclasses import dataclass, field
from enum import Enum
from math import inf, nan
from pathlib import Path
from typing import Annotated, Any, Literal
from typing import TypedDict as StandardTypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from promptdsl import ContentError
from tests.internals import MAXIMUM_REFERENCES, check_shape, closed, inlined, is_closed, type_schema

ROOT = Path(__file__).resolve().parents[1]


class Color(Enum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


class Cat(BaseModel):
    """One of two."""

    kind: Literal["cat"]


class Dog(BaseModel):
    """The other."""

    kind: Literal["dog"]


class Person(BaseModel):
    """Somebody."""

    title: str = Field(title="Form of address")
    color: Color = Color.RED


class Titled(BaseModel):
    """What has a title."""

    model_config = ConfigDict(title="A title of its own")


@dataclass
class Point:
    """A place."""

    x: int
    y: int = 0


class Pair(TypedDict):
    """Two places."""

    one: Point
    other: Point


class Chain(BaseModel):
    """What may hold itself."""

    next: "Chain | None" = Field(None, description="the next one")


class Holder(BaseModel):
    """What holds others."""

    animal: Annotated[Cat | Dog, Field(discriminator="kind")]
    point: Point = Field(Point(0), description="where it is")


class Counts(BaseModel):
    """A number by name."""

    by_name: dict[str, int]


@dataclass
class Tagged:
    """What has tags."""

    tags: set[str] = field(default_factory=lambda: {"b", "a", "c", "d"})


STRING = {"type": "string"}
CLOSED_POINT = {
    "description": "A place.",
    "type": "object",
    "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
    "required": ["x", "y"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (int, {"type": "integer"}),
        (list[str], {"type": "array", "items": STRING}),
        (Color, {"description": "A colour.", "enum": ["red", "blue"], "type": "string"}),
        (
            Point,
            {
                "description": "A place.",
                "type": "object",
                "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
                "required": ["x"],
            },
        ),
        (
            Titled,
            {
                "description": "What has a title.",
                "type": "object",
                "properties": {},
                "title": "A title of its own",
            },
        ),
        (
            Person,
            {
                "$defs": {
                    "Color": {
                        "description": "A colour.",
                        "enum": ["red", "blue"],
                        "type": "string",
                    }
                },
                "description": "Somebody.",
                "type": "object",
                "properties": {
                    "title": {"type": "string", "title": "Form of address"},
                    "color": {"$ref": "#/$defs/Color", "default": "red"},
                },
                "required": ["title"],
            },
        ),
    ],
)
def test_types(kind: Any, expected: dict[str, Any]) -> None:
    """A type has the schema that pydantic makes, with the titles its author wrote and no other."""
    assert expected == type_schema(kind, "it")


class Plain:
    """No type of data."""


class Failing:
    """What fails when it is asked."""

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: Any) -> Any:
        """Raise what it likes."""
        raise RuntimeError("out of order")


@pytest.mark.parametrize(
    "kind",
    [
        *(Plain, "Nowhere", 3, Failing),
        *(Annotated[str, Field(pattern="(")], Annotated[int, Field(gt="a")]),
    ],
)
def test_no_schema(kind: Any) -> None:
    """What has no schema is refused by the name it is given."""
    with pytest.raises(ContentError, match=r"^the answer has no JSON schema: "):
        type_schema(kind, "the answer")


class Old(StandardTypedDict):
    """A mapping of the standard library."""

    a: int


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="pydantic takes it then")
def test_the_typed_dict_of_an_older_python() -> None:
    """Before Python 3.12 the error says where to import TypedDict from."""
    with pytest.raises(ContentError) as caught:
        type_schema(Old, "it")
    assert "from typing_extensions import TypedDict" == caught.value.fix


SETS = """
from dataclasses import dataclass, field
from typing import Annotated, Any
from pydantic import BaseModel, Field, RootModel
from tests.internals import type_schema

@dataclass(frozen=True)
class Tagged:
    tags: Any = frozenset("dbca")

class Config(BaseModel):
    tags: set[str] = Field({*"dbca"}, alias="labels")

class Names(RootModel[set[str]]):
    pass

for default in (
    {*"dbca"},
    {10, 9},
    {"k": {*"dbca"}},
    [({*"dbca"},)],
    {frozenset("dbca"), frozenset("fe")},
    {*"dbca", 1},
    Tagged(),
    {Tagged(), Tagged("x")},
    [Config()],
    [Names({*"dbca"})],
):
    print(type_schema(Annotated[Any, Field(default=default)], "it")["default"])
"""
SORTED = """\
['a', 'b', 'c', 'd']
[9, 10]
{'k': ['a', 'b', 'c', 'd']}
[[['a', 'b', 'c', 'd']]]
[['a', 'b', 'c', 'd'], ['e', 'f']]
['a', 'b', 'c', 'd', 1]
{'tags': ['a', 'b', 'c', 'd']}
[{'tags': 'x'}, {'tags': ['a', 'b', 'c', 'd']}]
[{'labels': ['a', 'b', 'c', 'd']}]
[['a', 'b', 'c', 'd']]
"""


def test_sets_have_this_order(capsys: pytest.CaptureFixture[str]) -> None:
    """Sets in a default are in this order, with the hash seed of this process."""
    exec(SETS, {"__name__": __name__})
    assert SORTED == capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_sets_have_one_order(seed: str) -> None:
    """Sets in a default are in the same order whatever the hash seed is, however deep."""
    run = subprocess.run(
        [sys.executable, "-c", SETS],
        cwd=ROOT,
        env={"PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert SORTED == run.stdout


class Size(Enum):
    """A size."""

    LARGE = "l"
    SMALL = "s"


class Shirt(BaseModel):
    """What has two enumerations."""

    color: Color
    sizes: list[Size]


def test_two_enumerations() -> None:
    """Neither of two enumerations has a title that only repeats its name."""
    assert {
        "Color": {"description": "A colour.", "enum": ["red", "blue"], "type": "string"},
        "Size": {"description": "A size.", "enum": ["l", "s"], "type": "string"},
    } == type_schema(Shirt, "f")["$defs"]


class Shelf(BaseModel):
    """What has sets in two defaults."""

    by_name: dict[str, set[str]] = {"x": {*"gfedcba"}, "y": {*"ponmlkj"}}
    others: set[str] = {*"wvutsrq"}


def test_sets_in_two_defaults_are_sorted() -> None:
    """Each set of a mapping, and that of another field, is in order in its own default."""
    properties: Any = type_schema(Shelf, "f")["properties"]
    assert [{"x": [*"abcdefg"], "y": [*"jklmnop"]}, [*"qrstuvw"]] == [
        properties[name]["default"] for name in ("by_name", "others")
    ]


@pytest.mark.parametrize("default", [object(), inf, nan, [-inf], {"a": {nan}}, {object()}])
def test_a_default_without_json(default: object) -> None:
    """A default that JSON has no word for is left out, wherever it says it."""
    kind = Annotated[Any, Field(default=default)]
    assert {} == type_schema(kind, "it")


def test_without_pydantic() -> None:
    """Where pydantic is not installed the error names what to install."""
    code = (
        "import sys\n"
        "sys.modules['pydantic'] = None\n"
        "from promptdsl import ContentError, Output\n"
        "try:\n"
        "    Output(int)\n"
        "except ContentError as error:\n"
        "    print(error.what, error.fix, sep='\\n')\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (
        "pydantic, which makes the schema of int, is not installed\n"
        "install the extra `tools` of promptdsl, or give a JSON schema\n"
    ) == run.stdout


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Point, CLOSED_POINT),
        (
            Pair,
            {
                "$defs": {"Point": CLOSED_POINT},
                "description": "Two places.",
                "type": "object",
                "properties": {
                    "one": {"$ref": "#/$defs/Point"},
                    "other": {"$ref": "#/$defs/Point"},
                },
                "required": ["one", "other"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_closed(kind: Any, expected: dict[str, Any]) -> None:
    """A closed schema requires all properties and takes no other."""
    assert expected == closed(type_schema(kind, "it"))


def test_a_choice_by_a_field() -> None:
    """A choice that a field decides is a choice; a reference with a description is one, too."""
    animal, point = closed(type_schema(Holder, "it"))["properties"].values()
    assert {"anyOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]} == animal
    place = {"anyOf": [{"$ref": "#/$defs/Point"}], "description": "where it is"}
    assert {**place, "default": {"x": 0, "y": 0}} == point


def test_a_type_that_holds_itself() -> None:
    """The root of a closed schema is an object, also where the type holds itself."""
    of_next = {
        "anyOf": [{"$ref": "#/$defs/Chain"}, {"type": "null"}],
        "default": None,
        "description": "the next one",
    }
    chain = {
        "description": "What may hold itself.",
        "type": "object",
        "properties": {"next": of_next},
        "required": ["next"],
        "additionalProperties": False,
    }
    assert {**chain, "$defs": {"Chain": chain}} == closed(type_schema(Chain, "it"))


@pytest.mark.parametrize("root", ["#/$defs/a", "#/$defs/b", "#/$defs/missing", "#/elsewhere"])
def test_a_root_that_leads_nowhere(root: str) -> None:
    """References that go round, or to nothing, end."""
    schema = {"$ref": root, "$defs": {"a": {"$ref": "#/$defs/a"}, "b": True}}
    assert not is_closed(closed(schema))


@pytest.mark.parametrize("kind", [Point, Pair, Chain, Holder, Person, Titled, Cat])
def test_what_was_closed_is(kind: Any) -> None:
    """The closed schema of a type keeps the rules."""
    assert is_closed(closed(type_schema(kind, "it")))


@pytest.mark.parametrize("kind", [Counts, int, list[Point], Tagged | None, tuple[int, str]])
def test_what_cannot_be_closed(kind: Any) -> None:
    """A dictionary of any keys stays open, and what is no object has no closed form."""
    assert not is_closed(closed(type_schema(kind, "it")))


def with_property(part: Any) -> dict[str, Any]:
    """Return a closed schema of one property."""
    return {
        "type": "object",
        "properties": {"a": part},
        "required": ["a"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "part",
    [
        STRING,
        {"type": ["string", "null"]},
        {"enum": ["a", 1]},
        {"const": 1},
        {"$ref": "#"},
        {"anyOf": [STRING, {"type": "null"}]},
        {"type": "array", "items": STRING},
        with_property(STRING),
    ],
)
def test_strict_parts(part: dict[str, Any]) -> None:
    """These parts keep the rules of strict outputs."""
    assert is_closed(with_property(part))


@pytest.mark.parametrize(
    "part",
    [
        {},
        True,
        {"$ref": "#", "description": "with more"},
        {"type": "array"},
        {"type": "array", "items": {}},
        {"type": "object"},
        {"type": ["object", "null"], "properties": {}},
        {**with_property(STRING), "required": []},
        {**with_property(STRING), "additionalProperties": True},
        {**with_property(STRING), "additionalProperties": STRING},
        {"allOf": [STRING]},
        {"oneOf": [STRING]},
        {"anyOf": [{}]},
    ],
)
def test_open_parts(part: Any) -> None:
    """These parts break the rules of strict outputs, wherever they stand."""
    schemas = (with_property(part), with_property(with_property(part)))
    assert [False, False] == [*map(is_closed, schemas)]


def test_an_open_definition() -> None:
    """A definition keeps the rules, too."""
    assert not is_closed({**with_property(STRING), "$defs": {"a": {"type": "object"}}})


@pytest.mark.parametrize("schema", [{}, STRING, {**with_property(STRING), "anyOf": [STRING]}])
def test_open_roots(schema: dict[str, Any]) -> None:
    """The root of a strict schema is an object and no choice."""
    assert not is_closed(schema)


NO_SCHEMAS: list[tuple[dict[str, Any], bool]] = [
    ({"type": "object", "properties": [1], "required": "a"}, True),
    ({"type": "object", "properties": {"a": 1}}, False),
    ({"type": "object", "properties": None}, True),
    ({"type": "object", "required": "a"}, True),
    ({"type": "object", "required": [1]}, True),
    (with_property({"type": "object", "properties": ["a"]}), False),
    ({"type": "object", "$defs": {"a": {"required": 1}}}, False),
]
"""What is no schema, and whether it is closed."""


@pytest.mark.parametrize("schema", [schema for schema, _ in NO_SCHEMAS])
def test_shapes(schema: dict[str, Any]) -> None:
    """Properties are schemas by name, and what is required is a list of names."""
    with pytest.raises(ContentError, match=r" in the schema is not a (mapping of names|list)"):
        check_shape(schema, "the schema")


@pytest.mark.parametrize("part", [True, {}, {"properties": {"properties": {}}}, {"required": []}])
def test_shapes_that_are_good(part: object) -> None:
    """A schema may be a boolean, and a property may have the name of a keyword."""
    check_shape(with_property(part), "the schema")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        *NO_SCHEMAS,
        (with_property({"anyOf": 1}), True),
        ({**with_property(STRING), "$defs": [1]}, True),
        ({**with_property(STRING), "required": [{}]}, False),
    ],
)
def test_what_is_no_schema_may_be_asked_for(schema: dict[str, Any], *, expected: bool) -> None:
    """It is never an error to ask whether a mapping that is no schema is closed."""
    assert expected is is_closed({"additionalProperties": False, **schema})


def nested(depth: int) -> dict[str, Any]:
    """Return a schema of objects in objects."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def test_deep() -> None:
    """Many objects in each other are closed and checked."""
    schema = nested(99)
    assert (False, True) == (is_closed(schema), is_closed(closed(schema)))


@given(st.integers(0, 5))
def test_closing_twice(depth: int) -> None:
    """Closing any closed schema again changes nothing, and never the schema it is given."""
    schema = nested(depth)
    once = closed(schema)
    assert (nested(depth), once) == (schema, closed(once))


# Definitions in the place of the references to them.

NAMES = st.sampled_from(["A", "B", "C"])
LEAVES = st.sampled_from([{"type": "string"}, {"type": "integer", "description": "n"}, {}])
REFERENCES = NAMES.map(lambda name: {"$ref": f"#/$defs/{name}"})
PARTS = st.recursive(
    LEAVES | REFERENCES | REFERENCES.map(lambda part: {**part, "description": "d"}),
    lambda parts: st.one_of(
        st.builds(lambda part: {"type": "array", "items": part}, parts),
        st.builds(lambda part, other: {"anyOf": [part, other]}, parts, parts),
        st.builds(lambda part: {"type": "object", "properties": {"$ref": part, "x": {}}}, parts),
    ),
    max_leaves=6,
)


def references(schema: object) -> list[object]:
    """Return all references in a schema, and its keys of definitions."""
    if isinstance(schema, list):
        return [reference for part in schema for reference in references(part)]
    if not isinstance(schema, dict):
        return []
    own = [it for key, it in schema.items() if key == "$defs" or (key == "$ref" and it != {})]
    named = schema.get("properties", {}).values()
    return [it for it in own if isinstance(it, str)] + [
        reference for part in [*schema.values(), *named] for reference in references(part)
    ]


@given(part=PARTS, definitions=st.dictionaries(NAMES, PARTS))
def test_inlined(part: Any, definitions: dict[str, Any]) -> None:
    """No reference is left, the schema itself is not changed, and again changes nothing."""
    schema = {"type": "object", "properties": {"p": part}, "$defs": definitions}
    before = repr(schema)
    once, _ = inlined(schema)
    assert ([], False, before) == (references(once), "$defs" in once, repr(schema))
    assert (once, True) == inlined(once)


@pytest.mark.parametrize(
    ("definitions", "expected"),
    [
        ({"A": {"type": "string"}}, ({"type": "string", "description": "d"}, True)),
        (
            {"A": {"type": "string", "description": "that of all uses"}},
            ({"type": "string", "description": "d"}, True),
        ),
        (
            {"A": {"$ref": "#/$defs/B"}, "B": {"type": "null"}},
            ({"type": "null", "description": "d"}, True),
        ),
        ({"A": {"items": {"$ref": "#/$defs/A"}}}, ({"items": {}, "description": "d"}, False)),
        ({"A": {"$ref": "#/$defs/A"}}, ({"description": "d"}, False)),
        ({}, ({"description": "d"}, False)),
    ],
)
def test_definitions(definitions: Any, expected: Any) -> None:
    """A reference keeps the keys beside it; a definition in itself takes any value."""
    part = {"$ref": "#/$defs/A", "description": "d"}
    schema = {"type": "object", "properties": {"p": part}, "$defs": definitions}
    whole, is_whole = inlined(schema)
    assert expected == (whole["properties"]["p"], is_whole)


def test_definitions_that_explode() -> None:
    """Definitions that name each other twice are replaced only so often."""
    twice = {f"D{n}": {"anyOf": [{"$ref": f"#/$defs/D{n + 1}"}] * 2} for n in range(60)}
    schema = {"type": "object", "properties": {"p": {"$ref": "#/$defs/D0"}}, "$defs": twice}
    whole, is_whole = inlined(schema)
    assert (False, True) == (is_whole, str(whole).count("anyOf") <= MAXIMUM_REFERENCES)
