"""Cache breakpoints: where a part ends that stays the same."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import (
    Assistant,
    Checklist,
    Developer,
    Ephemeral,
    Event,
    Example,
    Format,
    Fragment,
    Grounding,
    Image,
    Item,
    List,
    Loss,
    Message,
    OptionError,
    PlacementError,
    Quote,
    Reasoning,
    Section,
    System,
    Text,
    Timeline,
    ToolMessage,
    ToolResult,
    ToolUse,
    Turn,
    User,
    UserAction,
    render,
)
from promptdsl.components.budget import CacheBreakpoint
from promptdsl.tree import CACHE, Node
from tests.components.failing import Failed, failed, refusal
from tests.places import losses, raised

HERE = CacheBreakpoint()


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
    assert (ttl, CACHE) == (node.ttl, node.mask)


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda: CacheBreakpoint("2h"), refusal(OptionError, "known: 1h, 5m")),  # type: ignore[arg-type]
        (
            lambda: CacheBreakpoint(3),  # type: ignore[arg-type]
            refusal(OptionError, "write '5m', '1h' or leave it out"),
        ),
        (
            lambda: CacheBreakpoint(Text("a")),  # type: ignore[arg-type]
            refusal(OptionError, "write '5m', '1h' or leave it out"),
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
    assert "what is sent once cannot be cached: leave the breakpoint out" == error.fix


def test_the_advice_for_an_option() -> None:
    """Where it was asked for by an option, that is what to leave out."""
    error = raised(PlacementError, lambda: Ephemeral(Section("s", "a", cache=True)))
    assert "what is sent once cannot be cached: leave cache=True out" == error.fix


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
    """A part that is one text is sent whole."""
    error = raised(PlacementError, write)
    assert f"a {holder} is sent whole: write the breakpoint behind it" == error.fix


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
    """A breakpoint in an answer marks the block before it, one beside answers the answer."""
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
    assert (sent, [("hint", "a cache breakpoint", "nothing stands before it in its turn")]) == (
        len(rendered.messages),
        [(loss.kind, loss.what, loss.why) for loss in rendered.losses],
    )


def test_the_place_of_a_loss() -> None:
    """The loss knows its turn and its line."""
    node = CacheBreakpoint()
    expected = Loss(
        "hint",
        "a cache breakpoint",
        "nothing stands before it in its turn",
        "user[1]",
        node.source,
    )
    assert (expected,) == losses(Timeline(User("a"), Assistant("b"), User(node, "c")))


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (
            Assistant(Reasoning("a"), HERE, "b"),
            ("a cache breakpoint", "the block before it takes none"),
        ),
        (
            Assistant("b", Reasoning("a"), cache=True),
            ("a cache mark", "a reasoning block takes none"),
        ),
    ],
)
def test_a_block_that_takes_none(turn: Node, expected: tuple[str, str]) -> None:
    """Reasoning takes no mark, and that is noticed."""
    assert [expected] == [(loss.what, loss.why) for loss in losses(turn)]


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
    if isinstance(part, str) or not part.mask & CACHE:
        return part
    if not hasattr(part, "title"):
        return None
    return Section(part.options.id, "", *map(_unmarked, part.content), title=part.title)


def test_deep_marks() -> None:
    """Breakpoints at the start of ten thousand sections in each other are one mark."""
    part: Any = Text("b")
    for level in range(10_000):
        part = Section(f"s{level}", CacheBreakpoint(), part)
    assert [("system", "a|default", "b")] == marks(System("a", part))
