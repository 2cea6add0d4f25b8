"""Files with several mistakes next to correct code, and all findings in each."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tests.checking.looking import IMPORT, looked_at

PAGE = Path(__file__).with_name("written.md")
_CASE = re.compile(
    r"^## (?P<name>[^\n]+)\n\n(?:Model: (?P<model>\S+)\.\n\n)?"
    r"```python\n(?P<code>.*?)```\n\n```text\n(?P<found>.*?)```\n",
    re.DOTALL | re.MULTILINE,
)


class Case(NamedTuple):
    """A file, the model of its ``prompt``, and what is found in it, with lines and columns."""

    name: str
    model: str | None
    code: str
    found: str


CASES = {
    it["name"]: Case(it["name"], it["model"], it["code"], it["found"])
    for it in _CASE.finditer(PAGE.read_text("utf-8"))
}


def found_in(case: Case) -> str:
    """Return all that is found in a file and in its prompt, a line for each."""
    with TemporaryDirectory() as folder:
        path = Path(folder).resolve() / "prompts.py"
        code, is_run = case.code.removeprefix(IMPORT), "prompt =" in case.code
        findings = looked_at(path, code, model=case.model, run=is_run).findings
    return "".join(f"{it}\n".removeprefix(f"{path}:") for it in findings)


def rewritten() -> str:
    """Return the page with what is found now."""
    text = PAGE.read_text("utf-8")
    for case in CASES.values():
        before = f"{case.code}```\n\n```text\n{case.found}```\n"
        text = text.replace(before, f"{case.code}```\n\n```text\n{found_in(case)}```\n")
    return text
