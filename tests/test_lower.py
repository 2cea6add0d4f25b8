"""Lower: the finished tree becomes messages."""

import json
import pickle
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.budget.descriptions import Part, built
from tests.budget.trees import trees
from tests.errors import lines_of, raised, this_line
from tests.internals import (
    JsonNode,
    Lowering,
    SpanReader,
    lower,
    lower_module,
    make,
    walk_parts,
    way_of,
)
from tests.renders import comes_to, only_text, reported, timeline_of
from tests.searching import examples

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010800000000"
    "3a7e9b550000000a4944415478da636000000002000148afa4710000000049454e44ae426082"
)


def messages(*content: Any, **request: Any) -> tuple[Message, ...]:
    """Return the messages of a timeline of this content."""
    return render(timeline_of(*content), **request).messages


# Turns.


def test_every_turn() -> None:
    """Every turn becomes a message of its role, in order."""
    tree = [
        System("s"),
        User("u"),
        Developer("d"),
        Assistant("a", ToolUse("look_up", {"q": 1}, id="c")),
        ToolMessage("c", "rain", name="look_up"),
        Assistant("done"),
    ]
    assert (
        Message("system", [TextBlock("s")]),
        Message("user", [TextBlock("u")]),
        Message("developer", [TextBlock("d")]),
        Message("assistant", [TextBlock("a"), ToolUseBlock("c", "look_up", '{"q": 1}')]),
        Message("tool", [ToolResultBlock("c", (TextBlock("rain"),), "look_up")]),
        Message("assistant", [TextBlock("done")]),
    ) == messages(*tree)


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant", "event"])
def test_a_turn_of_any_role(role: str) -> None:
    """A generic turn becomes what the turn of its role becomes."""
    own = {"system": System, "developer": Developer, "user": User, "assistant": Assistant}
    written = own.get(role, Event)("x")
    assert messages(written) == messages(Turn(role, "x"))


def test_a_generic_ephemeral() -> None:
    """A generic request-only turn takes the options of an Ephemeral."""
    tree = [User("u"), Turn("ephemeral", "x", title="T", position="start")]
    assert messages(User("u"), Ephemeral("x", title="T", position="start")) == messages(*tree)


@pytest.mark.parametrize(
    "nothing",
    [
        System(""),
        User(""),
        User("", Text("")),
        User(None),
        User(False),
        Assistant(""),
        Developer(Section("s", "")),
        Event(""),
        Ephemeral(""),
        Grounding("g", None),
        History([]),
        History([Message("user", "")]),
    ],
)
def test_a_turn_without_content(nothing: Node) -> None:
    """A turn that ends up empty makes no message."""
    assert [("user", "u")] == comes_to(nothing, User("u"))


def test_an_empty_answer() -> None:
    """A tool may answer with nothing; its result is there all the same."""
    assert ("tool", ("result", "c")) == comes_to(
        Assistant(ToolUse("t", {}, id="c")), ToolMessage("c")
    )[1]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (ToolMessage("c", "x"), ToolResultBlock("c", (TextBlock("x"),))),
        (
            ToolMessage("c", "x", is_error=True, error_type="timeout_error"),
            ToolResultBlock("c", (TextBlock("x"),), None, True, "timeout_error"),
        ),
        (User(ToolResult("c", "x", "y")), ToolResultBlock("c", (TextBlock("xy"),))),
        (
            User(ToolResult("c", "x", is_error=True)),
            ToolResultBlock("c", (TextBlock("x"),), None, True),
        ),
        (
            ToolMessage("c", "x", Section("s", "y", title="S")),
            ToolResultBlock("c", (TextBlock("x"), TextBlock("## S\ny"))),
        ),
        (
            ToolMessage("c", "x", Image.from_url("https://example.org/a.png")),
            ToolResultBlock(
                "c",
                (TextBlock("x"), ImageBlock(MediaSource("url", "https://example.org/a.png"))),
            ),
        ),
    ],
)
def test_answers(answer: Node, expected: ToolResultBlock) -> None:
    """A tool's answer keeps its parts, its flag and the type of its error."""
    assert (expected,) == messages(Assistant(ToolUse("t", {}, id="c")), answer)[1].content


def test_the_arguments_of_a_call() -> None:
    """The arguments of a call are the JSON text that was given, to the byte."""
    given_ = '{ "b":1,"a" : "\\u00e9" }'
    [message] = messages(Assistant(ToolUse("t", given_, id="c")))
    assert (ToolUseBlock("c", "t", given_),) == message.content


# Ids, names, metadata, marks.


def test_ids_survive() -> None:
    """Ids, names, metadata and tags of turns are those of their messages."""
    tree = [
        System("s", id="one", metadata={"n": 1}),
        User("u", id="two", name="ada", metadata={"n": 2}),
        Event(UserAction("left"), id="three"),
        Assistant("a", id="four", tags=("x", "y")),
    ]
    roles = {"role_mapping": {"event": "developer"}}
    assert [
        ("one", None, {"n": 1}, ()),
        ("two", "ada", {"n": 2}, ()),
        ("three", None, {}, ()),
        ("four", None, {}, ("x", "y")),
    ] == [(m.id, m.name, dict(m.metadata), m.tags) for m in messages(*tree, transformation=roles)]


def test_details_of_several_messages_and_turns() -> None:
    """A tool message has the id of its turn, but no name; a merged one has the name alone."""
    asked = User(ToolResult("c", "x"), "y", name="ada", id="one", tags=("t",))
    tree = [Assistant(ToolUse("t", {}, id="c")), asked, Assistant("a")]
    merged = [User("u", name="bob", id="two", metadata={"n": 1}), User("v", name="bob")]
    assert [
        ("tool", "one", None, {}, ("t",)),
        ("user", "one", "ada", {}, ("t",)),
        ("assistant", None, None, {}, ()),
        ("user", None, "bob", {}, ()),
    ] == [(m.role, m.id, m.name, dict(m.metadata), m.tags) for m in messages(*tree, *merged)[1:]]


def test_where_messages_are_from() -> None:
    """Every message has the address, file and line of each turn it was made of."""
    first = this_line() + 1
    tree = timeline_of(
        Section("rules", "r"),
        System("s"),
        User("u"),
        Assistant("a", id="answer"),
        User("v"),
        Event("e"),
        System("t", id="late"),
    )
    assert [
        [("rules", first + 1), ("system[0]", first + 2), ("late", first + 7)],
        [("user[0]", first + 3)],
        [("answer", first + 4)],
        [("user[1]", first + 5), ("event[0]", first + 6)],
    ] == [
        [(o.address, o.source and o.source.line) for o in m.sources] for m in render(tree).messages
    ]


def test_where_recorded_messages_are_from() -> None:
    """A recorded message is from a place in its History, which is from a line."""
    items = [{"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}]
    history, written = History.from_openai(items), this_line()
    expected = [(Origin(f"history[{n}]", Source(__file__, written)),) for n in range(2)]
    assert expected == [m.sources for m in messages(User("x"), Assistant("y"), history)[2:]]


@pytest.mark.parametrize(
    ("expected", "parts"),
    [
        (["rules"], [Section("rules", "a")]),
        (["rules", "tone"], [Section("rules", "a"), Section("tone", "b")]),
        (["system[0]", "rules"], [System("a"), Section("rules", "b")]),
        (["system[0]"], [System(Section("rules", "a"))]),
    ],
)
def test_sources_of_sections_in_no_turn(expected: list[str], parts: list[Node]) -> None:
    """A section that is written in no turn has its address, with a system turn and without one."""
    (message, *_) = render(Timeline(*parts, User("x"))).messages
    assert expected == [origin.address for origin in message.sources]


def test_sources_take_no_part_in_equality() -> None:
    """The same prompt written elsewhere comes to equal messages."""
    one = messages(User("u"))
    two = messages(User("u"))
    assert (one, False) == (two, one[0].sources == two[0].sources)


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (User("a", cache=True), [TextBlock("a", "default")]),
        (User(Text("a"), Text("b"), cache=True), [TextBlock("a"), TextBlock("b", "default")]),
        (Developer("a", cache=True), [TextBlock("a", "default")]),
        (System("a", cache=True), [TextBlock("a", "default")]),
        (
            User(Section("s", "a", cache=True), "b"),
            [TextBlock("a", "default"), TextBlock("b")],
        ),
        (
            User(Section("s", "a", Image.from_url("https://example.org/a.png"), cache=True)),
            [
                TextBlock("a"),
                ImageBlock(MediaSource("url", "https://example.org/a.png"), cache="default"),
            ],
        ),
        (
            Assistant("a", ToolUse("t", "{}", id="c"), cache=True),
            [TextBlock("a"), ToolUseBlock("c", "t", "{}", "default")],
        ),
    ],
)
def test_cache_marks(turn: Node, expected: Any) -> None:
    """A cache mark stands on the last block of what is marked."""
    [message] = messages(turn)
    assert tuple(expected) == message.content


JSON = JsonBlock({"a": 1})
CALL = Message("assistant", (ToolUseBlock("a", "find", "{}"),))


def half(_: object) -> str:
    """Return a text with a lone surrogate for any block."""
    return "a\ud800"


@pytest.mark.parametrize("more", [(), (User("Bye"),)], ids=["alone", "merged"])
@pytest.mark.parametrize(
    "items",
    [
        (Message("user", (JSON,)),),
        (Message("user", (CodeBlock("a"),)),),
        (CALL, Message("user", (ToolResultBlock("a", (JSON,)), "Go on"))),
        (CALL, Message("user", (ToolResultBlock("a", (TextBlock("b"), JSON)), "Go on"))),
        (CALL, Message("tool", (ToolResultBlock("a", (TextBlock("b"), CodeBlock("b"))),))),
    ],
    ids=["JSON", "code", "result", "second in a result", "answer of a tool"],
)
def test_a_lone_surrogate_in_a_recorded_block(
    items: tuple[Message, ...], more: tuple[Node, ...]
) -> None:
    """A lone surrogate that an author's function writes for a recorded block is a loss."""
    recorded, line = History(items), this_line()
    tree = timeline_of(User("Hi"), recorded, *more)
    found = render(tree, transformation={"format_block": half})
    why, source = "it is not a character, so U+FFFD is sent", Source(__file__, line)
    path = f"history[{len(items) - 1}]"
    assert (Loss("content", "a lone surrogate", why, path, source),) == found.losses


@pytest.mark.parametrize(
    "recorded",
    [
        (Message("user", (CodeBlock("a\ud800"),)),),
        (Message("user", ("b", "a\ud800")),),
        (CALL, Message("user", (ToolResultBlock("a", (TextBlock("a\ud800"),)),))),
        (CALL, Message("user", (ToolResultBlock("a", (TextBlock("b"), TextBlock("a\ud800"))),))),
        (
            CALL,
            Message("user", (ToolResultBlock("a", (TextBlock("b"), CodeBlock("a\ud800"))), "c")),
        ),
    ],
)
def test_a_lone_surrogate_of_any_recorded_block(recorded: tuple[Message, ...]) -> None:
    """It is replaced, and is one loss, in whatever block of a recorded message it is."""
    found = render(timeline_of(User("Hi"), Assistant("Yes"), History(recorded)))
    [loss] = found.losses
    expected = ("content", "a lone surrogate", f"history[{len(recorded) - 1}]")
    assert expected == (loss.kind, loss.what, loss.path)
    assert "a\ufffd" in str(found.messages[-1].to_dict())


# JSON.


def deep(levels: int) -> list[Any]:
    """Return lists in lists."""
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize("format", ["markdown", "xml"])
def test_deep_json_is_text(format: str) -> None:
    """A value of 200 levels is written as it is."""
    found = only_text(System(Json(deep(200))), transformation={"format": format})
    assert "[" * 200 + "]" * 200 == found.removeprefix("<json>\n").removesuffix("\n</json>")


def test_json_is_read_for_who_asks() -> None:
    """The text of a Json is read back only for a function that is given its value."""
    broken = make(JsonNode, mask=System(Json(1)).content[0]._mask, text="{")
    assert "{" == only_text(System(broken))
    error = raised(ContentError, lambda: render(System(broken), transformation=ASKED))
    fix = "make it flatter, or render it without format_block"
    assert ("format_block cannot read this Json: it is nested too deep", fix) == (
        error.what,
        error.fix,
    )


TOO_DEEP: dict[str, Callable[[Any], object]] = {
    "Json": lambda value: Grounding("g", Json(value)),
    "Json in a system turn": lambda value: System(Json({"a": value})),
    "Json of a lazy": lambda value: render(System(Lazy(lambda _: Json(value)))),
    "a block of a turn": lambda value: User({"type": "json", "value": value}),
    "a block of a result": lambda value: ToolMessage("c", {"type": "json", "value": value}),
    "a recorded block": lambda value: render(History([Message("user", [JsonBlock(value)])])),
    "input of a call": lambda value: ToolUse("f", {"a": value}, id="c"),
    "details": lambda value: UserAction("left", page=value),
    "old": lambda value: StateChange("plan", old=value, new="pro"),
    "a schema of a tool": lambda value: Tool(name="f", input_schema={"a": value}),
    "a schema of an answer": lambda value: Output({"a": value}),
    "a variable": lambda value: Template.from_string("{{ a }}", a=value),
    "metadata": lambda value: User("a", metadata={"a": value}),
}


@pytest.mark.parametrize("write", TOO_DEEP.values(), ids=TOO_DEEP)
@pytest.mark.parametrize("levels", [201, 1_100, 10_000])
def test_data_that_is_too_deep(write: Callable[[Any], object], levels: int) -> None:
    """Data of more than 200 levels, wherever it is written, is an error with its line."""
    error = raised(PromptError, lambda: write(deep(levels)))
    assert lines_of(write, 0) == error.at
    assert error.what.endswith("is nested deeper than 200 levels")


def test_json_for_a_function() -> None:
    """A function is given the value that was written, and what it returns is sent."""
    assert "json [1, null]" == only_text(System(Json([1, None])), transformation=ASKED)


def told(block: Block) -> str | None:
    """Return a JSON block in other words."""
    return f"json {json.dumps([*block.value])}" if isinstance(block, JsonBlock) else None


ASKED = {"format_block": told}


# Attachments.


def test_a_picture(tmp_path: Path) -> None:
    """A picture from a path is read when the prompt is rendered."""
    path = tmp_path / "dot.png"
    tree = timeline_of(User("Look:", Image.from_path(path, title="A dot", detail="low")))
    path.write_bytes(PNG)
    [message] = render(tree).messages
    assert (
        TextBlock("Look:"),
        ImageBlock(Image.from_bytes(PNG).block.source, "A dot", "low"),
    ) == message.content


@pytest.mark.parametrize(("title", "expected"), [(None, "notes.txt"), ("Notes", "Notes")])
@pytest.mark.parametrize("recorded", [False, True])
def test_a_document(tmp_path: Path, title: str | None, expected: str, recorded: bool) -> None:
    """A document from a path is sent with its bytes, under its title or the name of its file."""
    (tmp_path / "notes.txt").write_text("Hi")
    source = {"type": "path", "path": str(tmp_path / "notes.txt"), "media_type": "text/plain"}
    block = {"type": "document", "source": source, "title": title}
    turn = History([{"role": "user", "content": [block]}]) if recorded else User(block)
    [sent] = render(turn, media_roots=(tmp_path,)).messages[0].content
    assert isinstance(sent, DocumentBlock)
    assert ("base64", expected) == (sent.source.kind, sent.title)


def test_a_picture_that_is_missing(tmp_path: Path) -> None:
    """A file that is not there is an error with the line of the attachment."""
    picture, written = Image.from_path(tmp_path / "dot.png"), this_line()
    with pytest.raises(MediaError, match="No such file") as caught:
        render(timeline_of(User("Look:", picture)))
    assert (f"{__file__}:{written}",) == caught.value.at


def test_a_picture_in_an_answer(tmp_path: Path) -> None:
    """A picture in a tool's answer is read too."""
    (tmp_path / "dot.png").write_bytes(PNG)
    answer = ToolMessage("c", Image.from_path(tmp_path / "dot.png"))
    [block] = messages(Assistant(ToolUse("t", {}, id="c")), answer)[1].content
    assert "base64" == block.content[0].source.kind  # type: ignore[union-attr]


# Lower itself.


def test_a_turn_with_an_option_and_without() -> None:
    """A turn says the same whether it is plain or has options."""
    plain = [User("u"), Assistant("a", ToolUse("t", "{}", id="c")), ToolMessage("c", "x")]
    slow = [
        User("u", audience="all"),
        Assistant("a", ToolUse("t", "{}", id="c"), audience="all"),
        ToolMessage("c", "x", audience="all"),
    ]
    assert messages(*plain) == messages(*slow)


TITLED = Section("rules", "Be kind.", title="Rules of \u00e9\nhouse")
PLAIN_TURNS: list[tuple[Any, ...]] = [
    ("",),
    ("a",),
    ("a", "", "\u00e9"),
    ("\n  a\n  b",),
    ("\ud800",),
    (Text("a"), Text("b")),
    (Text(Value("a")),),
    (Section("role", "You help."), TITLED, "Bye."),
    (Section("role", "a\ud800"),),
    (Section("role", "a", title="\ud800"),),
    (Section("role", "a", title=Value("b")),),
    (Section("role", "a", cache=True),),
    (Section("empty", ""), "a"),
    (Section("role", "a", separator="\n"), Section("tone", Text("b"), separator=" ", title="T")),
    (Section("role", "<a>", encoding="full"), "a <", Section("tone", "b</a", title="<T>")),
    (" ", Section("role", " \n", title=""), Text("\uff1ca")),
    ("a ", Value("<b> & # c"), ".", Text(Value("# d")), Text("")),
    ("\n  a\n  b ", Text("\n  c ", Value("\n d"), "\n  e")),
    (Section("role", "<a>", Value("</a>\n- b"), "</a>", title="Role"), Text(Value(""))),
    (Section("role", Value("a\u200b\ud800")), Section("tone", Value("<i>"), encoding="full")),
    (Volatile("12:00", label="now"), trusted("<b>")),
]


def both_ways(rendered: Rendered) -> tuple[list[object], list[object]]:
    """Return what each turn of a result comes to by its own way, and by the walk over its parts."""
    tree, config = rendered.stages()[-1].tree, rendered.config

    def shown() -> list[object]:
        messages, losses, layout = lower(tree, config=config, media_roots=(Path("/"),))
        reader = SpanReader(tree, messages, layout)
        nodes = [
            [(type(it.node), it.path, it.blocks()) for turn in entry.turns for it in turn.nodes]
            for entry in reader.timeline_entries
        ]
        sources = [message.sources for message in messages]
        return [messages, sources, [*reader.spans(messages)], losses, nodes]

    own = shown()
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(Lowering, "add_simple", lambda *_: False)
        changed.setattr(lower_module, "way_of", lambda *_: walk_parts)
        return own, shown()


@pytest.mark.parametrize("turn", [System, Developer, User, Assistant, Event])
@pytest.mark.parametrize("content", PLAIN_TURNS)
def test_a_way_and_the_walk(turn: Any, content: tuple[Any, ...]) -> None:
    """The way of a turn writes the same as the walk, and notes as well where it is from."""
    own, walked = both_ways(render(timeline_of(User("a"), turn(*content), User("b"))))
    assert own == walked


@pytest.mark.parametrize(
    "turn", [Event(UserAction("opened", target="a\u200b")), Grounding("g", "a", title="b\u200b")]
)
def test_an_invisible_character_in_a_fence(turn: Node) -> None:
    """What nobody sees in the opening of a fence, or in a field of an event, is told."""
    hints = render(timeline_of(User("a"), turn, User("b"))).hints
    assert ["invisible_characters"] == [loss.name for loss in hints]


WAY_OF: list[tuple[str, list[Node]]] = [
    (
        "simple",
        [
            System("a"),
            System(Text("a"), "é"),
            System(Section("role", "a"), TITLED, Section("end", Text("é"), title="End")),
            System(Section("s", "a", encoding="full")),
            System(Section("s", "a", separator=" ")),
            User("a"),
            User("é"),
            User(Text("a")),
            User("a", id="first"),
            User("a", name="ada", metadata={"a": 1}),
            Assistant(ToolUse("t", "{}", id="c")),
            ToolMessage("c", "x"),
        ],
    ),
    (
        "side_by_side",
        [
            User("\ud800"),
            User("a", cache=True),
            User(Text("a"), Text(""), Text("é")),
            User(Image.from_bytes(PNG)),
            User("a", Image.from_file_id("f")),
            User(Value("a")),
            User("a", Value("b")),
            User(Text("a", Value("b")), "c"),
            Assistant("a", ToolUse("t", "{}", id="c")),
            Assistant("a", Reasoning("b")),
            ToolMessage("c", "x", name="look"),
            ToolMessage("c", "é", Image.from_bytes(PNG)),
            ToolMessage("c", is_error=True),
        ],
    ),
    (
        "walk",
        [
            User(Section("s", "a")),
            User("a", Text("b"), separator=" "),
            ToolMessage("c", Section("s", "a"), name="look"),
            Event("a"),
            System("\n a"),
            System("a", id="first"),
            Developer("a"),
            System("a\ud800"),
            System(Section("s", "a", title="\ud800")),
            System("a", cache=True),
            System("a", Value("b")),
            System(Quote("a")),
            System(Section("s", "a", Text("b"))),
            System(Section("s", "a", cache=True)),
            System(Section("s", "a", title=Value("b"))),
            System(Section("s", "")),
        ],
    ),
]


def way(turn: Node) -> str:
    """Return the way of a turn."""
    before = [Assistant(ToolUse("t", "{}", id="c"))] if isinstance(turn, ToolMessage) else []
    rendered = render(timeline_of(*before, turn))
    node: Any = rendered.stages()[-1].tree.content[-1]
    lowering = Lowering(rendered.config)
    if lowering.add_simple(node):
        return "simple"
    return way_of(node, lowering.rules_of[node.role]).__name__


@pytest.mark.parametrize(("expected", "turns"), WAY_OF)
def test_the_way_of_a_turn(expected: str, turns: list[Node]) -> None:
    """The way of a turn is known by the kinds of its content."""
    assert [expected] * len(turns) == [*map(way, turns)]


@examples(100, fast=5)
@given(trees())
def test_a_way_and_the_walk_of_any_tree(tree: Part) -> None:
    """All that is sent and shown of any prompt is the same by its ways and by the walk."""
    own, walked = both_ways(render(built(tree)))
    assert own == walked


@examples(100, fast=5)
@given(trees())
def test_a_copy_of_a_result_tells_the_same(tree: Part) -> None:
    """A result that was pickled or copied has the spans, losses and records of the first one."""
    rendered = render(built(tree))

    def shown(result: Rendered) -> list[object]:
        masked = result.masked(lambda span: f"<{span.label}>").messages
        return [result.spans(), reported(result), result.record().to_json(), masked]

    copies = [pickle.loads(pickle.dumps(rendered)), deepcopy(rendered)]
    assert [shown(rendered)] * 2 == [*map(shown, copies)]


def test_a_copied_table_of_trusted_cells() -> None:
    """The borders of its cells are those of the text, although a copy of a trusted one is plain."""
    cells = [trusted("> q"), Volatile("12:00", label="t")]
    rendered = render(
        Timeline(System("a", id="x"), System(Section("s", Value("v"))), User(Table([cells])))
    )
    copied = deepcopy(rendered)
    expected = [span.text for span in rendered.spans()]
    assert (expected, rendered.spans()) == ([it.text for it in copied.spans()], copied.spans())


def test_request_only_content_of_a_system_role_keeps_its_mark() -> None:
    """A cache mark after a fence in system text stays on it."""
    prompt = Timeline(
        System("a"), Fragment(Grounding("g", "b", position="flow")), CacheBreakpoint()
    )
    mapped = {"role_mapping": {"ephemeral": "system"}}
    (_, fence) = render(prompt, transformation=mapped).messages
    assert (TextBlock("<context>\nb\n</context>", "default"),) == fence.content


@pytest.mark.parametrize("part", [Text, lambda text: Text(Value(text))])
@given(texts=st.lists(st.sampled_from(["a", "", "é", "<b>", "\n  x"]), min_size=1))
def test_any_texts_are_kept(part: Any, texts: list[str]) -> None:
    """Any texts of a user are blocks as they were written, empty ones aside."""
    expected = [TextBlock(text) for text in texts if text]
    turns = messages(User(*map(part, texts)))
    assert expected == [block for turn in turns for block in turn.content]


class Riddle(Node):
    """A node that no table of writers knows."""

    __slots__ = ()


def test_a_node_without_a_writer_is_refused() -> None:
    """What nobody knows how to write is an error that says where a writer goes, and no gap."""
    riddle: Node = make(Riddle, ("Unheard.",), mask=Text("Unheard.")._mask)
    with pytest.raises(TypeError, match="Riddle: add it to LEAVES or CONTAINERS"):
        render(timeline_of(User("Hi. ", riddle)))
