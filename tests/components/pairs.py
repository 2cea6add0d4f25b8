"""Trees in which two of a thing meet, and calls that are refused for it: what each comes to.

``python -m tests.components.pairs`` writes what the package says into ``pairs.txt``: judge each
line that changes by the docstring of the component before it is kept.
"""

import pickle
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from promptdsl import *
from tests.cases_file import HEAD
from tests.internals import answers_in, answers_of, calls_in, calls_of, walk
from tests.template_strings import Interpolation, template

FILE = Path(__file__).with_suffix(".txt")
Cases = dict[str, Callable[[], object]]


@component
def two_parts(first: object, second: object = "b", *rest: object) -> object:
    """Return two parts."""
    return Fragment(first, second, *rest)


@component
def framed_parts(title: str) -> Iterator[str]:
    """Write a section around the children."""
    with Section(title, "before"):
        yield title
        Text("after")


CONSTANT = Text("constant")


def caught(write: Callable[[], object]) -> str:
    """Return the error of a call."""
    with suppress(StopIteration):
        try:
            write()
        except PromptError as error:
            return f"{type(error).__name__}: {error}"
    return "no error"


def in_block(holder: Callable[[], Any], write: Callable[[], object]) -> object:
    """Write a text, what is refused, and a text into a block; return the block and the error."""
    beside = User if holder is Timeline else Text
    with holder() as block:
        beside("first")
        error = caught(write)
        beside("last")
    return block, error


# Blocks.


def blocks_out_of_order() -> object:
    """Close the outer of two blocks first, then the inner one."""
    with Timeline() as prompt:
        outer, inner = User("a"), None
        outer.__enter__()
        inner = Section("s").__enter__()
        Text("b")
        first = caught(lambda: outer.__exit__(None, None, None))
        second = caught(lambda: inner.__exit__(None, None, None))
        User("c")
    return prompt, first, second


def a_block_that_raised_among_equal_ones() -> object:
    """Leave the second of three equal blocks by an error."""
    with Timeline() as prompt, System():
        Section("s", "a")
        with suppress(KeyError), Section("t"):
            Text("b")
            Section("u", "c")
            raise KeyError
        Section("t", "d")
        with suppress(KeyError), Quote():
            with Quote():
                Text("e")
            raise KeyError
        Quote("e")
    return prompt


def blocks_that_are_opened_late() -> object:
    """Open blocks after others were written, in an inner block, too."""
    with Timeline() as prompt:
        system = System()
        first, second = User(), User("a")
        with second:
            Text("b")
            section = Section("s")
            with Section("t"), section:
                Text("c")
        with system:
            Text("d")
        with first:
            Text("e")
    return prompt


def one_block_twice() -> object:
    """Open a block that is open, one that is closed, and one of another block."""
    with Timeline() as prompt:
        with User("a") as user:
            again = caught(user.__enter__)
            with Section("s", "b") as section:
                pass
        closed = caught(section.__enter__)
        with System():
            other = caught(user.__enter__)
            Text("c")
    with System() as later:
        elsewhere = caught(prompt.content[0].__enter__)
        Text("d")
    return prompt, later, again, closed, other, elsewhere


def two_detached() -> object:
    """Build parts in two blocks without a prompt, one in the other, and include both."""
    with User("a") as user:
        with detached():
            first = Section("s", "b")
            with detached():
                second = Section("t", Text("c"), "d")
                with Section("u"):
                    Text("e")
            third = caught(lambda: include(first))
        Text("f")
        include(second, first, TextBlock("g"), second.content[0])
        fourth = caught(lambda: include(Text("h"), None))  # type: ignore[arg-type]
        fifth = caught(lambda: include(Text("i"), len))  # type: ignore[arg-type]
    return user, third, fourth, fifth


def arguments_that_were_written_before() -> object:
    """Give parts that are in the block, with another part behind them, and in both orders."""
    with User() as user:
        first, second, third = Text("a"), Text("b"), Text("c")
        not_last = caught(lambda: Section("s", first, second))
        quote = Section("s", third, second)
        fourth = Text("d")
        twice = Section("t", fourth, fourth)
        own = caught(lambda: Section("u", Section("v")))
        Text("e")
    return user, not_last, quote is twice, own


def arguments_of_calls_that_fail() -> object:
    """Take the parts back that a refused call was passed, and none next to them."""
    return [
        in_block(User, lambda: Section("1", Text("a"), Text("b"))),
        in_block(User, lambda: Section("s", Text("a"), object(), Text("b"))),
        in_block(User, lambda: Text(Value("a"), Volatile("b", "c"), None)),
        in_block(User, lambda: List(Text("a"), [1], Item("b"))),
        in_block(User, lambda: Example(Text("a"), None)),  # type: ignore[arg-type]
        in_block(User, lambda: Untrusted(Volatile("a", "b"), source=[Volatile("c", "d")])),
        in_block(User, lambda: Json({"a": Volatile(1, "b"), "c": {1}})),
        in_block(User, lambda: Table([[Volatile(1, "a")], [Volatile(2, "b"), 3]])),
        in_block(User, lambda: two_parts(Text("a"), Section("s"), Text("b"))),
        in_block(Event, lambda: UserAction(Volatile("a", "b"), Text("c"), target=object())),
        in_block(User, lambda: Template.from_string("{{ a }}", a=Volatile(1, "x"), b=Text("y"))),
        in_block(Timeline, lambda: Ephemeral("a", title=Value("b"), type=Text("c"))),  # type: ignore[arg-type]
        in_block(User, lambda: Limit(5, Text("a"), Group(Text("b")))),
        in_block(Timeline, lambda: History([User("a"), User("b")])),  # type: ignore[list-item]
        in_block(Timeline, lambda: Turn("nobody", Text("a"), Text("b"))),  # type: ignore[arg-type]
    ]


# Content.


def texts_side_by_side() -> object:
    """Give strings, values, numbers, notices and parts in turns."""
    x = Value
    return [
        User("a", x("b"), "c", 1, Text("d"), "e", x("f"), Volatile("g", "h"), None, False, "i"),
        User(UNTRUSTED_NOTICE, "a", UNTRUSTED_NOTICE, UNTRUSTED_NOTICE, x("b")),
        User("", x(""), Text(""), "", trusted(""), trusted("a"), "b"),
        System("One two.", "Three four.", x("Five six. "), "Seven eight."),
        System("a b", "One two.", trusted("Three four."), "Five six."),
        System(x("One two."), "Three four.", "five"),
        Text("One two.", 'He said "no."', "Then one."),
        Text("a", "b", x("c"), "d", "e"),
        List("a", x("b"), 1, Text("c"), None, Item("d", x("e")), trusted("f"), False, ""),
        FirstFit(
            "a", x("b"), 1, trusted("c"), None, Fragment("d", "e"), {"type": "text", "text": "f"}
        ),
        User(
            {"type": "text", "text": "a"},
            TextBlock("b"),
            "c",
            ImageBlock(MediaSource("url", "https://a.example/b")),
            "d",
        ),
        Example(x("a"), Fragment(Text("b"), x("c"))),
        Text(
            template(
                "a",
                Interpolation(1, "n"),
                "b",
                Interpolation(template("c", Interpolation("d"), ""), "t"),
                "",
            )
        ),
        Text(
            template(
                "",
                Interpolation(trusted("a"), "t"),
                "",
                Interpolation(2.5, "n", None, ".1f"),
                "",
                Interpolation("b", "s", "r"),
                "!",
            )
        ),
        User(
            template("a", Interpolation("b"), ""),
            Value("c"),
            template("", Interpolation(Volatile("d", "e")), "f"),
        ),
    ]


def ids_on_lines_of_their_own() -> object:
    """Write two sections or turns of one id in a block, with one of another id between."""

    def beside() -> None:
        with User():
            Section("a", "x")
            Section("b", "y")
            Section("a", "z")

    def in_fragments() -> None:
        with User():
            Section("b", "x")
            with Fragment():
                Section("a", "y")
            with Fragment(), Fragment():
                Section("c", "z")
                Section("a", "!")

    def in_alternatives() -> None:
        with User():
            with FirstFit():
                Section("a", "x")
                Section("b", "y")
                Section("a", "z")
            Section("c", "!")
            with FirstFit():
                Section("d", "x")
                Section("b", "y")

    def after_alternatives() -> None:
        with User():
            with FirstFit():
                Section("a", "x")
                with Fragment():
                    Section("b", "y")
                    Section("c", "z")
            Section("c", "!")

    def among_turns() -> None:
        with Timeline():
            User("x", id="a")
            Grounding("a", "y")
            with Group():
                User("z", id="b")
                Assistant("!", id="a")

    return [
        *map(caught, (beside, in_fragments, in_alternatives, after_alternatives, among_turns)),
    ]


def numbers_of_ids() -> object:
    """Give one id to groundings, turns, sections and alternatives, and tell their addresses."""

    def addresses(*turns: Any) -> str:
        nodes = [node for node, _ in walk(Timeline(*turns)) if node.options.id]
        return " ".join(node.options.address for node in nodes)

    a, b = (lambda: Grounding("a", "x")), (lambda: Grounding("b", "x"))
    return [
        addresses(a(), b(), a(), b(), a()),
        addresses(a(), User("x", id="a"), a(), User("y", id="b"), b()),
        addresses(System(Section("a", "x")), a(), User("y", id="a"), a()),
        addresses(Section("a", "x"), Section("b", "y"), b(), a(), Ephemeral("z", id="c"), a()),
        addresses(FirstFit(Fragment(a(), a()), a()), a(), b()),
        addresses(FirstFit(a(), Fragment(a(), a(), b())), a(), b()),
        addresses(a(), FirstFit(FirstFit(a(), Fragment(a(), a())), Fragment(b(), a())), a(), b()),
        addresses(FirstFit(a(), b()), FirstFit(b(), a()), a()),
        addresses(Fragment(a(), Fragment(b())), Group(b(), a()), a()),
        addresses(Ephemeral("x", id="history"), Ephemeral("y", id="b c"), Grounding("b c", "z")),
        addresses(Ephemeral("x", id='"\n'), Ephemeral("y", id="\u00e9"), Ephemeral("z", id="1")),
    ]


def refused_content() -> object:
    """Give two values of which one or both are no content."""
    return [
        caught(lambda: User("a", True, [1])),
        caught(lambda: User("a", {"type": "txt"}, {"type": "toolcall"})),
        caught(lambda: User(Message("user", "a"))),  # type: ignore[arg-type]
        caught(lambda: Text("a", TextBlock("b"))),
        caught(lambda: Timeline(User("a"), "b" * 50, "c")),
        caught(lambda: Timeline(User("a"), two_parts, len)),  # type: ignore[arg-type]
        caught(lambda: User(ToolResult("1", "a"), ToolUse("f", {}, id="2"), Item("b"))),
        caught(lambda: Assistant(Fragment("a", Fragment(Section("s", "b"), ToolResult("1", "c"))))),
        caught(lambda: System(Section("s", "a", Fragment(Image.from_file_id("f"))))),
        caught(lambda: List("a", Fragment(Section("s", "b")))),
        caught(lambda: Ephemeral("a", Section("s", Section("t", "b", cache=True)))),
        caught(lambda: Limit(5, "a", Fragment(Reserve(5)))),
        caught(lambda: History([{"role": "user"}, User("a")])),  # type: ignore[list-item]
        caught(lambda: ToolMessage("1", ToolResult("2", "a"))),
        caught(lambda: Event("a", UserAction("b", Section("s", "c")))),
        caught(lambda: System("a", Tool(name="f"), User("b"))),
    ]


def ids() -> object:
    """Give ids twice: next to each other, in fragments, in alternatives, and in groundings."""
    s = Section
    with detached():
        part = s("a", "x")
    return [
        caught(lambda: User(s("a", "x"), s("b", "y"), s("a", "z"))),
        caught(lambda: User(s("a", "x"), Fragment(s("b", "y"), Fragment(s("a", "z"))))),
        caught(lambda: User(part, "x", part)),
        caught(lambda: User(*(s("a", "x") for _ in range(2)))),
        caught(lambda: User(FirstFit(s("a", "x"), s("a", "y")), s("b", "z"), s("a", "!"))),
        caught(
            lambda: User(s("a", "!"), FirstFit(s("b", "x"), Fragment(s("c", "y"), s("a", "z"))))
        ),
        caught(lambda: User(FirstFit(Fragment(s("a", "x"), s("a", "y")), s("a", "z")))),
        caught(lambda: User(FirstFit(FirstFit(s("a", "x"), s("b", "y")), s("b", "z")))),
        caught(
            lambda: User(
                FirstFit(FirstFit(s("a", "x")), s("c", "y")), FirstFit(s("b", "z"), s("a", "!"))
            )
        ),
        caught(lambda: Timeline(User("x", id="a"), Assistant("y", id="b"), User("z", id="a"))),
        caught(lambda: Timeline(s("a", "x"), System(s("a", "y")))),
        caught(lambda: User(s("s", s("a", "x")), s("a", s("s", "y")))),
        Timeline(
            Grounding("a", "x"),
            User("y", id="a"),
            Grounding("a", "z"),
            Ephemeral("!", id="b"),
            Grounding("b", "?"),
        ),
        Timeline(
            System(s("a", "x")), Grounding("a", "y"), Grounding("b", "z"), Grounding("a", "!")
        ),
        Timeline(
            FirstFit(Fragment(Grounding("a", "x"), Grounding("a", "y")), Grounding("a", "z")),
            Grounding("a", "!"),
        ),
        Timeline(
            FirstFit(Grounding("a", "x"), Fragment(Grounding("a", "y"), Grounding("a", "z"))),
            Grounding("a", "!"),
            Grounding("b", "?"),
        ),
        Timeline(
            Fragment(Grounding("a", "x")),
            Grounding("b", "y"),
            Fragment(Grounding("a", "z"), User("!", id="b")),
        ),
    ]


# Options.


def turn_or_error(**keywords: Any) -> object:
    """Return a turn with these options, or the error."""
    turns: list[User] = []
    error = caught(lambda: turns.append(User("a", **keywords)))
    return turns[0] if turns else error


def options() -> object:
    """Give options that are unknown, wrong and equal to a default, two in each call."""
    any_: Any = {}
    given: list[dict[str, Any]] = [
        {"priorty": 1, "tag": ()},
        {"tags": ("a", 1)},
        {"tags": "ab"},
        {"tags": {"b", "a"}, "metadata": None, "cache": False, "priority": 0},
        {"tags": ["b", "a", "b"], "metadata": {"b": [1], "a": {}}},
        {"metadata": [1], "name": 1},
        {"audience": "modal", "cache": 1},
        {"audience": "people", "merge": False, "id": None, "name": None},
        {"separator": " \n"},
        {"separator": "\n\n", "id": "x y"},
        {"separator": "", "priority": True},
        {"priority": float("inf")},
        {"priority": -0.5, "merge": True},
        {"id": ""},
        {"id": 1},
        {"text": "a"},
        {"content": "a", "audience": "x"},
    ]
    return [
        *(turn_or_error(**keywords) for keywords in given),
        caught(lambda: Section("a b c")),
        caught(lambda: Section("a b c", title="x", level=1, **any_)),  # type: ignore[call-arg]
        caught(lambda: Section(1, "a")),  # type: ignore[arg-type]
        caught(lambda: Section("\u00e9t\u00e9 1", "a")),
        caught(lambda: Image.from_url("https://a.example", name="a", mime_type="b")),  # type: ignore[call-arg]
        caught(lambda: Image("a.png", "b.png")),  # type: ignore[call-arg]
        caught(lambda: Document.from_bytes(b"a", "b", "c")),  # type: ignore[call-arg]
        caught(lambda: ToolUse("f", {}, "1", "2")),  # type: ignore[call-arg]
        caught(lambda: ToolUse("f", {"a": {1}, "b": {2}}, id="1")),  # type: ignore[dict-item]
        caught(lambda: ToolMessage("", "a")),
        caught(lambda: ToolMessage("1", "a", is_error=0, error_type="late")),  # type: ignore[arg-type]
        caught(lambda: Reasoning("a", 1, encrypted=2)),  # type: ignore[arg-type]
        caught(lambda: Ephemeral("a", position="first", order="x")),  # type: ignore[arg-type]
        caught(lambda: Heading("a", 7)),
        caught(lambda: Code("a", "b c")),
        caught(lambda: Limit("a", 5)),  # type: ignore[arg-type]
        caught(lambda: Limit(0, "a", keep="x")),  # type: ignore[arg-type]
        caught(lambda: CacheBreakpoint("2h")),  # type: ignore[arg-type]
        caught(lambda: Reserve(-1)),
        caught(lambda: Lazy(str, 0)),
        caught(lambda: Checklist(Item("a", done=1))),  # type: ignore[arg-type]
        caught(lambda: StateChange("a", "b", "c")),
        caught(lambda: StateChange("a", "b", old=1)),
        caught(lambda: UserAction("a", x={1}, y={2})),
        caught(lambda: Template.from_string("{a} $b", b=1, a=2)),
        caught(lambda: Template.from_string("{{ a }}", {"a": 1, "b": 2}, b=3, a=4)),
        caught(lambda: Grounding("a b", title="c")),
        caught(lambda: Timeline(User("a"), transformation={"format": "x"}, cache=True)),  # type: ignore[call-arg]
    ]


def sections_of_one_id() -> object:
    """Write sections of one id with priorities that are equal and of other types."""
    turns = [System(Section("r", "a", priority=it)) for it in (1, 1.0, 0, 2.5, 2, None, 1)]
    turns += [System(Section("r", "a"), Section("r2", "a", title="", priority=1))]
    turns += [User("a", priority=it) for it in (1, 1.0, 0, None, 2.5)]
    kept = [turn.content[0].options.priority for turn in turns[:7]]  # type: ignore[union-attr]
    return turns, [type(it).__name__ for it in kept]


def histories() -> object:
    """Give options of histories, wrong entries behind right ones, and turns in the block."""
    hi: Any = {"role": "user", "content": "a"}
    with History([hi, Message("assistant", "b")], keep=1, pin=["x", "y", "x"]) as history:
        User("c", id="x")
        Assistant("d")
    return [
        history,
        History([hi], clear_results=ClearResults(keep=2, exclude=("a", "b")), step=0, pin="x"),
        History.from_openai({"messages": [hi, hi], "model": "m"}, origin="deepseek"),
        History.from_gemini((hi for _ in range(2)), pin=iter(["a", "b"])),
        caught(lambda: History([hi, "a", "b"])),  # type: ignore[list-item]
        caught(lambda: History([hi, None], keep=-1)),  # type: ignore[list-item]
        caught(lambda: History(hi)),
        caught(lambda: History([hi], keep=1, kep=2, instructions="x")),  # type: ignore[call-arg]
        caught(lambda: History([hi], system="x", kep=2)),  # type: ignore[call-arg]
        caught(lambda: History([hi], pin=["a", 1, 2])),  # type: ignore[list-item]
        caught(lambda: History([hi], clear_results=ClearResults(keep=0, at_least=0))),
        caught(lambda: History([hi], clear_results=ClearResults(exclude=("a", 1)))),  # type: ignore[arg-type]
        caught(lambda: History([hi], clear_results=0, max_result_tokens=0)),
        caught(lambda: History([hi], priority=None)),  # type: ignore[arg-type]
        caught(lambda: History.from_openai([hi], origin="deepsek")),
        caught(lambda: History([hi], origin="openai")),  # type: ignore[call-arg]
        caught(lambda: History.from_anthropic("a")),
    ]


def tables() -> object:
    """Give rows of other widths, mappings of other keys, and columns twice."""
    return [
        Table([{"a": 1, "b": 2}, {"c": 3, "a": 4}, {}]),
        Table([{"a": 1, "b": 2}, {"b": 3}], columns=["b", "x", "a"]),
        Table([[1, 2], [3, None]], columns=["a", "a"]),
        Table([{"a": Volatile(1, "x")}, {"a": Volatile(2, "y"), "b": trusted("z")}]),
        Table([], columns=["a", "b"]),
        Table([[], []]),
        caught(lambda: Table([[1, 2], [3], [4, 5, 6]])),
        caught(lambda: Table([[1], [2]], columns=["a", "b"])),
        caught(lambda: Table([[1], {"a": 2}])),
        caught(lambda: Table([[1, 2], [3, [4]]])),
        caught(lambda: Table([{"a": 1}, {"a": 2, "b": {3}}])),
        caught(lambda: Table([[1, 2, 3]], columns=["a", "b", "b"], format="json")),
        caught(lambda: Table([[1, 2, 3, 4]], columns=["a", "b", "b", "a"], format="json")),
        caught(lambda: Table([[1]], columns="ab")),
        caught(lambda: Table({"a": 1})),
        caught(lambda: Table([[Text("a")], [Text("b")]])),
    ]


def events() -> object:
    """Write events with fields of each kind, details of their names, and texts."""
    trusted_ = trusted("t")
    return [
        UserAction("a", "b", Value("c"), target=trusted_, actor=trusted_, x=trusted_, y="t"),
        UserAction("a", target=Volatile(1, "l"), x=Volatile("v", "m"), y=[1, Volatile(2, "n")]),
        StateChange("k", old=1, new=None, trigger=0, x={"a": Volatile(True, "o"), "b": (1, 2)}),
        StateChange("k", old=Volatile("o", "p"), new=trusted_),
        StateChange("k", "a"),
        SystemEvent("e", source="", a=1.5, b=None, target="x", data="y", details="z"),
        SystemEvent("e", Text("f"), Quote("g")),
    ]


# Components and overrides.


def overrides() -> object:
    """Override components, sections and constants: two at once, one in the other, and unused."""
    found: list[object] = []

    def written() -> None:
        with Timeline() as prompt, System("x"):
            two_parts("1", "2")
            with framed_parts("f"):
                Section("quartz_r", "3")
            include(CONSTANT, CONSTANT)
            Section("quartz_r2", CONSTANT, Section("quartz_r", "4", title="T"))
        found.append(prompt)

    def outer_pair(first: object, second: object = "c", *rest: object) -> object:
        return Fragment("outer", two_parts(first, second, *rest))

    def inner_pair(first: object, second: object = "d", *rest: object) -> object:
        return Fragment("inner", two_parts(first, f"{second}{len(rest)}"))

    def other_frame(title: str) -> Iterator[None]:
        Section(title + "2", "other")
        yield

    rule = Section("z", "by section", title="Z")
    with override({two_parts: outer_pair, "quartz_r": rule}):
        written()
        with override(
            {"two_parts": inner_pair, CONSTANT: Text("by text"), framed_parts: other_frame}
        ):
            written()
        with override({"quartz_r": Text("by inner text")}):
            written()
            with override({"quartz_r": Text("by innermost")}):
                written()
    with override({"two_parts": Text("by part"), f"{__name__}.two_parts": inner_pair}):
        written()
    with override({f"{__name__}.two_parts": inner_pair, "two_parts": Text("by part")}):
        written()
    written()
    return found


def refused_overrides() -> object:
    """Override what is unknown, unfit, or never written."""

    def unused(*keys: object) -> Callable[[], None]:
        def run() -> None:
            with override({key: Text("x") for key in keys}):  # type: ignore[misc]
                System(Section("quartz_r", "a"))

        return run

    return [
        caught(unused("quartz_r", "quartz_s", "quartz_t")),
        caught(unused("quartz_s", "quartz_r")),
        caught(unused(CONSTANT, "quartz_r")),
        caught(lambda: override({"two_parts": lambda first: first, "a b": Text("x")})),
        caught(lambda: override({"two_part": lambda: 1})),
        caught(lambda: override({framed_parts: two_parts})),  # type: ignore[dict-item]
        caught(lambda: override({two_parts: framed_parts})),
        caught(
            lambda: override({two_parts: lambda second, first="a", *rest: (first, second, rest)})
        ),
        caught(lambda: override({two_parts: lambda first, second, third: (first, second, third)})),
        caught(lambda: override({CONSTANT: len, two_parts: 1})),  # type: ignore[dict-item]
        caught(lambda: override({framed_parts: Text("x")})),
        caught(lambda: override({}, {})),  # type: ignore[call-arg]
        caught(lambda: override(two_parts=1, framed_parts=2)),  # type: ignore[call-arg]
        caught(two_parts),  # type: ignore[arg-type]
        caught(lambda: two_parts(scond="a", frst="b")),
        caught(lambda: framed_parts("a", "b")),
        caught(lambda: component(name="a b")),
        caught(lambda: component(name="a b")(len)),
        caught(lambda: component(two_parts, name="1a")),  # type: ignore[call-overload]
    ]


def what_components_write() -> object:
    """Write and return parts, both, a part of the block, and a part twice."""

    @component
    def both() -> Node:
        first = Text("1")
        Text("2")
        return first

    @component
    def inner() -> Node:
        with Section("s"):
            return Text("3")

    @component
    def new() -> Node:
        Text("4")
        with detached():
            return Section("t", "5")

    @component
    def strings() -> str:
        Text("6")
        return "7"

    @component
    def nothing() -> None:
        """Write nothing."""

    with User() as user:
        both()
        inner()
        new()
        strings()
        nothing()
        two_parts(Text("8"), Text("9"))
        with framed_parts("u") as given:
            Text(given)
            two_parts("10", Section("v", "11"))
    return user


# Tools and attachments.


def google(first: int, second: "str | None" = None, *, third: float) -> str:
    """Do two things.

    Both at once.

    Args:
        first: The first
            of them.
        second (str): The second.
        fourth: Nobody.

    Note:
        Kept.

    Returns:
        A text.
    """


def numpy(first: int, second: int, third: int = 3) -> str:
    """Do three things.

    Parameters
    ----------
    first, second : int
        Both of them.
    third
        The last.

    Returns
    -------
    str
    """


def rest(
    first: Annotated[int, Field(description="Said here.")],
    second: Annotated[str, Field(alias="other")] = "b",
) -> None:
    """Do it.

    :param first: Said there.
    :param second: The second.
    :returns: Nothing.
    """


class Shop:
    """A shop that is open."""

    def __init__(self, name: str, open: bool = True) -> None:
        """Make a shop."""

    def sell(self, item: str, count: int = 1) -> None:
        """Sell items."""

    def __call__(self, day: str) -> None:
        """Open on a day."""

    @classmethod
    def of(cls, name: str) -> None:
        """Found a shop."""

    @staticmethod
    def near(place: str, far: float = 0) -> None:
        """Find shops."""


class Order(BaseModel):
    """An order."""

    first: int = Field(description="The first.")
    second: list[str] = []


def tools_of_functions() -> object:
    """Read functions with two parameters, of which one is described, given, or named otherwise."""
    shop = Shop("a")
    functions: list[Any] = [
        *(google, numpy, rest, Shop, Order, shop, shop.sell, Shop.of, Shop.near),
        partial(google, 1),
        partial(google, third=1.0),
        partial(partial(google, second="b"), third=2.0),
        partial(shop.sell, count=2),
        lambda first, second=2: None,  # noqa: ARG005
    ]
    wrong: list[Any] = [
        lambda first, *rest: None,  # noqa: ARG005
        lambda first, **rest: None,  # noqa: ARG005
        Shop.sell,
        len,
        [google, numpy],
        "google",
    ]
    return [
        *(repr(Tool(function, name=f"t{n}").definition) for n, function in enumerate(functions)),
        *(repr(Tool(function).definition.name) for function in functions[:-1]),
        *(caught(lambda function=function: Tool(function)) for function in [*wrong, functions[-1]]),  # type: ignore[misc]
        repr(Tool(google, name="f", description="g").definition.description),
        repr(Tool(google, description="").definition.description),
        caught(lambda: Tool(google, input_schema={}, name="a")),
        caught(lambda: Tool(name="a", description=1, input_schema=2)),  # type: ignore[arg-type]
        caught(lambda: Tool(name="a", input_schema={"type": "array"})),
        caught(lambda: Tool(input_schema={"type": "object"})),
        caught(lambda: Tool(Tool(google).definition, name="b")),
        repr(Output(Order, description="d").schema),
        repr(Output({"type": "object"}, name="a b-c/d", strict=False).schema.name),
        repr(Output(Order, name="x" * 70).schema.name),
        caught(lambda: Output(Order(first=1))),
        caught(lambda: Output(list[int])),
        caught(lambda: Output({"a": 1})),
        caught(lambda: Output({"type": "array"}, mode="x")),  # type: ignore[arg-type]
        caught(lambda: Output(Order, strict=1, mode="prompt")),  # type: ignore[arg-type]
        caught(lambda: Output(len)),
    ]


def attachments() -> object:
    """Make attachments with two options, and such that are refused for one of two."""
    png, url = b"\x89PNG\r\n\x1a\n", "https://example.org/a.png"
    return [
        Image.from_url(url, title="a", detail="low"),
        Image.from_file_id("f", media_type="image/png"),
        Document.from_bytes(b"a", title="b"),
        Document.from_base64("YQ ==\n", "text/markdown", title=None),
        Document.from_path("a/b.pdf", media_type="application/pdf"),
        caught(lambda: Image.from_url(url, titel="a", detail="x")),  # type: ignore[call-arg]
        caught(lambda: Image.from_url(url, title=1, detail="x")),  # type: ignore[arg-type]
        caught(lambda: Document.from_url(url, title="a", detail="low")),  # type: ignore[call-arg]
        caught(lambda: Image.from_bytes(b"a", "image/png")),
        caught(lambda: Image.from_bytes(png, "image/jpeg")),
        caught(lambda: Audio.from_bytes(png, "audio/wav")),
        caught(lambda: Image.from_path(png)),  # type: ignore[arg-type]
        caught(lambda: Image.from_bytes("a.png")),  # type: ignore[arg-type]
        caught(lambda: Image.from_url(Path("a.png"))),  # type: ignore[arg-type]
        caught(lambda: Document.from_base64("%%")),
        caught(lambda: Image.from_url("ftp://a/b", title="c")),
        caught(lambda: Image.from_file_id("", title="c")),
    ]


# Trees.


def compared() -> object:
    """Compare trees that differ in their second part, in an option, a field or a number alone."""
    trees: list[Callable[[], Node]] = [
        lambda: System("a", Section("s", "b"), "c"),
        lambda: System("a", Section("s", "b"), "d"),
        lambda: System("a", Section("s", "b", title="T"), "c"),
        lambda: System("a", Section("s", "b", priority=1), "c"),
        lambda: System("a", "c"),
        lambda: System("a", Section("s", "b"), "c", id="x"),
        lambda: System("a", Section("s", Text("b")), "c"),
        lambda: User("a", Section("s", "b"), "c"),
        lambda: System("a", Section("t", "b"), "c"),
        lambda: System("a", Section("s", "b"), Text("c", Value("d"))),
        lambda: System("a", Section("s", "b"), Text("c", Value("e"))),
        lambda: System("a", Section("s", "b"), Text("c", Volatile("d", "x"))),
        lambda: System("a", Section("s", "b"), Text("c", Volatile("d", "y"))),
    ]
    one, two = [make() for make in trees], [make() for make in trees]
    equal = [["=" if a == b else "." for b in two] for a in one]
    saved = [pickle.loads(pickle.dumps(it)) == it for it in one]
    hashes = [hash(a) == hash(b) for a, b in zip(one, two, strict=True)]
    return ["".join(row) for row in equal], all(saved), all(hashes)


def saved() -> object:
    """Save a tree of two of each, and read its lines again."""
    with Timeline() as prompt:
        System("a", Section("s", "b", Text("c", Value("d"))))
        System(Section("t", "e"), "f")
        User(Image.from_file_id("g"), "h", Image.from_file_id("i"))
        History([Message("user", "j"), Message("assistant", "k")])
        Event(UserAction("l"), "m", UserAction("n", "o"))
    again = pickle.loads(pickle.dumps(prompt))
    places = [(node.source, depth) for node, depth in walk(prompt)]
    return again, f"{again == prompt} {places == [(it.source, depth) for it, depth in walk(again)]}"


def calls() -> object:
    """Tell the calls that turns and messages make and answer, in order."""
    turns: list[Node] = [
        Assistant("a", ToolUse("f", {}, id="2"), Fragment(ToolUse("g", {}, id="1"))),
        Assistant("a", Section("s", "b")),
        User(ToolResult("2", "a"), "b", Fragment(ToolResult("1"), ToolResult("3", "c"))),
        Turn("tool", ToolResult("2"), ToolResult("1")),
        ToolMessage("1", "a"),
        User("a"),
    ]
    call, result = ToolUseBlock("1", "f", "{}"), ToolResultBlock("1", ())
    later, more = ToolUseBlock("2", "f", "{}"), ToolResultBlock("2", ())
    messages = [
        Message("assistant", (later, TextBlock("a"), call)),
        Message("tool", (more, result)),
        Message("user", (TextBlock("a"), result)),
        Message("user", "a"),
    ]
    return [
        *(f"{calls_of(turn)} {answers_of(turn)}" for turn in turns),
        *(f"{calls_in(message)} {answers_in(message)}" for message in messages),
    ]


def printed() -> object:
    """Print parts with two fields, two options and content between."""
    return [
        Section("s", "a", Text("b", Value("c")), title=Value("T"), priority=0, cache=True),
        User("", name="", tags=("a", "b"), metadata={"x": 1}, merge=False),
        ToolMessage("1", "a", name="f", error_type="timeout_error"),
        Table([[1, "a"], [trusted("b"), None]], columns=["x", "y"], format="csv"),
        Timeline(Tool(name="f"), Output({"type": "object"}), User("a"), Tool(name="g")),
        Untrusted("a", source="", encoding="full"),
        Fragment(Group(User("a"), priority=0), Limit(5, "b", keep="ends"), Reserve(0)),
        caught(lambda: f"{Section('s', 'a')} {Text('b')}"),
        caught(lambda: Text("a") + Text("b")),
        caught(lambda: "a" + Section("s", "b")),  # type: ignore[operator]
        caught(lambda: Text("a").messages),  # type: ignore[attr-defined]
        caught(lambda: Timeline(User("a")).append(User("b"))),  # type: ignore[attr-defined]
        caught(lambda: Text("a").to_openai()),  # type: ignore[attr-defined]
    ]


CASES: Cases = {
    make.__name__: make
    for make in (
        *(blocks_out_of_order, a_block_that_raised_among_equal_ones, blocks_that_are_opened_late),
        *(one_block_twice, two_detached, arguments_that_were_written_before),
        *(arguments_of_calls_that_fail, texts_side_by_side, refused_content, ids, options),
        *(ids_on_lines_of_their_own, numbers_of_ids),
        *(sections_of_one_id, histories, tables, events, overrides, refused_overrides),
        *(what_components_write, tools_of_functions, attachments, compared, saved, calls, printed),
    )
}


def report(name: str) -> str:
    """Return what a case comes to: trees as they are printed, errors with relative lines."""
    make = CASES[name]
    first = make.__code__.co_firstlineno
    text = "\n".join(_printed(make()))
    text = re.sub(rf"{re.escape(__file__)}:(\d+)", lambda at: f"+{int(at[1]) - first}", text)
    return re.sub(r"frozenset\(\{(.*?)\}\)", _in_order, text)


def _in_order(names: re.Match[str]) -> str:
    """Return a set as it is printed, in the order of its texts."""
    return f"{{{', '.join(sorted(names[1].split(', ')))}}}"


def _printed(result: object) -> Iterator[str]:
    if isinstance(result, list | tuple) and any(
        isinstance(it, Node | list | tuple) for it in result
    ):
        for item in result:
            yield from _printed(item)
    elif isinstance(result, list | tuple):
        yield from (f"- {item}" for item in result)
    else:
        text = result if isinstance(result, str) else repr(result)
        yield f"- {text.encode('ascii', 'backslashreplace').decode()}"


if __name__ == "__main__":
    FILE.write_text("".join(f"{HEAD}{name}\n{report(name)}\n" for name in CASES), "utf-8")
