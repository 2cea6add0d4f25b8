"""The beginning of a request that warms a provider's cache."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import lines_of, raised
from tests.providers.every_target import as_wire, check, check_rules, needing_sdk
from tests.providers.prompts import ANY_PROMPTS

CLAUDE = {"model": "claude-opus-5-5"}
BEDROCK = {"provider": "bedrock", "model": "us.anthropic.claude-sonnet-4-5-20250929-v1:0"}
CHAT = {"model": "gpt-5.6-sol"}
TARGETS: Mapping[str, dict[str, str]] = {
    "anthropic": CLAUDE,
    "bedrock": BEDROCK,
    "openai": CHAT,
    "openai_responses": {**CHAT, "provider": "openai_responses"},
}
"""A target with cache marks of each form."""
MARKS = ("cache_control", "cachePoint", "prompt_cache_breakpoint")
each_target = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)


def rows(payload: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the parts of a payload in the order of a cache, each with what is around it."""
    yield from (("tools", it) for it in payload.get("toolConfig", payload).get("tools", ()))
    yield from (("system", part) for part in payload.get("system", ()))
    for number, entry in enumerate(payload.get("messages", payload.get("input"))):
        around = {key: it for key, it in entry.items() if key not in ("content", "output")}
        content = entry.get("content", entry.get("output"))
        parts = content if isinstance(content, list) else [content]
        yield from (((number, around), part) for part in parts or [None])


CHECKS = [
    *((name, check_rules) for name in TARGETS),
    *(needing_sdk(name, name, check) for name in TARGETS),
]
"""The rules of each service, and the types of its SDK."""


def cached(payload: Any) -> list[bytes]:
    """Return the parts of a payload up to its last mark, as JSON."""
    parts = [*rows(payload)]
    last = max(n for n, (_, part) in enumerate(parts) if marked(part))
    return [as_wire(row) for row in parts[: last + 1]]


def marked(part: Any) -> bool:
    """Return whether a part has a cache mark."""
    return isinstance(part, dict) and any(mark in part for mark in MARKS)


def sent(*turns: Node, **target: Any) -> list[str]:
    """Return the texts, names and kinds of the parts of a prefix, in the order of a cache."""
    prefix = render(Timeline(*turns), **target).prefix()
    parts = [part if isinstance(part, dict) else {"text": part} for _, part in rows(prefix)]
    return [
        str(it.get("text") or it.get("name") or it.get("type") or next(iter(it))) for it in parts
    ]


def tool(name: str) -> Tool:
    """Return a tool that takes nothing."""
    return Tool(name=name, description="Take nothing.")


def asked() -> list[Node]:
    """Return a question that two calls answer."""
    return [User("q"), Assistant(ToolUse("t", {}, "1"), ToolUse("t", {}, "2"))]


PREFIXES: list[tuple[list[Node], list[str]]] = [
    ([System("s", cache=True), User("a")], ["s", "."]),
    ([System(Section("r", "s", cache=True), "t"), User("a")], ["s", "."]),
    ([System("s"), User("a", cache=True), Assistant("b"), User("c")], ["s", "a"]),
    ([User("a"), User("b"), CacheBreakpoint(), User("c")], ["a", "b"]),
    ([User("a"), Assistant("b", cache=True), User("c")], ["a", "b", "."]),
    ([tool("x"), System("s"), User("a", cache=True), User("b")], ["x", "s", "a"]),
    (
        [*asked(), ToolMessage("1", "x", cache=True), ToolMessage("2", "y"), User("c")],
        ["q", "tool_use", "tool_use", "tool_result", "tool_result"],
    ),
    (
        [User("q", cache=True), *asked()[1:], ToolMessage("1", "x"), ToolMessage("2", "y")],
        ["q"],
    ),
]


@pytest.mark.parametrize(("turns", "expected"), PREFIXES, ids=range(len(PREFIXES)))
def test_what_a_prefix_holds(turns: list[Node], expected: list[str]) -> None:
    """All up to the last mark, and a short turn of the user where none would be the last one."""
    names = [name for name in sent(*turns, **CLAUDE) if name]
    assert expected == [{"t": "tool_use"}.get(name, name) for name in names]


def test_a_mark_on_a_tool() -> None:
    """What follows a marked tool is left out, and so is a choice that may name it."""
    turns = [tool("x"), CacheBreakpoint(), tool("y"), System("s"), User("a")]
    prefix = render(Timeline(*turns), tool_choice="y", **CLAUDE).prefix()
    assert {"tools", "messages"} == prefix.keys()
    assert ["x", "."] == sent(*turns, **CLAUDE)


def test_a_document_is_sent_with_a_text() -> None:
    """A provider that wants one beside it gets it behind the mark."""
    page = Document.from_bytes(b"%PDF-1.4", media_type="application/pdf", title="p")
    prompt = Timeline(User(page, CacheBreakpoint(), "What is it?"))
    content = render(prompt, **BEDROCK).prefix()["messages"][0]["content"]
    assert [["document"], ["cachePoint"], ["text"]] == [[*part] for part in content]


@each_target
def test_marks_that_are_placed_count(target: Any) -> None:
    """With ``cache="auto"`` the prefix is that of the marks which are sent."""
    prompt = Timeline(tool("x"), System("s"), User("a"), Assistant("b"), User("c"))
    rendered = render(prompt, cache="auto", **target)
    assert as_wire(rendered.payload()) == as_wire(rendered.prefix())


@pytest.mark.parametrize(
    ("target", "what"),
    [
        (CLAUDE, "no cache mark is sent, so there is no prefix to cache"),
        ({"model": "gemini-2.5-pro"}, "gemini-2.5-pro takes no cache marks, so it has no prefix()"),
        ({}, "this was rendered without a target"),
    ],
)
def test_no_prefix(target: Any, what: str) -> None:
    """A prompt without marks, or a target without them, is an error at the author's line."""
    rendered = render(Timeline(User("a")), **target)

    def call() -> None:
        rendered.prefix()

    error = raised(TargetError, call)
    assert what == error.what
    assert lines_of(call, 1) == error.at
    with pytest.raises(PendingToolCalls):
        render(Timeline(System("s", cache=True), *asked()), **CLAUDE).prefix()


@pytest.mark.parametrize(("name", "check"), CHECKS)
@given(prompt=ANY_PROMPTS, auto=st.booleans())
def test_any_prefix(name: str, check: Any, prompt: Timeline, *, auto: bool) -> None:
    """Its cached part is that of the payload to the byte, and it is a request that is taken."""
    target: Any = TARGETS[name]
    rendered = render(prompt, cache="auto" if auto else None, **target)
    payload = rendered.payload()
    assume(any(marked(part) for _, part in rows(payload)))
    prefix = rendered.prefix()
    assert cached(payload) == cached(prefix)
    try:
        check(payload, rendered.facts)
    except (AssertionError, ValueError):
        return  # unknown blocks of a recording are sent as they came
    check(prefix, rendered.facts)
    assert render(Timeline(getattr(History, f"from_{name}")(prefix)), **target).messages
