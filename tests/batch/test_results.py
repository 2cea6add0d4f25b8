"""The way back: result files of each batch service, joined to the rows."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from promptdsl.batch import read_results
from promptdsl.cli import main
from tests.providers.recorder import (
    CHAT_REPLY,
    CONVERSE_REPLY,
    GEMINI_REPLY,
    MESSAGES_REPLY,
    RESPONSES_REPLY,
)

Json = dict[str, Any]
PROMPT = """\
from promptdsl import Output, Timeline, User


def schema(key):
    return {"type": "object", "properties": {key: {"type": "string"}}, "required": [key]}


def ask(id, form=None):
    if id == "bad":
        raise ValueError("no such city")
    return Timeline(*([Output(schema(form))] if form else []), User(id))
"""
ROWS = [
    *({"id": id} for id in ("plain", "bad", "called", "missing", "healed", "kept", "again")),
    *({"id": id} for id in ("refused", "ended")),
    *({"id": id, "form": "city"} for id in ("formed", "prose", "misfit", "form_called")),
]


USAGE = {"input": 1, "output": 1, "total": 2}
CALLED = {"type": "tool_use", "id": "call_1", "name": "look_up", "input": {"q": "x"}}


class Dialect(NamedTuple):
    """How a service writes results: the reply of a model, a call, and the lines around them.

    ``errors`` are results of requests that failed, each with what is read of it; ``usage`` and
    ``called`` are what is read of the reply and of the call.
    """

    reply: Json
    call: Json
    line: Callable[[str, Any], Json]
    errors: Mapping[str, tuple[Json, str]]
    usage: Json | None = None
    called: Json | None = None


def openai_line(id: str, response: Json, *, status: int = 200, error: object = None) -> Json:
    """Return a line of the output file, or of the file of errors, of OpenAI and of vLLM."""
    data = {"status_code": status, "request_id": "req_1", "body": response}
    return {"id": "batch_req_1", "custom_id": id, "response": data, "error": error}


def converse(*content: Json, **others: str) -> Json:
    """Return a reply of Converse."""
    message = {"role": "assistant", "content": [*content]}
    return {**CONVERSE_REPLY, "output": {"message": message}, **others}


CALL = {"name": "look_up", "arguments": '{"q": "x"}'}
CHAT_CALL: Json = json.loads(json.dumps(CHAT_REPLY))
CHAT_CALL["choices"][0] |= {
    "finish_reason": "tool_calls",
    "message": {
        "role": "assistant",
        "content": None,
        "refusal": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": CALL}],
    },
}
INVALID = {"message": "Bad.", "type": "invalid_request_error", "param": None, "code": None}
EXPIRED = {"code": "batch_expired", "message": "Not done in time."}
GEMINI_CALL = {"functionCall": {"id": "call_1", "name": "look_up", "args": {"q": "x"}}}
OPENAI_ERRORS = {
    "refused": (openai_line("refused", {"error": INVALID}, status=400), "Bad."),
    "ended": (
        {"id": "batch_req_2", "custom_id": "ended", "response": None, "error": EXPIRED},
        "Not done in time.",
    ),
}
DIALECTS = {
    "openai": Dialect(CHAT_REPLY, CHAT_CALL, openai_line, OPENAI_ERRORS),
    "openai_compatible": Dialect(
        *(CHAT_REPLY, CHAT_CALL, openai_line),
        {
            "refused": (openai_line("refused", {}, status=400, error={"error": INVALID}), "Bad."),
            "ended": (openai_line("ended", {}, status=400, error="No chat here."), "No chat here."),
        },
    ),
    "openai_responses": Dialect(
        RESPONSES_REPLY,
        {
            **RESPONSES_REPLY,
            "output": [{**CALL, "type": "function_call", "id": "fc_1", "call_id": "call_1"}],
        },
        openai_line,
        OPENAI_ERRORS,
        {"input": 1, "output": 1, "cache_read": 0, "cache_write": 0, "reasoning": 0, "total": 2},
        {**CALLED, "item": {"id": "fc_1"}},
    ),
    "anthropic": Dialect(
        MESSAGES_REPLY,
        {
            **MESSAGES_REPLY,
            "content": [CALLED],
            "stop_reason": "tool_use",
        },
        lambda id, body: {"custom_id": id, "result": {"type": "succeeded", "message": body}},
        {
            "refused": (
                {
                    "custom_id": "refused",
                    "result": {
                        "type": "errored",
                        "error": {
                            "type": "error",
                            "request_id": None,
                            "error": {"type": "invalid_request_error", "message": "Bad."},
                        },
                    },
                },
                "Bad.",
            ),
            "ended": (
                {"custom_id": "ended", "result": {"type": "expired"}},
                "the service gave no answer: expired",
            ),
        },
    ),
    "gemini": Dialect(
        GEMINI_REPLY,
        {
            **GEMINI_REPLY,
            "candidates": [
                {"content": {"role": "model", "parts": [GEMINI_CALL]}, "finishReason": "STOP"}
            ],
        },
        lambda id, body: {"response": body, "key": id},
        {
            "refused": ({"key": "refused", "error": {"code": 3, "message": "Bad."}}, "Bad."),
            "ended": ({"key": "ended", "error": {"code": 4}}, '{"code": 4}'),
        },
    ),
    "bedrock": Dialect(
        CONVERSE_REPLY,
        converse(
            {"toolUse": {"toolUseId": "call_1", "name": "look_up", "input": {"q": "x"}}},
            stopReason="tool_use",
        ),
        lambda id, body: {"recordId": id, "modelInput": {"messages": []}, "modelOutput": body},
        {
            "refused": (
                {
                    "recordId": "refused",
                    "modelInput": {"messages": []},
                    "error": {"errorCode": 400, "errorMessage": "bad request"},
                },
                "bad request",
            ),
            "ended": (
                {"recordId": "ended", "modelInput": {"messages": []}, "error": {"errorCode": 408}},
                '{"errorCode": 408}',
            ),
        },
    ),
}


def spoken(dialect: Dialect, id: str, text: str) -> Json:
    """Return the line of a reply with this text."""
    return dialect.line(id, json.loads(json.dumps(dialect.reply).replace('"ok"', json.dumps(text))))


def failed(dialect: Dialect, id: str) -> Json:
    """Return the line of a request that failed."""
    line, _ = dialect.errors["refused"]
    return {key: id if value == "refused" else value for key, value in line.items()}


def results(dialect: Dialect) -> tuple[list[Json], list[Json]]:
    """Return the lines of two result files, in no order, with some ids twice."""
    return (
        [
            *(failed(dialect, "healed"), spoken(dialect, "kept", "Early.")),
            *(spoken(dialect, "misfit", '{"city": 1}'), spoken(dialect, "again", "First.")),
            *(dialect.errors["ended"][0], dialect.line("form_called", dialect.call)),
        ],
        [
            *(spoken(dialect, "again", "Second."), failed(dialect, "kept")),
            *(spoken(dialect, "prose", "Rome"), spoken(dialect, "formed", '{"city": "Rome"}')),
            *(spoken(dialect, "healed", "Late."), dialect.line("called", dialect.call)),
            dialect.errors["refused"][0],
            spoken(dialect, "plain", "Rain. \u00e9\u2028\U0001f600"),
        ],
    )


def entries(dialect: Dialect) -> list[Json]:
    """Return what is read of them: an entry for each row."""
    usage, calls = dialect.usage or USAGE, [dialect.called or CALLED]
    stop = {"finish_reason": "stop", "usage": usage}
    call = {"text": "", "finish_reason": "tool_use", "usage": usage, "calls": calls}
    no_form = "the answer breaks its schema: city: 1 is not of type 'string'"
    found: dict[str, Json] = {
        "plain": {"text": "Rain. \u00e9\u2028\U0001f600", **stop},
        "bad": {"error": "the request was not sent: no such city"},
        "called": call,
        "missing": {"error": "the service gave no answer"},
        "healed": {"text": "Late.", **stop},
        "kept": {"text": "Early.", **stop},
        "again": {"text": "Second.", **stop},
        "refused": {"error": dialect.errors["refused"][1]},
        "ended": {"error": dialect.errors["ended"][1]},
        "formed": {"text": '{"city": "Rome"}', **stop, "output": {"city": "Rome"}},
        "prose": {"text": "Rome", **stop, "error": "the answer is not JSON"},
        "misfit": {"text": '{"city": 1}', **stop, "error": no_form},
        "form_called": call,
    }
    return [
        {"row": n, "input": f"rows.jsonl:{n}", "id": id, **answer}
        for n, (id, answer) in enumerate(found.items(), start=1)
    ]


def written(name: str, rows: Iterable[object] | str) -> str:
    """Write a file of lines of JSON, and return its name; a text is written as it is."""
    lines = rows if isinstance(rows, str) else "".join(f"{json.dumps(row)}\n" for row in rows)
    Path(name).write_text(lines, "utf-8")
    return name


def make(provider: str, rows: Iterable[object] = ROWS, *options: str) -> None:
    """Make the batch of rows in the folder ``out``."""
    options += ("--set", "max_tokens:=9") if provider == "anthropic" else ()
    options += ("--set", "model=any") if provider not in ("bedrock", "gemini", "messages") else ()
    table = written("rows.jsonl", rows)
    Path("cities.py").write_text(PROMPT, "utf-8")
    options += ("--id", "id", "--output", "out")
    main(["batch", "cities.py:ask", table, "--format", provider, *options])


def read(*files: str) -> int:
    """Return the exit code of the command that reads the results."""
    return main(["batch", "read", *files, "--batch", "out", "--output", "answers.jsonl"])


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("provider", DIALECTS)
def test_joined(provider: str) -> None:
    """Results in any order are joined to their rows; rows without an answer say why."""
    dialect = DIALECTS[provider]
    make(provider)
    first, second = results(dialect)
    assert 1 == read(written("one.jsonl", first), written("two.jsonl", second))
    found = Path("answers.jsonl").read_text("utf-8").split("\n")
    assert ([*map(json.dumps, entries(dialect))], "") == (
        [json.dumps(json.loads(line)) for line in found[:-1]],
        found[-1],
    )


def _replies(*providers: str) -> Iterator[Json]:
    yield from (it for name in providers for it in (DIALECTS[name].reply, DIALECTS[name].call))


@pytest.mark.sdk("openai")
def test_types_of_openai() -> None:
    """The replies above are of the types of the SDK."""
    from openai.types.chat import ChatCompletion
    from openai.types.responses import Response

    for reply in _replies("openai"):
        ChatCompletion.model_validate(reply, strict=True)
    for reply in _replies("openai_responses"):
        Response.model_validate(reply)


@pytest.mark.sdk("anthropic")
def test_types_of_anthropic() -> None:
    """The lines above are of the type of the SDK."""
    from anthropic.types.messages import MessageBatchIndividualResponse

    for line in (line for lines in results(DIALECTS["anthropic"]) for line in lines):
        MessageBatchIndividualResponse.model_validate(line)


@pytest.mark.sdk("google.genai")
def test_types_of_gemini() -> None:
    """The lines above, key aside, are of the type of the SDK for the same results in a reply."""
    from google.genai.types import InlinedResponse

    for line in (line for lines in results(DIALECTS["gemini"]) for line in lines):
        InlinedResponse.model_validate({key: it for key, it in line.items() if key != "key"})


@pytest.mark.sdk("boto3")
def test_types_of_bedrock() -> None:
    """The replies above are as the service model says."""
    from botocore.session import get_session
    from botocore.validate import ParamValidator

    model = get_session().get_service_model("bedrock-runtime")
    shape: Any = model.operation_model("Converse").output_shape
    for reply in _replies("bedrock"):
        assert not ParamValidator().validate(reply, shape).has_errors()


PLAIN: list[Json] = [{"id": "plain"}, {"id": "other"}]
CHAT = DIALECTS["openai"]
SAYS_NOTHING = {"custom_id": "other", "response": None, "error": None}
NO_ANSWER = {"custom_id": "other", "response": {"body": {"choices": []}}}


def refused(*files: str) -> str:
    """Return why the command refuses to read results; it writes nothing then."""
    with redirect_stderr(StringIO()) as stderr:
        assert 2 == read(*files)
    assert [] == [*Path().glob("answers*")]
    return stderr.getvalue().removeprefix("promptdsl batch read: error: ").removesuffix("\n")


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code says whether every row has an answer."""
    make("openai", PLAIN)
    capsys.readouterr()
    yes = [spoken(CHAT, row["id"], "Yes.") for row in PLAIN]
    assert (0, "answers.jsonl: 2 rows, 2 with an answer\n", "") == (
        read(written("r.jsonl", yes)),
        *capsys.readouterr(),
    )
    Path("answers.jsonl").unlink()
    assert (
        1,
        "answers.jsonl: 2 rows, 1 with an answer\n",
        "no valid answer for 1 of 2 rows: see the 'error' in their lines\n",
        "the service gave no answer: it does not say why",
    ) == (
        read(written("r.jsonl", [yes[0], SAYS_NOTHING])),
        *capsys.readouterr(),
        json.loads(Path("answers.jsonl").read_text("utf-8").splitlines()[1])["error"],
    )


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([{"custom_id": "other"}], "the service gave no answer: it does not say why"),
        ([NO_ANSWER], "a response without choices"),
    ],
)
def test_lines_without_an_answer(rows: list[Json], error: str) -> None:
    """A line that has neither an answer nor an error is one of its row, and no reason to stop."""
    make("openai", PLAIN)
    assert 1 == read(written("r.jsonl", rows))
    found = Path("answers.jsonl").read_text("utf-8").splitlines()[1]
    assert {"row": 2, "input": "rows.jsonl:2", "id": "other", "error": error} == json.loads(found)


def test_equal_rows() -> None:
    """Rows that are one request have its answer, each."""
    table = written("rows.jsonl", [{"id": "a"}, {"id": "a"}])
    Path("cities.py").write_text(PROMPT, "utf-8")
    options = ("--format", "openai", "--model", "gpt-5", "--dedupe", "--output", "out")
    main(["batch", "cities.py:ask", table, *options])
    [request] = Path("out/requests-00001.jsonl").read_text("utf-8").splitlines()
    assert 0 == read(written("r.jsonl", [spoken(CHAT, json.loads(request)["custom_id"], "Yes.")]))
    found = map(json.loads, Path("answers.jsonl").read_text("utf-8").splitlines())
    assert [(1, "Yes."), (2, "Yes.")] == [(it["row"], it["text"]) for it in found]


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (
            [spoken(CHAT, id, "No.") for id in ("plain", "e", "d", "c", "b")],
            "4 results belong to another batch, such as b, c, d: "
            "give only the result files of the batch in out",
        ),
        ('{"custom_id": "oth', "r.jsonl:1 is not JSON: download the result files again"),
        (
            [{"totalRecordCount": 2}],
            "r.jsonl:1 is not a result of openai: it has no 'custom_id': "
            "give only the result files",
        ),
        (
            [{"first": 1}, {"custom_id": "plain", "body": {}}, {"last": 1}],
            "r.jsonl:1 is not a result of openai: it has no 'custom_id': "
            "give only the result files",
        ),
        (
            "[]\n{\n5\n",
            "r.jsonl:1 is not a result of openai: it has no 'custom_id': "
            "give only the result files",
        ),
        (
            [{"custom_id": "plain", "method": "POST", "url": "/v1/chat/completions", "body": {}}],
            "r.jsonl:1 is not a result of openai: it is a request: "
            "give the files that the service returned",
        ),
    ],
)
def test_wrong_results(rows: list[Json] | str, problem: str) -> None:
    """A file that is no result of the batch is refused."""
    make("openai", PLAIN)
    assert problem == refused(written("r.jsonl", rows))


@pytest.mark.parametrize("mark", ["\ufeff", "\ufeff\ufeff"])
def test_byte_order_marks(mark: str) -> None:
    """A mark at the beginning of a file, or of any line, is read."""
    make("openai", PLAIN)
    lines = [json.dumps(spoken(CHAT, row["id"], "Yes.")) for row in PLAIN]
    assert 0 == read(written("r.jsonl", "".join(f"{mark}{line}\r\n" for line in lines)))
    Path("answers.jsonl").unlink()
    Path("r.jsonl").write_bytes("\n".join(lines).encode("utf-16"))
    assert "r.jsonl is UTF-16: save it as UTF-8" == refused("r.jsonl")


DEEP = "[" * 250 + "]" * 250
ODD_LINES = {
    "nested": (DEEP, "r.jsonl:1 is nested deeper than 200 levels"),
    "nested more": ("[" * 9_000 + "]" * 9_000, "r.jsonl:1 is nested deeper than 200 levels"),
    "not a number": ("NaN", "r.jsonl:1 is not JSON"),
    "infinite": ("-Infinity", "r.jsonl:1 is not JSON"),
    "too large": ("1e999", "r.jsonl:1 has a number that is too large"),
    "too many digits": ("9" * 5_000, "r.jsonl:1 has a number that is too large"),
    "half a line": ('"half', "r.jsonl:1 is not JSON"),
    "a tab in a text": ('"a\tb"', "r.jsonl:1 is not JSON"),
    "brackets": ("]]]]", "r.jsonl:1 is not JSON"),
    "an id within": ('{"custom_id": "plain", "recordId": "plain", "key": "plain", ', ""),
}


@pytest.mark.parametrize("name", ODD_LINES)
@pytest.mark.parametrize(
    "provider",
    ["openai", *(pytest.param(name, marks=pytest.mark.slow) for name in ("anthropic", "bedrock"))],
)
def test_one_line_takes_no_other_with_it(provider: str, name: str) -> None:
    """What a line holds is the problem of its row, with file and line; all others are read."""
    dialect = DIALECTS[provider]
    odd, problem = ODD_LINES[name]
    make(provider, PLAIN)
    text = json.dumps(dialect.line("other", {"odd": 1})).replace("1}", f"{odd}}}")
    if name in ("half a line", "an id within"):
        text = text[: text.index(odd) + len(odd)]
    plain = json.dumps(spoken(dialect, "plain", "Yes."))
    assert 1 == read(written("r.jsonl", f"{text}\n{plain}\n"))
    first, second = map(json.loads, Path("answers.jsonl").read_text("utf-8").splitlines())
    assert ("Yes.", "other") == (first["text"], second["id"])
    assert second["error"].startswith(problem or "r.jsonl:1 is not JSON")


@pytest.mark.parametrize("odd", ['{"id": "batch_req_1", "custom', "<html>", "\0", "[]", "{}", "5"])
def test_lines_without_an_id(odd: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A line that belongs to no row is named, also at the rows that have no answer."""
    make("openai", PLAIN)
    plain = json.dumps(spoken(CHAT, "plain", "Yes."))
    assert 1 == read(written("r.jsonl", f"{plain}\n{odd}\n"))
    first, second = map(json.loads, Path("answers.jsonl").read_text("utf-8").splitlines())
    assert "Yes." == first["text"]
    assert second["error"].startswith("the service gave no answer, or its line cannot")
    assert "r.jsonl:2 " in second["error"]
    assert "r.jsonl:2 " in capsys.readouterr().err


def test_answers_that_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    """Of two answers to a request the later one counts, and the other is named; equal ones not."""
    make("openai", PLAIN)
    capsys.readouterr()
    one, two, other = (
        spoken(CHAT, id, text) for id, text in (("plain", "1"), ("plain", "2"), ("other", "3"))
    )
    assert 0 == read(written("r.jsonl", [one, other, two]), written("s.jsonl", [other]))
    note = "r.jsonl:1 is left out: r.jsonl:3 has a result for plain, too\n"
    assert note == capsys.readouterr().err
    found = [json.loads(line) for line in Path("answers.jsonl").read_text("utf-8").splitlines()]
    assert ["2", "3"] == [answer["text"] for answer in found]
    notes: list[str] = []
    assert 2 == len([*read_results(["r.jsonl", "r.jsonl"], "out", notes=notes)])
    assert 3 == len(notes)


def test_the_last_of_two_errors_counts() -> None:
    """Of a request that failed twice, the error of the last attempt is reported."""
    make("openai", PLAIN)
    first, second = (
        CHAT.line("plain", {"error": {**INVALID, "message": text}}, status=400)
        for text in ("Too many requests.", "Out of credit.")
    )
    yes = spoken(CHAT, "other", "Yes.")
    assert 1 == read(written("r.jsonl", [first, yes]), written("s.jsonl", [second]))
    answer = json.loads(Path("answers.jsonl").read_text("utf-8").splitlines()[0])
    assert ("plain", "Out of credit.") == (answer["id"], answer["error"])


def test_two_schemas_of_one_batch() -> None:
    """An answer has the form that its own request asked for, not that of the row before."""
    make("openai", [{"id": "one", "form": "city"}, {"id": "two", "form": "land"}])
    ids = written("r.jsonl", [spoken(CHAT, id, '{"city": "Rome"}') for id in ("one", "two")])
    first, second = read_results([ids], "out")
    why = "the answer breaks its schema: 'land' is a required property"
    assert ({"city": "Rome"}, why) == (first["output"], second["error"])


def test_broken_and_foreign_lines_beside_answers(capsys: pytest.CaptureFixture[str]) -> None:
    """Half a line of a request that has an answer, before or after, and one of none are named."""
    make("openai", PLAIN)
    capsys.readouterr()
    one, other, foreign = (
        json.dumps(spoken(CHAT, id, "Yes.")) for id in ("plain", "other", "plain\ufffd")
    )
    lines = [one[:-9], other, one, foreign, one[:-9]]
    assert 0 == read(written("r.jsonl", "\n".join(lines)))
    assert [
        "r.jsonl:1 is not JSON: r.jsonl:3 has a result for plain, too",
        "r.jsonl:5 is not JSON: r.jsonl:3 has a result for plain, too",
        "r.jsonl:4 belongs to another batch: plain\ufffd",
    ] == capsys.readouterr().err.splitlines()


def test_a_broken_line_is_not_told_of_itself() -> None:
    """Where no other line answers the request, its row has the problem, and there is no note."""
    make("openai", PLAIN)
    lines = [json.dumps(spoken(CHAT, row["id"], "Yes.")) for row in PLAIN]
    notes: list[str] = []
    name = written("r.jsonl", f"{lines[0]}\n{lines[1][:-9]}\n")
    _, second = read_results([name], "out", notes=notes)
    assert (True, []) == (second["error"].startswith("r.jsonl:2 is not JSON"), notes)


def attempt(word: str) -> str:
    """Return a line of results: an answer, an error, half a line, and such of other requests."""
    kind, text = word[0], word[1:]
    lines = {
        "a": spoken(CHAT, "plain", text),
        "e": CHAT.line("plain", {"error": {**INVALID, "message": text}}, status=400),
        "b": spoken(CHAT, "plain", text),
        "o": spoken(CHAT, "other", text),
        "f": spoken(CHAT, f"foreign{text}", "x"),
    }
    line = json.dumps(lines[kind]) if kind in lines else ""
    return {"b": line[:-9], "u": f'{{"odd": "{text}', "_": ""}.get(kind, line)


NONE = "the service gave no answer"
UNREAD = f"{NONE}, or its line cannot be read: "
BROKEN = "1.jsonl:1 is not JSON"
ATTEMPTS: list[tuple[str, str, str, list[str]]] = [
    (
        "a1 a2 a1",
        *("1", NONE),
        [
            "1.jsonl:1 is left out: 1.jsonl:2 has a result for plain, too",
            "1.jsonl:2 is left out: 1.jsonl:3 has a result for plain, too",
        ],
    ),
    ("a1 a1 a2", "2", NONE, ["1.jsonl:2 is left out: 1.jsonl:3 has a result for plain, too"]),
    ("e1 a1 e2", "1", NONE, []),
    ("e1 e2|e3", "3", NONE, []),
    ("a1|e1 a2|e2", "2", NONE, ["1.jsonl:1 is left out: 2.jsonl:2 has a result for plain, too"]),
    ("e1|a1 a1|e2 a3", "3", NONE, ["2.jsonl:2 is left out: 3.jsonl:2 has a result for plain, too"]),
    (
        "a1 a2|a3 a4",
        *("4", NONE),
        [
            "1.jsonl:1 is left out: 1.jsonl:2 has a result for plain, too",
            "1.jsonl:2 is left out: 2.jsonl:1 has a result for plain, too",
            "2.jsonl:1 is left out: 2.jsonl:2 has a result for plain, too",
        ],
    ),
    ("b1 e1", "1", NONE, [f"{BROKEN}: 1.jsonl:2 has a result for plain, too"]),
    ("e1 b1", "1", NONE, ["1.jsonl:2 is not JSON: 1.jsonl:1 has a result for plain, too"]),
    (
        "b1 a1 b2",
        *("1", NONE),
        [
            f"{BROKEN}: 1.jsonl:2 has a result for plain, too",
            "1.jsonl:3 is not JSON: 1.jsonl:2 has a result for plain, too",
        ],
    ),
    (
        "a1 b1|b2",
        *("1", NONE),
        [
            "1.jsonl:2 is not JSON: 1.jsonl:1 has a result for plain, too",
            "2.jsonl:1 is not JSON: 1.jsonl:1 has a result for plain, too",
        ],
    ),
    ("f1 o1", NONE, "1", ["1.jsonl:1 belongs to another batch: foreign1"]),
    (
        "a1 f2 o1 f1",
        *("1", "1"),
        [
            "1.jsonl:4 belongs to another batch: foreign1",
            "1.jsonl:2 belongs to another batch: foreign2",
        ],
    ),
    ("_ a1 _|_ o1 _", "1", "1", []),
    (
        "u1 u2 o1|u3 u4",
        f"{UNREAD}{BROKEN}; 1.jsonl:2 is not JSON; 2.jsonl:1 is not JSON",
        "1",
        [
            f"{BROKEN}: the line belongs to no row",
            "1.jsonl:2 is not JSON: the line belongs to no row",
            "2.jsonl:1 is not JSON: the line belongs to no row",
            "2.jsonl:2 is not JSON: the line belongs to no row",
        ],
    ),
    (
        "a1 f1 b1 u1",
        "1",
        f"{UNREAD}1.jsonl:4 is not JSON",
        [
            "1.jsonl:4 is not JSON: the line belongs to no row",
            "1.jsonl:3 is not JSON: 1.jsonl:1 has a result for plain, too",
            "1.jsonl:2 belongs to another batch: foreign1",
        ],
    ),
]


@pytest.mark.parametrize("case", ATTEMPTS, ids=lambda case: case[0])
def test_lines_of_two_requests_in_any_order(case: tuple[Any, ...]) -> None:
    """An answer counts more than an error, a later line more than an earlier one, in all files."""
    words, plain, other, left_out = case
    make("openai", PLAIN)
    files = [
        written(f"{n}.jsonl", "".join(f"{attempt(word)}\n" for word in part.split()))
        for n, part in enumerate(words.split("|"), 1)
    ]
    notes: list[str] = []
    found = [*read_results(files, "out", notes=notes)]
    assert (plain, other, left_out) == (*(it.get("text", it.get("error")) for it in found), notes)


def test_more_foreign_results_than_those_of_the_batch() -> None:
    """Two of three are refused, and named in the order of their ids."""
    make("openai", PLAIN)
    lines = "".join(f"{attempt(word)}\n" for word in ("f2", "f1", "o1"))
    assert (
        "2 results belong to another batch, such as foreign1, foreign2: "
        "give only the result files of the batch in out"
    ) == refused(written("r.jsonl", lines))


def test_cells_of_two_columns_of_two_tables(capsys: pytest.CaptureFixture[str]) -> None:
    """Each row has its cells, one that failed too, in the order that is asked for; the rest null.

    Of 22 lines that are left out, 20 are named.
    """
    Path("cities.py").write_text(PROMPT, "utf-8")
    first = written("a.jsonl", [{"id": "a", "y": 0, "z": 1}, {"id": "bad", "z": ""}, {"id": "c"}])
    second = written("b.csv", "y,id,w\n5,d,x\n,e,\n")
    options = ("--format", "openai", "--model", "gpt-5", "--id", "id", "--output", "out")
    main(["batch", "cities.py:ask", first, second, *options])
    capsys.readouterr()
    lines = [spoken(CHAT, "d", str(n)) for n in range(23)]
    lines += [spoken(CHAT, "a", "A."), failed(CHAT, "e")]
    results = written("r.jsonl", lines)
    columns = ("--columns", "z,,y", "--output", "answers.jsonl")
    code = main(["batch", "read", results, "--batch", "out", *columns])
    out, err = capsys.readouterr()
    stop = {"finish_reason": "stop", "usage": USAGE}
    assert [
        {"row": 1, "input": "a.jsonl:1", "id": "a", "cells": {"z": 1, "y": 0}, "text": "A."} | stop,
        {
            **{"row": 2, "input": "a.jsonl:2", "id": "bad", "cells": {"z": "", "y": None}},
            "error": "the request was not sent: no such city",
        },
        {"row": 3, "input": "a.jsonl:3", "id": "c", "cells": {"z": None, "y": None}, "error": NONE},
        {"row": 4, "input": "b.csv:2", "id": "d", "cells": {"z": None, "y": "5"}, "text": "22"}
        | stop,
        {"row": 5, "input": "b.csv:3", "id": "e", "cells": {"z": None, "y": ""}, "error": "Bad."},
    ] == [json.loads(line) for line in Path("answers.jsonl").read_text("utf-8").splitlines()]
    assert (1, "answers.jsonl: 5 rows, 2 with an answer\n") == (code, out)
    assert [
        *(
            f"r.jsonl:{n} is left out: r.jsonl:{n + 1} has a result for d, too"
            for n in range(1, 21)
        ),
        "2 more lines are left out",
        "no valid answer for 3 of 5 rows: see the 'error' in their lines",
    ] == err.splitlines()


def test_columns_that_no_table_has() -> None:
    """Of two columns that are nowhere the first by name is reported, and nothing is written."""
    make("openai", PLAIN)
    written("r.jsonl", [spoken(CHAT, row["id"], "Yes.") for row in PLAIN])
    with redirect_stderr(StringIO()) as stderr:
        code = main(
            ["batch", "read", "r.jsonl", "--batch", "out", "--columns", "id,z,y", "--output", "n"]
        )
    problem = "promptdsl batch read: error: there is no column 'y' in rows.jsonl\n"
    assert (2, problem, False) == (code, stderr.getvalue(), Path("n").exists())


ORDER: list[tuple[str, Json, str]] = [
    ("openai", {"response": {"body": {"error": "Two."}}, "error": {"message": "One."}}, "One."),
    ("openai", {"response": {"body": {"error": "Two."}}, "error": None}, "Two."),
    ("openai", {"response": {"body": {"error": {"code": 2}}}, "error": {}}, '{"code": 2}'),
    ("openai_compatible", {"error": {"error": {"message": "One."}, "message": "Two."}}, "One."),
    ("openai_compatible", {"error": {"error": {}, "message": "Two."}}, "Two."),
    (
        "anthropic",
        {"result": {"type": "x", "error": {"error": {"message": ""}, "message": "Two."}}},
        '{"message": ""}',
    ),
    ("anthropic", {"result": {"type": "canceled", "error": None}}, f"{NONE}: canceled"),
    ("gemini", {"error": {"message": "One."}, "status": {"message": "Two."}}, "One."),
    ("gemini", {"error": None, "status": {"message": "Two."}}, "Two."),
    ("bedrock", {"error": {"message": "One.", "errorMessage": "Two."}}, "One."),
    ("bedrock", {"error": {"message": "", "errorMessage": "Two."}}, "Two."),
]


@pytest.mark.parametrize(("provider", "line", "problem"), ORDER)
def test_the_first_of_two_errors_in_a_line(provider: str, line: Json, problem: str) -> None:
    """Where a line has errors in two places, the nearer one counts; an empty one is none."""
    make(provider, PLAIN)
    key = {"gemini": "key", "bedrock": "recordId"}.get(provider, "custom_id")
    entries = [spoken(DIALECTS[provider], "plain", "Yes."), {key: "other", **line}]
    first, second = read_results([written("r.jsonl", entries)], "out")
    assert ("Yes.", problem) == (first["text"], second["error"])


SCHEMAS: list[Any] = [
    {"type": "object", "properties": {"city": {"type": "no such type"}}},
    {"type": "object", "properties": {"city": {"pattern": "("}}},
    {"type": "object", "properties": {"city": {"$ref": "#/$defs/none"}}},
    {"type": "object", "properties": {"city": {"$ref": "http://127.0.0.1:9/x"}}},
    {"$ref": "#"},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_a_schema_that_cannot_be_used(schema: Any) -> None:
    """A schema that no answer can be checked against is an error of the rows that have it."""
    make("openai", [{"id": "plain"}, {"id": "other", "form": "city"}])
    path = Path("out/schemas.jsonl")
    answer = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**answer, "schema": schema}) + "\n", "utf-8")
    rows = [spoken(CHAT, "plain", "Yes."), spoken(CHAT, "other", '{"city": "Rome"}')]
    assert 1 == read(written("r.jsonl", rows))
    first, second = map(json.loads, Path("answers.jsonl").read_text("utf-8").splitlines())
    assert "Yes." == first["text"]
    assert second["error"].startswith("the schema of the answer cannot be used: ")


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (
            ("openai", ROWS, "--on-error", "stop"),
            "the batch in out is not finished: --resume continues it",
        ),
        (("messages", PLAIN), "a batch of messages is not sent to a service"),
        ((), "out has no batch: there is no file out/manifest.json: name the folder of a batch"),
    ],
)
def test_wrong_batch(made: tuple[Any, ...], problem: str) -> None:
    """A batch that cannot have results is refused."""
    if made:
        make(*made)
    assert problem == refused(written("r.jsonl", []))


def test_files() -> None:
    """Results that are not there are named, and a file that is there is not written over."""
    make("openai", PLAIN)
    problem = refused("nowhere.jsonl")
    written("answers.jsonl", "Mine.")
    with redirect_stderr(StringIO()) as stderr:
        assert 2 == read(written("r.jsonl", []))
    assert (
        "cannot read nowhere.jsonl: No such file or directory",
        "promptdsl batch read: error: the file answers.jsonl already exists: name a new file\n",
        "Mine.",
        [Path("answers.jsonl")],
    ) == (
        problem,
        stderr.getvalue(),
        Path("answers.jsonl").read_text("utf-8"),
        [*Path().glob("answers*")],
    )


@pytest.mark.parametrize(
    ("service", "adapter", "text"),
    [
        ("unheard-of", "openai", "Yes."),
        ("unheard-of", "anthropic", ""),
        ("openai", "anthropic", "Yes."),
        ("vllm", "anthropic", "Yes."),
    ],
)
def test_a_server_that_is_not_registered(service: str, adapter: str, text: str) -> None:
    """Its results are read as those of the provider it is like; a known one is what it is."""
    make("openai", PLAIN)
    path = Path("out/manifest.json")
    manifest = json.loads(path.read_text("utf-8"))
    manifest["options"] |= {"service": service, "adapter": adapter}
    path.write_text(json.dumps(manifest), "utf-8")
    first, _ = read_results([written("r.jsonl", [spoken(CHAT, "plain", "Yes.")])], "out")
    assert text == first.get("text", "")
