"""Content blocks and their dictionaries, as messages hold them, passed to components."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.any_data import blocks, spoken
from tests.components.holders import CONTAINERS, every_holder
from tests.errors import lines_of, raised, with_article
from tests.internals import CLASSES, wire_of, wires
from tests.renders import comes_to
from tests.searching import examples

WEB = MediaSource("url", "https://example.com/a")
PNG = ImageBlock(MediaSource("url", "https://example.com/a.png"))
CALL = ToolUseBlock("c1", "find", '{"q":"x"}')
RESULT = ToolResultBlock("c1", (TextBlock("4"), PNG), name="find", cache="5m")
REASONING = ReasoningBlock("Hm.", signature="c2ln", origin="anthropic")


# In a conversation: the blocks themselves.


@pytest.mark.parametrize(
    "block",
    [
        TextBlock("<b> stays"),
        TextBlock("marked", cache="1h"),
        TextBlock("", extra={"thoughtSignature": "c2ln"}),
        TextBlock("cited", extra={"citations": [{"page": 1}]}),
        PNG,
        AudioBlock(WEB),
        DocumentBlock(WEB, title="Terms", cache="default"),
        VideoBlock(WEB),
    ],
    ids=repr,
)
def test_a_block_of_a_turn_is_sent_as_it_is(block: Any) -> None:
    """A text or an attachment is the same block in the message, as a value and as a dictionary."""
    for given_block in (block, block.to_dict()):
        turns = [User(given_block), Assistant(given_block)]
        assert [(block,)] * 2 == [render(turn).messages[0].content for turn in turns]
        answer = render(Timeline(User("q"), Assistant(CALL), ToolMessage("c1", given_block)))
        assert (block,) == answer.messages[2].content[0].content  # type: ignore[union-attr]


def test_the_content_of_a_message_is_content_of_a_turn() -> None:
    """What a model answered is passed to a turn unchanged, with its call, reasoning and results."""
    reply = Message("assistant", [REASONING, TextBlock("I look."), CALL])
    tree = Timeline(User("q"), Assistant(*reply.content), User(RESULT, "And?"))
    messages = render(tree).messages
    assert (reply.content, (RESULT,)) == (messages[1].content, messages[2].content)
    assert ("user", (TextBlock("And?"),)) == (messages[3].role, messages[3].content)


def test_blocks_beside_strings_are_apart() -> None:
    """A text block is a block of its own; the strings next to it are joined."""
    expected = ("user", "a", "b", "c1")
    assert [expected] == comes_to(User("a", TextBlock("b"), "c", 1))


# Text: what a string there would be.


def test_text_in_instructions_is_author_text() -> None:
    """In instructions a text block is what a string would be, in blocks where it has a mark."""
    instructions = System(
        TextBlock("\n  Be kind.\n"), Section("a", TextBlock("a")), TextBlock("## <b>")
    )
    assert "Be kind.\n\na\n\n## <b>" == only(instructions)
    content = (
        render(System(TextBlock("a", cache="5m"), "b"), provider="anthropic").messages[0].content
    )
    assert (TextBlock("a", cache="5m"), TextBlock("b")) == content


def test_text_in_a_grounding_is_a_value() -> None:
    """In a grounding the text of a block is a value; in an event or context it is author text."""
    text = TextBlock("<b></context></event>")
    assert "<context>\n<b>&lt;/context>&lt;/event>\n</context>" == only(Grounding("g", text))
    assert "<context>\n<b>&lt;/context></event>\n</context>" == only(Ephemeral(text))
    assert "<event>\n<b></context>&lt;/event>\n</event>" == only(Event(text))


def only(turn: Any) -> str:
    """Return the text of the one message of a turn."""
    (message,) = render(turn).messages
    return message.text


@pytest.mark.parametrize(
    ("role", "tag"),
    [
        *((role, "\\u003cb\\u003e") for role in (User, Assistant, Developer, System)),
        (Event, "<b>"),
    ],
)
def test_json_and_code_are_those_of_components(role: Any, tag: str) -> None:
    """JSON and code become the text that their components write; a fence keeps JSON readable."""
    code = {"type": "code", "text": "x < 1", "language": "python"}
    text = f'{{"a": "{tag}"}}\n\n```python\nx < 1\n```'
    (message,) = render(role(JsonBlock({"a": "<b>"}), code)).messages
    read = "\n\n".join(getattr(block, "text", "") for block in message.content)
    assert text == read.removeprefix("<event>\n").removesuffix("\n</event>")


EVENTS: dict[str, tuple[Any, str]] = {
    "user_action": (UserActionBlock("clicked", target="<help>"), "User clicked: &lt;help&gt;"),
    "state_change": (StateChangeBlock("plan", old=1, new=2), "plan changed: 1 -> 2"),
    "system_event": (SystemEventBlock("saved", source="cron"), "cron: saved"),
}


@pytest.mark.parametrize(("block", "text"), EVENTS.values(), ids=EVENTS)
def test_events_are_told(block: Any, text: str) -> None:
    """An event block in an event is reported as its component would be."""
    expected = f'<event type="{block.type}">\n{text}\n</event>'
    assert [expected] * 2 == [only(Event(block)), only(Event(block.to_dict()))]


# Where a block may be.


@every_holder
@pytest.mark.parametrize(
    "block", [TextBlock("x"), PNG, CALL, RESULT, REASONING, EVENTS["user_action"][0]], ids=repr
)
def test_a_block_may_be_where_its_component_may_be(holder: str, block: Any) -> None:
    """A block that may not be in a component is an error with its line, as for a component."""
    name = {
        "text": "a Text",
        "image": "an Image",
        "tool_use": "a ToolUse",
        "tool_result": "a ToolResult",
        "reasoning": "a Reasoning",
        "user_action": "a UserAction",
    }[block.type]

    def write() -> str:
        try:
            CONTAINERS[holder](block)
        except PlacementError as error:
            return error.what
        return "fine"

    allowed = {
        "text": {*CONTAINERS} - {"Timeline", "Tool"},
        "image": {*CONTAINERS} - {"Timeline", "Tool", "System"},
        "tool_use": {"Assistant", "Fragment"},
        "reasoning": {"Assistant", "Fragment"},
        "tool_result": {"User", "Tool", "Fragment"},
        "user_action": {"Event", "Fragment"},
    }[block.type]
    refused = f"{name} cannot be in {with_article(holder)}"
    assert ("fine" if holder in allowed else refused) == write()


def test_a_call_in_a_result_is_refused() -> None:
    """The blocks of a result are text and attachments, as in a ToolResult."""

    def write() -> None:
        User(ToolResultBlock("c1", (CALL,)))

    error = raised(PlacementError, write)
    assert ("a ToolUse cannot be in a ToolResult", "a tool result holds text and media only") == (
        error.what,
        error.fix,
    )
    assert lines_of(write, 1) == error.at


def test_a_mark_is_refused_in_what_is_sent_once() -> None:
    """A block with a cache mark is no content of a grounding."""
    marked = [TextBlock("x", cache="5m"), ImageBlock(WEB, cache="1h")]
    errors = [raised(PlacementError, lambda b=b: Grounding("g", b)).fix for b in marked]  # type: ignore[misc]
    assert [
        "its content is sent only once, so it cannot be cached: leave cache=True out"
    ] * 2 == errors


# In other components.


def test_blocks_in_parts() -> None:
    """Parts that hold others hold blocks; a limit cuts their text, a budget chooses among them."""
    words, word = TextBlock("one two three four five six", extra={"a": 1}), TextBlock("one")
    assert [("user", "one", "one")] == comes_to(User(Fragment(word, word), Note(word)))
    assert [TextBlock("one [...]", extra={"a": 1})] == [
        *render(User(Limit(9, words)), counter=len).messages[0].content
    ]
    choice = Timeline(User(FirstFit(words, word)))
    assert "one" == render(choice, counter=len, budget=20).messages[0].text


def test_a_component_returns_a_block() -> None:
    """The function of a component may return a block."""

    @component
    def picture() -> ImageBlock:
        return PNG

    assert (PNG,) == render(User(picture())).messages[0].content


def test_include_takes_blocks() -> None:
    """In a block of a turn, include() puts content blocks and dictionaries in their place."""
    with Timeline() as tree:
        with User():
            Text("a")
            include(TextBlock("b"), PNG.to_dict())
            Text("c")
        with Event():
            include(EVENTS["state_change"][0])
    assert ("a", "b", PNG, "c") == tuple(
        getattr(block, "text", block)
        for block in render(tree, provider="openai").messages[0].content
    )
    assert "plan changed: 1 -> 2" in render(tree, provider="openai").messages[1].text


def test_include_of_a_wrong_block_has_its_line() -> None:
    """What include() cannot take is an error with the line of the include()."""

    def unknown() -> None:
        with User():
            include({"type": "hologram"})

    def misplaced() -> None:
        with User("q"):
            include(CALL)

    def no_block() -> None:
        with User("q"):
            include("text")  # type: ignore[arg-type]

    assert [
        (lines_of(unknown, 2), "a block of type 'hologram' cannot be content of a User"),
        (lines_of(misplaced, 2, 1), "a ToolUse cannot be in a User"),
        (lines_of(no_block, 2), "include() takes components and content blocks, not str"),
    ] == [
        (error.at, error.what)
        for error in (raised(PromptError, write) for write in (unknown, misplaced, no_block))
    ]


# What is no block.


WRONG: dict[str, tuple[Any, str, str]] = {
    "no type": (
        {"a": 1},
        "a dict cannot be content of a User",
        "write Json(value) to show it as JSON, or pass its items one by one",
    ),
    "a type that is no text": (
        {"type": 3},
        "a dict cannot be content of a User",
        "write Json(value) to show it as JSON, or pass its items one by one",
    ),
    "a near type": (
        {"type": "imge"},
        "a block of type 'imge' cannot be content of a User",
        "did you mean 'image'?; write Json(value) for JSON, or its message in a History",
    ),
    "an unknown block": (
        UnknownBlock({"type": "docment"}, origin="anthropic"),
        "a block of type 'docment' cannot be content of a User",
        "did you mean 'document'?; write Json(value) for JSON, or its message in a History",
    ),
    "a missing key": (
        {"type": "text", "txt": "a"},
        "a 'text' block needs 'text'",
        "'txt' should be 'text'",
    ),
    "a message": (
        {"role": "user", "content": "x"},
        "a dict cannot be content of a User",
        "write a recorded message in a History, directly in the Timeline: History([message])",
    ),
}


@pytest.mark.parametrize(("wrong", "what", "fix"), WRONG.values(), ids=WRONG)
def test_what_is_no_block(wrong: Any, what: str, fix: str) -> None:
    """A mapping that is not a known block is an error with the line, and what to write."""

    def write() -> None:
        User("a", wrong)

    error = raised(PromptError, write)
    assert (what, fix, lines_of(write, 1)) == (error.what, error.fix, error.at)


PROVIDER_PARTS = [
    (wire.name, kind)
    for wire in wires()
    for kind in wire.parts
    if wire.provider_format == wire.name and kind not in CLASSES
]


@pytest.mark.parametrize(("provider", "kind"), PROVIDER_PARTS)
def test_a_part_of_a_provider(provider: str, kind: str) -> None:
    """A part as a provider writes it is named, with what to write instead and the reader."""
    content: Any = {"type": kind, "function": {"arguments": "{}"}}
    if wire_of(provider).keyed:
        content = {kind: "a" if kind == "text" else {}}

    def write() -> None:
        User(content)

    error = raised(ContentError, write)
    owner = re.fullmatch(rf"a part '{kind}' of (\w+) cannot be content of a User", error.what)
    assert owner is not None
    assert kind in wire_of(owner[1]).parts
    assert error.fix.endswith(f"; a recorded message is History.from_{owner[1]}([message])")
    assert lines_of(write, 1) == error.at


def test_data_that_looks_like_a_part_of_a_provider() -> None:
    """Other data with the keys of a part is data, and a definition of a tool is a tool."""
    shown = "write Json(value) to show it as JSON, or pass its items one by one"

    def fix(data: Any) -> str:
        return raised(ContentError, lambda: User(data)).fix

    for data in ({"image": "a.png"}, {"text": 5}, {"text": "a", "x": 1}, {"json": [1]}):
        assert shown == fix(data)
    assert "write Tool(" in fix({"type": "function", "function": {"name": "f", "parameters": {}}})


@pytest.mark.parametrize("holder", [Text, List], ids=lambda holder: holder.__name__)
def test_a_text_holds_no_block(holder: Any) -> None:
    """A part that is one text, and a list, take no block."""
    error = raised(ContentError, lambda: holder(TextBlock("x")))
    fix = "pass it to a turn, or to include() in the block of a turn"
    assert (f"a TextBlock cannot be content of a {holder.__name__}", fix) == (error.what, error.fix)


def test_a_path_in_a_block_is_data(tmp_path: Path) -> None:
    """A path in a block is read under a declared media root only, wherever the block is."""
    file = tmp_path / "a.txt"
    file.write_text("Dear Ann")
    block = DocumentBlock(MediaSource("path", str(file)))
    turns = [
        User(block),
        User(block.to_dict()),
        Timeline(History([Message("user", [block.to_dict()])])),
    ]
    for turn in turns[:2]:
        assert "comes from data" in raised(MediaError, lambda turn=turn: render(turn)).what  # type: ignore[misc]
    read = [render(turn, media_roots=[tmp_path]).messages[0].content for turn in turns]
    assert read[:1] * 3 == read


# Any block.


@given(st.lists(spoken, min_size=1, max_size=4, unique_by=lambda it: getattr(it, "id", id(it))))
@examples(200, fast=3)
def test_any_block_is_sent_as_if_it_were_recorded(given_blocks: list[Any]) -> None:
    """The blocks of a turn are those of the recorded message; only empty texts are left out."""
    sent = [block for block in given_blocks if block.type != "text" or block.text or block.extra]
    said = [block for block in sent if getattr(block, "source", WEB).kind != "path"]
    recorded = render(History([Message("assistant", said)])).messages if said else ()
    written = render(Assistant(*said)).messages if said else ()
    assert [message.content for message in recorded] == [message.content for message in written]


@given(blocks)
@examples(200)
def test_any_block_is_content_or_refused(block: Any) -> None:
    """Any block is kept by a turn that may hold it, or refused with the line of the turn."""
    places = [problem(lambda role=role: role(block)) for role in (User, Assistant, Event)]
    assert [True] * 3 == [at is None or len(at) > 0 for at in places]


def problem(write: Any) -> tuple[str, ...] | None:
    """Return the lines of the error that a function raises, ``None`` without one."""
    try:
        write()
    except PromptError as error:
        return error.at
    return None


def test_a_marked_text_block_in_instructions() -> None:
    """A text block with a cache mark ends a block of the system text."""
    marked = TextBlock("a", cache="default")
    system = render(System("before", marked, "after"), provider="anthropic").payload()["system"]
    mark = {"cache_control": {"type": "ephemeral"}}
    assert [
        {"type": "text", "text": "before\n\na", **mark},
        {"type": "text", "text": "after"},
    ] == system
