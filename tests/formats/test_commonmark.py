"""What is written in Markdown is what a Markdown reader of others reads in it."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.hostile import HOSTILE
from tests.renders import only_text

Outline: TypeAlias = tuple[Any, ...]
"""A kind, its text where it has one, and the outlines in it."""

Read: TypeAlias = Callable[[str], list[Outline]]

MADE: dict[str, Callable[..., Node]] = {
    "quote": Quote,
    "bullets": List,
    "numbers": lambda *items: List(*items, ordered=True),
    "item": Item,
    "paragraph": Text,
    "code": Code,
    "table": lambda *cells: Table([cells]),
}
KINDS = {
    "blockquote_open": "quote",
    "bullet_list_open": "bullets",
    "ordered_list_open": "numbers",
    "list_item_open": "item",
    "paragraph_open": "paragraph",
    "table_open": "table",
}
CELLS = ("thead_open", "tbody_open", "tr_open", "th_open", "td_open")


@pytest.fixture(scope="session")
def read() -> Read:
    """Return a reader of Markdown: text to the outlines of its blocks."""
    parser = pytest.importorskip("markdown_it", reason="needs markdown-it-py").MarkdownIt()
    return lambda source: outlines(parser.enable("table").parse(source))


def outlines(tokens: list[Any]) -> list[Outline]:
    """Return the outlines of a reader's tokens."""
    open_: list[list[Any]] = [[]]
    for token in tokens:
        if token.type in CELLS or token.type in [name.replace("open", "close") for name in CELLS]:
            continue
        if token.nesting == 1:
            open_.append([KINDS.get(token.type, token.type)])
        elif token.nesting == -1:
            done = tuple(open_.pop())
            open_[-1].append(done)
        elif token.type == "fence":
            open_[-1].append(("code", token.content.removesuffix("\n")))
        else:
            open_[-1] += [token.content] if token.content else []
    return open_[0]


def made(outline: Outline) -> Node:
    """Return the component that an outline is of."""
    kind, *inside = outline
    return MADE[kind](*(part if isinstance(part, str) else made(part) for part in inside))


WORDS = st.text("abc", min_size=1, max_size=3)
LINES = st.text("a`~ -#>\n", max_size=9).map(lambda code: f"x{code}x")
TEXTS = st.tuples(st.just("paragraph"), WORDS)
LEAVES = TEXTS | st.tuples(st.just("code"), LINES) | st.tuples(st.just("table"), WORDS, WORDS)


def several(kind: str, parts: st.SearchStrategy[Outline]) -> st.SearchStrategy[Outline]:
    """Return outlines of a kind that holds one to three parts."""
    return st.lists(parts, min_size=1, max_size=3).map(lambda inside: (kind, *inside))


def containers(parts: st.SearchStrategy[Outline]) -> st.SearchStrategy[Outline]:
    """Return outlines of what holds others."""
    entries = several("item", parts) | parts
    return several("quote", parts) | several("bullets", entries) | several("numbers", entries)


ANY = st.recursive(LEAVES, containers, max_leaves=8)


def read_as(outline: Outline) -> Outline:
    """Return what an outline is read as: what stands in a list is an item, or in the one before."""
    kind, *inside = outline
    parts: list[Any] = [part if isinstance(part, str) else read_as(part) for part in inside]
    if kind not in ("bullets", "numbers"):
        return (kind, *parts)
    items: list[Outline] = []
    for part in parts:
        nested = part[0] in ("bullets", "numbers")
        if nested and items:
            items[-1] = (*items[-1], part)
        else:
            items.append(part if part[0] == "item" else ("item", part))
    return (kind, *items)


@given(st.lists(ANY, min_size=1, max_size=3))
def test_any_blocks_are_read_as_written(read: Read, parts: list[Outline]) -> None:
    """Texts, code, tables, quotes and lists, in each other and beside each other, are just that."""
    assert list(map(read_as, parts)) == read(only_text(System(*map(made, parts))))


@given(ANY.filter(lambda part: part[0] != "paragraph"))
def test_any_side_of_an_example_is_read_as_written(read: Read, part: Outline) -> None:
    """So is what stands in an example, behind the name of its side."""
    whole = only_text(System(Example("a", made(part)), "b"))
    names = [("paragraph", "Input: a"), ("paragraph", "Output:")]
    assert [*names, read_as(part), ("paragraph", "b")] == read(whole)


def test_a_checklist(read: Read) -> None:
    """A checklist is a list whose items begin with boxes."""
    part = Checklist(Item("a", Quote("b")), Item("c", done=True))
    first = ("item", ("paragraph", "[ ] a"), ("quote", ("paragraph", "b")))
    assert [("bullets", first, ("item", ("paragraph", "[x] c")))] == read(only_text(System(part)))


@pytest.mark.parametrize("level", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("words", ["a", "a\nb", "a\r\n# b", Value("# a\n# b")])
def test_a_heading(read: Read, level: int, words: Any) -> None:
    """A heading is one heading of its level, whatever it says."""
    (heading, after) = read(only_text(System(Heading(words, level), "b")))
    assert ("heading_open", ("paragraph", "b")) == (heading[0], after)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda value: Table([["a", value], [value, "b"]], columns=["c", value]),
        lambda value: Table([[value, value]]),
    ],
)
@pytest.mark.parametrize(
    "values", [HOSTILE[::6], pytest.param(HOSTILE, marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_a_table_of_any_values(
    read: Read, wrap: Callable[[Any], Node], values: Sequence[str]
) -> None:
    """No value leaves its cell: a table is one table of as many cells, empty ones aside."""
    words, empty = (shape(read(only_text(System(wrap(value), "after")))) for value in ("x", ""))
    shapes = {value: shape(read(only_text(System(wrap(value), "after")))) for value in values}
    assert {value: words if value.strip(" ") else empty for value in values} == shapes
    assert [kind for kind, _ in words] == [kind for kind, _ in empty]


def shape(blocks: list[Outline]) -> list[tuple[Any, int]]:
    """Return the kind and the size of each block."""
    return [(block[0], len(block)) for block in blocks]
