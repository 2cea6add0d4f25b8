"""The command ``promptdsl check``: what it prints, in which format, and its exit codes."""

import json
import re
from pathlib import Path

import pytest

from promptdsl.cli import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "checking.md").read_text("utf-8")
SHOP = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[0]
ODD = """import sys
def none(): return None
def broken(): raise ValueError("x")
def leaves(): sys.exit("x")
"""
[(CALL, SHOWN)] = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture(autouse=True)
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with the file of the page."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("", "utf-8")
    (tmp_path / "shop.py").write_text(SHOP, "utf-8")
    return tmp_path


def test_the_page_shows_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """What stands on the page is what the command prints."""
    assert 1 == main(CALL.split()[1:])
    assert SHOWN == capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "expected_text"),
    [
        ("shop.py:support --select PD1", 1, "1 file and 1 prompt checked, 1 finding"),
        ("shop.py:support --ignore PD1,PD202", 0, "1 file and 1 prompt checked, 0 findings"),
        ("shop.py:support --ignore PD --select hints", 0, "1 prompt checked, 0 findings"),
        ("shop.py:support --model gpt-5 --model o3", 1, "1 file and 2 prompts checked"),
        ("shop.py:support -p plan=pro", 1, "2 findings"),
        ("shop.py:support --budget 5", 1, "PD002 the prompt cannot be rendered: "),
        ("", 1, "1 file and 0 prompts checked, 1 finding"),
        ("", 1, "only files were checked"),
        ("shop.py --ignore PD1", 0, "0 findings"),
        ("absent.py", 2, "no such file or folder: absent.py"),
        ("absent.py:x", 2, "no such file: absent.py"),
        ("shop.py:suport", 2, "did you mean 'support'?"),
        ("pyproject.toml --select PD9", 2, "there is no rule 'PD9'"),
        ("empty", 2, "nothing was checked: empty"),
        ("--explain PD101", 0, "PD101: value built into an instruction"),
        ("--explain all", 0, "PD210  content that the target does not get"),
        ("--explain PD9", 2, "there is no rule 'PD9'"),
        ("--explain pd104", 0, "Hints that are findings of this rule: empty_block"),
        ("--help", 0, "--explain ID"),
        ("notes.ipynb", 2, "notes.ipynb: it is neither Python nor a template"),
        ("wrong.py shop.py", 1, "not checked: wrong.py: '(' was never closed (line 2)"),
    ],
)
def test_calls(
    arguments: str, code: int, expected_text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A call has its exit code, and says what was looked at or what is wrong with it."""
    Path("empty").mkdir()
    Path("notes.ipynb").write_text("{}", "utf-8")
    Path("wrong.py").write_text("import promptdsl\n(", "utf-8")
    assert code == main(["check", *arguments.split()])
    assert expected_text in "".join(capsys.readouterr())


def test_every_target_is_looked_at(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What one target raises does not hide what is found in others."""
    (shop / "odd.py").write_text(ODD, "utf-8")
    targets = [f"odd.py:{it}" for it in ("none", "broken", "leaves")]
    assert 1 == main(["check", *targets, "shop.py:support", "--format", "json"])
    report = json.loads(capsys.readouterr().out)
    assert [("odd.py", 3), ("odd.py", 4), ("odd.py:none", 0), ("shop.py", 10), ("shop.py", 11)] == [
        (it["file"], it["line"]) for it in report["findings"]
    ]
    assert 4 == report["prompts"]


def test_help_fits_a_screen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The help has at most 25 lines of 80 characters."""
    monkeypatch.setenv("COLUMNS", "80")
    main(["check", "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert [] == [it for it in lines if len(it) > 80] + lines[25:]


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    """JSON has every finding with its fields."""
    main(["check", "shop.py", "--format", "json"])
    assert json.loads(capsys.readouterr().out) == {
        "findings": [
            {
                "file": "shop.py",
                "line": 10,
                "column": 29,
                "rule": "PD101",
                "message": "an f-string makes the text of `plan` an instruction",
                "fix": "write Value(plan) next to the text",
                "inputs": [],
            }
        ],
        "files": 1,
        "prompts": 0,
    }


def test_annotations(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """GitHub gets a command for each finding, with escapes in it."""
    (shop / "a,b%.py").write_text(
        "from promptdsl import System\ndef f(x): System(f'{x}')\n", "utf-8"
    )
    main(["check", "a,b%.py", "--format", "github"])
    assert capsys.readouterr().out.splitlines()[0] == (
        "::error file=a%2Cb%25.py,line=2,col=18,title=PD101::an f-string makes the text of "
        "`x` an instruction; write Value(x) next to the text"
    )


def test_settings_name_the_prompts(
    shop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without arguments the settings say which prompts are rendered, and for which models."""
    toml = '[tool.promptdsl.check]\ntargets = ["shop.py:support"]\nmodels = ["gpt-5", "o3"]\n'
    (shop / "pyproject.toml").write_text(toml, "utf-8")
    assert 1 == main(["check"])
    assert capsys.readouterr().out.endswith("1 file and 2 prompts checked, 2 findings\n")
    (shop / "below").mkdir()
    monkeypatch.chdir(shop / "below")
    assert 1 == main(["check"])
    assert capsys.readouterr().out.endswith("1 file and 2 prompts checked, 2 findings\n")


TWO = """\
from promptdsl import *
import time
def one(): return System("{{ x }}", Section("a", "", title="A"))
def two(plan="a"):
    return Timeline(System(f"{plan}"), User("x", Video.from_url("https://example.com/a.mp4")))
def three(): return Timeline(System(Section("a", "x")), Section("a", "y"))
"""
BROKEN, TITLE, MARK, GPT, CLAUDE, BUILT, TWICE = (
    "odd.py:3: PD002 the prompt cannot be rendered: ValueError: x; correct its code\n",
    "two.py:3: PD104 section a: it has a title but no content; correct it, or name the rule "
    "in a comment\n",
    "two.py:3: PD205 '{{ x }}' is sent unchanged: a string is not a template; write "
    "Template.from_string(...), or Value(...) there\n",
    "two.py:5: PD210 video block is not sent to gpt-5: the target takes no such block in a user "
    "message; write it as text, or use another model\n",
    "two.py:5: PD210 video block is not sent to claude-sonnet-4-5: the target takes no such block "
    "in a user message; write it as text, or use another model\n",
    "two.py:5:28: PD101 an f-string makes the text of `plan` an instruction; write "
    "Value(plan) next to the text\n",
    "two.py:6: PD002 the prompt cannot be rendered: the id 'a' is used twice in one Timeline; two "
    "parts on this line have this id: rename one of them\n",
)
MODELS = "--model gpt-5 --model claude-sonnet-4-5"
ONLY_FILES = "only files were checked: to check a prompt, name it, such as prompts.py:support\n"
REPORTS = {
    f"two.py:one two.py:two two.py:three odd.py:broken {MODELS}": (
        f"{BROKEN}{TITLE}{MARK}{CLAUDE}{GPT}{BUILT}{TWICE}"
        "2 files and 8 prompts checked, 7 findings\n",
        "",
    ),
    "two.py:one two.py odd.py --select PD2,hints --ignore PD210": (
        f"{MARK}2 files and 1 prompt checked, 1 finding\n",
        "",
    ),
    "two.py:two two.py:one --format github --ignore PD101,PD2": (
        "::error file=two.py,line=3,title=PD104::section a: it has a title but no content; "
        "correct it, or name the rule in a comment\n1 file and 2 prompts checked, 1 finding\n",
        "",
    ),
    "wrong.py two.py . wrong2.py two.py": (
        f"{BUILT}2 files and 0 prompts checked, 1 finding\n",
        "not checked: wrong.py: '(' was never closed (line 2)\n"
        f"not checked: wrong2.py: '(' was never closed (line 3)\n{ONLY_FILES}",
    ),
}


@pytest.mark.parametrize("arguments", REPORTS)
def test_whole_reports(arguments: str, shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All findings of several targets and models are printed in order, and the notes beside."""
    files = {"two.py": TWO, "odd.py": ODD, "wrong.py": "import promptdsl\n("}
    for name, text in {**files, "wrong2.py": "import promptdsl\n\n("}.items():
        (shop / name).write_text(text, "utf-8")
    (shop / "shop.py").unlink()
    assert 1 == main(["check", *arguments.split()])
    assert REPORTS[arguments] == tuple(capsys.readouterr())
