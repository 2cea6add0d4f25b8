"""The pytest plug-in. Every run of pytest loads it, so it imports other modules only when used."""

from collections.abc import Generator, Mapping
from pathlib import Path
from types import ModuleType

import pytest

TYPE_CHECKING = not __name__  # False, but not to editors: typing has it, and costs more than this
if TYPE_CHECKING:
    from typing import Any

    from promptdsl.testing.snapshot import PromptSnapshot

MODELS = "prompt_models(*models, budget=None): render the prompts of a test for these models, too"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options for the report of a run and for the rules of ``promptdsl check``."""
    add = parser.getgroup("promptdsl").addoption
    what = "write a web page with the prompts that differ from their snapshots, and the changes"
    add("--prompt-report", metavar="FILE", help=what)
    what = "also fail if promptdsl check finds a mistake in a prompt of prompt_snapshot"
    add("--prompt-check", action="store_true", help=what)


def pytest_configure(config: pytest.Config) -> None:
    """Add the pytest mark ``prompt_models``, and register syrupy's fixture under a second name."""
    if config.option.prompt_report is not None:
        from promptdsl.testing.report import RunReport

        config.pluginmanager.register(RunReport(config), "promptdsl-report")
    config.addinivalue_line("markers", MODELS)
    syrupy = config.pluginmanager.get_plugin("syrupy")
    if syrupy is not None:
        alias = ModuleType("promptdsl_syrupy")
        alias._promptdsl_syrupy = syrupy.snapshot  # type: ignore[attr-defined]
        config.pluginmanager.register(alias, alias.__name__)
        # The list must exist from the start, so that syrupy sees what a run adds to it at the end.
        ignored: list[str] | None = config.option.ignore_file_extensions
        config.option.ignore_file_extensions = [*(ignored or ())]


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Skip snapshots: pytest treats ``test*.txt`` as doctests, and would run their text."""
    return True if collection_path.name.endswith(".prompt.txt") else None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Pass the folders with snapshots to the run, and all tests of a file, selected or not."""
    report = yield
    config, path = collector.config, collector.path
    if not config.pluginmanager.hasplugin("syrupy"):
        return report
    if isinstance(collector, pytest.Directory):
        if any((path / config.option.snapshot_dirname).glob("*/*.prompt.txt")):
            from promptdsl.testing.run import run_of

            run_of(config).collected_folder(collector)
    elif isinstance(collector, (pytest.Module, pytest.Class)):
        nodes = report.result or []
        stored = path.parent / config.option.snapshot_dirname / path.stem
        # The last test of the file with the fixture may have been deleted.
        has_prompts = any(stored.glob("*.prompt.txt"))
        if has_prompts or any(
            "prompt_snapshot" in getattr(node, "fixturenames", ()) for node in nodes
        ):
            from promptdsl.testing.run import run_of

            run = run_of(config)
            if report.passed:
                run.collected(collector, nodes)
            else:
                run.not_collected(collector)
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: "Any") -> None:  # Any: xdist has no types
    """Let syrupy list unused snapshots if a worker of xdist had tests with the fixture."""
    if "promptdsl-run" in getattr(node, "workeroutput", ()):
        from promptdsl.testing.run import name_unused

        name_unused(node.config)


@pytest.fixture
def prompt_scrubbers() -> Mapping[str, str]:
    """Return the scrubbers of all snapshots by name; override this fixture in a ``conftest.py``.

    A scrubber is a regular expression. A match is stored as the name of the scrubber and a number.
    """
    return {}


@pytest.fixture
def prompt_snapshot(
    request: pytest.FixtureRequest, prompt_scrubbers: Mapping[str, str]
) -> "PromptSnapshot":
    """Compare a prompt with its file in ``__snapshots__``; ``--snapshot-update`` writes the file.

    ``prompt_snapshot(rendered)`` fails if the prompt differs from the file, and shows all changes.
    ``name=`` is for several prompts in a test, ``scrub=`` for texts that differ in each run.
    """
    if not request.config.pluginmanager.hasplugin("syrupy"):
        from promptdsl.foundation.errors import install_advice

        advice = f"{install_advice('testing')}, and do not turn syrupy off"
        pytest.fail(f"the fixture prompt_snapshot needs syrupy: {advice}", pytrace=False)
    from promptdsl.testing.snapshot import PromptSnapshot, SnapshotFiles

    return PromptSnapshot(SnapshotFiles(request), prompt_scrubbers)
