"""A record: what was sent, and why, as one value that is kept, read again and printed."""

import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import promptdsl
from promptdsl import *
from tests.errors import raised, this_line
from tests.folding import failures
from tests.hostile import HOSTILE
from tests.providers.every_target import SERVICES
from tests.providers.recorder import Clients
from tests.records.prompts import OLDEST, TARGETS, support, words
from tests.reports.any_requests import requests
from tests.searching import examples

SCHEMA_FILE = Path(promptdsl.__file__).parent / "rendering" / "reports" / "record.schema.json"
SCHEMA = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text("utf-8")))


def data_of(rendered: Rendered, **options: Any) -> dict[str, Any]:
    """Return the record of a result as JSON data."""
    return rendered.record(**options).to_dict()


def again(record: PromptRecord) -> PromptRecord:
    """Return a record that was written as JSON and read."""
    return PromptRecord.from_dict(json.loads(record.to_json()))


# What is in it.


def test_a_budget_is_told_apart() -> None:
    """What is used, what is kept free for the answer and what is left are three numbers."""
    found = data_of(support(budget=90, reserve=7))
    used = found["tokens"]["total"]
    assert {"limit": 90, "used": used, "reserve": 10, "free": 80 - used} == found["budget"]


def test_without_a_budget_there_is_none() -> None:
    """A prompt that was rendered without a budget has none in its record."""
    assert data_of(support())["budget"] is None


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (Section("s", "word " * 50, priority=1), "word " * 50),
        (Section("s", "a", Value("b"), Text("c ", Value("d")), priority=1), "ab\n\nc d"),
        (Section("s", Table([{"x": 1, "y": "z"}]), priority=1), "1 | z"),
        (FirstFit(Section("l", "long " * 9), Section("s", "short")), "long " * 9),
    ],
)
def test_a_dropped_part_has_its_text(part: Any, text: str) -> None:
    """What a budget took out is there with its text and what it costs to keep it."""
    dropped = data_of(render(Timeline(part, User("Hi.")), budget=13, counter=words))["dropped"]
    assert [(text.strip(), True)] == [(it["text"].strip(), it["tokens"] > 0) for it in dropped]


def test_what_a_history_lost_has_its_texts() -> None:
    """Of a history that was cut, the messages that are not sent are there."""
    (*_, cut) = data_of(support(budget=50))["dropped"]
    old = "user: one two three four five six\n\nassistant: seven eight"
    assert old == cut["text"]


def test_two_calls_that_a_history_lost() -> None:
    """Of a message that is not sent, both calls are there, with their arguments."""
    calls = [ToolUseBlock(id, "look", f'{{"at": "{id}"}}') for id in "ab"]
    results = [Message.tool_result(id, "found " * 9) for id in "ab"]
    talk = [Message("user", "Look."), Message("assistant", calls), *results]
    prompt = Timeline(History([*talk, Message("user", "And?")], step=0))
    (cut,) = data_of(render(prompt, budget=20, counter=words))["dropped"]
    assert 'assistant: look({"at": "a"}) look({"at": "b"})' in cut["text"].split("\n\n")


@pytest.mark.parametrize(
    "options", [{"clear_results": ClearResults(1, at_least=1)}, {"max_result_tokens": 9}]
)
def test_a_cleared_result_has_its_text(options: dict[str, Any]) -> None:
    """A result that was cleared or cut is there as it was, and nothing that is sent."""
    talk = [Message("user", "Look.")]
    for number in range(3):
        talk.append(Message("assistant", (ToolUseBlock(f"c{number}", "look", "{}"),)))
        talk.append(Message.tool_result(f"c{number}", f"result {number} " + "word " * 20))
    (part,) = data_of(render(Timeline(History(talk, **options)), counter=words))["dropped"]
    cleared = 2 if "clear_results" in options else 3
    texts = [f"tool: result {number} {'word ' * 20}" for number in range(cleared)]
    assert [text.strip() for text in texts] == [it.strip() for it in part["text"].split("\n\n")]


def test_a_text_has_the_line_that_wrote_it() -> None:
    """Each piece has its place in the text of its message, and the line of its author."""
    line = this_line() + 1
    found = data_of(render(System("Be kind to ", Value("Ada"), ".")))
    text = found["messages"][0]["content"][0]["text"]
    pieces = [(text[it["start"] : it["end"]], it["kind"], it["source"]) for it in found["spans"]]
    source = f"test_record.py:{line}"
    expected = [("Be kind to ", "author"), ("Ada", "value"), (".", "author")]
    assert [(*it, source) for it in expected] == pieces
    assert f"{Path(__file__).parent}{os.sep}" == found["root"]


def test_a_piece_has_its_tokens() -> None:
    """Each piece has its tokens; those of a text add up to the text."""
    found = data_of(render(System("Be kind: ", Value("Ada Lee"), " here."), counter=words))
    assert [2, 2, 1] == [it["tokens"] for it in found["spans"]]


def test_the_text_of_the_provider_for_tools_is_a_part() -> None:
    """What a provider adds to a request with tools is the last part of its tools."""
    found = data_of(support(provider="anthropic", model="claude-sonnet-4-5"))
    whole, tool, text = found["tokens"]["parts"][:3]
    assert ("the provider's instructions for tools", 589) == (text["what"], text["tokens"])
    assert whole["tokens"] == tool["tokens"] + text["tokens"]


def test_a_part_has_its_messages() -> None:
    """Each part has the first and the last message that it is in; a tool is in none."""
    found = data_of(support())
    assert [
        ("tools", None),
        ("tool 'find'", None),
        ("the provider's instructions for tools", None),
        ("system turn", [0, 0]),
        ("text", [0, 0]),
        ("section note", [0, 0]),
        ("history", [1, 2]),
        ("user message", [1, 1]),
        ("assistant message", [2, 2]),
        ("user turn (merged)", [3, 3]),
        ("user message", [3, 3]),
        ("user turn", [3, 3]),
        ("the target's format", None),
    ] == [(part["what"], part.get("message")) for part in found["tokens"]["parts"]]


def test_settings_have_their_layers() -> None:
    """A setting is there with the layer that set it, a delimiter with its two ends."""
    settings = data_of(support(transformation={"format": "xml"}))["settings"]
    assert ({"value": "xml", "layer": "render"}, ["<context>", "</context>"]) == (
        settings["format"],
        settings["delimiters.ephemeral"]["value"],
    )


@pytest.mark.parametrize(
    ("inputs", "kind", "expected"),
    [
        ([1], OptionError, "inputs is not a mapping"),
        ({"when": {"at": object()}}, DataError, "'inputs.when.at' is not a JSON value"),
        ({"n": float("nan")}, DataError, "'inputs.n'"),
    ],
)
def test_inputs_are_json(inputs: Any, kind: type[DataError], expected: str) -> None:
    """What the prompt was made with is data; anything else is named by its key."""
    assert expected in raised(kind, lambda: support().record(inputs)).what


def test_a_counter_that_fails_is_told() -> None:
    """A record needs its tokens: it raises what counting raises. A view does without."""

    def fail(text: str) -> int:
        raise BudgetError(f"no count of {text}", fix="count it")

    rendered = render(User("Hi."), counter=fail)
    assert "no count of" in raised(BudgetError, rendered.record).what
    assert "<b>user</b>" in rendered._repr_html_()


# Keeping it.


@examples(100, fast=3)
@given(st.data())
def test_what_is_written_is_read(data: st.DataObject) -> None:
    """A record of any request is an equal one when it is read again, and as its schema says."""
    rendered = data.draw(requests())
    for content in (True, False):
        record = rendered.record({"a": [1, None, "\ud800"]}, content=content)
        assert record == again(record)
        SCHEMA.validate(record.to_dict())


@pytest.mark.parametrize(
    ("provider", "count"),
    [(name, 2) for name in TARGETS]
    + [pytest.param(name, None, marks=pytest.mark.slow) for name in TARGETS],
)
def test_recorded_conversations(
    recorded: dict[str, list[dict[str, Any]]], provider: str, count: int | None
) -> None:
    """A record of a recorded conversation is an equal one when it is read, in a budget, too."""
    target: dict[str, Any] = {"provider": provider, "model": TARGETS[provider]}

    def wrong(name: str) -> list[PromptRecord]:
        prompt = Timeline(History.from_openai(recorded[name]))
        rendered = [render(prompt, budget=most, counter=words, **target) for most in (None, 6_000)]
        records = [result.record() for result in rendered]
        return [record for record in records if record != again(record)]

    assert [] == failures([*recorded][:count], wrong)


def test_a_file_is_saved_and_loaded(tmp_path: Path) -> None:
    """A record is written to a file, and read from it."""
    record = support().record({"name": "Ada"})
    record.save(tmp_path / "r.json")
    assert record == PromptRecord.load(tmp_path / "r.json")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda data: data | {"format": "2.0"}, "the record has the format '2.0'"),
        (lambda data: {"a": data}, "not a record: it has no 'format'"),
        (lambda data: data | {"messages": {}}, "not a record: tuple index out of range"),
        (lambda data: {**data, "tokens": {"total": 1}}, "not a record: it has no 'label'"),
        (lambda data: data | {"outline": [{"depth": "x", "what": "x"}]}, "not a record: "),
        (
            lambda data: data | {"losses": [{"kind": "hint", "source": "x"}]},
            "not a record: invalid",
        ),
        (lambda data: data | {"spans": object()}, "'record.spans' is not a JSON value"),
    ],
)
def test_what_is_no_record(change: Callable[[Any], Any], expected: str) -> None:
    """What is no record is refused, with the place that is wrong."""
    data = json.loads(support().record().to_json())
    assert expected in raised(DataError, lambda: PromptRecord.from_dict(change(data))).what


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"format": "1.0", "format": "1.0"}', "it has a key twice"),
        ("[" * 100_000, "maximum recursion depth exceeded"),
        ('{"format"', "Expecting ':' delimiter"),
        ("", "Expecting value"),
    ],
)
def test_what_is_no_json(tmp_path: Path, text: str, expected: str) -> None:
    """A file that is no JSON is refused, one with a key twice, and one that is too deep."""
    (file := tmp_path / "r.json").write_text(text)
    assert expected in raised(DataError, lambda: PromptRecord.load(file)).what


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A file that cannot be read is named."""
    assert "cannot read" in raised(DataError, lambda: PromptRecord.load(tmp_path / "x")).what


def test_a_newer_minor_version_is_kept() -> None:
    """Keys that are not known stay when a record is written again, and nothing reads them."""
    data = json.loads(support().record().to_json()) | {"format": "1.7", "new": {"a": 1}}
    data["spans"][0]["colour"] = data["tools"][0]["colour"] = "red"
    data["losses"].append({"kind": "hint", "what": "w", "why": "y", "path": "", "new": 1})
    record = PromptRecord.from_dict(data)
    assert data == json.loads(record.to_json())
    assert (1, "find") == (len(record.hints), record.prompt.tools[0].name)


def test_a_hint_of_two_places_is_read_as_it_was() -> None:
    """What a hint tells of a second place stays when a record is written and read."""
    prompt = Timeline(User("One.", cache=True), User("Two.", cache=True))
    rendered = render(prompt, provider="gemini")
    (hint,) = rendered.hints
    assert ("user[0]", ("user[1]",)) == (hint.path, hint.also)
    assert rendered.hints == again(rendered.record()).hints


# Printing it.


def printed(it: PromptRecord | Rendered) -> tuple[str, str]:
    """Return the outline and the page of a record or a result."""
    return it.outline(), it._repr_html_()


@pytest.mark.parametrize("options", [{}, {"budget": 50, "cache": "auto"}, {"provider": None}])
def test_views_have_no_other_input(tmp_path: Path, options: dict[str, Any]) -> None:
    """A record from a file prints what the result prints, to the byte."""
    rendered = support("<b>\u200b", **options)
    rendered.record().save(tmp_path / "r.json")
    loaded = PromptRecord.load(tmp_path / "r.json")
    assert printed(rendered) == printed(loaded)
    assert (rendered.hints, rendered.dropped, str(loaded)) == (
        loaded.hints,
        loaded.dropped,
        loaded.outline(),
    )
    assert rendered.record().token_tree() == loaded.token_tree()


@examples(60, fast=3)
@given(st.data())
def test_any_record_prints_as_its_result(data: st.DataObject) -> None:
    """Whatever a prompt has, the views of its record are those of the result."""
    rendered = data.draw(requests())
    assert printed(rendered) == printed(again(rendered.record()))


def test_this_release_is_read_for_ever() -> None:
    """The record that release 0.1 wrote is read, printed and written as it was."""
    record = PromptRecord.load(OLDEST)
    assert json.loads(OLDEST.read_text("utf-8")) == json.loads(record.to_json())
    SCHEMA.validate(record.to_dict())
    assert "<PromptRecord 1.0 for anthropic claude-sonnet-4-5: 4 messages, 661 tokens>" == repr(
        record
    )
    assert ["/srv/support.py:7"] == [str(part.source) for part in record.dropped]
    assert "section 'note'" in record.token_tree()
    assert "<b>system</b>" in record._repr_html_()
    assert record.prompt.messages[-1].text == record.spans[-1].text


@pytest.mark.parametrize("step", [40, pytest.param(1, marks=pytest.mark.slow)])
def test_hostile_texts_are_kept_and_printed(step: int) -> None:
    """Whatever a text or an input is, it is read as it was, and printed alike."""
    texts = [*HOSTILE[::step], "\ud83d\ude00"]
    turns = [turn for text in texts for turn in (User(Value(text)), Assistant(text or "x"))]
    rendered = render(Timeline(System(*map(Value, texts)), *turns), counter=len)
    record = rendered.record({text: text for text in texts})
    assert (record, printed(rendered)) == (again(record), printed(again(record)))


# Its digest.


def digest_of(body: Any) -> str:
    """Return the digest of a body, as the documentation says it is made."""
    text = json.dumps(body, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def test_the_digest_is_that_of_the_payload() -> None:
    """The digest is that of the payload, and anybody can make it."""
    rendered = support("\u65e5")
    assert digest_of(rendered.payload()) == data_of(rendered)["digest"]


def test_what_cannot_be_sent_has_no_digest() -> None:
    """Without a target there is no payload, so there is no digest."""
    assert data_of(support(provider=None))["digest"] is None


@pytest.mark.slow
@pytest.mark.sdk("openai", "anthropic", "boto3")
def test_the_digest_is_that_of_what_is_sent() -> None:
    """What the SDK of each provider sends, of the keys of the payload, has the same digest."""
    with Clients() as clients:
        for provider in ("openai", "openai_responses", "anthropic", "bedrock"):
            rendered = support("\u65e5", provider=provider, model=TARGETS[provider])
            send = SERVICES[provider].send
            assert send is not None
            body = send(clients, rendered.payload())
            sent = {key: body[key] for key in rendered.payload()}
            assert (provider, digest_of(sent)) == (provider, data_of(rendered)["digest"])
