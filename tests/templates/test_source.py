"""Which template is meant: names that are no paths, paths, and texts."""

import os
from pathlib import Path
from typing import Any

import pytest

from promptdsl import Template, TemplateError, trusted
from tests.errors import raised
from tests.internals import TemplateSource, check_name
from tests.templates.rendered import template_pieces

ESCAPES = (
    "",
    ".",
    "..",
    "../a.md",
    "a/../b.md",
    "a/..",
    "./a.md",
    "a//b.md",
    "a/",
    "/etc/passwd",
    "//etc/passwd",
    "..\\a.md",
    "a\\b.md",
    "C:\\a.md",
    "C:a.md",
    "file:a.md",
    "a.md\0",
    "\0",
)


@pytest.mark.parametrize("text", ['{% include "support:refunds" %}', "Role: {{ role }}"])
def test_a_text_is_no_name(text: str) -> None:
    """The text of a template in the place of its name gets the way to give a text."""
    error = raised(TemplateError, lambda: Template(text))
    assert "for the text of a template write Template.from_string(...)" == error.fix


@pytest.mark.parametrize("name", ESCAPES)
def test_a_name_is_no_path(name: str) -> None:
    """A name that could lead out of its folder is refused, wherever one is passed."""
    with pytest.raises(TemplateError) as caught:
        TemplateSource.of(name)
    assert (
        f"{name!r} is not the name of a template\n"
        '  a name is relative to a registered folder, such as "support/role.md.j2"'
    ) == str(caught.value)


@pytest.mark.parametrize(
    "name", ["a", "a.md", "a/b.md", "..a", "a..md", ".hidden", "caf\u00e9 1.md"]
)
def test_what_is_a_name(name: str) -> None:
    """Anything else is a name."""
    assert TemplateSource("name", name) == TemplateSource.of(name)


def test_a_name_is_a_string() -> None:
    """The name of a template is a string."""
    with pytest.raises(TemplateError) as caught:
        check_name(5)
    expected = (
        'the name of a template must be a string, not int\n  write it in quotes: "name.md.j2"'
    )
    assert expected == str(caught.value)


def test_a_name_is_an_exact_string() -> None:
    """A string of another class becomes a plain one."""
    assert str is type(TemplateSource.of(trusted("a.md")).value)


@pytest.mark.parametrize("template", [None, 5, b"a.md", Path("a\0b")])
def test_a_path_is_a_path(template: Any) -> None:
    """What is neither a name nor a path is refused."""
    with pytest.raises(TemplateError) as caught:
        TemplateSource.of(template)
    assert (
        f"a template must be a name or a path, not {template!r}\n"
        '  write Template("name.md.j2"), or Template(Path("name.md.j2")) for a file'
    ) == str(caught.value)


def test_a_path_is_kept_as_it_is() -> None:
    """A path is kept as the author wrote it."""
    assert TemplateSource("path", f"a{os.sep}b.md") == TemplateSource.of(Path("a", "b.md"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (5, "the text of a template must be a string, not int\n  pass the text itself"),
        (
            "x" * 1_000_001,
            "it makes more than 1,000,000 characters of template\n  make it do less",
        ),
    ],
    ids=["a number", "too long"],
)
def test_what_is_no_text_of_a_template(text: Any, expected: str) -> None:
    """The text of a template is a string of at most a million characters."""
    with pytest.raises(TemplateError) as caught:
        TemplateSource.from_text(text)
    assert expected == str(caught.value)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (TemplateSource.of("a.md"), "there is no template 'a.md'"),
        (TemplateSource.of(Path("b.md")), "there is no template file 'b.md'"),
        (TemplateSource.from_text("{{ a.md }}"), "the template, line 1: 'a' is undefined"),
    ],
)
def test_what_errors_call_it(source: TemplateSource, problem: str) -> None:
    """Errors call a template by its name or path; one passed as text has none."""
    with pytest.raises(TemplateError) as caught:
        template_pieces(source, {})
    assert problem == caught.value.what
