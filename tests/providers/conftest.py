"""What tests of adapters share in a whole run: the providers' clients, and recorded prompts."""

from collections.abc import Generator
from typing import Any

import pytest

from promptdsl import Prompt
from tests.internals import read_openai_chat
from tests.providers.recorder import Clients


@pytest.fixture(scope="session")
def clients() -> Generator[Clients]:
    """Return the real clients, and record what they send."""
    with Clients() as clients:
        yield clients


@pytest.fixture(scope="session")
def recordings(recorded: dict[str, list[dict[str, Any]]]) -> dict[str, Prompt]:
    """Return the recorded conversations as prompts."""
    return {name: read_openai_chat(messages) for name, messages in recorded.items()}


@pytest.fixture(scope="session")
def few_recordings(recordings: dict[str, Prompt]) -> dict[str, Prompt]:
    """Return three of them, the shortest."""
    shortest = sorted(recordings, key=lambda name: len(recordings[name].messages))
    return {name: recordings[name] for name in shortest[:3]}
