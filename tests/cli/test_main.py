"""The command as a process: exit codes, streams, and what it loads."""

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

import promptdsl
from promptdsl.cli import main
from tests.cli.conftest import LINES, Command
from tests.internals import cli_module
from tests.renders import ruled

GREETING_TEXT = ruled("[system]\nBe brief.\n\n[user]\nHello.\n")
HEAVY = ("asyncio", "jinja2", "pydantic", "pytest", "rich", "tiktoken")
LOADED = f"""
import sys
from promptdsl.cli import main

main(sys.argv[1:])
print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)
"""
slow = pytest.mark.slow
ASCII = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
LOCALES = [
    pytest.param({}, id="as it is", marks=slow),
    pytest.param({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, id="C"),
    pytest.param({"LC_ALL": "POSIX"}, id="POSIX", marks=slow),
    pytest.param(ASCII, id="ascii", marks=slow),
    pytest.param({"PYTHONIOENCODING": "latin-1"}, id="latin-1", marks=slow),
    pytest.param({"PYTHONIOENCODING": "utf-16"}, id="utf-16", marks=slow),
]
UNICODE = """\
from promptdsl import Developer, Timeline, User, render

SAID = Timeline(User("Grüße, 東京 \U0001f600"), Developer("é", id="a"), User("x"))


def wrong():
    raise ValueError("Grüße, 東京 \U0001f600")
"""


CODES: Mapping[str, tuple[list[str], int]] = {
    "version": (["--version"], 0),
    "help": (["--help"], 0),
    "help of a command": (["render", "--help"], 0),
    "a prompt": (["render", "support.py:demo"], 0),
    "a prompt error": (["render", "support.py:misplaced"], 1),
    "an exception": (["render", "support.py:failing"], 1),
    "a way out": (["render", "support.py:leaving"], 1),
    "no prompt": (["render", "support.py:nothing"], 1),
    "tokens": (["tokens", "support.py:demo"], 0),
    "tokens of a prompt error": (["tokens", "support.py:misplaced"], 1),
    "tokens of an exception": (["tokens", "support.py:failing"], 1),
    "no room": (["tokens", "support.py:demo", "--budget", "5"], 1),
    "no budget": (["tokens", "support.py:demo", "--budget", "few"], 2),
    "no window": (["tokens", "support.py:demo", "--budget", "window"], 1),
    "no reserve": (["tokens", "support.py:demo", "--reserve", "-1"], 2),
    "no depth": (["tokens", "support.py:demo", "--depth", "x"], 2),
    "no order": (["tokens", "support.py:demo", "--sort", "x"], 2),
    "no provider": (["tokens", "support.py:demo", "--for", "text"], 2),
    "diff": (["diff", "--cache", "support.py:demo"], 0),
    "diff of three": (["diff", "a.py:a", "b.py:b", "c.py:c"], 2),
    "cache of files": (["diff", "--cache", "--base", "main"], 2),
    "diff of nothing": (["diff", "--cache"], 2),
    "second": (["diff", "--cache", "support.py:demo", "support.py:failing"], 2),
    "no argument": (["diff", "--cache", "support.py:demo", "--after", "x"], 2),
    "no command": ([], 2),
    "unknown command": (["rendre"], 2),
    "no target": (["render"], 2),
    "unknown option": (["render", "support.py:demo", "--frobnicate"], 2),
    "shortened option": (["render", "support.py:demo", "--mod", "gpt-6"], 2),
    "unknown form": (["render", "support.py:demo", "--for", "cohere"], 2),
    "no file": (["render", "suport.py:demo"], 2),
    "no name": (["render", "support.py:dmeo"], 2),
    "no value": (["render", "support.py:demo", "-p", "question"], 2),
    "missing parameter": (["render", "support.py:needs"], 2),
    "standard input": (["render", "-"], 2),
}
TELLING = ("a prompt", "a prompt error", "no command")


@pytest.mark.parametrize(("arguments", "code"), CODES.values(), ids=CODES)
def test_the_exit_code_says_whose_turn_it_is(cli: Command, arguments: list[str], code: int) -> None:
    """The exit code is 0 when it worked, 1 when the prompt is wrong, 2 when the call is."""
    assert code == cli(*arguments).code


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        pytest.param(*case, id=name, marks=() if name in TELLING else slow)
        for name, case in CODES.items()
    ],
)
def test_the_exit_code_is_that_of_the_process(
    process: Command, arguments: list[str], code: int
) -> None:
    """The process ends with the exit code of the command."""
    assert code == process(*arguments).code


def test_data_and_notes_go_different_ways(process: Command) -> None:
    """Data is all that standard output gets; what a target cannot say is on standard error."""
    run = process("render", "support.py:corrected", "--for", "anthropic")
    assert (0, "{", "role: developer message", f"support.py:{LINES['corrected']}") == (
        run.code,
        run.out.split("\n")[0],
        run.err.split(" (")[0],
        run.err.split()[-1],
    )


def test_what_the_code_of_a_prompt_prints_is_no_data(process: Command) -> None:
    """What the code of a prompt prints goes to standard error."""
    run = process("render", "support.py:loud")
    assert (0, GREETING_TEXT, "Building.\n") == run


@pytest.mark.parametrize("arguments", [["rendre"], ["render", "support.py:misplaced"]])
def test_failures_write_no_data(cli: Command, arguments: list[str]) -> None:
    """A command that fails leaves standard output empty."""
    assert "" == cli(*arguments).out


@slow
@pytest.mark.parametrize("arguments", [["rendre"], ["render", "support.py:misplaced"]])
def test_processes_that_fail_write_no_data(process: Command, arguments: list[str]) -> None:
    """So does the process of a command that fails."""
    assert "" == process(*arguments).out


@pytest.mark.parametrize("variables", LOCALES)
def test_data_is_utf8_whatever_the_locale(
    process: Command, prompts: Path, variables: dict[str, str]
) -> None:
    """Standard output is UTF-8, whatever the locale and the interpreter's own settings say."""
    (prompts / "unicode.py").write_text(UNICODE, "utf-8")
    run = process("render", "unicode.py:SAID", **variables)
    assert (0, ruled("[user]\nGrüße, 東京 \U0001f600\n\n[developer]\né\n\n[user]\nx\n"), "") == run


@pytest.mark.parametrize("variables", LOCALES)
def test_notes_are_utf8_whatever_the_locale(
    process: Command, prompts: Path, variables: dict[str, str]
) -> None:
    """Standard error is UTF-8 as well."""
    (prompts / "unicode.py").write_text(UNICODE, "utf-8")
    run = process("render", "unicode.py:wrong", **variables)
    assert (1, "", "unicode.py:7: ValueError: Grüße, 東京 \U0001f600\n") == run


def test_a_reader_that_leaves_is_no_fault(prompts: Path) -> None:
    """When nobody reads standard output any more the command ends in silence."""
    (prompts / "large.py").write_text(
        "from promptdsl import User\nLARGE = User('x' * 1_000_000)\n", "utf-8"
    )
    command = [sys.executable, "-m", "promptdsl", "render", "large.py:LARGE"]
    with subprocess.Popen(
        command, cwd=prompts, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert (b"", 0) == (running.stderr.read(), running.wait())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is full")
def test_a_full_disk_is_said(prompts: Path) -> None:
    """Data that cannot be written is a failure with its reason."""
    command = [sys.executable, "-m", "promptdsl", "render", "support.py:demo"]
    with open("/dev/full", "wb") as full:
        run = subprocess.run(command, cwd=prompts, stdout=full, stderr=subprocess.PIPE, check=False)
    assert (1, b"promptdsl: cannot write: No space left on device\n") == (
        run.returncode,
        run.stderr,
    )


def test_the_version_is_that_of_the_package(cli: Command) -> None:
    """The version is that of the installed package, and of ``promptdsl.__version__``."""
    assert (0, f"promptdsl {version('promptdsl')}\n", "") == cli("--version")
    assert version("promptdsl") == promptdsl.__version__


def test_no_command_shows_the_help(cli: Command) -> None:
    """Without a command the help is shown, as a note: it was not asked for."""
    assert (2, "", cli("--help").out) == cli()


def test_the_script_is_this_command() -> None:
    """The installed script ``promptdsl`` runs this function."""
    (script,) = entry_points(group="console_scripts", name="promptdsl")
    assert main is script.load()


@pytest.mark.parametrize(
    ("name", "loaded"),
    [
        pytest.param("demo", [], id="without events"),
        pytest.param("clicked", ["jinja2"], id="with an event", marks=slow),
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_used(
    prompts: Path, name: str, loaded: list[str]
) -> None:
    """The command loads what is heavy only for a prompt that needs it."""
    command = [sys.executable, "-c", LOADED, "render", f"support.py:{name}"]
    run = subprocess.run(command, cwd=prompts, capture_output=True, text=True, check=True)
    assert f"{loaded}\n" == run.stderr


def test_the_command_enters_by_the_front_door() -> None:
    """The command imports nothing of the package but the public names of five doors."""
    modules = [
        node.module
        for file in Path(cli_module.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("promptdsl")
    ]
    doors = ("batch", "checking", "comparing", "page", "preview")
    assert {"promptdsl", *(f"promptdsl.{door}" for door in doors)} == {
        module for module in modules if not f"{module}.".startswith("promptdsl.cli.")
    }
