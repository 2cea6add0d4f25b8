"""From a save to the page: python -m tests.preview.speed [SAVES].

For the support desk of the examples, and for a project of 200 modules that is made for it: the
median time from a save until a reader has the page, and the CPU time of the child in the same run:
it imports the code, renders, and makes the page data. A save may take 1.5 times as long, and 50 ms.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.preview.running import ROOT, Preview, has_page, preview

MODULES = 200
RULE = """
from promptdsl import Section


def rule():
    Section("rule-{number}", "Rule {number}.")
"""
OPTIONS = ("--budget", "4000", "--model", "gpt-5")
TICKET = """
from datetime import date
from promptdsl import Timeline
from support_desk.prompts import Account, answer

HISTORY = [
    {"role": "user", "content": "Hi, I was charged twice this month."},
    {"role": "assistant", "content": "I am sorry. Could you open the invoice you mean?"},
]


def ticket() -> Timeline:
    account = Account("Ann Lee", "Pro")
    return answer("This one.", HISTORY, account, invoice=1881, today=date(2026, 1, 2))
"""
"""A ticket of the support desk."""


def many_modules(folder: Path) -> tuple[str, Path]:
    """Write a project of 200 modules, and return its target and the file to save."""
    package = folder / "rules"
    package.mkdir()
    (folder / "pyproject.toml").write_text("")
    (package / "__init__.py").write_text("")
    lines = ["from promptdsl import *"]
    for number in range(MODULES):
        (package / f"rule_{number}.py").write_text(RULE.format(number=number))
        lines.append(f"from rules import rule_{number}")
    calls = "\n".join(f"            rule_{number}.rule()" for number in range(MODULES))
    code = "\n".join(lines) + "\n\n\ndef prompt() -> Timeline:\n    with Timeline() as tree:\n"
    code += f"        with System():\n{calls}\n        User('Hi.')\n    return tree\n"
    (folder / "main.py").write_text(code)
    return "main.py:prompt", package / "rule_0.py"


def support_desk(folder: Path) -> tuple[str, Path]:
    """Copy the support desk, and return its target and the file to save."""
    shutil.copytree(ROOT / "examples" / "support_desk", folder, dirs_exist_ok=True)
    (folder / "ticket.py").write_text(TICKET)
    return "ticket.py:ticket", folder / "support_desk" / "prompts.py"


def measured(folder: Path, target: str, file: Path, saves: int) -> tuple[float, float]:
    """Return the median seconds from a save to the page, and of the CPU that it took."""
    with preview(folder, target, *OPTIONS) as running:
        running.follow()
        running.wait(has_page)
        rows = [saved(running, file, number) for number in range(saves + 2)][2:]
    return median(took for took, _ in rows), median(cpu for _, cpu in rows)


def saved(running: Preview, file: Path, number: int) -> tuple[float, float]:
    """Save a file, and return the seconds until the page is there, and of the CPU."""
    text = file.read_text()
    since = len(running.states)
    began = time.perf_counter()
    file.write_text(f"{text}\n# {number}\n")
    state = running.wait(has_page, since)
    return time.perf_counter() - began, state["cpu"]


def main(saves: int) -> None:
    """Print the figures."""
    for name, make in (("support desk", support_desk), ("200 modules", many_modules)):
        with tempfile.TemporaryDirectory() as folder:
            target, file = make(Path(folder))
            took, cpu = measured(Path(folder), target, file, saves)
        bound = 1.5 * cpu + 0.05
        verdict = "within" if took <= bound else "above"
        figures = f"save to page {1000 * took:5.0f} ms, CPU {1000 * cpu:5.0f} ms"
        print(f"{name:14} {figures}: {verdict} {1000 * bound:.0f} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
