"""Two of a thing in the functions on trees and lines, which no prompt shows alone."""

from collections.abc import Sequence
from typing import Any

from promptdsl import *
from tests.internals import (
    MOST_FINDINGS,
    RecordedNode,
    cut_run,
    deep_bits,
    first_of,
    has_content,
    make,
    note_caller,
    opaque_nodes,
    remember,
    rewrite,
    source_of,
    tree_module,
    walk,
    with_content,
)


def run_of(*texts: str, start: int = 0) -> RecordedNode:
    """Return recorded messages of users as a run."""
    items = tuple(Message("user", text) for text in texts)
    return make(RecordedNode, items=items, provider_format="messages", start=start)


def texts(messages: Sequence[Message], before: Any = None) -> str:
    """Fold messages: their texts, behind what was found before."""
    found = " ".join(message.text for message in messages)
    return found if before is None else f"({before}) {found}"


def test_runs_that_are_cut_from_a_cut_run() -> None:
    """A cut knows where it begins in its recording, also one that is cut from another cut."""
    whole = run_of("a", "b", "c", "d", "e", start=10)
    first_of(whole)
    middle = cut_run(whole, 1, 4)
    inner, last = cut_run(middle, 1), cut_run(middle, 2, None, mask=5)
    cuts = [whole, middle, inner, last]
    assert [
        ("a b c d e", 10, 0),
        ("b c d", 11, 1),
        ("c d", 12, 2),
        ("d", 13, 3),
    ] == [(texts(it.items), it.start, first_of(it)) for it in cuts]
    assert (whole._mask, 5) == (inner._mask, last._mask)


def test_what_is_remembered_of_two_runs() -> None:
    """A finding is of the recording up to the end of a run; each key has its own."""
    whole = run_of("a", "b", "c", "d")
    first_of(whole)
    start, end = cut_run(whole, 0, 2), cut_run(whole, 2, 3)
    assert ["a b", "(a b) a b c", "((a b) a b c) a b", "a b c d", "(a b c d) a b"] == [
        remember(start, "x", texts),
        remember(end, "x", texts),
        remember(start, "x", texts),
        remember(whole, "y", texts),
        remember(start, "y", texts),
    ]


def test_what_is_forgotten() -> None:
    """Of more findings than are remembered, the key that came first is forgotten, and no other."""
    run = run_of("a")
    for number in range(MOST_FINDINGS):
        remember(run, number, texts)
    remember(run, 0, texts)
    remember(run, "new", texts)
    kept = [remember(run, key, texts) for key in (1, 2, "new")]
    assert ["(a) a", "(a) a", "(a) a"] == kept
    assert "a" == remember(run, 0, texts)


def test_content_beside_nothing() -> None:
    """A content has something if any part has, in any order and depth; results do not count."""
    empty: list[Any] = [Text(""), Fragment(None), Fragment(Fragment("")), Table([]), Note("n")]
    some: list[Any] = [Text("a"), Fragment(Text(""), "a"), Image.from_file_id("f"), Lazy(str)]
    result = User(ToolResult("1", "a")).content
    assert [False, True, False, True, True, False, True] == [
        has_content([*empty[:4], *result]),
        has_content([*empty[:4], some[0]]),
        has_content([]),
        has_content([some[1], *empty]),
        has_content([empty[0], some[2], empty[1]]),
        has_content(["", *empty[:2]]),
        has_content([*result, some[3]]),
    ]


def classes(nodes: Sequence[Node]) -> list[str]:
    """Return the names of the classes of nodes, in order of the alphabet."""
    return sorted(type(node).__name__ for node in nodes)


def test_hollow_nodes_side_by_side() -> None:
    """The hollow nodes are found in each branch, and below no node that has none."""
    tree = Timeline(
        System("a", Section("s", Note("b"), "c", Note("d"))),
        User("e"),
        User(Fragment("f"), Section("t", Section("u", ""))),
    )
    expected = ["Fragment", "Note", "Note", *["Section"] * 3, "System", "Timeline", "User"]
    assert expected == classes(opaque_nodes(tree))


def test_nodes_that_are_rewritten() -> None:
    """Each changed node is in its place, one of two is left out, and the rest are the same."""
    tree = Timeline(System("a", Section("s", "b"), Section("t", "c")), User("d"), User("e", id="x"))
    user = User("new")

    def change(node: Node) -> Node | None:
        if node.content == ("b",):
            return None
        return user if node.options.id == "x" else node

    changed = rewrite(tree, change, within=-1)
    system, first, second = changed.content
    assert Timeline(System("a", Section("t", "c")), User("d"), User("new")) == changed
    same = [system.content[1] is tree.content[0].content[2], first is tree.content[1]]
    assert ([True, True, True], True) == (
        [*same, second is user],
        rewrite(tree, lambda it: it, within=-1) is tree,
    )
    kept = rewrite(tree, change, within=-1, unchanged={id(tree.content[0])})
    assert kept.content[0] is tree.content[0]


def test_masks_of_two_children() -> None:
    """The mask of a node has the bits of all its children, and of none that was left out."""
    media, call = Image.from_file_id("f"), ToolUse("f", {}, id="1")
    both, deep = Assistant("a", call, media), tree_module
    bits = [(deep.MEDIA << deep.SHIFT), (deep.CALL << deep.SHIFT), deep.CACHE, deep.AUDIENCE]

    def has(mask: int) -> list[bool]:
        return [bool(mask & bit) for bit in bits]

    marked = System(Section("s", "a", cache=True), Section("t", "b", audience="people"))
    assert [
        [True, True, False, False],
        [False, True, False, False],
        [True, False, False, False],
        [False, False, True, True],
        [False, False, False, True],
        [True, True, True, True],
    ] == [
        has(both._mask),
        has(with_content(both, both.content[:2])._mask),
        has(with_content(both, (both.content[0], both.content[2]))._mask),
        has(marked._mask),
        has(with_content(marked, marked.content[1:])._mask),
        has(deep_bits(("x", both, "y", marked))),
    ]


def test_lines_of_one_code_object() -> None:
    """Each node has its own line, of a statement of several lines and of two in a loop."""

    def write() -> Node:
        with Timeline() as prompt:
            User(
                "a",
                Section("s", "b"),
            )
            for text in "cd":
                User(text)
                Assistant(text)
        return prompt

    first = write.__code__.co_firstlineno
    nodes = [node for node, _ in walk(write()) if node.source]
    assert [1, 2, 4, 7, 8, 7, 8] == [node.source.line - first for node in nodes if node.source]
    assert [node.source for node in nodes] == [source_of(node._at) for node in nodes]  # type: ignore[arg-type]


def test_two_callers_of_one_error() -> None:
    """Each place is noted once, in order, and an error of the package has none."""
    error, own = ValueError("a"), PromptError("b")
    for place, name in (("x:1", "f"), ("y:2", "g"), ("x:1", "f"), ("x:1", "g")):
        note_caller(error, place, name)
        note_caller(own, place, name)
    notes = ["x:1: raised by f", "y:2: raised by g", "x:1: raised by g"]
    assert (notes, False) == (error.__notes__, hasattr(own, "__notes__"))
