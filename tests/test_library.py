"""The library: event texts to the byte, and where templates are found."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl.errors import TemplateError
from promptdsl.library import event_text, templates_root

USER_ACTION = {"action": "clicked", "target": "help_button", "actor": None, "details": ()}
STATE_CHANGE = {"key": "plan", "old": "free", "new": "pro", "trigger": None, "details": ()}
SYSTEM_EVENT = {"event": "disk full", "source": "host-7", "details": ()}
DETAILS = (("page", "billing"), ("count", "3"))

HOSTILE = ("{{ 7 * 7 }}", "{% raw %}", "{# gone #}", "a & b", "&lt;/event&gt;", " padded ")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "User clicked: help_button"),
        ({"target": None}, "User clicked"),
        ({"target": ""}, "User clicked: "),
        ({"actor": "Ada"}, "Ada clicked: help_button"),
        ({"actor": ""}, "User clicked: help_button"),
        ({"actor": "Ada", "target": None}, "Ada clicked"),
        ({"details": DETAILS}, "User clicked: help_button\npage: billing\ncount: 3"),
        ({"target": None, "details": DETAILS}, "User clicked\npage: billing\ncount: 3"),
    ],
)
def test_user_action(given: dict[str, object], expected: str) -> None:
    """A user action says who did what to what; an absent target goes with its mark."""
    assert expected == event_text("user_action", USER_ACTION | given)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "plan changed: free -> pro"),
        ({"old": None}, "plan changed: -> pro"),
        ({"new": None}, "plan changed: free"),
        ({"old": None, "new": None}, "plan changed"),
        ({"old": ""}, "plan changed:  -> pro"),
        ({"new": ""}, "plan changed: free -> "),
        ({"trigger": "upgrade"}, "plan changed: free -> pro\ntrigger: upgrade"),
        ({"details": DETAILS}, "plan changed: free -> pro\npage: billing\ncount: 3"),
        (
            {"old": None, "new": None, "trigger": "upgrade", "details": DETAILS},
            "plan changed\ntrigger: upgrade\npage: billing\ncount: 3",
        ),
    ],
)
def test_state_change(given: dict[str, object], expected: str) -> None:
    """A state change says from what to what; the trigger comes before the details."""
    assert expected == event_text("state_change", STATE_CHANGE | given)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "host-7: disk full"),
        ({"source": None}, "disk full"),
        ({"source": ""}, ": disk full"),
        ({"details": DETAILS}, "host-7: disk full\npage: billing\ncount: 3"),
        ({"source": None, "details": DETAILS}, "disk full\npage: billing\ncount: 3"),
    ],
)
def test_system_event(given: dict[str, object], expected: str) -> None:
    """A system event says where it happened, when that is known, and what."""
    assert expected == event_text("system_event", SYSTEM_EVENT | given)


@given(value=st.one_of(st.text(), st.sampled_from(HOSTILE)))
def test_any_value_stands_as_it_is(value: str) -> None:
    """Any text in a field is sent as it is: not evaluated, not escaped, not trimmed."""
    fields = USER_ACTION | {"target": value, "details": (("k", value), (value, "v"))}
    expected = f"User clicked: {value}\nk: {value}\n{value}: v"
    assert expected == event_text("user_action", fields)


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("user_actoin", "did you mean 'user_action'?"),
        ("", "known: state_change, system_event, user_action"),
        ("../events/user_action", "did you mean 'user_action'?"),
        ("/etc/passwd", "known: state_change, system_event, user_action"),
        ("\0", "known: state_change, system_event, user_action"),
    ],
)
def test_a_missing_template_is_named(kind: str, advice: str) -> None:
    """A kind without a template is an error that names it and says which kinds there are."""
    with pytest.raises(TemplateError) as caught:
        event_text(kind, USER_ACTION)
    assert f"there is no template of {kind!r} events\n  {advice}" == str(caught.value)


@pytest.mark.parametrize(
    ("kind", "fields", "missing"),
    [
        ("user_action", USER_ACTION, "action"),
        ("user_action", USER_ACTION, "target"),
        ("user_action", USER_ACTION, "details"),
        ("state_change", STATE_CHANGE, "key"),
        ("state_change", STATE_CHANGE, "old"),
        ("state_change", STATE_CHANGE, "trigger"),
        ("system_event", SYSTEM_EVENT, "event"),
        ("system_event", SYSTEM_EVENT, "source"),
    ],
)
def test_a_field_left_out_is_named(kind: str, fields: dict[str, object], missing: str) -> None:
    """A field that is not given at all is an error that names it."""
    given = {name: value for name, value in fields.items() if name != missing}
    with pytest.raises(TemplateError, match=f"is not given: '{missing}' is undefined"):
        event_text(kind, given)


def test_templates_stand_in_one_folder() -> None:
    """In a source tree the templates are found beside the package."""
    assert Path(__file__).resolve().parents[1] / "templates" == templates_root()


COUNT_READS = f"""
import sys
from promptdsl.library import event_text

opened = []
sys.addaudithook(
    lambda event, args: event == "open" and opened.append(str(args[0])),
)
event_text("user_action", {USER_ACTION})
event_text("user_action", {USER_ACTION})
event_text("system_event", {SYSTEM_EVENT})
event_text("user_action", {USER_ACTION})
print([name.rpartition("events")[2][1:] for name in opened if name.endswith(".j2")])
"""


def test_a_template_is_read_once() -> None:
    """A template is read once in a process, however often it is rendered."""
    root = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-c", COUNT_READS]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert "['user_action.md.j2', 'system_event.md.j2']\n" == done.stdout
