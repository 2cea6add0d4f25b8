"""What a linter finds in a piece of code, and in the prompt that it makes."""

from pathlib import Path
from typing import Any

from promptdsl import PromptError, Rendered, render
from promptdsl.checking import Checker, CheckReport, CheckSettings

IMPORT = "from promptdsl import *\n"


def looked_at(
    path: Path,
    code: str,
    *,
    model: str | None = None,
    settings: CheckSettings | None = None,
    run: bool = True,
) -> CheckReport:
    """Return what is found in the code, written to a file, and in its ``prompt``, if it has one."""
    path.write_text(IMPORT + code, "utf-8")
    checker = Checker(settings)
    checker.paths([str(path)])
    names: dict[str, Any] = {}
    if run:
        exec(compile(IMPORT + code, str(path), "exec"), names)
    prompt = names.get("prompt")
    if prompt is not None:
        try:
            rendered = prompt if isinstance(prompt, Rendered) else render(prompt, model=model)
            checker.prompt(rendered)
        except PromptError as error:
            checker.failed("prompt", error)
    return checker.report()


def ids(report: CheckReport) -> list[str]:
    """Return the rules of the findings, each with its line in the code; 0 is unknown."""
    return [f"{it.rule}:{max(it.line - 1, 0)}" for it in report.findings]
