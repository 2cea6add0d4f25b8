"""What of a value a template may read with a dot."""

from datetime import date, datetime, time

import pytest

from tests.templates.rendered import fault, in_full, pieces

GIVEN = {
    "text": " Ada Lovelace ",
    "user": {"name": "Ada", "items": "hidden", "tags": ["a", "b", "a"]},
    "day": date(2026, 1, 2),
    "at": datetime(2026, 1, 2, 3, 4, 5),
    "hour": time(3, 4),
}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ text.strip().lower() }}", "ada lovelace"),
        ("{{ text.split()|join('|') }}", "Ada|Lovelace"),
        ("{{ text.replace(' ', '') }}", "AdaLovelace"),
        ("{{ text.replace(' ', '', 1) }}", "Ada Lovelace "),
        ("{{ ', '.join(user.tags) }}", "a, b, a"),
        ("{{ day.strftime('%Y/%m') }}", "2026/01"),
        ("{{ {'copy': 1, 'update': 2}.copy }}{{ {'pop': 3}['pop'] }}", "13"),
        ("{{ text.startswith(' ') and text.find('L') }}", "5"),
        ("{{ user.name }}{{ user['name'] }}", "AdaAda"),
        ("{{ user['items'] }}", "hidden"),
        ("{% for k, v in user.items() %}{{ k }} {% endfor %}", "name items tags "),
        ("{{ user.keys()|join(' ') }}", "name items tags"),
        ("{{ user.values()|first }}", "Ada"),
        ("{{ user.get('name') }}{{ user.get('nope', '?') }}", "Ada?"),
        ("{{ user.tags[0] }}{{ user.tags[-1] }}{{ user.tags[1:]|join }}", "aaba"),
        ("{{ user.tags.count('a') }}{{ user.tags.index('b') }}", "21"),
        ("{{ (1, 2).count(1) }}", "1"),
        ("{{ user['tags']['count']('a') }}", "2"),
        (
            "{{ day.year }}-{{ day.month }}-{{ day.day }} {{ day.isoformat() }}",
            "2026-1-2 2026-01-02",
        ),
        (
            "{{ at.hour }}:{{ at.minute }} {{ at.date() }} {{ at.time() }}",
            "3:4 2026-01-02 03:04:05",
        ),
        ("{{ hour.minute }}", "4"),
        (
            "{% for x in [7, 8] %}{{ loop.index }}{{ loop.index0 }}{{ loop.length }}{% endfor %}",
            "102212",
        ),
        (
            "{% for x in [7, 8] %}{{ loop.cycle('a', 'b') }}{{ loop.nextitem|d('-') }}{% endfor %}",
            "a8b-",
        ),
        ("{% for x in [7, 8] %}{{ x }}{{ ', ' if not loop.last }}{% endfor %}", "7, 8"),
        ("{% for x in [7, 7] %}{{ x if loop.changed(x) }}{% endfor %}", "7"),
        ("{% set n = namespace(a=1) %}{% set n.b = 2 %}{{ n.a }}{{ n.b }}", "12"),
        (
            "{% set c = cycler(1, 2) %}{{ c.next() }}{{ c.current }}{{ c.reset() or c.current }}",
            "121",
        ),
        ("{% set j = joiner() %}{% for x in [1, 2] %}{{ j() }}{{ x }}{% endfor %}", "1, 2"),
        ("{{ dict(a=1).a }}{{ dict([('b', 2)]).b }}", "12"),
    ],
)
def test_what_may_be_read(template: str, expected: str) -> None:
    """A dot or brackets read items, and the public methods and attributes that change nothing."""
    assert expected == in_full(pieces(template, **GIVEN))


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ user.tags.append('x') }}", "a list has no 'append'\n  known: copy, count, index"),
        ("{{ user.pop('name') }}", "a mapping has no 'pop'\n  known: items, name, tags"),
        ("{{ day.isofromat() }}", "date has no 'isofromat'\n  did you mean 'isoformat'?"),
        ("{{ text.format() }}", "a string has no 'format'\n  known: "),
        ("{{ text.uper() }}", "a string has no 'uper'\n  did you mean 'upper'?"),
        (
            "{% set n = namespace(a=1) %}{{ n.b }}",
            "Namespace has no 'b'\n  check first whether",
        ),
        (
            "{% for x in [1] %}{{ loop.indx }}{% endfor %}",
            "LoopContext has no 'indx'\n  did you mean",
        ),
        ("{{ text.count }}", "text.count is a function, which is not text"),
        ("{{ user.tags['x'] }}", "a list has no 'x'\n  "),
    ],
)
def test_what_may_not_be_read(template: str, expected: str) -> None:
    """Anything else is undefined, and the error says what may be read."""
    assert fault(template, **GIVEN).startswith(f"the template, line 1: {expected}")
