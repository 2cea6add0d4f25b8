"""What tests share: how properties are searched, what is audited, fixtures."""

import json
import os
import sys
from collections.abc import Callable, Generator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.audit import auditing

ROOT = Path(__file__).resolve().parents[1]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose mark ``sdk`` names a module that is not installed, and say which."""
    needed = [name for mark in item.iter_markers("sdk") for name in mark.args]
    missing = [name.replace(".", "-").replace("_", "-") for name in needed if not _is_there(name)]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


if os.environ.get("PROMPTDSL_AUDIT"):  # its hook makes each component that is written slower

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call() -> Generator[None, object, object]:
        """Fail a test in which a render or a reader reached for a socket, a process or a file."""
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
    entries = _entries(data_folder / "airline-conversations.jsonl")
    return [entry["messages"] for entry in entries]


@pytest.fixture(scope="session")
def recorded(data_folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return every recorded conversation by its id, each a list of OpenAI Chat messages."""
    airline = _entries(data_folder / "airline-conversations.jsonl")
    coding = _entries(data_folder / "coding-session.json")
    return {entry["id"]: entry["messages"] for entry in (*airline, *coding)}


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


def _entries(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        pytest.skip(f"no recorded conversations in {path}")
    # Split on the newline alone: other line ends stand inside the text of messages.
    lines = path.read_bytes().decode("utf-8").split("\n")
    return [json.loads(line) for line in lines if line]
