"""The support desk in examples/: a copy to work in, and the page that changes one of its rules.

The page is a session: a block of ``diff`` is a change that a person makes, a block of ``console``
a command with what it prints. ``python -m tests.examples`` writes what is printed today.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

ROOT = Path(__file__).resolve().parents[2]
DESK = ROOT / "examples" / "support_desk"
PAGE = ROOT / "docs" / "how-to" / "changing-a-rule.md"
CHANGE = re.compile(r"^-( .*\n)\+( .*\n)", re.MULTILINE)
STEP = re.compile(r"^```(diff|console)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


def copy_of_desk(folder: Path) -> Path:
    """Return a copy of the project, committed to the branch ``main`` of a repository of its own."""
    desk = folder / "support_desk"
    copytree(DESK, desk, ignore=ignore_patterns("__pycache__", ".*_cache"))
    run(desk, "git init --quiet --initial-branch main && git add --all")
    run(desk, "git -c user.name=Ann -c user.email=ann@example.com commit --quiet -m Prompts")
    return desk


def run(desk: Path, command: str) -> tuple[int, str]:
    """Return the exit code of a command in a shell, and what it prints: no time, no colours."""
    own = {name: os.environ[name] for name in ("HOME", "SYSTEMROOT") if name in os.environ}
    paths = (str(Path(sys.executable).parent), os.environ["PATH"])
    done = subprocess.run(
        ["bash", "-e", "-c", command],
        check=False,
        cwd=desk,
        env=own
        | {"PATH": os.pathsep.join(paths), "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    return done.returncode, re.sub(r" in \d+\.\d+s", "", done.stdout)


def change(desk: Path, diff: str) -> None:
    """Change the sections of the project as a diff of single lines says."""
    path = desk / "support_desk" / "sections.py"
    text = path.read_text("utf-8")
    for old, new in CHANGE.findall(diff):
        assert text.count(old) == 1, f"not a line of {path.name}: {old}"
        text = text.replace(old, new)
    path.write_text(text, "utf-8")


def page_today(folder: Path) -> str:
    """Return the page with what its commands print today."""
    desk = copy_of_desk(folder)

    def step(match: re.Match[str]) -> str:
        kind, text = match.groups()
        if kind == "diff":
            change(desk, text)
            return match[0]
        command = text.split("\n", 1)[0]
        _, printed = run(desk, command.removeprefix("$ "))
        return f"```console\n{command}\n{printed.rstrip()}\n```\n"

    return STEP.sub(step, PAGE.read_text("utf-8"))
