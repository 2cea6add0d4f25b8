"""The tests in several processes: each file in one of them, in lists of about equal weight."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.run import ROOT, files_of, paths_of, shares_of


def test_shares_are_balanced() -> None:
    """The heaviest files are given out first, each to the lightest list; lists keep their order."""
    weights = {"a.py": 1.0, "b.py": 4.0, "c.py": 3.0, "d.py": 2.0}
    assert [["a.py", "b.py"], ["c.py", "d.py"]] == shares_of(list(weights), weights, 2)


def test_a_file_without_a_weight() -> None:
    """A file that was never measured gets a place, too; no process starts without a file."""
    assert [["a.py"], ["new.py"]] == shares_of(["a.py", "new.py"], {"a.py": 1.0}, 3)


def test_files_that_slow_others_run_last() -> None:
    """The file that adds a hook to the interpreter is the last one of its list."""
    files = ["tests/test_audit.py", "tests/test_calls.py"]
    assert [["tests/test_calls.py", "tests/test_audit.py"]] == shares_of(files, {}, 1)


def test_each_file_is_in_one_list() -> None:
    """Every test file of the project is in exactly one list, documentation included."""
    files = files_of([])
    shared = [file for share in shares_of(files, {}, 3) for file in share]
    assert (sorted(files), True, True, True) == (
        sorted(shared),
        "README.md" in files,
        "docs/budgets.md" in files,
        "tests/cli/test_main.py" in files,
    )


def test_paths_among_options() -> None:
    """Paths choose files; a value of an option is none, and a path that does not exist is kept."""
    options = ["-k", "tests", "tests/cli", "-x", "tests/test_ids.py::test_a", "nowhere.py"]
    expected = (["tests/cli", "tests/test_ids.py::test_a"], ["-k", "tests", "-x", "nowhere.py"])
    assert expected == paths_of(options)


@pytest.mark.native
@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize(
    ("chosen", "environment"),
    [
        ([], ".venv"),
        (
            [f"PYTHON={sys.base_prefix}/bin/python3"],
            ".venv-{}.{}".format(*sys.version_info) + sys.abiflags,
        ),
    ],
    ids=["the usual one", "a path"],
)
def test_each_python_has_its_environment(chosen: list[str], environment: str) -> None:
    """``make test`` uses the environment of the version of PYTHON, or the usual one."""
    command = ["make", "--dry-run", "test", *chosen]
    # A make around this test hands on its own variables, PYTHON among them.
    inner = {"PYTHON", *(name for name in os.environ if name.startswith("MAKE"))}
    outside = {name: value for name, value in os.environ.items() if name not in inner}
    done = subprocess.run(command, cwd=ROOT, env=outside, capture_output=True, check=True)
    assert {environment} == set(re.findall(r"\.venv[^/\s]*", done.stdout.decode()))


@pytest.mark.slow
@pytest.mark.native
@pytest.mark.parametrize(("chosen", "code"), [("test_", 0), ("nothing_of_this_name", 5)])
def test_two_processes(chosen: str, code: int) -> None:
    """Both processes say what they ran; the code is that of pytest, also if nothing was chosen."""
    command = [sys.executable, "-m", "tests.run", "--jobs", "2", "-q", "-k", chosen]
    files = ("tests/test_folding.py", "tests/test_run.py", "-m", "not slow")
    done = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, check=False)
    assert (code, 2) == (done.returncode, len(re.findall(rb" in [\d.]+s", done.stdout)))
