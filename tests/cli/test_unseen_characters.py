"""What commands print: no character that is not seen, or that turns a line around."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from promptdsl import PromptLog, SqliteStore, Timeline, Transcript, User, render
from promptdsl.cli import main

ODD = "a\u202eb\u200bc\u2066d\u00ade\U000e0041f\x1b[31m"
UNSEEN = "\u202e\u200b\u2066\u00ad\U000e0041\x1b"
COMMANDS: Mapping[str, int] = {
    **{f"transcript show t.jsonl{option}": 0 for option in ("", " --all", " --json")},
    **{f"transcript {command} x.db": 0 for command in ("list", "check", "list --json")},
    **{f"records show r.json{option}": 0 for option in ("", " --json")},
    **{f"records list log{option}": 0 for option in ("", " --json")},
    **{f"render p.py:shown{option}": 0 for option in ("", " --model gpt-5", " --outline")},
    "tokens p.py:shown --model gpt-5": 0,
    "diff p.py:shown p.py:other": 1,
    **{f"diff p.py:shown p.py:other --format {name}": 1 for name in ("json", "markdown", "html")},
    "check p.py p.py:shown": 0,
    "batch p.py:ask t.csv --model gpt-5 --output o": 0,
}


@pytest.mark.parametrize("command", COMMANDS)
def test_unseen_characters_are_escapes(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    """Every command shows invisible, direction and control characters as escapes."""
    monkeypatch.chdir(tmp_path)
    with Transcript.open("t.jsonl") as talk:
        talk.append(ODD)
        talk.tag(title=ODD)
    record = render(Timeline(User(ODD))).record()
    record.save("r.json")
    with PromptLog("log") as log:
        log.append(record, name=ODD, id=ODD)
    store = SqliteStore("x.db")
    Transcript.open(ODD.replace("\x1b", ""), store=store).append(ODD)
    store.close()
    Path("p.py").write_text(
        "from promptdsl import *\n"
        f"ODD = {ODD!r}\n"
        "def ask(text): return Timeline(User(Value(text)))\n"
        "shown = Timeline(System(Section('odd', Value(ODD), title=Value(ODD))), User(ODD))\n"
        "other = Timeline(User(ODD + ODD))\n"
    )
    Path("t.csv").write_text(f"text,{ODD}\na,b\n", "utf-8")
    assert main(command.split()) in (COMMANDS[command], 0)
    out, err = (data.decode() for data in capsysbinary.readouterr())
    assert out + err
    assert not re.search(f"[{UNSEEN}]", out + err)
