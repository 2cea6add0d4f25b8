"""A library from its first file to its use: begun, built, installed, found, used, overridden."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path
from sysconfig import get_path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
USED = """
from promptdsl import Library, System, override, render
from promptdsl_support import support

def tone(*, language="English", sentences=3):
    return f"Whisper in at most {sentences} words."

with override({"support:tone": tone}):
    system = System(support.scope(topics=["refunds"]), support.tone(sentences=2))
print(render(system).messages[0].text)
"""
TEXT = """\
You help with:

- refunds

Decline all other questions in one sentence.

Whisper in at most 2 words.
"""
TYPED = """\
from promptdsl_support import support

reveal_type(support.scope)
reveal_type(support.tone(language="French"))
support.scope(topics=["refunds"], other="forward")
support.scope(topics="refunds")  # line 6
support.scope(topics=[], other="ignore")  # line 7
support.scope()  # line 8
support.tone(sentence=1)  # line 9
"""
SCOPE_TYPE = "(*, topics: list[str], other: Literal['decline', 'forward'] = \"decline\")"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of a fresh environment with the wheel of this project."""
    wheels, folder = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("fresh")
    build(ROOT, wheels)
    venv.create(folder, with_pip=False)
    paths = {"base": str(folder), "platbase": str(folder)}
    # What is installed here is seen there, without a network; the path of this project is not.
    Path(get_path("purelib", "venv", paths), "here.pth").write_text(get_path("purelib") + "\n")
    fresh = Path(get_path("scripts", "venv", paths), "python")
    install(fresh, wheels)
    return fresh


@pytest.fixture(scope="module")
def project(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the project of a new library, which is built, and installed in the environment."""
    folder, wheels = tmp_path_factory.mktemp("team"), tmp_path_factory.mktemp("wheels")
    run(python.with_name("promptdsl"), "new", "library", "support", cwd=folder)
    build(folder / "promptdsl-support", wheels)
    install(python, wheels)
    return folder / "promptdsl-support"


@pytest.mark.usefixtures("project")
def test_an_installed_library_is_found(python: Path, tmp_path: Path) -> None:
    """A library that is installed is listed, with the package that brings it."""
    listed = run(python.with_name("promptdsl"), "list", "--json", cwd=tmp_path)
    assert [("support", "0.1.0", "promptdsl-support", None)] == [
        (row["name"], row["version"], row["package"], row["problem"])
        for row in json.loads(listed)
        if row["name"] == "support"
    ]


@pytest.mark.usefixtures("project")
def test_an_installed_library_is_used_and_overridden(python: Path, tmp_path: Path) -> None:
    """Its sections are parts of a prompt, and one of them is replaced."""
    assert TEXT == run(python, "-c", USED, cwd=tmp_path)


def test_the_tests_of_a_new_library_pass(python: Path, project: Path) -> None:
    """The tests that a new library has pass as they are, without a snapshot that is unused."""
    report = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project)
    assert ["2 passed", True] == [report.split("\n")[-2].partition(" in ")[0], "3 snapsh" in report]


def test_the_tests_of_new_sections_pass(python: Path, project: Path) -> None:
    """The tests of a section that is added pass as they are, and its types are written."""
    promptdsl = python.with_name("promptdsl")
    run(promptdsl, "new", "section", "billing/refunds", cwd=project)
    run(promptdsl, "new", "section", "role", "--function", cwd=project)
    run(promptdsl, "stubs", "promptdsl_support.library:support", cwd=project)
    run(promptdsl, "stubs", "promptdsl_support.library:support", "--check", cwd=project)
    report = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project)
    assert "4 passed" == report.split("\n")[-2].partition(" in ")[0]


@pytest.mark.usefixtures("project")
def test_pyright_knows_the_sections(python: Path, tmp_path: Path) -> None:
    """An editor knows the inputs of a section, and a wrong input is an error at its line."""
    (tmp_path / "typed.py").write_text(TYPED, "utf-8")
    command = [sys.executable, "-m", "pyright", "--pythonpath", python, "--outputjson", "typed.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    told = [one["message"] for one in found if one["severity"] == "information"]
    wrong = [one["range"]["start"]["line"] + 1 for one in found if one["severity"] == "error"]
    assert SCOPE_TYPE in told[0]
    assert 'Type of "support.tone(language="French")" is "CustomComponent"' == told[1]
    assert [6, 7, 8, 9] == wrong


@pytest.mark.usefixtures("project")
def test_mypy_knows_the_sections(python: Path, tmp_path: Path) -> None:
    """So does mypy."""
    (tmp_path / "typed.py").write_text(TYPED, "utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", python, "typed.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    errors = [line.split(":")[1] for line in done.stdout.split("\n") if ": error:" in line]
    assert ["6", "7", "8", "9"] == errors


def build(project: Path, folder: Path) -> None:
    """Build the wheel of a project into a folder, without the network."""
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", folder, project)


def install(python: Path, folder: Path) -> None:
    """Install the wheel in a folder, and nothing else."""
    (wheel,) = folder.glob("*.whl")
    pip = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--ignore-installed")
    run(python, *pip, wheel)


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Return what a command prints; it knows no path but its own, and not that a test runs it."""
    hidden = ("PYTHONPATH", "PYTEST_")
    known = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=known,
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout
