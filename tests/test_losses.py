"""Losses and the author's lines: each names the part it is about, and is found in linear time."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import promptdsl
from promptdsl import *
from tests.errors import lines_of, raised
from tests.folding import failures
from tests.lines_run import lines_run
from tests.renders import reported, timeline_of
from tests.searching import examples

TARGETS = ["openai", "openai_responses", "anthropic", "gemini", "bedrock", "chat_template"]
ADDRESS = "https://e.org/v"


def told(rendered: Rendered, write: Callable[..., Any]) -> list[tuple[int, str, str]]:
    """Return the line of each loss in the function that wrote it, what is lost, and its address."""
    first = write.__code__.co_firstlineno
    lost = [(loss, loss.source) for loss in reported(rendered) if loss.source]
    return [(source.line - first, loss.what, loss.path) for loss, source in lost]


# The line of the block.


def attachments() -> Timeline:
    """Write attachments, of which one is not taken; line 0 is the ``def``."""
    with Timeline() as tree:
        User("a")
        with User():
            Text("a")
            Image.from_bytes(b"\x89PNG\r\n\x1a\n", "image/png", detail="low")
            Audio.from_bytes(b"ID3...", "audio/mpeg")
            with Section("more", title="More"):
                Text("b")
                Document.from_url("s3://b/k")
        User("b")
    return tree


@pytest.mark.parametrize("merged", [True, False])
def test_a_block_in_a_merged_message(merged: bool) -> None:
    """A loss names the turn, the sections and the line of its block, however turns are merged."""
    found = render(
        attachments(), provider="anthropic", transformation={"merge_consecutive": merged}
    )
    assert [
        (7, "audio block", "user[1]"),
        (10, "document (s3)", "user[1]/more"),
        (6, "detail", "user[1]"),
    ] == told(found, attachments)


def test_a_format_block_that_changes_its_mind() -> None:
    """A function that returns something else at each call moves no line, and breaks nothing."""
    texts = iter(["x", "", "", ""])
    found = render(
        Timeline(User(Json([1]), Audio.from_bytes(b"ID3...", "audio/mpeg"))),
        provider="anthropic",
        transformation={"format_block": lambda _: next(texts)},
    )
    ((_, what, path),) = told(found, test_a_format_block_that_changes_its_mind)
    assert ("audio block", "user[0]") == (what, path)


def test_where_a_loss_is() -> None:
    """``at`` are the indices of the message and the block; ``message`` is that message."""
    found = render(attachments(), provider="anthropic")
    (message,) = found.messages
    assert [(0, 3), (0, 5), (0, 2)] == [loss.at for loss in reported(found)]
    assert {id(message)} == {id(loss.message) for loss in reported(found)}


def marks() -> Timeline:
    """Write cache marks of all kinds."""
    with Timeline() as tree:
        System("s")
        with System():
            with Section("rules"), Section("tone", cache=True):
                Text("x")
            Text("y")
            CacheBreakpoint()
        User("a", cache=True)
        with User():
            Text("b")
            CacheBreakpoint()
            Audio.from_bytes(b"ID3...", "audio/mpeg")
            CacheBreakpoint()
        with Assistant():
            ToolUse("t", {}, id="c")
            CacheBreakpoint()
        with ToolMessage("c"):
            Text("c")
            CacheBreakpoint()
    return tree


def test_a_mark() -> None:
    """A lost mark names the line of the mark; in system text, the address of its section."""
    found = [it for it in told(render(marks(), provider="gemini"), marks) if it[1] == "cache mark"]
    assert [
        (5, "cache mark", "rules/tone"),
        (8, "cache mark", "system[1]"),
        (9, "cache mark", "user[0]"),
        (12, "cache mark", "user[1]"),
        (14, "cache mark", "user[1]"),
        (17, "cache mark", "assistant[0]"),
        (20, "cache mark", "tool[0]"),
    ] == sorted(found)


def calls() -> Timeline:
    """Write a call with a name that is not taken, and results with an attachment."""
    with Timeline() as tree:
        User("q")
        with Assistant():
            Text("x")
            Reasoning("hm", signature="s", origin="gemini")
            ToolUse("a name", {}, id="c1")
            ToolUse("t", {}, id="c2")
        with ToolMessage("c1"):
            Text("x")
            Video.from_url(ADDRESS)
        with User():
            ToolResult(
                "c2",
                "x",
                Video.from_url(ADDRESS),
            )
            Text("x")
            Video.from_url(ADDRESS)
    return tree


TITLED = ("title_only", "section t", "it has a title but no content")
CONTROL = ("invisible_characters", "control characters U+0000", "sent as references")
UNSEEN = ("invisible_characters", "invisible characters U+200B", "sent as they are")
NO_INSTRUCTION = "an instruction cannot contain an attachment, so it is sent in a user turn"
NOTICED: list[tuple[Any, list[tuple[str, ...]]]] = [
    (
        User(CacheBreakpoint(), "a"),
        [("cache_mark", "a cache breakpoint", "there is nothing before it in its turn", "user[0]")],
    ),
    (
        Assistant(Reasoning("a"), CacheBreakpoint(), "b"),
        [
            (
                *("cache_mark", "a cache breakpoint"),
                *("the block before it takes no cache mark", "assistant[0]"),
            )
        ],
    ),
    (
        Assistant("b", Reasoning("a"), cache=True),
        [("cache_mark", "a cache mark", "a reasoning block takes no cache mark", "assistant[0]")],
    ),
    (System("a", CacheBreakpoint()), []),
    (User("a", Image.from_file_id("f"), cache=True), []),
    (System(Section("s", Section("t", "", title="T"), "a")), [(*TITLED, "s/t")]),
    (User(Section("t", "", title="T"), "a"), [(*TITLED, "user[0]/t")]),
    (
        Ephemeral("", title="T"),
        [(TITLED[0], "an Ephemeral or Grounding", TITLED[2], "ephemeral[0]")],
    ),
    (
        Ephemeral("", type="T"),
        [(TITLED[0], "an Ephemeral or Grounding", TITLED[2], "ephemeral[0]")],
    ),
    (Ephemeral(""), []),
    (
        System(Section("s", Section("t", Value("\x00\u200b"), "a"))),
        [(*CONTROL, "s/t"), (*UNSEEN, "s/t")],
    ),
    (System(Section("s", "a", title=Value("\x00"))), [(*CONTROL, "s")]),
    (User(Section("s", "a", title=Value("\x00")), id="x"), [(*CONTROL, "x/s")]),
    (Format("xml", Section("s", "a", title="\x00")), [(*CONTROL, "s")]),
    (System(Section("s", "a", title="\x00")), []),
    (System(Heading(Value("\x00"))), [(*CONTROL, "system[0]")]),
    (
        Developer(Table([["\x00"]], columns=["\u200b"])),
        [(*UNSEEN, "developer[0]"), (*CONTROL, "developer[0]")],
    ),
    (
        User(Untrusted("\x00", source="\u200b")),
        [(*CONTROL, "user[0]"), (*UNSEEN, "user[0]")],
    ),
    (User(Value("\x00")), []),
    (
        Event("a", Image.from_file_id("f"), id="e"),
        [("fenced_turn", "event as an instruction", NO_INSTRUCTION, "e")],
    ),
    (
        Ephemeral("a", Image.from_file_id("f")),
        [("fenced_turn", "ephemeral as an instruction", NO_INSTRUCTION, "ephemeral[0]")],
    ),
]


@pytest.mark.parametrize(("turn", "expected"), NOTICED)
def test_what_is_noticed_of_a_text(turn: Any, expected: list[tuple[str, ...]]) -> None:
    """Each hint about a text has its name, its reason, its address, and the file of its author."""
    roles: Any = {"event": "developer", "ephemeral": "developer"}
    found = render(timeline_of(turn), transformation={"role_mapping": roles}).hints
    noticed = [(it.name, it.what, it.why, it.path, it.source and it.source.file) for it in found]
    assert [(*it, __file__) for it in expected] == noticed


def test_calls_and_results() -> None:
    """A call, reasoning, and a block in a result: each has its own line, the rest the prompt's."""
    found = told(render(calls(), provider="anthropic"), calls)
    assert [
        (2, "there are no tools", ""),
        (6, "reasoning", "assistant[0]"),
        (7, "tool name 'a name'", "assistant[0]"),
        (11, "video block", "tool[0]"),
        (16, "video block", "user[1]"),
        (19, "video block", "user[1]"),
    ] == sorted(found)


def test_reasoning_that_nothing_follows() -> None:
    """Reasoning that is lost at the end of its message is at its own place, too."""
    thought = ReasoningBlock("hm", origin="openai_responses", extra={"id": "rs_1"})
    history = History([Message("user", "q"), Message("assistant", [TextBlock("x"), thought])])
    tree = timeline_of(history, User("go on"))
    (hint,) = render(tree, provider="openai_responses").hints
    assert ("reasoning", (1, 1), "history[1]") == (hint.what, hint.at, hint.path)


def voices() -> Timeline:
    """Write instructions, names and texts that are lost as a whole."""
    with Timeline() as tree:
        User("a", name="Bob")
        User("b", name="Bob", id="second")
        with User():
            Text("a")
            Text("half \ud800")
        Developer("c")
        Developer("d")
        with Assistant():
            Text("e")
            Text("f ")
    return tree


def test_a_message() -> None:
    """A role, a name and the last white space are of the turn, or the text, that has them."""
    assert [
        (3, "name of a speaker", "user[0]"),
        (7, "a lone surrogate", "user[2]"),
        (8, "developer message", "developer[0]"),
        (12, "trailing white space", "assistant[0]"),
    ] == sorted(told(render(voices(), model="claude-sonnet-4-5"), voices))


def recorded() -> Timeline:
    """Write recordings; the same message is in two of them."""
    same = Message("user", [TextBlock("x"), UnknownBlock({"type": "odd"}, "elsewhere")])
    answer = Message("assistant", [TextBlock("y"), UnknownBlock({"type": "odd"}, "elsewhere")])
    with Timeline() as tree:
        User("a")
        History([same, answer])
        User("b")
        History([answer, same, answer])
        User("c")
    return tree


def test_a_recorded_message() -> None:
    """A loss in a recording names the line of its ``History``, and the index of the message."""
    assert [
        (6, "odd block", "history[0]"),
        (6, "odd block", "history[1]"),
        (8, "odd block", "history[0]"),
        (8, "odd block", "history[1]"),
        (8, "odd block", "history[2]"),
    ] == told(render(recorded(), provider="openai"), recorded)


def test_a_loss_is_one_line() -> None:
    """What a stranger named is escaped and cut: it writes no line and no colour into a log."""
    history = History([{"role": "user", "content": [{"type": "x\n\x1b[31m: " + "a" * 99}]}])
    (loss,) = (loss for loss in render(history, provider="openai").losses)
    assert "x\\n\\x1b[31m: " + "a" * 51 + " block" == loss.what
    assert r"hint: a\nb (c\x1b): d\u2028" == str(Loss("hint", "a\nb", "d\u2028", "c\x1b"))


def test_strict_names_the_line() -> None:
    """The error of ``strict=True`` names the line of the block that cannot be sent."""
    error = raised(LossError, lambda: render(attachments(), provider="anthropic", strict=True))
    assert lines_of(attachments, 7)[0] in str(error)


def test_a_file_that_is_gone(tmp_path: Any) -> None:
    """The lines are looked up without a second look at the files."""
    file = tmp_path / "a.mp3"
    file.write_bytes(b"ID3\xff")
    tree = timeline_of(User("a", Audio.from_path(file, media_type="audio/mpeg")))
    found = render(tree, provider="anthropic")
    file.unlink()
    assert ["user[0]"] == [loss.path for loss in found.losses]


# Any prompt: the address of each attachment ends in the line that wrote it.

PART: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from(["text", "blank", "video", "mark"]),
    lambda inner: st.tuples(st.just("section"), st.lists(inner, min_size=1, max_size=3)),
    max_leaves=6,
)
KIND = st.sampled_from(["user", "named", "tool", "results", "recorded"])
TURNS = st.lists(st.tuples(KIND, st.lists(PART, min_size=1, max_size=4)), max_size=6)


def program(turns: list[tuple[str, list[Any]]]) -> str:
    """Return a module that writes these turns, each part on a line of its own."""
    lines = ["with Timeline() as tree:", "    User('q')"]
    for number, (kind, parts) in enumerate(turns):
        if kind == "recorded":
            address = f"{ADDRESS}{len(lines) + 1}"
            block = f"{{'type': 'video', 'url': {address!r}}}"
            lines.append(f"    History([Message('user', [{block}, {block}])])")
            continue
        if kind in ("tool", "results"):
            lines.append(f"    Assistant(ToolUse('t', {{}}, id='c{number}'))")
        opening = {"named": "User(name='Ada')", "tool": f"ToolMessage('c{number}')"}
        lines.append(f"    with {opening.get(kind, 'User()')}:")
        if kind == "results":
            video = f"Video.from_url('{ADDRESS}{len(lines) + 1}')"
            lines.append(f"        ToolResult('c{number}', 'x', {video})")
        write_parts(lines, parts, 8)
    return "\n".join(lines)


def write_parts(lines: list[str], parts: list[Any], indent: int) -> None:
    """Add the lines of parts."""
    for part in parts:
        margin = " " * indent
        if type(part) is not str:
            lines.append(f"{margin}with Section('s{len(lines)}', title='T'):")
            write_parts(lines, part[1], indent + 4)
        else:
            words = {"text": "Text('x')", "blank": "Text(' ')", "mark": "CacheBreakpoint()"}
            lines.append(margin + words.get(part, f"Video.from_url('{ADDRESS}{len(lines) + 1}')"))


def block_of(rendered: Rendered, at: tuple[int, ...]) -> Any:
    """Return the block at a place."""
    block: Any = rendered.messages[at[0]]
    for index in at[1:]:
        block = block.content[index]
    return block


@examples(1_000, fast=20)
@given(TURNS, st.sampled_from(TARGETS), st.booleans())
def test_any_prompt(turns: list[tuple[str, list[Any]]], target: str, merged: bool) -> None:
    """Each lost attachment of any prompt names the line that wrote it."""
    scope: dict[str, Any] = {name: getattr(promptdsl, name) for name in promptdsl.__all__}
    text = program(turns)
    exec(compile(text, "prompt.py", "exec"), scope)
    found = render(scope["tree"], provider=target, transformation={"merge_consecutive": merged})
    expected = [int(word.split("'")[0]) for word in text.split(ADDRESS)[1:]]
    lost = [loss for loss in found.losses if loss.kind == "content"]
    blocks = [block_of(found, loss.at).source.value for loss in lost]
    assert sorted(expected) == sorted(loss.source.line for loss in lost if loss.source)
    assert blocks == [f"{ADDRESS}{loss.source.line}" for loss in lost if loss.source]


# In linear time.


def odd() -> UnknownBlock:
    """Return a block that no target takes."""
    return UnknownBlock({"type": "odd"}, "elsewhere")


def call(number: int) -> Iterator[Node]:
    """Yield a call and its result, both with losses."""
    yield Assistant("a", ToolUse(f"a name {number}", {}, id=f"c{number}"))
    yield ToolMessage(f"c{number}", "x", Video.from_url(ADDRESS), is_error=True, cache=True)


WRITTEN: dict[str, Callable[[int], list[Any]]] = {
    "blank turns": lambda n: [User("a"), *(User(" ") for _ in range(n))],
    "file ids": lambda n: [User("a"), *(User(Image.from_file_id("f")) for _ in range(n))],
    "sounds": lambda n: [User("a"), *(User(Audio.from_url(ADDRESS)) for _ in range(n))],
    "parts of a turn": lambda n: [User("a", *(Video.from_url(ADDRESS) for _ in range(n)))],
    "marks": lambda n: [User("a"), *(User("x", cache=True) for _ in range(n))],
    "system marks": lambda n: [User("a"), *(System("x", cache=True) for _ in range(n))],
    "sections": lambda n: [
        User("a"),
        System(*(Section(f"s{i}", "x", cache=True) for i in range(n))),
    ],
    "lone surrogates": lambda n: [User("a"), *(User("\ud800") for _ in range(n))],
    "names": lambda n: [User("x", name=f"A d{i % 2}") for i in range(n)],
    "calls": lambda n: [User("q"), *(node for i in range(n) for node in call(i))],
    "instructions": lambda n: [User("q"), *(Developer("x", cache=True) for _ in range(n))],
    "events": lambda n: [User("q"), *(Event(UserAction("did")) for _ in range(n)), User("x")],
    "groundings": lambda n: [*(Grounding(f"g{i}", "x") for i in range(n)), User("x")],
}
RECORDED: dict[str, Callable[[int], list[Message]]] = {
    "blank turns": lambda n: [Message("user", " ") for _ in range(n)],
    "unknown blocks": lambda n: [Message("user", ["x", odd()]) for _ in range(n)],
    "blocks of a turn": lambda n: [Message("user", ["x", *(odd() for _ in range(n))])],
    "marks": lambda n: [Message("user", [TextBlock("x", "1h")]) for _ in range(n)],
}


def work(tree: Node, target: str, merged: bool) -> int:
    """Return the number of lines that rendering a tree runs, its losses and origins included."""

    def work_on() -> None:
        name = "model" if target.startswith("gpt") else "provider"
        found = render(tree, **{name: target}, transformation={"merge_consecutive": merged})
        texts = [str(loss) for loss in reported(found)]
        sources = [message.sources for message in found.messages]
        assert len(found.messages) == len(sources) >= (len(texts) and 1)

    return lines_run(work_on)


def growing(few: int, case: str) -> str:
    """Return how the work of a case grows, if it is more than linear."""
    way, kind, target, merged = case.split(", ")
    if way == "written":
        trees = [timeline_of(*WRITTEN[kind](few * by)) for by in (1, 4)]
    else:
        trees = [timeline_of(User("q"), History(RECORDED[kind](few * by))) for by in (1, 4)]
    less, more = (work(tree, target, merged == "merged") for tree in trees)
    return "" if more <= 4.4 * less else f"{less:,} lines, then {more:,}"


CASES = [
    f"{way}, {kind}, {target}, {merged}"
    for way, kinds in (("written", WRITTEN), ("recorded", RECORDED))
    for kind in kinds
    for target in TARGETS
    for merged in ("merged", "apart")
]


@pytest.mark.parametrize(
    ("few", "every"),
    [(12, 14), pytest.param(300, 10, marks=pytest.mark.slow)],
)
def test_losses_are_linear(few: int, every: int) -> None:
    """Four times as many losses, marks, blank turns or origins are four times the work."""
    assert [] == failures(CASES[::every], partial(growing, few))


@pytest.mark.parametrize("target", ["anthropic", "bedrock", "gpt-3.5-turbo"])
@pytest.mark.parametrize("kind", ["blank turns", "file ids", "sounds", "system marks"])
def test_losses_of_one_message_are_linear(kind: str, target: str) -> None:
    """Four times as many losses in one merged message are four times the work."""
    assert "" == growing(20, f"written, {kind}, {target}, merged")
