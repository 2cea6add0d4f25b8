"""What the tests of the testing kit share."""

import pytest

from promptdsl import User, render
from promptdsl.testing import PromptSnapshot
from tests.internals import prompt_file, serialise
from tests.testing.projects import Project


@pytest.fixture(scope="session", autouse=True)
def loaded() -> type[PromptSnapshot]:
    """Load what a run of pytest in this process needs: it would load it again each time."""
    serialise(prompt_file(render(User("Hi."))))
    return PromptSnapshot


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return an empty project, whose runs are no workers of the run around them."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    return Project(pytester)
