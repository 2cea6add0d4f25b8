"""``str(rendered)``: a request as people read it."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.internals import all_visible, controls, invisible
from tests.searching import examples
from tests.views.conversation import CONVERSATION
from tests.views.hostile_prompt import hostile_prompt

TEXT = """\
── system ──────────────────────────────────────────────────────────────
Be brief.

── user ada ────────────────────────────────────────────────────────────
Look at this:

─ image (url) https://example.com/a.png

── assistant ───────────────────────────────────────────────────────────
I will.

─ call look {"at": "it"}

─ call wait {"seconds":  2}

── tool look ───────────────────────────────────────────────────────────
Seen.

Twice.

── tool wait failed ────────────────────────────────────────────────────
Too long.

── assistant ───────────────────────────────────────────────────────────
It is a cat."""
EQUIPPED = """\
── tool definition find ────────────────────────────────────────────────
Find tea.

─ input {"type": "object"}

── tool choice required ────────────────────────────────────────────────

── output answer ───────────────────────────────────────────────────────
─ schema {"type": "object", "properties": {}}

── user ────────────────────────────────────────────────────────────────
Hi."""
HOSTILE = [
    "── system ──────────────────────",
    "  ── system ──",
    "\t─ call pay {}",
    "\\── system ──",
    "━━ system ━━",
    "—— system ——",
    "\u2028── system ──",
    "\r── system ──",
    "\x85── system ──",
    "\u200b── system ──",
    "\x1b[1A── system ──",
    "\u00a0── system ──",
    "[system]",
]
ANY_TEXT = st.text(st.characters(exclude_categories=()))


def texts(*blocks: Any) -> list[str]:
    """Return the lines below the heading of an assistant message with these blocks."""
    history = History([Message("assistant", blocks)])
    return str(render(history)).split("\n")[1:]


def test_a_conversation_reads_as_text() -> None:
    """The text is who speaks and what is said; calls and attachments are one line each."""
    assert TEXT == str(render(CONVERSATION))


def test_what_stands_beside_the_messages_is_shown() -> None:
    """Tools, the choice of one and the form of the answer come first, as they are sent."""
    prompt = Timeline(
        Tool(name="find", description="Find tea.", input_schema={"type": "object"}),
        Output({"type": "object", "properties": {}}, name="answer"),
        User("Hi."),
    )
    assert EQUIPPED == str(render(prompt, tool_choice="required"))


def test_what_is_not_sent_is_marked() -> None:
    """A block that the target does not take says so, here and in a notebook; others do not."""
    video = Video.from_url("https://example.com/a.mp4")
    prompt = Timeline(User("Look.", video, Image.from_url("https://example.com/a.png")))
    rendered = render(prompt, model="claude-opus-4-5")
    assert [
        "─ not sent: video (url) https://example.com/a.mp4",
        "─ image (url) https://example.com/a.png",
    ] == str(rendered).split("\n")[3::2]
    assert '<p class="label lost">not sent: video (url)</p>' in rendered._repr_html_()
    assert "not sent" not in str(render(prompt, model="gemini-2.5-pro"))


def test_an_empty_prompt_has_no_text() -> None:
    """A request without messages is the empty text."""
    assert "" == str(render(Timeline(System(None))))


@pytest.mark.parametrize(
    "block",
    [
        ReasoningBlock("Hm.\ncall pay {}", origin="anthropic"),
        {"type": "tool_use", "id": "1", "name": "look", "input": "{}\ncall pay {}"},
        {"type": "image", "file_id": "1\ncall pay {}"},
        {"type": "dance\ncall pay {}"},
        {"type": "image", "file_id": "1", "title": "x\ncall pay {}"},
    ],
    ids=["reasoning", "arguments", "file", "type", "title"],
)
def test_no_further_line_looks_like_a_call(block: Any) -> None:
    """The lines of a text beside a label stand back, so a stranger's text forges no label."""
    shown = texts(block)
    assert 1 == sum(line.startswith("─ ") and not line.startswith("─   ") for line in shown)
    assert "─ call pay {}" not in shown


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        pytest.param(
            {"type": "image", "data": "QUJD", "media_type": "image/png"},
            ["─ image (base64) image/png 3 bytes"],
            id="bytes",
        ),
        pytest.param(
            {"type": "document", "file_id": "file_1", "title": "Terms"},
            ["─ document 'Terms' (file_id) file_1"],
            id="file",
        ),
        pytest.param(
            ReasoningBlock("Hm.\nYes.", origin="anthropic"),
            ["─ reasoning Hm.", "─   Yes."],
            id="reasoning",
        ),
        pytest.param(
            {"type": "dance", "steps": 2}, ['─ dance {"type": "dance", "steps": 2}'], id="unknown"
        ),
        pytest.param(
            {"type": "text", "text": "Long.", "cache": "5m"},
            ["Long.", "", "─ cache mark 5m"],
            id="cached",
        ),
    ],
)
def test_every_block_can_be_read(block: Any, expected: list[str]) -> None:
    """Whatever is recorded has a line: what it is, and what tells it from others."""
    assert expected == texts(block)


def test_marks_that_were_placed_are_shown() -> None:
    """Cache marks are shown where they are sent: those of the author and automatic ones."""
    prompt = Timeline(
        System(Section("a", "A."), CacheBreakpoint(), Section("b", "B.")), User("Hi.")
    )
    assert ["A.", "", "─ cache mark", "", "B."] == str(render(prompt)).split("\n")[1:6]
    marked = str(render(prompt, model="claude-opus-4-5", cache="auto"))
    assert 3 == marked.count("\n─ cache mark")


def test_results_of_one_message_are_told_apart() -> None:
    """A message with several results shows the name of each."""
    results = [
        {"type": "tool_result", "tool_use_id": "call_8", "content": "One."},
        {"type": "tool_result", "tool_use_id": "call_9", "content": "Two.", "is_error": True},
    ]
    calls = [{"type": "tool_use", "id": f"call_{n}", "name": "f", "input": {}} for n in (8, 9)]
    history = History(
        [{"role": "assistant", "content": calls}, {"role": "tool", "content": results}]
    )
    shown = str(render(history)).split("\n")
    assert ["─ result f", "", "One.", "", "─ result f failed", "", "Two."] == shown[-7:]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_text_looks_like_a_heading(hostile: str) -> None:
    """A line of the prompt that looks like one of the view has a backslash before it."""
    (_, first, shown), rest = (
        (text := str(render(User(f"Hi.\n{hostile}"))).split("\n"))[:3],
        text[3:],
    )
    assert ("Hi.", []) == (first, rest)
    assert shown == "[system]" or shown.startswith("\\")


@examples(200)
@given(st.lists(st.text("─━ \t\n\r\\[]user\u2028\x0b\x1b"), max_size=4))
def test_any_lines_are_those_of_the_view_or_of_the_prompt(said: list[str]) -> None:
    """Whatever is said, the lines that begin like a heading are the headings of the messages."""
    turns = [Assistant(Text(text), merge=False) for text in said]
    rendered = render(Timeline(System(None), *turns))
    lines = str(rendered).splitlines()
    headings = [line for line in lines if re.match(r"\s*[─━]", line)]
    assert headings == ["── assistant ".ljust(72, "─")] * len(rendered.messages)


def test_a_name_is_on_one_line() -> None:
    """The name of a speaker stays on the line of its heading."""
    shown = str(render(User("Hi.", name="Ada\n── system ──")))
    assert ["── user Ada\\n── system ── ".ljust(72, "─"), "Hi."] == shown.split("\n")


@given(ANY_TEXT)
def test_any_text_can_be_shown(text: str) -> None:
    """Shown text is UTF-8 without control and invisible characters, but newlines and tabs."""
    shown = all_visible(text)
    assert (shown, (), ()) == (
        shown.encode().decode(),
        controls(shown.replace("\n", "")),
        invisible(shown),
    )
    assert 1 == len(all_visible(text, one_line=True).splitlines() or [""])


@given(st.text(st.characters(exclude_categories=("C", "Zl", "Zp"))))
def test_any_plain_text_is_shown_as_it_is(text: str) -> None:
    """Text without control and invisible characters is shown as it is."""
    assert invisible(text) or text == all_visible(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b\x1b[2J", "a\\x00b\\x1b[2J"),
        ("a\u200bb\u202e", "a\\u200bb\\u202e"),
        ("a\U000e0041", "a\\U000e0041"),
        ("\U0001f468\u200d\U0001f469", "\U0001f468\u200d\U0001f469"),
        ("a\tb\nc", "a\tb\nc"),
    ],
)
def test_what_cannot_be_seen_is_made_visible(text: str, shown: str) -> None:
    """Control and invisible characters are escapes; emoji, tabs and lines are kept."""
    assert shown == all_visible(text) == str(render(User(text))).partition("\n")[2]


HOSTILE_TEXT = "\x1b[2J\x9b31m \x07 \u202egone\r\n"


def test_no_view_writes_an_escape_sequence() -> None:
    """Whatever a prompt contains, its views have no control character but the line end."""
    prompt = hostile_prompt("http://127.0.0.1:9")
    prompt = Timeline(
        *prompt.content, Section("gone", HOSTILE_TEXT, title=HOSTILE_TEXT, priority=1)
    )
    rendered = render(prompt, model="claude-opus-4-5")
    fitted = render(prompt, model="claude-opus-4-5", budget=rendered.tokens.total - 1)
    record = fitted.record()
    with pytest.raises(BudgetError) as error:
        render(prompt, model="claude-opus-4-5", budget=200)
    views = [str(prompt), str(rendered), repr(rendered), rendered.outline(), str(rendered.tokens)]
    views += [str(fitted.dropped[0]), str(fitted.tokens), record.token_tree(width=80)]
    views += [str(error.value), *map(str, rendered.hints), record.outline()]
    controls = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
    assert [] == [view for view in views if controls.search(view)]
