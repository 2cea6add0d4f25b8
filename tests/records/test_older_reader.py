"""A record of this version is read by the release that wrote records of version 1.0.

``reader-1.0.tar.xz`` has the modules of that release that read a record, unchanged, and
``record-1.0.schema.json`` is its schema.
"""

import json
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import jsonschema

from promptdsl import *
from tests.folding import failures
from tests.records.prompts import TARGETS, support
from tests.renders import reported

HERE = Path(__file__).parent
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((HERE / "record-1.0.schema.json").read_text("utf-8"))
)
SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
import promptdsl
from promptdsl import PromptRecord
assert promptdsl.__file__.startswith(sys.argv[1])
for file in sys.argv[2:]:
    record = PromptRecord.load(file)
    print(json.dumps([record.to_dict(), [
        repr(record), bool(record._repr_html_()), bool(record.token_tree()),
        [[span.text, span.kind] for span in record.spans],
        [[loss.kind, loss.what, loss.why, str(loss.source)] for loss in record.losses],
        [[part.what, part.path, part.tokens, part.why] for part in record.dropped],
        [message.to_dict() for message in record.prompt.messages],
    ]]))
"""
"""Prints the data and the views of files, a line of JSON for each."""
RESULTS: dict[str, dict[str, Any]] = {
    "no target": {"provider": None},
    "budget": {"budget": 50, "cache": "auto"},
    **{name: {"provider": name, "model": model} for name, model in TARGETS.items()},
}


def views(record: PromptRecord) -> list[Any]:
    """Return the views that ``SCRIPT`` prints of a record."""
    return [
        repr(record),
        bool(record._repr_html_()),
        bool(record.token_tree()),
        [[span.text, span.kind] for span in record.spans],
        [[loss.kind, loss.what, loss.why, str(loss.source)] for loss in reported(record)],
        [[part.what, part.path, part.tokens, part.why] for part in record.dropped],
        [message.to_dict() for message in record.prompt.messages],
    ]


def without_root(record: PromptRecord) -> list[Any]:
    """Return the data of a record, and its views for a reader that knows no root."""
    root = record.to_dict()["root"]
    shown = json.dumps(views(record)).replace(json.dumps(root)[1:-1], "")
    return [record.to_dict(), json.loads(shown)]


def test_the_schema_of_version_1_0() -> None:
    """A record of this version is one by the schema of version 1.0, with and without content."""

    def wrong(name: str) -> list[str]:
        records = [support(**RESULTS[name]).record(content=content) for content in (True, False)]
        return [str(error) for record in records for error in SCHEMA.iter_errors(record.to_dict())]

    assert [] == failures(RESULTS, wrong)


def test_the_reader_of_version_1_0(tmp_path: Path) -> None:
    """The reader of version 1.0 reads a record of this version, and shows the same of it.

    It does not know ``root``, so its files are relative. Its views of tokens have another layout.
    """
    with tarfile.open(HERE / "reader-1.0.tar.xz") as modules:
        modules.extractall(tmp_path / "reader", filter="data")
    records = [support("<b>\u200b", **options).record() for options in RESULTS.values()]
    files = [tmp_path / f"{number}.json" for number in range(len(records))]
    for file, record in zip(files, records, strict=True):
        record.save(file)
    command = [sys.executable, "-I", "-c", SCRIPT, str(tmp_path / "reader"), *map(str, files)]
    done = subprocess.run(command, capture_output=True, check=False, text=True, encoding="utf-8")
    read = [json.loads(line) for line in done.stdout.splitlines()]
    assert ([*map(without_root, records)], "") == (read, done.stderr)
