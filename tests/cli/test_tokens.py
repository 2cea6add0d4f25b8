"""``promptdsl tokens``: what of a prompt costs how much."""

import json
import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from promptdsl import System, Timeline, User, render
from tests.cli.conftest import LINES, Command
from tests.commands import Done, start_command

pytestmark = pytest.mark.usefixtures("counted")

FORM = "the target's format"
LINE = f"support.py:{LINES['demo']}"
DEMO = f"""\
20 tokens: exact text, estimated frame

 7   35.0%  ███▌        system turn          {LINE}
10   50.0%  █████       user turn (merged)   {LINE}
 2   10.0%  █             user turn user[0]  {LINE}
 4   20.0%  ██            user turn user[1]  {LINE}
 3   15.0%  █▌          {FORM}
"""


def data(cli: Command, *arguments: str) -> Any:
    """Return what the command gives to programs."""
    return json.loads(cli("tokens", *arguments, "--json").out)


def names(cli: Command, *arguments: str) -> list[tuple[int, str]]:
    """Return the parts a command shows: how deep they are, and what."""
    return [(part["depth"], part["what"]) for part in data(cli, *arguments)["parts"]]


def test_parts_have_tokens_a_share_and_a_line(cli: Command) -> None:
    """Every part has its tokens, its share of all of them, and its line."""
    assert Done(0, DEMO, "") == cli("tokens", "support.py:demo", "--model", "gpt-5")


def test_the_total_comes_first(cli: Command) -> None:
    """The total comes first, as the usual count of an estimate; ``--explain`` shows the method."""
    run = cli("tokens", "support.py:GREETING", "--model", "claude-sonnet-4-5", "--explain")
    report = render(Timeline(System("Be brief."), User("Hello.")), model="claude-sonnet-4-5").tokens
    lines = run.out.split("\n")
    assert [
        f"about {report.typical} tokens (counted as {report.total}, with a margin)",
        f"counted by: {report.label}",
    ] == [lines[0], lines[-2]]


def test_programs_get_everything(cli: Command) -> None:
    """The JSON has the complete report: by message, section, line and part."""
    found = data(cli, "support.py:GREETING", "--model", "gpt-5")
    report = render(Timeline(System("Be brief."), User("Hello.")), model="gpt-5").tokens
    assert [report.total, report.label, None, [*report.messages], report.tools, report.frame] == [
        found[key] for key in ("total", "label", "typical", "messages", "tools", "form")
    ]


def test_parts_and_lines_are_data(cli: Command) -> None:
    """As JSON parts and lines have their file and line apart."""
    found = data(cli, "support.py:RULES", "--model", "gpt-5")
    line = found["sources"][0]["line"]
    assert [
        {
            "depth": 1,
            "what": "section rules",
            "path": "rules",
            "tokens": found["sections"]["rules"],
            "cache": None,
            "dropped": None,
            "file": "support.py",
            "line": line,
            "message": [0, 0],
        }
    ] == found["parts"][1:2]


@pytest.mark.parametrize(("depth", "deepest"), [("0", None), ("1", 0), ("2", 1)])
def test_fewer_levels_can_be_shown(cli: Command, depth: str, deepest: int | None) -> None:
    """``--depth`` says how many levels of parts are shown; 0 is the total alone."""
    shown = names(cli, "counted.py:trimmed", "--depth", depth)
    assert deepest == max((level for level, _ in shown), default=None)


def test_the_total_alone(cli: Command) -> None:
    """Without a level of parts, there is the total and nothing before it."""
    run = cli("tokens", "support.py:GREETING", "--model", "gpt-5", "--depth", "0")
    assert "16 tokens: exact text, estimated frame\n" == run.out


def test_the_largest_first(cli: Command) -> None:
    """``--sort size`` puts the largest part of each level first, with the parts inside it."""
    shown = names(cli, "counted.py:trimmed", "--sort", "size")
    sections = [(1, "section hours"), (1, "section role")]
    messages = [(1, f"{role} message") for role in ("user", "assistant") * 3]
    system, user = (0, "system turn"), (0, "user turn")
    history = (0, "history")
    assert [history, *sorted(messages)[::-1], system, *sections, user, (0, FORM)] == [
        history,
        *sorted(shown[1:7])[::-1],
        *shown[7:],
    ]


def test_dropped_parts_come_last(cli: Command) -> None:
    """A dropped part is not sent, so a smaller one that is sent comes before it."""
    shown = names(cli, "counted.py:trimmed", "--sort", "size", "--budget", "100")
    assert ["section role", "section hours"] == [
        name for _, name in shown if name.startswith("section")
    ]


def test_what_the_form_saves_is_told(cli: Command, tmp_path: Path) -> None:
    """A target that needs fewer tokens than the parts has no row below 0, but words."""
    (template := tmp_path / "plain.jinja").write_text("{{ messages[-1].content }}")
    options = ("--for", "chat_template", "--chat-template", str(template))
    lines = cli("tokens", "support.py:GREETING", *options).out.split("\n")
    assert ["the target's format saves 11 tokens"] == [it for it in lines if "form" in it]


def test_what_was_dropped_is_told(cli: Command) -> None:
    """What a budget took away is there with its reason, and how many tokens it was in all."""
    run = cli("tokens", "counted.py:trimmed", "--model", "gpt-5", "--budget", "100")
    assert [
        "there is no room for it, its priority is -1",
        "there is no room for its oldest 2 exchanges",
        "165 tokens were dropped in 2 parts",
    ] == [line.rsplit("  ", 1)[-1] for line in run.out.split("\n") if "dropped" in line]


def test_what_was_dropped_has_no_share(cli: Command) -> None:
    """What was dropped has its tokens and its line, and is no share of what is sent."""
    run = cli("tokens", "counted.py:trimmed", "--model", "gpt-5", "--budget", "100")
    line = next(line for line in run.out.split("\n") if "hours" in line)
    assert ["37", "dropped", "section", "hours", "counted.py:7", "there"] == line.split()[:6]


def test_a_reserve_is_part_of_the_budget(cli: Command) -> None:
    """Tokens that are reserved for the answer are not there for the prompt."""
    whole = data(cli, "counted.py:trimmed", "--budget", "300")["total"]
    rest = data(cli, "counted.py:trimmed", "--budget", "300", "--reserve", "150")["total"]
    assert (True, True) == (150 < whole <= 300, rest <= 150)


def test_a_budget_may_be_the_models_window(cli: Command) -> None:
    """The budget may be all that the model reads."""
    run = cli("tokens", "counted.py:trimmed", "--model", "gpt-5", "--budget", "window")
    assert (0, False) == (run.code, "dropped" in run.out)


def test_too_small_a_budget_is_told(cli: Command) -> None:
    """A budget that what has to stay exceeds is an error with the largest of it."""
    run = cli("tokens", "counted.py:trimmed", "--model", "gpt-5", "--budget", "10")
    first = run.err.split("\n")[0]
    assert (1, "") == (run.code, run.out)
    assert first.startswith("counted.py:trimmed: ")
    assert first.endswith(" tokens; 10 are available")


def test_marks_are_shown(cli: Command) -> None:
    """A cache mark is in the row of the part before it."""
    run = cli("tokens", "support.py:GREETING", "--for", "anthropic", "--cache", "auto")
    assert ["system turn [cached]", "user turn user[0] [cached]"] == [
        line[24:].split("  ")[0] for line in run.out.split("\n") if "[cached]" in line
    ]


def test_losses_are_notes(cli: Command) -> None:
    """What the target cannot say is on standard error, as when the prompt is rendered."""
    options = ("support.py:corrected", "--for", "anthropic")
    assert cli("render", *options).err == cli("tokens", *options).err


def test_what_a_prompt_prints_is_no_data(cli: Command) -> None:
    """What the code of a prompt prints is on standard error."""
    run = cli("tokens", "support.py:loud", "--model", "gpt-5", "--depth", "0")
    assert ("16 tokens: exact text, estimated frame\n", "Building.\n") == (run.out, run.err)


@pytest.mark.parametrize("options", [(), ("--json",), ("--sort", "size")])
def test_hostile_names_are_made_visible(cli: Command, options: tuple[str, ...]) -> None:
    """No control character of a name reaches the terminal, and none ends a line."""
    out = cli("tokens", "counted.py:hostile", *options).out
    assert [] == [line for line in out.split("\n") if not line.replace("\u202e", "").isprintable()]


STRUCK = "\x1b[9msection hours\x1b[29m"


@pytest.mark.parametrize(
    ("variables", "struck"),
    [
        ({"TERM": "xterm"}, True),
        pytest.param({"TERM": "dumb"}, False, marks=pytest.mark.slow),
        pytest.param({"TERM": "xterm", "NO_COLOR": "1"}, False, marks=pytest.mark.slow),
    ],
)
def test_a_terminal_strikes_what_was_dropped(
    prompts: Path, variables: dict[str, str], struck: bool
) -> None:
    """On a terminal that can, what was dropped is struck through."""
    shown = in_terminal(prompts, variables, "tokens", "counted.py:trimmed", "--budget", "100")
    assert (struck, struck) == (STRUCK in shown, "\x1b" in shown)


def test_a_pipe_gets_words(process: Command) -> None:
    """Where no terminal reads, nothing is struck through."""
    run = process("tokens", "counted.py:trimmed", "--budget", "100", TERM="xterm")
    assert (0, False, True) == (run.code, "\x1b" in run.out, "dropped" in run.out)


@pytest.mark.slow
def test_nobody_has_to_listen(prompts: Path) -> None:
    """Without a standard output there is nothing to say, and nothing to complain of."""
    command = shlex.join([sys.executable, "-m", "promptdsl", "tokens", "support.py:GREETING"])
    variables = os.environ | {"TERM": "xterm"}
    shell = ["sh", "-c", f"{command} >&-"]
    run = subprocess.run(shell, cwd=prompts, env=variables, stderr=subprocess.PIPE, check=False)
    assert (0, b"") == (run.returncode, run.stderr)


@pytest.mark.parametrize("option", ["--budget", "--reserve", "--depth"])
@pytest.mark.parametrize("number", ["1__0", "_1", "1_", "9" * 5_000, "\u0661", " 1", "-1", ""])
def test_what_is_no_number_is_said(cli: Command, option: str, number: str) -> None:
    """A number that cannot be read is said in the words of its option."""
    run = cli("tokens", "support.py:GREETING", f"{option}={number}")
    assert (2, True) == (
        run.code,
        f"argument {option}: {number!r} is not a whole number (" in run.err,
    )


def in_terminal(prompts: Path, variables: dict[str, str], *arguments: str) -> str:
    """Return what the command writes to a terminal."""
    ours, theirs = pty.openpty()
    variables = {"NO_COLOR": "", **variables}
    assert 0 == start_command(arguments, prompts, variables, out=theirs, err=2)()
    os.close(theirs)
    with os.fdopen(ours, "rb", buffering=0) as terminal:
        return terminal.read(1 << 16).decode()
