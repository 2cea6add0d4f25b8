"""The reference of the command shows what the command prints."""

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Command

REFERENCE = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text("utf-8")
SHOWN = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```", REFERENCE, re.DOTALL | re.MULTILINE)
PROMPTS = "\n".join(re.findall(r"^```python\n(.*?)^```", REFERENCE, re.DOTALL | re.MULTILINE))


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make help as wide as it is in the reference, and without colours."""
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.mark.parametrize(("command", "shown"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_reference_shows_what_is_printed(
    cli: Command, prompts: Path, command: str, shown: str
) -> None:
    """What stands under a command in the reference is what it prints: copy it when it changes."""
    (prompts / "support.py").write_text(PROMPTS, "utf-8")
    assert shown == cli(*shlex.split(command)[1:]).out


def test_the_reference_shows_every_help() -> None:
    """The reference holds the help of the whole command and of each of its commands."""
    assert [
        "promptdsl --help",
        "promptdsl render --help",
        "promptdsl tokens --help",
        "promptdsl diff --help",
    ] == [command for command, _ in SHOWN if "--help" in command]
