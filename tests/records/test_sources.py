"""The sources of a record: relative to one root, and complete again when they are read."""

import json
from typing import Any

import pytest

from promptdsl import *


def written_at(*files: str) -> PromptRecord:
    """Return the record of a prompt with a text in each of these files."""
    turns: dict[str, Any] = {"User": User, "files": files}
    for number, file in enumerate(files):
        exec(compile(f"\n\n\nturn = User('Hi {number}.')", file, "exec"), turns)
        turns[f"turn {number}"] = turns["turn"]
    return render(Timeline(*[turns[f"turn {number}"] for number in range(len(files))])).record()


@pytest.mark.parametrize(
    ("files", "root", "short"),
    [
        (["/home/a/x/p.py", "/home/a/y.py"], "/home/a/", ["x/p.py", "y.py"]),
        (["/home/a/p.py", "/home/a/p.py"], "/home/a/", ["p.py", "p.py"]),
        (["/home/ab/p.py", "/home/ac/p.py"], "/home/", ["ab/p.py", "ac/p.py"]),
        (["/srv/a/p.py", "/usr/q.py", "/srv/a/b/r.py"], "/srv/a/", ["p.py", "/usr/q.py", "b/r.py"]),
        (["C:\\a\\p.py", "C:\\a\\b\\q.py"], "C:\\a\\", ["p.py", "b\\q.py"]),
        (["C:\\a\\p.py", "D:\\a\\q.py", "C:\\a\\r.py"], "C:\\a\\", ["p.py", "D:\\a\\q.py", "r.py"]),
        (["\\\\host\\a\\p.py", "\\\\host\\a\\q.py"], "\\\\host\\a\\", ["p.py", "q.py"]),
        (["/a/p.py", "<stdin>", "/a/<b>.py"], "/a/", ["p.py", "<stdin>", "/a/<b>.py"]),
        (["p.py", "/a/q.py"], None, ["p.py", "/a/q.py"]),
        (["<stdin>", "<string>"], None, ["<stdin>", "<string>"]),
        (["/p.py", "/q.py"], None, ["/p.py", "/q.py"]),
    ],
)
def test_the_root_of_two_files(files: list[str], root: str | None, short: list[str]) -> None:
    """Files below the root are relative to it, others complete; a reader has complete ones."""
    record = written_at(*files)
    data = record.to_dict()
    assert (root, [f"{file}:4" for file in short]) == (
        data.get("root"),
        [span["source"] for span in data["spans"]],
    )
    read = PromptRecord.from_dict(json.loads(record.to_json()))
    assert [f"{file}:4" for file in files] == [str(span.source) for span in read.spans]


def test_all_views_have_complete_files() -> None:
    """Each part of a record is read with its complete file: tools, output, losses and dropped."""
    schema: Any = {"type": "object"}
    prompt = Timeline(
        Tool(name="a", description="A.", input_schema=schema),
        Output(schema, name="out"),
        System("Be kind.", Section("gone", "word " * 99, priority=1)),
        User("Hi.", cache=True),
    )
    rendered = render(prompt, provider="gemini", budget=200, counter=lambda text: len(text.split()))
    record = PromptRecord.from_dict(json.loads(rendered.record().to_json()))
    files = [
        *(span.source for span in record.spans),
        *(hint.source for hint in record.hints),
        *(part.source for part in record.dropped),
        *(tool.at for tool in record.prompt.tools),
        record.prompt.output and record.prompt.output.at,
    ]
    assert {__file__} == {str(source).rpartition(":")[0] for source in files}
    assert (rendered.outline(), __file__ in record.token_tree()) == (record.outline(), True)


def test_without_content_there_is_no_root() -> None:
    """A record without content has no file, so it has no root."""
    data = render(User("Hi.")).record(content=False).to_dict()
    assert ("root" in data, "source" in json.dumps(data["spans"])) == (False, False)
