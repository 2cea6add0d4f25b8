"""What a budget may do with parts; cache breakpoints: where a part ends that stays the same."""

from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum
from fractions import Fraction
from functools import partial
from itertools import product
from math import inf, nan
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.components.failing import Failed, failed, refusal
from tests.errors import lines_of, raised
from tests.internals import CACHE, DEFAULTS, walk
from tests.renders import ShortForm, comes_to, said

HERE = CacheBreakpoint()
PRIORITY = "write a number: the higher it is, the later a budget drops the part"


def test_a_group_stands_for_its_parts() -> None:
    """A group is a fragment to whoever reads the prompt: its parts are where it is."""
    tree = Timeline(
        Group(System("a"), User("b", Group("c", Group(Text("d"))))), Group(Section("s", "e"))
    )
    assert [("system", ["a\n\ne"]), ("user", ["b", "c", "d"])] == said(tree)


def test_a_group_renders_alone() -> None:
    """A group of turns is a prompt."""
    assert [("user", ["a"]), ("assistant", ["b"])] == said(Group(User("a"), Assistant("b")))


def test_a_group_is_no_fragment() -> None:
    """A group says that its parts belong together, which a fragment does not."""
    assert Group("a") != Fragment("a")


# Groups and forms: a priority, and content.


@pytest.mark.parametrize("kind", [Group, FirstFit])
@pytest.mark.parametrize("priority", [None, 0, -3, 2.5, 10**400])
def test_a_unit_has_a_priority(kind: Any, priority: Any) -> None:
    """Any finite number is a priority, and ``None`` is none."""
    node = kind("a", priority=priority)
    assert (priority, DEFAULTS) == (node.priority, node.options)


@pytest.mark.parametrize("kind", [Group, FirstFit])
@pytest.mark.parametrize("priority", [True, "high", inf, nan, [1], Text("x"), Fraction(1, 2)])
def test_what_is_no_priority(kind: Any, priority: Any) -> None:
    """A value that is not a finite number is refused with what to write, and leaves nothing."""
    assert refusal(OptionError, PRIORITY) == failed(lambda: kind(Text("a"), priority=priority))


def test_a_text_as_a_priority_leaves_nothing() -> None:
    """Components in the place of a number are taken back with the rest of the call."""
    with System("before") as block, suppress(OptionError):
        Group(Text("a"), priority=Text("b"))  # type: ignore[arg-type]
    assert ("before",) == block.content


@pytest.mark.parametrize(
    ("write", "near"),
    [
        (lambda: Group("a", prioriti=1), "did you mean 'priority'?"),  # type: ignore[call-arg]
        (lambda: FirstFit("a", prio=1), "did you mean 'priority'?"),  # type: ignore[call-arg]
        (lambda: Limit(5, "a", kep="tail"), "did you mean 'keep'?"),  # type: ignore[call-arg]
        (lambda: Limit(5, "a", priority=1), "known: keep"),  # type: ignore[call-arg]
        (lambda: Reserve(5, token=1), "did you mean 'tokens'?"),  # type: ignore[arg-type]
    ],
)
def test_unknown_keywords(write: Callable[[], object], near: str) -> None:
    """An unknown keyword is an error at its line with the nearest known name."""
    assert refusal(OptionError, near) == failed(write)


@pytest.mark.parametrize(
    ("write", "forms"),
    [
        (lambda: FirstFit("a", "b"), [Text("a"), Text("b")]),
        (lambda: FirstFit("a", None, False, 3), [Text("a"), Text("3")]),
        (lambda: FirstFit(Text("a"), ""), [Text("a"), Text("")]),
        (lambda: FirstFit(Value("a"), "b"), [Value("a"), Text("b")]),
        (lambda: FirstFit(Fragment("a", "b"), Group("c")), [Fragment("ab"), Group("c")]),
        (lambda: FirstFit(User("a"), User("b")), [User("a"), User("b")]),
        (lambda: FirstFit(None), []),
    ],
)
def test_every_argument_is_a_form(write: Callable[[], Node], forms: list[Node]) -> None:
    """Every argument is one form; a string is a text, ``None`` and ``False`` are skipped."""
    assert forms == list(write().content)


def test_a_template_string_is_a_form() -> None:
    """The parts of a t-string are one text."""
    template: Any = SimpleNamespace(
        strings=("a", "c"),
        interpolations=(SimpleNamespace(value="b", conversion=None, format_spec=""),),
    )
    assert [Text("a", Value("b"), "c"), Text("d")] == list(FirstFit(template, "d").content)


def test_everything_written_in_a_block_is_a_form() -> None:
    """In a block each thing that is written is a form, behind those passed as arguments."""
    with User() as turn, FirstFit("a", priority=1):
        Value("b")
        with Fragment():
            Text("c")
            Text("d")
    given = FirstFit("a", Value("b"), Fragment(Text("c"), Text("d")), priority=1)
    assert User(given) == turn


def test_forms_move_in() -> None:
    """What is written in the argument list moves into the part."""
    with Timeline() as tree:
        FirstFit(User("a"), Group(User("b"), Assistant("c")), priority=1)
    form = Group(User("b"), Assistant("c"))
    assert Timeline(FirstFit(User("a"), form, priority=1)) == tree


@pytest.mark.parametrize("write", [FirstFit, Group, lambda: Limit(5)])
def test_without_content_and_block(write: Callable[[], Node]) -> None:
    """A container with no arguments and no block is an error where it is used."""
    with pytest.raises(ContentError, match="was written with no content and no block"):
        System(write())


@pytest.mark.parametrize("bad", [True, ["a"], {"a": 1}, object()])
@pytest.mark.parametrize("kind", [FirstFit, Group, partial(Limit, 5)])
def test_what_is_no_content(kind: Any, bad: Any) -> None:
    """An argument that is not content is an error that leaves nothing."""
    found = failed(lambda: kind(Text("a"), bad))
    assert (ContentError, True, ("before",)) == (found.kind, found.first, found.left)


@pytest.mark.parametrize(
    "write", [Group, FirstFit, lambda: Limit(5)], ids=["Group", "FirstFit", "Limit"]
)
def test_a_block_that_raises_leaves_nothing(write: Callable[[], Any]) -> None:
    """An exception in its block takes a container away, what was before stays."""
    with System("a") as block:
        with suppress(KeyError), write():
            Text("b")
            raise KeyError
        Text("c")
    assert System("a", Text("c")) == block


# Ids.


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda: System(FirstFit(Section("a", "x"), Section("a", "y"))), ("system", "x")),
        (
            lambda: System(FirstFit(Fragment(Section("a", "x")), Group(Section("a", "y")))),
            ("system", "x"),
        ),
        (
            lambda: System(
                FirstFit(Section("a", "x"), FirstFit(Section("a", "y"), Section("b", "z")))
            ),
            ("system", "x"),
        ),
        (
            lambda: System(FirstFit(Section("a", "x"), Section("b", "y")), Section("c", "z")),
            ("system", "x\n\nz"),
        ),
        (lambda: FirstFit(User("a", id="a"), User("b", id="a")), ("user", "a")),
    ],
)
def test_forms_share_ids(write: Callable[[], Node], expected: ShortForm) -> None:
    """Forms of one part may have one id: only one of them is sent."""
    assert write() == write()
    assert [expected] == comes_to(write())


def test_ids_in_a_fragment() -> None:
    """Parts next to each other in a fragment have ids of their own where it is."""

    def write() -> None:
        System(Fragment(FirstFit(Section("a", "x")), Section("a", "y")))

    assert "the id 'a' is used twice in one System" == raised(PlacementError, write).what


@pytest.mark.parametrize(
    "write",
    [
        lambda: System(FirstFit(Section("a", "x"), "y"), Section("a", "z")),
        lambda: System(Section("a", "x"), FirstFit("y", Section("a", "z"))),
        lambda: System(Fragment(Section("a", "x")), Group(FirstFit("y", Section("a", "y")))),
        lambda: System(FirstFit("x", Section("a", "y")), FirstFit("x", Section("a", "z"))),
        lambda: System(FirstFit(Fragment(Section("a", "x"), Fragment(Section("a", "y"))))),
        lambda: System(FirstFit(Section("b", "x"), Group(Section("a", "x"), Section("a", "y")))),
        lambda: Timeline(FirstFit(User("x", id="a"), User("y")), Section("a", "z")),
        lambda: System(
            FirstFit("x", FirstFit("y", Section("a", "z"))), FirstFit(Section("a", "x"))
        ),
    ],
)
def test_forms_share_no_ids_with_their_siblings(write: Callable[[], Node]) -> None:
    """An id in a form is unique in that form, and among what is next to the part."""
    assert "the id 'a' is used twice" in raised(PlacementError, write).what


def test_one_part_twice() -> None:
    """The same part next to itself is a twin; in two forms it is not."""
    part = Section("a", "x")
    assert "the id 'a' is used twice in one System" == (
        raised(PlacementError, lambda: System(part, FirstFit("y", part))).what
    )
    assert 2 == len(FirstFit(part, part).content)


def test_the_lines_of_an_id() -> None:
    """The error names the second line first, then the first one."""

    def write() -> None:
        System(
            FirstFit("x", Section("a", "y")),
            FirstFit(
                Section("a", "z"),
            ),
        )

    assert lines_of(write, 4, 2) == raised(PlacementError, write).at


Ids = st.recursive(
    st.sampled_from("abcd"),
    lambda inner: st.tuples(
        st.sampled_from([Fragment, Group, FirstFit]), st.lists(inner, min_size=1, max_size=3)
    ),
    max_leaves=8,
)


def _part(model: Any) -> Node:
    """Return the part of a model: a section, or a container of parts."""
    if isinstance(model, str):
        return Section(model, "x")
    kind, inner = model
    return kind(*map(_part, inner))  # type: ignore[no-any-return]


def _sent(model: Any) -> list[list[str]]:
    """Return the ids that are sent, for every choice among the forms of a model."""
    if isinstance(model, str):
        return [[model]]
    kind, inner = model
    choices = [_sent(one) for one in inner]
    if kind is FirstFit:
        return [ids for form in choices for ids in form]
    return [[id for ids in chosen for id in ids] for chosen in product(*choices)]


@given(st.lists(Ids, max_size=4))
def test_any_ids(models: list[Any]) -> None:
    """Ids are refused exactly when some choice among the forms sends one of them twice."""
    twice = any(len(set(ids)) < len(ids) for ids in _sent((Fragment, models)))
    try:
        System("x", *map(_part, models))
    except PlacementError:
        assert twice
    else:
        assert not twice


@pytest.mark.parametrize("depth", [2_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_deep_forms(depth: int) -> None:
    """Ids are found through ten thousand forms in each other, next to many others."""

    def write() -> None:
        part: Node = Fragment(*[Section(f"s{number}", "x") for number in range(depth // 10)])
        for _ in range(depth):
            part = FirstFit("x", Group(part))
        System(part, Section("s7", "y"))

    assert "the id 's7' is used twice in one System" == raised(PlacementError, write).what


# Where they stand.


@pytest.mark.parametrize(
    ("write", "what"),
    [
        (lambda: Timeline(Group(User("a"), "b")), "a Group cannot be in a Timeline"),
        (lambda: Timeline(FirstFit(User("a"), "b")), "a Text cannot be in a Timeline"),
        (lambda: Timeline(Limit(5, "a")), "a Limit cannot be in a Timeline"),
        (lambda: Timeline(Limit(5, Lazy(str))), "a Limit cannot be in a Timeline"),
        (lambda: Timeline(Group(Limit(5, Text("a")))), "a Limit cannot be in a Timeline"),
        (lambda: User(Group(Assistant("a"))), "an Assistant cannot be in a User"),
        (lambda: User("a", FirstFit("b", User("c"))), "a User cannot be in a User"),
        (
            lambda: Grounding("g", FirstFit("b", Section("s", "a", cache=True))),
            "a Section cannot be in a Grounding",
        ),
        (lambda: Turn("tool", Limit(5, "a")), "a Limit cannot be in a Tool"),
    ],
)
def test_refused_places(write: Callable[[], object], what: str) -> None:
    """Among turns a unit holds turns, inside of one it holds parts."""
    assert what == raised(PlacementError, write).what


CALLED = Assistant(ToolUse("t", {}, id="1"))
CALL: ShortForm = ("assistant", ("call", "1", "t"))
RESULT: ShortForm = ("tool", ("result", "1", "a"))


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (
            lambda: Fragment(Group(User("a"), Assistant("b")), FirstFit(User("a"), History([]))),
            [("user", "a"), ("assistant", "b"), ("user", "a")],
        ),
        (
            lambda: FirstFit(Section("s", "a"), Group(Section("s", "b"), User("c"))),
            [("system", "a")],
        ),
        (
            lambda: Fragment(Reserve(5), User("a", Reserve(5)), System(Section("s", Reserve(0)))),
            [("user", "a")],
        ),
        (
            lambda: Grounding("g", Limit(5, "a"), Reserve(3), FirstFit("a", "b"), Group("c")),
            [("user", "<context>\na\n\na\n\nc\n</context>")],
        ),
        (
            lambda: User(FirstFit(Image.from_file_id("f"), "a picture")),
            [("user", {"type": "image", "source": {"type": "file_id", "file_id": "f"}})],
        ),
        (
            lambda: Event(Group(UserAction("a")), FirstFit(UserAction("b"), Limit(5, "c"))),
            [
                (
                    "user",
                    '<event type="user_action">\nUser a\n</event>\n\n'
                    '<event type="user_action">\nUser b\n</event>',
                )
            ],
        ),
        (
            lambda: Fragment(CALLED, Turn("tool", Group(ToolResult("1", "a")))),
            [CALL, RESULT],
        ),
        (
            lambda: Fragment(CALLED, ToolMessage("1", Limit(5, "a", keep="ends"))),
            [CALL, RESULT],
        ),
        (
            lambda: System(List("a", Limit(5, "b"), FirstFit(Item("c"), Item("d")))),
            [("system", "- a\n- b\n- c")],
        ),
        (lambda: System(Quote(Limit(5, "a"))), [("system", "> a")]),
        (
            lambda: Assistant(Limit(5, "a"), Group(ToolUse("t", {}, id="1"))),
            [("assistant", "a", ("call", "1", "t"))],
        ),
    ],
)
def test_places(write: Callable[[], Node], expected: list[ShortForm]) -> None:
    """They are wherever what they hold may be, and say what they hold."""
    assert write() == write()
    assert expected == comes_to(write())


# What is sent without a budget.


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (User(FirstFit("a", "b"), Group("c", priority=1), Reserve(5)), ["a", "c"]),
        (User(FirstFit(Text("a", Value("b")), "c")), ["ab"]),
        (User(FirstFit(Section("s", "a", audience="people"), Section("s", "b"))), ["b"]),
        (User(FirstFit(Note("a"), FirstFit("b", "c"))), ["b"]),
        (User(FirstFit(Lazy(lambda _: None), "a")), ["a"]),
        (User(FirstFit(Lazy(lambda _: FirstFit("a", "b")), "c")), ["a"]),
        (User("a", FirstFit(Note("b"))), ["a"]),
        (User("a", FirstFit(Group(Fragment("b", Text("c"))), "d")), ["a", "b", "c"]),
        (User(Group("a", Section("s", "b", audience="people"))), ["a"]),
        (User(Limit(500, "a", Text("b")), "c"), ["a", "b", "c"]),
        (User(Limit(500, Lazy(lambda _: "a"), Limit(50, "b"))), ["a", "b"]),
    ],
)
def test_without_a_budget(tree: Node, expected: list[str]) -> None:
    """The first form there is for the reader, and all else as if it was there alone."""
    assert [("user", expected)] == said(tree)


def test_a_unit_is_a_part() -> None:
    """Written with no block open it is used any number of times."""
    part = FirstFit(Section("s", "a"), "b", priority=1)
    with System() as one:
        include(part)
    assert System(part) == one
    assert part is one.content[0]


# Limits.


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda: Limit(500, "a"), (500, "head")),
        (lambda: Limit(1, "a", keep="tail"), (1, "tail")),
        (lambda: Limit(10**30, "a", keep="ends"), (10**30, "ends")),
    ],
)
def test_a_limit(write: Callable[[], Limit], expected: tuple[int, str]) -> None:
    """A limit knows its tokens, and which end of its text stays."""
    node = write()
    assert expected == (node.most, node.keep)


@pytest.mark.parametrize(
    ("write", "fix"),
    [
        (lambda: Limit(0, Text("a")), "write a whole number, 1 or more"),
        (lambda: Limit(-1, Text("a")), "write a whole number, 1 or more"),
        (lambda: Limit(2.5, Text("a")), "write a whole number, 1 or more"),  # type: ignore[arg-type]
        (lambda: Limit(True, Text("a")), "write a whole number, 1 or more"),
        (lambda: Limit(None, Text("a")), "write a whole number, 1 or more"),  # type: ignore[arg-type]
        (lambda: Limit("a", Text("b")), "Limit(500, ...)"),  # type: ignore[arg-type]
        (lambda: Limit(Text("a"), Text("b")), "Limit(500, ...)"),  # type: ignore[arg-type]
        (lambda: Limit("a", max_tokens=3), "Limit(500, ...)"),  # type: ignore[arg-type, call-arg]
        (lambda: Limit(5, Text("a"), keep="tial"), "did you mean 'tail'?"),  # type: ignore[arg-type]
        (lambda: Limit(5, Text("a"), keep=3), "known: ends, head, tail"),  # type: ignore[arg-type]
        (lambda: Limit(5, Text("a"), keep=Text("b")), "known: ends, head, tail"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_limit(write: Callable[[], object], fix: str) -> None:
    """Any other number of tokens and any other end is refused, and leaves nothing."""
    assert refusal(OptionError, fix) == failed(write)


@component
def wrapped(*parts: Any) -> Node:
    """Return parts as they are."""
    return Fragment(*parts)


TEXTS: dict[str, Callable[[], Any]] = {
    "string": lambda: "x",
    "number": lambda: 3,
    "nothing": lambda: None,
    "Text": lambda: Text("x"),
    "Value": lambda: Value("x"),
    "Volatile": lambda: Volatile("x", "clock"),
    "Heading": lambda: Heading("x"),
    "Paragraph": lambda: Paragraph("x"),
    "List": lambda: List("x", Item("y", Quote("z"))),
    "Checklist": lambda: Checklist("x"),
    "Table": lambda: Table([[1]]),
    "Code": lambda: Code("x"),
    "Json": lambda: Json({}),
    "Quote": lambda: Quote("x"),
    "Example": lambda: Example("x", "y"),
    "Template": lambda: Template.from_string("x"),
    "Untrusted": lambda: Untrusted("x"),
    "Lazy": lambda: Lazy(lambda _: "x"),
    "Fragment": lambda: Fragment("x", Text("y")),
    "Format": lambda: Format("xml", "x"),
    "component": lambda: wrapped("x"),
    "Limit": lambda: Limit(3, "x"),
}


@pytest.mark.parametrize("part", TEXTS)
def test_a_limit_holds_text(part: str) -> None:
    """Whatever is one text is in a limit, given or written in its block."""
    with System() as block, Limit(5, keep="tail"):
        TEXTS[part]()
    given = Limit(5, TEXTS[part](), keep="tail")
    assert (Limit, 5, "tail", True) == (
        type(given),
        given.most,
        given.keep,
        block.content[0].most == 5,
    )


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "Section": (lambda: Section("s", "x"), "write the Limit in the Section, around its text"),
    "Image": (
        lambda: Image.from_file_id("f"),
        "a Limit holds text only: write the Image next to it",
    ),
    "Item": (lambda: Item("x"), "an Item belongs in a List or a Checklist"),
    "ToolUse": (
        lambda: ToolUse("t", {}, id="1"),
        "only an Assistant turn holds a ToolUse: Assistant(ToolUse(...))",
    ),
    "ToolResult": (
        lambda: ToolResult("1", "x"),
        "only a User or tool turn holds a ToolResult",
    ),
    "UserAction": (lambda: UserAction("x"), "only an Event holds a UserAction"),
    "User": (
        lambda: User("x"),
        "write the Limit in the User, around its text",
    ),
    "CacheBreakpoint": (
        CacheBreakpoint,
        "the Limit may cut the text there: write the breakpoint after the Limit",
    ),
    "Group": (
        lambda: Group("x"),
        "a Limit holds text only: write the Group around it, or next to it",
    ),
    "FirstFit": (
        lambda: FirstFit("x", "y"),
        "a Limit holds text only: write the FirstFit around it, or next to it",
    ),
    "Reserve": (
        lambda: Reserve(5),
        "a Limit holds text only: write the Reserve around it, or next to it",
    ),
    "Note": (lambda: Note("x"), "a Limit holds text only: write the Note around it, or next to it"),
}


@pytest.mark.parametrize("around", [lambda part: part, Fragment, wrapped])
@pytest.mark.parametrize(("part", "fix"), REFUSED.values(), ids=REFUSED)
def test_a_limit_holds_nothing_else(part: Any, fix: str, around: Any) -> None:
    """A value that is not text is refused with both lines and where it belongs."""

    def write() -> None:
        Limit(
            5,
            around(part()),
        )

    error = raised(PlacementError, write)
    assert (fix, 2) == (error.fix, len(error.at))
    assert lines_of(write, 1)[0] in error.at


@pytest.mark.parametrize("part", [Group("x"), Reserve(5), FirstFit("x"), Note("x")])
@pytest.mark.parametrize("around", [Quote, lambda part: List(Item("a", part)), Fragment])
def test_at_any_depth_of_a_limit(part: Node, around: Any) -> None:
    """Neither does it hold such a part further down."""
    with pytest.raises(PlacementError, match="cannot be in a Limit"):
        Limit(5, "a", around(part))


def test_a_block_of_a_limit_is_checked() -> None:
    """A block that holds what a limit does not leaves nothing, with both lines."""

    def write() -> None:
        with System("a"), Limit(5):
            Text("b")
            Reserve(3)

    assert lines_of(write, 3, 1) == raised(PlacementError, write).at


def test_deep_limits() -> None:
    """Limits in limits are looked at once each."""
    part: Node = Limit(5, "a")
    for _ in range(10_000):
        part = Limit(5, Fragment(part))
    assert 20_001 == sum(1 for _ in walk(part))


# Reserves.


@pytest.mark.parametrize("tokens", [0, 1, 10**30])
def test_a_reserve(tokens: int) -> None:
    """A reserve is a number of tokens and no content."""
    node = Reserve(tokens)
    assert (tokens, ()) == (node.tokens, node.content)


@pytest.mark.parametrize("tokens", [-1, 1.0, True, None, "5", Text("a"), [1]])
def test_what_is_no_reserve(tokens: Any) -> None:
    """Anything else is refused, and leaves nothing."""
    assert refusal(OptionError, "write a whole number, 0 or more") == failed(
        lambda: Reserve(tokens)
    )


def test_a_reserve_is_no_block() -> None:
    """There is nothing to write in a reserve."""
    with pytest.raises(ScopeError, match="this Reserve cannot be opened as a block"):
        Reserve(5).__enter__()


# Numbers.


class Level(IntEnum):
    """Numbers that compare and print as they like."""

    LOW = 1

    def __repr__(self) -> str:
        return "nothing"


class Share(float):
    """A number that prints as it likes."""

    def __repr__(self) -> str:
        return "nothing"


def test_numbers_are_plain() -> None:
    """Of a number of another class its value is kept."""
    low: Any = Level.LOW
    nodes = (User("a", priority=low), Group("a", priority=Share(1)), Limit(low, "a"), Reserve(low))
    assert "Timeline(User(priority=1, 'a'), Group(priority=1.0, User('b')), Reserve(tokens=1))" == (
        repr(Timeline(nodes[0], Group(User("b"), priority=Share(1)), nodes[3]))
    )
    assert [int, float] == [type(nodes[2].most), type(nodes[1].priority)]


# Cache breakpoints.


def marks(tree: Node, **options: Any) -> list[tuple[str, ...]]:
    """Return role and blocks of every message, each text with its mark behind a bar."""
    messages = render(tree, **options).messages
    return [(message.role, *_shown(message)) for message in messages]


def _shown(message: Message) -> list[str]:
    return [
        getattr(block, "text", block.type) + f"|{cache}" * bool(cache)
        for block in message.content
        for cache in (getattr(block, "cache", None),)
    ]


@pytest.mark.parametrize(
    ("make", "ttl"),
    [
        (CacheBreakpoint, None),
        (lambda: CacheBreakpoint("5m"), "5m"),
        (lambda: CacheBreakpoint(ttl="1h"), "1h"),
    ],
)
def test_breakpoints(make: Callable[[], CacheBreakpoint], ttl: str | None) -> None:
    """A breakpoint knows how long it lasts, and is nothing but a mark."""
    node = make()
    assert (ttl, CACHE) == (node.ttl, node._mask)


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda: CacheBreakpoint("2h"), refusal(OptionError, "known: 1h, 5m")),  # type: ignore[arg-type]
        (
            lambda: CacheBreakpoint(3),  # type: ignore[arg-type]
            refusal(OptionError, "known: 1h, 5m"),
        ),
        (
            lambda: CacheBreakpoint(Text("a")),  # type: ignore[arg-type]
            refusal(OptionError, "known: 1h, 5m"),
        ),
        (lambda: CacheBreakpoint(tl="1h"), refusal(OptionError, "did you mean 'ttl'?")),  # type: ignore[arg-type]
    ],
)
def test_refusals(write: Callable[[], object], expected: Failed) -> None:
    """Any other time to live is refused with what is legal."""
    assert expected == failed(write)


@pytest.mark.parametrize(
    "write",
    [
        lambda: Ephemeral("a", HERE),
        lambda: Grounding("g", "a", HERE),
        lambda: Ephemeral(Section("s", "a", HERE)),
        lambda: Turn("ephemeral", "a", HERE),
    ],
)
def test_never_in_request_only_content(write: Callable[[], object]) -> None:
    """What is sent once cannot be cached."""
    error = raised(PlacementError, write)
    assert (
        "its content is sent only once, so it cannot be cached: leave the breakpoint out"
        == error.fix
    )


def test_the_advice_for_an_option() -> None:
    """Where it was asked for by an option, that is what to leave out."""
    error = raised(PlacementError, lambda: Ephemeral(Section("s", "a", cache=True)))
    assert (
        "its content is sent only once, so it cannot be cached: leave cache=True out" == error.fix
    )


@pytest.mark.parametrize(
    ("write", "holder"),
    [
        (lambda: List("a", HERE), "List"),
        (lambda: Checklist("a", HERE), "Checklist"),
        (lambda: List(Item("a", HERE)), "Item"),
        (lambda: Quote("a", Fragment(HERE)), "Quote"),
        (lambda: Example("a", HERE), "Example"),
    ],
)
def test_never_in_one_text(write: Callable[[], object], holder: str) -> None:
    """A part that is one text is sent completely."""
    error = raised(PlacementError, write)
    assert f"a {holder} is one text: write the breakpoint after it" == error.fix


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (System("a", HERE, "b"), [("system", "a|default", "b")]),
        (System("a", "b", CacheBreakpoint("1h")), [("system", "ab|1h")]),
        (System(Text("a"), Text("b"), HERE, HERE), [("system", "a\n\nb|default")]),
        (System("a", HERE, cache=True), [("system", "a|default")]),
        (System("a", CacheBreakpoint("5m"), cache=True), [("system", "a|5m")]),
        (
            System("a", CacheBreakpoint("1h"), CacheBreakpoint("5m"), "b", cache=True),
            [("system", "a|1h", "b|default")],
        ),
        (
            System("a", Section("s", "b", HERE, "c", title="S"), "d"),
            [("system", "a\n\n## S\nb|default", "c\n\nd")],
        ),
        (
            System("a", Section("s", HERE, "b", title="S"), "c"),
            [("system", "a|default", "## S\nb\n\nc")],
        ),
        (
            System("a", Section("s", Section("t", HERE, "b", title="T"), title="S"), "c"),
            [("system", "a|default", "## S\n### T\nb\n\nc")],
        ),
        (System("a", Section("s", HERE, "b"), "c"), [("system", "a|default", "b\n\nc")]),
        (
            System(Section("s", Section("t", "a", HERE)), "b"),
            [("system", "a|default", "b")],
        ),
        (
            System(Section("s", Section("t", "a", cache=True)), "b"),
            [("system", "a|default", "b")],
        ),
        (Timeline(System("a"), System(HERE, "b")), [("system", "a|default", "b")]),
        (Timeline(Section("s", "a", HERE), Section("t", "b")), [("system", "a|default", "b")]),
        (Fragment(System(Fragment("a", HERE), "b")), [("system", "a|default", "b")]),
    ],
)
def test_system_content(tree: Node, expected: list[tuple[str, ...]]) -> None:
    """A mark covers exactly what precedes it, and the next block begins with its own text."""
    assert expected == marks(tree)


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (
            System("a", Section("s", "b", HERE, "c"), "d"),
            [("system", "a\n\n<s>\nb|default", "c\n</s>\n\nd")],
        ),
        (System("a", Section("s", HERE, "b")), [("system", "a|default", "<s>\nb\n</s>")]),
        (System("a", Section("s", "b", HERE)), [("system", "a\n\n<s>\nb|default", "</s>")]),
        (
            System(Section("s", "a", CacheBreakpoint("1h"), cache=True), "b"),
            [("system", "<s>\na|1h", "</s>\n\nb")],
        ),
    ],
)
def test_system_content_in_xml(tree: Node, expected: list[tuple[str, ...]]) -> None:
    """A tag may close behind a mark; where both ask for one mark there is one."""
    assert expected == marks(tree, transformation={"format": "xml"})


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (User("a", HERE, "b"), [("user", "a|default", "b")]),
        (User("a", CacheBreakpoint("1h"), cache=True), [("user", "a|1h")]),
        (User(Image.from_file_id("f"), HERE, "b"), [("user", "image|default", "b")]),
        (User(HERE, "b"), [("user", "b")]),
        (
            User("a", Section("s", HERE, "b", title="S"), "c"),
            [("user", "a|default", "## S\nb", "c")],
        ),
        (
            User("a", Format("xml", HERE, List("b"))),
            [("user", "a|default", "<list>\n<item>b</item>\n</list>")],
        ),
        (Timeline(User("a", HERE), User("b")), [("user", "a|default", "b")]),
        (Timeline(User("a"), User("b", HERE)), [("user", "a", "b|default")]),
        (Assistant("a", HERE, "b"), [("assistant", "a|default", "b")]),
        (Developer("a", HERE, "b"), [("developer", "a|default", "b")]),
        (
            Event("a", HERE, "b"),
            [("user", "<event>\na|default", "b\n</event>")],
        ),
        (
            Event(UserAction("left"), HERE),
            [("user", '<event type="user_action">\nUser left\n</event>|default')],
        ),
        (Event(Image.from_file_id("f"), HERE), [("user", "image|default")]),
    ],
)
def test_conversation(tree: Node, expected: list[tuple[str, ...]]) -> None:
    """In a turn the block before a breakpoint gets the mark; merged turns keep theirs."""
    assert expected == marks(tree)


def test_tool_answers() -> None:
    """A breakpoint in an answer marks the block before it, one next to answers the answer."""
    call = Assistant(ToolUse("t", {}, id="1"), HERE)
    one, two = (
        render(Timeline(call, answer)).messages
        for answer in (
            ToolMessage("1", "a", HERE, "b"),
            Turn("tool", ToolResult("1", "a"), CacheBreakpoint("1h")),
        )
    )
    caches = [[getattr(m.content[0], "cache", None) for m in found] for found in (one, two)]
    inner: Any = one[1].content[0]
    assert ([["default", None], ["default", "1h"]], ["default", None]) == (
        caches,
        [block.cache for block in inner.content],
    )


@pytest.mark.parametrize(
    ("tree", "sent"),
    [
        (User(HERE), 0),
        (User("", HERE), 0),
        (System(HERE), 0),
        (System(Section("s", HERE)), 0),
        (User(HERE, "a"), 1),
        (Timeline(User("a"), User(HERE, "b")), 1),
    ],
)
def test_nothing_before_it(tree: Node, sent: int) -> None:
    """A breakpoint before all content of its turn marks nothing, and that is noticed."""
    rendered = render(tree)
    assert (sent, [("hint", "a cache breakpoint", "there is nothing before it in its turn")]) == (
        len(rendered.messages),
        [(hint.kind, hint.what, hint.why) for hint in rendered.hints],
    )


def test_the_place_of_a_loss() -> None:
    """The loss knows its turn and its line."""
    node = CacheBreakpoint()
    what, why = "a cache breakpoint", "there is nothing before it in its turn"
    expected = Loss("hint", what, why, "user[1]", node.source, name="cache_mark")
    assert (expected,) == render(Timeline(User("a"), Assistant("b"), User(node, "c"))).hints


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (
            Assistant(Reasoning("a"), HERE, "b"),
            ("a cache breakpoint", "the block before it takes no cache mark"),
        ),
        (
            Assistant("b", Reasoning("a"), cache=True),
            ("a cache mark", "a reasoning block takes no cache mark"),
        ),
    ],
)
def test_a_block_that_takes_none(turn: Node, expected: tuple[str, str]) -> None:
    """Reasoning takes no mark, and that is noticed."""
    assert [expected] == [(hint.what, hint.why) for hint in render(turn).hints]


PARTS = st.recursive(
    st.sampled_from(["text", "mark"]),
    lambda parts: st.lists(parts, min_size=1, max_size=4),
    max_leaves=12,
)


def _written(part: Any, number: list[int]) -> Any:
    if part == "mark":
        return CacheBreakpoint()
    number[0] += 1
    if part == "text":
        return Text(f"text {number[0]}")
    own = f"s{number[0]}"
    return Section(own, *[_written(one, number) for one in part], title=f"title {own}")


@given(st.lists(PARTS, min_size=1), st.sampled_from(["markdown", "xml"]))
def test_any_marks(parts: list[Any], form: str) -> None:
    """Without its marks a prompt of any parts reads the same; no block begins or ends blank."""
    options: dict[str, Any] = {"transformation": {"format": form}}
    number = [0]
    tree = System(*[_written(part, number) for part in parts])
    blocks = [b.text for m in render(tree, **options).messages for b in m.content]  # type: ignore[union-attr]
    plain = System("", *[_unmarked(part) for part in tree.content])
    whole = [b.text for m in render(plain, **options).messages for b in m.content]  # type: ignore[union-attr]
    assert ("".join("".join(whole).split()), blocks) == (
        "".join("".join(blocks).split()),
        [block.strip() for block in blocks],
    )


def _unmarked(part: Any) -> Any:
    """Return a part without marks: nothing in place of a mark."""
    if isinstance(part, str) or not part._mask & CACHE:
        return part
    if not hasattr(part, "title"):
        return None
    return Section(part.options.id, "", *map(_unmarked, part.content), title=part.title)


@pytest.mark.parametrize("depth", [2_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_deep_marks(depth: int) -> None:
    """Breakpoints at the start of very many sections in each other are one mark."""
    part: Any = Text("b")
    for level in range(depth):
        part = Section(f"s{level}", CacheBreakpoint(), part)
    assert [("system", "a|default", "b")] == marks(System("a", part))
