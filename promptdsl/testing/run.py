"""What a run of pytest knows of the tests with snapshots: which there are, and which passed."""

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from inspect import signature
from pathlib import Path

import pytest

from promptdsl.testing.names import name_of, path_from, stem_of, stems_in

RUN = "promptdsl-run"
"""The name of the plug-in below, and of what a worker of xdist tells its controller."""
REPORT = "promptdsl-report"
"""The same for the report of the run."""
UNCALLED = (
    "the test takes prompt_snapshot, but does not call it\n"
    "  write prompt_snapshot(prompt), or take the argument out"
)


class PromptRun:
    """A plug-in that follows one run: it is registered with the first test that has the fixture.

    A file may be unused only if its test passed, or if there is no such test any more: a test that
    failed, was skipped or did not run has not used what it needs.
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

    def collected(
        self, collector: pytest.Collector, nodes: Sequence[pytest.Item | pytest.Collector]
    ) -> None:
        """Note the tests and classes of a file, or those of a class."""
        counts = Counter(node.name.casefold() for node in nodes)
        self._not_alone |= {it.nodeid for it in nodes if counts[it.name.casefold()] > 1}
        tests = self._tests.setdefault(folder_of(collector), {})
        tests.update({self.stem(it): it.nodeid for it in nodes if isinstance(it, pytest.Item)})

    def collected_folder(self, folder: pytest.Directory) -> None:
        """Note a folder that is collected as a whole: the tests of its snapshots may be gone."""
        named = any(folder.session.isinitpath(node.path) for node in folder.listchain())
        if named and not getattr(self._config.option, "lf", False):
            self._folders.add(folder.path)

    def not_collected(self, collector: pytest.Collector) -> None:
        """Note a file that could not be read, or was skipped: its tests are not known."""
        self._not_collected.add(folder_of(collector))

    def uses(self, item: pytest.Item) -> None:
        """Note a test that asked for the fixture by its name, when it ran."""
        self._tests.setdefault(folder_of(item), {}).setdefault(self.stem(item), item.nodeid)

    def pytest_deselected(self) -> None:
        """In a run of some tests, look for no snapshots but those beside them."""
        self._folders.clear()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the files with tests that are to run."""
        self._collected = {folder_of(item) for item in session.items}

    def stem(self, item: pytest.Item) -> str:
        """Return how the names of the files of a test begin."""
        alone = self._not_alone.isdisjoint(node.nodeid for node in item.listchain())
        return stem_of(name_of(item.nodeid, item.name), alone=alone)

    def is_orphan(self, path: Path) -> bool:
        """Tell whether a file belongs to no test: those of its file of tests are known."""
        folder = path.parent.parent.parent / path.parent.name
        known = folder in {*self._tests, *self._collected} or not any(
            file.stem == folder.name for file in folder.parent.iterdir() if file.is_file()
        )
        return known and folder not in self._not_collected and self._test_of(path) is None

    def may_be_unused(self, path: Path) -> bool:
        """Tell whether a file belongs to no test, or to one that passed; before the end any may."""
        if not self._at_end or self.is_orphan(path):
            return True
        test = self._test_of(path)
        return test is not None and self.has_passed(test)

    def unused(self) -> list[Path]:
        """Return the snapshots of prompts that may be unused, at the end of the run."""
        files = self.files(".prompt.txt")
        return [path for path in files if self._at_end and self.may_be_unused(path)]

    def files(self, ending: str) -> list[Path]:
        """Return the files in the folders of this run whose names end so, in their order."""
        name = self._config.option.snapshot_dirname
        beside = {test.parent for test in (*self._tests, *self._not_collected)}
        folders = {folder / name for folder in beside | self._folders}
        return sorted(path for folder in folders for path in folder.glob(f"*/*{ending}"))

    def has_passed(self, nodeid: str) -> bool:
        """Tell whether a test passed, each time that it ran."""
        return nodeid in self._passed and nodeid not in self._failed

    def _test_of(self, path: Path) -> str | None:
        tests = self._tests.get(path.parent.parent.parent / path.parent.name, {})
        stem = path.name.removesuffix(".prompt.txt").removesuffix(".payload.json")
        return next((tests[it] for it in stems_in(stem) if it in tests), None)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """Fail a test that passed, and has the fixture as an argument, but did not call it."""
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
        """Before syrupy looks for unused files, keep its other formats off the ones in use."""
        self._at_end = True
        getattr(self._config, "workeroutput", {})[RUN] = True
        name_unused(self._config)
        needed = [path for path in self.files(".*") if not self.may_be_unused(path)]
        self._config.option.ignore_file_extensions += {path.suffix[1:] for path in needed}
        return (yield)


def folder_of(node: pytest.Item | pytest.Collector) -> Path:
    """Return the path of a test file without its extension: what its folder is named after."""
    return node.path.parent / node.path.stem


def run_of(config: pytest.Config) -> PromptRun:
    """Return the plug-in that follows the tests of this run, registered at its first use."""
    run: PromptRun | None = config.pluginmanager.get_plugin(RUN)
    if run is None:
        run = PromptRun(config)
        config.pluginmanager.register(run, RUN)
    return run


def name_unused(config: pytest.Config) -> None:
    """Have syrupy name the unused snapshots; an update names those that it deletes."""
    config.option.include_snapshot_details |= not config.option.update_snapshots
