"""Rows in which nothing is asked: they fail, unless somebody wants them."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from promptdsl import *
from promptdsl.batch import render_rows
from tests.batch.folders import Folder

TARGETS: Mapping[str, dict[str, Any]] = {
    "openai": {"model": "gpt-5"},
    "openai_responses": {"format": "openai_responses", "model": "gpt-5"},
    "anthropic": {"model": "claude-haiku-4-5", "extra": {"max_tokens": 9}},
    "gemini": {"model": "gemini-2.5-pro"},
    "bedrock": {"format": "bedrock", "model": "amazon.nova-pro-v1:0"},
    "messages": {"format": "messages"},
}
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
Prompt = Callable[[str], Timeline]


def with_block(text: str) -> Timeline:
    """Return a prompt whose history is a block."""
    with Timeline(System("Base.")) as prompt, History():
        User(text)
    return prompt


TALK: Any = [("user", "Hi."), ("assistant", "Hello.")]
NOTHING: Mapping[str, Prompt] = {
    "a value": lambda text: Timeline(System("Base."), User(Value(text))),
    "a string": lambda text: Timeline(System("Base."), User(text)),
    "several": lambda text: Timeline(User(Value(text), text), User(List(text))),
    "a template": lambda text: Timeline(User(Template.from_string("{{ text }} ", text=text))),
    "an event": lambda text: Timeline(Event("opened"), User(Value(text))),
    "a grounding": lambda text: Timeline(Grounding("plan", "Pro"), User(Value(text))),
    "an ephemeral": lambda text: Timeline(User(Value(text)), Ephemeral("Now.")),
    "a group": lambda text: Timeline(System("Base."), Group(User(Section("s", text)))),
    "a lazy": lambda text: Timeline(System("Base."), User(Lazy(lambda _: text))),
    "untrusted": lambda text: Timeline(System("Base."), User(Untrusted(text))),
    "an answer begun": lambda text: Timeline(User(Value(text)), Assistant("Well,")),
    "a history": lambda text: Timeline(System("Base."), History([Message("user", text)])),
    "no history": lambda text: Timeline(System("Base."), History([]), User(text)),
    "a block of turns": with_block,
    "both": lambda text: Timeline(History([]), User(text)),
}
ASKED: Mapping[str, Prompt] = {
    "a text beside it": lambda text: Timeline(User("Review: ", Value(text))),
    "another user": lambda text: Timeline(User(Value(text)), User("Why?")),
    "a history before it": lambda text: Timeline(History([Message("user", "Why?")]), User(text)),
    "data": lambda text: Timeline(User(Json({"text": text}))),
    "a picture": lambda text: Timeline(User(text, Image.from_base64(PNG))),
    "a result": lambda text: Timeline(
        User("x"), Assistant(ToolUse("f", {}, id="c")), ToolMessage("c", "1"), User(text)
    ),
    "answers": lambda text: Timeline(History([Message(*say) for say in TALK]), User(text)),
    "a merged event": lambda text: Timeline(Event("opened"), User("Why?"), User(text)),
}
blank = pytest.mark.parametrize("text", ["", " \n\t\u2003"])
target = pytest.mark.parametrize("target", TARGETS)
targets = pytest.mark.parametrize("target", ["openai", "anthropic", "gemini", "messages"])


def results(prompt: Prompt, text: str, target: str, **options: Any) -> list[Any]:
    """Return the results of a row of a text, and of a row of a question."""
    rows = [{"text": text}, {"text": "Why?"}]
    return [*render_rows(rows, prompt, **TARGETS[target], **options)]


@targets
@blank
@pytest.mark.parametrize("name", NOTHING)
def test_a_row_that_asks_nothing(name: str, text: str, target: str) -> None:
    """A row of whose user or history nothing is sent fails, and its neighbour is sent."""
    empty, good = results(NOTHING[name], text, target)
    assert empty.problem is not None
    assert empty.problem.what.startswith("nothing is asked: ")
    assert "--keep-empty" in empty.problem.fix
    assert good.problem is None
    kept, _ = results(NOTHING[name], text, target, keep_empty=True)
    assert (None, True) == (kept.problem, bool(kept.body))


@targets
@blank
@pytest.mark.parametrize("name", ASKED)
def test_a_row_that_asks(name: str, text: str, target: str) -> None:
    """A row is sent where something of the user, of a history or of a tool is sent beside it."""
    assert [None, None] == [result.problem for result in results(ASKED[name], text, target)]


@target
def test_instructions_alone(target: str) -> None:
    """They are sent where the service takes them, and fail where it refuses such a body."""
    [result] = render_rows([{}], lambda: Timeline(System("Say hello.")), **TARGETS[target])
    is_taken = target in ("openai", "openai_responses", "messages")
    assert is_taken == (result.problem is None)


def test_a_history_alone() -> None:
    """A history that is empty asks nothing; one of which answers are sent is somebody's purpose."""
    answers = [Message("assistant", "Hello.")]
    for messages, is_sent in (([], False), (answers, True)):
        prompt = Timeline(System("Base."), History(messages))
        [result] = render_rows([{}], lambda prompt=prompt: prompt, model="gpt-5")
        assert is_sent == (result.problem is None)


def test_a_picture_that_is_lost() -> None:
    """A turn of a picture that the target does not take asks nothing."""
    options: dict[str, Any] = {"format": "openai", "model": "gpt-3.5-turbo"}
    prompt = Timeline(System("Base."), User(Image.from_base64(PNG)))
    [result] = render_rows([{}], lambda: prompt, **options)
    assert result.problem is not None
    [kept] = render_rows([{}], lambda: prompt, **options, keep_empty=True)
    assert 1 == len(kept.losses)


def test_two_pictures_of_one_line() -> None:
    """One of two pictures in one line that is lost leaves the other one."""
    both = [Image.from_file_id("file-1"), Image.from_base64(PNG)]
    for parts in (both, both[::-1]):
        [result] = render_rows([{}], lambda parts=parts: Timeline(User(*parts)), model="gpt-5")
        assert (None, 1) == (result.problem, len(result.losses))


def test_a_history_that_is_lost() -> None:
    """A history of which the target takes nothing asks nothing, alone and with an empty turn."""
    video = {"inline_data": {"mime_type": "video/mp4", "data": "AAAA"}}
    history = History.from_gemini([{"role": "user", "parts": [video]}])
    for parts in ([history], [history, User("")]):
        prompt = Timeline(System("Base."), *parts)
        [result] = render_rows([{}], lambda prompt=prompt: prompt, model="gpt-5")
        assert result.problem is not None


def test_what_a_budget_took() -> None:
    """A turn that a budget drops asks nothing."""

    def prompt(text: str) -> Timeline:
        return Timeline(System("Base."), User(text, priority=1))

    (row,) = render_rows([{"text": "word " * 500}], prompt, model="gpt-5", budget=100)
    assert row.problem is not None


def test_the_command(folder: Folder) -> None:
    """Such rows are in errors.jsonl; with an option they are sent. Hints are written if asked."""
    folder.table('question\n""\n"   "\nok\n', "rows.csv")
    command = folder.batch(
        "ask", "rows.csv", "--model", "claude-opus-5-5", "--set", "max_tokens:=9"
    )
    assert 1 == command.code
    errors = folder.entries("errors.jsonl")
    assert [1, 2] == [error["row"] for error in errors]
    assert all(error["what"].startswith("nothing is asked: ") for error in errors)
    options = ("--model", "gpt-5", "--keep-empty", "--hints", "--output", "kept")
    command = folder.batch("ask", "rows.csv", *options)
    assert (0, "2 rows with hints: kept/losses.jsonl\n") == (command.code, command.err)
    entries = folder.entries("losses.jsonl", "kept")
    assert [1, 2] == [journal_line["row"] for journal_line in entries]
    assert all(
        [] == journal_line["losses"] and "hint: " in journal_line["hints"][0]
        for journal_line in entries
    )
    assert 3 == len(folder.requests("kept"))
    assert 1 == folder.batch("ask", "rows.csv", "--model", "gpt-5", "--dry-run").code
