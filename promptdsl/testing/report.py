"""The report of a run of pytest: what changed in the prompts that were compared with their files.

It is loaded with the option ``--prompt-report`` alone.
"""

from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, TypedDict

import pytest

from promptdsl.comparing import DiffReport, PromptComparison, diff
from promptdsl.comparing.matrix import applied, difference
from promptdsl.comparing.snapshot_file import (
    PromptFile,
    SnapshotFormatError,
    is_same_snapshot,
    parse,
    serialise,
)
from promptdsl.testing.extension import CONFLICT, lines_of
from promptdsl.testing.names import path_from
from promptdsl.testing.run import REPORT, run_of


class NotedPrompt(TypedDict):
    """What is kept of a prompt until the end of the run, as xdist sends it: texts alone.

    ``before`` and ``after`` are whole files of a prompt that changed.
    """

    name: str
    status: str
    model: str
    before: str
    after: str
    was: str
    problem: str


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
            if prompt["status"] == "added":
                for orphan in orphans(path, serialise(now))[:1]:
                    prompt.update(status="renamed", was=self._name(orphan))
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
        prompt = _noted(self._name(path), "same", model="" if model == "none" else model)
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
            prompt["status"] = "added"
            return prompt, None
        except (OSError, SnapshotFormatError) as error:
            prompt.update(status="unreadable", problem=str(error))
            return prompt, None
        prompt.update(status="changed", before=serialise(before), after=serialise(file))
        return prompt, before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Hang the prompts of a test on its report: so a worker of xdist sends them."""
        report = yield
        report.prompts = self._of_tests.pop(item.nodeid, [])
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the prompts of a test: one that differed in one of its runs does differ."""
        self._add(getattr(report, "prompts", ()))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:  # Any: xdist has no types
        """Take the snapshots that a worker of xdist found to be of no test."""
        self._add(getattr(node, "workeroutput", {}).get(REPORT, ()))

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        """Write the report, before an update deletes the snapshots that are not used."""
        if self._config.pluginmanager.hasplugin("syrupy"):
            unused = map(self._name, run_of(self._config).unused())
            self._add([_noted(name, "removed") for name in unused if name not in self._prompts])
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput[REPORT] = [
                it for it in self._prompts.values() if it["status"] == "removed"
            ]
        elif not self._config.option.collectonly:
            self._write(session)
        return (yield)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Tell where the report is."""
        if self._told:
            terminalreporter.write_line(self._told)

    def _add(self, prompts: Sequence[NotedPrompt]) -> None:
        for prompt in prompts:
            known = self._prompts.setdefault(prompt["name"], prompt)
            if known["status"] in ("same", "removed"):
                self._prompts[prompt["name"]] = prompt

    def _write(self, session: pytest.Session) -> None:
        renamed = {prompt["was"] for prompt in self._prompts.values()}
        names = sorted(self._prompts.keys() - renamed)
        report = DiffReport(tuple(_comparison(self._prompts[name]) for name in names))
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_bytes(report.html.encode())
        except OSError as error:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
            self._told = f"the prompt report {self._path} cannot be written: {error.strerror}"
        else:
            self._told = f"prompt report: {self._path}"

    def _name(self, path: Path) -> str:
        return path_from(self._config.rootpath, path)


def _noted(name: str, status: str, *, model: str = "") -> NotedPrompt:
    return NotedPrompt(
        name=name, status=status, model=model, before="", after="", was="", problem=""
    )


def _comparison(prompt: NotedPrompt) -> PromptComparison:
    """Return a prompt of the report; the files of one that changed are compared now."""
    found = None
    if prompt["after"]:
        found = diff(parse(prompt["before"]), parse(prompt["after"]))
    return PromptComparison(
        name=prompt["name"],
        status=prompt["status"],  # type: ignore[arg-type]
        diff=found,
        was=prompt["was"],
        problem=prompt["problem"],
        model=prompt["model"],
    )
