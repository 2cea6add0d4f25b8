"""Signatures: what a function takes, and what its docstring says it does."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import pytest
from pydantic import BaseModel, Field

from promptdsl import ContentError
from tests.internals import Signature, signature_of

if TYPE_CHECKING:
    from decimal import Decimal as Unknown

INTEGER = {"type": "integer"}


def schema(required: list[str], **properties: Any) -> dict[str, Any]:
    """Return the schema of an object."""
    made = {"type": "object", "properties": properties}
    return {**made, "required": required} if required else made


class Location(BaseModel):
    """Where it is."""

    city: str


def google(query: str, place: Location, limit: int = 3) -> list[str]:
    """Search the index.

    It is large.

    Args:
        query: What to
            look for.
        place: The place.

    Returns:
        What was found.
    """
    return [query, place.city][:limit]


def numpy(query: str) -> str:
    """Search the index.

    Parameters
    ----------
    query : str
        What to look for.
    """
    return query


def rest(query: str) -> str:
    """Search the index.

    :param query: What to look for.
    """
    return query


async def waiting(query: Annotated[str, Field(description="The field's words.")]) -> str:
    """Search the index.

    Args:
        query: The docstring's words.
    """
    return query


def silent(a, b=None):  # type: ignore[no-untyped-def]  # noqa: D103 (as most are)
    return a or b


def spelled(a: "int", b: "Location | None" = None) -> "Unknown":
    """Take strings."""
    return a or b  # type: ignore[return-value]


class Index:
    """An index."""

    def search(self, a: int) -> int:
        """Search it."""
        return a

    @classmethod
    def of(cls, a: int) -> int:
        """Make one."""
        return a

    def __call__(self, a: int) -> int:
        """Find one."""
        return a


class Caller:  # noqa: D101 (its method says it)
    def __call__(self, a: int) -> int:
        """Call it."""
        return a


def fields(
    must: str = Field(description="It must be."),
    may: int = Field(3, description="It may be."),
    made: list[int] = Field(default_factory=list),  # noqa: B008 (as its users write it)
    named: Annotated[int, Field(alias="called")] = Field(0, alias="known"),
) -> object:
    """Take fields."""
    return must, may, made, named


def endless(most: float = inf) -> float:
    """Take a number."""
    return most


def free(cls, self):  # type: ignore[no-untyped-def]
    """Take a class."""
    return cls, self


def both(x: int, y: int) -> int:
    """Add them.

    Parameters
    ----------
    x, y : int
        Two numbers.
    """
    return x + y


def titled(query: str) -> str:
    """Args:
    query: What to
        look for.

    """  # noqa: D205
    return query


def google_notes(query: str) -> str:
    """Search the index.

    Warning:
        It is large.

    Args:
        query: What to
            look for.

    Returns:
        What was found.

    Note:
        It is slow.

        Very.

    Raises:
        ValueError: Never.

    Call it once.
    """
    return query


def numpy_notes(query: str) -> str:
    """Search the index.

    Parameters
    ----------
    query : str
        What to look for.

    Returns
    -------
    str
        What was found.

    Warnings
    --------
    It is slow.

    See Also
    --------
    google
    """
    return query


@dataclass
class Silent:  # noqa: D101 (dataclasses writes one)
    a: int


@dataclass
class Spoken:
    """A pair (of one)"""  # noqa: D400

    a: int


class Row(NamedTuple):  # noqa: D101 (Python writes one)
    a: int


class Undocumented(BaseModel):  # noqa: D101 (pydantic has one)
    a: int


class Described(BaseModel):
    """What has fields."""

    many: Annotated[int, Field(gt=1)] = Field(3, description="how many")
    known: str = Field(description="its name", alias="called")
    made: list[int] = Field(default_factory=list)


class Mute:  # noqa: D101 (nobody writes one)
    def __call__(self, a: int) -> int:  # noqa: D102
        return a


class Heir(Index):  # noqa: D101 (its methods are those it heard of)
    def search(self, a: int) -> int:  # noqa: D102
        return a


def traced(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does the same."""

    @wraps(function)
    def traced_function(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return traced_function


PLACE = {
    "type": "object",
    "description": "Where it is.",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
NUMBERS = {**INTEGER, "description": "Two numbers."}
GOOGLE_NOTES = """\
Search the index.

Warning:
    It is large.

Note:
    It is slow.

    Very.

Call it once."""
NUMPY_NOTES = "Search the index.\n\nWarnings\n--------\nIt is slow."
QUERY = {"type": "string", "description": "What to look for."}
PLACES = {"$ref": "#/$defs/Location", "description": "The place."}


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (
            google,
            Signature(
                "google",
                "Search the index.\n\nIt is large.",
                {
                    "$defs": {"Location": PLACE},
                    **schema(
                        ["query", "place"],
                        query=QUERY,
                        place=PLACES,
                        limit={**INTEGER, "default": 3},
                    ),
                },
            ),
        ),
        (numpy, Signature("numpy", "Search the index.", schema(["query"], query=QUERY))),
        (rest, Signature("rest", "Search the index.", schema(["query"], query=QUERY))),
        (
            waiting,
            Signature(
                "waiting",
                "Search the index.",
                schema(["query"], query={"type": "string", "description": "The field's words."}),
            ),
        ),
        (silent, Signature("silent", None, schema(["a"], a={}, b={"default": None}))),
        (Index().search, Signature("search", "Search it.", schema(["a"], a=INTEGER))),
        (Index.of, Signature("of", "Make one.", schema(["a"], a=INTEGER))),
        (Index(), Signature("Index", "An index.", schema(["a"], a=INTEGER))),
        (Caller(), Signature("Caller", "Call it.", schema(["a"], a=INTEGER))),
        (
            Location,
            Signature("Location", "Where it is.", schema(["city"], city={"type": "string"})),
        ),
        (partial(numpy), Signature("numpy", "Search the index.", schema(["query"], query=QUERY))),
        (partial(numpy, query="x"), Signature("numpy", "Search the index.", schema([]))),
        (partial(partial(silent, 1), b=2), Signature("silent", None, schema([]))),
        (traced(rest), Signature("rest", "Search the index.", schema(["query"], query=QUERY))),
        (
            fields,
            Signature(
                "fields",
                "Take fields.",
                schema(
                    ["must"],
                    must={"type": "string", "description": "It must be."},
                    may={**INTEGER, "description": "It may be.", "default": 3},
                    made={"type": "array", "items": INTEGER},
                    named={**INTEGER, "default": 0},
                ),
            ),
        ),
        (
            Described,
            Signature(
                "Described",
                "What has fields.",
                schema(
                    ["called"],
                    many={
                        **INTEGER,
                        "exclusiveMinimum": 1,
                        "description": "how many",
                        "default": 3,
                    },
                    called={"type": "string", "description": "its name"},
                    made={"type": "array", "items": INTEGER},
                ),
            ),
        ),
        (endless, Signature("endless", "Take a number.", schema([], most={"type": "number"}))),
        (free, Signature("free", "Take a class.", schema(["cls", "self"], cls={}, self={}))),
        (both, Signature("both", "Add them.", schema(["x", "y"], x=NUMBERS, y=NUMBERS))),
        (titled, Signature("titled", None, schema(["query"], query=QUERY))),
        (
            google_notes,
            Signature("google_notes", GOOGLE_NOTES, schema(["query"], query=QUERY)),
        ),
        (numpy_notes, Signature("numpy_notes", NUMPY_NOTES, schema(["query"], query=QUERY))),
    ],
)
def test_functions(function: Callable[..., Any], expected: Signature) -> None:
    """A function tells its name, what it does, and what it takes."""
    assert expected == signature_of(function)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        *((Silent, None), (Row, None), (Undocumented, None), (Mute(), None)),
        *((Mute().__call__, None), (Caller().__call__, "Call it."), (Spoken, "A pair (of one)")),
        (Heir().search, "Search it."),
    ],
)
def test_docstrings_that_nobody_wrote(function: Callable[..., Any], expected: str | None) -> None:
    """What a library or Python says of all classes or functions describes none."""
    assert expected == signature_of(function).description


def test_spelled_annotations() -> None:
    """Annotations that are strings are read; what a function returns does not matter."""
    optional = {"anyOf": [{"$ref": "#/$defs/Location"}, {"type": "null"}], "default": None}
    expected = {"$defs": {"Location": PLACE}, **schema(["a"], a=INTEGER, b=optional)}
    assert expected == signature_of(spelled).input_schema


class Plain:
    """No type of data."""


def stars(*words: str) -> tuple[str, ...]:
    """Take any number."""
    return words


def options(**words: str) -> dict[str, str]:
    """Take any name."""
    return words


def unnamed(word: str, /) -> str:
    """Take a word without a name."""
    return word


def unknown(a: int, b: "Unknown") -> "Unknown":
    """Take what is imported for checkers only."""
    return b or a  # type: ignore[return-value]


def opaque(a: int, b: Plain) -> Plain:
    """Take what has no schema."""
    return b or a  # type: ignore[return-value]


def broken(a: "1 +") -> int:  # type: ignore[valid-type]  # noqa: F722
    """Take what is no type."""
    return a


def strange(a: "1 / 0") -> object:  # type: ignore[valid-type]
    """Take what cannot be worked out."""
    return a


def place(function: Callable[..., Any]) -> str:
    """Return the line of a function as errors name it."""
    code = function.__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (stars, "a model cannot fill *words"),
        (options, "a model cannot fill **words"),
        (unnamed, "the parameter 'word' cannot be passed by name"),
        (Index.search, "the parameter 'self' has no object"),
        (unknown, "the annotation of 'b' cannot be found: name 'Unknown' is not defined"),
        (
            opaque,
            "the parameter 'b' has no JSON schema: Unable to generate pydantic-core schema for "
            "<class 'tests.test_signatures.Plain'>",
        ),
    ],
)
def test_what_a_model_cannot_fill(function: Callable[..., Any], what: str) -> None:
    """Parameters that cannot be given by name, or have no schema, are named with the line."""
    with pytest.raises(ContentError) as caught:
        signature_of(function)
    assert (what, (place(function),), True) == (
        caught.value.what,
        caught.value.at,
        bool(caught.value.fix),
    )


@pytest.mark.parametrize("function", [broken, strange])
def test_an_annotation_that_is_no_code(function: Callable[..., Any]) -> None:
    """An annotation that cannot be read is told by its parameter."""
    with pytest.raises(ContentError, match=r"the annotation of 'a' cannot be found: "):
        signature_of(function)


def test_functions_are_read_once() -> None:
    """What was found of a function or method is kept, of each its own."""
    functions = (google, Index().search, Index.search)
    with pytest.raises(ContentError):
        signature_of(functions[2])
    first = [signature_of(function) for function in functions[:2]]
    assert [True, True] == [
        signature_of(function) is found
        for function, found in zip((google, Index().search), first, strict=True)
    ]


def changing(a: int, *, b: int = 1) -> int:
    """Do one thing."""
    return a + b


@pytest.mark.parametrize("function", [changing, traced(changing)])
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("__doc__", "Do another."), ("Do another.", INTEGER, 1)),
        (("__annotations__", {"a": str}), ("Do one thing.", {"type": "string"}, 1)),
        (("__kwdefaults__", {"b": 2}), ("Do one thing.", INTEGER, 2)),
    ],
)
def test_a_function_that_changes(
    function: Any, change: tuple[str, Any], expected: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function whose docstring, annotations or defaults were changed is read again."""
    signature_of(function)
    monkeypatch.setattr(getattr(function, "__wrapped__", function), *change)
    monkeypatch.setattr(function, *change)
    found = signature_of(function)
    properties = found.input_schema["properties"]
    assert expected == (found.description, properties["a"], properties["b"]["default"])


def test_a_class_outside_of_modules() -> None:
    """Annotations of a class are looked up in the module it is of."""

    class Late:
        def __init__(self, place: "Location") -> None:
            """Take a place."""

    expected = schema(["place"], place={"$ref": "#/$defs/Location"})
    assert {"$defs": {"Location": PLACE}, **expected} == signature_of(Late).input_schema


def test_a_function_that_tells_nothing() -> None:
    """A function of the interpreter that has no signature is refused, without a line."""
    with pytest.raises(ContentError, match=r"^the parameters of max cannot be read: "):
        signature_of(max)


def test_without_the_library_that_reads_docstrings() -> None:
    """Where it is not installed the error names what to install."""
    code = (
        "import sys\n"
        "sys.modules['docstring_parser'] = None\n"
        "from promptdsl import ContentError, Tool\n"
        "def search(): 'Search.'\n"
        "try:\n"
        "    Tool(search)\n"
        "except ContentError as error:\n"
        "    print(error.what, error.fix, sep='\\n')\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (
        "docstring-parser, which reads docstrings, is not installed\n"
        "install the extra `tools` of promptdsl, or give a JSON schema\n"
    ) == run.stdout
