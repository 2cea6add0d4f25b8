"""What the tests of the testing kit share."""

from importlib import import_module

import pytest

from promptdsl import User, render
from tests.internals import prompt_file, serialise
from tests.testing.projects import Project


@pytest.fixture(scope="session", autouse=True)
def loaded() -> None:
    """Load what a run of pytest in this process needs: it would load it again each time."""
    import_module("promptdsl.testing.snapshot")
    serialise(prompt_file(render(User("Hi."))))


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return an empty project, whose runs are no workers of the run around them."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    return Project(pytester)
