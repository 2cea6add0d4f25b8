"""Cache marks that are placed for an author."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.renders import lossy_payload, reported

MODEL = "claude-opus-5"
MARK = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def marked(*turns: Node, model: str = MODEL, cache: str | None = "auto") -> list[str]:
    """Return the texts, tools and results of an Anthropic payload that carry a mark, in order."""
    payload: Any = lossy_payload(render(Timeline(*turns), model=model, cache=cache))
    contents = [payload.get("tools", []), payload.get("system", [])]
    contents += [turn["content"] for turn in payload["messages"]]
    return [
        block.get("text") or block.get("name") or block["type"]
        for content in contents
        for block in content
        if "cache_control" in block
    ]


def tool(name: str = "t") -> Tool:
    """Return a tool that takes nothing."""
    return Tool(name=name, description="Take nothing.")


@pytest.mark.parametrize(
    ("turns", "found"),
    [
        ((System("s"), User("a")), ["s", "a"]),
        ((tool("x"), tool("y"), System("s"), User("a")), ["y", "s", "a"]),
        ((User("a"), Assistant("b"), User("c")), ["c"]),
        ((System("s"), User("a"), Assistant("b"), User("c")), ["s", "c"]),
        ((User("a"), Assistant("b"), Grounding("g", "G"), User("c")), ["b"]),
        ((User("a"), Ephemeral("E")), ["a"]),
        ((Ephemeral("E", position="start"), User("a")), []),
        ((Ephemeral("E", position="start"), User("a"), Assistant("b"), User("c")), ["c"]),
        ((User("a"), Assistant(ToolUse("t", {}, id="i")), ToolMessage("i", "r")), ["tool_result"]),
        ((User("a"), Assistant("b"), User("")), ["b"]),
        ((System("s"),), ["s"]),
    ],
)
def test_places(turns: tuple[Node, ...], found: list[str]) -> None:
    """Marks stand behind the tools, the system text and the last turn that will stay."""
    assert found == marked(*turns)


def test_not_on_what_is_not_sent() -> None:
    """A mark stands behind the last block that the target takes."""
    audio = Audio.from_bytes(b"RIFF$\0\0\0WAVEfmt ", "audio/wav")
    assert ["b"] == marked(User("a", merge=False), User("b", audio))


def test_an_hour_within_a_result() -> None:
    """A mark in a result counts, and none of five minutes is placed before its hour."""
    result = ToolResultBlock("i", (TextBlock("r", "1h"),))
    call = Message("assistant", [ToolUseBlock("i", "t", "{}")])
    history = History([Message("user", "a"), call, Message("tool", [result])])
    rendered = render(Timeline(tool(), System("s"), history), model=MODEL, cache="auto")
    assert () == rendered.losses == rendered.hints


def test_beside_those_of_an_author() -> None:
    """What an author marked keeps its mark, and counts: there are four at most."""
    authored = [Section("a", "A", cache=True), Section("b", "B", cache=True)]
    prompt = (tool(), *authored, Section("c", "C"), User("d", cache=True), User("e", merge=False))
    assert ["A", "B", "d", "e"] == marked(*prompt)


def test_four_of_an_author_are_all() -> None:
    """Where an author placed four, none is added."""
    turns = [User(name, cache=True, merge=False) for name in "abcd"]
    assert ["a", "b", "c", "d"] == marked(System("s"), *turns, User("e", merge=False))


def test_a_mark_that_is_there_stays() -> None:
    """A mark of an author on the last stable turn is not replaced."""
    payload: Any = render(
        Timeline(User("a"), CacheBreakpoint("1h")), model=MODEL, cache="auto"
    ).to_anthropic()
    assert HOUR == payload["messages"][0]["content"][0]["cache_control"]


@pytest.mark.parametrize(
    ("turns", "found"),
    [
        ((tool(), System("s"), CacheBreakpoint("1h"), User("a")), ["s", "a"]),
        ((tool(), CacheBreakpoint("1h"), System("s"), User("a")), ["t", "s", "a"]),
        (
            (tool(), System("s"), User("a"), CacheBreakpoint("1h"), Assistant("b"), User("c")),
            ["a", "c"],
        ),
    ],
)
def test_no_mark_before_one_of_an_hour(turns: tuple[Node, ...], found: list[str]) -> None:
    """A mark of five minutes is not placed before one of an hour, which covers it."""
    rendered = render(Timeline(*turns), model=MODEL, cache="auto")
    assert (found, ()) == (marked(*turns), reported(rendered))


@pytest.mark.parametrize("target", ["openai_compatible", "gemini", "chat_template"])
def test_a_target_without_marks(target: str) -> None:
    """Where a target has no marks, nothing is placed and nothing is lost."""
    prompt = Timeline(System("s"), User("a"))
    one, two = (render(prompt, provider=target, cache=cache) for cache in (None, "auto"))
    assert (one.payload(), ()) == (two.payload(), reported(two))


def test_never_on_an_answer_to_openai() -> None:
    """OpenAI takes no mark on an answer: it stands behind the turn before."""
    prompt = Timeline(User("a"), Assistant("b"), Grounding("g", "G"), User("c"))
    rendered = render(prompt, model="gpt-5.6-sol", cache="auto")
    contents = [message["content"] for message in rendered.to_openai()["messages"]]
    mark = {"prompt_cache_breakpoint": {"mode": "explicit"}}
    assert [{"type": "text", "text": "a", **mark}] == contents[0]
    assert () == rendered.losses == rendered.hints


def test_the_messages_are_as_they_were() -> None:
    """Placed marks are in the payload alone."""
    prompt = Timeline(System("s"), User("a"))
    assert (
        render(prompt, model=MODEL).messages == render(prompt, model=MODEL, cache="auto").messages
    )


def test_a_loss_still_names_its_line() -> None:
    """A recorded message that gets a mark is still found in its history."""
    recorded = [{"role": "user", "content": "a", "name": "ada"}]
    prompt = Timeline(History.from_openai(recorded))
    (one,) = render(prompt, model=MODEL).hints
    (two,) = render(prompt, model=MODEL, cache="auto").hints
    assert (one.path, one.source) == (two.path, two.source)
    assert "history[0]" == two.path


@pytest.mark.parametrize("cache", ["Auto", True, "1h"])
def test_unknown_cache(cache: Any) -> None:
    """``cache`` is ``"auto"`` or nothing."""
    with pytest.raises(OptionError, match="cache="):
        render(Timeline(User("a")), cache=cache)


TURNS = st.lists(
    st.sampled_from(
        [
            lambda: User("u", cache=True),
            lambda: User("v", merge=False),
            lambda: Assistant("a"),
            lambda: Developer("d"),
            lambda: System("s", cache=True),
            lambda: Ephemeral("e"),
            tool,
            lambda: CacheBreakpoint("1h"),
        ]
    ),
    min_size=1,
    max_size=12,
)


@given(TURNS)
def test_at_most_four(turns: Any) -> None:
    """There are never more than four marks, and never fewer than an author's four."""
    written = [write() for write in turns]
    alone, placed = (marked(*written, cache=cache) for cache in (None, "auto"))
    assert len(alone) <= len(placed) <= 4


@given(TURNS)
def test_marks_change_no_token(turns: Any) -> None:
    """Without their marks both payloads say the same."""
    prompt = Timeline(*[write() for write in turns])
    one, two = (render(prompt, model=MODEL, cache=cache).to_anthropic() for cache in (None, "auto"))
    assert _unmarked(one) == _unmarked(two)


def _unmarked(payload: Any) -> Any:
    if isinstance(payload, dict):
        return {k: _unmarked(v) for k, v in payload.items() if k != "cache_control"}
    return [_unmarked(item) for item in payload] if isinstance(payload, list) else payload
