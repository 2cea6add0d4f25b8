"""The texts of events: to the byte, and from whose template."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import TemplateError, register_templates
from tests.internals import event_pieces, template_sandbox

USER_ACTION = {"action": "clicked", "target": "help_button", "actor": None, "details": ()}
STATE_CHANGE = {"key": "plan", "old": "free", "new": "pro", "trigger": None, "details": ()}
SYSTEM_EVENT = {"event": "disk full", "source": "host-7", "details": ()}
DETAILS = (("page", "billing"), ("count", "3"))


def event_text(kind: str, fields: dict[str, object]) -> str:
    """Return the text of an event."""
    return "".join(event_pieces(kind, fields))


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
    """Any text in a field is sent unchanged: not evaluated, not escaped, not trimmed."""
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
    with pytest.raises(TemplateError, match=f"needs a missing field: '{missing}' is undefined"):
        event_text(kind, given)


COUNT_READS = """
import sys
from promptdsl import Event, SystemEvent, UserAction, render

opened = []
sys.addaudithook(
    lambda event, args: event == "open" and opened.append(str(args[0])),
)
render(Event(UserAction("clicked")))
render(Event(UserAction("left"), UserAction("came back")))
render(Event(SystemEvent("disk full")))
render(Event(UserAction("left")))
print([name.rpartition("/")[2] for name in opened if name.endswith(".j2")])
"""


def test_a_template_is_read_once() -> None:
    """A template is read once in a process, however often it is rendered."""
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-c", COUNT_READS]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert "['user_action.md.j2', 'system_event.md.j2']\n" == done.stdout


def _own(folder: Path, text: str) -> Path:
    """Return a folder with a template of its own for user actions."""
    (folder / "events").mkdir()
    (folder / "events" / "user_action.md.j2").write_text(text, encoding="utf-8")
    return folder


def test_an_event_template_of_a_user(tmp_path: Path) -> None:
    """A template in a registered folder takes the place of the shipped one, while it is there."""
    with register_templates(_own(tmp_path, "{{ actor or 'Someone' }} did {{ action }}.")):
        inside = event_text("user_action", USER_ACTION)
    expected = ("Someone did clicked.", "User clicked: help_button")
    assert expected == (inside, event_text("user_action", USER_ACTION))


def test_the_other_events_stay(tmp_path: Path) -> None:
    """An event a user has no template for has the shipped one."""
    with register_templates(_own(tmp_path, "own")):
        assert "host-7: disk full" == event_text("system_event", SYSTEM_EVENT)


def test_a_new_kind_of_event(tmp_path: Path) -> None:
    """A registered folder may have templates of other kinds, and includes of its own."""
    _own(tmp_path, "own")
    (tmp_path / "line.md").write_text("<{{ x }}>")
    (tmp_path / "events" / "other.md.j2").write_text("{% include 'line.md' %}{{ x|upper }}")
    with register_templates(tmp_path):
        assert "<a>A" == event_text("other", {"x": "a"})


def test_an_event_template_is_compiled_once(tmp_path: Path) -> None:
    """A user's template is compiled once, with ``reload`` until it changes."""
    before = template_sandbox().compiled.cache_info().misses
    with register_templates(_own(tmp_path, "old"), reload=True):
        old = [event_text("user_action", USER_ACTION) for _ in range(3)]
        (tmp_path / "events" / "user_action.md.j2").write_text("new one")
        new = [event_text("user_action", USER_ACTION) for _ in range(3)]
    done = template_sandbox().compiled.cache_info().misses - before
    assert (["old"] * 3, ["new one"] * 3, 2) == (old, new, done)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ actor }}|{{ actor ~ '!' }}|{{ target }}", "|!|help_button"),
        ("{{ 'x' if actor }}|", "|"),
        ("{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(target) }}", "<help_button>"),
        ("{% set x %}{{ target }}{% endset %}{{ x }}", "help_button"),
        ("{% filter upper %}{{ target }}{% endfilter %}", "HELP_BUTTON"),
        ("{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}a{% endcall %}", "<a>"),
        ("{{ 1 + 1 }}{{ none }}", "2"),
        ("{{ details|length }}", "0"),
    ],
)
def test_what_an_event_template_says(template: str, expected: str, tmp_path: Path) -> None:
    """What any construct comes to is text, and an absent field is nothing."""
    with register_templates(_own(tmp_path, template)):
        assert expected == event_text("user_action", USER_ACTION)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (
            "{% include 'none.md' %}",
            "template 'events/user_action.md.j2', line 1: there is no template 'none.md'\n"
            "  known: events/state_change.md.j2, events/system_event.md.j2,"
            " events/user_action.md.j2",
        ),
        (
            "{{ plan }}",
            "template 'events/user_action.md.j2', line 1: 'plan' is undefined\n"
            "  known: action, actor, details, target",
        ),
        (
            "\n{% if %}",
            "template 'events/user_action.md.j2', line 2: Expected an expression, got 'end of"
            " statement block'\n  the mistake may be on an earlier line",
        ),
        (
            "{{ details }}",
            "template 'events/user_action.md.j2', line 1: details is a list, which is not text\n"
            '  write {{ details|join(", ") }} or {{ details|tojson }}, or loop over it',
        ),
        (
            "{{ true }}",
            "template 'events/user_action.md.j2', line 1: a value is True, which is not text\n"
            '  write the text for it: {{ "yes" if flag else "no" }}, {% if value is none %}',
        ),
        (
            "{% include '../x' %}",
            "template 'events/user_action.md.j2', line 1: '../x' is not the name of a template\n"
            '  a name is relative to a registered folder, such as "support/role.md.j2"',
        ),
    ],
)
def test_an_event_template_that_is_wrong(template: str, expected: str, tmp_path: Path) -> None:
    """What is wrong in a user's template is an error that names it."""
    with register_templates(_own(tmp_path, template)), pytest.raises(TemplateError) as caught:
        event_text("user_action", USER_ACTION)
    assert expected == str(caught.value)


@pytest.mark.parametrize("kind", ["../user_action", "a/b", "", "user_actoin", "user\0action"])
def test_a_kind_is_no_path(kind: str, tmp_path: Path) -> None:
    """The type of an event never becomes a path, with folders registered either."""
    with register_templates(_own(tmp_path, "own")), pytest.raises(TemplateError) as caught:
        event_text(kind, USER_ACTION)
    assert f"there is no template of {kind!r} events" == caught.value.what


def test_kinds_of_a_user_are_suggested(tmp_path: Path) -> None:
    """A kind there is no template of is compared with those of a user too."""
    _own(tmp_path, "own")
    (tmp_path / "events" / "purchase.md.j2").write_text("")
    with register_templates(tmp_path), pytest.raises(TemplateError) as caught:
        event_text("purchas", {})
    assert "did you mean 'purchase'?" == caught.value.fix
