"""What happens in an application."""

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import (
    ContentError,
    Event,
    StateChange,
    SystemEvent,
    Text,
    Timeline,
    User,
    UserAction,
    decode,
)
from tests.errors import lines_of, raised
from tests.renders import said


def text(*happenings: Any) -> str:
    """Return the text of an event."""
    return "\n\n".join(said(Event(*happenings))[0][1])


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda: UserAction("logged in"), "User logged in"),
        (lambda: UserAction("clicked", target="help"), "User clicked: help"),
        (lambda: UserAction("clicked", actor="Bob"), "Bob clicked"),
        (
            lambda: UserAction("clicked", target="help", actor="Bob", page=3, tab="x y"),
            "Bob clicked: help\npage: 3\ntab: x y",
        ),
        (lambda: StateChange("plan", old="free", new="pro"), "plan changed: free -> pro"),
        (
            lambda: StateChange("plan", old="a", new="b", trigger="upgrade", by="Bob"),
            "plan changed: a -> b\ntrigger: upgrade\nby: Bob",
        ),
        (lambda: SystemEvent("timeout"), "timeout"),
        (lambda: SystemEvent("timeout", source="billing"), "billing: timeout"),
        (
            lambda: SystemEvent("timeout", source="billing", after=1.5, retry=True, note=None),
            "billing: timeout\nafter: 1.5\nretry: true\nnote: ",
        ),
    ],
)
def test_events_are_told_in_words(write: Any, expected: str) -> None:
    """The first line says what happened, details follow; what is absent is not there."""
    body = text(write()).split("\n", 1)[1].rsplit("\n", 1)[0]
    assert [line.rstrip() for line in expected.split("\n")] == [
        line.rstrip() for line in body.split("\n")
    ]


@pytest.mark.parametrize(
    ("write", "type"),
    [
        (lambda: UserAction("x"), "user_action"),
        (lambda: StateChange("x", new=1), "state_change"),
        (lambda: SystemEvent("x"), "system_event"),
    ],
)
def test_events_are_fenced_by_type(write: Any, type: str) -> None:
    """Each event stands in a fence that names its type."""
    lines = text(write()).split("\n")
    assert (f'<event type="{type}">', "</event>") == (lines[0], lines[-1])


def test_an_absent_value_is_not_none() -> None:
    """A change from nothing known is told differently from a change from ``None``."""
    absent, none = text(StateChange("a", new=1)), text(StateChange("a", old=None, new=1))
    assert absent != none


def test_details_appear_in_order() -> None:
    """Details keep the order they were given in."""
    names = [f"field_{n}" for n in (3, 1, 2)]
    lines = text(SystemEvent("x", **dict.fromkeys(names, "v"))).split("\n")
    assert [f"{name}: v" for name in names] == lines[2:-1]


def test_details_may_have_any_name() -> None:
    """Names that are those of other components' options are details like any other."""
    found = text(UserAction("x", source="s", id="i", old=1, self_="t"))
    assert ["source: s", "id: i", "old: 1", "self_: t"] == found.split("\n")[2:-1]


@given(st.text(min_size=1), st.text(min_size=1), st.text(min_size=1))
def test_any_field_is_one_line(action: str, target: str, detail: str) -> None:
    """Whatever the fields hold, each stays on its line and can be read back."""
    lines = text(UserAction(action, target=target, note=detail)).split("\n")
    first, second = lines[1:-1]
    assert (f"User {action}: {target}", f"note: {detail}") == (decode(first), decode(second))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (datetime.date(2026, 2, 3), "2026-02-03"),
    ],
)
def test_fields_are_data(value: Any, expected: str) -> None:
    """In a field ``None`` is empty, booleans are ``true`` and ``false``, dates are ISO 8601."""
    assert (
        f"field: {expected}".rstrip() == text(SystemEvent("x", field=value)).split("\n")[2].rstrip()
    )


@pytest.mark.parametrize("value", [["x"], {"a": 1}, object(), b"x"])
@pytest.mark.parametrize(
    "write",
    [
        lambda v: UserAction(v, page=1),
        lambda v: UserAction("x", target=v),
        lambda v: UserAction("x", actor=v),
        lambda v: UserAction("x", detail=v),
        lambda v: StateChange(v, new=1),
        lambda v: StateChange("x", old=v),
        lambda v: StateChange("x", new=v),
        lambda v: StateChange("x", trigger=v),
        lambda v: SystemEvent(v, page=1),
        lambda v: SystemEvent("x", source=v),
        lambda v: SystemEvent("x", data=v),
    ],
)
def test_a_field_that_is_no_text_is_an_error(write: Any, value: Any) -> None:
    """A field without a form as text is an error at the line that names the field."""
    error = raised(ContentError, lambda: write(value))
    assert lines_of(write, 0) == error.at
    assert error.what.endswith("is not text")
    assert error.fix


def test_events_and_text_stand_side_by_side() -> None:
    """Text written in an event stands in a fence of its own, in order."""
    with Event() as turn:
        Text("a")
        Text("b")
        UserAction("x")
    assert (
        '<event>\na\n\nb\n</event>\n\n<event type="user_action">\nUser x\n</event>'
        == "\n\n".join(said(turn)[0][1])
    )


def test_an_event_stays_where_it_happened() -> None:
    """Events are told in the order of the conversation."""
    tree = Timeline(User("a"), Event(UserAction("x")), User("b"))
    ((_, texts),) = said(tree)
    assert ["a", "b"] == [texts[0], texts[-1]]


@pytest.mark.parametrize(
    "make",
    [
        lambda: UserAction(None),  # type: ignore[arg-type]
        lambda: StateChange(None),  # type: ignore[arg-type]
        lambda: SystemEvent(None),  # type: ignore[arg-type]
    ],
)
def test_what_happened_needs_a_text(make: Any) -> None:
    """An action, a key and an event are never ``None``; the error names the line."""
    error = raised(ContentError, make)
    assert (lines_of(make, 0), True) == (error.at, error.what.endswith("needs a text"))
