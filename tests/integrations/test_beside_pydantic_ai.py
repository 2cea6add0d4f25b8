"""Requests compared with those of Pydantic AI: every difference is of a documented kind."""

import asyncio
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="needs pydantic-ai")

from tests.integrations.beside.atoms import Atom
from tests.integrations.beside.histories import Sent, random_history, recorded_history
from tests.integrations.beside.kinds import KINDS, classified
from tests.integrations.beside.requests import TARGETS, both_requests

pytestmark = pytest.mark.sdk("pydantic_ai", "anthropic", "boto3", "google.genai", "openai")

PAGE = Path(__file__).parents[2] / "docs" / "providers.md"


def compared(histories: dict[str, Sent]) -> tuple[Counter[str], list[str]]:
    """Return how many differences there are of each kind, and a line for each of no kind."""
    found, lines = Counter[str](), list[str]()
    with asyncio.Runner() as runner:
        for name, history in histories.items():
            for target in TARGETS:
                both = runner.run(both_requests(history, target))
                kinds, rest = classified(*both, target, KINDS)
                found += kinds
                lines += [f"conversation {name}: {line}" for line in rest]
    return found, lines


@pytest.mark.slow
def test_random_conversations() -> None:
    """In 100 conversations of hard features every difference has a kind, and each kind occurs."""
    found, lines = compared({str(seed): random_history(seed) for seed in range(100)})
    assert ([], []) == (lines, [kind for kind in KINDS if not found[kind]])


@pytest.mark.slow
def test_recorded_conversations_beside(recorded: dict[str, list[dict[str, Any]]]) -> None:
    """In recorded conversations every difference has a kind."""
    histories = {name: recorded_history(messages) for name, messages in recorded.items()}
    assert [] == compared(histories)[1]


def test_a_difference_of_no_kind() -> None:
    """A difference of no kind has a line with the target and both sides."""
    our_request, theirs = [[Atom("user", "text", text)] for text in "ab"]
    found = classified([*our_request, *theirs], theirs, ("gemini", "gemini-2.5-pro"), KINDS)
    assert ({}, ["gemini gemini-2.5-pro: user text a >> "]) == found


def test_kinds_are_documented() -> None:
    """The documentation has a row for each kind, in the order of the table in the tests."""
    section = PAGE.read_text("utf-8").split("## Compared with Pydantic AI\n")[1].split("\n## ")[0]
    assert [*KINDS] == re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE)[1:]
