"""Before a batch is sent: its tokens, files and bytes, and what they cost."""

import re
from typing import Any

import attrs
import pytest

from promptdsl import Rendered, System, Timeline, User, prefix_report, render
from promptdsl.batch import services
from tests.batch.folders import Done, Folder

ROWS: list[dict[str, Any]] = [
    {"question": text, "key": f"k{n}"}
    for n, text in enumerate(["One?", "Or two?", "fail", "One?", "Is it three, or is it four?"])
]
SENT = [row["question"] for row in ROWS if row["question"] != "fail"]


def rendered(question: str, model: str | None = "gpt-5") -> Rendered:
    """Return the render of a row."""
    return render(Timeline(System("Be brief."), User(question)), model=model)


def numbers(command: Done) -> list[int]:
    """Return the numbers of a summary."""
    return [int(it.replace(",", "")) for it in re.findall(r"\d[\d,]*", command.out)]


@pytest.mark.parametrize("options", [(), ("--id", "key"), ("--dedupe",)])
def test_files_and_bytes_are_those_of_the_batch(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    """A dry run counts what the batch then has; it writes nothing."""
    openai = attrs.evolve(services()["openai"], requests=2)
    monkeypatch.setitem(services(), "openai", openai)
    arguments = ("failing", folder.table(ROWS), "--model", "gpt-5", *options)
    counted = folder.batch(*arguments, "--dry-run", "--output", "out")
    assert not (folder.path / "out").exists()
    assert 1 == counted.code
    assert "rows.jsonl:3: " in counted.err
    assert "1 row would fail" in counted.err
    assert 1 == folder.batch(*arguments).code
    files = [*(folder.path / "out").glob("requests-*.jsonl")]
    size = sum(path.stat().st_size for path in files)
    request_count = len(folder.requests())
    assert [request_count, len(ROWS), len(files), size] == numbers(counted)[:4]


def test_ids_that_cannot_be_sent_are_counted(folder: Folder) -> None:
    """A dry run finds the ids that the batch would refuse."""
    rows = [{"question": "One?", "key": key} for key in ("a", "a", "b c")]
    command = folder.batch("ask", folder.table(rows), "--id", "key", "--dry-run")
    assert (1, True) == (command.code, "2 rows would fail" in command.err)
    assert [1, 3, 1] == numbers(command)[:3]


@pytest.mark.parametrize("model", ["gpt-5", "claude-opus-5-5", None])
def test_tokens_are_those_of_each_row(folder: Folder, model: str | None) -> None:
    """The tokens are the sum over the rows, with the words how exact they are."""
    options = () if model is None else ("--model", model, "--set", "max_tokens:=9")
    command = folder.batch("failing", folder.table(ROWS), *options, "--dry-run")
    tokens = [rendered(question, model).tokens for question in SENT]
    total = sum(it.total for it in tokens)
    assert f"{total:,} tokens: {tokens[0].label}" == command.out.splitlines()[1]


@pytest.mark.parametrize("first", [[], [{"question": "fail"}], [{}]])
def test_the_shared_beginning(folder: Folder, first: list[dict[str, Any]]) -> None:
    """The tokens at the beginning that all rows have in common are a share of all tokens."""
    command = folder.batch(
        "failing", folder.table([*first, *ROWS]), "--model", "gpt-5", "--dry-run"
    )
    reports = [prefix_report(rendered(SENT[0]), rendered(question)) for question in SENT]
    shared = min(report.shared for report in reports)
    total = sum(report.after for report in reports)
    assert shared > 0
    share = f"{shared * len(SENT) / total:.0%}"
    assert (
        f"all requests begin with the same {shared:,} tokens: {share} of all tokens"
        == command.out.splitlines()[2]
    )


def test_the_price(folder: Folder) -> None:
    """A price of a million tokens gives what the tokens cost."""
    arguments = ("ask", folder.table(ROWS), "--model", "gpt-5", "--dry-run")
    total = numbers(folder.batch(*arguments))[4]
    command = folder.batch(*arguments, "--price", "2500,250")
    shared = numbers(command)[5]
    cached_tokens = shared * (len(ROWS) - 1)
    cached = (total - cached_tokens) * 2500 / 1e6 + cached_tokens * 250 / 1e6
    assert [
        f"{total * 2500 / 1e6:.6f} for these tokens at 2500 a million; the answers cost extra",
        f"{cached:.6f} if a cache holds the shared tokens, at 250 a million",
    ] == command.out.splitlines()[3:]
    assert 0 == command.code
    assert 2 == folder.batch(*arguments, "--price", "1,2,3").code


@pytest.mark.slow
def test_workers_count_the_same(folder: Folder) -> None:
    """Two processes count what one does."""
    rows = [{"question": f"Is it {n}? " + "Why? " * (n % 5)} for n in range(200)]
    arguments = ("ask", folder.table(rows), "--model", "gpt-5", "--dry-run")
    assert folder.batch(*arguments)[:2] == folder.batch(*arguments, "--workers", "2")[:2]
