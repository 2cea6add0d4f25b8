"""What the tests of the testing kit share."""

import pytest

from promptdsl import User, render
from tests.testing.projects import Project


@pytest.fixture(scope="session", autouse=True)
def loaded() -> None:
    """Load what a run of pytest in this process needs: it would load it again each time."""
    import promptdsl.testing.snapshot as testing

    testing.serialise(testing.prompt_file(render(User("Hi."))))


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """Return an empty project."""
    return Project(pytester)
