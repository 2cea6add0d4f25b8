"""What may be said of a component beside its content: ids, keywords and their values."""

from collections.abc import Callable
from enum import Enum
from typing import Any

import pytest

from promptdsl import (
    Assistant,
    Developer,
    Ephemeral,
    Event,
    Fragment,
    Grounding,
    History,
    Image,
    Note,
    OptionError,
    Section,
    System,
    Text,
    Timeline,
    ToolMessage,
    ToolResult,
    ToolUse,
    Turn,
    User,
    Value,
)
from tests.places import places, raised

URL = "https://example.com/x.png"


# Ids.


@pytest.mark.parametrize("id", ["a", "A", "_", "a1", "a.b", "a-b", "_9", "rules.v2-final_"])
def test_ids_are_names(id: str) -> None:
    """An id starts with a letter or _, then has letters, digits, _, . and -."""
    assert (id, id) == (Section(id, "x").options.id, User("x", id=id).options.id)


@pytest.mark.parametrize(
    "id", ["", "1a", "-a", ".a", "a b", "a/b", "é", "aé", "a\n", "a>", 'a"', 3, b"a", ["a"]]
)
def test_other_ids_are_refused(id: Any) -> None:
    """What is no id is an error that says what one is, for every component that has one."""
    errors = [
        raised(OptionError, lambda: Section(id, "x")),
        raised(OptionError, lambda: Grounding(id, "x")),
        raised(OptionError, lambda: User("x", id=id)),
    ]
    rule = "an id starts with a letter or _, then letters, digits, _ . -"
    assert [True] * 3 == [rule in error.fix for error in errors]


# Keywords.


KEYWORDS: dict[str, tuple[Callable[..., Any], str, str]] = {
    "Timeline": (lambda **k: Timeline("x", **k), "transfomation", "'transformation'"),
    "System": (lambda **k: System("x", **k), "audiense", "'audience'"),
    "Developer": (lambda **k: Developer("x", **k), "metdata", "'metadata'"),
    "User": (lambda **k: User("x", **k), "nam", "'name'"),
    "Assistant": (lambda **k: Assistant("x", **k), "merg", "'merge'"),
    "ToolMessage": (lambda **k: ToolMessage("1", "x", **k), "is_eror", "'is_error'"),
    "Event": (lambda **k: Event("x", **k), "tag", "'tags'"),
    "Ephemeral": (lambda **k: Ephemeral("x", **k), "positon", "'position'"),
    "Grounding": (lambda **k: Grounding("g", "x", **k), "titel", "'title'"),
    "Section": (lambda **k: Section("s", "x", **k), "titel", "'title'"),
    "Fragment": (lambda **k: Fragment("x", **k), "id", ""),
    "Note": (lambda **k: Note("x", **k), "id", ""),
    "Text": (lambda **k: Text("x", **k), "bold", ""),
    "Value": (lambda **k: Value("x", **k), "label", ""),
    "Image.from_url": (lambda **k: Image.from_url(URL, **k), "detial", "'detail'"),
    "Image.from_path": (lambda **k: Image.from_path("x", **k), "media_typ", "'media_type'"),
    "Image.from_bytes": (lambda **k: Image.from_bytes(b"x", **k), "titel", "'title'"),
    "ToolUse": (lambda **k: ToolUse("t", {}, id="1", **k), "idd", "'id'"),
    "ToolResult": (lambda **k: ToolResult("1", "x", **k), "error_typ", "'error_type'"),
    "History": (lambda **k: History([], **k), "keep", ""),
    "History.from_openai": (lambda **k: History.from_openai([], **k), "keep", ""),
    "History.from_anthropic": (lambda **k: History.from_anthropic([], **k), "keep", ""),
    "Turn": (lambda **k: Turn("user", "x", **k), "nam", "'name'"),
    "Turn ephemeral": (lambda **k: Turn("ephemeral", "x", **k), "titel", "'title'"),
}


@pytest.mark.parametrize(("write", "name", "near"), KEYWORDS.values(), ids=KEYWORDS)
def test_an_unknown_keyword_is_an_error(write: Callable[..., Any], name: str, near: str) -> None:
    """An unknown keyword is a TypeError at the author's line with the nearest known name."""
    with pytest.raises(TypeError) as caught:
        write(**{name: 1})
    error = caught.value
    assert isinstance(error, OptionError)
    assert places(write, 0) == error.at
    assert f"takes no {name!r}" in error.what
    assert (f"did you mean {near}?" if near else "it takes none") == error.fix


@pytest.mark.parametrize("name", ["priority", "keep", "step", "weight", "ttl", "cach"])
@pytest.mark.parametrize("write", [System, User, Ephemeral, Timeline, Fragment])
def test_what_would_have_no_effect_is_unknown(write: Any, name: str) -> None:
    """An option that nothing would act on is refused, not ignored."""
    assert f"takes no {name!r}" in raised(OptionError, lambda: write("x", **{name: 1})).what


@pytest.mark.parametrize("write", [Ephemeral, lambda *c, **k: Grounding("g", *c, **k)])
def test_request_only_turns_have_no_cache(write: Any) -> None:
    """What is sent once cannot be marked for a cache."""
    assert "takes no 'cache'" in raised(OptionError, lambda: write("x", cache=True)).what


@pytest.mark.parametrize("write", [Section, Grounding])
def test_an_id_is_given_first(write: Any) -> None:
    """What has its id as the first argument does not take it as a keyword, nor suggest it."""
    error = raised(OptionError, lambda: write("a", "x", id="b"))
    assert "takes no 'id'" in error.what
    assert "'id'" not in error.fix


@pytest.mark.parametrize(
    ("options", "what", "fix"),
    [
        ({"name": 3}, "User(name=3)", "write a string"),
        ({"metadata": [1]}, "User(metadata=[1])", "write a mapping"),
        ({"tags": "ab"}, "User(tags='ab')", 'write a tuple of strings: tags=("a", "b")'),
        ({"tags": [1]}, "User(tags=[1])", 'write a tuple of strings: tags=("a", "b")'),
        ({"audience": "us"}, "User(audience='us')", "one of 'all', 'model', 'people'"),
        ({"cache": "1h"}, "User(cache='1h')", "write True or False"),
        ({"cache": 1}, "User(cache=1)", "write True or False"),
        ({"merge": None}, "User(merge=None)", "write True or False"),
    ],
)
def test_a_value_an_option_cannot_take_is_an_error(
    options: dict[str, Any], what: str, fix: str
) -> None:
    """A wrong value of an option is an error at its line that shows it and says what to write."""

    def write() -> None:
        User("x", **options)

    error = raised(OptionError, write)
    assert places(write, 1) == error.at
    assert (what, fix) == (error.what, error.fix)


@pytest.mark.parametrize("tags", [("a", "b"), ["a", "b"]])
def test_tags_are_a_tuple(tags: Any) -> None:
    """Tags are kept as a tuple, however they were given."""
    assert ("a", "b") == User("x", tags=tags).options.tags


def test_options_that_say_nothing_say_nothing() -> None:
    """``None`` for an id, a name or metadata is as if it had not been given."""
    assert User("x") == User("x", id=None, name=None, metadata=None)


class Word(str, Enum):  # noqa: UP042 (StrEnum formats as its value)
    """Strings that format as something else."""

    ID = "a1"

    def __str__(self) -> str:
        return "FORGED"


def test_strings_are_exact() -> None:
    """Ids, names and tags that are of a kind of string are the strings they hold."""
    options = User("x", id=Word.ID, name=Word.ID, tags=(Word.ID,)).options
    assert ("a1", "a1", "a1") == (f"{options.id}", f"{options.name}", f"{options.tags[0]}")


def test_tags_of_a_set_are_sorted() -> None:
    """A set has no order, so its tags come in that of their letters."""
    assert ("a", "b", "c", "d") == User("x", tags={"d", "b", "a", "c"}).options.tags  # type: ignore[arg-type]


def test_metadata_can_be_changed_afterwards() -> None:
    """A turn keeps its metadata as it was written."""
    notes = {"k": [1]}
    turn = User("x", metadata=notes)
    notes["k"].append(2)
    assert {"k": [1]} == turn.options.metadata
