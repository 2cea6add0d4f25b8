"""Overrides of sections of libraries: by qualified name and by component, and of nothing else."""

from pathlib import Path

import pytest

from promptdsl import Library, OptionError, Section, System, Text, component, override, render
from tests.errors import lines_of, raised
from tests.libraries.packages import SUPPORT, package

pytestmark = pytest.mark.usefixtures("site")


def support() -> Library:
    """Return the library of the tests."""
    return Library.load("support")


def text(part: object) -> str:
    """Return what a part in a system turn sends."""
    return render(System(part)).messages[0].text  # type: ignore[arg-type]


def mine(name: str, level: int = 3) -> str:
    """Return another tone."""
    return f"Be like {name}."


def test_by_qualified_name() -> None:
    """A function is overridden by its qualified name, before its library was loaded."""
    with override({"support:tone": mine}):
        part = support().tone("Ada")
    assert "Be like Ada." == text(part)
    assert "support:tone (overridden by mine)" in str(System(part))
    assert None is part.section


def test_a_template_by_qualified_name() -> None:
    """A template is overridden by its qualified name and by its component; the innermost wins."""
    refunds = support().refunds
    with override({"support:refunds": lambda region, days=1, tags=(): f"None in {region}."}):
        outer = text(refunds(region="EU"))
        with override({refunds: Text("Never.")}):
            inner = text(refunds(region="EU"))
    assert ("None in EU.", "Never.") == (outer, inner)


def test_by_a_plain_import() -> None:
    """An override of a section holds where it is used by a plain import, and by that function."""
    support()
    import acme_support

    with override({"support:tone": mine}):
        by_name = text(acme_support.tone("Ada"))
    with override({acme_support.tone: mine}):
        by_function = text(support().tone("Ada"))
    assert ("Be like Ada.", "Be like Ada.") == (by_name, by_function)


def test_a_bare_name() -> None:
    """A bare name replaces no section of a library; the error suggests the qualified name."""
    support()
    error = raised(OptionError, lambda: override({"refunds_": mine}))
    assert "no component is called 'refunds_'" == error.what
    error = raised(OptionError, lambda: override({"card": mine}))
    assert "a section of a library has its full name: 'support:card'" == error.fix


def test_a_bare_name_of_a_component() -> None:
    """A bare name replaces a component of that name, and not the section."""

    @component
    def tone(name: str) -> str:
        return f"Hi {name}."

    with override({"tone": lambda name: "Mine."}):
        both = text(tone("Ada")), text(support().tone("Ada"))
    assert ("Mine.", "You are Ada, at 3.") == both


def test_libraries_side_by_side(site: Path) -> None:
    """Two libraries with a section of one name: an override replaces that of one."""
    package(site, "house", SUPPORT.replace('"support"', '"house"'))
    house = Library.load("house")
    with override({"house:tone": mine}):
        both = text(house.tone("Ada")), text(support().tone("Ada"))
    assert ("Be like Ada.", "You are Ada, at 3.") == both


def test_by_a_section_of_another_library(site: Path) -> None:
    """A section in the place of another one is named in full, and is the section that is told."""
    package(site, "house", SUPPORT.replace('"support"', '"house"').replace("You are", "Act as"))
    house = Library.load("house")
    with override({"support:tone": house.tone}):
        part = support().tone("Ada")
    assert ("Act as Ada, at 3.", "house:tone") == (text(part), part.section.name)
    assert "support:tone (overridden by house:tone)" in str(System(part))


def test_a_template_by_a_template(tmp_path: Path) -> None:
    """A template replaces a template with the same inputs."""
    source = (Path(support().sections["refunds"].file)).read_text("utf-8")
    (tmp_path / "money.md.j2").write_text(source.replace("Refunds in", "Money in"), "utf-8")
    house = Library("house", templates=tmp_path)
    with override({"support:refunds": house.money}):
        part = support().refunds(region="EU")
    assert "Money in EU within 30 days." == text(part)


def test_other_inputs() -> None:
    """A function with other inputs is refused, with what it should take."""

    def wrong() -> None:
        override({"support:refunds": lambda days: ""})

    error = raised(OptionError, wrong)
    assert (
        "<lambda> cannot replace support:refunds: it does not take 'region' by name" == error.what
    )
    assert lines_of(wrong, 1) == error.at


def test_inputs_are_checked_under_an_override() -> None:
    """The inputs of a call are checked, whatever replaces the section."""
    with override({"support:refunds": Text("Never.")}):
        error = raised(ValueError, lambda: support().refunds(region="UK"))
    assert "input 'region' takes one of EU, US" in str(error)


def test_the_original_in_an_override() -> None:
    """A function that replaces a section may call the original."""
    refunds = support().refunds

    def polite(region: str, days: int = 3, tags: object = ()) -> None:
        Text("Please.")
        refunds(region=region, days=days)

    with override({refunds: polite}):
        assert "Please.\n\nRefunds in EU within 3 days." == text(refunds(region="EU"))


def test_ids_of_sections() -> None:
    """The id of a section in a section of a library is overridden as any other."""
    with override({"tone": Section("tone", "Be kind.")}):
        assert "Be kind." == text(support().tone("Ada"))
