"""Trees 10,000 levels deep and 1,000,000 siblings wide: nothing recurses, nothing is quadratic.

The slow ones are that large; the others, which are always run, are large enough to tell.
"""

import copy
import pickle
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

import pytest

from promptdsl import *
from tests.errors import raised
from tests.internals import walk
from tests.renders import said

pytestmark = pytest.mark.usefixtures("shallow_stack")


@pytest.fixture(scope="module", params=[1_200, pytest.param(10_000, marks=pytest.mark.slow)])
def depth(request: pytest.FixtureRequest) -> int:
    """Return how many levels there are."""
    levels: int = request.param
    return levels


@pytest.fixture(scope="module", params=[20_000, pytest.param(300_000, marks=pytest.mark.slow)])
def width(request: pytest.FixtureRequest) -> int:
    """Return how many siblings there are."""
    siblings: int = request.param
    return siblings


@pytest.fixture(params=[10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def many(request: pytest.FixtureRequest) -> int:
    """Return how many siblings there are of what takes longer."""
    siblings: int = request.param
    return siblings


def nested(depth: int, innermost: Any = "end") -> Section:
    """Return sections in sections, each with a text of its own."""
    part = Section("s0", innermost)
    for number in range(1, depth):
        part = Section(f"s{number}", f"text {number}", part, title=f"Title {number}")
    return part


def in_blocks(depth: int) -> Timeline:
    """Return the same as ``nested(depth)`` in a System, written as blocks."""
    with Timeline() as tree, ExitStack() as blocks:
        blocks.enter_context(System())
        for number in range(depth - 1, 0, -1):
            blocks.enter_context(Section(f"s{number}", f"text {number}", title=f"Title {number}"))
        Section("s0", "end")
    return tree


@pytest.fixture(scope="module")
def deep(depth: int) -> Timeline:
    """Return a prompt whose system turn is very deep."""
    return Timeline(System(nested(depth)), User("q"))


def test_deep_trees_are_built_by_blocks(depth: int) -> None:
    """Blocks in blocks and calls in calls build the same tree, however deep."""
    assert Timeline(System(nested(depth))) == in_blocks(depth)


def test_deep_trees_are_compared(deep: Timeline, depth: int) -> None:
    """A difference at the very bottom is found."""
    assert deep == Timeline(System(nested(depth)), User("q"))
    assert deep != Timeline(System(nested(depth, "other end")), User("q"))


def test_deep_trees_are_hashed(deep: Timeline, depth: int) -> None:
    """Equal trees have equal hashes, however deep."""
    assert hash(deep) == hash(Timeline(System(nested(depth)), User("q")))


def test_deep_trees_are_printed(deep: Timeline, depth: int) -> None:
    """``repr()`` closes as many parentheses as it opens."""
    text = repr(deep)
    assert (depth + 3, depth + 3) == (text.count("("), text.count(")"))


def test_deep_trees_are_copied(deep: Timeline) -> None:
    """A copy is equal, however deep."""
    assert deep == copy.deepcopy(deep) == copy.copy(deep)


def test_deep_trees_are_saved(deep: Timeline) -> None:
    """A tree that was saved and loaded is equal, however deep."""
    assert deep == pickle.loads(pickle.dumps(deep))


def test_deep_trees_are_walked(deep: Timeline, depth: int) -> None:
    """Every level is reached."""
    assert depth + 1 == max(level for _, level in walk(deep))


def test_deep_trees_render_as_markdown(deep: Timeline, depth: int) -> None:
    """Every section stands in the text, the titles at most six levels deep."""
    (text,) = said(deep)[0][1]
    numbers = range(depth - 1, 0, -1)
    levels = [f"{'#' * min(depth - n + 1, 6)} Title {n}\ntext {n}" for n in numbers]
    assert "\n\n".join([*levels, "end"]) == text


def test_deep_trees_render_as_xml(deep: Timeline, depth: int) -> None:
    """Every section is a tag, opened and closed in order."""
    (text,) = said(deep, transformation={"format": "xml"})[0][1]
    opened = [f'<s{n} title="Title {n}">\ntext {n}\n\n' for n in range(depth - 1, 0, -1)]
    closed = [f"\n</s{n}>" for n in range(depth)]
    assert "".join([*opened, "<s0>\nend", *closed]) == text


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_deep_trees_become_payloads(deep: Timeline, provider: str) -> None:
    """A deep system turn is one text of the payload."""
    payload = render(deep, provider=provider).payload()
    assert {"role": "user"}.items() <= payload["messages"][-1].items()


@pytest.mark.parametrize(
    "turn",
    [
        Developer,
        User,
        Event,
        Ephemeral,
        lambda part: Grounding("facts", part),
    ],
)
def test_deep_parts_render_in_every_turn(turn: Callable[[Node], Node], depth: int) -> None:
    """A deep part renders wherever it may stand."""
    texts = said(Timeline(turn(nested(depth)), User("q")))
    assert depth - 1 == sum(text.count(" Title ") for _, blocks in texts for text in blocks)


def test_deep_parts_render_in_tool_results(depth: int) -> None:
    """A deep part renders as a tool's answer, too."""
    with Timeline() as tree:
        User("q")
        Assistant(ToolUse("t", {}, id="1"), ToolUse("t", {}, id="2"))
        ToolMessage("1", nested(depth))
        User(ToolResult("2", nested(depth)))
    answers = [m.content[0] for m in render(tree).messages if m.role == "tool"]
    texts = [block.content[0].text for block in answers]  # type: ignore[union-attr]
    assert [depth - 1] * 2 == [text.count(" Title ") for text in texts]


def deep_fragment(depth: int, innermost: Node) -> Node:
    """Return a part in fragments in fragments."""
    part = innermost
    for _ in range(depth):
        part = Fragment(part)
    return part


def test_deep_fragments_dissolve(depth: int) -> None:
    """Turns, sections and texts render as if they stood in no fragment."""
    turn = User(deep_fragment(depth, Section("b", "y")))
    tree = Timeline(deep_fragment(depth, Section("a", "x")), deep_fragment(depth, turn))
    assert [("system", ["x"]), ("user", ["y"])] == said(tree)


@pytest.mark.parametrize("kind", [partial(Group, priority=1), FirstFit, partial(Limit, 5)])
def test_deep_units_are_built_and_saved(kind: Callable[..., Node], depth: int) -> None:
    """Units of a budget nest as deep as anything."""
    part: Node = Text("x")
    for _ in range(depth):
        part = kind(Fragment(part))
    tree = System("a", part)
    assert tree == pickle.loads(pickle.dumps(tree))
    assert 2 * depth + 2 == repr(tree).count("(")


def test_deep_limits_cut() -> None:
    """Limits in limits cut a text like the smallest of them, in linear time."""
    part: Node = Limit(2, "One. Two. Three.")
    for _ in range(2_000):
        part = Limit(9, part)
    [message] = render(User(part), counter=lambda text: len(text.split())).messages
    assert "One. [...]" == message.text


def test_ids_are_unique_through_deep_fragments(depth: int) -> None:
    """Siblings in fragments of any depth cannot share an id."""

    def write() -> None:
        System(deep_fragment(depth, Section("a", "x")), deep_fragment(depth, Section("a", "y")))

    assert "the id 'a' is used twice in one System" == raised(PlacementError, write).what


def test_deep_placement_errors_find_the_culprit(depth: int) -> None:
    """What may not stand in a turn is found in fragments of any depth."""

    def write() -> None:
        System(deep_fragment(depth, ToolUse("t", {}, id="1")))

    assert "a ToolUse cannot be in a System" == raised(PlacementError, write).what


def test_deep_audiences_are_selected(depth: int) -> None:
    """What is for people is left out at any depth."""
    note = Note("for people")
    tree = Timeline(System(nested(depth, note)), User("q"))
    assert "for people" not in said(tree)[0][1][0]
    assert said(tree, audience="people")[0][1][0].endswith("for people")


def test_deep_empty_sections_yield_nothing(depth: int) -> None:
    """Sections in sections with nothing at the bottom come to no message at all."""
    part = Section("s", "")
    for number in range(depth):
        part = Section(f"s{number}", part)
    assert [("user", ["q"])] == said(Timeline(System(part), User("q")))


def test_deep_blocks_that_raise_leave_nothing(depth: int) -> None:
    """An exception that leaves ten thousand blocks takes all of them away."""
    with Timeline() as tree, System("before"):
        with suppress(KeyError), ExitStack() as blocks:
            for number in range(depth):
                blocks.enter_context(Section(f"s{number}"))
            raise KeyError
        Text("after")
    assert [("system", ["before\n\nafter"])] == said(tree)


# Wide.


@pytest.fixture(scope="module")
def wide(width: int) -> Timeline:
    """Return a prompt with very many texts in its system turn."""
    with Timeline() as tree:
        with System():
            for _ in range(width):
                Text("t")
        User("q")
    return tree


def test_wide_trees_render(wide: Timeline, width: int) -> None:
    """Every text stands in the message, a blank line between them."""
    assert [("system", ["\n\n".join(["t"] * width)]), ("user", ["q"])] == said(wide)


def test_wide_trees_are_printed(wide: Timeline, width: int) -> None:
    """``repr()`` shows every sibling."""
    assert width == repr(wide).count("Text('t')")


def test_wide_trees_are_saved_copied_and_compared(wide: Timeline) -> None:
    """A tree that was saved and loaded is equal, and so are its hash and its copy."""
    loaded = pickle.loads(pickle.dumps(wide))
    assert wide == loaded
    assert hash(wide) == hash(loaded)
    assert wide is copy.deepcopy(wide)


def test_a_part_stands_in_a_tree_very_often(many: int) -> None:
    """One part as an argument many times, and included as many times, is the same tree."""
    part = Text("t")
    with System() as block:
        for _ in range(many):
            include(part)
    assert System(*[part] * many) == block


def test_very_many_strings_are_one_text(width: int) -> None:
    """Neighbouring strings of a call join in linear time."""
    assert [("user", ["t" * width])] == said(User(*["t"] * width))


def test_many_numbers_are_one_text(many: int) -> None:
    """Neighbouring numbers and strings join in linear time inside of a Text, too."""
    assert [("user", ["1t" * many])] == said(User(Text(*[1, "t"] * many)))


def test_many_named_siblings_are_checked(many: int) -> None:
    """Ids are looked up, not searched: the last of very many siblings is found to be a twin."""

    def write() -> None:
        System(*[Section(f"s{number}", "x") for number in range(many)], Section("s0", "y"))

    assert "the id 's0' is used twice in one System" == raised(PlacementError, write).what
