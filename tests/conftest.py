"""What tests share: how properties are searched, what is audited, fixtures."""

import json
import os
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.audit import auditing
from tests.searching import register_profiles

register_profiles()

ROOT = Path(__file__).resolve().parents[1]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Fail a test in which rendering or reading reached for a socket, a process or other files."""
    with auditing() as reached:
        result = yield
    assert [] == reached
    return result


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of recorded conversations: PROMPTDSL_DATA, or one beside the project."""
    folder = Path(os.environ.get("PROMPTDSL_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no recorded conversations in {folder}: set PROMPTDSL_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def airline_conversations(data_folder: Path) -> list[list[dict[str, Any]]]:
    """Return recorded customer-service conversations, each a list of OpenAI Chat messages."""
    # Split on the newline alone: other line ends stand inside the text of messages.
    lines = _text(data_folder / "airline-conversations.jsonl").split("\n")
    return [json.loads(line)["messages"] for line in lines if line]


@pytest.fixture(scope="session")
def coding_session(data_folder: Path) -> list[dict[str, Any]]:
    """Return one long recorded coding session, a list of OpenAI Chat messages."""
    recorded: dict[str, Any] = json.loads(_text(data_folder / "coding-session.json"))
    return list(recorded["messages"])


@pytest.fixture
def shallow_stack() -> Iterator[None]:
    """Leave little room to recurse, so that any recursion over a tree or over data fails."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(1_000)
    yield
    sys.setrecursionlimit(limit)


@pytest.fixture(scope="session")
def commonmark() -> Callable[[str], list[str]]:
    """Return a CommonMark parser of others: text to its headings, rules and code fences."""
    parser = pytest.importorskip("markdown_it", reason="needs markdown-it-py").MarkdownIt()
    wanted = {"heading_open", "hr", "fence"}
    return lambda text: [token.type for token in parser.parse(text) if token.type in wanted]


def _text(path: Path) -> str:
    if not path.is_file():
        pytest.skip(f"no recorded conversations in {path}")
    return path.read_bytes().decode("utf-8")
