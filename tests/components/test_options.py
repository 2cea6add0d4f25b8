"""What may be said about a component besides its content: ids, keywords and their values."""

from collections.abc import Callable
from enum import Enum, IntEnum
from functools import partial
from inspect import Parameter, signature
from math import inf, nan
from typing import Any
from uuid import UUID

import pytest

from promptdsl import *
from tests.errors import lines_of, raised
from tests.folding import folded
from tests.internals import NAMED, SPOKEN

A_PRIORITY = "write a number: the higher it is, the later a budget drops the part"
URL = "https://example.com/x.png"


# Ids.


@pytest.mark.parametrize("id", ["a", "A", "_", "a1", "a.b", "a-b", "_9", "rules.v2-final_"])
def test_ids_are_names(id: str) -> None:
    """The id of a section starts with a letter or _, then has letters, digits, _, . and -."""
    assert (id, id) == (Section(id, "x").options.id, User("x", id=id).options.id)


TAGS = "the id of a section is the name of a tag: a letter or _, then letters, digits, _ . -"
NO_TAGS: dict[str, tuple[Any, str]] = {
    "words": ("Our rules", """write Section("Our_rules", ..., title='Our rules')"""),
    "an accent": ("café", 'write Section("cafe", ...)'),
    "a path": ("kb/faq.md", 'write Section("kb_faq.md", ...)'),
    "a digit first": ("3f2a", 'write Section("_3f2a", ...)'),
    "a tag": ("a>", 'write Section("a", ...)'),
    "a line end": ("a\n", 'write Section("a", ...)'),
    "a number": (3, 'write Section("_3", ...)'),
    "no Latin letter": ("规则", 'the id comes first: Section("rules", "...")'),
    "nothing": ("", 'the id comes first: Section("rules", "...")'),
    "bytes": (b"a", 'the id comes first: Section("rules", "...")'),
    "a list": (["a"], 'the id comes first: Section("rules", "...")'),
    "a sentence": (
        "You are a friendly agent.",
        """the id comes first: Section("rules", 'You are a friendly agent.')""",
    ),
}


@pytest.mark.parametrize(("id", "advice"), NO_TAGS.values(), ids=NO_TAGS)
def test_other_ids_of_sections_are_refused(id: Any, advice: str) -> None:
    """An id that cannot name a tag is an error with the reason, and a name that it could be."""
    error = raised(OptionError, lambda: Section(id, "x"))
    assert (f"{id!r} cannot be the id of a Section", f"{TAGS}; {advice}") == (error.what, error.fix)


def test_a_long_id_is_not_repeated_in_its_error() -> None:
    """The error for a very long id shows its beginning, and the beginning of a name for it."""
    error = raised(OptionError, lambda: Section(" x" * 500_000))
    assert f"{' x' * 30!r}"[:60] + "... cannot be the id of a Section" == error.what
    assert [True] == [len(error.fix) < 300]


@pytest.mark.parametrize("id", ["0195a2e1-7c3e", "kb/faq.md", "https://a.b/c?d#e", "a b", "é", "1"])
def test_the_id_of_a_turn_is_any_text(id: str) -> None:
    """A turn and a grounding take any text as id, and their messages have it unchanged."""
    turns = [User("x", id=id), Grounding(id, "x"), Ephemeral("x", id=id), Event("x", id=id)]
    assert [id] * 4 == [render(Timeline(turn)).messages[0].id for turn in turns]


NO_TEXTS: dict[str, tuple[Any, str]] = {
    "nothing": ("", 'write Grounding("account", ...)'),
    "None": (None, 'write Grounding("account", ...)'),
    "a number": (17, "write str(17)"),
    "a UUID": (UUID(int=5), "write str(id)"),
    "a list": (["a"], 'write Grounding("account", ...)'),
    "a boolean": (True, 'write Grounding("account", ...)'),
    "a value": (Value("a"), 'write Grounding("account", ...)'),
}


@pytest.mark.parametrize(("id", "advice"), NO_TEXTS.values(), ids=NO_TEXTS)
def test_the_id_of_a_grounding_is_text(id: Any, advice: str) -> None:
    """An id that is not text, or empty, is an error that says how to make it one."""
    error = raised(OptionError, lambda: Grounding(id, "x"))
    assert f"an id is any text that is not empty; {advice}" == error.fix


@pytest.mark.parametrize(
    ("id", "advice"), [("", 'id="question"'), (17, "str(17)"), (b"a", 'id="question"')]
)
def test_the_id_of_a_turn_is_text(id: Any, advice: str) -> None:
    """An id that is not text, or empty, is an error of every turn that takes one."""
    error = raised(OptionError, lambda: User("x", id=id))
    expected = (f"User(id={id!r})", f"an id is any text that is not empty; write {advice}")
    assert expected == (error.what, error.fix)


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
    "Value": (lambda **k: Value("x", **k), "valu", "'value'"),
    "Image.from_url": (lambda **k: Image.from_url(URL, **k), "detial", "'detail'"),
    "Image.from_path": (lambda **k: Image.from_path("x", **k), "media_typ", "'media_type'"),
    "Image.from_bytes": (lambda **k: Image.from_bytes(b"x", **k), "titel", "'title'"),
    "ToolUse": (lambda **k: ToolUse("t", {}, id="1", **k), "idd", "'id'"),
    "ToolResult": (lambda **k: ToolResult("1", "x", **k), "error_typ", "'error_type'"),
    "Group": (lambda **k: Group("x", **k), "prioritty", "'priority'"),
    "FirstFit": (lambda **k: FirstFit("x", **k), "prioritty", "'priority'"),
    "Limit": (lambda **k: Limit(5, "x", **k), "keeep", "'keep'"),
    "Reserve": (lambda **k: Reserve(5, **k), "tokns", "'tokens'"),
    "History": (lambda **k: History([], **k), "kep", "'keep'"),
    "History.from_openai": (lambda **k: History.from_openai([], **k), "steps", "'step'"),
    "History.from_anthropic": (
        lambda **k: History.from_anthropic([], **k),
        "prio",
        "'priority'",
    ),
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
    assert lines_of(write, 0) == error.at
    assert f"takes no {name!r}" in error.what
    assert (f"did you mean {near}?" if near else "it takes no options") == error.fix


@pytest.mark.parametrize("name", ["keep", "step", "weight", "ttl", "cach"])
@pytest.mark.parametrize("write", [System, User, Ephemeral, Timeline, Fragment])
def test_what_would_have_no_effect_is_unknown(write: Any, name: str) -> None:
    """An option that nothing would act on is refused, not ignored."""
    assert f"takes no {name!r}" in raised(OptionError, lambda: write("x", **{name: 1})).what


@pytest.mark.parametrize("write", [Timeline, Fragment, Note, Text, partial(Format, "xml")])
def test_what_has_no_priority(write: Any) -> None:
    """What is no unit of a budget takes no priority."""
    assert "takes no 'priority'" in raised(OptionError, lambda: write("x", priority=1)).what


@pytest.mark.parametrize("write", [Ephemeral, lambda *c, **k: Grounding("g", *c, **k)])
def test_request_only_turns_have_no_cache(write: Any) -> None:
    """What is sent once cannot be marked for a cache."""
    error = raised(OptionError, lambda: write("x", cache=True))
    assert "takes no 'cache'" in error.what
    assert "CacheBreakpoint" not in error.fix


@pytest.mark.parametrize(
    ("write", "fix"),
    [
        (lambda: Tool(name="find", cache=True), "CacheBreakpoint() after it"),
        (lambda: Text("x", cache=True), "CacheBreakpoint() after it"),
        (lambda: Timeline(User("x"), cache=True), 'render(..., cache="auto")'),
        (lambda: Reserve(100, cache=True), None),
        (lambda: Output({"type": "object"}, cache=True), None),
    ],
)
def test_where_a_cache_mark_is_written(write: Callable[[], object], fix: str | None) -> None:
    """The advice is a part that can follow, for a prompt the option, and else it is not there."""
    error = raised(OptionError, write)
    assert "takes no 'cache'" in error.what
    assert fix in error.fix if fix else "cache" not in error.fix


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
        ({"audience": "us"}, "User(audience='us')", "known: all, model, people"),
        ({"cache": "1h"}, "User(cache='1h')", "write True or False"),
        ({"cache": 1}, "User(cache=1)", "write True or False"),
        ({"merge": None}, "User(merge=None)", "write True or False"),
        ({"priority": True}, "User(priority=True)", A_PRIORITY),
        ({"priority": "1"}, "User(priority='1')", A_PRIORITY),
        ({"priority": nan}, "User(priority=nan)", A_PRIORITY),
        ({"priority": -inf}, "User(priority=-inf)", A_PRIORITY),
        ({"priority": [1], "name": "a"}, "User(priority=[1])", A_PRIORITY),
        ({"priority": 1j}, "User(priority=1j)", A_PRIORITY),
    ],
)
def test_a_value_an_option_cannot_take_is_an_error(
    options: dict[str, Any], what: str, fix: str
) -> None:
    """A wrong value of an option is an error at its line that shows it and says what to write."""

    def write() -> None:
        User("x", **options)

    error = raised(OptionError, write)
    assert lines_of(write, 1) == error.at
    assert (what, fix) == (error.what, error.fix)


@pytest.mark.parametrize("tags", [("a", "b"), ["a", "b"]])
def test_tags_are_a_tuple(tags: Any) -> None:
    """Tags are kept as a tuple, however they were passed."""
    assert ("a", "b") == User("x", tags=tags).options.tags


def test_options_that_say_nothing_say_nothing() -> None:
    """``None`` for an id, a name or metadata is as if it was not passed."""
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


# Priorities.


WITH_PRIORITY: dict[str, Callable[..., Any]] = {
    "System": System,
    "Developer": Developer,
    "User": User,
    "Assistant": Assistant,
    "ToolMessage": partial(ToolMessage, "1"),
    "Event": Event,
    "Turn": partial(Turn, "user"),
    "Turn ephemeral": partial(Turn, "ephemeral"),
    "Ephemeral": Ephemeral,
    "Grounding": partial(Grounding, "g"),
    "Section": partial(Section, "s"),
}
every_priority = folded("name", WITH_PRIORITY)


@every_priority
@pytest.mark.parametrize("content", [("a",), ("a", 1), (Text("a"),), ("",)])
@pytest.mark.parametrize("priority", [None, 0, -3, 2.5, 10**400])
def test_a_priority_is_kept(name: str, content: tuple[Any, ...], priority: Any) -> None:
    """Any finite number is a priority, the first time and every time after it."""
    nodes = [WITH_PRIORITY[name](*content, priority=priority) for _ in range(2)]
    assert [(priority, type(priority))] * 2 == [
        (node.options.priority, type(node.options.priority)) for node in nodes
    ]


@every_priority
@pytest.mark.parametrize("content", [("a",), ("a", Text("b")), ()])
@pytest.mark.parametrize("priority", [True, False, "1", nan, inf, [1], Text("b")])
def test_what_is_no_priority(name: str, content: tuple[Any, ...], priority: Any) -> None:
    """Anything else is refused, whatever number that equals it was passed before."""
    User("a", priority=1)
    User("a", priority=0)

    def write() -> None:
        WITH_PRIORITY[name](*content, priority=priority)

    error = raised(OptionError, write)
    assert ((*lines_of(write, 1),), A_PRIORITY) == (error.at, error.fix)


def test_priorities_of_one_value() -> None:
    """Of equal numbers each is kept as it was passed, however often they were before."""
    given = [1, 1.0, Lucky.SEVEN, 7.0, 7]
    assert "[1, 1.0, 7, 7.0, 7]" == repr([User("a", priority=n).options.priority for n in given])


class Lucky(IntEnum):
    """A number of another class."""

    SEVEN = 7


def test_more_priorities_than_are_remembered() -> None:
    """Any number of different priorities is kept."""
    numbers = range(20_500)
    assert [*numbers] == [User("a", priority=n).options.priority for n in numbers]


@pytest.mark.parametrize(
    ("options", "spoken"),
    [
        ({"priority": 1}, True),
        ({"priority": None}, True),
        ({"priority": 1, "id": "a"}, False),
        ({"priority": 1, "name": "a"}, False),
        ({"priority": 1, "cache": True}, False),
        ({"metadata": {"a": 1}}, False),
    ],
)
@pytest.mark.parametrize(
    "write", [User, Assistant, partial(Turn, "user"), lambda *c, **k: User(Text(*c), **k)]
)
def test_a_priority_leaves_speech_plain(
    write: Callable[..., Any], options: dict[str, Any], *, spoken: bool
) -> None:
    """A turn with a priority and nothing else to be said of it is as cheap as one without."""
    assert spoken == bool(write("a", **options)._mask & SPOKEN)


def test_a_priority_is_sent_nowhere() -> None:
    """Without a budget a priority changes nothing."""
    with Timeline() as ranked:
        System(Section("s", "a", priority=1), priority=2)
        User("b", priority=3)
        Assistant("c", name="d", priority=-1)
    plain = Timeline(System(Section("s", "a")), User("b"), Assistant("c", name="d"))
    assert render(plain).messages == render(ranked).messages


def test_a_section_remembered_without_its_priority() -> None:
    """Sections of one id have the priority that was passed, in any order."""
    given = [None, 1, None, 2.0, 1, 1.0, None]
    nodes = [Section("remembered", "a", priority=n) for n in given]
    assert repr(given) == repr([node.options.priority for node in nodes])
    assert {NAMED} == {node._mask & NAMED for node in nodes}


# Arguments by position.

FIXED: dict[str, tuple[Callable[..., Any], int, str]] = {
    "Code": (Code, 2, "write Code(text, language=...)"),
    "Example": (Example, 2, "write Example(input, output)"),
    "Heading": (Heading, 2, "write Heading(text, level=...)"),
    "History": (History, 1, "write History(messages)"),
    "Json": (Json, 1, "write Json(value)"),
    "Lazy": (Lazy, 2, "write Lazy(function, weight=...)"),
    "Reserve": (Reserve, 1, "write Reserve(tokens)"),
    "ToolUse": (ToolUse, 3, "write ToolUse(name, input, id)"),
    "Untrusted": (Untrusted, 2, "write Untrusted(text, source=..., encoding=...)"),
    "Value": (Value, 1, "write Value(value)"),
    "Volatile": (Volatile, 2, "write Volatile(value, label)"),
}
"""Components that take so many arguments by position, and how they are written."""

NEEDED = {name: it for name, it in FIXED.items() if name != "History"}
"""Those that need one: a History may be a block."""


@pytest.mark.parametrize(("write", "most", "fix"), FIXED.values(), ids=FIXED)
def test_an_argument_too_many(write: Callable[..., Any], most: int, fix: str) -> None:
    """One argument too many is a TypeError at the author's line that shows how it is written."""

    def call() -> None:
        write(*["x"] * (most + 1))

    error = raised(OptionError, call)
    assert lines_of(call, 1) == error.at
    assert error.what.endswith(f"by position, not {most + 1}")
    assert fix == error.fix


@pytest.mark.parametrize("write", [write for write, _, _ in NEEDED.values()], ids=NEEDED)
def test_an_argument_too_few(write: Callable[..., Any]) -> None:
    """A required argument that is left out is a TypeError at the author's line, with advice."""

    def call() -> None:
        write()

    with pytest.raises(TypeError) as caught:
        call()
    error = caught.value
    assert isinstance(error, PromptError)
    assert lines_of(call, 1) == error.at
    assert error.fix


@pytest.mark.parametrize(("write", "most", "fix"), NEEDED.values(), ids=NEEDED)
def test_the_signature_shows_what_is_required(
    write: Callable[..., Any], most: int, fix: str
) -> None:
    """A signature lists the arguments that a component takes, the required ones as required."""
    parameters = [*signature(write).parameters.values()]
    assert Parameter.VAR_POSITIONAL not in [each.kind for each in parameters]
    named = [each for each in parameters if each.kind is not Parameter.VAR_KEYWORD]
    required = [each.name for each in named if each.default is Parameter.empty]
    assert 1 <= len(required) <= most
    assert fix.startswith(f"write {write.__name__}({required[0]}")
