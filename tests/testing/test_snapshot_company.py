"""Snapshots in company: workers of xdist, other releases of syrupy, pytest-insta, and nothing."""

import subprocess
import sys
import venv
from pathlib import Path
from sysconfig import get_path

import pytest

from tests.testing.projects import Project, summary

pytestmark = [pytest.mark.slow, pytest.mark.native]

ROOT = Path(__file__).resolve().parents[2]
MANY = """
@pytest.mark.parametrize("number", range(6))
def test_many(prompt_snapshot, number):
    prompt_snapshot(User(f"number {number}"))
    prompt_snapshot(User(f"again {number}")).payload("openai")
"""
FAILS_AT_ZERO = MANY.replace("    prompt_snapshot", "    assert number\n    prompt_snapshot", 1)
WORKERS = ("-n", "4", "-p", "xdist")


def test_four_workers(project: Project) -> None:
    """Four workers write all files, of two folders too, and delete none of a test that failed."""
    project.folder.joinpath("other").mkdir()
    project.ini("addopts = --import-mode=importlib")
    project.write(**{"test_a": MANY, "other/test_a": MANY})
    shown_text = project.update(*WORKERS, apart=True)
    assert "36 snapshots generated.\n12 passed" == summary(shown_text)
    assert 36 == len(project.files())
    fewer = MANY.replace("range(6)", "range(5)")
    project.write(**{"test_a": FAILS_AT_ZERO, "other/test_a": fewer})
    shown_text = project.run(*WORKERS, apart=True)
    assert "30 snapshots passed. 3 snapshots unused." in shown_text
    assert (
        "Unused test_many[5].prompt (other/__snapshots__/test_a/test_many[5].prompt.txt)"
        in shown_text
    )
    assert "3 unused snapshots deleted." in project.update(*WORKERS, apart=True)
    assert 33 == len(project.files())


class Elsewhere:
    """An environment with all that is installed here, but for what ``without`` begins."""

    def __init__(self, folder: Path, without: str, *installed: str) -> None:
        self.packages = folder / "packages"
        self.packages.mkdir()
        for path in Path(get_path("purelib")).iterdir():
            if not path.name.startswith(without) and path.suffix != ".pth":
                self.packages.joinpath(path.name).symlink_to(path)
        if installed:
            self.install(folder / "installed", *installed)
        venv.create(folder / "venv", with_pip=False)
        paths = {"base": str(folder / "venv"), "platbase": str(folder / "venv")}
        pth = Path(get_path("purelib", "venv", paths), "here.pth")
        pth.write_text(f"{self.packages}\n{folder / 'installed'}\n{ROOT}\n")
        self.python = Path(get_path("scripts", "venv", paths), "python")

    def install(self, folder: Path, *installed: str) -> None:
        """Install packages into a folder, or skip the test where the registry does not answer."""
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--target", folder)
        process = subprocess.run((*pip, *installed), capture_output=True, text=True, check=False)
        if process.returncode:
            pytest.skip(f"pip install {' '.join(installed)} failed: {process.stderr[-300:]}")

    def pytest(self, *arguments: str | Path, cwd: Path) -> str:
        """Return what a run of pytest tells there."""
        command = (self.python, "-m", "pytest", "-q", *arguments)
        process = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
        return process.stdout + process.stderr


def test_the_oldest_release_of_syrupy(tmp_path: Path) -> None:
    """All that is claimed of snapshots holds with the oldest syrupy; the newest is installed."""
    elsewhere = Elsewhere(tmp_path, "syrupy", "--no-deps", "syrupy==7.0.0")
    files = ("tests/testing/test_prompt_snapshot.py", "tests/testing/test_snapshot_files.py")
    shown_text = elsewhere.pytest(*files, "--hypothesis-profile=fast", cwd=ROOT)
    assert [] == [line for line in shown_text.split("\n") if line.startswith(("FAILED", "ERROR"))]
    assert " passed in " in shown_text


def test_pytest_insta_has_a_fixture_of_its_own(tmp_path: Path, project: Project) -> None:
    """With pytest-insta, whose fixture ``snapshot`` hides that of syrupy, ours is as ever."""
    elsewhere = Elsewhere(tmp_path, "wrapt", "pytest-insta")
    project.write(
        test_a='def test_a(prompt_snapshot): prompt_snapshot(User("Hi."))\n'
        'def test_b(snapshot): assert snapshot() == "told"\n'
    )
    written = elsewhere.pytest("--snapshot-update", "--insta", "update", cwd=project.folder)
    assert "1 snapshot generated." in written
    assert [*project.files()] == ["__snapshots__/test_a/test_a.prompt.txt"]
    shown_text = elsewhere.pytest("-W", "error", cwd=project.folder)
    assert ("1 snapshot passed.", "2 passed") == tuple(
        it for it in ("1 snapshot passed.", "2 passed") if it in shown_text
    )


def test_without_syrupy(tmp_path: Path, project: Project) -> None:
    """Without syrupy the plug-in is silent, and a test with the fixture names the extra."""
    elsewhere = Elsewhere(tmp_path, "syrupy")
    project.write(test_a="def test_plain(): ...")
    assert "\n1 passed in" in elsewhere.pytest("-W", "error", cwd=project.folder)
    project.write(test_a='def test_a(prompt_snapshot): prompt_snapshot(User("Hi."))')
    expected = "the fixture prompt_snapshot needs syrupy: install the extra `testing` of promptdsl"
    assert expected in elsewhere.pytest(cwd=project.folder)


def test_a_run_without_the_fixture_loads_nothing(project: Project) -> None:
    """A run that does not use the fixture loads the plug-in alone, and no package for it."""
    project.folder.joinpath("test_a.py").write_text(
        "import sys\n"
        "def test_loaded():\n"
        "    names = [it for it in sys.modules if it.split('.')[0] in ('promptdsl', 'attrs')]\n"
        "    assert ['foundation', 'foundation.lazy_names', 'promptdsl', 'testing', "
        "'testing.plugin'] == sorted(it.removeprefix('promptdsl.') for it in names)\n"
    )
    shown_text = project.pytester.runpytest_subprocess(
        "-q", "-p", "no:cacheprovider", "-p", "no:anyio"
    )
    assert ["1 passed"] == [line[:8] for line in shown_text.outlines if "passed" in line]


HYPOTHESIS = """
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import just

@settings(deadline=200, suppress_health_check=list(HealthCheck))
@given(just("one"))
def test_one(prompt_snapshot, text):
    prompt_snapshot(User(text), name="one")
"""


def test_a_first_call_is_within_the_deadline_of_hypothesis(project: Project) -> None:
    """What a first call needs is loaded with the fixture, before the deadline of an example."""
    project.write(test_a=HYPOTHESIS)
    assert "1 passed" in project.update(apart=True)
