"""Nodes: frozen, comparable, inert, and aware of where they were written."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import lines_of, raised, with_article
from tests.folding import folded
from tests.internals import SectionNode, label, make, walk
from tests.renders import said

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)

EVERY: dict[str, Callable[[], Node]] = {
    "Timeline": lambda: Timeline(User("q"), transformation={"format": "xml"}),
    "System": lambda: System("a", id="x", metadata={"k": [1]}, tags=("t",), cache=True),
    "Developer": lambda: Developer("a", audience="people"),
    "User": lambda: User("a", Text("b"), name="bob", merge=False, priority=1),
    "Assistant": lambda: Assistant("a", ToolUse("t", {"a": [1]}, id="1"), priority=1),
    "ToolMessage": lambda: ToolMessage("1", "a", is_error=True, error_type="timeout_error"),
    "Event": lambda: Event(UserAction("click"), "more"),
    "Ephemeral": lambda: Ephemeral("a", type="k", title="t", position="end", order=2),
    "Grounding": lambda: Grounding("g", "a", title=Value("t")),
    "History": lambda: History([Message("user", "a"), {"role": "assistant", "content": "b"}]),
    "Section": lambda: Section("s", "a", Section("t", "b"), title=Value("T")),
    "Fragment": lambda: Fragment("a", Fragment("b")),
    "Group": lambda: Group("a", Group("b"), priority=1),
    "FirstFit": lambda: FirstFit("a", Text("b"), priority=1.5),
    "Limit": lambda: Limit(5, "a", Limit(3, "b"), keep="ends"),
    "Reserve": lambda: Reserve(5),
    "Note": lambda: Note("a"),
    "Text": lambda: Text("a", Value("b"), 3),
    "Value": lambda: Value("a"),
    "Image": lambda: Image.from_bytes(PNG, title="t", detail="low"),
    "ToolUse": lambda: ToolUse("t", '{"a": 1}', id="1"),
    "ToolResult": lambda: ToolResult("1", "a", is_error=True),
    "UserAction": lambda: UserAction("a", target="b", actor="c", d=1),
    "StateChange": lambda: StateChange("a", old=None, new=2, trigger="t", d=1),
    "SystemEvent": lambda: SystemEvent("a", source="b", d=None),
}
"""Every component, with all that can be said of it."""

OTHERS: dict[str, Callable[[], Node]] = {
    "Timeline": lambda: Timeline(User("q")),
    "System": lambda: System("a", id="y", metadata={"k": [1]}, tags=("t",), cache=True),
    "Developer": lambda: Developer("a", audience="model"),
    "User": lambda: User("a", Text("b"), name="eve", merge=False, priority=1),
    "Assistant": lambda: Assistant("a", ToolUse("t", {"a": [1]}, id="1"), priority=2),
    "ToolMessage": lambda: ToolMessage("1", "a", is_error=True, error_type="interrupted"),
    "Event": lambda: Event(UserAction("drag"), "more"),
    "Ephemeral": lambda: Ephemeral("a", type="k", title="t", position="end", order=3),
    "Grounding": lambda: Grounding("g", "a", title=Value("u")),
    "History": lambda: History([Message("user", "a"), {"role": "assistant", "content": "c"}]),
    "Section": lambda: Section("s", "a", Section("t", "c"), title=Value("T")),
    "Fragment": lambda: Fragment("a", Fragment("c")),
    "Group": lambda: Group("a", Group("b"), priority=2),
    "FirstFit": lambda: FirstFit("a", Text("b")),
    "Limit": lambda: Limit(5, "a", Limit(3, "b"), keep="tail"),
    "Reserve": lambda: Reserve(6),
    "Note": lambda: Note("b"),
    "Text": lambda: Text("a", Value("b"), 4),
    "Value": lambda: Value("b"),
    "Image": lambda: Image.from_bytes(PNG, title="t", detail="high"),
    "ToolUse": lambda: ToolUse("t", '{"a":1}', id="1"),
    "ToolResult": lambda: ToolResult("1", "a"),
    "UserAction": lambda: UserAction("a", target="b", actor="c", d=2),
    "StateChange": lambda: StateChange("a", new=2, trigger="t", d=1),
    "SystemEvent": lambda: SystemEvent("a", source="b", d=1),
}
"""For every component of ``EVERY`` one that differs in one thing."""

every_component = pytest.mark.parametrize("name", EVERY)


def frozen(write: Callable[[], Node]) -> Node:
    """Return what a function writes, used once, so that it is a node."""
    node = write()
    Fragment(node) if label(node) != "Timeline" else render(node)
    return node


# Equality.


@every_component
def test_nodes_that_say_the_same_are_equal(name: str) -> None:
    """Two nodes with the same content and options are equal, and so are their hashes."""
    one, two = EVERY[name](), EVERY[name]()
    assert one == two
    assert hash(one) == hash(two)


@every_component
def test_nodes_that_differ_in_one_thing_are_not_equal(name: str) -> None:
    """A difference in an option, a field or anywhere below makes nodes unequal."""
    assert EVERY[name]() != OTHERS[name]()


@every_component
def test_being_frozen_changes_neither_equality_nor_hash(name: str) -> None:
    """A component and the node it becomes are equal, and so are their hashes."""
    written, used = EVERY[name](), frozen(EVERY[name])
    assert written == used
    assert hash(written) == hash(used)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (User("a"), Assistant("a")),
        (System("a"), Developer("a")),
        (Fragment("a"), Note("a")),
        (Text("a"), Value("a")),
        (User("a"), User(Text("a"))),
        (User("a", Text("b")), User(Text("b"), "a")),
        (User("a"), User("a", Text("b"))),
        (Ephemeral("a", id="x"), Grounding("x", "a")),
        (Section("a", "x"), Section("a", "x", title="")),
        (User("a"), "a"),
        (User("a"), None),
    ],
)
def test_nodes_of_different_kinds_are_not_equal(one: Node, two: object) -> None:
    """Kind, order and number of what is in a node count."""
    assert one != two


def test_equality_ignores_the_source() -> None:
    """Where a node was written takes no part in equality or hash."""
    one = Timeline(System(Section("s", "x")))
    two = Timeline(System(Section("s", "x")))
    assert one.source != two.source
    assert one == two
    assert 1 == len({one, two})


def test_equality_ignores_how_a_tree_was_written() -> None:
    """Blocks and calls that say the same are equal."""
    with Timeline() as one:
        with System("a"):
            Section("s", Text("x"))
        User("q")
    two = Timeline(System("a", Section("s", Text("x"))), User("q"))
    assert one == two
    assert hash(one) == hash(two)


trees = st.recursive(
    st.one_of(st.text().map(Text), st.text().map(Value), st.integers().map(Text)),
    lambda inner: st.lists(inner, max_size=4).map(lambda parts: Fragment(None, *parts)),
    max_leaves=12,
)


@given(st.data())
def test_hash_agrees_with_equality(data: st.DataObject) -> None:
    """Whatever two trees hold, equal ones have equal hashes."""
    one, two = data.draw(trees), data.draw(trees)
    assert one != two or hash(one) == hash(two)


@given(trees)
def test_any_tree_comes_back_from_being_saved(tree: Node) -> None:
    """Any tree that is saved and loaded is equal to what it was, and prints the same."""
    loaded = pickle.loads(pickle.dumps(tree))
    assert tree == loaded
    assert repr(tree) == repr(loaded)
    assert hash(tree) == hash(loaded)


# Saving and copying.


@every_component
def test_nodes_come_back_from_being_saved(name: str) -> None:
    """Every node that is saved and loaded is equal and knows its line, in every protocol."""
    node, protocols = frozen(EVERY[name]), range(pickle.HIGHEST_PROTOCOL + 1)
    loaded = [pickle.loads(pickle.dumps(node, protocol)) for protocol in protocols]
    assert [node] * len(protocols) == loaded
    assert [node.source] * len(protocols) == [saved.source for saved in loaded]
    assert [type(node)] * len(protocols) == [type(saved) for saved in loaded]


@every_component
def test_a_saved_component_comes_back_as_a_node(name: str) -> None:
    """A component that was never used is loaded as the node it would become."""
    written = EVERY[name]()
    loaded = pickle.loads(pickle.dumps(written))
    assert written == loaded
    with pytest.raises(AttributeError):
        loaded.content = ()


def test_a_loaded_prompt_renders_the_same() -> None:
    """A prompt that was saved and loaded gives the same messages, losses and lines."""
    with Timeline(transformation={"format": "xml"}) as tree:
        System(Section("s", "a", Value("<b>"), title="S", cache=True))
        User("q", Image.from_bytes(PNG))
        with Assistant("b"):
            ToolUse("t", {"a": 1}, id="1")
        ToolMessage("1", "c")
        with Event():
            UserAction("click", target="x")
        Grounding("g", "facts")
        User("r")
    before = render(tree, provider="openai")
    after = render(pickle.loads(pickle.dumps(tree)), provider="openai")
    assert before.messages == after.messages
    assert before.hints == after.hints
    assert before.payload() == after.payload()
    assert before.outline() == after.outline()


def test_a_loaded_part_is_used_like_any_other() -> None:
    """A part that was saved while it was in an open block is a detached part once loaded."""
    with System():
        part = Section("s", "x")
        saved = pickle.dumps(part)
    with Timeline() as tree:
        System(pickle.loads(saved))
        with User():
            include(pickle.loads(saved))
    assert [("system", ["x"]), ("user", ["x"])] == said(tree)


@every_component
@pytest.mark.parametrize("copying", [copy.copy, copy.deepcopy])
def test_a_copy_is_equal(name: str, copying: Callable[[Node], Node]) -> None:
    """A node is its own copy: it never changes."""
    node = frozen(EVERY[name])
    assert node is copying(node)


def test_copying_attaches_nothing() -> None:
    """Copying, saving, comparing and printing in an open block write nothing into it."""
    part = Section("s", "x")
    with Timeline() as tree, System("a"):
        copy.deepcopy(part)
        pickle.loads(pickle.dumps(part))
        repr(part)
        _ = part == Section("s", "x") or None
        hash(part)
        render(part)
    assert [("system", ["a\n\nx"])] == said(tree)


# Being frozen.


@folded("name", EVERY)
@pytest.mark.parametrize("field", ["content", "options", "mask", "at", "anything"])
def test_a_node_cannot_be_changed(name: str, field: str) -> None:
    """No field of any node can be set or deleted."""
    node = frozen(EVERY[name])
    with pytest.raises(AttributeError):
        setattr(node, field, ())
    with pytest.raises(AttributeError):
        delattr(node, field)


def test_content_given_as_options_is_copied() -> None:
    """Changing a mapping or a list after it was passed changes no node."""
    metadata = {"a": 1}
    tags = ["x"]
    node = User("q", metadata=metadata, tags=tags)  # type: ignore[arg-type]
    metadata["a"] = 2
    tags.append("y")
    assert ({"a": 1}, ("x",)) == (node.options.metadata, node.options.tags)


# Text of a node.


def as_f_string(node: Node) -> str:
    """Put a component into an f-string."""
    return f"Hello {node}"


def as_padded(node: Node) -> str:
    """Put a component into an f-string with a width."""
    return f"{node:>10}"


def as_format(node: Node) -> str:
    """Format a component."""
    return format(node)


def as_formatted(node: Node) -> str:
    """Put a component into a format string."""
    return "Hello {}".format(node)  # noqa: UP032


FIX = (
    "pass the component itself as an argument, or render() it; "
    "print(part) and str(part) show its outline"
)


@pytest.mark.parametrize("write", [as_f_string, as_padded, as_format, as_formatted])
@folded("name", EVERY)
def test_a_component_has_no_text(name: str, write: Callable[[Node], str]) -> None:
    """Formatting a component is an error that names the line and says what to do."""
    error = raised(ContentError, lambda: write(EVERY[name]()))
    assert lines_of(write, 2)[0] == error.at[0]
    assert f"{with_article(name)} has no text before it is rendered" == error.what
    assert FIX == error.fix


@every_component
def test_a_node_has_no_text(name: str) -> None:
    """Formatting a finished node is the same error, by the name its author knows."""
    error = raised(ContentError, lambda: as_format(frozen(EVERY[name])))
    assert f"{with_article(name)} has no text before it is rendered" == error.what


def test_the_error_names_both_lines() -> None:
    """The error of an f-string names the f-string's line and the component's."""

    def write() -> None:
        part = Section("s", "x")
        User(f"Look: {part}")

    assert lines_of(write, 2, 1) == raised(ContentError, write).at


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (Text("a"), "Text('a')"),
        (Text("a", Value("b")), "Text('a', Value(text='b'))"),
        (User("a", Text("b")), "User('a', Text('b'))"),
        (User("a", name="bob", merge=False), "User(name='bob', merge=False, 'a')"),
        (Section("s", "a", title="T"), "Section(id='s', title='T', 'a')"),
        (Timeline(System("a"), User("b")), "Timeline(System('a'), User('b'))"),
        (System(None), "System()"),
        (User("a", priority=0), "User(priority=0, 'a')"),
        (Section("s", "a", priority=1.5), "Section(id='s', priority=1.5, 'a')"),
        (Group("a"), "Group('a')"),
        (Group("a", priority=0), "Group(priority=0, 'a')"),
        (FirstFit("a", priority=-1), "FirstFit(priority=-1, Text('a'))"),
        (Limit(5, "a"), "Limit(most=5, 'a')"),
        (Limit(5, "a", keep="ends"), "Limit(most=5, keep='ends', 'a')"),
        (Reserve(0), "Reserve(tokens=0)"),
        (History([]), "History(History(items=(), provider_format='messages', start=0))"),
        (
            History.from_gemini([], keep=1, step=0, priority=2),
            "History(keep=1, step=0, priority=2, "
            "History(items=(), provider_format='gemini', start=0))",
        ),
        (Fragment(Fragment(None), "'"), 'Fragment(Fragment(), "\'")'),
    ],
)
def test_repr_shows_content_and_options(node: Node, expected: str) -> None:
    """``repr()`` works, for components and nodes, and says what is not as usual."""
    assert expected == repr(node)


@every_component
def test_every_component_has_a_repr(name: str) -> None:
    """``repr()`` of every component and node begins with the author's name for it."""
    written, used = EVERY[name](), frozen(EVERY[name])
    assert repr(written) == repr(used)
    assert repr(written).startswith(f"{name}(")


def test_repr_of_an_open_block_works() -> None:
    """A block that is still open prints what was written so far."""
    with System("a") as block:
        Text("b")
        assert "System('a', Text('b'))" == repr(block)


# Where it was written.


def test_every_component_knows_its_line() -> None:
    """Each component has the file and line of its call."""

    def write() -> list[Node]:
        return [
            System("a"),
            Developer("a"),
            User("a", Text("b")),
            Assistant("a"),
            ToolMessage("1", "a"),
            ToolMessage("1", "a", name="t"),
            Event("a"),
            Ephemeral("a"),
            Grounding("g", "a"),
            History([]),
            History.from_openai([]),
            History.from_anthropic([]),
            History.from_openai_responses([], keep=1),
            History.from_gemini([], step=1),
            History.from_bedrock([], priority=1),
            History.from_chat_template([]),
            Group("a", priority=1),
            FirstFit("a"),
            Limit(5, "a"),
            Reserve(5),
            User("a", priority=1),
            Section("s", "a"),
            Section("s", "a", cache=True),
            Fragment("a"),
            Note("a"),
            Text("a"),
            Value("a"),
            Image.from_url("https://example.com/x.png"),
            Image.from_path("x.png"),
            Image.from_bytes(PNG),
            ToolUse("t", {}, id="1"),
            ToolResult("1", "a"),
            UserAction("a"),
            StateChange("a"),
            SystemEvent("a"),
            Timeline(User("a")),
        ]

    nodes = write()
    assert lines_of(write, *range(2, 2 + len(nodes))) == tuple(str(node.source) for node in nodes)


def test_a_call_over_several_lines_stands_on_its_first() -> None:
    """The line of a component is the one its call begins on."""

    def write() -> Node:
        return User(
            "a",
            Text("b"),
        )

    node = write()
    assert lines_of(write, 1, 3) == (str(node.source), str(node.content[1].source))


def test_a_block_stands_where_it_was_opened() -> None:
    """The line of a block is that of its ``with``, whatever is written in it."""

    def write() -> Node:
        with System() as block:
            Text("a")
            Text("b")
        return block

    node = write()
    lines = (node, *node.content)
    assert lines_of(write, 1, 2, 3) == tuple(str(part.source) for part in lines)


def test_a_message_knows_the_lines_of_its_turns() -> None:
    """The sources of a message are the lines of all turns it was made of."""

    def write() -> Node:
        with Timeline() as tree:
            System("a")
            Section("s", "b")
            User("c")
            User("d", id="last")
        return tree

    system, user = render(write()).messages
    assert lines_of(write, 2, 3) == tuple(str(origin.source) for origin in system.sources)
    assert lines_of(write, 4, 5) == tuple(str(origin.source) for origin in user.sources)
    assert ["user[0]", "last"] == [origin.address for origin in user.sources]


def test_a_subclass_of_a_source_is_not_needed() -> None:
    """A source is a file and a line, and prints as both."""
    assert "a.py:3" == str(Source("a.py", 3))


# Walking, making.


def test_walk_is_in_document_order() -> None:
    """Walking yields every node with its depth, parents first."""
    tree = System(Section("a", Text("x"), Section("b", "y")), Text("z"))
    found = [(label(node), depth) for node, depth in walk(tree)]
    expected = [("System", 0), ("Section", 1), ("Text", 2), ("Section", 2), ("Text", 1)]
    assert expected == found


def test_a_node_that_is_made_belongs_to_no_block() -> None:
    """Nodes are inert: making one in an open block writes nothing."""
    with Timeline() as tree, System("a"):
        make(SectionNode, ("x",), title=None)
    assert [("system", ["a"])] == said(tree)


def test_a_node_is_no_block() -> None:
    """Opening a node is an error with both lines that says what to do."""

    def write() -> None:
        tree = Timeline(System("x"))
        with tree.content[0]:
            Text("late")

    error = raised(ScopeError, write)
    assert lines_of(write, 2, 1) == error.at
    assert "write a new one, or use the finished one with include(...)" == error.fix


@every_component
def test_every_component_is_named_as_its_author_knows_it(name: str) -> None:
    """The name of a component in messages is that of the class, before and after it is frozen."""
    assert (name, name) == (label(EVERY[name]()), label(frozen(EVERY[name])))


def test_a_configured_prompt_is_compared_by_its_configuration() -> None:
    """Prompts with the same configuration are equal however it was passed."""
    config = MessageTransformationConfig(format="xml")
    assert Timeline(User("q"), transformation=config) == Timeline(
        User("q"), transformation={"format": "xml"}
    )


def test_metadata_of_any_kind_hashes() -> None:
    """Metadata that cannot be hashed does not keep a node from being a key."""
    values: dict[Node, Any] = {User("q", metadata={"a": [1]}): 1}
    assert 1 == values[User("q", metadata={"a": [1]})]
