"""The records of a log on the command line: one of them, two compared, and the JSON of a list."""

import json
from pathlib import Path
from typing import Any

import pytest

from promptdsl import *
from promptdsl.comparing import diff as compared
from tests.cli.conftest import Command
from tests.records.prompts import words


def conversation(rounds: int) -> list[Message]:
    """Return a conversation with so many rounds of a call and its result."""
    messages = [Message("user", "go")]
    for number in range(rounds):
        call = ToolUseBlock(f"c{number}", "run", "{}")
        result = Message.tool_result(f"c{number}", "word " * 30, name="run")
        messages += [Message("assistant", [call]), result]
    return messages


def request(rounds: int, **options: Any) -> Rendered:
    """Return a request whose old results are cleared."""
    history = History(conversation(rounds), clear_results=ClearResults(keep=1, at_least=20))
    return render(Timeline(System("Base."), history), counter=words, **options)


@pytest.fixture
def log(tmp_path: Path) -> str:
    """Return the folder of a log with three records, the last of which lost an image."""
    folder = tmp_path / "log"
    with PromptLog(folder) as log:
        log.append(request(2).record({"rounds": 2}), name="agent", id="req-2")
        record = request(6, budget=900).record({"rounds": 6})
        log.append(record, name="agent", id="req-6")
        picture = Image.from_url("https://a.b/c.png")
        lost = render(Timeline(User("Look.", picture)), model="gpt-3.5-turbo")
        log.append(lost.record(), name="look", id="req-7")
    return str(folder)


def test_one_record_of_a_log_is_shown(cli: Command, log: str) -> None:
    """The record with an id is shown as the record of a file is."""
    shown = cli("records", "show", log, "--id", "req-6")
    assert (0, "") == (shown.code, shown.err)
    assert 'inputs: { "rounds": 6 }' in shown.out
    assert "budget: 900 tokens" in shown.out
    printed = json.loads(cli("records", "show", log, "--id", "req-6", "--json").out)
    assert PromptLog(log).find("req-6") == PromptRecord.from_dict(printed)


def test_the_last_of_two_records_with_one_id_is_shown(cli: Command, log: str) -> None:
    """A request that was sent again has a record more: the last is shown, and a note says so."""
    with PromptLog(log) as again:
        again.append(request(3).record({"rounds": 3}), name="agent", id="req-6")
    shown = cli("records", "show", log, "--id", "req-6")
    assert 'inputs: { "rounds": 3 }' in shown.out
    assert "2 records have this id" in shown.err
    assert PromptLog(log).find("req-6").to_dict()["inputs"] == {"rounds": 3}


def test_a_similar_id_of_a_long_log_is_named(cli: Command, log: str) -> None:
    """All ids of a log are compared with an unknown id; an error lists only the first of them."""
    with PromptLog(log) as longer:
        for number in range(10, 30):
            longer.append(request(1).record(), name="agent", id=f"call-{number}")
    typed = cli("records", "show", log, "--id", "call-299")
    assert "has no record with the id 'call-299': did you mean 'call-29'" in typed.err
    unlike = cli("records", "show", log, "--id", "zzz")
    assert "'zzz'; choose from call-10, call-11, call-12, call-13, call-14, req-2" in unlike.err


def test_a_log_without_records_is_an_error(cli: Command, log: str) -> None:
    """A log that has no records has none to choose."""
    (file,) = Path(log).glob("*.jsonl")
    header, _, _ = file.read_text("utf-8").partition("\n")
    file.write_text(f"{header}\n", "utf-8")
    for options in ((), ("--id", "req-2")):
        shown = cli("records", "show", log, *options)
        assert (2, f"promptdsl records: error: {log} has no records") == (
            shown.code,
            shown.err.rstrip("\n"),
        )


@pytest.mark.parametrize(
    "call",
    [
        (
            "records show LOG --id req-66",
            "has no record with the id 'req-66': did you mean 'req-6'",
        ),
        (
            "records list LOG --id req-66",
            "has no record with the id 'req-66': did you mean 'req-6'",
        ),
        (
            "records list LOG --name agnt",
            "has no record of the prompt 'agnt': did you mean 'agent'",
        ),
        ("records show LOG", "has 3 records: choose one with --id"),
        ("records list EMPTY", "there is no log in"),
        ("records show EMPTY --id a", "there is no log in"),
        ("records list NONE", "there is no folder"),
        ("records show NONE --id a", "cannot read"),
        ("diff LOG --id req-2", "name two records: --id A --id B"),
        ("diff LOG --id req-2 --id req-66", "has no record with the id 'req-66'"),
        ("diff LOG --id req-2 --id req-6 --id req-7", "name two records: --id A --id B"),
        ("diff EMPTY --id a --id b", "there is no log in"),
        ("records show FILE", "is only a part of a log: write promptdsl records show"),
        ("diff FILE FILE", "is only a part of a log"),
        ("records list FILE", "is only a part of a log: write promptdsl records list"),
    ],
)
def test_a_wrong_id_or_folder_is_an_error(
    cli: Command, log: str, tmp_path: Path, call: tuple[str, str]
) -> None:
    """An id, a name or a folder that is not there is an error, and names what is."""
    (tmp_path / "empty").mkdir()
    (file,) = Path(log).glob("*.jsonl")
    names = {"EMPTY": str(tmp_path / "empty"), "NONE": str(tmp_path / "none"), "LOG": log}
    names["FILE"] = str(file)
    arguments, problem = call
    run = cli(*(names.get(word, word) for word in arguments.split()))
    assert (2, "", True) == (run.code, run.out, problem in run.err), run.err


def test_two_records_are_compared(cli: Command, log: str) -> None:
    """The differences of two records name the inputs and the budget that changed."""
    run = cli("diff", log, "--id", "req-2", "--id", "req-6")
    assert 1 == run.code
    assert "input `rounds` 2 -> 6" in run.out
    assert "budget none -> 900" in run.out
    data = json.loads(cli("diff", log, "--id", "req-2", "--id", "req-6", "--json").out)
    inputs = data["prompts"][0]["diff"]["inputs"]
    assert [("input", "rounds", 2, 6), ("budget", "", None, 900)] == [
        (row["kind"], row["name"], row["before"], row["after"]) for row in inputs
    ]


def test_two_records_are_compared_in_code(log: str) -> None:
    """``diff`` takes records, and shows what the command shows."""
    records = PromptLog(log)
    difference = compared(records.find("req-2"), records.find("req-6"))
    assert "input `rounds` 2 -> 6; budget none -> 900" in str(difference)
    assert not compared(records.find("req-2"), records.find("req-2")).inputs


def test_a_record_that_is_not_there_is_an_error_in_code(log: str) -> None:
    """The error names the nearest id."""
    with pytest.raises(DataError, match=r"no record with the id 'req-66'\n  did you mean 'req-6'"):
        PromptLog(log).find("req-66")


def test_lists_show_what_is_not_sent_and_of_which_calls(cli: Command, log: str) -> None:
    """With ``--dropped`` each record has its dropped and cleared parts, with their calls."""
    day, *lines = cli("records", "list", log, "--dropped").out.splitlines()
    assert ": 2 calls, " in day
    assert ["req-2" in lines[0], "req-6" in lines[2]] == [True, True]
    assert lines[1].startswith("    history")
    assert lines[1].endswith("1 of its results is cleared: call c0")
    assert lines[3].endswith("calls c0, c1, c2, c3, c4")
    assert 4 == len(lines)


def test_lists_show_what_was_lost(cli: Command, log: str) -> None:
    """With ``--lost`` each record has its losses, without hints."""
    _, *lines = cli("records", "list", log, "--lost").out.splitlines()
    assert ["req-7" in lines[0], "image" in lines[1], 2] == [True, True, len(lines)]


def test_the_json_of_a_list_is_input_of_other_commands(
    cli: Command, log: str, tmp_path: Path
) -> None:
    """``records show`` and ``diff`` read what ``records list --json`` prints."""
    (file := tmp_path / "list.json").write_text(cli("records", "list", log, "--json").out)
    (one := tmp_path / "one.json").write_text(
        cli("records", "list", log, "--json", "--id", "req-2").out
    )
    shown = cli("records", "show", log, "--id", "req-2").out
    assert shown == cli("records", "show", str(file), "--id", "req-2").out
    assert shown == cli("records", "show", str(one)).out
    of_log = cli("diff", log, "--id", "req-2", "--id", "req-6").out
    assert of_log == cli("diff", str(file), "--id", "req-2", "--id", "req-6").out
    assert of_log == cli("diff", str(one), str(file), "--id", "req-2", "--id", "req-6").out
    assert of_log == cli("diff", str(one), log, "--id", "req-6").out


def test_the_json_of_a_record_is_input_of_other_commands(
    cli: Command, log: str, tmp_path: Path
) -> None:
    """``diff`` reads what ``records show --json`` prints."""
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file, id in zip(files, ("req-2", "req-6"), strict=True):
        file.write_text(cli("records", "show", log, "--id", id, "--json").out)
    of_log = cli("diff", log, "--id", "req-2", "--id", "req-6").out
    assert of_log == cli("diff", *map(str, files)).out


def test_hostile_ids_and_names_are_shown_as_escapes(cli: Command, tmp_path: Path) -> None:
    """An id with control characters is found, and shown as an escape."""
    with PromptLog(tmp_path / "log") as log:
        log.append(request(2).record(), name="a\x1b[2J", id="x\x1b[2J")
        log.append(request(2).record(), name="b", id="y")
    folder = str(tmp_path / "log")
    for call in (["list", folder, "--id", "x\x1b[2K"], ["show", folder]):
        run = cli("records", *call)
        assert (2, False) == (run.code, "\x1b" in run.err + run.out)
    assert 0 == cli("records", "show", folder, "--id", "x\x1b[2J").code


def test_the_arguments_of_two_calls_are_named(cli: Command) -> None:
    """The diff of one function with two arguments names them."""
    run = cli("diff", "support.py:demo", "--before", "plan=Pro", "--after", "plan=Free")
    assert "input `plan` 'Pro' -> 'Free'" in run.out


@pytest.mark.parametrize("ids", [("--id", "req-2", "--id", "req-6"), ()])
def test_the_cache_of_two_records_is_in_the_plain_diff(
    cli: Command, log: str, ids: tuple[str, ...]
) -> None:
    """With --cache, the command says that the diff of two records has the shared prefix."""
    run = cli("diff", log, *ids, "--cache")
    first, advice = run.err.splitlines()
    assert (2, "promptdsl diff: error: --cache compares only targets of the working tree") == (
        run.code,
        first,
    )
    assert "  leave out --cache: the diff shows where the shared prefix ends" == advice
    plain = cli("diff", log, "--id", "req-2", "--id", "req-6")
    assert "the first difference is in" in plain.out
