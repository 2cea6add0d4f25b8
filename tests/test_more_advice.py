"""What people write otherwise is taken, or is an error of the project that says what to write."""

from pathlib import Path
from typing import Any

import pytest

from promptdsl import *

CALL = {"id": "c", "type": "function", "function": {"name": "w", "arguments": "{}"}}


def result(**keys: Any) -> tuple[dict[str, Any], list[str]]:
    """Return how a flat result is sent to Claude, and the hints about its keys."""
    said = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c", **keys},
    ]
    rendered = render(Timeline(History.from_openai(said), User("z")), model="claude-opus-5-5")
    part = rendered.to_anthropic()["messages"][2]["content"][0]
    return part, [hint.what for hint in rendered.hints if hint.name == "unread_key"]


@pytest.mark.parametrize(
    ("keys", "is_error", "unread"),
    [
        ({"content": "limit", "error": "limit", "error_type": "execution_error"}, True, 0),
        ({"content": "limit", "error_type": "execution_error"}, True, 0),
        ({"content": "limit", "error": "limit"}, True, 0),
        ({"content": "no", "error": "limit"}, True, 1),
        ({"content": "limit", "is_error": True}, True, 0),
        ({"content": "fine", "error": None, "error_type": None}, False, 0),
        ({"content": "fine", "error": "", "is_error": False}, False, 0),
        ({"content": "", "error": "limit"}, True, 0),
        ({"content": "fine"}, False, 0),
    ],
)
def test_flat_errors_are_results_of_failed_calls(
    keys: dict[str, Any], *, is_error: bool, unread: int
) -> None:
    """A flat result with an error is that of a failed call; what it does not say is a hint."""
    part, names = result(**keys)
    assert (is_error, unread) == (part.get("is_error", False), len(names))
    assert keys["content"] or "limit" == part["content"][0]["text"]


@pytest.mark.parametrize("call", [{}, {"a": [1, {"b": None}]}, {"</x>": "\x1b"}])
def test_a_call_takes_a_mapping(call: dict[str, Any]) -> None:
    """The input of a call may be a mapping: its JSON text is kept."""
    block = ToolUseBlock("c1", "find", call)
    assert (call, True) == (block.input, isinstance(block.arguments, str))
    with pytest.raises(DataError, match="'arguments' must be a string"):
        ToolUseBlock("c1", "find", 3)  # type: ignore[arg-type]


def test_stores_and_databases(tmp_path: Path) -> None:
    """A store by position, a database as a file, and a missing folder say what to write."""
    store: Any = SqliteStore(tmp_path / "b.db")
    Transcript.open("k", store=store).append("Hi.")
    with pytest.raises(OptionError, match=r"(?s)takes 1 argument by position, not 2.*store="):
        Transcript.open("k", store)
    with pytest.raises(TranscriptError, match=r"(?s)is a database.*store=SqliteStore"):
        Transcript.open(tmp_path / "b.db")
    with pytest.raises(TranscriptError, match=r"(?s)is a database.*store=SqliteStore"):
        Transcript.open(tmp_path / "b.db", read_only=True, salvage=True)
    store.close()
    with pytest.raises(TranscriptError, match="make its folder first: there is no"):
        Transcript.open("k", store=SqliteStore(tmp_path / "no" / "such" / "a.db"))


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ('{% if plan = "pro" %}x{% endif %}', "write == to compare two values"),
        ("{% if a and plan = 1 %}x{% endif %}", "write == to compare two values"),
        ("{{ plan }", "a variable is {{ name }}"),
    ],
)
def test_templates_say_what_to_write(text: str, advice: str) -> None:
    """The advice is in the words of somebody who does not program."""
    with pytest.raises(TemplateError) as caught:
        render(User(Template.from_string(text, plan="pro", a=1)))
    assert advice in str(caught.value)


def test_choices_with_bars(tmp_path: Path) -> None:
    """Choices of an input have commas, and the error says so."""
    (file := tmp_path / "t.j2").write_text(
        "---\ninputs:\n  plan: one of a | b\n---\nHi {{ plan }}\n"
    )
    with pytest.raises(TemplateError, match="choices have commas: one of a, b"):
        render(System(Template(file, plan="a")))
