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
def project(pytester: pytest.Pytester) -> Project:
    """Return an empty project."""
    return Project(pytester)
