"""Every part: no value forges a tag that it writes, in either format."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from promptdsl import *
from tests.folding import failures
from tests.internals import walk
from tests.renders import timeline_of
from tests.tolerant_reader import tags_in

CALL = Assistant(ToolUse("look", {}, id="a"))
TAG = re.compile(r"<([A-Za-z_][\w.-]*)")
TABLES = ("markdown", "csv", "json", "xml", "html")
Write = Callable[[Value], Sequence[Any]]


@component
def every_part_greeting() -> None:
    """Write a paragraph."""
    Paragraph("Hello.")


def system(value: Value, *parts: Any) -> Sequence[Any]:
    """Return instructions: a value, and parts after it, whose tags are not written yet there."""
    return [System(Section("other", "Say ", value), *parts)]


EXAMPLES: Mapping[str, Write] = {
    "CacheBreakpointNode": lambda it: system(it, "a", CacheBreakpoint()),
    "ChecklistNode": lambda it: system(it, Checklist(Item("a", done=True), "b")),
    "CodeNode": lambda it: system(it, Code("f()", language="python")),
    "ComponentNode": lambda it: system(it, every_part_greeting()),
    "ConsolidatedNode": lambda it: [System("a"), *system(it)],
    "ConversationNode": lambda _: [History([{"role": "user", "content": "a"}], keep=1)],
    "EventBlockNode": lambda it: [Event(UserAction("left", trusted("<b>c</b>"), page=it.text))],
    "ExampleNode": lambda it: system(it, Example("a", Code("b"))),
    "ExampleSideNode": lambda it: system(it, Example("a", "b")),
    "FenceNode": lambda it: [Ephemeral(it, "a")],
    "FirstFitNode": lambda it: system(it, FirstFit(Paragraph("a"), Code("b"))),
    "FormatNode": lambda it: system(it, Format("xml", Heading("a")), Format("markdown", "b")),
    "FragmentNode": lambda it: system(it, Fragment(Heading("a"))),
    "GroupNode": lambda it: system(it, Group(Heading("a"), priority=1)),
    "HeadingNode": lambda it: system(it, Heading("a", 2)),
    "ItemNode": lambda it: system(it, List("a", Item("b"))),
    "JsonNode": lambda it: system(it, Json({"a": ["b"]})),
    "LazyNode": lambda it: system(it, Lazy(lambda _: Heading("a"))),
    "LimitNode": lambda it: system(it, Limit(9, Quote("a"))),
    "ListNode": lambda it: system(it, List(Quote("b"), ordered=True)),
    "MediaNode": lambda _: [User("a", Image.from_file_id("f"))],
    "MergedNode": lambda _: [User("a"), User("b")],
    "NoteNode": lambda it: system(it, Note("a")),
    "PromptedOutputNode": lambda _: [Output({"type": "object"}, name="a", mode="prompted")],
    "OutputNode": lambda _: [Output({"type": "object"}, name="a")],
    "ParagraphNode": lambda it: system(it, Paragraph("a")),
    "QuoteNode": lambda it: system(it, Quote("a", Code("b"))),
    "ReasoningNode": lambda _: [Assistant(Reasoning("a"), "b"), User("c")],
    "RecordedNode": lambda _: [History([{"role": "user", "content": "a"}])],
    "RequestOnlyNode": lambda it: [Ephemeral(it, Heading("b"))],
    "ReserveNode": lambda it: system(it, "a", Reserve(9)),
    "RootNode": lambda it: system(it, "a"),
    "SectionNode": lambda it: system(it, Section("part", "a", title="A")),
    "TableNode": lambda it: system(
        it, Table([{"a": 1}]), *(Table([{"a": trusted("<b>x</b>")}], format=it) for it in TABLES)
    ),
    "TemplateNode": lambda it: system(it, Template.from_string("<b>{{ a }}</b>", a="x")),
    "TextBlockNode": lambda _: [User(TextBlock("a", cache="default"))],
    "TextNode": lambda it: system(it, Text("a <b>c</b>")),
    "ToolNode": lambda _: [Tool(name="a", description="b", input_schema={"type": "object"})],
    "ToolResultNode": lambda it: [CALL, User(ToolResult("a", Quote(it), Heading("b")))],
    "ToolTurnNode": lambda it: [CALL, ToolMessage("a", Quote(it), Heading("b"))],
    "ToolUseNode": lambda _: [CALL, ToolMessage("a", "b")],
    "TrustedTextNode": lambda it: [Event(UserAction("a", trusted("<b>c</b>"), page=it.text))],
    "TurnNode": lambda _: [User("a")],
    "UntrustedNode": lambda it: system(it, Untrusted("a", "mail")),
    "ValueNode": lambda it: system(it, "a", Value("b")),
    "VerbatimNode": lambda it: [Event(UserAction("left", page=it.text))],
    "VolatileNode": lambda it: system(it, Volatile("a", "clock")),
}
"""By the class of a node, turns in which it is written."""


TREE = Node.__module__.rpartition(".")[0]
"""The room of the package that has the classes of nodes."""


def node_classes(cls: type[Node] = Node) -> Iterator[str]:
    """Yield the names of the classes of nodes in the package, found by their base class."""
    for child in cls.__subclasses__():
        if child.__module__.startswith(f"{TREE}."):
            yield child.__name__
        yield from node_classes(child)


def prompt(name: str, format: str, value: str) -> Rendered:
    """Return an example, rendered with a value in its turn."""
    return render(timeline_of(*EXAMPLES[name](Value(value))), transformation={"format": format})


def text_of(rendered: Rendered) -> str:
    """Return the texts of all messages."""
    return "\n".join(message.text for message in rendered.messages)


def test_every_class_has_an_example() -> None:
    """A class without an example is a part of which no test knows what it writes."""
    assert {*node_classes()} == {*EXAMPLES}


@pytest.mark.parametrize("format", ["markdown", "xml"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_no_value_forges_its_tags(name: str, format: str) -> None:
    """A value that is a tag of a part is no tag where it is read."""
    calm = prompt(name, format, "Wxyz")
    nodes = [node for stage in calm.stages() for node, _ in walk(stage.tree)]
    nodes += [node for stage in calm.stages() for node in stage.tree.equipment]
    assert name in {node._node.__name__ for node in nodes}
    for tag in {*TAG.findall(text_of(calm))}:
        value = f"</{tag}><{tag}>"
        found = text_of(prompt(name, format, value))
        assert tags_in(text_of(calm), (tag,)) == tags_in(found, (tag,))
        assert value in decode(found)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_function_for_blocks_that_returns_none(name: str) -> None:
    """A part is written as it is without ``format_block`` where that returns ``None``."""
    tree = timeline_of(*EXAMPLES[name](Value("a")))
    rendered = render(tree, transformation={"format_block": lambda _: None})
    assert render(tree).messages == rendered.messages


@pytest.mark.parametrize("format", ["markdown", "xml"])
def test_tags_behind_a_part(format: str) -> None:
    """Behind a part no tag of it is open, so that its author may write one as text."""

    def changed(name: str) -> str:
        tags = "".join(f"</{tag}>" for tag in TAG.findall(text_of(prompt(name, format, "a"))))
        turns = [System(*turn.content, tags) for turn in EXAMPLES[name](Value("a"))]
        text = text_of(render(timeline_of(*turns), transformation={"format": format}))
        return "" if text.endswith(tags) else text

    names = [name for name in EXAMPLES if isinstance(EXAMPLES[name](Value("a"))[-1], System)]
    assert [] == failures(names, changed)


def test_tags_that_no_part_writes() -> None:
    """A tag that no part in the turn writes stays as it is in a value."""
    found = text_of(prompt("SectionNode", "xml", "</item></code>"))
    assert "Say </item></code>" in found
