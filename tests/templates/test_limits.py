"""What a rendering may use up: each limit is named by the error for going over it."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from promptdsl import Event, TemplateError, UserAction, register_templates, render
from tests.errors import this_line
from tests.templates.rendered import fault, in_full, pieces

TEXT = "10,000,000 characters of text"
WRITTEN = "100,000,000 characters written in one rendering"
PIECES = "2,000,000 pieces put together in one rendering"
STEPS = "1,000,000 steps in one rendering"
ITEMS = "1,000,000 items in a list"
DIGITS = "4,300 digits in a number"

OVER = {
    "times": ("{{ 'a' * 10**9 }}", TEXT),
    "times, the other way": ("{{ 10**9 * 'a' }}", TEXT),
    "plus": ("{{ big + big }}", TEXT),
    "tilde": ("{{ big ~ big }}", TEXT),
    "many tildes": ("{{ big ~ big ~ big ~ big }}", TEXT),
    "doubling": (
        "{% set n = namespace(x='a') %}"
        "{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}",
        TEXT,
    ),
    "doubling in blocks": (
        "{% set n = namespace(x='a') %}{% for i in range(99) %}"
        "{% set n.x %}{{ n.x }}{{ n.x }}{% endset %}{% endfor %}",
        PIECES,
    ),
    "static text": ("{% for i in range(99999) %}" + "x" * 101 + "{% endfor %}", TEXT),
    "pieces": (
        "{% set n = namespace() %}"
        "{% set n.x %}{% for i in range(999) %}{{ i }}{% endfor %}{% endset %}"
        "{% for i in range(9999) %}{% set x %}{{ n.x }}{% endset %}{% endfor %}",
        PIECES,
    ),
    "values": ("{% for i in range(9) %}{{ big }}{% endfor %}", TEXT),
    "a macro": ("{% macro m() %}{{ big }}{{ big }}{% endmacro %}{{ m() }}", TEXT),
    "formats": ("{{ '%s%s' % (big, big) }}", TEXT),
    "a format filter": ("{{ '%s%s'|format(big, big) }}", TEXT),
    "join": ("{{ [big, big]|join }}", TEXT),
    "join with": ("{{ range(9999)|join('x' * 9999) }}", TEXT),
    "join as a method": ("{{ ''.join([big, big]) }}", TEXT),
    "replace": ("{{ ('a' * 9999)|replace('a', 'b' * 9999) }}", TEXT),
    "replace nothing": ("{{ ('a' * 9999)|replace('', 'b' * 9999) }}", TEXT),
    "replace as a method": ("{{ ('a' * 9999).replace('a', 'b' * 9999) }}", TEXT),
    "all that is written": ("{% for i in range(99) %}{% set x = big|upper %}{% endfor %}", WRITTEN),
    "loops": (
        "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
        STEPS,
    ),
    "conditions of loops": (
        "{% for a in range(9999) %}{% for b in range(9999) if false %}{% endfor %}{% endfor %}",
        STEPS,
    ),
    "loops that know themselves": (
        "{% for a in range(9999) %}{% for b in range(9999) %}{% set x = loop.length %}{% endfor %}"
        "{% endfor %}",
        STEPS,
    ),
    "recursive loops": (
        "{% for a in [9] * 999 recursive %}{{ loop([9] * 999) if loop.depth < 3 }}{% endfor %}",
        STEPS,
    ),
    "calls": (
        "{% macro m(n) %}{% if n %}{% for i in range(9999) %}{% endfor %}"
        "{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(40) }}",
        STEPS,
    ),
    "filters of items": ("{% for a in range(9999) %}{{ range(9999)|sum }}{% endfor %}", STEPS),
    "lists": ("{% for a in range(9999) %}{% set x = range(9999)|list %}{% endfor %}", STEPS),
    "lists made longer": (
        "{% for a in range(9999) %}{% set x = [1] * 9999 %}{% endfor %}",
        STEPS,
    ),
    "split": ("{% for a in range(9999) %}{% set x = ('a ' * 999).split() %}{% endfor %}", STEPS),
    "a range": ("{% for a in range(10**30) %}{% endfor %}", ITEMS),
    "a range back": ("{% for a in range(0, -(10**30), -1) %}{% endfor %}", ITEMS),
    "a list": ("{{ ([0] * 10**9)|length }}", ITEMS),
    "a list, the other way": ("{{ (10**9 * [0])|length }}", ITEMS),
    "a list that doubles": (
        "{% set n = namespace(x=[1]) %}"
        "{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}",
        STEPS,
    ),
    "two lists": ("{% set x = [0] * 600000 %}{{ (x + x)|length }}", STEPS),
    "slice": ("{{ [1]|slice(10**9)|list }}", STEPS),
    "power": ("{{ 10 ** (10 ** 10) }}", DIGITS),
    "power of a negative number": ("{{ (-10) ** (10 ** 10) }}", DIGITS),
    "negative power of a fraction": ("{{ third ** -(10 ** 10) }}", DIGITS),
    "power of a fraction": ("{{ third ** (10 ** 10) }}", DIGITS),
    "product": (
        "{% set n = namespace(x=9) %}{% for i in range(99) %}{% set n.x = n.x * n.x %}{% endfor %}",
        DIGITS,
    ),
    "fractions": (
        "{% set n = namespace(x=third) %}"
        "{% for i in range(99) %}{% set n.x = n.x * n.x %}{% endfor %}",
        DIGITS,
    ),
    "a number that is read": ("{{ ('f' * 9999)|int(0, 16) }}", DIGITS),
}
GIVEN: dict[str, Any] = {
    "big": "x" * 6_000_000,
    "third": Fraction(1, 3),
}


SLOW = {
    *("calls", "filters of items", "loops that know themselves", "pieces", "recursive loops"),
    "slice",
}


@pytest.mark.parametrize(
    ("template", "limit"),
    [
        pytest.param(*case, id=name, marks=pytest.mark.slow if name in SLOW else ())
        for name, case in OVER.items()
    ],
)
def test_a_limit_is_named(template: str, limit: str) -> None:
    """Going over a limit is an error that names it."""
    assert f"the template, line 1: it makes more than {limit}\n  make it do less" == fault(
        template, **GIVEN
    )


def test_a_limit_that_is_met_at_the_end() -> None:
    """A limit that the whole output goes over is an error of its template, on no line."""
    template = "{% for i in range(16) %}{% set x = big|upper %}{% endfor %}{{ big }}"
    expected = f"the template: it makes more than {WRITTEN}\n  make it do less"
    assert expected == fault(template, **GIVEN)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ ('a' * 9999999)|length }}", "9999999"),
        ("{{ ([0] * 999999)|length }}", "999999"),
        pytest.param(
            "{% for i in range(999990) %}{% endfor %}done", "done", marks=pytest.mark.slow
        ),
        ("{% for i in range(9990) %}{% endfor %}done", "done"),
        ("{{ (10 ** 4299 + 1)|string|length }}", "4300"),
        ("{{ 1 ** 10 ** 10 }}", "1"),
        ("{{ (-1) ** (10 ** 10) }}", "1"),
        ("{{ 0 ** (10 ** 10) }}", "0"),
        ("{{ 2 ** -1 }}", "0.5"),
        ("{{ 'a' * -(10 ** 9) }}.", "."),
        ("{{ 'a' * true }}", "a"),
        ("{{ -1.5 * 2 }}", "-3.0"),
    ],
)
def test_what_is_within_the_limits(template: str, expected: str) -> None:
    """What comes to the limit and not over it is done."""
    assert expected == in_full(pieces(template))


def test_event_texts_are_bounded(tmp_path: Path) -> None:
    """The templates of events have the same limits."""
    (tmp_path / "events").mkdir()
    file = tmp_path / "events" / "user_action.md.j2"
    file.write_text("{% for i in range(9999) %}{{ target }}{% endfor %}")
    event, line = Event(UserAction("clicked", target="x" * 9_999)), this_line()
    with register_templates(tmp_path), pytest.raises(TemplateError) as caught:
        render(event)
    what = f"template 'events/user_action.md.j2', line 1: it makes more than {TEXT}"
    assert f"{__file__}:{line}: {what}\n  make it do less" == str(caught.value)
