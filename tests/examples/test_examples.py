"""The examples: what each sends, as a colleague reads it, and that each runs."""

import json
import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from promptdsl import render
from promptdsl.cli import main
from promptdsl.testing import PromptSnapshot
from tests.internals import TARGETS
from tests.renders import ruled

ROOT = Path(__file__).resolve().parents[2]
PRINTING = ("support_agent", "coding_agent", "document_review", "tool_loop")
"""The examples that print a payload and an outline."""
EXAMPLES = (*PRINTING, "first_prompt", "long_chat", "recorded_chat", "resumed_agent")
MODEL = "claude-opus-5-5"
PROVIDERS = [name for name in TARGETS if name != "chat_template"]


MEASURED = """\
60 turns of a chat: B = 4,000 tokens, g = 77 an exchange

    S  cached  1 - g/S - g/B  used  1 - S/2B
    0      7%                  99%      100%
  250     68%            67%   97%       97%
  500     82%            83%   93%       94%
1,000     89%            90%   87%       88%"""
"""What the long chat prints first: the share of a request that is cached, by the step of a cut."""
PAGE = (ROOT / "docs" / "budgets.md").read_text("utf-8")
SHOWN = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
"""The command of the page on budgets, and what it prints there."""


def target(name: str) -> str:
    """Return the prompt of an example, named as from the root of the project."""
    return f"{Path('examples', name)}.py:demo"


@pytest.fixture(autouse=True)
def at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every test at the root of the project."""
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("name", EXAMPLES)
def test_it_sends_this(name: str, prompt_snapshot: PromptSnapshot) -> None:
    """An example sends what its snapshot says."""
    prompt = import_module(f"examples.{name}").demo()
    prompt_snapshot(render(prompt, model=MODEL))


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("name", EXAMPLES)
def test_every_target_takes_it(
    name: str, provider: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An example renders for every target without losing text or its voice."""
    code = main(["render", target(name), "--for", provider, "--strict"])
    assert (0, True) == (code, bool(json.loads(capsys.readouterr().out)))


def run(name: str) -> str:
    """Return what an example prints, run as a script in a narrow locale; it must print no error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", f"examples/{name}.py"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "name", [PRINTING[0], *(pytest.param(name, marks=pytest.mark.slow) for name in PRINTING[1:])]
)
def test_it_runs_as_a_script(name: str) -> None:
    """An example prints its payload and its outline, in any locale."""
    payload, _, outline = run(name).partition("\n\n")
    assert (["system", "messages"], True) == (
        list(json.loads(payload))[:2],
        outline.split()[0] in ("system", "tool"),
    )


@pytest.mark.slow
def test_the_long_chat_measures_this() -> None:
    """A step of the cut keeps the cache warm, an exact fit does not."""
    table, *steps = run("long_chat").split("\n\nstep=")
    assert (MEASURED, ["0: 21 of 3,992", "500: 3,647 of 3,762"]) == (
        table,
        [step.partition(" tokens")[0] for step in steps],
    )


@pytest.mark.slow
@pytest.mark.parametrize(("command", "printed"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_page_on_budgets_shows_what_is_printed(
    command: str, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page shows what the command prints for the long chat."""
    main(shlex.split(command)[1:])
    assert printed == capsys.readouterr().out


def test_the_page_on_budgets_shows_a_command() -> None:
    """It is found on the page."""
    assert 1 == len(SHOWN)


@pytest.mark.parametrize(
    ("name", "parameter"), [("support_agent", "question"), ("coding_agent", "task")]
)
def test_it_takes_another_question(
    name: str, parameter: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What an example asks can be given on the command line."""
    main(
        [
            "render",
            target(name),
            "-p",
            f"{parameter}=Is it Friday?",
            "--for",
            "text",
            "--model",
            MODEL,
        ]
    )
    assert ruled("[user]\nIs it Friday?\n") == capsys.readouterr().out[-87:]
