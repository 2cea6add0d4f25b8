"""The bars of ``promptdsl records list``: the cached part, the budget, the days and the width."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.cli.conftest import Command
from tests.internals import call_rows, columns, record_rows_module, records_list_module, row_lines

START = datetime(2026, 11, 27, 22, tzinfo=UTC)


def agent(calls: int, **options: Any) -> Rendered:
    """Return the request of an agent after so many calls: 100 tokens of rules, 10 for a call."""
    messages = [Message("user", "go")]
    for number in range(calls):
        call = ToolUseBlock(f"c{number}", "run", "{}")
        messages += [Message("assistant", [call]), Message.tool_result(call.id, "word " * 100)]
    rules = System("Rule. " * 600)
    return render(Timeline(rules, History(messages)), model="gpt-5", **options)


@pytest.fixture
def log(tmp_path: Path) -> PromptLog:
    """Return a log of an agent over two days; the budget drops a round of its last call."""
    with PromptLog(tmp_path / "log") as log:
        for number in range(4):
            record = agent(number, budget=1_900, reserve=200).record()
            at = START + timedelta(hours=number)
            log.append(record, name="agent", id=f"req-{number}", at=at)
    return log


def test_a_list(cli: Command, log: PromptLog) -> None:
    """Each call has a bar on one scale: from the cache, not cached, free, for the answer."""
    totals = [agent(number, budget=1_900, reserve=200).tokens.total for number in range(4)]
    lines = cli("records", "list", str(log.folder)).out.splitlines()
    assert f"2026-11-27: 2 calls, {sum(totals[:2]):,} tokens, 45% cached" == lines[0]
    assert lines[3].startswith("2026-11-28: 2 calls, ")
    bars = [line.split("  ")[5] for line in lines if "│" in line]
    assert [
        "▄▄▄▄▄▄▄▄▄▄▄▄▄·····▒▒│",
        "████████████▄▄····▒▒│",
        "█████████████▄▄···▒▒│",
        "███████████████▄··▒▒│",
    ] == bars


def test_the_request_before_may_be_left_out(cli: Command, log: PromptLog) -> None:
    """A list of one call shows what a cache serves after the call before, which is not listed."""
    every = cli("records", "list", str(log.folder)).out.splitlines()
    _, line = cli("records", "list", str(log.folder), "--id", "req-3").out.splitlines()
    assert every[-1] == line
    assert " cached" in line


def test_calls_of_several_names(tmp_path: Path) -> None:
    """A call is compared with the call of its name before it; the first of a name has no cache."""
    with PromptLog(tmp_path) as log:
        for number, name in enumerate(("a", "b", "a", "b")):
            log.append(agent(number).record(), name=name, at=START + timedelta(hours=number))
    entries = log.read()
    cached = [row.cached for row in call_rows(entries, entries)]
    assert [0, 0] == cached[:2]
    assert all(cached[2:])
    assert cached[3:] == [row.cached for row in call_rows(entries, entries[3:])]


def test_calls_of_two_models(cli: Command, tmp_path: Path) -> None:
    """Two models or providers share no cache: a call is compared with the last one of its own."""
    targets: list[Any] = [{"model": "gpt-5"}, {"model": "gpt-5", "provider": "openai_responses"}]
    targets += {"model": "claude-opus-5-5"}, {}
    with PromptLog(tmp_path) as log:
        for number in range(8):
            prompt = Timeline(System("Rule. " * 6_000), User(f"call {number}"))
            record = render(prompt, **targets[number % 4], hints=False, cache="auto").record()
            log.append(record, name="chat", at=START + timedelta(minutes=number))
    entries = log.read()
    cached = [row.cached for row in call_rows(entries, entries)]
    assert [0, 0, 0, 0] == cached[:4]
    assert all(cached[4:])
    assert cached[5:6] == [row.cached for row in call_rows(entries, entries[5:6])]
    assert 9 == len(cli("records", "list", str(tmp_path)).out.splitlines())


def test_a_cached_part_that_cannot_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that cannot be compared has no cached part; the others are listed with theirs."""
    before, after = agent(0).record(), render(Timeline(User("x")), model="claude-opus-5-5").record()

    def one_cache(_: LogEntry) -> str:
        return "all"

    monkeypatch.setattr(record_rows_module, "_cache_key", one_cache)
    entries = [LogEntry(START.isoformat(), "a", "a", it.to_dict()) for it in (before, after)]
    assert [0, None] == [row.cached for row in call_rows(entries, entries)]


def test_what_is_not_known(tmp_path: Path) -> None:
    """A record without content has a bar without a cached part; one without tokens has none."""
    with PromptLog(tmp_path) as log:
        for number in range(2):
            record = agent(number, budget=2_000).record(content=False)
            log.append(record, at=START + timedelta(hours=number))
        log.append({"format": "1.0"}, at=START + timedelta(hours=3))
    entries = log.read()
    rows = call_rows(entries, entries)
    assert [None, None, None] == [row.cached for row in rows]
    assert ["░", "░", ""] == [row.bar(2_000)[:1] for row in rows]


def test_another_counter(cli: Command, tmp_path: Path) -> None:
    """Characters and tokens are two units: a call that was counted otherwise has no cached part."""
    counters: list[Any] = [None, len, None]
    with PromptLog(tmp_path) as log:
        for number, counter in enumerate(counters):
            record = agent(number, counter=counter).record()
            log.append(record, at=START + timedelta(minutes=number))
    entries = log.read()
    rows = call_rows(entries, entries)
    first, counted_otherwise, last = (row.cached for row in rows)
    assert (0, None) == (first, counted_otherwise)
    assert last
    share = last / sum(row.total or 0 for row in rows[::2])
    assert f", {share:.0%} cached" in cli("records", "list", str(tmp_path)).out.splitlines()[0]


def test_the_share_of_a_day(cli: Command, tmp_path: Path) -> None:
    """The share is that of the calls whose cached part is known: others may be cached or not."""
    kept = [agent(number, budget=2_000).record(content=number < 2) for number in range(6)]
    with PromptLog(tmp_path) as log:
        for number, record in enumerate(kept):
            log.append(record, at=START + timedelta(minutes=number))
    entries = log.read()
    known = [row for row in call_rows(entries, entries) if row.cached is not None]
    assert 2 == len(known)
    share = sum(row.cached or 0 for row in known) / sum(row.total or 0 for row in known)
    assert f", {share:.0%} cached" in cli("records", "list", str(tmp_path)).out.splitlines()[0]


def test_a_budget_without_a_reserve(cli: Command, tmp_path: Path) -> None:
    """A reserve of ``null`` is no reserve."""
    record = {"format": "1.0", "tokens": {"total": 10}, "budget": {"limit": 20, "reserve": None}}
    with PromptLog(tmp_path) as log:
        log.append(record, at=START)
    assert f"{'░' * 10}{'·' * 10}│" in cli("records", "list", str(tmp_path)).out


def test_many_calls(cli: Command, log: PromptLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long list only the last calls are compared, and a note says so."""
    monkeypatch.setattr(record_rows_module, "MAXIMUM_COMPARED", 1)
    run = cli("records", "list", str(log.folder))
    assert ["cached" in line for line in run.out.splitlines() if "│" in line] == [
        *(False, False, False, True)
    ]
    calls = "the last 1 of 4 calls"
    note = f"cached tokens are shown for {calls}: list fewer calls, such as with --since\n"
    assert note == run.err


@pytest.mark.parametrize("width", [30, 60, 80, 120])
def test_lines_fit_the_terminal(log: PromptLog, width: int) -> None:
    """Each line has at most the columns of the terminal, and begins with the time."""
    entries = log.read()
    lines = [*row_lines(call_rows(entries, entries), width)]
    assert (None, record_rows_module.LEGEND[: width - 1]) == (lines[0][0], lines[0][1][: width - 1])
    assert max(columns(line) for _, line in lines) <= width
    assert all(line.startswith("  2") or line.startswith("  0") for row, line in lines if row)


@pytest.mark.parametrize("width", [30, 60, 200])
def test_what_is_left_out_fits_the_terminal(
    cli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    """Dropped and lost parts below a record fit the width, too; in a pipe nothing is cut."""
    row = {"what": "history round " * 6, "tokens": 250, "why": "the budget"}
    loss = {"kind": "content", "what": "image block " * 6, "why": "the target takes none"}
    with PromptLog(tmp_path) as log:
        log.append({"format": "1.0", "dropped": [row], "losses": [loss]}, name="a", at=START)
    arguments = ("records", "list", str(tmp_path), "--dropped", "--lost")
    assert "the budget" in cli(*arguments).out
    monkeypatch.setattr(records_list_module, "terminal_width", lambda: width)
    lines = cli(*arguments).out.splitlines()
    assert any(line.startswith("    history round") for line in lines)
    assert any(line.startswith("    content") for line in lines)
    assert max(map(columns, lines)) <= width


@given(names=st.lists(st.text(min_size=1), min_size=1, max_size=4), width=st.integers(20, 200))
def test_any_names_fit_the_terminal(names: list[str], width: int) -> None:
    """With names of any characters, lines fit and stay one line each."""
    record = {"format": "1.0", "tokens": {"total": 10}}
    entries = [LogEntry(START.isoformat(), name, name, record) for name in names]
    lines = [line for _, line in row_lines(call_rows(entries, entries), width)]
    assert max(map(columns, lines)) <= width
    assert len(names) + 2 == len(lines) == len("\n".join(lines).splitlines())
