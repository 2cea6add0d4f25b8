"""Signatures: what a function takes, and what its docstring says it does."""

import subprocess
import sys
from collections.abc import Callable
from functools import partial, wraps
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from pydantic import BaseModel, Field

from promptdsl import ContentError
from promptdsl.signatures import Signature, signature_of

if TYPE_CHECKING:
    from decimal import Decimal as Unknown

INTEGER = {"type": "integer"}


def schema(required: list[str], **properties: Any) -> dict[str, Any]:
    """Return the schema of an object."""
    made = {"type": "object", "properties": properties}
    return {**made, "required": required} if required else made


class Place(BaseModel):
    """Where it is."""

    city: str


def google(query: str, place: Place, limit: int = 3) -> list[str]:
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


def spelled(a: "int", b: "Place | None" = None) -> "Unknown":
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
QUERY = {"type": "string", "description": "What to look for."}
PLACES = {"$ref": "#/$defs/Place", "description": "The place."}


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (
            google,
            Signature(
                "google",
                "Search the index.\n\nIt is large.",
                {
                    "$defs": {"Place": PLACE},
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
        (Place, Signature("Place", "Where it is.", schema(["city"], city={"type": "string"}))),
        (partial(numpy), Signature("numpy", "Search the index.", schema(["query"], query=QUERY))),
        (partial(numpy, query="x"), Signature("numpy", "Search the index.", schema([]))),
        (partial(partial(silent, 1), b=2), Signature("silent", None, schema([]))),
        (traced(rest), Signature("rest", "Search the index.", schema(["query"], query=QUERY))),
    ],
)
def test_functions(function: Callable[..., Any], expected: Signature) -> None:
    """A function tells its name, what it does, and what it takes."""
    assert expected == signature_of(function)


def test_spelled_annotations() -> None:
    """Annotations that are strings are read; what a function returns does not matter."""
    optional = {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}], "default": None}
    expected = {"$defs": {"Place": PLACE}, **schema(["a"], a=INTEGER, b=optional)}
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


def place(function: Callable[..., Any]) -> str:
    """Return the line of a function as errors name it."""
    code = function.__code__
    return f"{code.co_filename}:{code.co_firstlineno}"


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (stars, "a model cannot fill *words"),
        (options, "a model cannot fill **words"),
        (unnamed, "the parameter 'word' has no name for callers"),
        (Index.search, "the parameter 'self' is not bound"),
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


def test_an_annotation_that_is_no_code() -> None:
    """An annotation that cannot be read is told by its parameter."""
    with pytest.raises(ContentError, match=r"the annotation of 'a' cannot be found: "):
        signature_of(broken)


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


def test_a_class_outside_of_modules() -> None:
    """Annotations of a class are looked up in the module it is of."""

    class Late:
        def __init__(self, place: "Place") -> None:
            """Take a place."""

    expected = schema(["place"], place={"$ref": "#/$defs/Place"})
    assert {"$defs": {"Place": PLACE}, **expected} == signature_of(Late).input_schema


def test_a_function_that_tells_nothing() -> None:
    """A function of the interpreter that has no signature is refused, without a line."""
    with pytest.raises(ContentError, match=r"^the parameters of max cannot be read: "):
        signature_of(max)


def test_without_the_library_that_reads_docstrings() -> None:
    """Where it is not installed the error names what to install."""
    code = (
        "import sys\n"
        "sys.modules['docstring_parser'] = None\n"
        "from promptdsl.errors import ContentError\n"
        "from promptdsl.signatures import signature_of\n"
        "def search(): 'Search.'\n"
        "try:\n"
        "    signature_of(search)\n"
        "except ContentError as error:\n"
        "    print(error.what, error.fix, sep='\\n')\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (
        "docstrings are read by docstring-parser, which is not installed\n"
        "pip install 'promptdsl[tools]', or give a JSON schema\n"
    ) == run.stdout
