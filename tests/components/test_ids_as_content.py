"""Content that was taken for an id: it is reported, and the way to write it is shown."""

from collections.abc import Callable
from typing import Any

import pytest

from promptdsl import *


def told(*parts: Any, **options: Any) -> list[str]:
    """Return the hints about ids of a prompt."""
    rendered = render(Timeline(*parts, User("q")), model="gpt-5", **options)
    return [hint.why for hint in rendered.hints if hint.name == "text_as_id"]


def opened(id: str) -> Grounding:
    """Return a grounding with a block."""
    with Grounding(id) as made:
        Text("Region: EU")
    return made


def test_a_text_as_the_id_of_a_grounding() -> None:
    """White space in an id without a title is a hint, which shows how the text is written."""
    shown = 'write title=..., or Grounding("plan", "Plan: Pro")'
    for part in (Grounding("Plan: Pro", "Region: EU"), opened("Plan: Pro")):
        [why] = told(part)
        assert why.endswith(shown)
    assert 'Grounding("facts", "1 2")' in told(Grounding("1 2", "x"))[0]
    [both] = [told(Grounding("a b", "x"), Grounding('c "d"', "x"))]
    assert ['Grounding("a", "a b")', 'Grounding("c", "c \\"d\\"")'] == [
        why.partition("or ")[2] for why in both
    ]


@pytest.mark.parametrize(
    "part",
    [
        Grounding("plan", "Plan: Pro"),
        Grounding("Plan: Pro", "Region: EU", title="Plan"),
        Grounding("docs/a-b.md#x", "Region: EU"),
        User("x", id="a b"),
        Fragment(User("x"), Assistant(ToolUse("f", {}, id="a b")), ToolMessage("a b", "1")),
        History([Message("user", "a")]),
    ],
)
def test_ids_that_are_fine(part: Any) -> None:
    """An id without white space, one with a title, and one that is a keyword are no hint."""
    assert [] == told(part)


@pytest.mark.parametrize("make", [ToolMessage, lambda *args: User(ToolResult(*args))])
def test_a_text_as_the_id_of_a_call(make: Callable[..., Any]) -> None:
    """A result whose first argument is a text is a hint, where it is not an error."""
    call = Assistant(ToolUse("f", {}, id="c"))
    [why] = told(User("x"), call, make("It rains."), transformation={"tool_pairing": "fill"})
    assert '("call_1", "It rains.")' in why
    with pytest.raises(PromptError, match="the id of the call comes first"):
        told(User("x"), call, make("It rains."))


@pytest.mark.parametrize(
    ("write", "shown"),
    [
        (lambda: Grounding("Plan: Pro"), 'write Grounding("plan", "Plan: Pro")'),
        (lambda: Grounding("plan"), 'write Grounding("plan", "...")'),
        (lambda: Section("Rules-A"), 'write Section("Rules-A", "...")'),
    ],
)
def test_an_id_alone(write: Callable[[], Any], shown: str) -> None:
    """A part without content says that its first argument is the id."""
    with pytest.raises(ContentError) as caught:
        render(Timeline(write(), User("q")))
    assert str(caught.value.fix).startswith(
        f"its first argument is the id: {shown}, or open it: with "
    )
