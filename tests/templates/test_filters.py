"""The filters and tests of templates."""

from typing import Any

import pytest

from tests.internals import FILTERS, TESTS
from tests.templates.rendered import fault, in_full, pieces

PEOPLE = [{"n": "b", "age": 3}, {"n": "A", "age": 1}, {"n": "c", "age": 3}]

FILTERED = (
    ("{{ -1|abs }}", "1"),
    ("{{ [1, 2, 3]|batch(2)|map('join', '-')|join(' ') }}", "1-2 3"),
    ("{{ [1, 2, 3]|batch(2, 0)|map('join', '-')|join(' ') }}", "1-2 3-0"),
    ("{{ 'aB'|capitalize }}", "Ab"),
    ("{{ 'abc'|count }}{{ [1]|count }}", "31"),
    ("{{ nope|d('x') }}{{ nope|default }}{{ ''|d('y', true) }}", "xy"),
    ("{% for k, v in {'b': 1, 'a': 2}|dictsort %}{{ k }}{{ v }}{% endfor %}", "a2b1"),
    ("{{ [1, 2]|first }}{{ 'ab'|first }}", "1a"),
    ("{{ '1.5'|float }}{{ 'x'|float }}", "1.50.0"),
    ("{{ '%s-%s'|format(1, 2) }}{{ '%(a)s'|format(a=3) }}{{ '%%'|format }}", "1-23%"),
    (
        "{% for g in people|groupby('age') %}{{ g.grouper }}:{{ g.list|count }} {% endfor %}",
        "1:1 3:2 ",
    ),
    ("{{ 'a\\nb'|indent }}|{{ 'a\\n\\nb'|indent('> ', true, true) }}", "a\n    b|> a\n> \n> b"),
    ("{{ '42.9'|int }}{{ 'x'|int(7) }}{{ 'ff'|int(0, 16) }}{{ 2.9|int }}", "4272552"),
    ("{% for k, v in {'b': 1}|items %}{{ k }}{{ v }}{% endfor %}", "b1"),
    ("{{ [1, 'a', 1.5]|join(', ') }}{{ people|join('/', 'n') }}{{ []|join }}", "1, a, 1.5b/A/c"),
    ("{{ [1, 2]|last }}", "2"),
    ("{{ 'abc'|length }}", "3"),
    ("{{ 'ab'|list|join('-') }}{{ range(3)|list|join }}", "a-b012"),
    ("{{ 'AB'|lower }}", "ab"),
    ("{{ people|map(attribute='n')|join }}{{ ['a']|map('upper')|join }}", "bAcA"),
    ("{{ [1, 3, 2]|max }}{{ people|max(attribute='age')|items|count }}", "32"),
    ("{{ [2, 1]|min }}", "1"),
    ("{{ [1, 2, 3]|reject('odd')|join }}{{ [0, 1]|reject|join }}", "20"),
    ("{{ people|rejectattr('age', 'eq', 3)|map(attribute='n')|join }}", "A"),
    ("{{ 'aaa'|replace('a', 'b') }}{{ 'aaa'|replace('a', 'b', 2) }}", "bbbbba"),
    ("{{ 'abc'|reverse }}{{ [1, 2]|reverse|join }}", "cba21"),
    ("{{ 2.567|round(2) }} {{ 2.1|round(0, 'ceil') }}", "2.57 3.0"),
    ("{{ [1, 2, 3]|select('odd')|join }}{{ [0, 1]|select|join }}", "131"),
    ("{{ people|selectattr('age', 'gt', 2)|map(attribute='n')|join }}", "bc"),
    ("{{ [1, 2, 3, 4, 5]|slice(2)|map('join', '-')|join(' ') }}", "1-2-3 4-5"),
    ("{{ [1, 2, 3]|slice(2, 0)|map('join', '-')|join(' ') }}", "1-2 3-0"),
    ("{{ [1, 2]|slice(4)|map('count')|join }}", "1100"),
    (
        "{{ ['b', 'A', 'c']|sort|join }}{{ people|sort(attribute='n')|map(attribute='n')|join }}",
        "AbcAbc",
    ),
    ("{{ [1]|sort(true)|join }}{{ 1|string ~ 2|string }}", "112"),
    ("{{ [1, 2.5]|sum }} {{ people|sum('age') }} {{ []|sum(start=4) }}", "3.5 7 4"),
    ("{{ 'ab cd'|title }}", "Ab Cd"),
    (
        "{{ {'a': '<&>', 'b': [1, none, true]}|tojson }}",
        r'{"a": "\u003c\u0026\u003e", "b": [1, null, true]}',
    ),
    ("{{ {'b': \"it's\", 'a': 'é'}|tojson }}", r'{"a": "\u00e9", "b": "it\u0027s"}'),
    ("{{ [1]|tojson(2) }}{{ [1]|tojson(indent=1) }}", "[\n  1\n][\n 1\n]"),
    ("{{ ' a '|trim }}{{ 'xax'|trim('x') }}", "aa"),
    (
        "{{ 'aaa bbb ccc'|truncate(9, leeway=0) }} {{ 'abcdef'|truncate(4, true, '.', 0) }}",
        "aaa... abc.",
    ),
    ("{{ 'short'|truncate }}", "short"),
    ("{{ [1, 1, 2]|unique|join }}", "12"),
    ("{{ 'ab'|upper }}", "AB"),
    ("{{ 'a b c'|wordcount }}", "3"),
)


@pytest.mark.parametrize(("template", "expected"), FILTERED)
def test_filters(template: str, expected: str) -> None:
    """A filter does what Jinja's of that name does."""
    assert expected == in_full(pieces(template, people=PEOPLE))


def test_every_filter_is_tested() -> None:
    """There is an example of every filter."""
    said = "".join(template for template, _ in FILTERED)
    assert [] == [name for name in FILTERS if f"|{name}" not in said]


def test_which_filters_are_left_out() -> None:
    """What grows, escapes, marks as safe or depends on chance is no filter."""
    assert set() == {"center", "safe", "e", "escape", "random", "attr", "wordwrap"} & FILTERS.keys()


@pytest.mark.parametrize(
    "condition",
    [
        "x is defined and y is undefined",
        "none is none and 1 is not none",
        "1 is odd and 2 is even and 4 is divisibleby 2",
        "true is true and false is false and true is boolean",
        "1 is integer and 1.5 is float and 1 is number",
        "'a' is string and 'a' is lower and 'A' is upper",
        "{} is mapping and [] is sequence and [] is iterable",
        "1 is in [1] and 1 is eq 1 and 1 is ne 2 and 1 is lt 2 and 2 is gt 1",
    ],
)
def test_tests(condition: str) -> None:
    """A test does what Jinja's of that name does."""
    assert ("yes",) == pieces(f"{{% if {condition} %}}yes{{% endif %}}", x=1)


def test_which_tests_are_left_out() -> None:
    """What tells objects apart is no test."""
    assert set() == {"callable", "escaped", "filter", "sameas", "test"} & TESTS.keys()


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ x|tojson }}", "'value' is not a JSON value: "),
        ("{{ [1]|slice(0) }}", "ZeroDivisionError: "),
        ("{{ nope|join }}", "'nope' is undefined"),
        ("{{ nope|sum }}", "'nope' is undefined"),
        ("{{ nope|upper }}", "'nope' is undefined"),
        ("{{ []|first }}", "No first item, sequence was empty."),
        ("{{ []|max }}", "No aggregated item, sequence was empty."),
        ("{{ [1, 'a']|sum }}", "TypeError: "),
        ("{{ [1, 'a']|sort|join }}", "TypeError: "),
        ("{{ 'a'|round }}", "TypeError: "),
        ("{{ ['a']|map|list }}", "FilterArgumentError: map requires a filter argument"),
        ("{{ 'a'|upper(1, 2) }}", "TypeError: "),
    ],
)
def test_what_a_filter_does_not_take(template: str, expected: str) -> None:
    """What a filter cannot work with is an error with its line."""
    nan: Any = float("nan")
    assert fault(template, x=nan).startswith(f"the template, line 1: {expected}")
