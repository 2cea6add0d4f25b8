"""Front matter: what a template says about itself, its inputs, and what is wrong with it."""

from datetime import date, datetime
from typing import Any

import pytest

from promptdsl import Input, System, Template, TemplateError, Volatile, render, trusted
from tests.internals import FrontMatter, split
from tests.templates.rendered import fault, in_full, pieces

AS_TEXT = 'to send "---" as text, begin the file with {# #}'
DECLARES = "write name: type = default  # doc"
TYPES = "the types are str, int, float, bool, date, list[...] of these, or one of A, B"
NO_JSON = 'write JSON: "text", 3, true, ["a"]; a date is 2026-01-31'


def inputs_of(*lines: str) -> tuple[Input, ...] | None:
    """Return the inputs that these lines declare."""
    front, _ = split("---\ninputs:\n" + "".join(f"  {line}\n" for line in lines) + "---\n", None)
    return None if front is None else front.inputs


def wrong(source: str) -> tuple[str, str]:
    """Return the error of front matter, and what to do."""
    with pytest.raises(TemplateError) as caught:
        split(source, "a.md")
    return caught.value.what, caught.value.fix


@pytest.mark.parametrize(
    "source",
    ["", "Hi.", "----\n", "--- a\n---\n", " ---\n---\n", "\n---\n---\n", "{# #}---\n---\n", "--"],
)
def test_a_template_without_front_matter(source: str) -> None:
    """Only a first line of three hyphens begins front matter."""
    assert (None, source) == split(source, None)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("---\n---\nHi.", (FrontMatter(lines=2), "Hi.")),
        ("---\n---", (FrontMatter(lines=1), "")),
        ("--- \t\n---  \n\n \t\n  Hi.\n", (FrontMatter(lines=4), "  Hi.\n")),
        ("---\r\ntitle: A\r\n---\r\n\r\nHi.\r\n", (FrontMatter("A", lines=4), "Hi.\r\n")),
        ("---\rtitle: A\r---\rHi.", (FrontMatter("A", lines=3), "Hi.")),
        (
            "---\ntitle: A: b # c \ndescription:\tD\n# no\n\n---\nHi.",
            (FrontMatter("A: b # c", "D", lines=6), "Hi."),
        ),
        ("---\ninputs: # none\n---\nHi.", (FrontMatter(inputs=(), lines=3), "Hi.")),
        (
            "---\ninputs:\n\n  # first\n  a: str\n\tb : int\n\ntitle: T\n---\n",
            (FrontMatter("T", inputs=(Input("a", "str"), Input("b", "int")), lines=9), ""),
        ),
        ("---\n---\n---\nHi.", (FrontMatter(lines=2), "---\nHi.")),
    ],
)
def test_front_matter(source: str, expected: tuple[FrontMatter, str]) -> None:
    """Front matter is read; it and the empty lines after it are no text of the template."""
    assert expected == split(source, None)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a: str", Input("a", "str")),
        ("a: str # the a: b", Input("a", "str", "the a: b")),
        ('a:str="x # y"#z', Input("a", "str", "z", False, "x # y")),
        ('a: str = ""', Input("a", "str", "", False, "")),
        ("a: int = -3", Input("a", "int", "", False, -3)),
        ("a: float = 3", Input("a", "float", "", False, 3)),
        ("a: float = 2.5e3", Input("a", "float", "", False, 2500.0)),
        ("a: bool = true", Input("a", "bool", "", False, True)),
        ("a: date = 2026-01-31", Input("a", "date", "", False, date(2026, 1, 31))),
        ('a: date = "2026-01-31"', Input("a", "date", "", False, date(2026, 1, 31))),
        ("a: one of EU, US", Input("a", "one of EU, US")),
        ("a: one of EU,US = US # r", Input("a", "one of EU, US", "r", False, "US")),
        ('a: one  of "U S", x.y-z = "U S"', Input("a", 'one of "U S", x.y-z', "", False, "U S")),
        ("a: list[str]", Input("a", "list[str]")),
        ('a: list[ str ] = ["x", "]"]', Input("a", "list[str]", "", False, ["x", "]"])),
        ("a: list[list[int]] = [[1], []]", Input("a", "list[list[int]]", "", False, [[1], []])),
        ('a: list[one of b, c] = ["c"]', Input("a", "list[one of b, c]", "", False, ["c"])),
        (
            'a: list[date] = ["2026-01-31"]',
            Input("a", "list[date]", "", False, [date(2026, 1, 31)]),
        ),
    ],
)
def test_an_input(line: str, expected: Input) -> None:
    """A line declares an input: its name, its type, its default and its doc."""
    assert (expected,) == inputs_of(line)


@pytest.mark.parametrize(
    ("source", "problem", "fix"),
    [
        ("---", "line 1: the front matter has no closing line ---", AS_TEXT),
        (
            "\n  ---\n  inputs:\n    a: str\n  ---\n",
            "line 2: front matter begins in the first line, without white space before it",
            f"remove the white space; {AS_TEXT}",
        ),
        ("---\ntitle: A\n ---\n", "line 1: the front matter has no closing line ---", AS_TEXT),
        ("---\nHi there.\n---\n", "line 2: 'Hi there.' is not a line of front matter", AS_TEXT),
        (
            "---\n\ntitel: A\n---\n",
            "line 3: front matter has no 'titel'",
            f"did you mean 'title'? {AS_TEXT}",
        ),
        (
            "---\ninputs:\na: int\n---\n",
            "line 3: front matter has no 'a'",
            "begin the line of an input with two spaces",
        ),
        (
            "---\ntitle: A\ntitle: B\n---\n",
            "line 3: 'title' is written twice",
            "leave one of them out",
        ),
        (
            "---\ntitle: A\n  b: str\n---\n",
            "line 3: '  b: str' is not a line of front matter",
            AS_TEXT,
        ),
        (
            "---\ninputs: a\n---\n",
            "line 2: the inputs begin on the next line",
            "write each input on a separate line, indented: name: type = default  # doc",
        ),
        (
            "---\ntitle: \x1b[1m\n---\n",
            "line 2: the line has a control character",
            "leave the character out",
        ),
        (
            f"---\ntitle: {'a' * 994}\n---\n",
            "line 2: the line has more than 1,000 characters",
            "make it shorter",
        ),
        (
            "---\ninputs:\n" + "".join(f" a{n}: str\n" for n in range(101)) + "---\n",
            "line 103: there are more than 100 inputs",
            "declare one input for several values: a list",
        ),
    ],
)
def test_what_is_no_front_matter(source: str, problem: str, fix: str) -> None:
    """Front matter that is wrong is an error with its line."""
    assert (f"template 'a.md', {problem}", fix) == wrong(source)


@pytest.mark.parametrize(
    ("line", "problem", "fix"),
    [
        ("a", "'a' does not declare an input", DECLARES),
        ("1: str", "'1: str' does not declare an input", DECLARES),
        ("_a: str", "'_a: str' does not declare an input", DECLARES),
        ("for: str", "'for' cannot be the name of an input", "choose another name"),
        ("vars: str", "'vars' cannot be the name of an input", "choose another name"),
        (
            "trim_blocks: bool",
            "'trim_blocks' cannot be the name of an input",
            "choose another name",
        ),
        ("b: str", "the input 'b' is declared twice", "leave one of them out"),
        ("a:", "'' is not a type of an input", TYPES),
        ("a: text = 3 # x", "'text' is not a type of an input", TYPES),
        ("a: strs", "'strs' is not a type of an input", TYPES),
        ("a: list", "'list' is not a type of an input", TYPES),
        ("a: list[str", "'list[str' is not a type of an input", TYPES),
        ("a: list[list[list[str]]]", "'list[list[list[str]]]' is not a type of an input", TYPES),
        ("a: one of", "'one of' is not a type of an input", TYPES),
        ("a: one of b,", "'one of b,' is not a type of an input", TYPES),
        ("a: one of b, b", "'one of b, b' is not a type of an input", TYPES),
        ("a: str = x", "the default of 'a' cannot be read", NO_JSON),
        ("a: str =", "the default of 'a' cannot be read", NO_JSON),
        ("a: float = NaN", "the default of 'a' cannot be read", NO_JSON),
        ("a: float = 1e999", "the default of 'a' cannot be read", NO_JSON),
        ("a: list[int] = " + "[" * 900, "the default of 'a' cannot be read", NO_JSON),
        ("a: str = 3", "the default of input 'a' takes str, not int", "give a value of that type"),
        (
            "a: int = true",
            "the default of input 'a' takes int, not True",
            "give a value of that type",
        ),
        (
            "a: str = null",
            "the default of input 'a' takes str, not None",
            "give a value, or leave it out if it has a default",
        ),
        (
            "a: date = 2026-02-30",
            "the default of input 'a' takes date, not '2026-02-30'",
            "give a datetime.date: date(2026, 1, 31)",
        ),
        (
            "a: one of EU, US = EUR",
            "the default of input 'a' takes one of EU, US, not 'EUR'",
            "did you mean 'EU'?",
        ),
        ("a: str x", "'x' cannot follow the input on this line", DECLARES),
        ('a: str = "x" y', "'y' cannot follow the input on this line", DECLARES),
    ],
)
def test_what_declares_no_input(line: str, problem: str, fix: str) -> None:
    """A line that does not declare an input is an error with its line."""
    source = f"---\ninputs:\n  b: str\n  {line}\n---\n"
    assert (f"template 'a.md', line 4: {problem}", fix) == wrong(source)


CALL = """\
---
inputs:
  region: one of EU, US = EU
  days: int
  names: list[str] = ["Ada"]
---
{{ region }} {{ days }} {{ names|join }}
"""


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"days": 3}, "EU 3 Ada"),
        ({"days": 3, "region": "US", "names": []}, "US 3 "),
        ({"days": 3, "names": ("a", "b")}, "EU 3 ab"),
    ],
)
def test_defaults(variables: dict[str, Any], expected: str) -> None:
    """An input that is not given has its default."""
    assert expected == in_full(pieces(CALL, **variables))


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "the template needs the input 'days': int\n  write days=..."),
        ({"days": 3, "reigon": 1}, "the template has no input 'reigon'\n  did you mean 'region'?"),
        (
            {"days": True},
            "the template: input 'days' takes int, not True\n  give a value of that type",
        ),
        (
            {"days": "3"},
            "the template: input 'days' takes int, not '3'\n  give a value of that type",
        ),
        (
            {"days": 3, "names": "Ada"},
            "the template: input 'names' takes list[str], not 'Ada'\n  give a value of that type",
        ),
        (
            {"days": 3, "names": ["Ada", 1]},
            "the template: item 1 of input 'names' takes str, not int\n  give a value of that type",
        ),
        (
            {"days": 3, "region": None},
            "the template: input 'region' takes one of EU, US, not None\n"
            "  give a value, or leave it out if it has a default",
        ),
    ],
)
def test_wrong_inputs(variables: dict[str, Any], expected: str) -> None:
    """A missing, an unknown and a wrongly typed input is an error that names it."""
    assert expected == fault(CALL, **variables)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ a }}\n{{ b }}", "line 6: 'b' is not an input\n  known: a"),
        ("{{ a }}{% if no %}{{ aa }}{% endif %}", "line 5: 'no' is not an input\n  known: a"),
        ("\n\n{{ a }}\n{{ a.b }}", "line 8: a string has no 'b'"),
        ("\n{% if %}", "line 6: Expected an expression"),
        ("{{ a }}\n{{ a|no }}", "line 6: there is no filter 'no'"),
    ],
)
def test_lines_of_errors(source: str, expected: str) -> None:
    """The lines in errors are those of the file; a name that is not an input is an error."""
    source = f"---\ninputs:\n  a: str\n---\n{source}"
    assert fault(source, a="a").startswith(f"the template, {expected}")


def test_names_that_need_no_input() -> None:
    """Names that the template makes itself, and those of Jinja, are no inputs."""
    source = (
        "---\ninputs:\n---\n{% set x = 1 %}"
        "{% macro m(y) %}{{ y }}{{ varargs|length }}{% endmacro %}"
        "{% for i in range(2) %}{{ loop.index }}{{ i }}{% endfor %}{{ m(x) }}"
        "{% set n = namespace(z=1) %}{{ n.z }}"
    )
    assert "1021101" == in_full(pieces(source))


@pytest.mark.parametrize(
    ("type_", "value", "fits"),
    [
        ("str", "a", True),
        ("str", trusted("a"), True),
        ("str", 1, False),
        ("int", 1, True),
        ("int", True, False),
        ("int", 1.0, False),
        ("float", 1, True),
        ("float", 1.5, True),
        ("float", False, False),
        ("bool", False, True),
        ("bool", 0, False),
        ("date", date(2026, 1, 31), True),
        ("date", datetime(2026, 1, 31), False),
        ("date", "2026-01-31", False),
        ("one of a, b", "a", True),
        ("one of a, b", "c", False),
        ("one of a, b", None, False),
        ("list[int]", [1, 2], True),
        ("list[int]", (), True),
        ("list[int]", {1}, False),
        ("list[int]", [1, None], False),
        ("list[list[str]]", [["a"], []], True),
        ("list[list[str]]", ["a"], False),
        ("str | None", None, True),
    ],
)
def test_values_of_a_type(type_: str, value: object, fits: bool) -> None:
    """A value fits its type or is refused; an annotation of a function takes any."""
    assert fits == _fits(Input("a", type_), value)


def _fits(given: Input, value: object) -> bool:
    try:
        return given.checked(value) is value
    except TemplateError:
        return False


def test_a_volatile_is_checked_by_its_value() -> None:
    """A volatile input is checked by its value; a volatile date is its text."""
    source = "---\ninputs:\n  n: int\n  d: date\n---\n{{ n }} {{ d }}"
    system = System(
        Template.from_string(source, n=Volatile(3, "n"), d=Volatile(date(2026, 1, 31), "d"))
    )
    assert "3 2026-01-31" == render(system).messages[0].text


@pytest.mark.parametrize(
    ("given", "annotation", "schema"),
    [
        (Input("a", "str", "D"), "str", {"type": "string", "description": "D"}),
        (Input("a", "int", "", False, 3), "int", {"type": "integer", "default": 3}),
        (
            Input("a", "date", "", False, date(2026, 1, 31)),
            "date",
            {"type": "string", "format": "date", "default": "2026-01-31"},
        ),
        (
            Input("a", "list[one of b, c]"),
            "list[Literal['b', 'c']]",
            {"type": "array", "items": {"type": "string", "enum": ["b", "c"]}},
        ),
        (
            Input("a", "list[float]", "", False, [1.5]),
            "list[float]",
            {"type": "array", "items": {"type": "number"}, "default": [1.5]},
        ),
        (Input("a", "str | None", "", False), "str | None", {"default": None}),
    ],
)
def test_annotation_and_schema(given: Input, annotation: str, schema: dict[str, Any]) -> None:
    """An input has its type as Python code, and as a JSON schema."""
    assert (annotation, schema) == (given.annotation, given.schema)


@pytest.mark.parametrize(
    ("type_", "text", "expected"),
    [
        ("str", "3", "3"),
        ("int", "3", 3),
        ("float", "3", 3),
        ("bool", "true", True),
        ("date", "2026-01-31", date(2026, 1, 31)),
        ("one of a, b", "b", "b"),
        ("list[date]", '["2026-01-31"]', [date(2026, 1, 31)]),
        ("str | None", "x", "x"),
    ],
)
def test_a_text_is_parsed(type_: str, text: str, expected: object) -> None:
    """A text of a command line means a value of the type."""
    assert expected == Input("a", type_).parsed(text)


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        ("int", "x"),
        ("int", "3 "),
        ("date", "31.1."),
        ("list[str]", "a"),
        ("bool", ""),
    ],
)
def test_a_text_that_means_no_value(type_: str, text: str) -> None:
    """A text that means no value of the type is an error."""
    with pytest.raises(TemplateError) as caught:
        Input("a", type_).parsed(text)
    assert f"input 'a' takes {type_}, not {text!r}" == caught.value.what


def test_json_that_is_nested_too_deep() -> None:
    """A text that no JSON reader takes is a value of no type."""
    with pytest.raises(TemplateError, match="input 'a' takes list"):
        Input("a", "list[int]").parsed("[" * 100_000)
