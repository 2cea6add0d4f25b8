"""The evaluation: what it finds, and that its page shows what its commands print."""

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
    assert 1 == main(["batch", "read", "results.jsonl", "--batch", "b", "--output", "a.jsonl"])
    assert COMMAND.findall(PAGE)[-1][1].splitlines() == compare.report(mails, "a.jsonl")


@pytest.mark.slow
def test_the_page_shows_what_is_printed(tmp_path: Path) -> None:
    """Each command of the page prints what is under it; a row without an answer is told."""
    folder = tmp_path / "evaluation"
    copytree(EVALUATION, folder, ignore=ignore_patterns("__pycache__"))
    shown = COMMAND.findall(PAGE)
    codes = [1 if " batch read " in command else 0 for command, _ in shown]
    assert [(code, printed) for code, (_, printed) in zip(codes, shown, strict=True)] == [
        run(folder, command) for command, _ in shown
    ]
