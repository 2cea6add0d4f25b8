"""The outline: a line for every part, with what it is, how big, and where it was written."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from promptdsl import *
from tests.errors import this_line
from tests.internals import ConversationNode, columns, make, outline
from tests.views.full_outline import FILE, outlines


def rows(tree: Node, **options: Any) -> list[str]:
    """Return the lines of an outline without the first words of texts, and without the places."""
    return names(render(tree, **options).outline())


def names(text: str) -> list[str]:
    """Return the names in the lines of an outline."""
    return [re.sub(' ".*"$', "", row.split("  /")[0].rstrip()) for row in text.splitlines()]


@component
def holding(*parts: Any) -> Node:
    """Return parts as they are."""
    return Fragment(*parts)


def test_a_part_has_its_line() -> None:
    """The outline has a line for every part, with the line it was written in."""
    section, written = Section("rules", "never", title="Rules"), this_line()
    found = render(Timeline(System(section), User("u"))).outline().splitlines()
    assert [
        f"  section rules 'Rules'{' ' * 37}  {__file__}:{written}",
        '    5 characters "never"',
    ] == (found[1:3])


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Text("ab"), ["text", "  2 characters"]),
        (Section("s", Value("ab")), ["section s", "  value, 2 characters"]),
        (
            Text("a", Volatile("b", "clock")),
            ["text", "  1 character", "  volatile clock, 1 character"],
        ),
        (Heading("ab"), ["heading", "  2 characters"]),
        (Paragraph("ab"), ["paragraph", "  2 characters"]),
        (List("a"), ["list", "  item", "    1 character"]),
        (Checklist("a"), ["checklist", "  item", "    1 character"]),
        (Quote("a"), ["quote", "  1 character"]),
        (
            Example("a", "bc"),
            ["example", "  input", "    1 character", "  output", "    2 characters"],
        ),
        (Table([[1], [2]]), ["table of 2 rows"]),
        (Code("ab"), ["code", "  2 characters"]),
        (Json({}), ["json, 2 characters"]),
        (Untrusted("ab"), ["untrusted, 2 characters"]),
        (Untrusted("ab", source="web"), ["untrusted from 'web', 2 characters"]),
        (Section("s", "a"), ["section s", "  1 character"]),
        (Section("s", "a", title=Value("T")), ["section s 'T'", "  1 character"]),
        (Section("s", "a", cache=True), ["section s cached", "  1 character"]),
        (Section("s", Group("a")), ["section s", "  group", "    1 character"]),
        (Section("s", "a", priority=5), ["section s priority=5", "  1 character"]),
        (Section("s", Fragment("a")), ["section s", "  fragment", "    1 character"]),
        (Format("xml", "a"), ["format xml", "  1 character"]),
        (holding("a"), ["holding", "  fragment", "    1 character"]),
        (Lazy(lambda _: "ab"), ["value, 2 characters"]),
        (Lazy(lambda _: trusted("ab")), ["text", "  trusted, 2 characters"]),
        (
            Template.from_string("a{{ x }}", x="b"),
            ["text", "  1 character", "  value x, 1 character"],
        ),
    ],
)
def test_what_a_part_is_called(part: Node, expected: list[str]) -> None:
    """A part is shown in the words of its author, what is in it one level deeper."""
    assert ["system", "  1 character", *(f"  {row}" for row in expected)] == rows(System("z", part))


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (lambda: User("a", id="ask", name="ada"), "user ask name=ada"),
        (lambda: User("a", tags=("x", "y"), cache=True), "user cached #x #y"),
        (lambda: User("a", priority=5, cache=True), "user priority=5 cached"),
        (lambda: User("a", priority=0, name="ada"), "user name=ada priority=0"),
        (lambda: Developer("a", audience="model"), "developer audience=model"),
        (lambda: holding(User("a", name="ada")), "user by=holding name=ada"),
        (lambda: holding(holding(Section("s", "a", title="T"))), "system"),
        (lambda: Event(UserAction("a"), id="e"), "event e role=user"),
        (lambda: Ephemeral("a"), "ephemeral role=user"),
        (lambda: Grounding("g", "a"), "grounding g role=user"),
        (lambda: History([Message("user", "abc")]), "user (recorded): 3 characters"),
        (
            lambda: holding(History([Message("user", "abc")])),
            "user (recorded): 3 characters by=holding",
        ),
    ],
)
def test_what_a_turn_is_called(turn: Callable[[], Node], expected: str) -> None:
    """A turn is shown as its role, with what it was before, its id and its options."""
    assert expected == rows(Timeline(turn()))[0]


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([Event(UserAction("a")), Event(UserAction("b"))], "event"),
        ([Grounding("g", "a"), Grounding("h", "b")], "grounding"),
        ([Ephemeral("a"), Ephemeral("b")], "ephemeral"),
        (
            [Ephemeral("a", position="before_user"), Grounding("g", "b"), Grounding("h", "c")],
            "ephemeral and grounding",
        ),
        ([User("a"), User("b")], "user"),
    ],
)
def test_one_name_for_joined_turns(turns: list[Node], expected: str) -> None:
    """Turns that become one message have the author's words in the outline and in the tokens."""
    rendered = render(Timeline(System("s"), *turns, Assistant("ok"), User("q")), model="gpt-5")
    shown = f"{expected} (merged)"
    assert 1 == sum(line.startswith(shown) for line in rendered.outline().split("\n"))
    shown = shown.replace("user", "user turn")
    assert [shown] == [part.what for part in rendered.tokens.parts if "merged" in part.what]


def test_what_an_event_says_is_named_in_words() -> None:
    """The parts of an event have the words of their components."""
    events = UserAction("a"), StateChange("k", old="a", new="b"), SystemEvent("b", source="c")
    shown = outline(Timeline(Event(*events))).split("\n")
    assert ["user action", "state change", "system event"] == [
        row[2:60].rstrip() for row in shown[1:]
    ]


def test_a_loose_section_by_a_component() -> None:
    """A loose section names the components it was written by."""
    tree = Timeline(holding(holding(Section("s", "a", title="T"))))
    assert ["system", "  section s 'T' by=holding/holding", "    1 character"] == rows(tree)


def test_calls_results_and_media() -> None:
    """Calls and results have their ids, media what they are."""
    tree = Timeline(
        User("a", Image.from_url("https://example.org/a.png")),
        Assistant(ToolUse("look", {"a": 1}, id="1"), ToolUse("look", {}, id="2")),
        ToolMessage("1", "r"),
        User(ToolResult("2", "s")),
    )
    assert [
        "user",
        "  1 character",
        "  image (url)",
        "assistant",
        "  call look (1), 8 characters",
        "  call look (2), 2 characters",
        "tool 1",
        "  1 character",
        "user",
        "  result 2",
        "    1 character",
    ] == rows(tree)


def test_recorded_calls_and_results() -> None:
    """A recorded message is one line, with all its blocks."""
    call = {"type": "tool_use", "id": "1", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "1", "content": "abc"}
    picture = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    history = [
        {"role": "assistant", "content": ["ab", call]},
        {"role": "tool", "content": [result]},
        {"role": "user", "content": [picture], "name": "ada"},
    ]
    assert [
        "assistant (recorded): 2 characters; call look (1)",
        "tool (recorded): result 1, 3 characters",
        "user (recorded) name=ada: image (url)",
    ] == rows(History(history))


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (User("a", name="x\nuser"), "user name=x\\nuser"),
        (User("a", tags=("x\x1b[2J",)), "user #x\\x1b[2J"),
        (History([{"role": "user", "content": "a", "name": "x\r\u2028"}]), "name=x\\r\\u2028"),
        (Assistant(ToolUse("t", {}, id="1\n2")), "call t (1\\n2)"),
        (System("z", Untrusted("a", source="x\ny")), "untrusted from 'x\\ny'"),
        (System("z", Text("a", Volatile("b", "x\ny"))), "volatile x\\ny, 1 character"),
    ],
)
def test_names_cannot_forge_a_line(tree: Node, expected: str) -> None:
    """Whatever a name holds, a part is one line that can be printed."""
    text = render(tree).outline()
    assert (True, True) == (expected in text, text.replace("\n", "").isprintable())


def test_deep_parts_are_indented_no_further() -> None:
    """From forty levels on the indentation stays, so that an outline grows with its parts only."""
    part: Node = Text("x")
    for number in range(50):
        part = Section(f"s{number}", part)
    indents = [len(row) - len(row.lstrip()) for row in rows(System(part))]
    assert [2 * min(depth, 40) for depth in range(53)] == indents


def test_the_outline_of_a_tree_as_written() -> None:
    """A tree that was not rendered has an outline as well, with what a render takes away."""
    tree = Timeline(Ephemeral("a"), Grounding("g", "b"), Group(User("c")), Lazy(str))
    assert [
        "ephemeral",
        "  1 character",
        "grounding g",
        "  1 character",
        "group",
        "  user",
        "    1 character",
        "lazy",
    ] == names(outline(tree))


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Group("a", priority=2.5), ["group priority=2.5", "  1 character"]),
        (FirstFit("a", priority=-1), ["first fit priority=-1", "  text", "    1 character"]),
        (FirstFit("a"), ["first fit", "  text", "    1 character"]),
        (Limit(500, "a"), ["limit 500 tokens", "  1 character"]),
        (Limit(5000, "a", keep="ends"), ["limit 5,000 tokens keep=ends", "  1 character"]),
        (Reserve(1000), ["reserve 1,000 tokens"]),
        (History([]), ["history"]),
        (History([], keep=2), ["history keep=2"]),
        (
            History([Message("user", "ab"), {"role": "user"}], step=2000, priority=3),
            [
                "history step=2,000 priority=3",
                "  user (recorded): 2 characters",
                "  user (recorded)",
            ],
        ),
        (History([Message("user", "ab")]), ["history", "  user (recorded): 2 characters"]),
        (History.from_gemini([{"role": "user"}], step=0), ["history (gemini) step=0"]),
        (
            make(ConversationNode, Fragment(User("a")).content, keep=1, priority=2),
            ["history keep=1 priority=2", "  user", "    1 character"],
        ),
    ],
)
def test_what_a_budget_may_do(part: Node, expected: list[str]) -> None:
    """As written, an outline says what a budget may do with a part."""
    text = outline(Fragment(part))
    assert expected == names(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Be kind.", "Be kind."),
        (" Be\n kind,  and be brief.", "Be kind, and be brief."),
        ("Be kind, and be brief today.", "Be kind, and be brief..."),
        ("Be kind, and be brieƒ todaÿ.", "Be kind, and be brieƒ…"),
        ("x" * 36, "x" * 36),
        ("x" * 37, "x" * 36 + "..."),
        ("é" * 5_000, "é" * 36 + "…"),
        ("a b" + " " * 5_000, "a b"),
        ("a" + " " * 5_000 + "b", "a..."),
        ("\x1b[2J\u202e\ud83d\ude00", "\\x1b[2J\\u202e\\ud83d\\ude00"),
    ],
)
def test_a_text_shows_its_first_words(text: str, expected: str) -> None:
    """Five words at most stand after the size, on one line; dots are ASCII where the text is."""
    prompt = System(text)
    size = f"{len(text):,} characters"
    assert f'{size} "{expected}"' == str(prompt).partition("\n")[2].split("  /")[0]


def test_data_shows_no_words() -> None:
    """Of a value and of a recorded message there is only the size: an outline goes to logs."""
    prompt = Timeline(
        System("Help ", Value("Ann"), Volatile("Monday", "today"), Untrusted("secret")),
        History([{"role": "user", "content": "I am Bob."}]),
    )
    for text in (str(prompt), render(prompt).outline()):
        assert not re.search("Ann|Monday|secret|Bob", text)
        assert 1 == text.count('  5 characters "Help"\n')


SECRET = "4111"
"""What an f-string of an author holds."""


@pytest.mark.parametrize(
    "turn",
    [
        lambda: User(f"My card is {SECRET}"),
        lambda: User(List(SECRET), Section("s", SECRET), Note(SECRET), Paragraph(SECRET)),
        lambda: User(Example(SECRET, SECRET), Group(SECRET), Limit(90, SECRET)),
        lambda: Section("s", Code(SECRET), Quote(SECRET, List(SECRET))),
        lambda: System("a", Code(SECRET), Quote(SECRET)),
        lambda: Event(UserAction(SECRET), Text(SECRET)),
        lambda: Ephemeral(SECRET),
        lambda: Grounding("g", SECRET),
        lambda: Fragment(User(SECRET), User(SECRET)),
        lambda: Fragment(Ephemeral(SECRET), Grounding("g", SECRET), Developer("a")),
        lambda: Fragment(
            User("a"),
            Assistant(SECRET, ToolUse("f", {"a": SECRET}, id="1")),
            ToolMessage("1", SECRET),
        ),
        lambda: Fragment(
            User("a"), Assistant(ToolUse("f", {}, id="1")), User(ToolResult("1", SECRET), SECRET)
        ),
        lambda: History([Message("user", SECRET)]),
    ],
)
def test_what_may_hold_data_shows_no_words(turn: Callable[[], Node]) -> None:
    """Only instructions show words: an f-string of an author may hold what no log may hold."""
    assert SECRET not in str(turn())
    both = Timeline(System("Be kind."), turn())
    for text in (str(both), render(both, provider="openai").outline()):
        assert 1 == text.count('8 characters "Be kind."')
        assert SECRET not in text


@pytest.mark.parametrize(
    "part", [lambda: Text(SECRET), lambda: Fragment(SECRET), lambda: List(SECRET)]
)
def test_a_part_without_a_turn_shows_no_words(part: Callable[[], Node]) -> None:
    """A part that is no section may become one of a message of a user."""
    assert SECRET not in str(part())


@pytest.mark.parametrize(
    "prompt",
    [
        lambda: System("Be kind."),
        lambda: Developer("Be kind."),
        lambda: System(Section("s", List(Item("Be kind.")))),
        lambda: Section("s", Example("Be kind.", "a")),
        lambda: Fragment(Group(Section("s", "Be kind."))),
        lambda: holding(Section("s", "Be kind.")),
        lambda: Fragment(System("a"), System("Be kind.")),
        lambda: Fragment(User("b"), Ephemeral("c", position="end"), Developer("Be kind.")),
    ],
)
def test_instructions_show_words(prompt: Callable[[], Node]) -> None:
    """Words of system and developer turns are shown, and those of a section outside of turns."""
    for text in (str(prompt()), render(prompt(), provider="openai").outline()):
        assert 1 == text.count('8 characters "Be kind."')


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_rows_fit_a_width(width: int) -> None:
    """A name is cut, a path is cut from its left, and then left out."""
    prompt = Timeline(
        System(Section("rules", "a", title="long " * 30)), User("東京" * 40, id="東京" * 30)
    )
    text = render(prompt).outline(width=width)
    assert [] == [row for row in text.split("\n") if columns(row) > width]
    assert (width > 40) == ("test_outline.py:" in text)
    assert text == render(prompt).record().outline(width=width)


def test_a_printed_prompt_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where standard output is a terminal, the rows of a printed prompt fit it."""
    prompt = Timeline(System(Section("rules", "Be kind.")))
    assert f"{__file__}:" in str(prompt).split("\n")[1]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "50")
    assert 50 >= max(map(len, str(prompt).split("\n")[1:]))


def test_long_titles_are_cut() -> None:
    """A line names an attachment by the beginning of its title."""
    image = Image.from_url("https://a.example/b.png", title="t" * 100_000)
    *_, line = outline(Timeline(User(image))).splitlines()
    assert f"image '{'t' * 60}...' (url)" == line.split("  /")[0].strip()


def test_the_outline_of_nothing() -> None:
    """A prompt that comes to nothing has an empty outline."""
    assert "" == render(Timeline(User(""))).outline()


def test_two_of_everything() -> None:
    """A prompt with two of each part has the outlines of the file: as written, and as rendered."""
    assert FILE.read_text("utf-8").split("\n") == [*outlines().split("\n"), ""]
