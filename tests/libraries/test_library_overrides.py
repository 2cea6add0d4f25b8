"""Overrides of sections of libraries: by qualified name and by component, and of nothing else."""

# Functions in the place of others take what those take.
# ruff: noqa: ARG001, ARG005

import pickle
from importlib import import_module
from pathlib import Path

import pytest

from promptdsl import (
    Lazy,
    Library,
    Node,
    OptionError,
    Section,
    System,
    Text,
    component,
    override,
    render,
)
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
    def greeting() -> str:
        return "Hi."

    Library("house", sections=[greeting])
    error = raised(OptionError, lambda: override({"greeting": lambda: "Bye."}))
    assert ("no component is called 'greeting'", "house:greeting") == (
        error.what,
        error.fix.partition("name: ")[2].strip("'"),
    )


def test_a_bare_name_of_a_template(tmp_path: Path) -> None:
    """The error suggests the qualified name of a template that was not read yet, too."""
    (tmp_path / "parting.md.j2").write_text("Bye.", "utf-8")
    house = Library("house", templates=tmp_path)
    error = raised(OptionError, lambda: override({"parting": lambda: "Bye."}))
    assert ("a section of a library has its full name: 'house:parting'", "house") == (
        error.fix,
        house.name,
    )


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
    """A section in the place of another one is named in full, and is the section that is told."""
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
