"""``promptdsl transcript``: files of recorded conversations, shown, checked and converted."""

import json
import os
import sqlite3
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from promptdsl import FolderStore, Message, SqliteStore, Transcript
from tests.cli.conftest import Command
from tests.commands import Done

SAMPLE = Path(__file__).parents[1] / "samples" / "transcript-0.1.0.jsonl"
FOLDER = "folder.jsonl is a folder: promptdsl transcript list folder.jsonl lists its transcripts\n"
WHOLE = "a.jsonl: turns 3, entries 15, bytes 2,231\n"
TOLD = "line 9 at byte 1219 of 'damaged.jsonl' is damaged: it is entry 9 after 7: "
FIX = "  promptdsl transcript repair damaged.jsonl OUT keeps the undamaged entries\n"
DAMAGE = f"{TOLD}lines were lost, doubled or moved\n{FIX}"
ALL = ("a.jsonl", "--all")
CHECK = ("transcript", "check", "a.jsonl")


@pytest.fixture(autouse=True)
def files(prompts: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a transcript, a damaged one, and others that are none."""
    monkeypatch.setenv("COLUMNS", "72")
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    (prompts / "a.jsonl").write_bytes(b"".join(lines))
    (prompts / "damaged.jsonl").write_bytes(b"".join(lines[:8] + lines[9:]))
    (prompts / "other.jsonl").write_text('{"role": "user", "content": "Hi."}\n', "utf-8")
    (prompts / "folder.jsonl").mkdir()
    return prompts


def stands(path: str | Path) -> list[tuple[int, str]]:
    """Return the numbers and the texts of the current turns of a file."""
    with Transcript.open(path, read_only=True) as transcript:
        return [
            (turn.number, turn.message.text if turn.message else "") for turn in transcript.turns
        ]


# Shown.


SHOWN = """\
2026-11-26 (UTC)
   15  10:00:00  summary    <summary> Ann &lt;/summary> was charged twice. </summary>
    7  10:00:00  user       What now?
   11  10:00:00  note       { "case": 77 }

title: Invoice 1881
tokens: 9 input, 3 output, 12 total
"""
EVERY = """\
-   3  09:00:00  assistant  Let me look.
                            tool_use find (call_0) {"invoice": 1881}
-   4  09:00:00  tool       tool_result call_0 text Two rows: é \\ud800
-   5  09:00:00  assistant  You were charged twice.
    6            erased     {}
-   7  10:00:00  user       And now?
    8  10:00:00  replace    What now?
-   9  10:00:00  user       No
   10  10:00:00  remove     { "turn": 9 }
   11  10:00:00  note       { "case": 77 }
   12  10:00:00  metadata   { "metadata": { "title": "Invoice 1881" } }
"""


def test_a_transcript_is_shown(cli: Command) -> None:
    """What is current is a line each below its day, and nothing is cut; tags and tokens follow."""
    assert Done(0, SHOWN, "") == cli("transcript", "show", "a.jsonl")


def test_every_entry_is_shown(cli: Command) -> None:
    """``--all`` shows all entries; an entry that is no longer current has a sign."""
    run = cli("transcript", "show", "a.jsonl", "--all")
    assert EVERY == "".join(run.out.splitlines(keepends=True)[3:14])


@pytest.mark.parametrize("options", [[], ["--all"]])
def test_programs_get_everything(cli: Command, options: list[str]) -> None:
    """As JSON nothing is cut."""
    found = json.loads(cli("transcript", "show", "a.jsonl", "--json", *options).out)
    assert {"title": "Invoice 1881"} == found["metadata"]
    assert {"input": 9, "output": 3, "total": 12} == found["usage"]
    with Transcript.open("a.jsonl", read_only=True) as transcript:
        entries, turns = transcript.entries, transcript.turns
    if options:
        assert [entry.number for entry in entries] == [it["number"] for it in found["entries"]]
        assert {"turn": 9} == found["entries"][9]["data"]
    else:
        assert [turn.number for turn in turns] == [it["number"] for it in found["turns"]]
        assert [turn.note for turn in turns] == [it["note"] for it in found["turns"]]
        assert turns[1].message == Message.from_dict(found["turns"][1]["message"])


def test_a_text_controls_no_terminal(cli: Command) -> None:
    """Control characters are shown, and a text stays on its line; a time may be no time."""
    Transcript(["a\x1b[2J\nb"], clock=None).save("c.jsonl")
    assert Done(0, f"    1{' ' * 12}user       a\\x1b[2J b\n", "") == cli(
        "transcript", "show", "c.jsonl"
    )


def test_days_are_headings(cli: Command) -> None:
    """Each day is a heading once, in UTC, whatever the zone of a time is."""
    zone = timezone(timedelta(hours=-3))
    times = iter([datetime(2026, 11, 26, hour, tzinfo=zone) for hour in (9, 10, 22)])
    Transcript(["a", "b", "c"], clock=lambda: next(times)).save("days.jsonl")
    assert [
        "2026-11-26 (UTC)",
        "    1  12:00:00  user       a",
        "    2  13:00:00  user       b",
        "2026-11-27 (UTC)",
        "    3  01:00:00  user       c",
    ] == cli("transcript", "show", "days.jsonl").out.splitlines()


LINES = "One two three four five six seven eight.\n\n  Nine\x1b[2J.\n" + "ten " * 60


def test_a_terminal_shows_three_rows(cli: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal a text is wrapped, and cut after three rows; with ``--full`` it is complete."""
    Transcript([LINES, "東京" * 60], clock=None).save("long.jsonl")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    rows = cli("transcript", "show", "long.jsonl").out.splitlines()
    assert [
        f"    1{' ' * 12}user       One two three four five six seven eight.",
        f"{' ' * 28}Nine\\x1b[2J. ten ten ten ten ten ten ten ten",
    ] == rows[:2]
    assert (6, "ten ten…", "東…") == (len(rows), rows[2][-8:], rows[5][-2:])
    assert 72 >= max(len(row) + row.count("東") + row.count("京") for row in rows)
    full = cli("transcript", "show", "long.jsonl", "--full").out.splitlines()
    assert ("", f"{' ' * 28}Nine\\x1b[2J.") == (full[1].strip(), full[2].replace("  Nine", "Nine"))
    assert (60, 60) == ("".join(full).count("ten"), "".join(full).count("京"))


@pytest.mark.parametrize("width", [20, 30, 47, 48])
def test_a_narrow_terminal_shows_texts_below_their_entry(
    cli: Command, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    """If a text would have fewer than twenty columns, it is below its entry."""
    Transcript([LINES, "東京" * 60], clock=None).save("long.jsonl")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    rows = cli("transcript", "show", "long.jsonl").out.splitlines()
    assert width >= max(len(row) + row.count("東") + row.count("京") for row in rows)
    assert (width < 48) == (rows[0] == "1 user")
    assert (0 if width == 48 else 1) == sum(row.startswith("  One two") for row in rows)


def test_without_a_terminal_nothing_is_cut(cli: Command) -> None:
    """In a pipe a text is one row; with ``--full`` it has its own lines."""
    Transcript([LINES], clock=None).save("long.jsonl")
    (row,) = cli("transcript", "show", "long.jsonl").out.splitlines()
    assert " ".join(LINES.replace("\x1b", "\\x1b").split()) == row[28:]
    full = cli("transcript", "show", "long.jsonl", "--full").out.splitlines()
    assert ["  Nine\\x1b[2J."] == [row[28:] for row in full[2:3]]


# Checked.

OTHER = (
    "other.jsonl is not a transcript\n"
    "  name a file that Transcript.open() or save() wrote, or DATABASE:KEY\n"
)


@pytest.mark.parametrize(
    ("paths", "run"),
    [
        (["a.jsonl"], Done(0, WHOLE, "")),
        (["damaged.jsonl", "a.jsonl"], Done(1, WHOLE, DAMAGE)),
        (["other.jsonl"], Done(1, "", OTHER)),
        (["no", "a.jsonl"], Done(2, WHOLE, "cannot open 'no': No such file or directory\n")),
        (["folder.jsonl"], Done(2, "", FOLDER)),
    ],
)
def test_files_are_checked(cli: Command, paths: list[str], run: Done) -> None:
    """A good file is a line; damage is a note with its line and byte, and the exit code 1."""
    assert run == cli("transcript", "check", *paths)


def test_an_unknown_entry_is_no_damage(cli: Command, files: Path) -> None:
    """An entry of a newer version has a note; the file can be copied, but not vacuumed."""
    body = b'{"n":16,"type":"branch","data":1}'
    line = b'%b,"sum":"%08x"}\n' % (body[:-1], crc32(body))
    (files / "a.jsonl").write_bytes((files / "a.jsonl").read_bytes() + line)
    shown_text = "a.jsonl: read-only: entry 16 has the unknown type 'branch'\n"
    assert Done(0, "a.jsonl: turns 3, entries 16, bytes 2,282\n", shown_text) == cli(*CHECK)
    assert "   16            branch     1\n" in cli("transcript", "show", *ALL).out
    assert 1 == cli("transcript", "vacuum", "a.jsonl", "new.jsonl").code
    assert 0 == cli("transcript", "repair", "a.jsonl", "new.jsonl").code


def test_a_write_that_did_not_finish_is_no_damage(cli: Command, files: Path) -> None:
    """The bytes behind the last line end are a note."""
    with open(files / "a.jsonl", "ab") as file:
        file.write(b'{"n":16')
    run = cli(*CHECK)
    assert (0, "a.jsonl: 7 bytes of an incomplete line are not read\n") == (run.code, run.err)


@pytest.mark.skipif(not getattr(os, "geteuid", int)(), reason="nothing is forbidden to root")
def test_a_file_that_may_not_be_read(cli: Command, files: Path) -> None:
    """A file without permission has a note; all other files of the folder are listed."""
    (files / "damaged.jsonl").chmod(0)
    assert Done(2, "", "cannot open 'damaged.jsonl': Permission denied\n") == cli(
        "transcript", "check", "damaged.jsonl"
    )
    run = cli("transcript", "list", ".")
    assert (1, 1) == (run.code, len(run.out.splitlines()))


def test_transcripts_of_a_folder_are_listed(cli: Command) -> None:
    """Those that begin as a transcript are a line each, the latest last; damage is a note."""
    Transcript(clock=None).save("empty.jsonl")
    other = timezone(timedelta(hours=-3))
    late = Transcript(["Hi."], clock=lambda: datetime(2026, 11, 26, 9, tzinfo=other))
    late.save("0.jsonl")
    run = cli("transcript", "list", ".")
    assert [
        "                     ./empty.jsonl: turns 0, entries 0, bytes 67",
        "2026-11-26 10:00:00  ./a.jsonl: turns 3, entries 15, bytes 2,231  Invoice 1881",
        "2026-11-26 12:00:00  ./0.jsonl: turns 1, entries 1, bytes 218",
    ] == run.out.splitlines()
    assert (1, DAMAGE.replace("damaged.", "./damaged.")) == (run.code, run.err)
    found = json.loads(cli("transcript", "list", ".", "--json").out)
    assert ["./empty.jsonl", "./a.jsonl", "./0.jsonl"] == [row["file"] for row in found]
    assert ["", "Invoice 1881", ""] == [row["title"] for row in found]
    assert [None, "2026-11-26T10:00:00+00:00", late.entries[0].at] == [it["last"] for it in found]


# Written anew.


def test_a_damaged_file_is_repaired(cli: Command) -> None:
    """The new file has the undamaged entries, and can be opened; notes say what is lost."""
    shown_text = "damaged.jsonl: entries 8 to 8 are missing\n"
    run = cli("transcript", "repair", "damaged.jsonl", "new.jsonl")
    assert Done(0, "new.jsonl: turns 3, entries 15, bytes 1,147\n", shown_text) == run
    assert [15, 7, 11] == [number for number, _ in stands("new.jsonl")]
    assert "And now?" == dict(stands("new.jsonl"))[7]


def test_every_lost_line_is_repaired(cli: Command) -> None:
    """Whichever line is lost, what is written opens again."""
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    for number in range(len(lines) - 1):
        Path("lost.jsonl").write_bytes(b"".join(lines[:number] + lines[number + 1 :]))
        run = cli("transcript", "repair", "lost.jsonl", f"{number}.jsonl")
        assert (number, 0, True) == (number, run.code, "lost.jsonl: " in run.err)
        assert 0 == cli("transcript", "check", f"{number}.jsonl").code


def test_a_good_file_is_copied(cli: Command, files: Path) -> None:
    """A file without damage keeps all entries."""
    run = cli("transcript", "repair", "a.jsonl", "new.jsonl")
    assert Done(0, WHOLE.replace("a.", "new."), "a.jsonl has no damage\n") == run
    assert (files / "a.jsonl").read_bytes() == (files / "new.jsonl").read_bytes()


def test_only_what_stands_is_kept(cli: Command, files: Path) -> None:
    """A vacuum leaves out what was removed or replaced."""
    run = cli("transcript", "vacuum", "a.jsonl", "new.jsonl")
    assert Done(0, "new.jsonl: turns 3, entries 15, bytes 1,148\n", "") == run
    assert stands("a.jsonl") == stands("new.jsonl")
    assert b"And now?" not in (files / "new.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ("repair damaged.jsonl a.jsonl", 2, "the file a.jsonl already exists"),
        ("repair damaged.jsonl damaged.jsonl", 2, "the file damaged.jsonl already exists"),
        ("repair other.jsonl new", 1, "other.jsonl is not a transcript"),
        ("repair no new", 2, "cannot open 'no'"),
        ("repair a.jsonl no/new", 2, "cannot write 'no/new'"),
        ("vacuum a.jsonl a.jsonl", 2, "the file a.jsonl already exists"),
        ("vacuum damaged.jsonl new", 1, TOLD),
        ("convert a.jsonl --from transcript --to transcript", 2, "add its name, OUT"),
        (
            "convert a.jsonl a.jsonl --from transcript --to openai",
            2,
            "the file a.jsonl already exists",
        ),
        ("convert a.jsonl a.jsonl/x --from transcript --to openai", 2, "cannot write a.jsonl"),
        ("convert a.jsonl --from nobody --to openai", 2, "unknown provider 'nobody'"),
        ("convert a.jsonl --to openai", 2, "--from"),
        ("convert support.py --from openai --to gemini", 1, "support.py: not JSON"),
        ("convert a.jsonl --from codex --to gemini", 1, "a.jsonl is not a session of codex"),
        ("convert other.jsonl --from claude-code --to gemini", 1, "not a session of claude-code"),
        ("convert a.jsonl --from openai --to gemini", 1, "a.jsonl: messages[0]: "),
        ("convert no --from openai --to gemini", 2, "cannot read no"),
        ("list no", 2, "cannot read no"),
        ("show damaged.jsonl", 1, TOLD),
        ("show", 2, "FILE"),
        ("", 2, "COMMAND"),
    ],
)
def test_what_is_wrong_is_told(cli: Command, words: str, code: int, told: str) -> None:
    """An error has its exit code and names what is wrong; no file is changed or made."""
    before = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    run = cli("transcript", *words.split())
    assert (code, "", True) == (run.code, run.out, told in run.err)
    assert before == {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}


# Converted.


CALL = {"id": "c", "type": "function", "function": {"name": "find", "arguments": "{}"}}
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Find it."},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "Here."},
    {"role": "assistant", "content": "There."},
    {"role": "user", "content": "Thanks."},
]
FORMS = ("openai", "openai_responses", "anthropic", "gemini", "bedrock", "chat_template")
INTERRUPTED = "The tool call was interrupted before it returned a result."
SAID = ["Be brief.", "Find it.", "", "Here.", "There.", "Thanks."]


def convert(cli: Command, *arguments: str) -> Done:
    """Return what converting came to; ``arguments`` are INPUT, OUT, two forms and options."""
    path, out, form, to, *options = arguments
    return cli("transcript", "convert", path, out, "--from", form, "--to", to, *options)


@pytest.mark.parametrize("provider", FORMS)
def test_every_form_is_converted_and_back(cli: Command, files: Path, provider: str) -> None:
    """A conversation goes through the form of each provider, and comes back the same."""
    (files / "chat.json").write_text(json.dumps(CHAT), "utf-8")
    assert 0 == convert(cli, "chat.json", "1.json", "openai", provider).code
    assert 0 == convert(cli, "1.json", "2.jsonl", provider, "transcript").code
    assert SAID == [text for _, text in stands("2.jsonl")]
    printed = cli("transcript", "convert", "2.jsonl", "--from", "transcript", "--to", provider)
    assert (files / "1.json").read_text("utf-8") == printed.out


def test_a_message_in_each_line(cli: Command, files: Path) -> None:
    """A file in JSONL has a message in each line that is not empty."""
    lines = "\n\n".join(map(json.dumps, CHAT))
    (files / "chat.jsonl").write_text(f"\ufeff{lines}\n", "utf-8")
    assert 0 == convert(cli, "chat.jsonl", "new.jsonl", "openai", "transcript").code
    assert SAID == [text for _, text in stands("new.jsonl")]
    (files / "chat.jsonl").write_text(f"{lines}\n{{", "utf-8")
    run = convert(cli, "chat.jsonl", "other", "openai", "transcript")
    assert (1, True) == (run.code, "chat.jsonl: line 12: not JSON" in run.err)


@pytest.mark.parametrize(
    ("repair", "said"),
    [("error", None), ("fill", ["Find it.", "", INTERRUPTED, "Thanks."]), ("prune", SAID[1::4])],
)
def test_calls_without_results(cli: Command, repair: str, said: list[str] | None) -> None:
    """A call without a result is an error, is answered, or is left out with a note."""
    Path("chat.json").write_text(json.dumps([CHAT[1], CHAT[2], CHAT[5]]), "utf-8")
    run = convert(cli, "chat.json", "new.jsonl", "openai", "transcript", "--repair", repair)
    assert (said is None, True) == (run.code == 1, "call" in run.err)
    assert said == ([text for _, text in stands("new.jsonl")] if run.code == 0 else None)


def test_what_is_left_out_is_told(cli: Command, files: Path) -> None:
    """Tools of the input and losses of the target are notes, without a line of this command."""
    tool = {"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}
    messages = [*CHAT[1:5], {"role": "developer", "content": "Be kind."}, CHAT[5]]
    (files / "chat.json").write_text(json.dumps({"messages": messages, "tools": [tool]}), "utf-8")
    first, *losses = convert(cli, "chat.json", "new", "openai", "bedrock").err.splitlines()
    assert "left out: tools: 1" == first
    assert ["hint", "role"] == sorted(line.partition(":")[0] for line in losses)


SESSION: list[tuple[str, str | None, str, str | None, Any]] = [
    ("user", None, "u1", None, "Fix it."),
    ("assistant", "u1", "a1", "m1", "Another branch."),
    ("user", None, "u2", None, "Fix it, please."),
    ("assistant", "u2", "a2", "m2", {"type": "tool_use", "id": "c1", "name": "f", "input": {}}),
    ("user", "a2", "r1", None, {"type": "tool_result", "tool_use_id": "c1", "content": "one"}),
    ("assistant", "a2", "a3", "m2", {"type": "tool_use", "id": "c2", "name": "f", "input": {}}),
    ("user", "a3", "r2", None, {"type": "tool_result", "tool_use_id": "c2", "content": "two"}),
    ("assistant", "r2", "a4", "m3", "Done."),
    ("system", None, "s1", None, None),
    ("user", "s1", "u3", None, "A summary."),
    ("assistant", "u3", "a5", "m4", "What now?"),
]
"""Rows of a session: their type, parent, id, the id of their message, and its content."""


def session(parent: str | None, mark: str) -> list[dict[str, Any]]:
    """Return the rows of a session with a compaction, with a field or a logical parent for it."""
    rows: list[dict[str, Any]] = [{"type": "summary", "leafUuid": "a5"}]
    for kind, before, uuid, id, content in SESSION:
        shown_text: object = content if isinstance(content, str) else [content]
        message: dict[str, object] = {
            "role": kind,
            "content": shown_text,
            **({"id": id} if id else {}),
        }
        row = {"type": kind, "parentUuid": before, "uuid": uuid, "isSidechain": False}
        rows.append(row | ({"logicalParentUuid": parent, mark: True} if kind == "system" else {}))
        rows[-1] |= {} if kind == "system" else {"message": message}
    side = {"role": "user", "content": "Aside."}
    return [*rows, {"type": "user", "uuid": "x", "isSidechain": True, "message": side}]


@pytest.mark.parametrize(
    ("parent", "mark"),
    [("a4", ""), ("nowhere", ""), (None, "compactMetadata"), (None, "isCompactSummary")],
)
def test_a_session_of_claude_code(cli: Command, parent: str | None, mark: str) -> None:
    """The conversation includes what is before a compaction; notes say what is left out."""
    Path("s.jsonl").write_text("\n".join(map(json.dumps, session(parent, mark))), "utf-8")
    run = convert(cli, "s.jsonl", "new.jsonl", "claude-code", "transcript")
    assert [
        "left out: rows of the type 'summary': 1",
        "left out: rows of the type 'system': 1",
        "left out: rows of a sidechain: 1",
        "left out: rows of another branch: 2",
    ] == run.err.splitlines()
    with Transcript.open("new.jsonl", read_only=True) as transcript:
        said = [(it.role, it.text, [call.id for call in it.calls]) for it in transcript]
    assert [
        ("user", "Fix it, please.", []),
        ("assistant", "", ["c1", "c2"]),
        ("tool", "one", []),
        ("tool", "two", []),
        ("assistant", "Done.", []),
        ("user", "A summary.", []),
        ("assistant", "What now?", []),
    ] == said


def test_a_session_of_codex(cli: Command, files: Path) -> None:
    """The items of responses are the conversation; other rows are left out."""
    items: list[Any] = [
        {"type": "message", "role": "user", "content": "Hi."},
        {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": "one"},
        {"type": "message", "role": "assistant", "content": "Yo."},
    ]
    rows: list[Any] = [{"type": "response_item", "payload": item} for item in items]
    text = "\n".join(map(json.dumps, [{"type": "session_meta"}, *rows]))
    (files / "s.jsonl").write_text(text, "utf-8")
    run = convert(cli, "s.jsonl", "new.jsonl", "codex", "transcript")
    assert (0, "left out: rows of the type 'session_meta': 1\n") == (run.code, run.err)
    assert ["Hi.", "", "one", "Yo."] == [text for _, text in stands("new.jsonl")]


PI: list[tuple[str, str | None, Any]] = [
    ("u0", None, {"role": "user", "content": "Another branch."}),
    ("u1", None, {"role": "user", "content": [{"type": "text", "text": "Fix it."}]}),
    ("x1", "u1", None),
    (
        *("a1", "x1"),
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm."},
                {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}},
            ],
        },
    ),
    (
        *("r1", "a1"),
        {
            "role": "toolResult",
            "toolCallId": "c1",
            "toolName": "bash",
            "content": [{"type": "text", "text": "a.py"}],
            "isError": False,
        },
    ),
    ("b1", "r1", {"role": "bashExecution", "command": "ls", "output": "a.py"}),
    ("a2", "b1", {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}),
]


def test_a_session_of_pi(cli: Command, files: Path) -> None:
    """The conversation is the path from the last row to the first; notes say what is left out."""
    rows: list[Any] = [{"type": "session", "version": 3, "id": "s"}]
    for id, parent, message in PI:
        kind = "compaction" if message is None else "message"
        rows.append({"type": kind, "id": id, "parentId": parent, "message": message})
    (files / "s.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    run = convert(cli, "s.jsonl", "new.jsonl", "pi", "transcript")
    assert [
        "left out: rows of the type 'bashExecution': 1",
        "left out: rows of the type 'compaction': 1",
        "left out: rows of another branch: 1",
    ] == run.err.splitlines()
    with Transcript.open("new.jsonl", read_only=True) as transcript:
        said = [(it.role, it.text, [call.input for call in it.calls]) for it in transcript]
    assert [
        ("user", "Fix it.", []),
        ("assistant", "", [{"command": "ls"}]),
        ("tool", "a.py", []),
        ("assistant", "Done.", []),
    ] == said


@pytest.mark.parametrize("step", [20, pytest.param(1, marks=pytest.mark.slow)])
def test_real_conversations_are_converted(
    cli: Command, files: Path, recorded: dict[str, Any], step: int
) -> None:
    """Recorded conversations come back from the form of another provider as they were."""
    for number, messages in enumerate([*recorded.values()][::step]):
        (files / "chat.json").write_text(json.dumps(messages), "utf-8")
        paths = [f"{number}.{end}" for end in ("first.jsonl", "json", "last.jsonl")]
        run = [convert(cli, "chat.json", paths[0], "openai", "transcript")]
        run.append(convert(cli, *paths[:2], "transcript", "gemini"))
        run.append(convert(cli, *paths[1:], "gemini", "transcript"))
        assert [0, 0, 0] == [it.code for it in run]
        assert len(messages) == len(stands(paths[0]))
        assert stands(paths[0]) == stands(paths[2])


def test_a_damaged_header_is_no_other_file(cli: Command, files: Path) -> None:
    """A folder's list names a transcript whose first line is damaged; others it passes over."""
    lines = (files / "a.jsonl").read_bytes().splitlines(keepends=True)
    (files / "damaged.jsonl").write_bytes(b"".join([lines[0].replace(b"dsl", b"xyz"), *lines[1:]]))
    run = cli("transcript", "list", ".")
    assert (1, 1) == (run.code, run.out.count("\n"))
    assert run.err.startswith("line 1 at byte 0 of './damaged.jsonl' is damaged")


# In a database.


@pytest.fixture
def database(files: Path) -> sqlite3.Connection:
    """Return the connection to a database with the transcript of the sample, and a damaged one."""
    store = SqliteStore(files / "chats.db")
    with Transcript.open("a.jsonl", read_only=True) as transcript:
        for key in ("Ann/1", "b:2"):
            store.append(key, transcript.entries)
    store.close()
    connection = sqlite3.connect(files / "chats.db", isolation_level=None)
    damage = (
        "UPDATE promptdsl_entries SET line = replace(line, 'twice', 'thrice') WHERE key = 'b:2'"
    )
    connection.execute(damage)
    return connection


def test_a_database_is_listed_shown_and_checked(cli: Command, database: sqlite3.Connection) -> None:
    """A transcript in a database has the name ``FILE:KEY``; an error names the damaged line."""
    assert Done(0, SHOWN, "") == cli("transcript", "show", "chats.db:Ann/1")
    assert Done(0, WHOLE.replace("a.jsonl", "chats.db:Ann/1").replace("2,231", "2,149"), "") == cli(
        "transcript", "check", "chats.db:Ann/1"
    )
    run = cli("transcript", "list", "chats.db")
    assert 1 == run.code
    assert ["chats.db:Ann/1"] == [line.split()[2][:-1] for line in run.out.splitlines()]
    checked = cli("transcript", "check", "chats.db")
    assert (1, run.err) == (checked.code, checked.err)
    assert checked.out.startswith("chats.db:Ann/1: turns ")
    start, *_ = run.err.partition(" of ")
    assert "line 3 at byte 118" == start
    assert "of 'chats.db:b:2' is damaged" in run.err
    database.close()


def test_the_bytes_of_a_transcript_in_a_database(cli: Command) -> None:
    """The size of a transcript is counted in bytes, in a file and in a database."""
    words = Transcript(["Café 😀"], clock=None)
    (entry,) = words.entries
    store = SqliteStore("words.db")
    store.append("a", words.entries)
    store.close()
    size = len(entry.to_line().encode())
    assert size > len(entry.to_line())
    run = cli("transcript", "check", "words.db:a")
    assert Done(0, f"words.db:a: turns 1, entries 1, bytes {size}\n", "") == run


def test_a_database_with_an_odd_name(cli: Command, database: sqlite3.Connection) -> None:
    """The name of a file is no address: it has no parameters and no escapes."""
    database.close()
    os.rename("chats.db", "a%20 b#c.db")
    assert Done(0, SHOWN, "") == cli("transcript", "show", "a%20 b#c.db:Ann/1")


def test_a_transcript_in_a_database_is_repaired(cli: Command, database: sqlite3.Connection) -> None:
    """What is good of it is written to a file, whose entries can be put back."""
    run = cli("transcript", "repair", "chats.db:b:2", "good.jsonl")
    assert (0, True) == (run.code, "of 'chats.db:b:2' is left out" in run.err)
    assert 0 == cli("transcript", "check", "good.jsonl").code
    database.close()


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["show", "chats.db:nobody"], "chats.db has no transcript 'nobody'"),
        (["show", "other.db:a"], "cannot read the transcripts of other.db: no such table"),
        (["list", "other.db"], "cannot read the transcripts of other.db: no such table"),
    ],
)
def test_what_a_database_does_not_have(
    cli: Command, database: sqlite3.Connection, command: list[str], told: str
) -> None:
    """A key that is not there, and a database of another program, are errors."""
    with sqlite3.connect("other.db") as other:
        other.execute("CREATE TABLE a (b)")
    other.close()
    run = cli("transcript", *command)
    assert (1, True) == (run.code, told in run.err)
    database.close()


def test_a_folder_without_transcripts(cli: Command, tmp_path: Path) -> None:
    """An empty list is explained."""
    folder = tmp_path / "empty"
    folder.mkdir()
    note = f"there is no transcript in {folder}: transcripts are files *.jsonl\n"
    assert (0, "", note) == tuple(cli("transcript", "list", str(folder)))


def test_a_key_of_a_folder(cli: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transcripts of a folder are files: for a key, the error names the file."""
    monkeypatch.chdir(tmp_path)
    Transcript.open("ann", store=FolderStore("chats")).append("Hi.")
    error = "cannot open 'chats:ann': No such file or directory\n"
    advice = "  chats is a folder, with a file for each key: chats/ann.jsonl\n"
    run = cli("transcript", "show", "chats:ann")
    assert (2, f"promptdsl transcript: error: {error}{advice}") == (run.code, run.err)
    assert 0 == cli("transcript", "show", "chats/ann.jsonl").code
