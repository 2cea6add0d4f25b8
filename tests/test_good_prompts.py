"""Good prompts have no hint at a mistake; ``conftest.py`` holds the same of the documentation."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from promptdsl import History, Library, Section, System, Timeline, User, render
from tests.folding import failures
from tests.good_prompts import careful_hints

MODELS = ("gpt-5", "o3-pro", "claude-opus-5-5", "claude-sonnet-4-5", "gemini-2.5-pro")
EXAMPLES = sorted(
    path.stem
    for path in (Path(__file__).parents[1] / "examples").glob("*.py")
    if path.stem not in ("edit_transcript", "first_bot")  # they have no prompt of their own
)
SECTIONS = sorted(Library.load("starter").sections)


def hinted(prompt: Timeline) -> list[str]:
    """Return the hints at a mistake that a prompt has, for any model."""
    results = [render(prompt, model=model) for model in MODELS]
    return [str(loss) for loss in careful_hints([render(prompt), *results])]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name: str) -> None:
    """The prompts of the examples have none."""
    assert [] == hinted(import_module(f"examples.{name}").demo())


@pytest.mark.parametrize("name", SECTIONS)
def test_starter_library(name: str) -> None:
    """The sections of the starter library have none."""
    section = Library.load("starter")[name]
    assert [] == hinted(Timeline(System(Section("rules", section())), User("Hi.")))


def of_recording(messages: list[dict[str, Any]]) -> str:
    """Return the hints of a recorded conversation with a new question, and as its calls grow."""
    stops = [n for n, message in enumerate(messages, 1) if message["role"] in ("user", "tool")]
    prompts = [History.from_openai(messages[:stop]) for stop in stops[-3:]]
    asked = Timeline(History.from_openai(messages), User("And now?"))
    return "\n".join(hint for prompt in (asked, *map(Timeline, prompts)) for hint in hinted(prompt))


@pytest.mark.parametrize(
    "some", [slice(3), pytest.param(slice(None), marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_recorded_conversations(recorded: dict[str, list[dict[str, Any]]], some: slice) -> None:
    """Recorded conversations of others have none, with a new question or where a turn ends."""
    assert [] == failures([*recorded][some], lambda name: of_recording(recorded[name]))
