"""The examples: what each sends, as a colleague reads it, and that each runs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from promptdsl.cli import main
from tests.internals import TARGETS
from tests.renders import ruled

ROOT = Path(__file__).resolve().parents[2]
PRINTING = ("support_agent", "coding_agent", "document_review", "tool_loop")
"""The examples that print a payload and an outline."""
EXAMPLES = (*PRINTING, "long_chat")
MODEL = ("--model", "claude-opus-5-5")
PROVIDERS = [name for name in TARGETS if name != "chat_template"]


class TextFile(SingleFileSnapshotExtension):
    """A snapshot that is a file of text."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


def target(name: str) -> str:
    """Return the prompt of an example, named as from the root of the project."""
    return f"{Path('examples', name)}.py:demo"


@pytest.fixture(autouse=True)
def at_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run every test at the root of the project."""
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_messages_are_these(
    name: str, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    """An example says what its snapshot says."""
    main(["render", target(name), "--for", "messages", *MODEL])
    assert snapshot(extension_class=TextFile) == capsys.readouterr().out


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
def test_the_long_chat_measures_this(snapshot: SnapshotAssertion) -> None:
    """What a step of the cut comes to is what the snapshot says."""
    printed = run("long_chat").replace(f"{ROOT}{os.sep}", "")
    assert snapshot(extension_class=TextFile) == printed


@pytest.mark.parametrize(
    ("name", "parameter"), [("support_agent", "question"), ("coding_agent", "task")]
)
def test_it_takes_another_question(
    name: str, parameter: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What an example asks can be given on the command line."""
    main(["render", target(name), "-p", f"{parameter}=Is it Friday?", "--for", "text", *MODEL])
    assert ruled("[user]\nIs it Friday?\n") == capsys.readouterr().out[-87:]
