"""The report on a run of pytest: which prompts differ from their snapshots, and how.

It is only loaded for the option ``--prompt-report``.
"""

from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from promptdsl.comparing import DiffReport, PromptComparison, diff, is_report, write_or_refuse
from promptdsl.comparing.compared_prompts import Status, applied, difference
from promptdsl.comparing.snapshot_file import (
    PromptFile,
    SnapshotFormatError,
    is_same_snapshot,
    parse,
    serialise,
)
from promptdsl.foundation.errors import DataError
from promptdsl.testing.run import CONFLICT, REPORT, lines_of, path_from, run_of


@attrs.frozen
class NotedPrompt:
    """A prompt of a run, for the report at its end; all fields are texts, which xdist can send.

    ``before`` and ``after`` are the complete snapshots of a prompt that changed. ``old_name`` is
    the name of the file that a renamed prompt had before.
    """

    name: str
    status: Status
    model: str = ""
    before: str = ""
    after: str = ""
    old_name: str = ""
    problem: str = ""

    def comparison(self) -> PromptComparison:
        """Return the prompt for the report, with its changes."""
        changes = diff(parse(self.before), parse(self.after)) if self.after else None
        about = {"was": self.old_name, "problem": self.problem, "model": self.model}
        return PromptComparison(self.name, self.status, changes, **about)


class RunReport:
    """A pytest plug-in that collects the prompts of a run, and writes a page on them at its end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._path = config.invocation_params.dir / config.option.prompt_report
        self._of_tests: dict[str, list[NotedPrompt]] = {}
        self._prompts: dict[str, NotedPrompt] = {}
        self._summary = ""
        if not config.option.prompt_report or self._path.is_dir():
            problem = f"--prompt-report={config.option.prompt_report} is not a file"
            raise pytest.UsageError(f"{problem}: write --prompt-report=prompts.html")

    def note(
        self,
        test: str,
        prompts: Sequence[tuple[Path, PromptFile]],
        orphans: Callable[[Path, str], Sequence[Path]],
    ) -> None:
        """Note a prompt, and the same prompt for models, before their files are written.

        ``prompts`` are these prompts with their paths, the prompt without a model first.
        ``orphans`` returns the files that have a text and belong to no test.
        """
        noted = self._of_tests.setdefault(test, [])
        base: tuple[PromptFile, PromptFile] | None = None
        for path, file in prompts:
            now = file if base is None else difference(base[1], file)
            prompt, before = self._compared(path, file, serialise(now), base)
            if prompt.status == "added":
                for orphan in orphans(path, serialise(now))[:1]:
                    prompt = attrs.evolve(prompt, status="renamed", old_name=self._name(orphan))
            noted.append(prompt)
            base = base or (before or file, file)

    def _compared(
        self,
        path: Path,
        file: PromptFile,
        now: str,
        base: tuple[PromptFile, PromptFile] | None,
    ) -> tuple[NotedPrompt, PromptFile | None]:
        """Return the status of a prompt, and the complete prompt in its file if that differs.

        ``now`` is the new text of the file. ``base`` is the prompt without a model: as it is
        stored, and as it is now.
        """
        model = dict(file.header).get("model", "").partition(" (")[0]
        prompt = NotedPrompt(self._name(path), "same", "" if model == "none" else model)
        try:
            stored = lines_of(path.read_bytes())
            if (base is None or base[0] == base[1]) and is_same_snapshot(stored, now):
                return prompt, None
            if CONFLICT.search(stored) and not CONFLICT.search(now):
                raise SnapshotFormatError("it has a merge conflict")
            before = parse(stored)
            if base is not None:
                before = applied(base[0], before)
        except FileNotFoundError:
            return attrs.evolve(prompt, status="added"), None
        except (OSError, SnapshotFormatError) as error:
            return attrs.evolve(prompt, status="unreadable", problem=str(error)), None
        texts = {"before": serialise(before), "after": serialise(file)}
        return attrs.evolve(prompt, status="changed", **texts), before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the prompts of a test to pytest's report, which a worker of xdist sends."""
        report = yield
        noted = self._of_tests.pop(item.nodeid, ())
        setattr(report, REPORT, [*map(attrs.asdict, noted)])
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the prompts of a test. A prompt differs if it differs in any run of the test."""
        self._add(getattr(report, REPORT, ()))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:  # Any: xdist has no types
        """Collect the snapshots without a test that a worker of xdist found."""
        self._add(getattr(node, "workeroutput", {}).get(REPORT, ()))

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        """Write the report, before an update deletes the unused snapshots."""
        unused: list[Path] = []
        if self._config.pluginmanager.hasplugin("syrupy"):
            unused = run_of(self._config).unused()
        names = [name for name in map(self._name, unused) if name not in self._prompts]
        removed = [attrs.asdict(NotedPrompt(name, "removed")) for name in names]
        self._add(removed)
        output: dict[str, Any] | None = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[REPORT] = removed
        elif not self._config.option.collectonly:
            self._write(session)
        return (yield)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the path of the report."""
        if self._summary:
            terminalreporter.write_line(self._summary)

    def _add(self, prompts: Sequence[dict[str, Any]]) -> None:
        for data in prompts:
            prompt = NotedPrompt(**data)
            earlier = self._prompts.setdefault(prompt.name, prompt)
            if earlier.status in ("same", "removed"):
                self._prompts[prompt.name] = prompt

    def _write(self, session: pytest.Session) -> None:
        renamed = {prompt.old_name for prompt in self._prompts.values()}
        names = sorted(self._prompts.keys() - renamed)
        report = DiffReport(tuple(self._prompts[name].comparison() for name in names))
        try:
            write_or_refuse(str(self._path), report.html, is_report)
        except (OSError, DataError) as error:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
            why = error.strerror if isinstance(error, OSError) else error.what
            self._summary = f"the prompt report {self._path} cannot be written: {why}"
        else:
            self._summary = f"prompt report: {self._path}"

    def _name(self, path: Path) -> str:
        return path_from(self._config.rootpath, path)
