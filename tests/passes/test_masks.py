"""Masks: each pass leaves a tree that tells what stands in it, so that no later one passes over."""

import pytest

from promptdsl import *
from tests.internals import bits, deep_bits, label, tree_module, walk

PICTURE = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
CODE = {"type": "code", "text": "x = 1"}
DATA = {"type": "json", "value": 1}
TREE = Timeline(
    Tool(name="t"),
    System("s", Section("a", "x", cache=True)),
    Section("b", Fragment("y", Template.from_string("{{ z }}", z="z"))),
    History(
        [
            Message("system", ["r", PICTURE, DATA, CODE]),
            Message("event", [SystemEventBlock("restarted"), PICTURE, CODE, DATA]),
            Message("user", "one"),
            Message("ephemeral", ["now", PICTURE]),
            Message("assistant", [ToolUseBlock("a", "t", "{}")]),
            Message("system", "late"),
            Message("tool", [ToolResultBlock("a", ())]),
        ]
    ),
    Format("xml", User("two", name="Ann")),
    Assistant("three"),
    Assistant(ToolUse("t", {}, id="b"), ToolUse("t", {}, id="c")),
    Event(UserAction("left"), "text", Image.from_url("https://example.org/a.png")),
    ToolMessage("b", "r"),
    User(ToolResult("x", "stray"), "four", cache=True),
    CacheBreakpoint(),
    Lazy(lambda _: Developer("five")),
    Grounding("g", "six", Image.from_url("https://example.org/a.png")),
    Ephemeral("seven", position="start"),
    Note("eight"),
    Assistant(ToolUse("t", {}, id="d")),
)


def test_no_bit_has_two_names() -> None:
    """Each bit of a mask has one name, and the highest is the thirtieth."""
    values = [value for value in vars(tree_module).values() if type(value) is int]
    single = [value for value in values if value.bit_count() == 1]
    deep = [bit << tree_module.SHIFT for bit in single if bit & tree_module.LIFTED]
    assert [1 << place for place in range(30)] == sorted(single + deep)


def hidden(tree: Node) -> list[str]:
    """Return what the nodes are called in which something stands that their masks do not tell."""
    return [
        label(node)
        for node, _ in walk(tree)
        if (deep_bits(node.content) | bits(node._mask)) & tree_module.DEEP & ~node._mask
    ]


@pytest.mark.parametrize("audience", ["model", "people"])
@pytest.mark.parametrize("pairing", ["fill", "prune"])
def test_no_mask_hides_what_stands_below_it(audience: str, pairing: str) -> None:
    """Behind every pass, the masks of all nodes tell what stands below them."""
    rendered = render(TREE, audience=audience, transformation={"tool_pairing": pairing})
    assert [] == [(name, found) for name, tree in rendered.stages() if (found := hidden(tree))]


def test_every_text_is_told() -> None:
    """Behind every pass, what is no turn and holds text is told as text."""
    silent = [
        (name, node)
        for name, tree in render(TREE, transformation={"tool_pairing": "fill"}).stages()
        for node, _ in walk(tree)
        if label(node) in ("Text", "Value", "Json", "Code", "Verbatim", "Fence", "Template")
        and not node._mask & tree_module.TEXT
    ]
    assert [] == silent


NAMES = {
    tree_module.TURN: "turn",
    tree_module.SYSTEM: "system",
    tree_module.DEVELOPER: "developer",
    tree_module.EVENT: "event",
    tree_module.REQUEST: "request",
    tree_module.RECORDED: "recorded",
    tree_module.MEDIA << tree_module.SHIFT: "media",
    tree_module.CALL << tree_module.SHIFT: "calls",
    tree_module.RESULT << tree_module.SHIFT: "results",
    tree_module.DEVELOPER << tree_module.SHIFT: "instructions",
    tree_module.CACHE: "marks",
    tree_module.OPAQUE: "hollow",
}


def told(node: Node) -> str:
    """Return what the mask of a node tells."""
    return " ".join(name for bit, name in NAMES.items() if node._mask & bit)


def test_what_the_masks_of_turns_tell() -> None:
    """In front of the last pass the mask of every turn tells what it is and what it holds."""
    stages = dict(render(TREE, transformation={"tool_pairing": "fill"}).stages())
    assert [
        "turn system media marks",
        "turn request",
        "turn event media",
        "recorded",
        "turn request media",
        "recorded calls results instructions",
        "recorded calls results instructions",
        "developer recorded calls results instructions",
        "turn hollow",
        "turn",
        "turn calls",
        "turn results",
        "turn results",
        "turn marks",
        "turn event media",
        "turn request media",
        "turn developer instructions",
        "turn calls",
        "turn results",
    ] == [told(turn) for turn in stages["pair"].content]
