"""``promptdsl diff --cache``: what a prompt cache can reuse of the next request."""

import json
from pathlib import Path
from typing import Any

import pytest

from promptdsl import System, Timeline, User, prefix_report, render
from tests.cli.conftest import LINES, Command
from tests.commands import Done
from tests.internals import difference, prompt_file, serialise

pytestmark = pytest.mark.usefixtures("counted")

SAME = ("diff", "--cache", "support.py:demo", "--model", "gpt-5")
LINE = f"support.py:{LINES['demo']}"


def data(cli: Command, *arguments: str) -> Any:
    """Return what the command gives to programs."""
    return json.loads(cli(*arguments, "--json").out)


def test_it_tells_what_broke_the_prefix(cli: Command) -> None:
    """The shared tokens, the node that ends them with its line, and what that costs."""
    run = cli(*SAME, "--before", "question=Why?", "--after", "question=How?")
    assert (1, "", f"  user turn (user[0]) was changed: {LINE}") == (
        run.code,
        run.err,
        run.out.split("\n")[1],
    )


def test_it_says_what_the_library_says(cli: Command) -> None:
    """The text and the data are those of ``prefix_report``."""
    prompts = (Timeline(System("Be brief."), User("Hello.")),) * 2
    report = prefix_report(*(render(prompt, model="gpt-5") for prompt in prompts))
    target = ("diff", "--cache", "support.py:GREETING", "--model", "gpt-5")
    said = {
        "shared": report.shared,
        "served": report.served,
        "before": report.before,
        "after": report.after,
        "behind": 0,
        "cost": report.cost,
        "label": report.label,
        "extends": True,
        "dropped": 0,
        "pays_from": None,
        "first": None,
    }
    assert (f"{report}\n", said) == (cli(*target).out, data(cli, *target))


def test_a_change_as_data_has_both_names_of_its_location(cli: Command) -> None:
    """The JSON of a diff has ``location``, and its old name ``place`` until a release."""
    sides = ("--before", "question=Why?", "--after", "question=How?")
    groups = data(cli, "diff", "support.py:demo", "--model", "gpt-5", *sides)["groups"]
    assert groups
    for change in (group["change"] for group in groups):
        assert change["location"] == change["place"]


def test_where_it_differs_is_data(cli: Command) -> None:
    """As JSON the node that differs first has its address, its file and its line."""
    found = data(cli, *SAME, "--after", "plan=Free")
    assert {
        "how": "changed",
        "what": "system turn",
        "path": "system[0]",
        "file": "support.py",
        "line": LINES["demo"],
    } == found["first"]


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        (["-p", "plan=Free"], False),
        (["-p", "plan=Free", "--before", "plan=Pro"], True),
        (["--before", "plan=Free", "--after", "plan=Free"], False),
        (["--after", "count:=2"], True),
    ],
)
def test_arguments_are_for_both_or_for_one(cli: Command, options: list[str], changed: bool) -> None:
    """``-p`` is for both prompts, ``--before`` and ``--after`` are for one and win over it."""
    assert changed is (data(cli, *SAME, *options)["first"] is not None)


def test_a_pair_is_named_by_its_option(cli: Command) -> None:
    """What cannot be read is called what it was given as."""
    run = cli(*SAME, "--after", "question")
    fault = "promptdsl diff: error: --after question: write key=value, or key:=JSON\n"
    assert Done(2, "", fault) == run


def test_two_prompts_can_be_named(cli: Command) -> None:
    """Two targets are compared in the order they are named."""
    found = data(cli, "diff", "--cache", "support.py:GREETING", "support.py:corrected")
    assert ("removed", "system turn") == (found["first"]["how"], found["first"]["what"])


def test_one_prompt_may_differ_from_itself(cli: Command, prompts: Any) -> None:
    """A prompt that is another one the next time is found out without any arguments."""
    (prompts / "clock.py").write_text(
        "import time\nfrom promptdsl import System, Timeline\n\n"
        "def now():\n    return Timeline(System(f'It is {time.perf_counter_ns()}.'))\n"
    )
    run = cli("diff", "--cache", "clock.py:now")
    assert (1, "  system turn (system[0]) was changed: clock.py:5") == (
        run.code,
        run.out.split("\n")[1],
    )


def test_without_a_prompt_it_says_what_it_can_do(cli: Command) -> None:
    """Without a prompt the command says what it compares."""
    error = "promptdsl diff: error: name one prompt or two prompts, or write --base REV\n"
    assert Done(2, "", error) == cli("diff")


def test_faults_are_those_of_the_prompt_they_are_in(cli: Command) -> None:
    """An error in the second prompt names the second prompt."""
    run = cli("diff", "--cache", "support.py:demo", "support.py:nothing")
    assert (2, "", "support.py:nothing: ") == (run.code, run.out, run.err[:20])


def test_hostile_names_are_made_visible(cli: Command) -> None:
    """No control character of a name reaches the terminal."""
    run = cli("diff", "--cache", "counted.py:hostile", "support.py:demo")
    assert (1, True) == (run.code, run.out.replace("\n", "").isprintable())


PAYLOAD = '{"model": "gpt-5", "messages": [{"role": "user", "content": "%s"}]}'


@pytest.mark.parametrize(("text", "code"), [("Hi.", 0), ("Hello.", 1)])
def test_payloads_are_compared(cli: Command, prompts: Path, text: str, code: int) -> None:
    """Two payload files are equal, or differ."""
    (prompts / "a.json").write_text(PAYLOAD % "Hi.", "utf-8")
    (prompts / "b.json").write_text(PAYLOAD % text, "utf-8")
    assert code == cli("diff", "a.json", "b.json").code


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "a.json is not JSON: "),
        ("{}", "a.json: no provider has a payload with the keys (none)\n  name the provider: "),
    ],
)
def test_a_payload_that_cannot_be_read_is_named(
    cli: Command, prompts: Path, content: str, problem: str
) -> None:
    """The errors for text that is not JSON, and for a payload of no provider, differ."""
    (prompts / "a.json").write_text(content, "utf-8")
    run = cli("diff", "a.json")
    assert (2, True) == (run.code, run.err.startswith(f"promptdsl diff: error: {problem}"))


@pytest.mark.parametrize("sides", [["a.json"], ["a.prompt.txt"], ["git:main"], ["git::a.py:a"]])
def test_a_side_that_is_not_there_is_named(cli: Command, sides: list[str]) -> None:
    """A missing file, or half a name, is an error of the call."""
    run = cli("diff", *sides)
    assert (2, True) == (run.code, sides[0] in run.err)


def snapshots_of(text: str, path: Path) -> None:
    """Write the snapshots of a prompt: without a model, and for one."""
    base, full = (prompt_file(render(User(text), model=model)) for model in (None, "gpt-5"))
    Path(f"{path}.prompt.txt").write_text(serialise(base), "utf-8")
    Path(f"{path}.gpt-5.prompt.txt").write_text(serialise(difference(base, full)), "utf-8")


def test_a_snapshot_of_a_second_prompt_has_its_own_base(cli: Command, prompts: Path) -> None:
    """The snapshot of a model is read with that of its own prompt, not of the first of its test."""
    snapshots_of("One.", prompts / "test_x")
    snapshots_of("Two.", prompts / "test_x.2")
    run = cli("diff", "test_x.gpt-5.prompt.txt", "test_x.2.gpt-5.prompt.txt")
    assert (1, ["- One.", "+ Two."]) == (run.code, run.out.splitlines()[-2:])


def test_one_file_is_not_compared_with_itself(cli: Command, prompts: Path) -> None:
    """Only code can differ when it runs again: for a file, the command says to name two."""
    (prompts / "a.json").write_text(PAYLOAD % "Hi.", "utf-8")
    run = cli("diff", "a.json")
    error = "promptdsl diff: error: there is nothing to compare a.json with: name a second prompt\n"
    assert Done(2, "", error) == run


def test_the_cache_of_two_files_is_not_compared(cli: Command, prompts: Path) -> None:
    """What the cache serves of payloads is in the plain diff, and the error says so."""
    (prompts / "a.json").write_text(PAYLOAD % "Hi.", "utf-8")
    run = cli("diff", "--cache", "a.json", "support.py:demo")
    error = (
        "promptdsl diff: error: --cache compares only targets of the working tree\n"
        "  leave out --cache: the diff shows where the shared prefix ends\n"
    )
    assert Done(2, "", error) == run
