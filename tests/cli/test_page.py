"""``promptdsl page``: each kind of target, what fails, and what is written over."""

import json
from pathlib import Path

import pytest

from promptdsl import *
from tests.cli.conftest import Command
from tests.page.prompts import agent
from tests.page.read import data_in, requests_of

WRITTEN = "the page is in page.html\n"


def names_in(file: Path) -> list[str]:
    """Return the names of the prompts of a page."""
    return [prompt["name"] for prompt in data_in(file)["prompts"]]


def test_targets_in_code(cli: Command, prompts: Path) -> None:
    """Prompts and functions of files are shown, with their arguments and payloads."""
    options = ("--model", "gpt-5", "--for", "gemini", "-p", "question=Why now?")
    run = cli("page", "support.py:demo", "support.py:demo", *options, "-o", "page.html")
    assert (0, "", WRITTEN) == run
    assert ["support.py:demo"] * 2 == names_in(prompts / "page.html")
    first, _ = requests_of(data_in(prompts / "page.html"))
    assert ["gpt-5", "gemini"] == [*first["targets"]]
    assert "Why now?" in json.dumps(first["targets"]["gemini"]["payload"])
    assert {"question": "Why now?"} == first["record"]["inputs"]


def test_a_target_that_fails(cli: Command, prompts: Path) -> None:
    """Its error is on the page, the others stay, and the exit code is 1."""
    targets = ("support.py:failing", "support.py:GREETING", "support.py:misplaced")
    run = cli("page", *targets, "--model", "gpt-5", "-o", "page.html")
    assert 1 == run.code
    failed, good, misplaced = requests_of(data_in(prompts / "page.html"))
    assert "KeyError: 'plan'" == failed["error"]["what"]
    assert "plan" in failed["error"]["code"][3]["text"]
    assert good["record"] is not None
    assert misplaced["error"] is not None
    first, *_, last = run.err.splitlines(keepends=True)
    assert ("support.py:failing: KeyError: 'plan'\n", WRITTEN) == (first, last)


def test_files(cli: Command, prompts: Path) -> None:
    """A record, a payload and a folder of records are shown; a payload has no lines."""
    (folder := prompts / "records").mkdir()
    for number in range(2):
        render(agent(number), model="gpt-5").record().save(folder / f"{number}.json")
    payload = {"model": "gpt-5", "messages": [{"role": "user", "content": "Hi there."}]}
    (prompts / "payload.json").write_text(json.dumps(payload))
    targets = ("records/0.json", "payload.json", "records")
    assert (0, "", WRITTEN) == cli("page", *targets, "-o", "page.html")
    assert [*targets] == names_in(prompts / "page.html")
    record, read, first, second = requests_of(data_in(prompts / "page.html"))
    assert record["record"] == first["record"]
    assert "Hi there." == read["record"]["messages"][0]["content"][0]["text"]
    assert '"source"' not in json.dumps(read["record"]["spans"])
    assert second["changes"]["sentence"]


def test_a_log(cli: Command, prompts: Path) -> None:
    """A log has a prompt for each name; ``--id`` chooses requests."""
    with PromptLog(prompts / "log") as log:
        for number in range(3):
            log.append(render(agent(number), model="gpt-5").record(), name="agent", id=f"c{number}")
    assert 0 == cli("page", "log", "-o", "page.html").code
    assert 3 == len(requests_of(data_in(prompts / "page.html")))
    assert 0 == cli("page", "log", "--id", "c1", "-o", "page.html").code
    (request,) = requests_of(data_in(prompts / "page.html"))
    assert "c1" == request["id"]
    (prompts / "list.json").write_text(cli("records", "list", "log", "--json").out)
    assert 0 == cli("page", "list.json", "-o", "page.html").code
    assert 3 == len(requests_of(data_in(prompts / "page.html")))
    assert 0 == cli("page", "list.json", "--id", "c2", "-o", "page.html").code
    assert ["c2"] == [request["id"] for request in requests_of(data_in(prompts / "page.html"))]
    run = cli("page", "log", "--id", "c9", "-o", "page.html")
    assert (2, True) == (run.code, "log has no record with the id 'c9'" in run.err)


def test_a_damaged_log(cli: Command, prompts: Path) -> None:
    """The error advises a command that exists, and what it writes can be shown."""
    with PromptLog(prompts / "log") as log:
        for number in range(2):
            log.append(render(agent(number), model="gpt-5").record(), name="agent")
    (file,) = (prompts / "log").glob("records-*.jsonl")
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], "{", *lines[1:]]) + "\n")
    run = cli("page", "log", "-o", "page.html")
    assert (1, False) == (run.code, "salvage=True" in run.err)
    advice = "promptdsl records list log --salvage --json > good.json"
    assert advice in run.err
    (prompts / "good.json").write_text(cli(*advice.split()[1:-2]).out)
    assert 0 == cli("page", "good.json", "-o", "page.html").code
    run = cli("page", f"log/{file.name}", "-o", "page.html")
    assert (2, True) == (run.code, "write promptdsl page log -o FILE.html" in run.err)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("nothing.py:a",), "no such file: nothing.py"),
        (("nothing.json",), "cannot read nothing.json"),
        (("empty",), "empty is not a log, and has no records (*.json)"),
        (("support.py:GREETING", "--id", "a"), "--id chooses a request of a log"),
        (
            ("support.py:GREETING", "--without-content", "--for", "gpt-5"),
            "--without-content leaves out payloads",
        ),
        (("support.py:GREETING", "--price", "cheap"), "'cheap' is not a price, or two prices"),
    ],
)
def test_wrong_calls(cli: Command, prompts: Path, arguments: tuple[str, ...], problem: str) -> None:
    """A wrong call writes nothing and says what is wrong."""
    (prompts / "empty").mkdir()
    run = cli("page", *arguments, "-o", "page.html")
    assert (2, True) == (run.code, problem in run.err)
    assert not (prompts / "page.html").exists()


def test_a_file_that_fails(cli: Command, prompts: Path) -> None:
    """A file that is no record is an error on the page, and the others stay."""
    (prompts / "bad.json").write_text("{")
    (prompts / "other.json").write_text('{"keys": 1}')
    run = cli("page", "bad.json", "other.json", "support.py:GREETING", "-o", "page.html")
    bad, other, good = requests_of(data_in(prompts / "page.html"))
    assert (1, True) == (run.code, bad["error"]["what"].startswith("bad.json is not JSON"))
    assert other["error"]["what"]
    assert good["record"]


def test_another_file_stays(cli: Command, prompts: Path) -> None:
    """A file that is no page is not written over."""
    (prompts / "page.html").write_text("<p>Mine")
    run = cli("page", "support.py:GREETING", "-o", "page.html")
    assert (2, True) == (run.code, "page.html has other content" in run.err)
    assert "<p>Mine" == (prompts / "page.html").read_text()


def test_without_content(cli: Command, prompts: Path) -> None:
    """A page without content has no text, name of a target, argument or error."""
    for call in (("support.py:demo", "-p", "question=sesame"), ("support.py:failing",)):
        cli("page", *call, "--model", "gpt-5", "--without-content", "-o", "p.html")
        text = json.dumps(data_in(prompts / "p.html"))
        assert [] == [word for word in ("sesame", "Plan", "KeyError", "support") if word in text]
