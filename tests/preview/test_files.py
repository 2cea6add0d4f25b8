"""Which files of a project are watched, and what is a change."""

import os
from pathlib import Path

import pytest

import promptdsl
from tests.internals import is_watched, project_folder, signature

ROOT = os.path.join(os.sep, "srv", "project")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f"{ROOT}/support.py", True),
        (f"{ROOT}/prompts/rule.md.j2", True),
        ("/srv/projects/support.py", False),
        ("/srv/other.py", False),
        (f"{ROOT}/.venv/lib/python3.12/site-packages/x.py", False),
        (f"{ROOT}/env/lib/site-packages/x.py", False),
        (f"{ROOT}/.git/index", False),
        (f"{ROOT}/a/__pycache__/x.cpython-312.pyc", False),
        (f"{ROOT}/x.pyc", False),
        (os.__file__, False),
        (promptdsl.__file__, False),
    ],
)
def test_what_is_watched(path: str, expected: bool) -> None:
    """Files of the project are watched, not those of Python, of packages and of Git."""
    assert expected == is_watched(path, [ROOT, os.path.dirname(os.__file__)])


def test_the_project(tmp_path: Path) -> None:
    """The project is the folder with a pyproject.toml around the current one, or that one."""
    (inner := tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("")
    assert str(tmp_path) == project_folder(str(inner))
    (inner / "setup.cfg").write_text("")
    assert str(inner) == project_folder(str(inner))


def test_a_change(tmp_path: Path) -> None:
    """A file that is written, replaced or removed has another signature."""
    file = tmp_path / "a.py"
    file.write_text("a")
    first = signature(str(file))
    assert first == signature(str(file))
    file.write_text("ab")
    second = signature(str(file))
    (tmp_path / "b.py").write_text("ab")
    os.replace(tmp_path / "b.py", file)
    third = signature(str(file))
    file.unlink()
    signatures = [first, second, third, signature(str(file)), signature("\0")]
    assert [None, None] == signatures[3:]
    assert 3 == len({str(row) for row in signatures[:3]})


def test_a_project_below_such_a_folder() -> None:
    """A project in a folder ``venv`` is watched; what is in such a folder of it is not."""
    root = "/srv/venv/.git/project"
    expected = [True, True, False]
    names = ("rules.py", "a/rules.py", "venv/rules.py")
    assert expected == [is_watched(f"{root}/{name}", ["/srv/other", root]) for name in names]
