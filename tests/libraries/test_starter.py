"""The starter library: what each section says, in both formats and in both turns that instruct."""

from collections.abc import Mapping

import pytest

from promptdsl import UNTRUSTED_NOTICE, Developer, Library, Section, System, Timeline, render
from promptdsl.testing import PromptSnapshot

INPUTS: Mapping[str, Mapping[str, object]] = {
    "untrusted": {"sources": ["e-mails", "web pages"], "report": False},
    "citing": {"quotes": True, "knowledge": True, "missing": "Not in our handbook."},
    "tools": {"confirm": ["refund", "send_mail"], "retries": 0},
    "output": {"unknown": "n/a", "language": "French"},
    "handover": {
        "to": "the billing team",
        "tool": "open_case",
        "triggers": ["A lawyer is named.", "A refund is over EUR 50."],
        "attempts": 1,
    },
}
"""Inputs other than the defaults for each section."""


def test_the_sections() -> None:
    """The library has these five sections, and each has a title, a description and inputs."""
    sections = Library.load("starter").sections
    assert sorted(INPUTS) == sorted(sections)
    assert all(it.title and it.description and it.inputs for it in map(sections.get, INPUTS) if it)


@pytest.mark.parametrize("name", INPUTS)
def test_what_it_says(name: str, prompt_snapshot: PromptSnapshot) -> None:
    """A section says this with its defaults, and this with other inputs."""
    section = Library.load("starter")[name]
    prompt_snapshot(Timeline(System(section())), name="defaults")
    prompt_snapshot(Timeline(System(section(**INPUTS[name]))), name="inputs")


@pytest.mark.parametrize("turn", [System, Developer])
@pytest.mark.parametrize("name", INPUTS)
def test_it_says_the_same_everywhere(name: str, turn: type[System] | type[Developer]) -> None:
    """A section has the same text in Markdown and XML, in a system and in a developer turn."""
    section = Library.load("starter")[name]
    said = render(System(section(**INPUTS[name]))).messages[0].text
    prompt = Timeline(turn(Section("rules", section(**INPUTS[name]))))
    in_xml = render(prompt, transformation={"format": "xml"}).messages[0].text
    assert (said, f"<rules>\n{said}\n</rules>") == (render(prompt).messages[0].text, in_xml)


def test_the_notice() -> None:
    """The section on untrusted text begins with the notice that explains its fence."""
    said = render(System(Library.load("starter").untrusted())).messages[0].text
    assert said.startswith(f"{UNTRUSTED_NOTICE}\n- ")


def test_the_version() -> None:
    """The starter library has the version of promptdsl, in each of its sections too."""
    starter = Library.load("starter")
    (installed,) = (it.version for it in Library.installed() if it.name == "starter")
    assert (installed, installed) == (starter.version, starter.sections["citing"].section.version)


def test_the_reasons() -> None:
    """The front matter of each section says why it is worded so, with a source."""
    sections = Library.load("starter").sections
    reasons = [sections[name].source.split("\n")[1] for name in INPUTS]
    assert all(it.startswith("# Why: ") and it.endswith(").") for it in reasons)
