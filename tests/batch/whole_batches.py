"""Batches of which two of a thing meet: their tables, the commands, and all that these write.

``python -m tests.batch.whole_batches`` writes the expectations in ``whole_batches.json`` anew: read
what changed.
"""

import contextlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import attrs

from promptdsl.batch import services
from promptdsl.cli import main as command

EXPECTED = Path(__file__).with_name("whole_batches.json")
CODE = '''\
"""Prompts of which each has a row."""

from promptdsl import Output, System, Timeline, Tool, User


def ask(question, plan="Pro", rating: int = 0):
    if "fail" in question:
        raise KeyError(question)
    return Timeline(System("Plan: ", plan, ", ", rating), User(question))


def hinted(question, glued=0):
    texts = ["Be brief.", "Be kind."]
    return Timeline(System(*texts[: glued + 1]), User(question))


def shaped(question, form=None):
    names = (form or "").split()
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in names}}
    return Timeline(*([Output(schema)] if names else []), User(question))


def kinds(question, tools="", form="", more=None):
    schema = {"type": "object", "properties": {}}
    parts = [Tool(name=name, description="Look.", input_schema=schema) for name in tools]
    parts += [Output({**schema, "title": form})] if form else []
    texts = [more["text"] for _ in range(more["times"])] if more else []
    return Timeline(System("Help."), *parts, User(question, *texts))


def needs(question, title, author):
    return Timeline(User(question, title, author))
'''


class Case(NamedTuple):
    """Tables by their names, and the commands that are run one after the other.

    ``requests`` and ``bytes`` are the most of a file. A command may begin with the names of tables
    that it finds changed, or gone.
    """

    tables: Mapping[str, str]
    commands: Sequence[str]
    requests: int = 50_000
    bytes: int = 200_000_000
    later: Mapping[str, str | None] = {}
    """What the tables are before the last command."""


def rows(*questions: str, **columns: Sequence[object]) -> str:
    """Return lines of JSON, each with a question, and the cells of columns that are not ``...``."""
    lines = [
        {"question": question, **{name: cells[n] for name, cells in columns.items()}}
        for n, question in enumerate(questions)
    ]
    kept = [{key: cell for key, cell in line.items() if cell is not ...} for line in lines]
    return "".join(f"{json.dumps(line)}\n" for line in kept)


LOST = "Lost \ud800"
CASES: dict[str, Case] = {
    "tables without rows among others": Case(
        {
            "a.csv": "question,label\n",
            "b.jsonl": rows("One?", other=[1]),
            "c.jsonl": "\n \n",
            "d.csv": "question,zeta\nTwo?,2\n\nThree?,3\n",
            "e.tsv": "question\tlabel\n",
        },
        ["ask a.csv b.jsonl c.jsonl d.csv e.tsv"],
    ),
    "rows that fail, lose and hint": Case(
        {
            "t.jsonl": rows("fail 1", LOST, "Fine?", "fail 2", LOST, "fail 3", "fail 4", "Last?")
            + '["x"]\n{"question": " ", "plan": "x"}\n{"plan": "y"}\n',
        },
        ["ask t.jsonl --hints", "ask t.jsonl --hints --resume", "ask t.jsonl --dry-run"],
    ),
    "hints of some rows": Case(
        {"t.jsonl": rows("A?", "B?", LOST, LOST, "C?", glued=[1, 0, 0, 1, 1])},
        [
            "hinted t.jsonl --hints --format openai --model gpt-5",
            "hinted t.jsonl --dry-run --format openai --model gpt-5",
        ],
    ),
    "equal requests behind a stop": Case(
        {"t.jsonl": rows("A?", "B?", "fail", "A?", "fail", "B?", "C?", "C?", "A?")},
        [
            "ask t.jsonl --dedupe --on-error stop",
            "ask t.jsonl --dedupe --on-error stop --resume",
            "ask t.jsonl --dedupe --resume",
            "ask t.jsonl --dedupe --dry-run --format openai --model gpt-5",
        ],
        requests=2,
    ),
    "equal ids behind a stop": Case(
        {"t.jsonl": rows(*"ABCDEFG", key=["k1", "k2", "k1", 2, "k2", "2", "k3"])},
        [
            "ask t.jsonl --id key --on-error stop",
            "ask t.jsonl --id key --on-error stop --resume",
            "ask t.jsonl --id key --resume",
        ],
    ),
    "ids that some rows lack": Case(
        {
            "t.jsonl": rows("A?", "fail", "C?", "D?", key=[..., "k2", "", None])
            + rows("E?", "F?", key=[0, False]),
        },
        ["ask t.jsonl --id key --on-error keep", "ask t.jsonl --id kye"],
    ),
    "two forms of answers": Case(
        {"t.jsonl": rows(*"ABCDEFG", form=["x", "y", "", "x", "x y", "y", "x"])},
        [
            "shaped t.jsonl --format openai --model gpt-5",
            "shaped t.jsonl --format openai --model gpt-5 --resume",
        ],
        requests=3,
    ),
    "files that are full": Case(
        {"t.jsonl": rows("A?", "B?", "x" * 120, "C?", "fail", "D?", "E?", "F?", "G?")},
        ["ask t.jsonl", "ask t.jsonl --resume"],
        requests=3,
        bytes=500,
    ),
    "keys and arguments of all rows": Case(
        {"t.csv": "question,plan,rating\nA?,,3\nB?,Free,0\n", "u.jsonl": rows("C?", plan=[""])},
        [
            "ask t.csv u.jsonl --format openai --model gpt-5 -p plan= -p rating:=0"
            " --set metadata:={'a':'1'} --set user= --set metadata:={'b':'2'} --set n:=0",
        ],
    ),
    "two columns that are missing": Case(
        {"t.jsonl": rows("A?", "B?", "C?", titel=[1, ..., 2], author=["x", ..., ...])},
        ["needs t.jsonl"],
    ),
    "tokens that two of three rows share": Case(
        {
            "t.jsonl": rows("A?", "A? B?", plan=["Long plan of all", "Long plan of all"])
            + rows("Why?", plan=["Another"])
            + rows("A?", "fail", plan=["Long plan of all", "x"]),
        },
        [
            "ask t.jsonl --format openai --model gpt-5 --dry-run --price 2500,250",
            "ask t.jsonl --format openai --model gpt-5 --dry-run --price 0 --dedupe",
            "ask t.jsonl --format anthropic --model claude-haiku-4-5 --set max_tokens:=1 --dry-run"
            " --price 20000,0",
        ],
    ),
    **{
        f"rows of many kinds for {name}": Case(
            {
                "t.jsonl": rows(
                    *("A?", LOST, "C?", "D?", "E?", " ", "G?", "H?", "I?"),
                    tools=["", "fg", "g", "", "", "", [], "", "f"],
                    form=["", "x", LOST, "x", "y", "", "", 0, "y"],
                    more=[
                        *(None, None, None, None, {"text": " \u2028\x85", "times": 2}),
                        *(None, {"text": 0, "times": 2}, {"times": 1}, {}),
                    ],
                ),
            },
            [f"kinds t.jsonl --format {name} {options}"],
        )
        for name, options in {
            "messages": "",
            "openai": "--model gpt-5 --set model=gpt-5-mini --set n:=1",
            "openai_responses": "--model gpt-5 --set text:={'verbosity':'low','format':{}}",
            "openai_compatible": "--set model=any --set top_k:=0",
            "anthropic": "--model claude-haiku-4-5 --set max_tokens:=9 --set metadata:={'a':1}",
            "gemini": "--model gemini-2.5-pro --set labels:={'a':'1'}"
            " --set generation_config:={'seed':0,'temperature':0}",
            "bedrock": "--model amazon.nova-pro-v1:0 --set inferenceConfig:={'maxTokens':0}",
        }.items()
    },
    "tables that changed": Case(
        {"a.jsonl": rows("A?", "fail"), "b.jsonl": rows("B?"), "c.txt": "1", "d.txt": "1"},
        [
            "ask a.jsonl b.jsonl --on-error stop -p plan=x --depends-on c.txt --depends-on d.txt",
            "ask a.jsonl b.jsonl --resume -p plan=x --depends-on c.txt --depends-on d.txt",
            "ask b.jsonl a.jsonl e.jsonl --resume -p plan=y --depends-on d.txt --strict",
        ],
        later={
            "a.jsonl": rows("A!", "fail"),
            "b.jsonl": rows("B!"),
            "d.txt": "2",
            "e.jsonl": rows("E?"),
        },
    ),
    "rows of which the first twenty fail": Case(
        {"t.jsonl": rows(*["fail"] * 20, "A?"), "u.jsonl": rows(*["fail"] * 19, "A?", "B?")},
        [
            "ask t.jsonl --format openai --model gpt-5 --dry-run",
            "ask u.jsonl --format openai --model gpt-5 --dry-run",
        ],
    ),
}


def arguments_of(line: str) -> list[str]:
    """Return the words of a command; apostrophes stand for quotes."""
    target, *words = line.replace("'", '"').split()
    output = [] if "--dry-run" in words else ["--output", "out"]
    return ["batch", f"prompts.py:{target}", *words, *output]


def run(line: str) -> dict[str, Any]:
    """Run a command, and return its exit code and what it prints."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command(arguments_of(line))
    return {
        "code": code,
        "out": out.getvalue().splitlines(),
        "err": err.getvalue().splitlines(),
    }


def state_of(path: Path) -> dict[str, Any]:
    """Return what a manifest says, without what differs between two machines."""
    manifest = json.loads(path.read_text("utf-8"))
    state = manifest["state"]
    files = [name for name in manifest["files"] if not Path(name).is_absolute()]
    return {"inputs": [*manifest["inputs"]], "files": files, **state}


def files_of(folder: Path) -> Iterator[tuple[str, Any]]:
    """Yield the lines of each file of a batch."""
    for path in sorted(folder.iterdir()):
        is_manifest = path.name == "manifest.json"
        yield path.name, state_of(path) if is_manifest else path.read_text("utf-8").splitlines()


def write_tables(tables: Mapping[str, str | None]) -> None:
    """Write tables into the current folder; those without a text are removed."""
    for name, text in tables.items():
        Path(name).write_text(text, "utf-8") if text is not None else Path(name).unlink()


def done(case: Case) -> dict[str, Any]:
    """Run the commands of a case in the current folder; return what each prints, and the files."""
    Path("prompts.py").write_text(CODE, "utf-8")
    write_tables(case.tables)
    printed: dict[str, Any] = {}
    with limited(case):
        for number, line in enumerate(case.commands, 1):
            if number == len(case.commands):
                write_tables(case.later)
            printed[line] = run(line)
    if Path("out").exists():
        printed["files"] = dict(files_of(Path("out")))
    return printed


@contextlib.contextmanager
def limited(case: Case) -> Iterator[None]:
    """Give files of requests the limits of a case."""
    all_services: Any = services()
    before = dict(all_services)
    for name in ("openai", "messages"):
        all_services[name] = attrs.evolve(
            all_services[name], requests=case.requests, most_bytes=case.bytes
        )
    try:
        yield
    finally:
        all_services.update(before)


def main() -> None:
    """Write what each case comes to."""
    printed = {}
    for name, case in CASES.items():
        with TemporaryDirectory() as folder, contextlib.chdir(folder):
            printed[name] = done(case)
    EXPECTED.write_text(json.dumps(printed, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    os.chdir(Path(__file__).parents[2])
    main()
