"""The attributes for tracing are what their page says, whatever the data is and how turns merge."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.hostile import HOSTILE as VALUES
from tests.reports.prompts import words

MODELS = ("gpt-5", "claude-opus-5-5", "gemini-2.5-pro", None)
ANY_VALUE = st.text(max_size=20) | st.sampled_from(["", " ", "\n", *map(str, VALUES)])


def version(prompt: Timeline, **options: Any) -> str:
    """Return the version of a prompt."""
    return str(render(prompt, **options).to_otel()["gen_ai.prompt.version"])


def support(value: str, count: int = 0) -> Timeline:
    """Return a prompt with a value in every place, and a history of so many messages."""
    said = [Message(("user", "assistant")[n % 2], f"message {n}") for n in range(count)]
    template = Template.from_string("Plan: {{ plan }}, {{ plan }}.\n{{ plan }}\nEnd.", plan=value)
    with Timeline() as prompt:
        with System():
            Text("You help ")
            Value(value)
            Text(".\n")
            Section("rules", Value(value), "Be kind.", List("One.", Value(value)), template)
        History(said)
        User("Ask: ", Value(value), "!")
    return prompt


@given(ANY_VALUE, ANY_VALUE, st.integers(0, 4), st.sampled_from(MODELS))
def test_no_value_and_no_history_changes_the_version(
    one: str, other: str, count: int, model: str | None
) -> None:
    """The version is that of the author's text: an empty value, too, leaves it as it is."""
    assert version(support(one)) == version(support(other, count), model=model)


@pytest.mark.parametrize("text", ["A ", "a", "A B"])
def test_another_text_is_another_version(text: str) -> None:
    """A letter more, or a blank, is another version."""
    prompts = [Timeline(System(words, Value("x")), User("q")) for words in ("A", text)]
    assert version(prompts[0]) != version(prompts[1])


def written_history() -> Timeline:
    """Return a prompt whose history is written as turns."""
    with Timeline() as prompt:
        System("s")
        with History():
            for number in range(3):
                User(f"question {number} " + "word " * 8)
                Assistant(f"answer {number}")
        User("q")
    return prompt


def recorded(**options: Any) -> Timeline:
    """Return a prompt with a recorded history of three rounds."""
    said = [Message("user", "go")]
    for number in range(3):
        call = ToolUseBlock(f"c{number}", "run", "{}")
        result = Message.tool_result(f"c{number}", "word " * 20, name="run")
        said += [Message("assistant", [call]), result]
    return Timeline(System("s"), History(said, **options))


def compacted(prompt: Timeline, **options: Any) -> object:
    """Return what an attribute says of a history."""
    rendered = render(prompt, counter=words, **options)
    return rendered.to_otel().get("gen_ai.conversation.compacted")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("prompt", "budget", "expected"),
    [
        (written_history(), None, None),
        (written_history(), 500, None),
        (written_history(), 40, True),
        (recorded(), None, None),
        (recorded(), 500, None),
        (recorded(), 60, True),
        (recorded(max_result_tokens=5), None, True),
        (recorded(clear_results=ClearResults(keep=1, at_least=5)), None, True),
    ],
)
def test_a_history_that_is_not_sent_as_it_was_is_compacted(
    model: str | None, prompt: Timeline, budget: int | None, expected: object
) -> None:
    """A recorded or written turn that a budget drops, and a result that is cut, are compacted."""
    assert expected == compacted(prompt, model=model, budget=budget)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("keep", [0, 1, 2, 3])
def test_a_summary_is_compacted_however_turns_merge(model: str | None, keep: int) -> None:
    """The summary may be merged with a turn of the user after it."""
    said = [Message(("user", "assistant")[n % 2], f"message {n}") for n in range(9)]
    transcript = Transcript(said)
    transcript.compact("A summary.", keep=keep)
    for parts in ((), (User("More."),)):
        assert True is compacted(Timeline(History(transcript), *parts), model=model)


@given(st.text() | st.sampled_from([*map(str, VALUES)]), st.sampled_from(MODELS))
def test_the_content_is_json_of_the_messages(text: str, model: str | None) -> None:
    """Any text is in a JSON text, and results have the role ``tool``."""
    call = ToolUseBlock("c", "run", json.dumps({"a": text}))
    said = [Message("user", "go"), Message("assistant", [call]), Message.tool_result("c", text)]
    rendered = render(Timeline(System("s"), History(said), User("q")), model=model)
    messages = json.loads(rendered.to_otel(content=True)["gen_ai.input.messages"])
    assert ["user", "assistant", "tool", "user"] == [message["role"] for message in messages][-4:]


def optional_parts() -> Timeline:
    """Return a prompt of which a budget drops a section and chooses a smaller alternative."""
    with Timeline() as prompt:
        with System("You help."):
            Section("tone", "Be kind. " * 20, priority=1)
            with FirstFit():
                Section("rules", "Never promise refunds. " * 20)
                Section("rules", "No refunds.")
        User("Why?")
    return prompt


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("budget", [None, 5_000, 600, 400, 300, 150])
def test_no_budget_changes_the_version(budget: int | None, model: str | None) -> None:
    """The version is that of the prompt as it was written, whatever a budget drops."""
    options: dict[str, Any] = {"model": model, "counter": len}
    rendered = render(optional_parts(), budget=budget, **options)
    assert (budget not in (None, 5_000)) == (rendered.tokens.total < 600)
    attributes = rendered.to_otel()
    assert version(optional_parts(), **options) == attributes["gen_ai.prompt.version"]
    masked = rendered.masked("<{label}>").to_otel()
    assert attributes["gen_ai.prompt.version"] == masked["gen_ai.prompt.version"]
