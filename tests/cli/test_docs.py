"""The reference of the command."""

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Command

REFERENCE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"


@pytest.mark.parametrize("command", ["promptdsl --help", "promptdsl render --help"])
def test_the_reference_shows_the_help(
    cli: Command, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """The reference shows the help of every command as it is: copy it over when it changes."""
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.setenv("NO_COLOR", "1")
    shown = re.search(
        rf"```console\n\$ {command}\n(.*?)```", REFERENCE.read_text("utf-8"), re.DOTALL
    )
    assert [cli(*command.split()[1:]).out] == ([shown[1]] if shown else [])
