"""Provenance: which section of which library wrote each part of a prompt, in which version."""

import copy
import json
import pickle
from pathlib import Path

import pytest

from promptdsl import *
from promptdsl.cli import main
from tests.internals import ComponentNode, make, prompt_file, serialise


@component
def tone(name: str) -> Node:
    """Return how we speak."""
    return Section("tone", f"You are {name}.")


@component
def opening() -> Node:
    """Return a question as a turn."""
    return User("Hello?")


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Return a library of two functions and two templates, one of which includes the other."""
    folder = tmp_path_factory.mktemp("origin")
    (folder / "refunds.md.j2").write_text("Refunds in {{ region }}.", "utf-8")
    (folder / "all.md.j2").write_text('All: {% include "refunds.md.j2" %}', "utf-8")
    return Library("origin", sections=[tone, opening], templates=folder)


def names(sections: tuple[LibrarySection, ...]) -> list[str]:
    """Return the names of sections."""
    return [section.name for section in sections]


def test_each_span_names_its_section(origin: Library) -> None:
    """A span has the innermost section of a library around it, and none outside of libraries."""
    prompt = Timeline(
        System("Mine.", origin.refunds(region="EU"), origin.tone("Ann")),
        origin.opening(),
        Event(origin.refunds(region="US")),
    )
    spans = [(it.text, it.library and it.library.name) for it in render(prompt).spans()]
    assert spans == [
        ("Mine.", None),
        ("\n\n", None),
        ("Refunds in ", "origin:refunds"),
        ("EU", "origin:refunds"),
        (".", "origin:refunds"),
        ("\n\n", None),
        ("You are Ann.", "origin:tone"),
        ("Hello?", "origin:opening"),
        ("<event>\n", None),
        ("Refunds in ", "origin:refunds"),
        ("US", "origin:refunds"),
        (".", "origin:refunds"),
        ("\n</event>", None),
    ]


def test_a_render_knows_its_libraries(origin: Library) -> None:
    """``libraries`` lists the sections that are sent once each, in the order of their first use."""
    refunds = origin.refunds(region="US")
    rendered = render(System(origin.all(region="EU"), tone("Ann"), refunds))
    assert ["origin:all", "origin:refunds", "origin:tone"] == names(rendered.libraries)


def test_a_component_in_a_section_keeps_its_name() -> None:
    """A component that a section is made of has its own name in the tokens, and its library."""

    @component
    def rule() -> Node:
        return Text("Be kind.")

    @component
    def rules() -> Node:
        return rule()

    house = Library("house", sections=[rules], templates=None)
    parts = render(System(house.rules()), counter=len).tokens.parts
    assert [(str(parts[1].library), "house:rules"), ("rule", "house:rules")] == [
        (it.what, it.library and it.library.name) for it in parts[1:3]
    ]


def test_a_prompt_without_libraries_has_none() -> None:
    """A prompt that uses no library has no libraries."""
    assert () == render(System("Be kind.")).libraries


def test_what_is_dropped_is_not_listed(origin: Library) -> None:
    """A section that a budget drops is not among the libraries of a render."""
    with System() as system:
        Text("Be kind.")
        with Section("extra", priority=-1):
            origin.refunds(region="EU " * 50)
    assert () == render(system, budget=20, counter=len).libraries


def test_an_override_is_not_of_the_library(origin: Library) -> None:
    """What takes the place of a section is not of its library, whose name the outline keeps."""
    with override({origin.tone: lambda name: f"Mine, {name}."}):
        rendered = render(System(origin.tone("Ann")))
    assert () == rendered.libraries
    assert [("Mine, Ann.", None)] == [(it.text, it.library) for it in rendered.spans()]
    assert "origin:tone (overridden by <lambda>)" in rendered.outline()


def test_an_override_around_a_turn(origin: Library) -> None:
    """An overridden section in a section: the outline keeps the digest of the outer one alone."""

    @component
    def both() -> None:
        origin.opening()

    outer = Library("outer", sections=[both])
    with override({origin.opening: lambda: User("Mine.")}):
        rendered = render(Timeline(outer.both()))
    (section,) = rendered.libraries
    assert "outer:both" == section.name
    assert [("Mine.", None)] == [(it.text, it.library) for it in rendered.spans()]
    assert f"user by={section}/origin:opening (overridden by <lambda>) " in rendered.outline()


def test_the_outline_names_version_and_digest(origin: Library) -> None:
    """An outline has the name of a section with its digest, and its version once installed."""
    (section,) = render(System(origin.refunds(region="EU"))).libraries
    assert (section.version, len(section.digest)) == (None, 8)
    outline = render(Timeline(System(origin.refunds(region="EU")), origin.opening())).outline()
    assert f"  origin:refunds {section.digest}" in outline
    assert "user by=origin:opening " in outline


def test_the_token_report_names_sections(origin: Library) -> None:
    """A part of the token report has the section of a library that it is in."""
    report = render(System("Mine.", origin.tone("Ann")), counter=len).tokens
    told = [(it.what, it.library and it.library.name) for it in report.parts]
    section = report.parts[1].library
    assert section is not None
    assert told == [
        ("system turn", None),
        (str(section), "origin:tone"),
        ("section tone", "origin:tone"),
        ("the target's format", None),
    ]


def test_a_snapshot_names_libraries_alone(origin: Library) -> None:
    """The header of a snapshot has the name of each library once, without a version."""
    file = prompt_file(render(System(origin.refunds(region="EU"), origin.tone("Ann"))))
    assert [("library", "origin")] == [line for line in file.header if line[0] == "library"]
    assert "\nlibrary: origin\n" in serialise(file)


def test_trees_of_two_versions_are_equal() -> None:
    """Two parts that differ in the version of their library alone are equal."""
    first, second = (
        make(ComponentNode, name="once:a", by=None, section=LibrarySection("once:a", version, ""))
        for version in "12"
    )
    assert first == second
    assert hash(first) == hash(second)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_copies_keep_their_sections(origin: Library, again: object) -> None:
    """A copied and a pickled prompt has the sections of the original, with their digests."""
    prompt = System(origin.refunds(region="EU"), origin.tone("Ann"))
    assert callable(again)
    sections = render(again(prompt)).libraries
    expected = render(prompt).libraries
    assert [str(it) for it in expected] == [str(it) for it in sections]


PROMPT = """
from promptdsl import Library, Section, System, component

@component
def tone():
    return Section("tone", "Be kind.")

house = Library("house", sections=[tone])
prompt = System(house.tone())
"""


def test_the_command_line_tells_libraries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``--json`` of tokens and messages lists the libraries, and of each part its section."""
    (tmp_path / "house.py").write_text(PROMPT, "utf-8")
    target = f"{tmp_path / 'house.py'}:prompt"
    assert main(["tokens", target, "--json"]) == 0
    tokens = json.loads(capsys.readouterr().out)
    assert main(["render", target, "--for", "messages", "--json"]) == 0
    messages = json.loads(capsys.readouterr().out)
    (section,) = tokens["libraries"]
    assert (section["name"], section["version"]) == ("house:tone", None)
    assert [section] == messages["libraries"]
    assert [part.get("library") for part in tokens["parts"]] == [
        None,
        section,
        section,
        None,
    ]
