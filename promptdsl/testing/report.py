"""The report of a run of pytest: what changed in the prompts that were compared with their files.

It is loaded with the option ``--prompt-report`` alone.
"""

from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest

from promptdsl.comparing import DiffReport, PromptComparison, diff, is_report, write_over
from promptdsl.comparing.compared_prompts import Status
from promptdsl.comparing.matrix import applied, difference
from promptdsl.comparing.snapshot_file import (
    PromptFile,
    SnapshotFormatError,
    is_same_snapshot,
    parse,
    serialise,
)
from promptdsl.foundation.errors import DataError
from promptdsl.testing.extension import CONFLICT, lines_of
from promptdsl.testing.names import path_from
from promptdsl.testing.run import REPORT, run_of


@attrs.frozen
class NotedPrompt:
    """What is kept of a prompt until the end of the run, in texts: so xdist can send it.

    ``before`` and ``after`` are the whole files of a prompt that changed.
    """

    name: str
    status: Status
    model: str = ""
    before: str = ""
    after: str = ""
    was: str = ""
    problem: str = ""

    def comparison(self) -> PromptComparison:
        """Return the prompt as reports have it; what changed is found now."""
        found = diff(parse(self.before), parse(self.after)) if self.after else None
        about = {"was": self.was, "problem": self.problem, "model": self.model}
        return PromptComparison(self.name, self.status, found, **about)


class RunReport:
    """A plug-in that notes the prompts of a run, and writes the page on them at its end."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._path = config.invocation_params.dir / config.option.prompt_report
        self._of_tests: dict[str, list[NotedPrompt]] = {}
        self._prompts: dict[str, NotedPrompt] = {}
        self._told = ""
        if not config.option.prompt_report or self._path.is_dir():
            problem = f"--prompt-report={config.option.prompt_report} names no file"
            raise pytest.UsageError(f"{problem}: write --prompt-report=prompts.html")

    def note(
        self,
        test: str,
        prompts: Sequence[tuple[Path, PromptFile]],
        orphans: Callable[[Path, str], Sequence[Path]],
    ) -> None:
        """Note a prompt, and those for the models of its test, before their files are written.

        ``orphans`` gives the files of no test that have a text.
        """
        noted = self._of_tests.setdefault(test, [])
        base: tuple[PromptFile, PromptFile] | None = None
        for path, file in prompts:
            now = file if base is None else difference(base[1], file)
            prompt, before = self._compared(path, file, serialise(now), base)
            if prompt.status == "added":
                for orphan in orphans(path, serialise(now))[:1]:
                    prompt = attrs.evolve(prompt, status="renamed", was=self._name(orphan))
            noted.append(prompt)
            base = base or (before or file, file)

    def _compared(
        self,
        path: Path,
        file: PromptFile,
        now: str,
        base: tuple[PromptFile, PromptFile] | None,
    ) -> tuple[NotedPrompt, PromptFile | None]:
        """Return what became of a prompt, and the whole prompt that its file keeps.

        ``base`` is the prompt without a model, as it was stored and as it is.
        """
        model = dict(file.header).get("model", "").partition(" (")[0]
        prompt = NotedPrompt(self._name(path), "same", "" if model == "none" else model)
        try:
            stored = lines_of(path.read_bytes())
            if (base is None or base[0] == base[1]) and is_same_snapshot(stored, now):
                return prompt, None
            if CONFLICT.search(stored) and not CONFLICT.search(now):
                raise SnapshotFormatError("it has the marks of a merge conflict")
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
        """Hang the prompts of a test on its report: so a worker of xdist sends them."""
        report = yield
        noted = self._of_tests.pop(item.nodeid, ())
        setattr(report, REPORT, [*map(attrs.asdict, noted)])
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the prompts of a test: one that differed in one of its runs does differ."""
        self._add(getattr(report, REPORT, ()))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:  # Any: xdist has no types
        """Take the snapshots that a worker of xdist found to be of no test."""
        self._add(getattr(node, "workeroutput", {}).get(REPORT, ()))

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        """Write the report, before an update deletes the snapshots that are not used."""
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
        """Tell where the report is."""
        if self._told:
            terminalreporter.write_line(self._told)

    def _add(self, prompts: Sequence[dict[str, Any]]) -> None:
        for data in prompts:
            prompt = NotedPrompt(**data)
            known = self._prompts.setdefault(prompt.name, prompt)
            if known.status in ("same", "removed"):
                self._prompts[prompt.name] = prompt

    def _write(self, session: pytest.Session) -> None:
        renamed = {prompt.was for prompt in self._prompts.values()}
        names = sorted(self._prompts.keys() - renamed)
        report = DiffReport(tuple(self._prompts[name].comparison() for name in names))
        try:
            write_over(str(self._path), report.html, is_report)
        except (OSError, DataError) as error:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
            why = error.strerror if isinstance(error, OSError) else error.what
            self._told = f"the prompt report {self._path} cannot be written: {why}"
        else:
            self._told = f"prompt report: {self._path}"

    def _name(self, path: Path) -> str:
        return path_from(self._config.rootpath, path)
