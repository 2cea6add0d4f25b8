"""The tests with snapshots in a run of pytest: which there are, and which passed."""

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from inspect import signature
from pathlib import Path

import pytest

from promptdsl.testing.names import name_of, path_from, stem_of, stems_in

RUN = "promptdsl-run"
"""The name of the plug-in below, and of the value that a worker of xdist sends."""
REPORT = "promptdsl-report"
"""The same for the plug-in of the report."""
UNCALLED = (
    "the test takes prompt_snapshot, but does not call it\n"
    "  write prompt_snapshot(prompt), or remove the argument"
)


class PromptRun:
    """A plug-in that follows a run. It is registered with the first test that has the fixture.

    A file may be unused only if its test passed or was deleted. A test that failed, was skipped or
    did not run may still need its files.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._tests: dict[Path, dict[str, str]] = {}
        self._not_alone: set[str] = set()
        self._collected: set[Path] = set()
        self._not_collected: set[Path] = set()
        self._folders: set[Path] = set()
        self._passed: set[str] = set()
        self._failed: set[str] = set()
        self._at_end = False
        self.written: dict[str, tuple[str, object, bytes]] = {}
        self.changed: dict[object, str] = {}
        """The file of the first prompt that has changed so, by its changes."""

    def collected(
        self, collector: pytest.Collector, nodes: Sequence[pytest.Item | pytest.Collector]
    ) -> None:
        """Note the tests and classes of a file, or those of a class."""
        counts = Counter(node.name.casefold() for node in nodes)
        self._not_alone |= {node.nodeid for node in nodes if counts[node.name.casefold()] > 1}
        tests = self._tests.setdefault(folder_of(collector), {})
        tests.update(
            {self.stem(node): node.nodeid for node in nodes if isinstance(node, pytest.Item)}
        )

    def collected_folder(self, folder: pytest.Directory) -> None:
        """Note a folder that is collected completely; tests in it may have been deleted."""
        named = any(folder.session.isinitpath(node.path) for node in folder.listchain())
        if named and not getattr(self._config.option, "lf", False):
            self._folders.add(folder.path)

    def not_collected(self, collector: pytest.Collector) -> None:
        """Note a file that could not be read, or was skipped, so that its tests are unknown."""
        self._not_collected.add(folder_of(collector))

    def uses(self, item: pytest.Item) -> None:
        """Note a test that requested the fixture when it ran."""
        self._tests.setdefault(folder_of(item), {}).setdefault(self.stem(item), item.nodeid)

    def pytest_deselected(self) -> None:
        """Look only for snapshots next to the tests, since not all tests run."""
        self._folders.clear()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the files with tests that are to run."""
        self._collected = {folder_of(item) for item in session.items}

    def stem(self, item: pytest.Item) -> str:
        """Return the beginning of the file names of a test."""
        alone = self._not_alone.isdisjoint(node.nodeid for node in item.listchain())
        return stem_of(name_of(item.nodeid, item.name), alone=alone)

    def is_orphan(self, path: Path) -> bool:
        """Return whether a snapshot has no test, and all tests of its test file are known."""
        folder = path.parent.parent.parent / path.parent.name
        is_known = folder in {*self._tests, *self._collected} or not any(
            file.stem == folder.name for file in folder.parent.iterdir() if file.is_file()
        )
        return is_known and folder not in self._not_collected and self._test_of(path) is None

    def may_be_unused(self, path: Path) -> bool:
        """Return whether a file has no test, or its test passed; before the end return true."""
        if not self._at_end or self.is_orphan(path):
            return True
        test = self._test_of(path)
        return test is not None and self.has_passed(test)

    def unused(self) -> list[Path]:
        """Return the snapshots of prompts that may be unused, at the end of the run."""
        files = self.files(".prompt.txt")
        return [path for path in files if self._at_end and self.may_be_unused(path)]

    def files(self, ending: str) -> list[Path]:
        """Return the files with this ending in the folders of this run, sorted."""
        name = self._config.option.snapshot_dirname
        parents = {test.parent for test in (*self._tests, *self._not_collected)}
        folders = {folder / name for folder in parents | self._folders}
        return sorted(path for folder in folders for path in folder.glob(f"*/*{ending}"))

    def has_passed(self, nodeid: str) -> bool:
        """Return whether a test passed each time that it ran."""
        return nodeid in self._passed and nodeid not in self._failed

    def _test_of(self, path: Path) -> str | None:
        tests = self._tests.get(path.parent.parent.parent / path.parent.name, {})
        stem = path.name.removesuffix(".prompt.txt").removesuffix(".payload.json")
        return next((tests[candidate] for candidate in stems_in(stem) if candidate in tests), None)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """Fail a test that passed and has the fixture as an argument, but did not call it."""
        yield
        snapshot = getattr(item, "funcargs", {}).get("prompt_snapshot")
        if getattr(snapshot, "was_called", True) or item.get_closest_marker("xfail"):
            return
        function: Callable[..., object] | None = getattr(item, "function", None)
        if function is not None and "prompt_snapshot" in signature(function).parameters:
            file, line, _ = item.reportinfo()
            at = f"{path_from(self._config.rootpath, Path(file))}:{(line or 0) + 1}"
            pytest.fail(f"{at}: {UNCALLED}", pytrace=False)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Note whether a test passed, from its setup to its teardown."""
        report = yield
        if not report.passed:
            self._failed.add(item.nodeid)
        elif report.when == "call":
            self._passed.add(item.nodeid)
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self) -> Generator[None, None, None]:
        """Keep other formats of syrupy from reporting the files in use as unused."""
        self._at_end = True
        getattr(self._config, "workeroutput", {})[RUN] = True
        name_unused(self._config)
        needed = [path for path in self.files(".*") if not self.may_be_unused(path)]
        self._config.option.ignore_file_extensions += {path.suffix[1:] for path in needed}
        return (yield)


def folder_of(node: pytest.Item | pytest.Collector) -> Path:
    """Return the path of a test file without its extension; its snapshot folder has this name."""
    return node.path.parent / node.path.stem


def run_of(config: pytest.Config) -> PromptRun:
    """Return the plug-in that follows the tests of this run, registered at its first use."""
    run: PromptRun | None = config.pluginmanager.get_plugin(RUN)
    if run is None:
        run = PromptRun(config)
        config.pluginmanager.register(run, RUN)
    return run


def name_unused(config: pytest.Config) -> None:
    """Let syrupy list the unused snapshots; an update lists those that it deletes."""
    config.option.include_snapshot_details |= not config.option.update_snapshots
