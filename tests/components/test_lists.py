"""Lists, quotations, examples: how they are written, what they hold and what they refuse."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.components.failing import Write, failed, refusal
from tests.renders import comes_to, only_text

XML: Any = {"format": "xml"}


def both(*content: Any) -> tuple[str, str]:
    """Return what content is in Markdown and in XML."""
    return only_text(*content), only_text(*content, transformation=XML)


# What they look like.


@pytest.mark.parametrize(
    ("part", "markdown", "xml"),
    [
        (List("a", "b"), "- a\n- b", "<list>\n<item>a</item>\n<item>b</item>\n</list>"),
        (List("a", ordered=True), "1. a", '<list ordered="true">\n<item>a</item>\n</list>'),
        (
            Checklist("a", Item("b", done=True)),
            "- [ ] a\n- [x] b",
            '<checklist>\n<item done="false">a</item>\n<item done="true">b</item>\n</checklist>',
        ),
        (Quote("a"), "> a", "<quote>\na\n</quote>"),
        (Quote("a\n\nb"), "> a\n>\n> b", "<quote>\na\n\nb\n</quote>"),
        (
            Example("2+2", "4"),
            "Input: 2+2\nOutput: 4",
            "<example>\n<input>2+2</input>\n<output>4</output>\n</example>",
        ),
        (
            Example("2\n+2", "4\n!"),
            "Input: 2\n  +2\nOutput: 4\n  !",
            "<example>\n<input>2\n+2</input>\n<output>4\n!</output>\n</example>",
        ),
        (
            Example(Code("f()"), "1"),
            "Input:\n  ```\n  f()\n  ```\n\nOutput: 1",
            "<example>\n<input><code>\nf()\n</code></input>\n<output>1</output>\n</example>",
        ),
        (
            Example(Fragment("a", Fragment(Value("b"))), Paragraph("c")),
            "Input: a\n\n  b\nOutput: c",
            "<example>\n<input>a\n\nb</input>\n<output><paragraph>\nc\n</paragraph></output>\n"
            "</example>",
        ),
        (
            Example("q", List("a", "b")),
            "Input: q\n\nOutput:\n  - a\n  - b",
            "<example>\n<input>q</input>\n<output><list>\n<item>a</item>\n<item>b</item>\n</list>"
            "</output>\n</example>",
        ),
    ],
)
def test_written(part: Node, markdown: str, xml: str) -> None:
    """Each is Markdown, or elements of its own names."""
    assert (markdown, xml) == both(System(part))


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (Item("a\nb"), "- a\n  b"),
        (Item("a\n\nb"), "- a\n\n  b"),
        (Item("a\r\nb"), "- a\r\n  b"),
        (Item("a\r\n\r\nb"), "- a\r\n\r\n  b"),
        (Item("a\rb"), "- a\r  b"),
        (Item("a", Paragraph("b")), "- a\n\n  b"),
        (Item("a", List("b", "c")), "- a\n  - b\n  - c"),
        (Item("a", Checklist("b")), "- a\n  - [ ] b"),
        (Item("a", Fragment(List("b"))), "- a\n  - b"),
        (Item("a", Group(Text("b"), Code("c"))), "- a\n\n  b\n  ```\n  c\n  ```"),
        (Item("a", Code("b\nc", "py")), "- a\n  ```py\n  b\n  c\n  ```"),
        (Item("a", Code("b"), "c"), "- a\n  ```\n  b\n  ```\n\n  c"),
        (Item(Code("b")), "- ```\n  b\n  ```"),
        (Item("a", Quote("b")), "- a\n\n  > b"),
        (Item("a", Json({"b": 1})), '- a\n\n  {"b": 1}'),
        (Item("a", Table([[1]], columns=["b"])), "- a\n\n  | b |\n  | --- |\n  | 1 |"),
        (Item("a", Heading("b"), List("c")), "- a\n\n  # b\n\n  - c"),
        (Item("a", Quote("b"), List("c")), "- a\n\n  > b\n\n  - c"),
        (Item(List("a")), "- - a"),
        (Item("a ", Value("b"), 3), "- a b3"),
        (Item(Example("a", "b")), "- Input: a\n  Output: b"),
        (Item("a", List(""), "b"), "- a\n\n  b"),
    ],
)
def test_items(item: Item, expected: str) -> None:
    """Further lines of an item are indented; a list or code follows its text on the next line."""
    assert expected == only_text(System(List(item)))


def test_a_stranger_in_an_item() -> None:
    """The fence of a stranger's text ends at a blank line, so that code after it is code."""
    said_ = only_text(System(List(Item("a", Untrusted("b"), Code("c")))))
    assert "\n  b\n  </untrusted>\n\n  ```\n  c\n  ```" == said_[said_.index("\n  b") :]


FOLLOWED: list[tuple[Any, bool]] = [
    ("a", True),
    (Value("a"), True),
    (Fragment("a"), True),
    (Paragraph("a"), False),
    (Quote("a"), False),
    (Code("a"), False),
    (Heading("a"), False),
    (Table([["a"]]), False),
    (Example("a", "b"), False),
    (Json("a"), False),
    (Untrusted("a"), False),
    (List("a"), False),
]


@pytest.mark.parametrize(("part", "tight"), FOLLOWED)
def test_what_a_list_or_code_follows(part: Any, tight: bool) -> None:
    """In an item a list or code is on the line after a text, and after a blank line else."""
    texts = [
        text for last in (List("z"), Code("z")) for text in both(System(List(Item(part, last))))
    ]
    assert [tight] * 4 == ["\n\n" not in text for text in texts]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (List("a", List("b"), "c", ordered=True), "1. a\n   - b\n2. c"),
        (List("a", List("b", ordered=True), "c"), "- a\n  1. b\n- c"),
        (List("a", List("b"), List("c")), "- a\n  - b\n  * c"),
        (List(List("a"), "b"), "- - a\n- b"),
        (Checklist("a", List("b"), "c"), "- [ ] a\n  - b\n- [ ] c"),
        (Checklist("a", Checklist("b"), "c"), "- [ ] a\n  - [ ] b\n- [ ] c"),
        (List("a", List("b", List("c", ordered=True))), "- a\n  - b\n    1. c"),
        (List("a", List("b"), List("c", ordered=True), "d"), "- a\n  - b\n  1. c\n- d"),
        (List("a", List("")), "- a"),
    ],
)
def test_a_list_in_a_list(part: Node, expected: str) -> None:
    """A list in a list is under the item before it, and takes no number."""
    assert expected == only_text(System(part))


def test_a_list_in_a_list_in_xml() -> None:
    """In XML a list in a list is next to the items, or in one when it is the first."""
    inner = "<list>\n<item>b</item>\n</list>"
    assert f"<list>\n<item>a</item>\n{inner}\n</list>" == both(System(List("a", List("b"))))[1]
    assert f"<list>\n<item>{inner}</item>\n</list>" == both(System(List(List("b"))))[1]


def test_numbers_of_several_digits() -> None:
    """What is in an item is indented by the width of its own number."""
    nine = [str(number) for number in range(1, 10)]
    part = List(*nine, Item("ten\nlines"), List("under ten"), "eleven", ordered=True)
    assert only_text(System(part)).endswith(
        "\n9. 9\n10. ten\n    lines\n    - under ten\n11. eleven"
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([List("a"), List("b")], "- a\n\n* b"),
        ([List("a"), List("b"), List("c")], "- a\n\n* b\n\n- c"),
        ([List("a"), Checklist("b")], "- a\n\n* [ ] b"),
        ([List("a", ordered=True), List("b", ordered=True)], "1. a\n\n1) b"),
        ([List("a", ordered=True), List("b")], "1. a\n\n- b"),
        ([List("a"), "text", List("b")], "- a\n\ntext\n\n- b"),
        ([List("a"), Fragment(List("b"))], "- a\n\n* b"),
        ([List("a"), List(""), List("b")], "- a\n\n* b"),
        ([List("a"), List("", "b")], "- a\n\n* b"),
        ([List("a"), Section("s", List("b"))], "- a\n\n* b"),
        ([List("a"), Section("s", List("b"), title="S")], "- a\n\n## S\n- b"),
        ([Quote(List("a")), List("b")], "> - a\n\n- b"),
        ([List(Item("a", List("b"))), List("c")], "- a\n  - b\n\n* c"),
        (
            [List("a"), Format("xml", List("b")), List("c")],
            "- a\n\n<list>\n<item>b</item>\n</list>\n\n- c",
        ),
    ],
)
def test_lists_beside_each_other(content: list[Any], expected: str) -> None:
    """A second list has the other marks, because Markdown would read the two as one."""
    assert expected == only_text(System(*content))


def test_lists_in_blocks_of_their_own() -> None:
    """In conversation neighbouring lists are separate blocks, both with the usual marks."""
    assert [("user", "- a", "- b")] == comes_to(User(List("a"), List("b")))


# How they are written.


def test_in_blocks() -> None:
    """Written in blocks they are what they are as arguments."""
    with System() as written:
        with List(ordered=True):
            Text("a")
            with Item("b"):
                with List():
                    Text("c")
                Code("d")
            Value("e")
            with Quote("f"):
                Text("g")
        with Checklist():
            Item("h", done=True)
    given_ = System(
        List("a", Item("b", List("c"), Code("d")), Value("e"), Quote("f", Text("g")), ordered=True),
        Checklist(Item("h", done=True)),
    )
    assert both(given_) == both(written)


def test_arguments_and_a_block() -> None:
    """A block appends to what was passed as arguments."""
    with System() as written, List("a"):
        Text("b")
    assert "- a\n- b" == only_text(written)


def test_every_argument_is_an_item() -> None:
    """In a list neighbouring strings, numbers and values are items of their own."""
    assert "- a\n- 1\n- b\n- c" == only_text(System(List("a", 1, Value("b"), Text("c"))))


def test_an_argument_just_written_is_moved() -> None:
    """What is written in an argument list is in the list alone, in the order given."""
    with System() as written:
        List(Text("a"), "b", Item("c"), Quote(Text("d")), Value("e"))
        Example(Text("f"), Quote("g"))
    inside = "- a\n- b\n- c\n- > d\n- e"
    assert f"{inside}\n\nInput: f\n\nOutput:\n  > g" == only_text(written)


def test_a_detached_list_is_used_twice() -> None:
    """A detached list, item or quotation can be placed any number of times."""
    item = Item("a", List("b"))
    with detached():
        part = List(item, item)
    with Quote() as quote:
        include(part)
    assert "- a\n  - b\n- a\n  - b\n\n> - a\n>   - b\n> - a\n>   - b" == only_text(
        System(part, quote)
    )


# Nothing.


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (List("", "a", Item(""), "b", ordered=True), "1. a\n2. b"),
        (List("a", Item(List("", Item("")), Quote("")), "b", ordered=True), "1. a\n2. b"),
        (List("a", List(""), "b", ordered=True), "1. a\n2. b"),
        (List(None, "a", False, "b", ordered=True), "1. a\n2. b"),
        (List(Fragment(""), Fragment("a", ""), ordered=True), "1. a"),
        (Checklist("", Item("a", done=True), ""), "- [x] a"),
        (Quote("", Text(""), "a"), "> a"),
        (Example("a", ""), "Input: a"),
        (Example("", "b"), "Output: b"),
    ],
)
def test_empty_parts(part: Node, expected: str) -> None:
    """An empty item yields nothing and takes no number."""
    assert expected == only_text(System(part))


@pytest.mark.parametrize(
    "nothing",
    [
        lambda: List(""),
        lambda: List(None),
        lambda: List(False, None),
        lambda: List(Item(""), Item(Quote(""))),
        lambda: Checklist(""),
        lambda: Quote(""),
        lambda: Quote(None, False),
        lambda: Quote(List("")),
        lambda: Example("", ""),
        lambda: Format("xml", List(""), Quote("")),
    ],
)
@pytest.mark.parametrize("form", ["markdown", "xml"])
def test_nothing(nothing: Callable[[], Node], form: Any) -> None:
    """What ends up empty yields nothing, tags and all, and no blank line."""
    tree = [System("a", nothing(), "b"), User(nothing()), Event(nothing())]
    assert [("system", "a\n\nb")] == comes_to(*tree, transformation={"format": form})


def test_a_block_nothing_was_written_in() -> None:
    """A block in which a loop wrote nothing is no error and yields nothing."""
    with System("a") as written, List(), Item(), Quote():
        pass
    assert "a" == only_text(written)


# Formats of their own.


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Format("xml", List("a")), "<list>\n<item>a</item>\n</list>"),
        (Format("xml", Format("markdown", List("a")), Quote("b")), "- a\n\n<quote>\nb\n</quote>"),
        (
            Format("xml", Quote(Format("markdown", Quote(Format("xml", Quote("a")))))),
            "<quote>\n> <quote>\n> a\n> </quote>\n</quote>",
        ),
        (List(Format("xml", Quote("a")), "b"), "- <quote>\n  a\n  </quote>\n- b"),
        (List(Format("xml", "a", Quote("b")), "c"), "- a\n\n  <quote>\n  b\n  </quote>\n- c"),
        (List(Format("markdown", Item("a"), "b"), "c"), "- a\n- b\n- c"),
        (Format("xml", Section("s", "a", title="T")), '<s title="T">\na\n</s>'),
        (Format("xml", Table([[1]])), "<table>\n<row><cell>1</cell></row>\n</table>"),
    ],
)
def test_formats(part: Node, expected: str) -> None:
    """Parts in a format of their own are written in it, whatever is around them."""
    assert expected == only_text(System(part))


def test_a_format_keeps_the_tags_around_it() -> None:
    """Markdown inside an element cannot close the element."""
    part = Section("rules", Format("markdown", List("</rules>", Value("</rules>"))))
    expected = "<rules>\n- &lt;/rules>\n- &lt;/rules>\n</rules>"
    assert expected == only_text(System(part), transformation=XML)


# Places.

PART = List("a", Item("b <b>", Quote("c"), Value("<v>")), ordered=True)
LISTED = "1. a\n2. b <b>\n\n   > c\n\n   {}"


@pytest.mark.parametrize(
    ("place", "role", "expected"),
    [
        (System, "system", LISTED.format("&lt;v>")),
        (Developer, "developer", LISTED.format("&lt;v>")),
        (lambda p: Section("s", p), "system", LISTED.format("&lt;v>")),
        (User, "user", LISTED.format("<v>")),
        (Assistant, "assistant", LISTED.format("<v>")),
        (lambda p: User(Section("s", p)), "user", LISTED.format("<v>")),
        (Event, "user", f"<event>\n{LISTED.format('<v>')}\n</event>"),
        (Ephemeral, "user", f"<context>\n{LISTED.format('<v>')}\n</context>"),
        (
            lambda p: Grounding("g", p, encoding="full"),
            "user",
            f"<context>\n{LISTED.format('&lt;v&gt;').replace('<b>', '&lt;b&gt;')}\n</context>",
        ),
        (
            lambda p: Grounding("g", p),
            "user",
            f"<context>\n{LISTED.format('<v>')}\n</context>",
        ),
    ],
)
def test_places(place: Callable[[Node], Node], role: str, expected: str) -> None:
    """A list is one text in every turn; its values are encoded as those around it."""
    assert [(role, expected)] == comes_to(place(PART))


def test_in_the_answer_of_a_tool() -> None:
    """A list is one block of a tool's answer."""
    call = Assistant(ToolUse("t", {}, id="1"))
    assert ("tool", ("result", "1", "- a\n- b", "c")) == comes_to(
        call, ToolMessage("1", List("a", "b"), "c")
    )[-1]


def test_indentation() -> None:
    """Instructions in an item that start with a newline are dedented, conversation is not."""
    part = List("\n    a\n      b\n    ")
    assert "- a\n    b" == only_text(System(part))
    assert "- \n      a\n        b\n      " == only_text(User(part))


def test_for_people() -> None:
    """A note in a list is an item, for people only."""
    part = List("a", Note("b", Quote("d")), "c", ordered=True)
    assert "1. a\n2. c" == only_text(System(part))
    assert "1. a\n2. b\n3. > d\n4. c" == only_text(System(part), audience="people")


def test_text_for_people_on_the_line_of_a_mark() -> None:
    """A note follows a name or a box on the line if it is text, as other text does."""
    fenced = Code("x")
    task = Checklist(Item(Note("a")), Item(Note(fenced)), Item(Fragment(Note(""), "b")))
    example = Example(Note("i"), Note("o", fenced))
    lines = [
        *("- [ ] a", "- [ ]", "  ```", "  x", "  ```", "- [ ] b", ""),
        *("Input: i", "", "Output:", "  o", "  ```", "  x", "  ```"),
    ]
    assert lines == only_text(System(task, example), audience="people").split("\n")


def behind(margin: str, lines: str) -> str:
    """Return a text without the margin before all its lines but the first."""
    first, *rest = lines.split("\n")
    bare = margin.rstrip()
    return "\n".join([first, *("" if line == bare else line.removeprefix(margin) for line in rest)])


@pytest.mark.parametrize(
    ("wrap", "margin"),
    [
        (List, "  "),
        (Quote, "> "),
        (lambda value: List(value, ordered=True), "   "),
        (lambda value: List(Item("a", Quote(value))), "  > "),
        (lambda value: Example(value, "a"), "  "),
    ],
)
@given(value=st.text(min_size=1))
def test_any_value_stays_behind_its_margin(
    wrap: Callable[[Any], Node], margin: str, value: str
) -> None:
    """Every further line of any value is indented or quoted, and the value can be read back."""
    start, end = only_text(Ephemeral(wrap(Value("WORD")))).split("WORD")
    whole = only_text(Ephemeral(wrap(Value(value))))
    inner = whole.removeprefix(start).removesuffix(end)
    assert whole == start + inner + end
    assert value == decode(behind(margin, inner))


@pytest.mark.parametrize(
    ("name", "wrap"),
    [
        ("list", List),
        ("item", List),
        ("item", Item),
        ("checklist", Checklist),
        ("quote", Quote),
        ("input", lambda words: Example(words, "b")),
        ("example", lambda words: Example(words, "b")),
        ("rules", Quote),
        ("rules", lambda words: List(Item(Quote("a"), words))),
    ],
)
@pytest.mark.parametrize("forged", ["</{}>", "< / {} >", "<{} a=1>", "</{}", "<{}>a</{}>", "x <"])
def test_author_text_stays_in_its_element(
    wrap: Callable[[Any], Node], name: str, forged: str
) -> None:
    """No author text opens or closes an element it is in, however it is spelled."""
    part = wrap(forged.format(name, name.upper()))
    whole = only_text(Section("rules", List(part)), transformation=XML)
    harmless = only_text(Section("rules", List(wrap("a"))), transformation=XML)
    tag = re.compile(rf"<\s*/?\s*{name}\b", re.IGNORECASE)
    assert len(tag.findall(harmless)) == len(tag.findall(whole))


# What they refuse.

LISTS: dict[str, Callable[..., Node]] = {
    "List": List,
    "Checklist": Checklist,
    "Item": Item,
    "Quote": Quote,
    "Example": lambda part: Example(part, "b"),
    "other Example": lambda part: Example("a", part),
}
every_list = pytest.mark.parametrize("holder", LISTS.values(), ids=LISTS)


@every_list
@pytest.mark.parametrize(
    ("given", "fix"),
    [
        (True, "write str(flag) to print it; `flag and Text(...)` leaves something out"),
        (["a"], "unpack it: *items"),
        (("a",), "unpack it: *items"),
        (iter("a"), "unpack it: *items"),
        ({"a": 1}, "write Json(value) to show it as JSON, or pass its items one by one"),
        (str, "call it: str(...)"),
        (b"a", "decode it: Value(data.decode())"),
    ],
)
def test_what_is_no_content(holder: Callable[..., Node], given: Any, fix: str) -> None:
    """An argument that is not content is an error with the line that says what to write."""
    with pytest.raises(ContentError) as caught:
        holder(given)
    assert fix == caught.value.fix


@pytest.mark.parametrize("given", [None, False])
@pytest.mark.parametrize(
    "holder",
    [
        Item,
        lambda part: Example(part, "b"),
        lambda part: Example("a", part),
        lambda p: Item("a", p),
    ],
)
def test_nothing_in_an_item(holder: Callable[..., Node], given: Any) -> None:
    """Nothing is no content of an item or of a side of an example."""
    with pytest.raises(ContentError) as caught:
        holder(given)
    assert caught.value.what.endswith(("cannot be content of an Item", "content of an Example"))


ONLY_TEXT = "{1} {0} holds text only: write it next to the {0}"
NO_SECTION = "write the Section around the {0}, or next to it"
TURN = "a turn cannot be in a turn: write it next to the turn, directly in the Timeline"
CALL = "only an Assistant turn holds a ToolUse: Assistant(ToolUse(...))"
ITEM = "an Item belongs in a List or a Checklist"
URL = "https://example.org/a.png"


@pytest.mark.parametrize(
    ("kind", "fix", "write"),
    [
        (PlacementError, NO_SECTION.format("List"), lambda: List(Section("s", "a"))),
        (PlacementError, NO_SECTION.format("Checklist"), lambda: Checklist("a", Section("s", "a"))),
        (PlacementError, NO_SECTION.format("List"), lambda: List(Fragment(Section("s", "a")))),
        (PlacementError, NO_SECTION.format("Quote"), lambda: Quote(Text("a"), Section("s", "a"))),
        (
            PlacementError,
            NO_SECTION.format("Example"),
            lambda: Example(Section("s", "a"), Text("b")),
        ),
        (
            PlacementError,
            ONLY_TEXT.format("List", "a"),
            lambda: List(Text("a"), Image.from_url(URL)),
        ),
        (PlacementError, ONLY_TEXT.format("Item", "an"), lambda: Item("a", Image.from_url(URL))),
        (PlacementError, ITEM, lambda: Quote(Item("a"))),
        (PlacementError, ITEM, lambda: Item("a", Item("b"))),
        (PlacementError, ITEM, lambda: Example("a", Item("b"))),
        (OptionError, "did you mean 'ordered'?", lambda: List(Text("a"), order=True)),  # type: ignore[call-arg]
        (OptionError, "did you mean 'done'?", lambda: Item(Text("a"), don=True)),  # type: ignore[call-arg]
        (OptionError, "it takes no options", lambda: Quote(Text("a"), by="b")),  # type: ignore[call-arg]
        (OptionError, "it takes no options", lambda: Checklist(Text("a"), ordered=True)),  # type: ignore[call-arg]
        (OptionError, "known: input, output", lambda: Example("a", Text("b"), x=1)),  # type: ignore[call-arg]
        (OptionError, "write True or False", lambda: List(Text("a"), ordered=1)),  # type: ignore[arg-type]
        (OptionError, "write True or False", lambda: Item(Text("a"), done="x")),  # type: ignore[arg-type]
        (ContentError, "unpack it: *items", lambda: List(Text("a"), [Text("b")])),  # type: ignore[arg-type]
        (ContentError, "unpack it: *items", lambda: Example(Text("a"), [Text("b")])),  # type: ignore[arg-type]
        (ContentError, "leave it out, or write an empty string", lambda: Item(Text("a"), None)),
        (ContentError, "leave it out, or write an empty string", lambda: Example(Text("a"), None)),
    ],
)
def test_bad_input(kind: type[PromptError], fix: str, write: Write) -> None:
    """Bad input is an error that names the line, says what to do, and leaves nothing behind."""
    assert refusal(kind, fix) == failed(write)


@pytest.mark.parametrize(
    ("fix", "write"),
    [
        (ITEM, lambda: Item("a")),
        (TURN, lambda: Quote(User("a"))),
        (TURN, lambda: List(Ephemeral("a"))),
        ("only an Event holds a UserAction", lambda: List(UserAction("a"))),
        (
            "only an Assistant turn holds a ToolUse: Assistant(ToolUse(...))",
            lambda: Item(ToolUse("t", {}, id="1")),
        ),
    ],
)
def test_what_no_turn_holds(fix: str, write: Write) -> None:
    """An item outside of a list, and a turn in a list, are errors that name the line."""
    with pytest.raises(PlacementError) as caught, System():
        write()
    line = f"{write.__code__.co_filename}:{write.__code__.co_firstlineno}"
    assert (fix, line) == (caught.value.fix, caught.value.at[0])


@pytest.mark.parametrize("holder", [List, Checklist, Item, Quote])
def test_nothing_was_written(holder: Any) -> None:
    """One written with no arguments and no block is an error that says how to open it."""
    with pytest.raises(ContentError) as caught, System():
        holder()
    assert caught.value.fix.endswith(f"or open it: with {holder.__name__}(...):")


def test_an_example_has_two_sides() -> None:
    """An example without its output is a type error, as of every function."""
    with pytest.raises(TypeError):
        Example("a")  # type: ignore[call-arg]


def test_a_failed_block_leaves_nothing() -> None:
    """A block of a list that raises is removed from the block around it, what came before stays."""
    with System("a") as written:
        with pytest.raises(PlacementError), List("b"):
            Section("s", "c")
        with pytest.raises(ZeroDivisionError), Quote("d"), List():
            Text(str(1 // 0))
        Text("e")
    assert "a\n\ne" == only_text(written)


# Deep and wide.

every_depth = pytest.mark.parametrize(
    "depth", [1_200, pytest.param(10_000, marks=pytest.mark.slow)]
)


def nested(wrap: Callable[[Any], Node], depth: int) -> Node:
    """Return a part in itself very often."""
    part: Any = "end"
    for _ in range(depth):
        part = wrap(part)
    return System(part)


@pytest.mark.usefixtures("shallow_stack")
@every_depth
@pytest.mark.parametrize("form", ["markdown", "xml"])
@pytest.mark.parametrize(
    ("wrap", "once"),
    [
        (lambda part: List("a", part), {"markdown": "- a", "xml": "<item>a</item>"}),
        (List, {"markdown": "- ", "xml": "</item>"}),
        (lambda part: List("a", part, ordered=True), {"markdown": "1. a", "xml": "<item>a</item>"}),
        (lambda part: List(Item("a", part)), {"markdown": "- a", "xml": "<item>a"}),
        (lambda part: Quote(Text("a"), part), {"markdown": "a", "xml": "<quote>"}),
        (lambda part: Example("a", part), {"markdown": "Input: a", "xml": "<input>a</input>"}),
        (
            lambda part: Format("xml", Quote(Format("markdown", part))),
            {"markdown": "<quote>", "xml": "<quote>"},
        ),
    ],
)
def test_deep(wrap: Callable[[Any], Node], once: dict[str, str], form: Any, depth: int) -> None:
    """Parts very many levels deep are written, each once, in linear size."""
    whole = only_text(nested(wrap, depth), transformation={"format": form})
    assert depth == whole.count(once[form])
    assert len(whole) < 2 * depth * (80 + 20)


@pytest.mark.usefixtures("shallow_stack")
@every_depth
def test_deep_blocks(depth: int) -> None:
    """Blocks in blocks very many levels deep are what calls in calls are."""
    part: Any = List(Item("end"))
    with List() as written, ExitStack() as blocks:
        for _ in range(depth - 1):
            blocks.enter_context(Quote())
            blocks.enter_context(List())
        include(Item("end"))
    for _ in range(depth - 1):
        part = List(Quote(part))
    assert part == written


@pytest.mark.parametrize("count", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_wide(count: int) -> None:
    """Very many items are numbered to the last."""
    whole = only_text(System(List(*map(str, range(1, count + 1)), ordered=True)))
    assert (count, f"{count}. {count}") == (whole.count(". "), whole.rpartition("\n")[2])
