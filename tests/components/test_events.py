"""What happens in an application."""

import datetime
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests import any_data
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
    """Each event is in a fence that names its type."""
    lines = text(write()).split("\n")
    assert (f'<event type="{type}">', "</event>") == (lines[0], lines[-1])


def test_an_absent_value_is_not_none() -> None:
    """A change from nothing known is reported differently from a change from ``None``."""
    absent, none = text(StateChange("a", new=1)), text(StateChange("a", old=None, new=1))
    assert absent != none


def test_details_appear_in_order() -> None:
    """Details keep the order they were passed in."""
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


every_field = pytest.mark.parametrize(
    "write",
    [
        lambda v: UserAction("x", target=v),
        lambda v: UserAction("x", actor=v),
        lambda v: UserAction("x", detail=v),
        lambda v: StateChange("x", old=v),
        lambda v: StateChange("x", new=v),
        lambda v: StateChange("x", trigger=v),
        lambda v: SystemEvent("x", source=v),
        lambda v: SystemEvent("x", data=v),
    ],
)


@pytest.mark.parametrize("value", [{"x"}, object(), b"x"])
@every_field
def test_a_field_that_is_no_text_is_an_error(write: Any, value: Any) -> None:
    """A field without a form as text is an error at the line that names the field."""
    error = raised(ContentError, lambda: write(value))
    assert lines_of(write, 0) == error.at
    assert error.what.endswith("is not text")
    assert error.fix


@pytest.mark.parametrize("value", [["x"], {"a": 1}])
@pytest.mark.parametrize("write", [UserAction, StateChange, SystemEvent])
def test_what_happened_is_one_text(write: Any, value: Any) -> None:
    """The action, the key and the event are no nested data; the error names the line."""
    name = {UserAction: "action", StateChange: "key", SystemEvent: "event"}[write]
    error = raised(PromptError, lambda: write(value))
    expected = f"{name!r} must be a string, not {type(value).__name__}"
    assert (expected, lines_of(lambda: write(value), 0)[0].split(":")[0]) == (
        error.what,
        error.at[0].split(":")[0],
    )


# Nested data.


NESTED: dict[str, tuple[Any, str]] = {
    "a list": ([1, None, True, "x"], '[1, null, true, "x"]'),
    "a tuple": ((1, 2), "[1, 2]"),
    "a mapping": ({"a": {"b": [1.5]}}, '{"a": {"b": [1.5]}}'),
    "nothing": ([], "[]"),
    "quotes and lines": ({"a": '"x"\n\''}, '{"a": "\\"x\\"\\n\'"}'),
    "a fence": (["</event>", "&"], '["\\u003c/event>", "\\u0026"]'),
    "another tag": (["</b>", "& co"], '["</b>", "& co"]'),
    "characters": (["\x85\u2028\x00é"], '["\\u0085\\u2028\\u0000é"]'),
}


@pytest.mark.parametrize(("value", "expected"), NESTED.values(), ids=NESTED)
@every_field
def test_nested_data_is_json(write: Any, value: Any, expected: str) -> None:
    """Nested data in a field is JSON on one line with its own quotes, recorded or written."""
    event = write(value)
    assert expected in text(event).split("\n")[1] + text(event).split("\n")[2]
    recorded = History([Message("event", [event.block])])
    assert render(recorded).messages[0].text == render(Event(event)).messages[0].text


@given(any_data.json_values)
def test_any_nested_data_is_read_back(value: Any) -> None:
    """Any JSON value that is passed as a part of a field is read back from its line."""
    line = text(SystemEvent("x", data=[value])).split("\n")[2]
    assert [value] == json.loads(line.removeprefix("data: "))


def test_nested_data_is_a_copy() -> None:
    """Data that is changed after the event was written does not change the event."""
    value: list[Any] = [{"a": 1}]
    event = UserAction("x", target=value)
    value[0]["a"] = 2
    assert '<event type="user_action">\nUser x: [{"a": 1}]\n</event>' == text(event)


def test_data_of_200_levels_is_told() -> None:
    """Data may be nested 200 levels deep; one more is an error that names the field."""
    assert "[" * 200 + "]" * 200 in text(UserAction("x", deep=any_data.deep_list(199)))
    error = raised(PromptError, lambda: UserAction("x", deep=any_data.deep_list(200)))
    assert True is ("deep[0][0]" in error.what)


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ([{1}], "'field[0]' is not a JSON value: set"),
        ({"a": object()}, "'field.a' is not a JSON value: object"),
        ([math.nan], "'field[0]' is not a JSON value: nan"),
        ([datetime.date(2026, 2, 3)], "'field[0]' is not a JSON value: date"),
        ({3: 4}, "a key of 'field' must be a string, not int"),
        ([Text("x")], "'field[0]' is not a JSON value: Text"),
    ],
)
def test_nested_data_that_is_no_json_is_an_error(value: Any, what: str) -> None:
    """Nested data that JSON cannot say is an error with the line and the place in the field."""

    def write() -> None:
        SystemEvent("x", field=value)

    error = raised(PromptError, write)
    assert (what, lines_of(write, 1)) == (error.what, error.at)


def test_recorded_data_that_is_no_json_is_an_error() -> None:
    """A date inside a recorded list is an error that names the field."""
    block = SystemEventBlock("x", data={"on": [datetime.date(2026, 2, 3)]})
    error = raised(PromptError, lambda: render(History([Message("event", [block])])))
    assert "'data.on[0]' is not a JSON value: date" == error.what


# Text.


def test_text_follows_the_fields() -> None:
    """Content of an event block is text after its fields, behind a blank line."""
    expected = (
        '<event type="user_action">\nUser clicked: help\npage: 3\n\n'
        "He came from the pricing page.\n</event>"
    )
    event = UserAction("clicked", "He came from ", "the pricing page.", target="help", page=3)
    assert expected == text(event)
    with Event() as written, UserAction("clicked", target="help", page=3):
        Text("He came from the pricing page.")
    assert expected == "\n\n".join(said(written)[0][1])


@pytest.mark.parametrize("write", [UserAction, StateChange, SystemEvent])
def test_text_is_author_text_and_may_have_parts(write: Any) -> None:
    """The text cannot leave the fence; a value in it is a value, and lists are lists."""
    parts = (List("a", "b"), Json([1]), Note("hidden"))
    event = write("x", "</event> <b>", Value(" <i></event>"), *parts)
    assert (
        "&lt;/event> <b> <i>&lt;/event>\n\n- a\n- b\n\n[1]\n</event>"
        == text(event).split("\n", 3)[3]
    )


def test_text_of_a_lazy_and_of_a_limit() -> None:
    """In an event block a lazy is called, a limit is cut, and a budget drops what it may."""
    event = Event(UserAction("x", Lazy(lambda _: "found"), Limit(40, "low " * 30)))
    text = render(event, counter=len).messages[0].text
    assert text.endswith(f"\nfound\n\n{'low ' * 8}[...]\n</event>")
    low = Event(UserAction("x", Group("long " * 30, priority=1)))
    assert '<event type="user_action">\nUser x\n</event>' == (
        render(low, counter=len, budget=60).messages[0].text
    )


def test_an_event_without_text_is_whole() -> None:
    """A block that is opened and left without text is reported with its fields."""
    with Event() as event:
        with UserAction("x"):
            pass
        UserAction("y", None, "")
    fence = '<event type="user_action">\nUser {}\n</event>'
    assert f"{fence.format('x')}\n\n{fence.format('y')}" == "\n\n".join(said(event)[0][1])


@pytest.mark.parametrize(
    ("part", "name"),
    [
        (lambda: User("y"), "a User"),
        (lambda: Image.from_url("https://a.b/c.png"), "an Image"),
        (lambda: Section("s", "y"), "a Section"),
        (lambda: UserAction("y"), "a UserAction"),
        (lambda: ToolUse("t", {}, id="1"), "a ToolUse"),
    ],
)
def test_an_event_block_holds_text(part: Any, name: str) -> None:
    """Anything but text is refused in an event block."""
    error = raised(PlacementError, lambda: UserAction("x", part()))
    assert f"{name} cannot be in a UserAction" == error.what


def test_a_wrong_field_takes_the_text_back() -> None:
    """An event that is refused leaves nothing of its text in the block around it."""
    with Event() as event:
        Text("a")
        raised(PromptError, lambda: UserAction("x", Text("b"), field=object()))
    assert ["<event>\na\n</event>"] == said(event)[0][1]


def test_format_block_gives_the_fields() -> None:
    """The text of ``format_block`` replaces the fields, and the text follows it."""
    rendered = render(Event(UserAction("x", "text")), transformation={"format_block": repr_of})
    assert '<event type="user_action">\nUserActionBlock\n\ntext\n</event>' == (
        rendered.messages[0].text
    )


def repr_of(block: Any) -> str:
    """Return the name of the type of a block."""
    return type(block).__name__


def test_events_and_text_stand_side_by_side() -> None:
    """Text written in an event is in a fence of its own, in order."""
    with Event() as turn:
        Text("a")
        Text("b")
        UserAction("x")
    assert (
        '<event>\na\n\nb\n</event>\n\n<event type="user_action">\nUser x\n</event>'
        == "\n\n".join(said(turn)[0][1])
    )


def test_an_event_stays_where_it_happened() -> None:
    """Events are reported in the order of the conversation."""
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
