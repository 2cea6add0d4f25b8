"""What a file is that a command cannot use, and the command that can."""

import os

from promptdsl.cli.database import MAGIC
from promptdsl.cli.log_records import HEADER

BEGINNING = 4_096
"""The bytes of a file by which it is recognised."""
BY_NAME = {
    (".prompt.txt",): "a snapshot: promptdsl diff {path} TARGET compares it",
    (".json",): "JSON: promptdsl records show {path} shows a record or a payload",
    (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet"): (
        "a table: promptdsl batch TARGET {path} renders a prompt for each row"
    ),
    (".j2", ".jinja", ".jinja2", ".md", ".txt"): (
        "a text: name a function that returns its prompt, such as System(Template(path))"
    ),
}
"""What a file is by the end of its name, and the command that reads it."""


def described_content(path: str) -> str:
    """Return what a file is by its first bytes, with the command that reads it.

    The text is empty for a file of an unknown kind.
    """
    try:
        with open(path, "rb") as file:
            beginning = file.read(BEGINNING)
    except OSError:
        return ""
    if beginning.startswith(MAGIC):
        return f"a database: promptdsl transcript list {path} lists its transcripts"
    if HEADER in beginning.partition(b"\n")[0]:
        return f"a file of a log: promptdsl records list {os.path.dirname(path) or '.'}"
    if b'"promptdsl.transcript"' in beginning.partition(b"\n")[0]:
        return f"a transcript: promptdsl transcript show {path}"
    return ""


def described_file(path: str) -> str:
    """Return what a file is, by its first bytes or its name, with the command that reads it."""
    if content := described_content(path):
        return content
    for ends, text in BY_NAME.items():
        if path.lower().endswith(ends):
            return text.format(path=path)
    return ""
