"""Texts written for ``str.format``, as templates."""

from collections.abc import Callable
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.errors import lines_of, raised
from tests.hostile import VALUES
from tests.renders import losses_of, only_text
from tests.searching import examples


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use {shell}.", "Use &lt;event>."),
        ("{shell}{shell}", "&lt;event>&lt;event>"),
        ("{{shell}} {{{shell}}} }}{{", "{shell} {&lt;event>} }{"),
        ("{self}, {class}, {range}, {loop}: {shell}", "1, 2, 3, 4: &lt;event>"),
        (
            "{{% if shell %}}{{# {shell} #}}",
            "{% if shell %}{# &lt;event> #}",
        ),
        ("---\ntitle: a\n---\n{shell}", "---\ntitle: a\n---\n&lt;event>"),
        ("\n    Use\n      {shell}.\n\n", "\n    Use\n      &lt;event>.\n\n"),
    ],
)
def test_what_a_text_comes_to(text: str, expected: str) -> None:
    """Fields are values, two braces are one, and Jinja's tags and front matter are text."""
    given = {"self": 1, "class": 2, "range": 3, "loop": 4}
    assert expected == only_text(System(Template.from_format(text, given, shell="<event>")))


NAME = "name the field: {name}, and write name=... after the text"
PART = "take the part of a in Python, and give it a name: {name}"
FORMAT = "format a in Python and write {a}; for braces in the text write {{ and }}"
BRACES = "write a field as {name}, and braces in the text as {{ and }}"


@pytest.mark.parametrize(
    ("text", "problem", "fix"),
    [
        ("{}", "'{}' is not a field", NAME),
        ("a\n{0}", "'{0}' is not a field", NAME),
        ("{:>5}", "'{:>5}' is not a field", NAME),
        ("{a.b}", "'{a.b}' is not a field", PART),
        ("{a[0]}", "'{a[0]}' is not a field", PART),
        ("{a!r}", "'{a!r}' is not a field", FORMAT),
        ("{a:>5}", "'{a:>5}' is not a field", FORMAT),
        ("{ a }", "'{ a }' is not a field", BRACES),
        ('{"a": 1}', "'{\"a\": 1}' is not a field", BRACES),
        ("{a\n}", "'{a\\n}' is not a field", BRACES),
        ("{a", "a single {", BRACES),
        ("{a}}", "a single }", BRACES),
        ("a\n\nb } {a}", "a single }", BRACES),
        ("{a:{a}}", "a single {", BRACES),
    ],
)
def test_braces_that_are_no_field(text: str, problem: str, fix: str) -> None:
    """Any other field, and a brace without a partner, is an error with its line and advice."""

    def write() -> None:
        Template.from_format(text, a=1)

    error = raised(TemplateError, write)
    line = 1 + text.partition(problem[-1] if "single" in problem else "{")[0].count("\n")
    assert f"the template, line {line}: {problem}" == error.what
    assert (fix, lines_of(write, 1)) == (error.fix, error.at)


@pytest.mark.parametrize(
    ("given", "problem", "fix"),
    [
        ({}, "'shell' is undefined", "write shell=... after the text"),
        (
            {"shel": 1},
            "'shell' is undefined",
            "the call has shel=...: write shell=... there, or 'shel' in the template",
        ),
    ],
)
def test_a_missing_variable(given: dict[str, Any], problem: str, fix: str) -> None:
    """A field without a variable is an error where the text is written."""

    def write() -> None:
        Template.from_format("Use {shell}.", given)

    error = raised(TemplateError, write)
    assert (f"the template: {problem}", fix, lines_of(write, 1)) == (
        error.what,
        error.fix,
        error.at,
    )


@pytest.mark.parametrize(
    ("value", "what"), [(None, "None"), (True, "True"), (["a"], "a list"), ({"a": 1}, "a mapping")]
)
def test_a_variable_that_is_no_text(value: object, what: str) -> None:
    """What Jinja does not write as text is an error here, too, without advice for Jinja."""
    error = raised(TemplateError, lambda: render(System(Template.from_format("{a}", a=value))))
    assert f"the template: a is {what}, which is not text" == error.what
    assert "convert it to text in Python" == error.fix


@pytest.mark.parametrize(
    ("text", "what", "why"),
    [
        (
            "{a}",
            "the variable 'b'",
            "its template does not use it; write {b} where it goes, or leave it out",
        ),
        (
            "{{ a }}",
            "the template '{{ a }}'",
            "it uses none of its variables; write {name} where one goes, not {{ name }}",
        ),
    ],
)
def test_a_variable_that_is_not_used(text: str, what: str, why: str) -> None:
    """A variable that has no field is a hint, as one that a template of Jinja does not use."""
    (hint,) = render(System(Template.from_format(text, a=1, b=2))).hints
    assert ("unused_variable", what, why) == (hint.name, hint.what, hint.why)


def test_a_mapping_of_which_little_is_used() -> None:
    """A mapping for many texts is no hint."""
    assert [] == losses_of(System(Template.from_format("{a}", {"a": 1, "b": 2, "c": 3})))


TURNS: tuple[Callable[[Node], Node], ...] = (System, User, Assistant, Ephemeral)
ANY_VALUE = VALUES | VALUES.map(trusted) | st.integers() | VALUES.map(lambda v: ("volatile", v))


@pytest.mark.parametrize("turn", TURNS)
@given(value=ANY_VALUE)
@examples(200, 10)
def test_values_are_those_of_jinja(turn: Callable[[Node], Node], value: Any) -> None:
    """Any value is sent, and reported, as that of a template of Jinja."""

    def rendered(write: Callable[..., Node], text: str) -> object:
        it = Volatile(value[1], "now") if isinstance(value, tuple) else value
        result = render(turn(write(text, v=it)))
        spans = [(span.start, span.end, span.kind, span.label) for span in result.spans()]
        return [message.text for message in result.messages], spans

    jinja = rendered(Template.from_string, "<b>It</b> is {{ v }}, \n{{ v }}")
    assert jinja == rendered(Template.from_format, "<b>It</b> is {v}, \n{v}")


@given(text=st.text(st.sampled_from("{}{}{}ab!:.[0 \n")))
@examples(2000, 100)
def test_any_text_is_that_of_str_format(text: str) -> None:
    """A text is refused if it has another field than a name, otherwise it is that of Python."""
    try:
        parts = [(part[0], part[1]) for part in Formatter().parse(text)]
    except ValueError:
        parts = [("", "")]
    again = (
        written.replace("{", "{{").replace("}", "}}") + ("" if name is None else f"{{{name}}}")
        for written, name in parts
    )
    names = [name for _, name in parts if name is not None]
    is_good = "".join(again) == text and all(map(str.isidentifier, names))
    given = dict.fromkeys(["a", "b", "ab", "ba", *names], "x")
    try:
        found = "".join(
            message.text for message in render(User(Template.from_format(text, given))).messages
        )
    except TemplateError:
        assert not is_good
    else:
        assert text.format_map(given) == found


ENDED = "\n# Rules\n\n  Be kind.\n\n"
PLACES: dict[str, Callable[[Node], Node]] = {
    "system": System,
    "section": lambda part: System(Section("rules", part)),
    "developer": Developer,
    "user": User,
    "event": Event,
    "ephemeral": Ephemeral,
    "beside others": lambda part: System("a", part, "b", separator="\n"),
    "list": lambda part: System(List(part)),
    "result": lambda part: ToolMessage("a", part),
}


@pytest.mark.parametrize("place", PLACES)
def test_line_ends_around_a_text(place: str, tmp_path: Path) -> None:
    """A text that is passed as it is comes out as a registered file does, in every place."""

    def sent(part: Node) -> str:
        call = Assistant(ToolUse("f", {}, id="a"))
        before = (User("q"), call) if place == "result" else ()
        prompt = Timeline(*before, PLACES[place](part))
        return str(render(prompt).messages[-1])

    (tmp_path / "rules.md").write_text(ENDED)
    with register_templates(tmp_path, keep_trailing_newline=True):
        expected = sent(Template("rules.md"))
    assert expected == sent(Template.from_format(ENDED))
    assert expected == sent(Template.from_string(ENDED, keep_trailing_newline=True))


def test_an_indented_text_of_code() -> None:
    """A text of Jinja that does not keep its last line end is dedented, as a string is."""
    assert "a\n  b" == only_text(System(Template.from_string("\n    a\n      b\n    ")))
