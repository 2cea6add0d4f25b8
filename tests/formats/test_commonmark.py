"""What is written in Markdown is what a Markdown reader of others reads in it."""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import Checklist, Code, Item, List, Quote, System, Table, Text, User
from promptdsl.tree import Node
from tests.reading import text

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


def several(
    kind: str, parts: st.SearchStrategy[Outline]
) -> st.SearchStrategy[Outline]:
    """Return outlines of a kind that holds one to three parts."""
    return st.lists(parts, min_size=1, max_size=3).map(lambda inside: (kind, *inside))


def containers(parts: st.SearchStrategy[Outline]) -> st.SearchStrategy[Outline]:
    """Return outlines of what holds others."""
    items = several("item", parts)
    return several("quote", parts) | several("bullets", items) | several("numbers", items)


ANY = st.recursive(LEAVES, containers, max_leaves=8)


@given(st.lists(ANY, min_size=1, max_size=3))
def test_any_blocks_are_read_as_written(read: Read, parts: list[Outline]) -> None:
    """Texts, code, tables, quotes and lists, in each other and beside each other, are just that."""
    assert parts == read(text(System(*map(made, parts))))
