"""Author text and values: whatever a value goes through, it stays a value."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import register_templates, trusted
from tests.hostile import HOSTILE
from tests.internals import Inserted, Rope
from tests.templates.rendered import author, pieces, put, values

FILES = {
    "plain": "[{{ x }}]",
    "macros": "{% macro bold(a) %}**{{ a }}**{% endmacro %}{% set kept = '<i>' %}",
    "layout": "top {% block body %}({{ x }}){% endblock %} end",
    "child": "{% extends 'layout.md' %}{% block body %}<{{ super() }}>{{ x }}{% endblock %}lost",
    "with_macro": "{% macro m() %}={{ x }}={% endmacro %}",
}


@pytest.fixture(scope="module", autouse=True)
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with register_templates(put(tmp_path_factory.mktemp("templates"), **FILES)) as folder:
        yield folder


class Flow(NamedTuple):
    """A template, its author text, and the values in it for a value of ``x``."""

    template: str
    author: str
    values: Callable[[str], list[str]]


def once(value: str) -> list[str]:
    """Return the value alone."""
    return [value]


def twice(value: str) -> list[str]:
    """Return the value two times."""
    return [value, value]


FLOWS = {
    "output": Flow("a {{ x }} b", "a  b", once),
    "neighbours": Flow("{{ x }}{{ x }}", "", twice),
    "attribute": Flow("<{{ {'k': x}.k }}>", "<>", once),
    "item": Flow("<{{ [x][0] }}>", "<>", once),
    "if": Flow("{% if true %}#{{ x }}{% else %}no{% endif %}", "#", once),
    "inline if": Flow("- {{ x if true else 'no' }}", "- ", once),
    "for": Flow("{% for i in [x, x] %}- {{ i }};{% endfor %}", "- ;- ;", twice),
    "recursive for": Flow(
        "{% for i in [[x]] recursive %}{% if i is string %}<{{ i }}>{% else %}({{ loop(i) }})"
        "{% endif %}{% endfor %}",
        "(<>)",
        once,
    ),
    "set": Flow("{% set y = x %}= {{ y }}", "= ", once),
    "set block": Flow(
        "{% set y %}<b>{{ x }}</b>{% endset %}{{ y }}|{{ y }}", "<b></b>|<b></b>", twice
    ),
    "set block with filter": Flow(
        "{% set y | upper %}<b>{{ x }}</b>{% endset %}{{ y }}!",
        "!",
        lambda v: [f"<b>{v}</b>".upper()],
    ),
    "namespace": Flow(
        "{% set n = namespace(y='') %}{% set n.y %}({{ x }}){% endset %}{{ n.y }}", "()", once
    ),
    "with": Flow("{% with y = x %}{{ y }};{% endwith %}", ";", once),
    "macro": Flow("{% macro m(a) %}<b>{{ a }}</b>{% endmacro %}{{ m(x) }}", "<b></b>", once),
    "macro in a macro": Flow(
        "{% macro m(a) %}<b>{{ a }}</b>{% endmacro %}{% macro n(a) %}[{{ a }}]{% endmacro %}"
        "{{ n(m(x)) }}",
        "[<b></b>]",
        once,
    ),
    "macro in a list": Flow(
        "{% macro m(a) %}<{{ a }}>{% endmacro %}{% for i in [m(x)] %}{{ i }}{% endfor %}",
        "<>",
        once,
    ),
    "macro with a default": Flow("{% macro m(a=x) %}{{ a }}.{% endmacro %}{{ m() }}", ".", once),
    "call": Flow(
        "{% macro m() %}[{{ caller(x) }}]{% endmacro %}{% call(a) m() %}<{{ a }}>{% endcall %}",
        "[<>]",
        once,
    ),
    "call of a block": Flow("{% block b %}<{{ x }}>{% endblock %}{{ self.b() }}", "<><>", twice),
    "filter block": Flow(
        "{% filter upper %}<b>{{ x }}</b>{% endfilter %}.", ".", lambda v: [f"<B>{v.upper()}</B>"]
    ),
    "filter in a macro": Flow(
        "{% macro m() %}({% filter trim %}<{{ x }}>{% endfilter %}){% endmacro %}{{ m() }}",
        "()",
        lambda v: [f"<{v}>"],
    ),
    "include": Flow("a{% include 'plain.md' %}b", "a[]b", once),
    "include without context": Flow("{% include 'macros.md' without context %}{{ x }}!", "!", once),
    "include in a set block": Flow(
        "{% set y %}{% include 'plain.md' %}{% endset %}{{ y }}", "[]", once
    ),
    "import": Flow("{% import 'macros.md' as m %}{{ m.bold(x) }}", "****", once),
    "from import": Flow("{% from 'macros.md' import bold as b %}{{ b(x) }}", "****", once),
    "import with context": Flow(
        "{% import 'with_macro.md' as m with context %}{{ m.m() }}", "==", once
    ),
    "inheritance": Flow("{% extends 'layout.md' %}", "top () end", once),
    "super": Flow("{% extends 'child.md' %}", "top <()> end", twice),
    "own block": Flow(
        "{% extends 'layout.md' %}{% block body %}!{{ x }}{% endblock %}", "top ! end", once
    ),
    "filter": Flow("{{ x|upper }}!", "!", lambda v: [v.upper()]),
    "filter of a macro": Flow(
        "{% macro m() %}<{{ x }}>{% endmacro %}{{ m()|trim }}", "", lambda v: [f"<{v}>"]
    ),
    "filter that keeps all": Flow(
        "{% macro m() %}<{{ x }}>{% endmacro %}{{ m()|default('') }}", "", lambda v: [f"<{v}>"]
    ),
    "join": Flow("{{ [x, x]|join('<') }}", "", lambda v: [f"{v}<{v}"]),
    "map": Flow("{{ [x]|map('string')|first }}", "", once),
    "concatenation": Flow("{{ '<b>' ~ x }}", "", lambda v: [f"<b>{v}"]),
    "concatenation of a macro": Flow(
        "{% macro m() %}<b>{% endmacro %}{{ m() ~ x }}", "", lambda v: [f"<b>{v}"]
    ),
    "plus": Flow("{{ '<b>' + x }}", "", lambda v: [f"<b>{v}"]),
    "plus nothing": Flow(
        "{% macro m() %}<{{ x }}>{% endmacro %}{{ m() + '' }}", "", lambda v: [f"<{v}>"]
    ),
    "times one": Flow("{{ x * 1 }}", "", once),
    "format": Flow("{{ '<%s>' % x }}", "", lambda v: [f"<{v}>"]),
    "format filter": Flow("{{ '<%s>'|format(x) }}", "", lambda v: [f"<{v}>"]),
    "as a format": Flow("{{ x|replace('%', '')|format }}", "", lambda v: [v.replace("%", "")]),
    "method": Flow("{{ x.upper() }}", "", lambda v: [v.upper()]),
    "slice": Flow("{% macro m() %}{{ x }}{% endmacro %}{{ m()[:] }}", "", once),
    "cycler": Flow("{{ cycler(x).next() }}", "", once),
    "joiner": Flow("{% set j = joiner(x) %}{{ j() }}{{ j() }}", "", once),
}
ANY = st.one_of(st.text(), st.sampled_from(HOSTILE))


@pytest.mark.parametrize("flow", FLOWS.values(), ids=FLOWS)
@given(value=ANY)
def test_a_value_stays_a_value(flow: Flow, value: str) -> None:
    """For any value the author text is the same, and the values are exactly what they are."""
    done = pieces(flow.template, x=value)
    assert (flow.author, [v for v in flow.values(value) if v]) == (author(done), values(done))


def test_a_hostile_value_is_one_piece() -> None:
    """A hostile value is where it was put, whole."""
    values = [*filter(None, HOSTILE)]
    expected = [("a ", Inserted(value, "x"), " b") for value in values]
    assert expected == [pieces("a {{ x }} b", x=value) for value in values]


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("{{ x }}", "x"),
        ("{{ user.name }}", "user.name"),
        ("{{ user['name'] }}", None),
        ("{{ x|upper }}", None),
        ("{{ x ~ '' }}", None),
        ("{% for y in [x] %}{{ y }}{% endfor %}", "y"),
    ],
)
def test_a_value_is_named(template: str, name: str | None) -> None:
    """A value has the name of its variable, where it is simply a name, dotted or not."""
    (piece,) = pieces(template, x="X", user={"name": "X"})
    assert Inserted("X", name) == piece


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("", ()),
        ("{# gone #}", ()),
        ("{{ '' }}", ()),
        ("a{# gone #}b", ("ab",)),
        ("a{{ '' }}b", ("ab",)),
        ("{% if true %}a{% endif %}b", ("ab",)),
        ("{% for i in [1, 2] %}ab{% endfor %}", ("abab",)),
        ("{% raw %}{{ x }}{% endraw %}", ("{{ x }}",)),
        ("{{ 'a' if false }}b", ("b",)),
        ("a\n", ("a",)),
        ("a\n\n", ("a\n",)),
        ("  {% if true %}\n  a\n  {% endif %}\nb", ("  a\nb",)),
    ],
)
def test_author_text_is_joined(template: str, expected: tuple[str, ...]) -> None:
    """Neighbouring author texts are one piece, and empty pieces are left out."""
    assert expected == pieces(template)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ t }}", ("<b>",)),
        ("a{{ t }}b", ("a<b>b",)),
        ("{{ [t][0] }}", ("<b>",)),
        ("{% set y = t %}{{ y }}", ("<b>",)),
        ("{% macro m(a) %}{{ a }}{% endmacro %}{{ m(t) }}", ("<b>",)),
        ("{{ t|trim }}", (Inserted("<b>"),)),
        ("{{ t|default('') }}", (Inserted("<b>"),)),
        ("{{ [t]|first }}", (Inserted("<b>"),)),
        ("{{ t ~ '' }}", (Inserted("<b>"),)),
        ("{{ t + '' }}", (Inserted("<b>"),)),
        ("{{ t * 1 }}", (Inserted("<b>"),)),
        ("{{ t[:] }}", (Inserted("<b>"),)),
        ("{{ t.strip() }}", (Inserted("<b>"),)),
        ("{{ '%s' % t }}", (Inserted("<b>"),)),
        ("{% filter trim %}{{ t }}{% endfilter %}", (Inserted("<b>"),)),
    ],
)
def test_trusted_text_is_author_text(template: str, expected: tuple[Any, ...]) -> None:
    """A string marked by trusted() is author text as it is, and a value after any operation."""
    assert expected == pieces(template, t=trusted("<b>"))


def test_a_rope_is_its_text() -> None:
    """What was captured is the text of its pieces for whatever works on it."""
    rope = Rope(["a", Inserted("b", "x")])
    assert ("ab", ("a", Inserted("b", "x"))) == (rope, rope.pieces)
