"""Bad rows: each is named with its row, all others are sent, and the exit code says it."""

import attrs
import pytest

from promptdsl.batch import services
from tests.batch.bad_rows import CASES, GOOD, LAST, LONG, text_of
from tests.batch.folders import LINES, Folder


@pytest.mark.parametrize("name", CASES)
def test_a_bad_row(name: str, folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bad row is named with its line and its author's, and nothing else is lost."""
    case = CASES[name]
    gemini = attrs.evolve(services()["gemini"], most_bytes=1000)
    monkeypatch.setitem(services(), "gemini", gemini)
    good = [{**row, "key": key} for row, key in ((GOOD, "a"), (LAST, "b"))]
    text = f"{text_of(good[:1])}\n{text_of(case.rows)}{text_of(good[1:])}"
    command = folder.batch(case.target, folder.table(text), *case.options)
    assert (1, True) == (command.code, "1 row failed: out/errors.jsonl" in command.err)
    [error] = folder.entries("errors.jsonl")
    assert (2, "rows.jsonl:3") == (error["row"], error["input"])
    assert error["what"].startswith(case.what)
    assert not case.fix or case.fix == error["fix"]
    if case.line:
        assert [f"prompts.py:{LINES[case.target] + case.line}"] == error["at"]
    assert [1, 3] == [journal_line["row"] for journal_line in folder.entries("ids.jsonl")]
    assert 2 == len(folder.requests())


@pytest.mark.parametrize(
    ("rows", "sent_text", "note"),
    [
        ('{"question": "\\ud800"}\n', "\ufffd", "1 row lost content: out/losses.jsonl"),
        pytest.param(f'{{"question": "{LONG}"}}\n', LONG, "", marks=pytest.mark.slow),
        (f'{{"question": "{LONG[:300_000]}"}}\n', LONG[:300_000], ""),
    ],
)
def test_a_row_that_is_only_unusual(folder: Folder, rows: str, sent_text: str, note: str) -> None:
    """A lone surrogate is replaced and noted, and 10 MB of text are sent as they are."""
    command = folder.batch("ask", folder.table(f"{text_of([GOOD])}{rows}{text_of([LAST])}"))
    assert (0, note) == (command.code, command.err.rstrip("\n"))
    assert ["One?", sent_text, "Last?"] == folder.users()
    losses = [
        (journal_line["row"], journal_line["input"])
        for journal_line in folder.entries("losses.jsonl")
    ]
    assert [(2, "rows.jsonl:2")] * bool(note) == losses


def test_content_that_is_lost_is_an_error_if_asked(folder: Folder) -> None:
    """With ``--strict``, what the target cannot express makes a bad row."""
    command = folder.batch("ask", folder.table('{"question": "\\ud800"}\n'), "--strict")
    assert (1, [1]) == (
        command.code,
        [journal_line["row"] for journal_line in folder.entries("errors.jsonl")],
    )


@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        ([("a.jsonl", "")], "there is no row in a.jsonl"),
        ([("a.jsonl", ""), ("b.csv", "question\n")], "there is no row in a.jsonl, b.csv"),
        (
            [("a.jsonl", '{"question": "?"}\n'), ("b.csv", "question,question\n1,2\n")],
            "b.csv has two columns 'question': rename one",
        ),
    ],
)
def test_tables_without_rows(folder: Folder, tables: list[tuple[str, str]], problem: str) -> None:
    """Where no row can be read, nothing begins."""
    names = [folder.table(text, name) for name, text in tables]
    command = folder.batch("ask", *names)
    assert (2, "", f"promptdsl batch: error: {problem}\n") == command
    assert not (folder.path / "out").exists()


def test_an_empty_table_among_others_is_noted(folder: Folder) -> None:
    """A table without a row stops nothing, and is named."""
    tables = [
        folder.table(text, name)
        for name, text in (("a.csv", "question\n"), ("b.csv", "question\n1\n"))
    ]
    assert (0, "a.csv has no rows\n") == folder.batch("ask", *tables)[::2]


def test_a_struct_column_is_refused_only_where_it_is_taken(folder: Folder) -> None:
    """A column of structs stops the batch before it begins, unless the target does not take it."""
    pyarrow = pytest.importorskip("pyarrow", reason="needs pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow")
    for name, table in (
        ("taken.parquet", {"question": [{"a": 1}, {"b": 2}]}),
        ("other.parquet", {"question": ["One?"], "plans": [{"a": 1}]}),
    ):
        parquet.write_table(pyarrow.table(table), name)
    good = folder.table([GOOD])
    problem = "the column 'question' of taken.parquet has structs; Arrow adds null keys to them"
    command = folder.batch("ask", good, "taken.parquet")
    assert (2, True) == (command.code, problem in command.err)
    assert not (folder.path / "out").exists()
    command = folder.batch("ask", good, "other.parquet")
    assert (0, "prompts.py:ask does not take these columns: plans\n") == command[::2]
    assert ["One?", "One?"] == folder.users()


def test_what_a_function_prints_is_no_data(folder: Folder) -> None:
    """What the code of a prompt prints goes to standard error."""
    command = folder.batch("loud", folder.table([GOOD]))
    assert "1 request of 1 row in 1 file\n  out/requests-00001.jsonl\n" == command.out
    assert "Building One?\n" in command.err


@pytest.mark.parametrize("target", ["later", "lazy"])
def test_functions_and_parts_may_be_asynchronous(folder: Folder, target: str) -> None:
    """A coroutine is awaited, and so is an asynchronous part of a prompt."""
    assert 0 == folder.batch(target, folder.table([GOOD, LAST])).code
    assert ["One?", "Last?"] == folder.users()


def test_stopping_at_the_first_bad_row_and_going_on(folder: Folder) -> None:
    """``--on-error stop`` stops there; each ``--resume`` goes on behind it, to the whole batch."""
    table = folder.table([GOOD, {}, LAST, {}])
    arguments = ("ask", table, "--on-error", "stop")
    stopped = "stopped at the first row that failed: continue with --resume"
    for rows, resume in ((2, ()), (4, ("--resume",))):
        command = folder.batch(*arguments, *resume)
        assert (1, True) == (command.code, stopped in command.err)
        assert f"of {rows} rows" in command.out
    command = folder.batch(*arguments, "--resume")
    assert (1, "2 rows failed: out/errors.jsonl\n") == (command.code, command.err)
    assert [2, 4] == [journal_line["row"] for journal_line in folder.entries("errors.jsonl")]
    assert ["One?", "Last?"] == folder.users()


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ("ask", "rows.jsonl", "--format", "anthropic", "--model", "claude-opus-5-5"),
            "anthropic requires max_tokens",
        ),
        (("ask", "rows.jsonl", "--format", "openai"), "openai requires the name of a model"),
        (
            ("ask", "rows.jsonl", "--model", "unheard-of"),
            "the provider of the model 'unheard-of' is not known",
        ),
        (
            ("ask", "rows.jsonl", "--model", "gpt5"),
            "the provider of the model 'gpt5' is not known: did you mean 'gpt-5'? Or name the "
            "service: --format, or format= in code; open models: openai_compatible",
        ),
        (("ask", "rows.jsonl", "-p", "questoin=1"), "prompts.py:ask has no parameter 'questoin'"),
        (("ask", "missing.jsonl"), "no such file: missing.jsonl"),
        (("os", "rows.jsonl"), "prompts.py:os is not a function: name one whose parameters are"),
        (("ask", "rows.jsonl", "--id", "a", "--dedupe"), "write --id or --dedupe, not both"),
        (("ask", "rows.jsonl", "b.jsonl", "c.jsonl"), "no such file: b.jsonl"),
        (("ask", "rows.jsonl", "b.txt", "c.txt"), "b.txt is not a table that can be read"),
        (
            ("plan", "rows.jsonl", "-p", "plan=1", "-p", "y=1", "-p", "x=1"),
            "prompts.py:plan has no parameter 'y'",
        ),
        (
            ("ask", "rows.jsonl", "--depends-on", "rows.jsonl", "--depends-on", "x.txt"),
            "no such file: x.txt",
        ),
        (("ask", "rows.jsonl", "--set", "n:=0"), "the format messages has no keys to set"),
        (
            ("ask", "rows.jsonl", "--model", "claude-opus-5-5", "--set", "max_tokens=many"),
            "max_tokens of anthropic must be a number, not 'many'",
        ),
        (
            ("ask", "rows.jsonl", "--model", "gpt-5", "--set", "max_tokens=many"),
            "max_tokens of openai must be a number, not 'many'",
        ),
        (
            ("ask", "rows.jsonl", "--model", "gpt-5", "--set", 'top_p:="1"'),
            "top_p of openai must be a number, not '1'",
        ),
        (("ask", "rows.jsonl", "--address", "x:1"), "--address names a Ray cluster"),
        (("ask", "rows.jsonl", "--output", "rows.jsonl"), "cannot write rows.jsonl: "),
        (
            ("ask", "rows.jsonl", "--output", "."),
            "the folder . already has files: name a new folder",
        ),
    ],
)
def test_a_batch_that_cannot_begin(
    folder: Folder, arguments: tuple[str, ...], problem: str
) -> None:
    """A wrong target, table or option ends the command before anything is written."""
    folder.table([GOOD])
    command = folder.batch(*arguments)
    assert (2, "") == command[:2]
    assert command.err.startswith(f"promptdsl batch: error: {problem}")
    assert not (folder.path / "out").exists()


@pytest.mark.parametrize("price", ["1,2,3", "1,-2", "-1,2", "1,inf", "inf", "nan", "1,x", "1,", ""])
def test_what_is_no_price(folder: Folder, price: str) -> None:
    """One price or two are taken; the error says so in words."""
    command = folder.batch("ask", folder.table([GOOD]), "--dry-run", f"--price={price}")
    problem = f"argument --price: {price!r} is not a price, or two prices: write 2.5 or 2.5,0.25"
    assert (2, "", problem) == (*command[:2], command.err.strip().partition("error: ")[2])
