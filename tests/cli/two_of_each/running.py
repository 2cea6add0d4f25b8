"""Runs commands on the files in this folder, and returns all that they print and write."""

import io
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from promptdsl import Message, PromptLog, SqliteStore, Transcript, User, render
from promptdsl.cli import main
from tests.cli.two_of_each.cases import CASES
from tests.commands import Done
from tests.internals import difference, prompt_file, serialise
from tests.libraries.packages import REFUNDS, installed, package

HERE = Path(__file__).parent
FILE = HERE / "expected.json"
SAMPLE = HERE.parents[1] / "samples" / "transcript-0.1.0.jsonl"
NOON = datetime(2026, 11, 26, 12, tzinfo=UTC)
Printed = list[dict[str, object]]
"""Of each command what was typed, its exit code, and the lines it wrote."""


def expected() -> dict[str, Printed]:
    """Return what the commands of each case print."""
    cases: dict[str, Printed] = json.loads(FILE.read_text("utf-8"))
    return cases


def printed(commands: str, run: Callable[..., Done], git: Callable[..., object]) -> Printed:
    """Return what commands print, one in each line.

    ``cd`` and ``copy`` are what they are in a shell, ``git ...`` is git, ``cat FILE`` prints a
    file, ``files FOLDER`` lists one, and ``write FILE TEXT`` writes a file; each other one is a
    command of ``promptdsl``.
    """
    root = str(Path.cwd())
    rows: Printed = []
    for command in filter(None, map(str.strip, commands.splitlines())):
        name, *words = shlex.split(command)
        if name == "cd":
            os.chdir(words[0])
        elif name == "copy":
            shutil.copy(*words)
        elif name == "git":
            git(*words)
        elif name == "write":
            path = Path(words[0])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_text(words[1]), "utf-8")
        else:
            command_run = _OWN[name](*words) if name in _OWN else run(name, *words)
            out, err = (_anywhere(text, root).split("\n") for text in command_run[1:])
            rows.append({"command": command, "code": int(command_run.code), "out": out, "err": err})
    return rows


def _anywhere(text: str, root: str) -> str:
    """Return a text without the folder of a test, and without the times at which it ran."""
    text = _NOW.sub("(now)".ljust(19), text.replace(root, "HERE"))
    text, days = _TODAY.subn("(today) (UTC)", text)
    return _TIME.sub(r"\1(now)   ", text) if days else text


_TODAY = re.compile(r"^(?!2026-11-26)20\d\d-\d\d-\d\d \(UTC\)$", re.MULTILINE)
_TIME = re.compile(r"^([- ] *\d+  )\d\d:\d\d:\d\d", re.MULTILINE)
_NOW = re.compile(r"(?!2026-11-26)\b20\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d")


def _text(words: str) -> str:
    """Return the text of a file: a snapshot, that of a model, a payload, or the written text."""
    if words == "SETTINGS":
        return SETTINGS
    kind, _, said = words.partition(" ")
    forms = {"SNAPSHOT": SNAPSHOT, "MODEL": MODEL, "PAYLOAD": PAYLOAD}
    return forms[kind] % said if kind in forms else words.replace("\\n", "\n")


SETTINGS = """\
[tool.promptdsl.check]
targets = ["second.py:two", "first.py:one"]
models = ["gpt-5", "claude-opus-5-5"]
ignore = ["PD204", "PD104"]
"""
SNAPSHOT = "---\npromptdsl-snapshot: 1\n---\n\n──▶ system\n%s\n"
MODEL = "---\npromptdsl-snapshot: 1\n"
MODEL += "base: the snapshot without a model; ─= names a text that is there\n"
MODEL += "model: %s\n---\n\n──▶ system\n─= system\n"
PAYLOAD = '{"messages": [{"role": "user", "content": "%s"}]}'


def _cat(path: str) -> Done:
    is_there = Path(path).is_file()
    return Done(int(not is_there), Path(path).read_text("utf-8") if is_there else "", "")


def _files(folder: str) -> Done:
    found = sorted(str(path) for path in Path(folder).rglob("*") if path.is_file())
    return Done(0, "\n".join(path for path in found if "__pycache__" not in path), "")


_OWN: dict[str, Callable[..., Done]] = {"cat": _cat, "files": _files}


def in_git(folder: Path) -> Callable[..., object]:
    """Return git for a folder."""

    def run(*arguments: str) -> object:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        command = ["git", *identity, *arguments]
        return subprocess.run(command, cwd=folder, capture_output=True, check=False)

    return run


def run_here(*arguments: str) -> Done:
    """Return what the command comes to in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    return Done(code, *(it.buffer.getvalue().decode() for it in (out, err)))  # type: ignore[attr-defined]


def outcome(name: str, folder: Path) -> Printed:
    """Return what the commands of a case print in a folder."""
    group, commands = CASES[name]
    modules = {*sys.modules}
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.chdir(folder)
        patch.setenv("COLUMNS", "72")
        patch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        patch.setenv("PROMPTDSL_LIBRARIES", "none")
        if group == "libraries":
            stack.enter_context(libraries(folder, patch))
        else:
            WRITE[group](folder)
        rows = printed(commands, run_here, in_git(folder))
    for module in {*sys.modules} - modules:
        if str(getattr(sys.modules[module], "__file__", "")).startswith(str(folder)):
            del sys.modules[module]
    return rows


# Files.


def write_prompts(folder: Path) -> None:
    """Write the prompts, two files of arguments, and two folders."""
    (folder / "desk.py").write_text((HERE / "desk.py").read_text("utf-8"), "utf-8")
    given = {"name": "Ida", "plan": "", "count": 0, "tags": []}
    (folder / "props.json").write_text(json.dumps(given), "utf-8")
    (folder / "list.json").write_text("[1, 2]", "utf-8")
    (folder / "pictures").mkdir()


def write_transcripts(folder: Path) -> None:
    """Write transcripts: two good ones, two damaged ones, those of two databases, and others."""
    lines = SAMPLE.read_bytes().splitlines(keepends=True)
    (folder / "a.jsonl").write_bytes(b"".join(lines))
    (folder / "damaged.jsonl").write_bytes(b"".join(lines[:8] + lines[9:]))
    (folder / "torn.jsonl").write_bytes(b"".join(lines[:3] + lines[4:6] + lines[8:]) + b'{"n":')
    (folder / "other.jsonl").write_text('{"role": "user", "content": "Hi."}\n', "utf-8")
    bodies = [b'{"n":%d,"type":"branch","data":%d}' % (16 + n, n) for n in (0, 1)]
    newer = [b'%b,"sum":"%08x"}\n' % (body[:-1], crc32(body)) for body in bodies]
    (folder / "newer.jsonl").write_bytes(b"".join([*lines, *newer]))
    times = iter([NOON.replace(hour=hour) for hour in (12, 13, 9, 14, 8, 15, 16, 17, 18, 19)])
    talk = Transcript(clock=lambda: next(times))
    call = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    texts = [{"type": "text", "text": text} for text in ("one", "two\n  three")]
    result = {"type": "tool_result", "tool_use_id": "c", "content": texts}
    talk.append(Message.from_dict({"role": "user", "content": texts}))
    talk.append(Message.from_dict({"role": "assistant", "content": [texts[0], call]}))
    talk.append(Message.from_dict({"role": "tool", "content": [result]}))
    talk.note({"seen": [1, 2]})
    talk.append("Gone.")
    talk.remove(talk.turns[-1].number)
    talk.note("kept")
    talk.tag(title="Two \x1b[0m\nlines", owner="Ann")
    talk.save(folder / "b.jsonl")
    both = {"Ann/1": "a.jsonl", "b:2": "b.jsonl", "c": "b.jsonl"}
    for name in ("chats.db", "more.db"):
        store = SqliteStore(folder / name)
        for key, file in both.items():
            with Transcript.open(folder / file, read_only=True) as transcript:
                store.append(key, transcript.entries)
        store.close()
    connection = sqlite3.connect(folder / "more.db", isolation_level=None)
    connection.execute(
        "UPDATE promptdsl_entries SET line = replace(line, 'twice', 'thrice') WHERE key = 'Ann/1'"
    )
    connection.close()


def write_sessions(folder: Path) -> None:
    """Write conversations that were recorded elsewhere."""
    for name, rows in SESSIONS.items():
        text = "\n".join(map(json.dumps, rows)) if name.endswith("l") else json.dumps(rows)
        (folder / name).write_text(text, "utf-8")


def write_snapshots(folder: Path) -> None:
    """Write the snapshots of two prompts and their models, two payloads, and two records."""
    for stem, text in {"test_x": "One.", "test_x.2": "Two."}.items():
        whole = [prompt_file(render(User(text), model=it)) for it in (None, "gpt-5", "gpt-4.1")]
        (folder / f"{stem}.prompt.txt").write_text(serialise(whole[0]), "utf-8")
        for model, file in zip(("gpt-5", "gpt-4.1"), whole[1:], strict=True):
            shown = serialise(difference(whole[0], file))
            (folder / f"{stem}.{model}.prompt.txt").write_text(shown, "utf-8")
    texts = {
        "one.json": "Hi.",
        "two.json": "Hello.",
        "long.json": "a" * 300,
        "over.json": "b" * 301,
    }
    for name, text in texts.items():
        said = [{"role": "user", "content": text}, {"role": "user", "content": "Bye."}]
        payload = {"model": "gpt-5", "messages": said}
        (folder / name).write_text(json.dumps(payload), "utf-8")


def write_log(folder: Path) -> None:
    """Write a log of six records, of which none is like another in what is filtered."""
    log = PromptLog(folder / "log")
    names = (None, "support", "desk")
    for number in range(6):
        record: dict[str, Any] = {
            "format": "1.0",
            "model": {"model": "gpt-5", "provider": "openai"} if number else None,
            "tokens": {"total": 1_000 * number} if number != 2 else None,
            "messages": [{}] * number,
            "losses": [{"kind": kind} for kind in (("hint", "role", "hint", "media")[:number])],
            "dropped": [{"address": "a"}, {"address": "b"}][: number % 3],
        }
        at = NOON.replace(minute=10 * number)
        log.append(record, name=names[number % 3], id=f"r{number // 2}", at=at)
    log.close()


def write_checked(folder: Path) -> None:
    """Write files with two mistakes each, and a file that cannot be read."""
    for name in ("first", "second"):
        (folder / f"{name}.py").write_text(CHECKED, "utf-8")
    (folder / "wrong.py").write_text("import promptdsl\n\ndef (:\n", "utf-8")
    (folder / "wrong too.py").write_text("import promptdsl\n(", "utf-8")
    (folder / "pyproject.toml").write_text("", "utf-8")


CHECKED = '''\
"""Prompts with mistakes."""

from promptdsl import *


def one(plan: str = "Pro") -> Timeline:
    return Timeline(System(f"Your plan, is {plan}: 100%."), System(Section("a", "")), User("Hi."))


def two(name: str = "Ann") -> Timeline:
    return Timeline(System(f"You are {name}."), User("Hi."))


def fails() -> Timeline:
    raise ValueError("first\\nsecond")


def misplaced() -> Timeline:
    return Timeline(User(User("Inside.")))
'''


def write_projects(folder: Path) -> None:
    """Write a project with two libraries in two modules of a package."""
    for name, text in PROJECT.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


PROJECT = {
    "pyproject.toml": """\
[project]
name = "acme"

[project.entry-points."promptdsl.sections"]
two = "acme.two:second"
one = "acme.one:first"
three = "acme.three:third"
""",
    "src/acme/__init__.py": "",
    "src/acme/one.py": """\
\"\"\"Two libraries.\"\"\"

from promptdsl import Library

FOLDER = "words"
other = Library("other", sections=[], templates=FOLDER)
first = Library("one", templates=FOLDER)
""",
    "src/acme/two.py": """\
from promptdsl import (
    Library,
    Section,
)
from acme import sections

second = Library("two", sections=[sections.café, sections.tone], templates="words")
""",
    "src/acme/sections.py": """\
from promptdsl import Section, component


@component
def café():
    return Section("a", "A.")


@component
def tone():
    return Section("b", "B.")
""",
}


def write_nothing(folder: Path) -> None:
    """Write nothing: the commands write what they read."""


WRITE: dict[str, Callable[[Path], None]] = {
    "prompts": lambda folder: (write_prompts(folder), write_snapshots(folder))[0],
    "snapshots": write_snapshots,
    "logs": write_log,
    "records": write_prompts,
    "checks": write_checked,
    "transcripts": write_transcripts,
    "sessions": write_sessions,
    "projects": write_projects,
    "git": write_nothing,
}
"""What writes the files of each group; libraries are installed."""


@contextmanager
def libraries(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let libraries be installed: two that are good, one with two broken sections, one broken."""
    site = folder / "site"
    package(site, "surgery", LIBRARY.replace("NAME", "surgery"), version="1.10", templates=SECTIONS)
    package(site, "desk-two", LIBRARY.replace("NAME", "desk-two"), templates=SECTIONS)
    broken = {"bad.md.j2": "Bad {{", "good.md.j2": "Good.", "worse.md.j2": "{% if %}"}
    package(site, "broken", LIBRARY.replace("NAME", "broken"), version="2", templates=broken)
    package(site, "gone", "import no_such_module")
    (site / "acme_surgery" / "made.py").write_text(MADE, "utf-8")
    parts = LIBRARY.rpartition("library = ")[0]
    (site / "acme_surgery" / "parts.py").write_text(parts, "utf-8")
    package(site, "spaced", SPACED, templates={"late.md.j2": "{% if true %}\n Late.\n{% endif %}"})
    patch.setenv("PROMPTDSL_LIBRARIES", "spaced,surgery,broken,gone,desk-two")
    with installed(site):
        yield


SPACED = """\
from __future__ import annotations

import json, os
from decimal import Decimal as D, getcontext

from promptdsl import Library, Section, component


@component
def later(value: D = D(1)) -> Section:
    return Section("later", json.dumps(str(value)), os.sep)


white_space = {"trim_blocks": False, "keep_trailing_newline": True}
library = Library("spaced", sections=[later], **white_space)
"""
SECTIONS = {
    "refunds.md.j2": REFUNDS,
    "billing/late.md.j2": "---\ninputs:\n  day: date\n  fee: float = 1.5\n---\n"
    "{% include '_shared/a.md.j2' %}{% include \"_shared/b.md.j2\" %} {{ day }} {{ fee }}",
    "_shared/a.md.j2": "A.{% include '_shared/b.md.j2' %}",
    "_shared/b.md.j2": "---\ninputs:\n  day: date\n---\nB.",
    "open.md.j2": "Open {{ first }} and {{ second }}.",
}
LIBRARY = '''\
"""A library."""

import json as data
import os.path
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal

from promptdsl import *

LIMIT, MOST = 3, 9


def _helped(text: str) -> str:
    return data.dumps(text)


@component
def tone(name: str, /, level: int = LIMIT, *words: str, since: date = date(2026, 1, 2)) -> Section:
    """How we speak.

    In three levels.
    """
    return Section("tone", f"You are {name}, at {level} of {MOST}: {_helped(name)} {since}.")


@component
def card(
    title: "Literal['a', 'b'] | None" = "a",
    *,
    lines: Sequence[str] = (),
    shown: Callable[[str, int], str] | None = None,
    a_very_long_name_of_a_parameter: dict[str, list[int]] | None = None,
):
    """A card."""
    with Section("card", title=title):
        Text(os.path.join("a", *lines))
        yield


@component(name="other-name")
def other() -> Section:
    return Section("other", "Other.")


@component
def kinds(
    one: Annotated[int, "x"],
    two: tuple[int, ...] = (),
    three: float = float("inf"),
    four: "Missing | None" = None,
    five: None = None,
    six: list[Decimal] | Fraction = [],
    seven: Callable[..., None] = print,
    eight: Any = True,
    **more: Literal["a", 2, None],
) -> Section:
    """Kinds of types, "quoted" and \\\\ escaped."""
    return Section("kinds", f"{one} {two} {Decimal(1)}")


library = Library("NAME", sections=[tone, card, other, kinds])
'''


MADE = """\
from acme_surgery.parts import card, kinds, other, tone
from promptdsl import Library

made = Library("made-of_two", sections=[tone, card, other, kinds])
"""


def _claude(kind: str, ids: str, content: Any) -> dict[str, Any]:
    """Return a row with the ids of the one before it, of its own, and of its message."""
    before, uuid, *id = ids.split()
    message = {"role": kind, "content": content, **({"id": id[0]} if id else {})}
    row = {"type": kind, "parentUuid": None if before == "-" else before, "uuid": uuid}
    return {**row, "isSidechain": False, "message": message}


def _call(id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "f", "input": {}}


def _result(id: str, text: str) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": text}


def _pi(id: str, before: str | None, role: str, content: Any, **options: Any) -> dict[str, Any]:
    message = {"role": role, "content": content, **options}
    return {"type": "message", "id": id, "parentId": before, "message": message}


TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
SESSIONS: dict[str, list[Any] | dict[str, Any]] = {
    "claude.jsonl": [
        {"type": "summary", "leafUuid": "a5"},
        {"type": "file-history-snapshot", "messageId": "x"},
        _claude("user", "- u1", "First try."),
        _claude("assistant", "u1 a1 m1", [{"type": "text", "text": "One."}]),
        _claude("user", "- u2", "Second try."),
        _claude("assistant", "u2 a2 m2", [{"type": "text", "text": "Two."}]),
        _claude("user", "a2 u3", "Another branch."),
        _claude("assistant", "u3 a3 m3", [{"type": "text", "text": "Three."}]),
        _claude("user", "a2 u4", "Go on."),
        _claude("assistant", "u4 a4 m4", [{"type": "text", "text": "I look."}]),
        _claude("assistant", "a4 a5 m4", [_call("c1")]),
        _claude("user", "a5 r1", [_result("c1", "one")]),
        _claude("assistant", "a5 a6 m4", [_call("c2")]),
        _claude("user", "a6 r2", [_result("c2", "two")]),
        {"type": "user", "uuid": "s1", "isSidechain": True, "message": {"content": "Aside."}},
        {"type": "summary", "leafUuid": "a6"},
        _claude("assistant", "r2 a7 m5", [{"type": "text", "text": "Done."}]),
        {"type": "system", "subtype": "compact_boundary", "uuid": "b1", "parentUuid": None,
         "logicalParentUuid": "a7", "compactMetadata": {}},
        _claude("user", "b1 u5", "A summary."),
        {"type": "user", "uuid": "s2", "isSidechain": True, "message": {"content": "Aside."}},
        {"type": "system", "subtype": "compact_boundary", "uuid": "b2", "parentUuid": None,
         "logicalParentUuid": "s2", "compactMetadata": {}},
        _claude("user", "b2 u6", "A second summary."),
        _claude("assistant", "u6 a8 m6", [{"type": "text", "text": "What now?"}]),
    ],
    "codex.jsonl": [
        {"type": "session_meta"},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": "Hi."}},
        {"type": "event_msg"},
        {"type": "turn_context"},
        {"type": "event_msg"},
        {"type": "response_item",
         "payload": {"type": "message", "role": "assistant", "content": "Yo."}},
        {"type": "response_item",
         "payload": {"type": "message", "role": "user", "content": "Bye."}},
    ],
    "pi.jsonl": [
        {"type": "session", "version": 3, "id": "s"},
        _pi("u0", None, "user", "Another branch."),
        _pi("a0", "u0", "assistant", [{"type": "text", "text": "Left."}]),
        _pi("u1", None, "user", [{"type": "text", "text": "Look: "},
                                 {"type": "image", "mimeType": "image/gif", "data": "R0lGODlh"}]),
        {"type": "compaction", "id": "x1", "parentId": "u1"},
        _pi("b1", "x1", "bashExecution", None, command="ls"),
        _pi("a1", "b1", "assistant", [
            {"type": "thinking", "thinking": "Hm.", "thinkingSignature": "c2ln"},
            {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}},
            {"type": "toolCall", "id": "c2", "name": "look", "arguments": {}},
        ]),
        _pi("r1", "a1", "toolResult", [{"type": "text", "text": "a.py"},
                                       {"type": "text", "text": "b.py"}],
            toolCallId="c1", toolName="bash", isError=False),
        _pi("r2", "r1", "toolResult", [{"type": "text", "text": "no"}],
            toolCallId="c2", toolName="look", isError=True),
        _pi("b2", "r2", "bashExecution", None, command="ls"),
        _pi("a2", "b2", "assistant", [{"type": "text", "text": "Done."}]),
    ],
    "chat.json": {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Find it."},
            {"role": "assistant", "content": None, "tool_calls": [
                {"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}
                for id in ("c1", "c2")
            ]},
            {"role": "tool", "tool_call_id": "c2", "content": "Here."},
            {"role": "user", "content": "Thanks."},
            {"role": "assistant", "content": "Done."},
        ],
        "tools": [TOOL, {**TOOL, "function": {**TOOL["function"], "name": "g"}}],
    },
}  # fmt: skip
