"""The reference of the command shows what the command prints."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.cli.project import installed_project
from tests.internals import COMMANDS

REFERENCE = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text("utf-8")
RECORDED = Path(__file__).resolve().parents[1] / "samples" / "transcript-0.1.0.jsonl"
SHOWN = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```", REFERENCE, re.DOTALL | re.MULTILINE)
HELPS = [(command, shown) for command, shown in SHOWN if "--help" in command]
OUTPUTS = [(command, shown) for command, shown in SHOWN if "--help" not in command]
PROMPTS = "\n".join(re.findall(r"^```python\n(.*?)^```", REFERENCE, re.DOTALL | re.MULTILINE))


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the help as wide as in the reference, and without colours."""
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the project of the library ``support``, which is installed."""
    with installed_project("support", tmp_path_factory.mktemp("support")) as folder:
        (folder / "support.py").write_text(PROMPTS, "utf-8")
        (folder / "1881.jsonl").write_bytes(RECORDED.read_bytes())
        yield folder


@pytest.fixture
def command_here(cli: Command, library: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Return the command; it runs in the folder of ``support.py`` and of the library."""
    monkeypatch.chdir(library)
    return cli


@pytest.mark.parametrize(("command", "shown"), OUTPUTS, ids=[command for command, _ in OUTPUTS])
def test_the_reference_shows_what_is_printed(
    command_here: Command, command: str, shown: str
) -> None:
    """The reference shows the output of each command: copy it after a change."""
    assert shown == command_here(*shlex.split(command)[1:]).out


@pytest.mark.parametrize(("command", "shown"), HELPS, ids=[command for command, _ in HELPS])
def test_the_reference_shows_the_words_of_a_help(
    command_here: Command, command: str, shown: str
) -> None:
    """The reference has the words of each help; the columns depend on the version of Python."""
    assert shown.split() == command_here(*shlex.split(command)[1:]).out.split()


def test_the_reference_shows_every_help() -> None:
    """The reference has the help of ``promptdsl`` and of each of its commands."""
    assert [
        "promptdsl --help",
        "promptdsl render --help",
        "promptdsl tokens --help",
        "promptdsl diff --help",
        "promptdsl check --help",
        "promptdsl batch --help",
        "promptdsl batch read --help",
        "promptdsl list --help",
        "promptdsl show --help",
        "promptdsl new --help",
        "promptdsl new library --help",
        "promptdsl new section --help",
        "promptdsl stubs --help",
        "promptdsl eject --help",
        "promptdsl transcript --help",
        "promptdsl transcript show --help",
        "promptdsl transcript check --help",
        "promptdsl transcript repair --help",
        "promptdsl transcript vacuum --help",
        "promptdsl transcript list --help",
        "promptdsl transcript convert --help",
        "promptdsl page --help",
        "promptdsl preview --help",
        "promptdsl records --help",
        "promptdsl records show --help",
        "promptdsl records list --help",
    ] == [command for command, _ in HELPS]


def test_every_help_has_an_example() -> None:
    """The help of each command has an example of that command; groups have commands instead."""
    without = ("promptdsl new", "promptdsl records", "promptdsl transcript")
    for command, shown in HELPS:
        name = command.removesuffix(" --help")
        expected = name not in without
        assert expected == (f"\nExample: {name} " in shown), name


def test_the_help_groups_all_commands(cli: Command) -> None:
    """Each command is listed once, by what it is for, on one line."""
    lines = cli("--help").out.split("\n")
    assert ["look:", "compare:", "run:", "libraries:"] == [
        line for line in lines if line.endswith(":") and line != "options:"
    ]
    listed = [line[2:14].rstrip() for line in lines if re.match("  [a-z]", line)]
    assert sorted(listed) == sorted(COMMANDS)
