"""Request-only turns: sent with this request, not part of the conversation."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import lines_of, raised
from tests.renders import said


def around(*requests: Any) -> Timeline:
    """Return a conversation with request-only turns written behind its first turns."""
    return Timeline(System("s"), User("a"), Assistant("b"), *requests, User("c"), Assistant("d"))


def order(tree: Timeline) -> str:
    """Return the texts of a conversation in order, the fences of request-only turns aside."""
    found = [text for _, texts in said(tree) for text in texts]
    return " ".join(text.removeprefix("<context>\n").removesuffix("\n</context>") for text in found)


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        (None, "s a b X c d"),
        ("flow", "s a b X c d"),
        ("after_system", "s X a b c d"),
        ("start", "s X a b c d"),
        ("before_user", "s a b X c d"),
        ("end", "s a b c d X"),
    ],
)
def test_positions(position: str | None, expected: str) -> None:
    """A request-only turn is sent once, at its position."""
    assert expected == order(around(Ephemeral("X", position=position)))


def test_grounding_stands_before_the_last_turn_of_the_user() -> None:
    """A grounding is before the last turn a user wrote, wherever it was written."""
    tree = Timeline(Grounding("g", "X"), System("s"), User("a"), Assistant("b"), User("c"))
    assert "s a b X c" == order(tree)


@pytest.mark.parametrize(
    ("position", "expected"),
    [("flow", "s X a"), ("after_system", "s X a"), ("start", "s X a"), ("end", "s a X")],
)
def test_grounding_moves_for_its_own_position(position: str, expected: str) -> None:
    """A grounding has a position of its own."""
    tree = Timeline(System("s"), Grounding("g", "X", position=position), User("a"))
    assert expected == order(tree)


def test_within_a_position_the_order_decides() -> None:
    """Lower orders come first, then what was written first."""
    tree = around(
        Ephemeral("A", position="end", order=2),
        Ephemeral("B", position="end"),
        Ephemeral("C", position="end", order=-1.5),
        Ephemeral("D", position="end"),
    )
    assert "s a b c d C B D A" == order(tree)


def test_type_and_title_stand_in_the_fence() -> None:
    """Type and title are attributes of the fence, type first."""
    tree = Timeline(User("a"), Ephemeral("X", title="T", type="k"))
    assert '<context type="k" title="T">\nX\n</context>' == said(tree)[0][1][-1]


@pytest.mark.parametrize("title", ["T", 3, Value("T"), True])
def test_titles_are_any_text(title: Any) -> None:
    """A title is text, a number, or a value."""
    text = (
        title.text if isinstance(title, Value) else str(title).lower() if title is True else title
    )
    tree = Timeline(Grounding("g", "X", title=title))
    assert [("user", [f'<context title="{text}">\nX\n</context>'])] == said(tree)


@given(st.text(min_size=1), st.text(min_size=1))
def test_type_and_title_are_values(type: str, title: str) -> None:
    """Whatever a type and a title hold, they stay inside their attributes."""
    (text,) = said(Ephemeral("X", type=type, title=title))[0][1]
    opening, *rest = text.split("\n")
    assert ["X", "</context>"] == rest
    assert (4, 1, 1) == (opening.count('"'), opening.count("<"), opening.count(">"))


def test_author_text_of_an_ephemeral_is_as_written() -> None:
    """In an ephemeral author text is as written, values are encoded."""
    assert ["<context>\n&lt; &amp;lt;\n</context>"] == said(Ephemeral("&lt; ", Value("&lt;")))[0][1]


def test_every_string_of_a_grounding_is_a_value() -> None:
    """In a grounding every string is encoded, whatever component holds it."""
    tree = Grounding("g", "&a;", Text("&b;"), Value("&c;"), Section("s", "&d;", title="&e;"))
    texts = ["&amp;a;", "&amp;b;", "&amp;c;", "## &amp;e;\n&amp;d;"]
    # Neighbouring arguments that are components stand apart.
    expected = ["<context>\n" + "\n\n".join(texts) + "\n</context>"]
    assert expected == said(tree, transformation={"encoding": {"body": "full"}})[0][1]
    assert [expected[0].replace("&amp;", "&").replace("&e;", "&amp;e;")] == said(tree)[0][1]


def test_ids_survive() -> None:
    """The id of a grounding and of an ephemeral are those of their origins."""
    tree = Timeline(Grounding("facts", "X"), Ephemeral("Y", id="hint", metadata={"k": 1}))
    sources = [origin for message in render(tree).messages for origin in message.sources]
    assert {("facts", None), ("hint", 1)} == {(o.id, o.metadata.get("k")) for o in sources}


def test_blocks_and_calls_say_the_same() -> None:
    """Request-only turns are opened like others."""
    with Timeline() as tree:
        with Grounding("g", title="T"):
            Text("x")
        with Ephemeral(type="k"):
            Text("y")
    called = Timeline(Grounding("g", Text("x"), title="T"), Ephemeral(Text("y"), type="k"))
    assert called == tree


@pytest.mark.parametrize("write", [Ephemeral, lambda *c, **k: Grounding("g", *c, **k)])
@pytest.mark.parametrize(
    ("options", "what", "fix"),
    [
        ({"position": "ends"}, "position='ends'", "did you mean 'end'?"),
        ({"position": 3}, "position=3", ""),
        ({"order": "first"}, "order='first'", "write a number"),
        ({"order": True}, "order=True", "write a number"),
        ({"order": None}, "order=None", "write a number"),
    ],
)
def test_wrong_places_are_refused(write: Any, options: Any, what: str, fix: str) -> None:
    """An unknown position and an order that is not a number are errors that say what to write."""
    error = raised(OptionError, lambda: write("x", **options))
    name = "Ephemeral" if write is Ephemeral else "Grounding"
    assert f"{name}({what})" == error.what
    assert fix in error.fix


@pytest.mark.parametrize("write", [Ephemeral, lambda *c, **k: Grounding("g", *c, **k)])
@pytest.mark.parametrize("title", [["T"], {"a": 1}, Text("T"), object()])
def test_a_title_that_is_no_text_is_an_error(write: Any, title: Any) -> None:
    """A title is text of one line, no component and no data."""
    assert raised(ContentError, lambda: write("x", title=title)).at


def test_errors_have_the_line() -> None:
    """What is wrong with a request-only turn is reported with its line."""

    def write() -> None:
        Ephemeral("x", position="nowhere")

    def ground() -> None:
        Grounding("g", "x", type="k")  # type: ignore[call-arg]

    errors = [raised(OptionError, write), raised(OptionError, ground)]
    assert [lines_of(write, 1), lines_of(ground, 1)] == [error.at for error in errors]


def test_a_request_leaves_the_conversation_as_it_was() -> None:
    """Without its request-only turns a prompt has the same messages, only fewer."""
    apart = {"merge_consecutive": False}
    tree = around(Ephemeral("X"), Grounding("g", "Y"), Ephemeral("Z", position="start"))
    messages = render(tree, transformation=apart).messages
    kept = tuple(message for message in messages if message.kind != "request")
    assert (8, render(around()).messages) == (len(messages), kept)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (lambda: {"title": Value("a"), "type": Section("s", "b")}, "Section is not text"),
        (lambda: {"type": Value("a"), "title": [1]}, "list is not text"),
    ],
)
def test_a_type_or_a_title_that_is_no_text(options: Any, what: str) -> None:
    """The error says which of the two is no text, and neither stays in the block."""
    with Timeline() as prompt:
        User("a")
        error = raised(ContentError, lambda: Ephemeral("b", **options()))
        User("c")
    assert (what, Timeline(User("a"), User("c"))) == (error.what, prompt)
