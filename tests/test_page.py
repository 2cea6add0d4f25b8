"""A page: pieces of text joined to blocks, each line behind what stands before it."""

import pytest

from promptdsl import Block, ImageBlock, List, MediaSource, Quote, System, Text, TextBlock, User
from tests.internals import (
    MAX_INDENTATION,
    NO_INDENT,
    Layout,
    LayoutReader,
    Margin,
    Page,
    WrittenPage,
    deeper,
    margin,
    with_cache_mark,
)
from tests.renders import only_text

ITEM = margin("  ", "\n\n")
QUOTE = margin("> ", "\n\n")


def new_page() -> Page:
    """Return an empty page of an empty layout."""
    return Page(Layout([], [], [], [], [], [], [], {}, {}, [], {}, []))


def written(page: Page) -> list[str]:
    """Return the texts of the blocks of a page."""
    page.flush()
    return [block.text for block in page.blocks if isinstance(block, TextBlock)]


@pytest.mark.parametrize(
    ("prefix", "between", "expected"),
    [
        ("", "\n\n", Margin("", "\n\n")),
        ("", "\n", Margin("", "\n")),
        ("  ", "\n\n", Margin("  ", "\n\n  ")),
        ("> ", "\n\n", Margin("> ", "\n>\n> ")),
        ("> ", "\n", Margin("> ", "\n> ")),
    ],
)
def test_margins(prefix: str, between: str, expected: Margin) -> None:
    """Between two parts stand lines that hold the prefix without blanks at its end."""
    assert expected == margin(prefix, between)


def test_texts_and_gaps() -> None:
    """Texts stand a gap apart; an empty one leaves no trace."""
    page = new_page()
    page.put("a", "author", NO_INDENT)
    page.put("", "author", NO_INDENT)
    page.put("b", "author", NO_INDENT)
    assert ["a\n\nb"] == written(page)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("a", "a"),
        ("a\nb", "a\n> b"),
        ("a\n\nb", "a\n>\n> b"),
        ("a\n", "a\n>"),
        ("\na", "\n> a"),
        ("a\r\nb", "a\r\n> b"),
        ("a\r\n\r\nb", "a\r\n>\r\n> b"),
        ("a\rb", "a\r> b"),
        ("a\r\rb", "a\r>\r> b"),
        ("a\n\r\nb", "a\n>\r\n> b"),
        ("a\r", "a\r>"),
        ("a\u2028b\x0bc", "a\u2028b\x0bc"),
        ("a\n b", "a\n>  b"),
    ],
)
def test_lines(lines: str, expected: str) -> None:
    """What stands before a line is written behind every line end that Markdown knows."""
    page = new_page()
    page.put(lines, "author", QUOTE)
    assert [expected] == written(page)


def test_containers() -> None:
    """What opens and closes a container has no gap to what is in it."""
    page = new_page()
    page.put("a", "author", NO_INDENT)
    page.open("<b>\n", "section", NO_INDENT)
    page.put("c", "author", NO_INDENT)
    page.put("d", "author", NO_INDENT)
    page.close("\n</b>", NO_INDENT)
    page.put("e", "author", NO_INDENT)
    assert ["a\n\n<b>\nc\n\nd\n</b>\n\ne"] == written(page)


def test_a_container_behind_a_margin() -> None:
    """Its two ends stand behind the margin, too."""
    page = new_page()
    page.open("```\n", "section", ITEM)
    page.put("a", "author", ITEM)
    page.close("\n```", ITEM)
    assert ["```\n  a\n  ```"] == written(page)


def test_a_mark_before_what_is_open() -> None:
    """A container in which nothing is written begins the next block, without the gap before it."""
    page = new_page()
    page.put("a", "author", NO_INDENT)
    page.open("<b>\n", "section", NO_INDENT)
    carried = page.cache("1h")
    page.put("c", "author", NO_INDENT)
    page.close("\n</b>", NO_INDENT)
    page.flush()
    assert (True, [TextBlock("a", "1h"), TextBlock("<b>\nc\n</b>")]) == (carried, page.blocks)


def test_one_mark_at_one_place() -> None:
    """Where nothing was written since, the mark that lives longer stays."""
    page = new_page()
    page.open("<b>\n", "section", NO_INDENT)
    page.put("a", "author", NO_INDENT)
    page.cache("5m")
    page.close("</b>", NO_INDENT)
    page.cache("1h")
    page.cache("default")
    page.flush()
    assert [TextBlock("<b>\na", "1h"), TextBlock("</b>")] == page.blocks


def test_a_mark_of_nothing() -> None:
    """A page without anything carries no mark."""
    assert not new_page().cache("1h")


def test_a_block_begins_with_text() -> None:
    """A container that closes behind a block leaves no gap before the next one."""
    page = new_page()
    page.block(ImageBlock(MediaSource("file_id", "f")), "author")
    page.close("", NO_INDENT)
    page.put("a", "author", NO_INDENT)
    assert ["a"] == written(page)


def test_an_empty_container() -> None:
    """A container in which nothing was written leaves no trace, nor does one inside it."""
    page = new_page()
    page.put("a", "author", NO_INDENT)
    page.open("<b>\n", "section", NO_INDENT)
    page.open("> ", "section", QUOTE)
    page.close_empty("> ")
    page.close_empty("<b>\n")
    page.put("c", "author", NO_INDENT)
    assert ["a\n\nc"] == written(page)


def test_an_empty_container_after_a_mark() -> None:
    """After a cache mark an empty container leaves no gap at the beginning of the next block."""
    page = new_page()
    page.put("a", "author", NO_INDENT)
    page.open("<b>\n", "section", NO_INDENT)
    page.cache("default")
    page.close_empty("<b>\n")
    page.put("c", "author", NO_INDENT)
    assert ["a", "c"] == written(page)


def test_the_end_of_a_container_after_a_block() -> None:
    """Behind an attachment the end of a container does not begin with a blank line."""
    page = new_page()
    page.open("<b>\n", "section", NO_INDENT)
    page.put("a", "author", NO_INDENT)
    page.block(ImageBlock(MediaSource("url", "https://example.org/a")), "author")
    page.close("\n</b>", NO_INDENT)
    assert ["<b>\na", "</b>"] == written(page)


def test_cache_marks() -> None:
    """A cache mark stands on the block that was written last."""
    page = new_page()
    page.cache("default")
    page.put("a", "author", NO_INDENT)
    page.cache("default")
    page.put("b", "author", NO_INDENT)
    page.flush()
    page.cache("default")
    assert [("a", "default"), ("b", "default")] == [
        (getattr(block, "text", ""), getattr(block, "cache", None)) for block in page.blocks
    ]


def test_what_carries_no_mark() -> None:
    """What cannot carry a cache mark stays as it is."""
    block = object()
    assert block is with_cache_mark(block, "default")


def test_the_widest_margin() -> None:
    """Deeper than the widest margin nothing is indented any more."""
    inside = NO_INDENT
    for _ in range(MAX_INDENTATION):
        inside = deeper(inside, "   ", "\n")
    assert MAX_INDENTATION - MAX_INDENTATION % 3 == len(inside.prefix)
    assert inside == deeper(inside, "   ", "\n")
    assert len(inside.prefix) + 2 == len(deeper(inside, "  ", "\n").prefix)


@pytest.mark.parametrize(("wrap", "mark"), [(List, "- "), (Quote, "> ")])
def test_a_part_deeper_than_the_widest_margin(wrap: type[List | Quote], mark: str) -> None:
    """Further lines of what stands deeper are indented as far as it goes, and not one is lost."""
    part = Text("a\nb")
    for _ in range(100):
        part = wrap(part)  # type: ignore[assignment]
    first, second = only_text(System(part)).split("\n")
    assert (mark * 100 + "a", MAX_INDENTATION + 1, "b") == (first, len(second), second[-1])


PICTURE = ImageBlock(MediaSource("url", "https://example.com/a.png"))


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, 7, [TextBlock("a\n\nb"), PICTURE, TextBlock("c\n\nd")]),
        (0, 5, [TextBlock("a\n\nb"), PICTURE, TextBlock("c")]),
        (0, 1, [TextBlock("a")]),
        (1, 3, [TextBlock("\n\nb")]),
        (1, 4, [TextBlock("\n\nb"), PICTURE]),
        (3, 4, [PICTURE]),
        (4, 5, [TextBlock("c")]),
        (4, 9, [TextBlock("c\n\nd")]),
        (5, 7, [TextBlock("\n\nd")]),
        (2, 2, []),
        (3, 3, []),
        (4, 3, []),
        (7, 9, []),
    ],
)
def test_the_blocks_of_a_part(start: int, end: int, expected: list[Block]) -> None:
    """A part came to the blocks, and the pieces of them, that it wrote."""
    page = new_page()
    page.put("a", "author", NO_INDENT)
    page.put("b", "author", NO_INDENT)
    page.block(PICTURE, "author")
    page.put("c", "author", NO_INDENT)
    page.put("d", "author", NO_INDENT)
    assert expected == finished(page).between(start, end)


def finished(page: Page) -> WrittenPage:
    """Return what a reader sees of a page, whose blocks are those of a turn."""
    layout, turn = page.layout, User("a")
    layout.turns.append((0, turn, "user", 0, page.finish(), 0, 0))
    (written_turn,) = LayoutReader(layout, ()).turns_of(0)
    assert written_turn.page is not None
    return written_turn.page


def test_where_a_part_begins_and_ends() -> None:
    """What is written counts from where it begins, before and after openings are written."""
    page = new_page()
    page.put("a", "author", NO_INDENT)
    page.put("b", "author", NO_INDENT)
    page.begin(Text("c"))
    page.open("<c>\n", "section", NO_INDENT)
    page.open("<d>\n", "section", NO_INDENT)
    page.begin(Text("d"))
    page.put("e", "author", NO_INDENT)
    page.begin(Text("f"))
    page.block(PICTURE, "author")
    assert [3, 6, 7] == page.layout.starts
    assert ([-1, 0, 1], [-1, -1, -1, 0, 0, 0, 1, 2]) == (
        page.layout.parents,
        page.layout.node_numbers,
    )
    assert [TextBlock("e")] == finished(page).between(6, 7)


def test_a_part_of_an_empty_page() -> None:
    """A part of a page on which nothing is written came to nothing."""
    assert [] == WrittenPage([], ()).between(0, 0)
