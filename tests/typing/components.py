"""Only checked, never run: what is said of a component has its type."""

from typing import assert_type

from promptdsl import (
    FirstFit,
    Grounding,
    Group,
    History,
    Limit,
    Message,
    Reserve,
    Section,
    System,
    Text,
    Timeline,
    ToolMessage,
    User,
)


def ranked(messages: list[Message]) -> None:
    """Give priorities, whole and broken ones."""
    assert_type(User("x", priority=1), User)
    assert_type(System("x", priority=None), System)
    assert_type(ToolMessage("1", "x", priority=0.5), ToolMessage)
    assert_type(Grounding("g", "x", priority=-1), Grounding)
    assert_type(Section("s", "x", priority=2), Section)
    assert_type(Group(User("x"), priority=3), Group)
    assert_type(FirstFit("long", Text("short"), None, priority=0.5), FirstFit)
    assert_type(History(messages, keep=2, step=0, priority=1.5), History)
    assert_type(History.from_openai(messages, step=None), History)
    User("x", priority="high")  # type: ignore[arg-type]
    History(messages, keep=1.5)  # type: ignore[arg-type]
    History(messages, 3)  # type: ignore[arg-type]
    Group("x", id="g")  # type: ignore[arg-type]
    Text("x", priority=1)  # type: ignore[arg-type]


def limited() -> None:
    """Say how many tokens, and which end stays."""
    with Timeline(), User(), Limit(500, keep="ends") as limit:
        Text("x")
    assert_type(limit, Limit)
    assert_type(limit.most, int)
    assert_type(Limit.characters(500, "x", keep="tail"), Limit)
    assert_type(Reserve(500), Reserve)
    Limit(500, "x", keep="middle")  # type: ignore[arg-type]
    Limit("x")  # type: ignore[arg-type]
    Reserve(500, "x")  # type: ignore[arg-type]
