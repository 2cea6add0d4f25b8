"""Small projects with tests of prompts, and runs of pytest in them."""

import re
from functools import cache
from importlib.metadata import entry_points

import pytest

QUIETLY = (
    *("-q", "-p", "no:cacheprovider"),
    *("-W", "error", "-W", "ignore::pytest.PytestAssertRewriteWarning"),
)
"""The options of every run; where mistakes are made, the package is imported before pytest."""


WITHOUT = [
    f"-pno:{name}"
    for name in (
        *("faulthandler", "junitxml", "legacypath", "logging", "pastebin", "recwarn"),
        *("setuponly", "setupplan", "stepwise"),
    )
]
"""What pytest itself loads, and no test of such a run asks for."""


@cache
def plugins() -> list[object]:
    """Return the plugins of a run in this process, as they are installed."""
    found = entry_points(group="pytest11")
    return [plugin.load() for plugin in found if plugin.name in ("promptdsl", "syrupy")]


class Project:
    """A folder with tests; a run of pytest in it returns what it tells."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.folder = pytester.path
        self.ini("")

    def ini(self, lines: str) -> None:
        """Write the configuration of pytest."""
        self.folder.joinpath("pytest.ini").write_text(f"[pytest]\n{lines}\n")

    def write(self, **files: str) -> None:
        """Write files of Python, each of them as one that imports promptdsl and pytest."""
        for name, body in files.items():
            head = "import pytest\nfrom promptdsl import *\n"
            self.folder.joinpath(f"{name}.py").write_text(head + body)

    def run(self, *options: str, apart: bool = False) -> str:
        """Return what a run tells, without times; ``apart`` is in a process of its own."""
        runs = self.pytester.runpytest_subprocess if apart else self.here
        lines = runs(*QUIETLY, *options).outlines
        return re.sub(r" in [\d.]+s( \([\d:]+\))?", "", "\n".join(lines))

    def here(self, *options: str) -> pytest.RunResult:
        """Return how a run in this process went."""
        with pytest.MonkeyPatch.context() as patch:
            # To look for all plugins that are installed takes as long as the run.
            patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
            return self.pytester.runpytest_inprocess(*WITHOUT, *options, plugins=plugins())

    def update(self, *options: str, apart: bool = False) -> str:
        """Return what a run tells that updates the snapshots."""
        return self.run("--snapshot-update", *options, apart=apart)

    def error(self, *options: str, apart: bool = False) -> str:
        """Return the errors of a run, as pytest prints them."""
        return self.errors_in(self.run(*options, apart=apart))

    @staticmethod
    def errors_in(told: str) -> str:
        """Return the lines of errors in what a run tells, without the modules of errors."""
        lines = [line.rstrip() for line in told.split("\n") if line.startswith("E ")]
        return re.sub(r"^(E +)(\w+\.)+(?=\w+Error: )", r"\1", "\n".join(lines), flags=re.MULTILINE)

    def files(self) -> dict[str, bytes]:
        """Return what is in each snapshot, by path."""
        paths = [it for it in self.folder.rglob("__snapshots__/*/*") if it.is_file()]
        return {it.relative_to(self.folder).as_posix(): it.read_bytes() for it in sorted(paths)}


def summary(told: str) -> str:
    """Return the last lines of a run: what became of the snapshots and of the tests."""
    lines = told[told.rindex("snapshot report summary") :].split("\n")[1:]
    return "\n".join(line for line in lines if line)
