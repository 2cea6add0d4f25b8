"""What is said is sent, whatever holds it: every part, in every wrapping."""

from collections.abc import Callable
from typing import Any

import pytest

from promptdsl import *
from tests.renders import comes_to

PARTS: dict[str, Callable[[], Any]] = {
    "string": lambda: "x",
    "Text": lambda: Text("x"),
    "Value": lambda: Value("x"),
    "Volatile": lambda: Volatile("x", "clock"),
    "trusted": lambda: trusted("x"),
    "Heading": lambda: Heading("x"),
    "Paragraph": lambda: Paragraph("x"),
    "List": lambda: List("x"),
    "Checklist": lambda: Checklist("x"),
    "Quote": lambda: Quote("x"),
    "Example": lambda: Example("x", "y"),
    "Table": lambda: Table([["x"]]),
    "Code": lambda: Code("x"),
    "Json": lambda: Json(["x"]),
    "Untrusted": lambda: Untrusted("x"),
    "Template": lambda: Template.from_string("x"),
    "Lazy": lambda: Lazy(lambda _: Json(["x"])),
    "Image": lambda: Image.from_url("https://example.org/a.png"),
    "Section": lambda: Section("s", Json(["x"])),
}


@component
def wrapped(part: Any) -> Any:
    """Return what it is given."""
    return part


WRAPS: dict[str, Callable[[Any], Any]] = {
    "Fragment": Fragment,
    "Group": Group,
    "FirstFit": lambda part: FirstFit(part, "less"),
    "Format": lambda part: Format("markdown", part),
    "component": wrapped,
    "Lazy": lambda part: Lazy(lambda _: Fragment(part)),
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("turn", [User, Assistant])
def test_a_part_says_the_same_in_any_wrapping(turn: Any, part: str) -> None:
    """A turn that holds one part and what is empty says what the part says."""
    alone = comes_to(turn("", PARTS[part]()))
    inside = {name: comes_to(turn("", wrap(PARTS[part]()))) for name, wrap in WRAPS.items()}
    assert (True, dict.fromkeys(WRAPS, alone)) == (bool(alone), inside)


def test_every_part_is_the_last_turn_of_a_user() -> None:
    """A grounding stands before it, whatever the turn is made of."""
    tree = Timeline(User("a"), Assistant("b"), User("", Json([1])), Grounding("g", "facts"))
    roles = [message.role for message in render(tree, model="gpt-5").messages]
    assert ["user", "assistant", "developer", "user"] == roles


def test_every_part_stands_between_a_call_and_its_result() -> None:
    """A call is not answered across a turn of the user."""
    with pytest.raises(PairingError):
        render(
            Timeline(
                Assistant(ToolUse("t", {}, id="1")), User("", Json([1])), ToolMessage("1", "x")
            )
        )


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (Code("# x"), "- [ ]\n  ```\n  # x\n  ```"),
        (Quote("a"), "- [ ]\n  > a"),
        (List("a"), "- [ ]\n  - a"),
        (Item(Text(""), Code("# x"), done=True), "- [x]\n  ```\n  # x\n  ```"),
        (Item("a", Code("# x")), "- [ ] a\n  ```\n  # x\n  ```"),
    ],
)
def test_behind_a_box_only_text_begins(item: Any, expected: str) -> None:
    """In Markdown no block opens behind a box, so that it starts on a line of its own."""
    assert [("user", expected)] == comes_to(User(Checklist(item)))


def test_nested_data_of_a_recorded_event_is_json() -> None:
    """Data may be nested: it stands on its line as JSON, encoded for its place."""
    block = {"type": "system_event", "event": "e", "data": {"a": [1, "<b></event>"]}}
    expected = '<event type="system_event">\ne\na: [1, "<b>\\u003c/event>"]\n</event>'
    assert [("user", expected)] == comes_to(History([{"role": "event", "content": [block]}]))


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({"model": "gpt-5"}, LazyContext("gpt-5", "openai")),
        ({"provider": "anthropic"}, LazyContext(None, "anthropic")),
        ({}, LazyContext()),
    ],
)
def test_a_lazy_is_told_the_provider(request_: Any, told: LazyContext) -> None:
    """The name of a model tells the provider, to a lazy as to a configuration."""
    found: list[LazyContext] = []
    render(User(Lazy(lambda context: found.append(context) or "x")), **request_)
    assert [told] == found
