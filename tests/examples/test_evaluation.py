"""The evaluation, and the page on rows: what is found, and that commands print what is shown."""

import json
import re
from importlib import import_module
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from promptdsl.cli import main
from tests.examples.desk import ROOT, run

EVALUATION = ROOT / "examples" / "evaluation"
COMMAND = re.compile(r"^```console\n\$ (.*)\n((?:.*\n)*?)```$", re.MULTILINE)
PAGE = (EVALUATION / "README.md").read_text("utf-8")
HOW_TO = (ROOT / "docs" / "how-to" / "batch.md").read_text("utf-8")
FILES = {"prompts.py": "python", "reviews.csv": "csv", "results.jsonl": "json"}
"""The files of the how-to, each with the language of the first block that shows it."""


def test_it_finds_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two mails go to the wrong team and one gets no answer, as its page says."""
    stand_in, compare = (
        import_module(f"examples.evaluation.{name}") for name in ("stand_in", "compare")
    )
    monkeypatch.chdir(tmp_path)
    mails = str(EVALUATION / "mails.csv")
    target = f"{EVALUATION / 'prompts.py'}:triage"
    assert 0 == main(["batch", target, mails, "--model", "gpt-5", "--id", "id", "--output", "b"])
    with open("b/requests-00001.jsonl", encoding="utf-8") as requests:
        lines = [json.dumps(result) for result in stand_in.results(requests)]
    Path("results.jsonl").write_text("\n".join(lines), "utf-8")
    reading = ["batch", "read", "results.jsonl", "--batch", "b", "--output"]
    columns = ["--columns", "id,label,subject"]
    assert 1 == main([*reading, "a.jsonl", *columns])
    assert COMMAND.findall(PAGE)[-1][1].splitlines() == compare.report("a.jsonl")


def exit_code(command: str, page: str) -> int:
    """Return the exit code of a command of a page: 1 where a row has no request, or no answer."""
    told = "batch read" in command or (page == "how-to" and "promptdsl batch" in command)
    return int(told)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["evaluation", "how-to"])
def test_the_page_shows_what_is_printed(page: str, tmp_path: Path) -> None:
    """Each command of a page prints what is under it."""
    folder, text = tmp_path / "here", PAGE
    if page == "evaluation":
        copytree(EVALUATION, folder, ignore=ignore_patterns("__pycache__"))
    else:
        folder.mkdir()
        text = HOW_TO
        for name, language in FILES.items():
            block = text.partition(f"\n```{language}\n")[2].partition("```\n")[0]
            (folder / name).write_text(block, "utf-8")
    shown = COMMAND.findall(text)
    assert [(exit_code(command, page), printed) for command, printed in shown] == [
        run(folder, command) for command, _ in shown
    ]
