"""Files of requests: their limits, their lines and ids, and what the caller adds to a body."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from promptdsl import DataError, Timeline, User, render
from promptdsl.batch import BatchWriter, RowRenderer, read_results, service_of, services
from tests.batch.folders import Folder, strict_lines

FORMATS = [name for name in services() if name != "messages"]
MODELS = {"anthropic": "claude-opus-5-5", "gemini": "gemini-3-pro", "bedrock": "claude-opus-5-5"}
IDS = re.compile("[A-Za-z0-9]{1,64}")


def ask(question: str) -> Timeline:
    """Return a prompt."""
    return Timeline(User(question))


def renderer_for(format: str, **options: Any) -> RowRenderer:
    """Return a renderer for a service, with what it requires."""
    extra = dict.fromkeys(service_of(format).required, 64)
    model = MODELS.get(format, "gpt-5")
    return RowRenderer(ask, format=format, model=model, extra=extra, **options)


def written(
    folder: Path, renderer: RowRenderer, questions: Sequence[str], **limits: Any
) -> list[list[str]]:
    """Write a batch of questions with limits of its files; return the lines of each file."""
    service = attrs.evolve(renderer.service, **limits)
    writer = BatchWriter(str(folder), service, {})
    for result in renderer([{"question": text} for text in questions]):
        assert result.problem is None
        writer.add(result)
    writer.close(finished=True)
    return [strict_lines(path) for path in sorted(folder.glob("requests-*.jsonl"))]


@pytest.mark.parametrize(
    ("count", "files"), [(1, [1]), (3, [3]), (4, [3, 1]), (6, [3, 3]), (7, [3, 3, 1])]
)
@pytest.mark.parametrize("format", FORMATS)
def test_a_file_has_no_more_requests_than_its_service_takes(
    tmp_path: Path, format: str, count: int, files: list[int]
) -> None:
    """A file at the limit is full, one request more begins the next."""
    parts = written(tmp_path, renderer_for(format), ["Why?"] * count, requests=3)
    assert files == [len(part) for part in parts]
    entries = [json.loads(line) for part in parts for line in part]
    ids = [request[service_of(format).id] for request in entries]
    assert all(map(IDS.fullmatch, ids))
    assert [f"r{row}x" for row in range(1, count + 1)] == [id[:-12] for id in ids]
    assert 1 == len({id[-12:] for id in ids})  # equal bodies have one digest


@pytest.mark.parametrize(("more", "files"), [(0, [2, 1]), (1, [2, 1]), (-1, [1, 1, 1])])
def test_a_file_has_no_more_bytes_than_its_service_takes(
    tmp_path: Path, more: int, files: list[int]
) -> None:
    """The bytes of a file are those of its lines with their ends, as UTF-8."""
    renderer = renderer_for("openai")
    [[line]] = written(tmp_path / "one", renderer, ["ü"])
    size = 2 * len(f"{line}\n".encode()) + more
    parts = written(tmp_path / "all", renderer, ["ü"] * 3, most_bytes=size)
    assert files == [len(part) for part in parts]
    sizes = [path.stat().st_size for path in (tmp_path / "all").glob("requests-*")]
    assert max(sizes) <= size


@pytest.mark.parametrize(("less", "failed"), [(0, False), (1, True)])
def test_a_request_may_be_as_large_as_a_file(
    monkeypatch: pytest.MonkeyPatch, less: int, failed: bool
) -> None:
    """A request fits into a file with the longest id; one byte less and it is a bad row."""
    renderer = renderer_for("openai")
    [result] = renderer([{"question": "Why?"}])
    size = len(renderer.service.line_of("0" * 64, result.body))
    small = attrs.evolve(service_of("openai"), most_bytes=size - less)
    monkeypatch.setitem(services(), "openai", small)
    [result] = renderer([{"question": "Why?"}])
    assert failed == (result.problem is not None)


_RENDERERS = {format: renderer_for(format) for format in FORMATS}
_RENDERERS["messages"] = RowRenderer(ask)
for _renderer in _RENDERERS.values():
    _renderer.keep_empty = True  # a text may be white space


@pytest.mark.parametrize("format", _RENDERERS)
@given(text=st.text())
@example("\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\r\n\x7f\ufeff")
@example('"\\u2028\\')
def test_any_text_stays_on_one_line(format: str, text: str) -> None:
    """A line of a file is one line for every reader of lines, and reads back as what was sent."""
    renderer = _RENDERERS[format]
    [result] = renderer([{"question": text}])
    service = renderer.service
    [line] = service.line_of("id", result.body).decode().splitlines()
    request = json.loads(line)
    rendered = render(ask(text), **renderer.options)
    if format == "messages":
        expected: Any = [message.to_dict() for message in rendered.messages]
        assert expected == json.loads(request[service.body])
    else:
        expected = service.body_of(rendered.payload()) | renderer.extra
        if service.model:
            expected["model"] = renderer.model
        assert expected == request[service.body]


def test_a_column_has_the_ids(folder: Folder) -> None:
    """``--id`` names a column with the ids: numbers too, at most 64 characters."""
    ids: list[object] = ["a-b_C9", 7, "x" * 64, "x" * 65, "a.b", "a\n", None, "", True]
    table = folder.table([{"question": "Why?", "key": id} for id in ids])
    assert 1 == folder.batch("ask", table, "--id", "key").code
    assert ["a-b_C9", "7", "x" * 64, "True"] == [request["id"] for request in folder.requests()]
    assert [4, 5, 6, 7, 8] == [request["row"] for request in folder.entries("errors.jsonl")]
    assert [1, 2, 3, 9] == [request["row"] for request in folder.entries("ids.jsonl")]


def test_equal_requests_are_sent_once_if_asked(folder: Folder) -> None:
    """With ``--dedupe`` rows with equal requests have one id, and each row has its entry."""
    rows = [{"question": text} for text in ("One?", "Two?", "One?", "One?")]
    assert 0 == folder.batch("ask", folder.table(rows), "--dedupe").code
    assert ["One?", "Two?"] == folder.users()
    entries = folder.entries("ids.jsonl")
    one, two = (request["id"] for request in folder.requests())
    assert [(one, 1), (two, 2), (one, 3), (one, 4)] == [(it["id"], it["row"]) for it in entries]


@pytest.mark.parametrize(
    ("format", "options", "keys"),
    [
        ("openai", ("max_tokens:=9",), {"max_tokens": 9}),
        ("openai", ("service_tier=flex", "metadata:={}"), {"service_tier": "flex", "metadata": {}}),
        ("openai", ("model=gpt-5-mini",), {"model": "gpt-5-mini"}),
        ("anthropic", ("max_tokens:=9", "temperature:=0"), {"max_tokens": 9, "temperature": 0}),
        (
            "openai",
            ("temperature=0", "top_p=0.5", "store=false", "stop=7", "user=12", "x=07", "y=null"),
            {"temperature": 0, "top_p": 0.5, "store": False, "stop": "7", "user": "12", "x": "07"}
            | {"y": None},
        ),
        (
            "openai",
            ('x:="0"', "z=1e3", "a=NaN", "b=[1]", 'c={"d":1}', "e=[x"),
            {"x": "0", "z": 1e3, "a": "NaN", "b": [1], "c": {"d": 1}, "e": "[x"},
        ),
        ("openai", ("z=5", 'z:="5"', 'x:="7"', "x=7", "y=9", "y:=8"), {"z": "5", "x": 7, "y": 8}),
        ("openai", ("x=1e400",), {"x": "1e400"}),
        ("anthropic", ("max_tokens=9",), {"max_tokens": 9}),
        ("bedrock", ('inferenceConfig:={"maxTokens":9}',), {"inferenceConfig": {"maxTokens": 9}}),
    ],
)
def test_keys_that_only_the_caller_knows(
    folder: Folder, format: str, options: tuple[str, ...], keys: dict[str, object]
) -> None:
    """``--set`` gives keys of every body."""
    extra = [word for pair in options for word in ("--set", pair)]
    table = folder.table([{"question": "One?"}])
    options_of_command = ("--format", format, "--model", MODELS.get(format, "gpt-5"), *extra)
    assert 0 == folder.batch("ask", table, *options_of_command).code
    [request] = folder.requests()
    body = request[service_of(format).body]
    assert keys == {key: body[key] for key in keys}


def test_objects_are_merged(folder: Folder) -> None:
    """An object of ``--set`` is merged into that of the prompt."""
    table = folder.table([{"question": "One?"}])
    extra = 'response_format:={"json_schema":{"description":"An answer."}}'
    assert 0 == folder.batch("shaped", table, "--model", "gpt-5", "--set", extra).code
    [request] = folder.requests()
    schema = request["body"]["response_format"]["json_schema"]
    assert ("An answer.", True) == (schema["description"], "schema" in schema)


def test_objects_in_objects_are_merged(folder: Folder) -> None:
    """What is the same in both is there once; the keys of each row's prompt stay its own."""
    table = folder.table([{"question": "One?"}, {"question": "Two?"}])
    extra = {
        "type": "json_schema",
        "json_schema": {"strict": True, "schema": {"type": "object", "properties": {"b": {}}}},
    }
    options = ("--set", f"response_format:={json.dumps(extra)}", "--set", "n:=0")
    assert 0 == folder.batch("shaped", table, "--model", "gpt-5", *options).code
    output_schema = {
        "type": "json_schema",
        "json_schema": {
            "name": "output",
            "schema": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}},
            "strict": True,
        },
    }
    assert [(output_schema, 0, text) for text in ("One?", "Two?")] == [
        (body["response_format"], body["n"], body["messages"][0]["content"])
        for body in (request["body"] for request in folder.requests())
    ]


@pytest.mark.parametrize(
    ("target", "extra", "key"),
    [
        ("ask", "messages:=[]", "messages"),
        ("shaped", 'response_format:={"type":"text"}', "response_format.type"),
        (
            "shaped",
            'response_format:={"type":"json_schema","json_schema":{"strict":true,"name":"x"}}',
            "response_format.json_schema.name",
        ),
        (
            "shaped",
            'response_format:={"json_schema":{"schema":{"properties":{"b":0,"a":{"type":"x"}}}}}',
            "response_format.json_schema.schema.properties.a.type",
        ),
        ("shaped", "response_format:=null", "response_format"),
    ],
)
def test_a_key_that_the_prompt_writes_is_refused(
    folder: Folder, target: str, extra: str, key: str
) -> None:
    """Nothing begins where ``--set`` and the prompt both write a key."""
    table = folder.table([{}, {"question": "One?"}])
    command = folder.batch(target, table, "--model", "gpt-5", "--set", extra)
    problem = f"promptdsl batch: error: the prompt already writes {key}"
    assert (2, True) == (command.code, command.err.startswith(problem))
    assert not (folder.path / "out").exists()


def test_arguments_are_those_of_rows_without_the_column(folder: Folder) -> None:
    """``-p`` gives an argument to every row that has no cell of its name."""
    table = folder.table([{"question": "One?", "plan": "Free"}, {}])
    assert 0 == folder.batch("plan", table, "-p", "plan=Team", "-p", "question=Why?").code
    texts = [
        [message["content"][0]["text"] for message in json.loads(request["messages"])]
        for request in folder.requests()
    ]
    assert [["Plan: Free", "One?"], ["Plan: Team", "Why?"]] == texts


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("rating=4", ""),
        ("rating:=4", ""),
        ("rating=high", "the cell 'rating' is str 'high', not int"),
        ("rating:=null", "the cell 'rating' is null, not int"),
    ],
)
def test_arguments_are_read_as_they_are_declared(folder: Folder, value: str, problem: str) -> None:
    """``-p`` gives a text, which is read as a number where that is declared, or nothing begins."""
    command = folder.batch("rated", folder.table([{"question": "One?"}]), "-p", value)
    assert (2 if problem else 0, True) == (command.code, problem in command.err)
    assert ([] if problem else ["One? Rating: 4"]) == folder.users()


def test_messages_are_one_column_of_texts(folder: Folder) -> None:
    """The format ``messages`` has rows with an id and a text, which Arrow reads as they are."""
    assert 0 == folder.batch("ask", folder.table([{"question": "One?"}])).code
    [request] = folder.requests()
    messages = [message.to_dict() for message in render(ask("One?")).messages]
    assert {"id", "messages"} == request.keys()
    assert messages == json.loads(request["messages"])[1:]


def test_a_small_job_is_noted(folder: Folder) -> None:
    """A service that refuses small jobs is named before it does."""
    command = folder.batch("ask", folder.table([{"question": "?"}]), "--format", "bedrock")
    assert (0, "the service refuses a batch of fewer than 100 requests\n") == command[::2]


def test_cells_beside_the_answers(folder: Folder) -> None:
    """Cells of the rows are added to the answers, but not of a table that has changed."""
    table = folder.table([{"question": "One?", "label": 1}, {}])
    folder.batch("ask", table, "--model", "gpt-5")
    cells = [it["cells"] for it in read_results([folder.table([], "r.jsonl")], "out", ["label"])]
    assert [{"label": 1}, {"label": None}] == cells
    folder.table([])
    with pytest.raises(DataError, match="has changed since the batch"):
        next(read_results(["r.jsonl"], "out", ["label"]))
