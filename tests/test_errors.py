"""What errors say: what is wrong, where it was written, what to do."""

import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import promptdsl
from promptdsl import *
from tests.errors import lines_of, raised
from tests.folding import folded
from tests.internals import errors_module, misspelt, nearest

FAMILY = [
    BudgetError,
    ConfigError,
    ConflictError,
    ContentError,
    DataError,
    LibraryError,
    LossError,
    MediaError,
    OptionError,
    PairingError,
    PendingToolCalls,
    PlacementError,
    ScopeError,
    SubscriberError,
    TargetError,
    TemplateError,
    TokenizerError,
    ToolError,
    TranscriptError,
    UnknownNameError,
]


@pytest.mark.parametrize("kind", FAMILY)
def test_the_family_has_one_root(kind: type[PromptError]) -> None:
    """Every error promptdsl raises on purpose is a PromptError, and so a ValueError."""
    assert issubclass(kind, PromptError)
    assert issubclass(kind, ValueError)


def test_the_family_is_whole() -> None:
    """The family above is all there is, and all of it is public."""
    defined = [
        value
        for value in vars(errors_module).values()
        if inspect.isclass(value) and issubclass(value, PromptError)
    ]
    assert {PromptError, *FAMILY} == set(defined)
    assert {kind.__name__ for kind in defined} <= set(promptdsl.__all__)


@pytest.mark.parametrize("kind", [OptionError, ContentError])
def test_wrong_arguments_are_type_errors_too(kind: type[PromptError]) -> None:
    """An unknown keyword and what is no content are what Python calls a TypeError."""
    assert issubclass(kind, TypeError)


def test_pending_calls_are_a_pairing_error() -> None:
    """Code that catches faults of pairing catches calls that wait for their results."""
    assert issubclass(PendingToolCalls, PairingError)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (PromptError("a is wrong"), "a is wrong"),
        (PromptError("a is wrong", fix="write b"), "a is wrong\n  write b"),
        (PromptError("a is wrong", at=("x.py:3",)), "x.py:3: a is wrong"),
        (
            PromptError("a is wrong", fix="write b", at=("x.py:3", "y.py:4", "z.py:5")),
            "x.py:3: a is wrong\n  see also y.py:4\n  see also z.py:5\n  write b",
        ),
        (PromptError("a is wrong", at=(None, "x.py:3", None)), "x.py:3: a is wrong"),
    ],
)
def test_a_message_says_where_what_and_what_to_do(error: PromptError, expected: str) -> None:
    """The first place comes first, then what is wrong, further places, and the fix."""
    assert expected == str(error)


def test_a_place_is_added_once() -> None:
    """An error that knows its place keeps it; one that does not takes the one it is given."""
    known = PromptError("a", at=("x.py:3",)).located("y.py:4")
    unknown = PromptError("a", fix="b").located("y.py:4")
    nowhere = PromptError("a").located(None)
    assert ("x.py:3: a", "y.py:4: a\n  b", "a") == (str(known), str(unknown), str(nowhere))


@pytest.mark.parametrize("kind", FAMILY)
def test_errors_come_back_from_being_saved(kind: type[PromptError]) -> None:
    """An error that went through another process says all it said."""
    error = kind("a is wrong", fix="write b", at=("x.py:3",))
    loaded = pickle.loads(pickle.dumps(error))
    assert (kind, str(error)) == (type(loaded), str(loaded))
    assert (error.what, error.fix, error.at) == (loaded.what, loaded.fix, loaded.at)


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("titel", ["title", "cache"], "did you mean 'title'?"),
        ("xyz", ["title", "cache"], "known: cache, title"),
        ("nothing", ["citing", "handover"], "known: citing, handover"),
        ("xlm", ["xml", "markdown"], "did you mean 'xml'?"),
        ("priorty", ["priority", "cache"], "did you mean 'priority'?"),
        ("xyz", [], "it takes no options"),
        ("xyz", ["a\n\x1b[31m"], r"known: a\n\x1b[31m"),
    ],
)
def test_the_nearest_name_is_suggested(name: str, known: list[str], expected: str) -> None:
    """A near miss is suggested; otherwise all known names are, on one line: keys of data, too."""
    assert expected == nearest(name, known)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["role", "titel"], "'titel' should be 'title'"),
        (["role", 1], ""),
        ([], ""),
    ],
)
def test_a_misspelt_key_is_told(keys: list[object], expected: str) -> None:
    """The key that was written is the wrong one, not the name that is needed."""
    assert expected == misspelt("title", keys)


# Every error an author meets has a line, and most say what to do.

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


def in_block(block: Callable[[], Any], write: Callable[[], Any]) -> Any:
    """Write something in a block."""
    with block():
        write()


MISTAKES: dict[str, tuple[type[PromptError], Callable[[], object]]] = {
    "an unknown keyword": (OptionError, lambda: User("x", nam="y")),
    "a value an option cannot take": (OptionError, lambda: User("x", audience="all of them")),
    "an id that is none": (OptionError, lambda: User("x", id="")),
    "an id of a section that is none": (OptionError, lambda: Section("1", "x")),
    "an id of a grounding that is none": (OptionError, lambda: Grounding("", "x")),
    "True": (ContentError, lambda: System(True)),
    "None in a text": (ContentError, lambda: Text(None)),
    "a list": (ContentError, lambda: System(["x"])),
    "a mapping": (ContentError, lambda: User({"a": 1})),
    "an object": (ContentError, lambda: User(object())),
    "a component in an f-string": (ContentError, lambda: User(f"{Text('x')}")),
    "an endless number": (ContentError, lambda: User(10**5000)),
    "a value that is no text": (ContentError, lambda: Value(object())),
    "a turn inside a turn": (PlacementError, lambda: User(User("x"))),
    "a turn written inside a turn": (
        PlacementError,
        lambda: in_block(lambda: System("x"), lambda: User("x")),
    ),
    "loose text": (PlacementError, lambda: Timeline("x")),
    "a block its role cannot carry": (PlacementError, lambda: User(ToolUse("t", {}, id="1"))),
    "one id twice": (PlacementError, lambda: System(Section("a", "x"), Section("a", "y"))),
    "one id twice in system content": (
        PlacementError,
        lambda: render(Timeline(System(Section("a", "x")), Section("a", "y"))),
    ),
    "nothing at all": (ContentError, lambda: Timeline(User())),
    "an unknown role": (OptionError, lambda: Turn("usr", "x")),
    "an unknown configuration key": (
        ConfigError,
        lambda: Timeline(User("x"), transformation={"formt": "xml"}),
    ),
    "an unknown configuration key at render": (
        ConfigError,
        lambda: render(User("x"), transformation={"formt": "xml"}),
    ),
    "a call that is not answered": (
        PairingError,
        lambda: render(
            Timeline(User("x"), Assistant(ToolUse("t", {}, id="1")), User("y"), Assistant("z"))
        ),
    ),
    "a result that answers nothing": (
        PairingError,
        lambda: render(Timeline(User("x"), ToolMessage("1", "y"))),
    ),
    "calls that wait": (
        PendingToolCalls,
        lambda: render(
            Timeline(User("x"), Assistant(ToolUse("t", {}, id="1"))), provider="openai"
        ).payload(),
    ),
    "a budget that is too small": (BudgetError, lambda: render(User("x"), budget=2)),
    "a missing file": (MediaError, lambda: render(User(Image.from_path("no such file.png")))),
    "a file that came in data": (
        MediaError,
        lambda: render(
            History([{"role": "user", "content": [{"type": "image", "path": __file__}]}])
        ),
    ),
    "bytes of another type": (
        MediaError,
        lambda: Image.from_bytes(PNG, "image/jpeg"),
    ),
    "an address nobody fetches": (MediaError, lambda: Image.from_url("ftp://example.com")),
    "an image without a source": (ContentError, lambda: Image("x.png")),
    "a history that is none": (ContentError, lambda: History("x")),  # type: ignore[arg-type]
    "a recorded message that is none": (DataError, lambda: render(History([{"content": "x"}]))),
    "a recorded role that is none": (
        DataError,
        lambda: render(History([{"role": "usr", "content": "x"}])),
    ),
    "an event field that is no text": (DataError, lambda: UserAction("x", target=[object()])),
    "a tool input that is none": (ContentError, lambda: ToolUse("t", 3, id="1")),  # type: ignore[arg-type]
    "a result for no call": (ContentError, lambda: ToolResult(1, "x")),  # type: ignore[arg-type]
    "an unknown error type": (OptionError, lambda: ToolMessage("1", "x", error_type="bad")),
    "an include without a block": (ScopeError, lambda: include(Text("x"))),
    "an include of no component": (
        ContentError,
        lambda: in_block(lambda: User("x"), lambda: include("y")),  # type: ignore[arg-type]
    ),
    "a prompt inside a block": (ScopeError, lambda: in_block(lambda: User("x"), Timeline)),
    "a render of no tree": (ContentError, lambda: render("x")),  # type: ignore[arg-type]
    "a render of a text": (ContentError, lambda: render(Text("x"))),
    "a render of loose text": (PlacementError, lambda: render(Fragment("x"))),
    "an audience that is none": (OptionError, lambda: render(User("x"), audience="model's")),
    "a payload for no target": (TargetError, lambda: render(User("x")).payload()),
    "a payload for another target": (
        TargetError,
        lambda: render(User("x"), provider="openai").to_anthropic(),
    ),
    "an event nothing but true": (ContentError, lambda: Event(True)),
    "a fragment of nothing": (ContentError, lambda: System(Fragment())),
    "a dedent of no string": (ContentError, lambda: dedent(3)),  # type: ignore[arg-type]
}

every_mistake = folded(("kind", "write"), MISTAKES.values(), ids=MISTAKES)


@every_mistake
def test_every_mistake_is_an_error_with_a_line(
    kind: type[PromptError], write: Callable[[], object]
) -> None:
    """Each mistake is an error of its kind, and the place to look at first is the author's."""
    error = raised(kind, write)
    file, _, line = error.at[0].rpartition(":")
    code = write.__code__
    assert kind is type(error)
    assert Path(__file__) == Path(file)
    assert code.co_firstlineno <= int(line) <= max(n or 0 for _, _, n in code.co_lines()) or (
        in_block.__code__.co_firstlineno < int(line) <= in_block.__code__.co_firstlineno + 3
    )


@every_mistake
def test_every_mistake_says_what_to_do(
    kind: type[PromptError], write: Callable[[], object]
) -> None:
    """Each error of an author names a way out."""
    assert raised(kind, write).fix


@every_mistake
def test_a_mistake_leaves_nothing_behind(
    kind: type[PromptError], write: Callable[[], object]
) -> None:
    """After any mistake the next prompt is built as if nothing had happened."""
    raised(kind, write)
    with Timeline() as tree:
        User("x")
    assert Timeline(User("x")) == tree


def test_the_text_of_an_error_begins_with_the_line() -> None:
    """A terminal or an editor finds the line at the start of the message."""

    def write() -> None:
        User("x", nam="y")  # type: ignore[call-arg]

    expected = f"{lines_of(write, 1)[0]}: User() takes no 'nam'\n  did you mean 'name'?"
    assert expected == str(raised(OptionError, write))
