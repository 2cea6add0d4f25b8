"""Rendering: which template it is, what may be put out, and that nothing is left behind."""

import pickle
import subprocess
import sys
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from promptdsl import ContentError, TemplateError, register_templates
from tests.internals import Inserted, TemplateSource, template_sandbox
from tests.templates.rendered import (
    fault,
    file_fault,
    file_pieces,
    in_full,
    pieces,
    put,
    template_pieces,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", "text"),
        (42, "42"),
        (-1.5, "-1.5"),
        (float("nan"), "nan"),
        (Decimal("1.10"), "1.10"),
        (Fraction(1, 3), "1/3"),
        (date(2026, 1, 2), "2026-01-02"),
        (datetime(2026, 1, 2, 3, 4), "2026-01-02T03:04:00"),
        (time(3, 4), "03:04:00"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ],
)
def test_what_is_text(value: object, expected: str) -> None:
    """Strings, numbers, dates, times and UUIDs are put out as text."""
    assert (Inserted(expected, "x"),) == pieces("{{ x }}", x=value)


NO_TEXT = 'write the text for it: {{ "yes" if flag else "no" }}, {% if value is none %}'
LISTED = 'write {{ x|join(", ") }} or {{ x|tojson }}, or loop over it'


@pytest.mark.parametrize(
    ("template", "value", "expected"),
    [
        ("{{ x }}", None, f"x is None, which is not text\n  {NO_TEXT}"),
        ("{{ x }}", True, f"x is True, which is not text\n  {NO_TEXT}"),
        ("{{ x }}", False, f"x is False, which is not text\n  {NO_TEXT}"),
        ("{{ x.y }}", {"y": None}, f"x.y is None, which is not text\n  {NO_TEXT}"),
        ("{{ x or none }}", "", f"a value is None, which is not text\n  {NO_TEXT}"),
        ("{{ x ~ '' }}", None, f"a value is None, which is not text\n  {NO_TEXT}"),
        ("{{ x|upper }}", None, f"a value is None, which is not text\n  {NO_TEXT}"),
        ("{{ [x]|join }}", None, f"a value is None, which is not text\n  {NO_TEXT}"),
        ("{{ '%s' % x }}", None, f"a value is None, which is not text\n  {NO_TEXT}"),
        ("{{ x }}", [], f"x is a list, which is not text\n  {LISTED}"),
        ("{{ x }}", {}, f"x is a mapping, which is not text\n  {LISTED}"),
        (
            "{{ [x] }}",
            1,
            "a value is a list, which is not text\n  "
            'write {{ value|join(", ") }} or {{ value|tojson }}, or loop over it',
        ),
        (
            "{{ namespace() }}",
            1,
            "Namespace is not text\n  write the attribute or item of it that is text",
        ),
        (
            "{% macro m() %}{% endmacro %}{{ m }}",
            1,
            "m is a function, which is not text\n  call it: {{ m() }}",
        ),
        (
            "{{ x.upper }}",
            "a",
            "x.upper is a function, which is not text\n  call it: {{ x.upper() }}",
        ),
        (
            "{{ {}.get }}",
            "a",
            "a value is a function, which is not text\n  call it: {{ name() }}",
        ),
    ],
)
def test_what_is_no_text(template: str, value: object, expected: str) -> None:
    """None, booleans, lists, mappings and objects are no text; the error says what to write."""
    assert f"the template, line 1: {expected}" == fault(template, x=value)


def test_live_objects_are_refused() -> None:
    """Variables that are no plain data are an error of their own."""
    with pytest.raises(ContentError, match=r"vars\.x is an object, not plain data: object"):
        pieces("{{ x }}", x=object())


def test_a_template_by_name(tmp_path: Path) -> None:
    """A name is looked up in the folders that are registered."""
    with register_templates(put(tmp_path, hello="Hello {{ name }}!")):
        assert ("Hello ", Inserted("Ada", "name"), "!") == file_pieces("hello.md", name="Ada")


def test_a_shipped_template_by_name() -> None:
    """A template that comes with promptdsl is found last."""
    fields = {"event": "left", "source": None, "details": []}
    assert (Inserted("left", "event"),) == file_pieces("events/system_event.md.j2", **fields)


def test_a_template_by_path(tmp_path: Path) -> None:
    """A path is read as it is passed in code."""
    put(tmp_path, hello="Hello!")
    assert ("Hello!",) == template_pieces(TemplateSource.of(tmp_path / "hello.md"), {})


def test_includes_of_a_path(tmp_path: Path) -> None:
    """What a file includes is looked up next to it first, then in the registered folders."""
    beside, shared = tmp_path / "a", tmp_path / "b"
    beside.mkdir()
    shared.mkdir()
    put(beside, main="{% include 'x.md' %}{% include 'y.md' %}", x="beside ")
    put(shared, x="shared ", y="found")
    with register_templates(shared):
        done = template_pieces(TemplateSource.of(beside / "main.md"), {})
    assert ("beside found",) == done


def test_a_missing_template(tmp_path: Path) -> None:
    """A name no folder has is an error that suggests one there is."""
    with register_templates(put(tmp_path, greeting="Hi.")):
        expected = "there is no template 'greting.md'\n  did you mean 'greeting.md'?"
        assert expected == file_fault("greting.md")


def test_a_missing_file(tmp_path: Path) -> None:
    """A path where no file is is an error that names it."""
    path = tmp_path / "none.md"
    with pytest.raises(TemplateError) as caught:
        template_pieces(TemplateSource.of(path), {})
    assert f"there is no template file {str(path)!r}\n  check the path" == str(caught.value)


def compiled() -> int:
    """Return how many templates were compiled so far."""
    return template_sandbox().compiled.cache_info().misses


def test_a_text_is_compiled_once() -> None:
    """A template passed as text is compiled once, whatever it is rendered with."""
    before = compiled()
    done = [in_full(pieces("compiled once: {{ x }}", x=value)) for value in ("a", "b")]
    assert (["compiled once: a", "compiled once: b"], 1) == (done, compiled() - before)


def test_a_file_is_compiled_once(tmp_path: Path) -> None:
    """A file is compiled once, as is what it includes."""
    before = compiled()
    with register_templates(put(tmp_path, a="{% include 'b.md' %}", b="b")):
        done = [in_full(file_pieces("a.md")) for _ in range(3)]
    assert (["b", "b", "b"], 2) == (done, compiled() - before)


def test_a_changed_file_is_compiled_again(tmp_path: Path) -> None:
    """With ``reload`` a file that changed is read again, also where it is included."""
    with register_templates(put(tmp_path, a="{% include 'b.md' %}", b="old"), reload=True):
        old = in_full(file_pieces("a.md"))
        before = compiled()
        put(tmp_path, b="longer")
        new = in_full(file_pieces("a.md"))
    assert ("old", "longer", 1) == (old, new, compiled() - before)


def test_what_is_kept_is_bounded() -> None:
    """As many compiled templates are kept as fit, and no more."""
    assert 256 == template_sandbox().compiled.cache_info().maxsize


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    """A module that is imported starts anew in every rendering."""
    text = (
        "{% set n = namespace(i=0) %}{% macro m() %}{% set n.i = n.i + 1 %}{{ n.i }}{% endmacro %}"
    )
    with register_templates(put(tmp_path, count=text)):
        template = "{% import 'count.md' as c %}{% import 'count.md' as d %}{{ c.m() }}{{ d.m() }}"
        done = [in_full(pieces(template)) for _ in range(2)]
    assert ["12", "12"] == done


def test_variables_hide_globals() -> None:
    """A variable may be called what a function of templates is called."""
    assert (Inserted("a", "range"),) == pieces("{{ range }}", range="a")


def test_very_many_levels() -> None:
    """Variables of 200 levels are taken and given on."""
    data: Any = "end"
    for _ in range(199):
        data = [data]
    template = (
        "{% set n = namespace(x=x) %}{% for i in range(depth) %}{% set n.x = n.x[0] %}{% endfor %}"
        "{{ n.x }}"
    )
    assert "end" == in_full(pieces(template, x=data, depth=199))


ALONE = """
import sys
from promptdsl import Developer, Template, register_templates, render

register_templates(sys.argv[1])
part = Developer(Template("a.md", x="a"))
print("jinja2" in sys.modules)
render(part)
print("jinja2" in sys.modules)
"""


@pytest.mark.slow
def test_jinja_waits(tmp_path: Path) -> None:
    """Jinja is imported when the first template is rendered, and not before."""
    put(tmp_path, a="{{ x }}")
    command = [sys.executable, "-c", ALONE, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "False\nTrue\n" == done.stdout


WATCHED = """
import sys
from pathlib import Path
from promptdsl import Developer, Template, register_templates, render

folder = sys.argv[1]
register_templates(folder)
render(Developer(Template("warm.md", x="a")))
seen = []
watched = ("open", "socket.", "subprocess.", "os.system", "os.exec", "os.fork", "import")
sys.addaudithook(lambda event, args: event.startswith(watched) and seen.append((event, args[0])))
render(Developer(Template("a.md", x="import os", y=folder)))
print([name for event, name in seen if event == "open" and name in ("a.md", "b.md")])
print([event for event, _ in seen if event not in ("open", "import")])
print([name for event, name in seen if event == "open" and str(name).endswith((".py", ".pyc"))])
"""


def test_only_templates_are_read(tmp_path: Path) -> None:
    """A rendering reads its templates once each, opens no socket and starts no process."""
    put(tmp_path, a="{% include 'b.md' %}{{ x }}{{ y }}", b="{{ x }}{{ y }}", warm="{{ x ~ 'a' }}")
    command = [sys.executable, "-c", WATCHED, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "['a.md', 'b.md']\n[]\n[]\n" == done.stdout


def test_the_time_zone_is_an_offset() -> None:
    """A time with a zone keeps its offset."""
    zone = timezone(timedelta(hours=2))
    assert "2026-01-02T03:04:00+02:00" == in_full(
        pieces("{{ x }}", x=datetime(2026, 1, 2, 3, 4, tzinfo=zone))
    )


@pytest.mark.parametrize(
    "source",
    [
        TemplateSource.of("a.md"),
        TemplateSource.of(Path("a.md")),
        TemplateSource.from_text("{{ x }}"),
    ],
    ids=["name", "path", "text"],
)
def test_a_source_is_a_value(source: TemplateSource) -> None:
    """A source is the same after a pickle, and as a key."""
    again = pickle.loads(pickle.dumps(source))
    assert (source, True) == (again, again in {source})
