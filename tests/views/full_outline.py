"""The outline of a prompt that has two of everything, with the lines that wrote its parts.

``python -m tests.views.full_outline`` writes what the package says into ``full_outline.txt``.
"""

import re
from pathlib import Path

from promptdsl import *

FILE = Path(__file__).with_suffix(".txt")


@component
def named(name: str) -> Node:
    """Return a section of this name."""
    return Section(name, "a")


@component
def around(*parts: Node) -> Node:
    """Return parts as they are."""
    return Fragment(*parts)


def prompt() -> Node:
    """Write two of each part, the second with other options or without any."""
    with Timeline() as timeline:
        write_settings()
        write_context()
        write_choices()
        write_parts()
        write_ends()
    return timeline


def write_settings() -> None:
    """Write tools, and system content."""
    Tool(name="find", description="Find.")
    Output({"type": "object"}, name="answer")
    Tool(name="look")
    with System("ab", cache=True, tags=("t", "u"), priority=1000):
        Section("one", "a", title="One", priority=2, cache=True)
        Section("two", "a", title=Value("x\ny"), audience="model")
        CacheBreakpoint("1h")
        Section("three", Section("four", "a" * 1000, title=""), List("a", Item("b", done=True)))
        CacheBreakpoint()
        around(named("five"), Text("c", Value("d"), Volatile("e", "now")))
        with override({named: lambda name: Text(name + "!")}):
            named("six")
    around(around(Section("loose", "a")))
    Section("loose2", Note("n"), "a")


def write_context() -> None:
    """Write what is sent once, and histories."""
    Grounding("g", "a", title="t")
    Grounding("g", "a b", order=2)
    Ephemeral("a", type="clock", position="end", metadata={"m": 1})
    Ephemeral("a", id="e 1")
    with History(
        [
            Message("user", "a", name="ann"),
            {"role": "user", "content": "ab"},
            Message("user", "ab", id="m"),
            Message("assistant", (TextBlock("a"), ToolUseBlock("1", "f", '{"a": 1}'))),
            Message("tool", (ToolResultBlock("1", (TextBlock("ab"), TextBlock("a"))),)),
        ],
        keep=2,
        step=1000,
        priority=3,
        max_result_tokens=2000,
        pin=["a", "b"],
        clear_results=4,
        cut_line=True,
        keep_compacted=True,
    ):
        User("a", name="bob", id="q")
        Assistant("b")
    History([Message("assistant", "a")], pin=lambda _: True)
    History([])


def write_choices() -> None:
    """Write what a budget drops or chooses."""
    Group(User("a", audience="people"), User("b", merge=False), priority=1)
    Group(Developer("c"), Developer("d"))
    FirstFit(Fragment(User("a"), User("b")), User("c"), priority=-1)
    FirstFit(User("d"), User("e"))


def write_parts() -> None:
    """Write the parts of one turn."""
    with User():
        Limit(10, "a", keep="tail")
        Limit.characters(1000, Text("b"), keep="ends")
        Untrusted("ab", source="m")
        Untrusted("a")
        Table([["a"], ["b"]])
        Json({"a": 1})
        Code("x")
        Quote("a", Checklist(Item("b", done=False), "c"))
        Example("a", Text("b"))
        Heading("h")
        Paragraph("p")
        Image.from_file_id("f")
        Document.from_url("https://example.org/a.pdf", title="T")
        Format("xml", "a")
        Template.from_string("{{ a }}", a="b")


def write_ends() -> None:
    """Write calls, results, events and room."""
    with Assistant():
        Reasoning("abc")
        ToolUse("f", {"a": 1}, id="3")
        ToolUse("f", {}, id="4")
    User(ToolResult("3", "ab"), ToolResult("4", "a"), "c")
    Assistant(ToolUse("f", {}, id="5"))
    ToolMessage("5", "a", name="f", cache=True)
    with Event(id="ev"):
        UserAction("a", "b", target="c")
        StateChange("k", new=1)
        Text("d")
    Event(SystemEvent("s"))
    Reserve(5)
    Reserve(1000)
    Lazy(lambda _: User("lazy"))
    User("z")


def outlines() -> str:
    """Return the outline as written, and as rendered, with lines that begin where it does."""
    first = prompt.__code__.co_firstlineno
    tree = prompt()
    rendered = render(tree, provider="anthropic", model="claude-sonnet-4-5", budget=90_000)
    both = "\n".join([str(tree), "====", rendered.outline()])

    def relative(place: re.Match[str]) -> str:
        return f" +{int(place[1]) - first}"

    return re.sub(rf"\s+{re.escape(__file__)}:(\d+)", relative, both)


if __name__ == "__main__":
    FILE.write_text(outlines() + "\n", "utf-8")
