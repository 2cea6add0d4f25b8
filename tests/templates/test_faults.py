"""What goes wrong in a template, with its name and line, and what to do."""

import sys
from pathlib import Path
from typing import Any

import pytest

from promptdsl import System, Template, TemplateError, register_templates, render
from tests.errors import lines_of, raised
from tests.templates.rendered import fault, file_fault, put

PEOPLE = {"user": {"name": "Ada", "plan": "pro"}, "items": [1]}
THERE = "check first whether it is defined: {% if value is defined %}"

OTHER = "the call has user=...: write usr=... there, or 'user' in the template"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ usr }}", f"line 1: 'usr' is undefined\n  {OTHER}"),
        ("a\n{{ usr }}", f"line 2: 'usr' is undefined\n  {OTHER}"),
        ("a\n\n{% if usr %}{% endif %}", f"line 3: 'usr' is undefined\n  {OTHER}"),
        ("{% for x in usr %}{% endfor %}", f"line 1: 'usr' is undefined\n  {OTHER}"),
        ("{{ usr.name }}", f"line 1: 'usr' is undefined\n  {OTHER}"),
        ("{{ zzz }}", "line 1: 'zzz' is undefined\n  known: items, user"),
        ("{{ user.nmae }}", "line 1: a mapping has no 'nmae'\n  did you mean 'name'?"),
        ("{{ user['nmae'] }}", "line 1: a mapping has no 'nmae'\n  did you mean 'name'?"),
        ("{{ user.name.uper() }}", "line 1: a string has no 'uper'\n  did you mean 'upper'?"),
        ("{{ items[1] }}", f"line 1: a list has no 1\n  {THERE}"),
        (
            "{{ items|map(attribute='numer')|first }}",
            "line 1: int has no 'numer'\n  did you mean 'numerator'?",
        ),
        (
            "{{ super() }}",
            "line 1: 'super' is undefined\n"
            "  super() is defined in a {% block %} of a template that extends another one",
        ),
        (
            "{% block a %}\n{{ super() }}{% endblock %}",
            f"line 2: there is no parent block called 'a'.\n  {THERE}",
        ),
        (
            "{% macro m(a) %}{{ a }}{% endmacro %}{{ m() }}",
            f"line 1: parameter 'a' was not provided\n  {THERE}",
        ),
        (
            "{{ 1 + (1 if false) }}",
            "line 1: UndefinedError: the inline if-expression on line 1 evaluated to false and no"
            " else section was defined.\n  check the variables",
        ),
    ],
)
def test_what_is_undefined(template: str, expected: str) -> None:
    """A name that is not given is an error, with its line and the nearest one that is."""
    assert f"the template, {expected}" == fault(template, **PEOPLE)


def test_no_variables() -> None:
    """Where there are no variables, the error says so."""
    fix = "no variables were passed: write Template(..., x=...)"
    expected = f"the template, line 1: 'x' is undefined\n  {fix}"
    assert expected == fault("{{ x }}")


def test_a_variable_that_was_not_passed_on(tmp_path: Path) -> None:
    """A module that is imported does not know the variables, unless it is imported with context."""
    with register_templates(put(tmp_path, a="{% macro m() %}\n{{ x }}{% endmacro %}")):
        assert (
            "template 'a.md', line 2: 'x' is undefined\n"
            "  it is not defined there: import the template with context, or pass the variable"
        ) == fault("{% import 'a.md' as a %}{{ a.m() }}", x="x")


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("a\n{% if %}", "line 2: Expected an expression, got 'end of statement block'"),
        ("{{ x", "line 1: unexpected end of template, expected 'end of print statement'."),
        (
            "{% block a %}{% endblock %}\n{% block a %}{% endblock %}",
            "line 2: block 'a' defined twice",
        ),
        ("{% autoescape true %}{% endautoescape %}", "line 1: autoescape is not supported:"),
        ("{{ 1e999 }}", "line 1: a number is too large"),
    ],
)
def test_what_is_no_template(template: str, expected: str) -> None:
    """A template that cannot be read is an error with its line."""
    assert fault(template).startswith(f"the template, {expected}")


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ 'x'|uper }}", "there is no filter 'uper'\n  did you mean 'upper'?"),
        ("{% if x is dfined %}{% endif %}", "there is no test 'dfined'\n  did you mean 'defined'?"),
        (
            "{% if false %}{{ 'x'|uper }}{% endif %}",
            "there is no filter 'uper'\n  did you mean 'upper'?",
        ),
        ("{{ ['x']|map('uper')|list }}", "there is no filter 'uper'\n  did you mean 'upper'?"),
        (
            "{{ ['x']|select('dfined')|list }}",
            "there is no test 'dfined'\n  did you mean 'defined'?",
        ),
        (
            "{{ 'x'|safe }}",
            "there is no filter 'safe'\n"
            "  pass trusted(text) as the variable, and write {{ name }} without a filter",
        ),
        (
            "{{ 'x'|e }}",
            "there is no filter 'e'\n  leave it out: every value is encoded",
        ),
    ],
)
def test_what_is_not_known(template: str, expected: str) -> None:
    """A filter or test there is none of is an error that says which there is, or what to do."""
    assert f"the template, line 1: {expected}" == fault(template)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ 1 // 0 }}", "ZeroDivisionError: "),
        ("{{ 1 + 'a' }}", "TypeError: unsupported operand"),
        ("{{ 'a'() }}", "TypeError: 'str' object is not callable"),
        ("{% for x in 5 %}{% endfor %}", "TypeError: 'int' object is not iterable"),
        ("{{ 'a'|truncate(1) }}", "AssertionError: "),
        ("{% include 5 %}", "TypeError: 'int' object is not iterable"),
        ("{% include [5] %}", "the name of a template must be a string, not int"),
        ("{% include ['a', 'b'] %}", "no folder has one of the templates ['a', 'b']"),
        (
            "{% block a required %}{% endblock %}",
            "TemplateRuntimeError: Required block 'a' not found",
        ),
    ],
)
def test_what_goes_wrong(template: str, expected: str) -> None:
    """Whatever goes wrong while a template runs is an error with its line."""
    assert fault(template).startswith(f"the template, line 1: {expected}")


@pytest.mark.parametrize("template", ["{% include x %}", "{% extends x %}", "{% import x as m %}"])
def test_a_template_that_is_not_given(template: str) -> None:
    """The name of a template may be undefined like any other."""
    assert fault(template, y=1).startswith("the template, line 1: 'x' is undefined")


def test_the_innermost_template_is_named(tmp_path: Path) -> None:
    """An error names the template it happened in, not the one that included it."""
    files = {
        "a": "{% include 'b.md' %}",
        "b": "\n\n{{ usr }}",
        "c": "\n{% if %}",
        "d": "{% include 'c.md' %}",
    }
    with register_templates(put(tmp_path, **files)):
        assert [
            "template 'b.md', line 3",
            "template 'c.md', line 2",
            "template 'a.md', line 1",
        ] == [
            file_fault("a.md", user=1).split(":")[0],
            file_fault("d.md").split(":")[0],
            fault("{% include 'none.md' %}{{ x }}")
            .split(":")[0]
            .replace("the template", "template 'a.md'"),
        ]


def test_a_missing_include_is_named(tmp_path: Path) -> None:
    """A template that is not there is named where it is included."""
    with register_templates(put(tmp_path, a="\n{% include 'greting.md' %}", greeting="Hi.")):
        assert (
            "template 'a.md', line 2: there is no template 'greting.md'\n"
            "  did you mean 'greeting.md'?"
        ) == file_fault("a.md")


def test_a_file_is_named_by_its_path(tmp_path: Path) -> None:
    """An error in a file that was passed by its path names the path."""
    path = put(tmp_path, a="\n{{ x }}") / "a.md"
    with pytest.raises(TemplateError) as caught:
        render(System(Template(path)))
    assert f"template {str(path)!r}, line 2: 'x' is undefined" == caught.value.what


DEEP = (
    "it is nested too deep\n  look for a template or macro that includes, extends or calls itself"
)


@pytest.mark.parametrize(
    "files",
    [
        {"a": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"},
        {"a": "{% include 'a.md' %}"},
        {"a": "{% include 'b.md' %}", "b": "{% include 'a.md' %}"},
        {"a": "{% import 'a.md' as a %}"},
        {"a": "{% extends 'a.md' %}"},
        {"a": "{% block x %}{{ self.x() }}{% endblock %}"},
        {"a": "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}"},
        {
            "a": "{% macro m() %}{{ caller() }}{% call m() %}{% endcall %}{% endmacro %}"
            "{% call m() %}{% endcall %}"
        },
    ],
    ids=["macro", "include", "two", "import", "extends", "block", "loop", "call"],
)
def test_what_goes_too_deep(files: dict[str, str], tmp_path: Path) -> None:
    """What calls or includes itself without end is an error of its template."""
    with register_templates(put(tmp_path, **files)):
        assert file_fault("a.md").endswith(DEEP)


NESTED = "the template is nested too deep\n  move parts of it into macros"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}", NESTED),
        ("{% if 1 %}" * 1_000 + "{% endif %}" * 1_000, NESTED),
        (
            "{% for i in [1] %}" * 30 + "{% endfor %}" * 30,
            "the template cannot be compiled: too many statically nested blocks\n"
            "  simplify the template",
        ),
        (
            "{% macro m(a, a) %}{% endmacro %}",
            "the template cannot be compiled: duplicate argument 'l_1_a' in function definition\n"
            "  simplify the template",
        ),
    ],
    ids=["expressions", "conditions", "loops", "arguments"],
)
def test_what_cannot_be_compiled(template: str, expected: str) -> None:
    """A template that is too deep, or no program, is an error."""
    assert expected == fault(template)


def test_a_number_of_too_many_digits() -> None:
    """A number with more digits than Python reads is an error."""
    digits = "9" * (sys.get_int_max_str_digits() + 1)
    assert fault(f"{{{{ {digits} }}}}").startswith(
        "the template cannot be compiled: Exceeds the limit"
    )


def test_an_error_of_data_is_short() -> None:
    """An error names a hundred of the keys of a value, not all of them."""
    big: dict[str, Any] = {f"key {number}": 1 for number in range(10_000)}
    names = ", ".join(sorted(f"key {number}" for number in range(100)))
    expected = f"the template, line 1: a mapping has no 'y'\n  known: {names}"
    assert expected == fault("{{ x.y }}", x=big)


HIDDEN = (
    "{{ ''.__class__ }}",
    "{{ ''['__class__'] }}",
    "{{ x.__init__ }}",
    "{{ m.__call__ }}{% macro m() %}{% endmacro %}",
    "{{ range.__globals__ }}",
    "{{ namespace().__class__ }}",
    "{{ self.__class__ }}",
    "{{ self._TemplateReference__context }}",
    "{{ [x]|map(attribute='__class__')|list|first }}",
    "{{ x.format(1) }}",
    "{{ x.format_map({}) }}",
    "{{ [].append(1) }}",
    "{{ {}.update(x) }}",
    "{% for i in [1] %}{{ loop._iterable }}{% endfor %}",
    "{{ dict['x'] }}",
    "{{ lipsum() }}",
    "{{ x|attr('upper') }}",
    "{{ x|random }}",
    "{{ x|pprint }}",
    "{{ x|xmlattr }}",
    "{% from 'events/user_action.md.j2' import __class__ %}",
    "{% import 'events/system_event.md.j2' as m with context %}{{ m._body_stream }}",
)


@pytest.mark.parametrize("template", HIDDEN)
def test_what_is_hidden(template: str) -> None:
    """Nothing behind a value can be reached, and nothing that is left out."""
    assert fault(template, x="a", source="a", event="b", details=[]).startswith(
        "the template, line 1:"
    )


@pytest.mark.parametrize("mark", ["{name}", "${name}", "$name", "%(name)s"])
def test_a_variable_marked_in_the_way_of_another_library(mark: str) -> None:
    """Text that marks a variable in another way is an error at its line, other braces are text."""

    def write() -> None:
        Template.from_string(f"Hello {mark}.", name="Ann")

    error = raised(TemplateError, write)
    other = ", or Template.from_format(text) for {name}" if "{name}" in mark else ""
    assert (f"write {{{{ name }}}}{other}", lines_of(write, 1)) == (error.fix, error.at)
    others = [f"{mark} is {{{{ name }}}}", "{other} $na"]
    assert [f"{mark} is Ann", "{other} $na"] == [
        render(System(Template.from_string(text, name="Ann"))).messages[0].text for text in others
    ]
