"""Overrides of sections of libraries: by qualified name and by component, and of nothing else."""

# Functions in the place of others take what those take.
# ruff: noqa: ARG001, ARG005

import pickle
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from promptdsl import *
from tests.errors import lines_of, raised
from tests.libraries.packages import SUPPORT, package

pytestmark = pytest.mark.usefixtures("site")


def surgery() -> Library:
    """Return the library of the tests."""
    return Library.load("surgery")


def text(part: object) -> str:
    """Return what a part in a system turn sends."""
    return render(System(part)).messages[0].text  # type: ignore[arg-type]


def mine(name: str, level: int = 3) -> str:
    """Return another tone."""
    return f"Be like {name}{'!' * (level - 3)}."


def test_by_qualified_name() -> None:
    """A function is overridden by its qualified name, before its library was loaded."""
    with override({"surgery:tone": mine}):
        part = surgery().tone("Ada")
    assert "Be like Ada." == text(part)
    assert "surgery:tone (overridden by mine)" in str(System(part))
    assert None is part.section


def test_a_template_by_qualified_name() -> None:
    """A template is overridden by its qualified name and by its component; the innermost wins."""
    refunds = surgery().refunds
    with override({"surgery:refunds": lambda region, days=1, tags=(): f"None in {region}."}):
        outer = text(refunds(region="EU"))
        with override({refunds: Text("Never.")}):
            inner = text(refunds(region="EU"))
    assert ("None in EU.", "Never.") == (outer, inner)


def test_by_a_plain_import() -> None:
    """An override of a section holds where it is used by a plain import, and by that function."""
    tone = import_module("acme_surgery").tone
    with override({"surgery:tone": mine}):
        by_name = text(tone("Ada"))
    with override({tone: mine}):
        by_function = text(surgery().tone("Ada"))
    assert ("Be like Ada.", "Be like Ada.") == (by_name, by_function)


def test_a_bare_name() -> None:
    """A bare name replaces no section of a library; the error suggests the qualified name."""

    @component
    def salutation() -> str:
        return "Hi."

    Library("house", sections=[salutation])
    error = raised(OptionError, lambda: override({"salutation": lambda: "Bye."}))
    assert ("no component is called 'salutation'", "house:salutation") == (
        error.what,
        error.fix.partition("name: ")[2].strip("'"),
    )


def test_a_bare_name_of_a_template(tmp_path: Path) -> None:
    """The error suggests the qualified name of a template, once, whether it was read or not."""
    (tmp_path / "parting.md.j2").write_text("Bye.", "utf-8")
    house = Library("house", templates=tmp_path)
    before = raised(OptionError, lambda: override({"parting": lambda: "Bye."})).fix
    house.parting()
    after = raised(OptionError, lambda: override({"parting": lambda: "Bye."})).fix
    assert "a section of a library has its full name: 'house:parting'" == before == after


def test_a_template_of_a_library_made_in_code(tmp_path: Path) -> None:
    """A template of a library that is not installed is overridden before it was read, too."""
    (tmp_path / "parting.md.j2").write_text("Bye.", "utf-8")
    house = Library("house", templates=tmp_path)
    with override({"house:parting": lambda **_: "Mine."}):
        assert "Mine." == text(house.parting())


def test_a_bare_name_of_a_component() -> None:
    """A bare name replaces a component of that name, and not the section."""

    @component
    def tone(name: str) -> str:
        return f"Hi {name}."

    with override({"tone": lambda name: "Mine."}):
        both = text(tone("Ada")), text(surgery().tone("Ada"))
    assert ("Mine.", "You are Ada, at 3.") == both


def test_libraries_side_by_side(site: Path) -> None:
    """Two libraries with a section of one name: an override replaces that of one."""
    package(site, "house", SUPPORT.replace('"surgery"', '"house"'))
    house = Library.load("house")
    with override({"house:tone": mine}):
        both = text(house.tone("Ada")), text(surgery().tone("Ada"))
    assert ("Be like Ada.", "You are Ada, at 3.") == both


def test_by_a_section_of_another_library(site: Path) -> None:
    """A section that replaces another one is named in full, and is the one that is reported."""
    package(site, "house", SUPPORT.replace('"surgery"', '"house"').replace("You are", "Act as"))
    house = Library.load("house")
    with override({"surgery:tone": house.tone}):
        part = surgery().tone("Ada")
    assert ("Act as Ada, at 3.", "house:tone") == (text(part), part.section and part.section.name)
    assert "surgery:tone (overridden by house:tone)" in str(System(part))


def test_a_template_by_a_template(tmp_path: Path) -> None:
    """A template replaces a template with the same inputs."""
    source = (Path(surgery().sections["refunds"].file)).read_text("utf-8")
    (tmp_path / "money.md.j2").write_text(source.replace("Refunds in", "Money in"), "utf-8")
    house = Library("house", templates=tmp_path)
    with override({"surgery:refunds": house.money}):
        part = surgery().refunds(region="EU")
    assert "Money in EU within 30 days." == text(part)


def test_other_inputs() -> None:
    """A function with other inputs is refused, with what it should take."""

    def wrong() -> None:
        override({"surgery:refunds": lambda days: ""})

    error = raised(OptionError, wrong)
    assert (
        "<lambda> cannot replace surgery:refunds: it does not take 'region' by name" == error.what
    )
    assert lines_of(wrong, 1) == error.at


def test_a_new_input_with_a_default() -> None:
    """A function need not take an input that the call leaves to its default; one given, it must."""

    def write() -> str:
        with override({"surgery:refunds": lambda region: f"None in {region}."}):
            kept = text(surgery().refunds(region="EU"))
            surgery().refunds(region="EU", days=3)
        return kept

    error = raised(OptionError, write)
    problem = "<lambda> cannot replace surgery:refunds: it does not take 'days' by name"
    assert (problem, lines_of(write, 3, 1)) == (error.what, error.at)


def test_inputs_are_checked_under_an_override() -> None:
    """The inputs of a call are checked, whatever replaces the section."""
    with override({"surgery:refunds": Text("Never.")}):
        error = raised(ValueError, lambda: surgery().refunds(region="UK"))
    assert "input 'region' takes one of EU, US" in str(error)


def test_the_original_in_an_override() -> None:
    """A function that replaces a section may call the original."""
    refunds = surgery().refunds

    def polite(region: str, days: int = 3, tags: object = ()) -> None:
        Text("Please.")
        refunds(region=region, days=days)

    with override({refunds: polite}):
        assert "Please.\n\nRefunds in EU within 3 days." == text(refunds(region="EU"))


def test_ids_of_sections() -> None:
    """The id of a section in a section of a library is overridden as any other."""
    with override({"tone": Section("tone", "Be kind.")}):
        assert "Be kind." == text(surgery().tone("Ada"))


def lazily(_: object) -> Node:
    """Return a section of a library, when a prompt is rendered."""
    return surgery().refunds(region="EU")


def other(region: str, days: int = 3, tags: object = ()) -> str:
    """Return other refunds."""
    return f"None in {region}."


def test_a_lazy_under_an_override() -> None:
    """A Lazy is called with the overrides around it, by component or name, also after a pickle."""
    with override({surgery().refunds: other}):
        part = System(Lazy(lazily))
    loaded = pickle.loads(pickle.dumps(part))
    assert part == loaded
    assert "None in EU." == render(part).messages[0].text == render(loaded).messages[0].text


# Sections that are included.


def house(folder: Path, **templates: str) -> Library:
    """Return a library with the template ``note``, which includes a section of another one."""
    note = "---\ninputs:\n  region: str\n---\nAll: {% include 'surgery:refunds' %} Bye."
    for name, source in {"note": note, **templates}.items():
        (folder / f"{name}.md.j2").write_text(source, "utf-8")
    # Its package is looked up now, and not by a render, which reads nothing but templates.
    assert surgery().templates
    return Library("house", templates=folder)


def twice(region: str) -> None:
    """Write two texts."""
    Text("one.")
    Text("\n    two.\n")


def politely(region: str) -> None:
    """Write the original after another text."""
    Text("please.")
    surgery().refunds(region=region)


PLACED: dict[str, tuple[Any, str]] = {
    "a function": (lambda region: f"none in {region}.", "none in EU."),
    "a part": (Text("never."), "never."),
    "a template": (Template.from_string("never {{ n }}.", n="<event>"), "never &lt;event>."),
    "an indented one": (lambda region: Template.from_string("\n  never.\n  "), "never."),
    "a value": (lambda region: Text(Value("<event>"), trusted("<event>")), "&lt;event><event>"),
    "a fragment": (Fragment(Value("a"), Paragraph("b")), "a\n\nb"),
    "two texts": (twice, "one.\n\ntwo."),
    "the original": (politely, "please.\n\nRefunds in EU within 30 days."),
    "nothing": (lambda region: None, ""),
}


@pytest.mark.parametrize("name", PLACED)
def test_an_included_section(tmp_path: Path, name: str) -> None:
    """What replaces a section is where a template includes it."""
    by, expected = PLACED[name]
    note = house(tmp_path).note
    with override({"surgery:refunds": by}):
        part = note(region="EU")
    assert f"All: {expected} Bye." == text(part)
    assert "All: Refunds in EU within 30 days. Bye." == text(note(region="EU"))


INCLUDING: dict[str, str] = {
    "without its variables": "{% include 'surgery:billing/late' without context %}",
    "one of several": "{% include ['surgery:none', 'surgery:billing/late'] %}",
    "captured": "{% set late %}{% include 'surgery:billing/late' %}{% endset %}{{ late }}",
    "in a loop": "{% for soon in [1] %}{% include 'surgery:billing/late' %}{% endfor %}",
    "in a private file": "{% include '_late.md.j2' %}",
}


@pytest.mark.parametrize("source", INCLUDING.values(), ids=INCLUDING)
def test_ways_to_include(tmp_path: Path, source: str) -> None:
    """An override reaches a section however it is included."""
    late = "{% include 'surgery:billing/late' %}"
    with override({"surgery:billing/late": lambda **_: trusted("*Never.*")}):
        part = house(tmp_path, other=source, _late=late).other()
    assert "*Never.*" == text(part)


def test_an_include_by_the_name_of_the_file(tmp_path: Path) -> None:
    """A section that its own library includes by the name of its file is overridden, too."""
    library = house(tmp_path, outer="{% include 'inner.md.j2' %}", inner="Old.")
    with override({"house:inner": Text("New.")}):
        assert "New." == text(library.outer())


def test_variables_of_a_section_without_inputs(tmp_path: Path) -> None:
    """In the place of a section that declares no inputs a function gets the variables it names."""
    source = "{% macro m() %}{% endmacro %}{% set b = 2 %}{% include 'surgery:billing/late' %}"
    library = house(tmp_path, outer=source)
    with override({"surgery:billing/late": lambda b=0, **_: f"{b}"}):
        named = library.outer(a=1)
    with override({"surgery:billing/late": lambda **given: " ".join(sorted(given))}):
        every = library.outer(a=1)
    assert ("2", "a b") == (text(named), text(every))


def test_a_volatile_input_of_an_included_section(tmp_path: Path) -> None:
    """A function gets a volatile variable as the volatile value that it is, in a list too."""
    source = "---\ninputs:\n  day: int\n  tags: list[str]\n---\n{{ day }}{{ tags[0] }}"
    library = house(tmp_path, day=source, outer="{% include 'day.md.j2' %}")
    with override({"house:day": lambda day, tags: Text("On ", day, *tags)}):
        part = library.outer(day=Volatile(5, "day"), tags=[Volatile("a", "tag")])
    rendered = render(System(part))
    assert "On 5a" == rendered.messages[0].text
    assert ["day", "tag"] == [it.label for it in rendered.spans() if it.kind == "volatile"]


def test_the_section_that_is_sent(tmp_path: Path) -> None:
    """The libraries of a prompt name the section that is used, and not the one it replaces."""
    library = house(tmp_path, end="{% include '_end.md.j2' %}", _end=".")

    def used(by: Any) -> list[str]:
        with override({"surgery:refunds": by}):
            part = library.note(region="EU")
        return [it.name for it in render(System(part)).libraries]

    end = ["house:note", "house:end", "house:_end"]
    assert [end, ["house:note"], end] == [
        used(library.end),
        used(Text("Never.")),
        used(lambda **_: library.end()),
    ]


def short(region: str) -> str:
    """Return its input, or raise an error of its own."""
    return {"EU": region}[region]


def test_an_included_section_that_cannot_be_replaced(tmp_path: Path) -> None:
    """An error names the line of the template and, if it is ours, that of the replacement."""
    library = house(tmp_path, days="{% set days = 3 %}{% include 'surgery:refunds' %}")
    with override({"surgery:refunds": List("never")}):
        no_text = library.note(region="EU")
    with override({"surgery:refunds": short}):
        other_inputs, failing = library.days(region="EU"), library.note(region="US")
    problem = raised(PlacementError, lambda: text(no_text))
    assert (
        "a List replaces surgery:refunds, which this template includes as text",
        str(no_text.source),
    ) == (problem.what, problem.at[0])
    unfit = raised(OptionError, lambda: text(other_inputs))
    assert (
        "short cannot replace surgery:refunds: it does not take 'days' by name",
        (str(other_inputs.source), *lines_of(short, 0)),
    ) == (unfit.what, unfit.at)
    own = raised(KeyError, lambda: text(failing))
    assert [f"{failing.source}: raised by what replaces surgery:refunds"] == own.__notes__


def test_an_overridden_section_that_is_extended(tmp_path: Path) -> None:
    """A section that is overridden is replaced whole where it is extended, and has no macros."""
    base = "{% macro m() %}{% endmacro %}{% block a %}Old.{% endblock %}"
    extends = "{% extends 'base.md.j2' %}{% block a %}Mine.{% endblock %}"
    asks = "{% from 'base.md.j2' import m %}{{ m() }}"
    library = house(tmp_path, base=base, extends=extends, asks=asks)
    with override({"house:base": Text("Never.")}):
        extended, asking = library.extends(), library.asks()
    assert "Never." == text(extended)
    error = raised(TemplateError, lambda: text(asking))
    assert "does not export the requested name 'm'" in error.what


def test_an_included_section_after_a_pickle(tmp_path: Path) -> None:
    """A template keeps the overrides of sections, in a Lazy and after a pickle, too."""
    library = house(tmp_path)
    with override({surgery().refunds: other}):
        part = System(library.note(region="EU"))
        lazy = System(Lazy(lambda _: library.note(region="EU")))
    loaded = pickle.loads(pickle.dumps(part))
    assert part == loaded != System(library.note(region="EU"))
    assert {"All: None in EU. Bye."} == {render(it).messages[0].text for it in (part, loaded, lazy)}


TWO_SECTIONS = {
    "one": "One {{ a }}.",
    "two": "---\ninputs:\n  a: str\n  b: list[str] = []\n---\n"
    "Two {{ a }}{% for x in b %}, {{ x }}{% endfor %}.",
    "both": "<{% include 'one.md.j2' %}|{% include 'two.md.j2' %}|{% include 'one.md.j2' %}>",
}


def several_parts(two: Any) -> Any:
    """Return a function that returns texts in fragments, and another section behind them."""

    def parts(a: Any = "-", **_: Any) -> Node:
        inner = Fragment(Text("\n  B\n    C"), Paragraph("D"))
        return Fragment("A ", Value("?"), inner, Text(a), two(a="!", b=["x", "y"]))

    return parts


def test_two_sections_in_one_template(tmp_path: Path) -> None:
    """Each of two included sections has its own stand-in, in its places, with its own inputs."""
    library = house(tmp_path, **TWO_SECTIONS)
    parts = several_parts(library.two)
    by: list[dict[Any, Any]] = [
        {},
        {"house:one": parts},
        {
            "house:one": lambda **_: "1",
            "house:two": lambda a, b=(): Text(*b, "; ", a),
        },
        {"house:one": Text("x"), "house:two": parts},
    ]

    def sent(replacements: dict[Any, Any]) -> tuple[str, list[str | None], list[str]]:
        with override(replacements):
            part = library.both(a=Volatile("v", "lab"), b=[Volatile("p", "l1"), "q"])
        rendered = render(System(part))
        labels = [span.label for span in rendered.spans() if span.kind == "volatile"]
        return rendered.messages[0].text, labels, [it.name for it in rendered.libraries]

    own = "A ?\n\nB\n  C\n\nD\n\nv\n\nTwo !, x, y."
    assert [
        (
            "<One v.|Two v, p, q.|One v.>",
            ["lab", "lab", "l1", "lab"],
            ["house:both", "house:one", "house:two"],
        ),
        (
            f"<{own}|Two v, p, q.|{own}>",
            ["lab", "lab", "l1", "lab"],
            ["house:both", "house:two"],
        ),
        ("<1|pq; v|1>", ["l1", "lab"], ["house:both"]),
        (f"<x|{own}|x>", ["lab"], ["house:both", "house:two"]),
    ] == [sent(each) for each in by]
