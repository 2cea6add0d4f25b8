"""Where the dropped parts of a record stood: their order, their message, their messages."""

from typing import Any

import pytest

from promptdsl import *
from tests.records.prompts import words


def dropped(*content: Any, **options: Any) -> list[tuple[Any, ...]]:
    """Return the address, the message and the messages of each part that a prompt loses."""
    rendered = render(Timeline(*content), **{"counter": words, "provider": "openai", **options})
    rows = rendered.record().to_dict()["dropped"]
    return [(row.get("path", ""), row.get("at"), row.get("range")) for row in rows]


def turns(count: int, *, text: str = "word word") -> list[Message]:
    """Return exchanges, two messages each."""
    return [Message(role, text) for _ in range(count) for role in ("user", "assistant")]


def rounds(count: int) -> list[Message]:
    """Return a question and rounds of a call with its result, numbered from 0."""
    messages = [Message("user", "Look.")]
    for number in range(count):
        messages.append(Message("assistant", (ToolUseBlock(f"c{number}", "look", "{}"),)))
        messages.append(Message.tool_result(f"c{number}", f"result {number} " + "word " * 20))
    return messages


def test_two_sections_in_written_order() -> None:
    """A section that is dropped stands before the one that its author wrote after it."""
    gone = Section("hours", "Open at nine.", priority=-1), Section("more", "So.", priority=-1)
    prompt = System("Be kind.", gone[0], Section("last", "Be brief."), gone[1]), User("Hi.")
    record = render(Timeline(*prompt), provider="openai", counter=words, budget=16).record()
    assert ["hours", "last", "more"] == [
        part["path"] for part in record.to_dict()["tokens"]["parts"] if part["depth"] == 1
    ]
    assert [("hours", 0, None), ("more", 0, None)] == dropped(*prompt, budget=16)


def test_two_turns_between_others() -> None:
    """A turn that is dropped stood before the next message, or after the last one."""
    prompt = (
        System("Be kind."),
        User("One two three.", priority=-1),
        Assistant("Yes."),
        User("Hi.", merge=False),
        Grounding("end", "One two three.", priority=-1),
    )
    assert [("user[0]", 1, None), ("end", 3, None)] == dropped(*prompt, budget=24)


def test_two_documents_before_a_question() -> None:
    """Of three documents that go into the turn of a question, two that are dropped stood there."""
    documents = [
        Grounding(f"d{number}", "word " * number, priority=-number) for number in (9, 1, 8)
    ]
    prompt = System("Be kind."), *documents, User("Hi.")
    rendered = render(Timeline(*prompt), provider="anthropic", counter=words, budget=26)
    parts = [(part.depth, part.path, part.dropped is None) for part in rendered.tokens.parts]
    assert [(0, "d9", False), (0, "d1", True), (0, "d8", False), (0, "user[0]", True)] == [
        part for part in parts if part[1] in ("d9", "d1", "d8", "user[0]")
    ]
    assert [("d9", 1, None), ("d8", 2, None)] == dropped(*prompt, budget=26, provider="anthropic")


@pytest.mark.parametrize(
    ("budget", "expected"),
    [(42, [("history", 1, [0, 1])]), (30, [("history", 1, [0, 3])])],
)
def test_what_a_history_lost(budget: int, expected: Any) -> None:
    """What is cut of a history stood before its first message; the numbers are in the history."""
    prompt = System("Be kind."), History(turns(3), step=0, keep=0), User("Hi.")
    assert expected == dropped(*prompt, budget=budget)


def test_two_histories() -> None:
    """Each history has its own numbers; one that is gone stood before the next message."""
    first, second = (History(turns(2, text=text), step=0, keep=0) for text in ("a a", "b b"))
    prompt = System("Be kind."), first, Developer("Then."), second, User("Hi.")
    assert [("history", 1, [0, 3]), ("history", 2, [0, 1])] == dropped(*prompt, budget=32)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"clear_results": ClearResults(1, at_least=1)}, [2, 4]),
        ({"max_result_tokens": 9}, [2, 6]),
    ],
)
def test_results_that_are_cleared_or_cut(options: dict[str, Any], expected: list[int]) -> None:
    """The numbers are those of the first and the last message whose result changed."""
    history = History(rounds(3), **options)
    assert [("history", 1, expected)] == dropped(System("Be kind."), history)


def test_what_a_compaction_stands_for() -> None:
    """A compaction stands for the messages before it, and their texts are there."""
    talk = [
        {"role": "user", "content": "One."},
        {"role": "assistant", "content": "Two."},
        {"role": "user", "content": "Three."},
        {"role": "assistant", "content": [{"type": "compaction", "content": "So far."}]},
        {"role": "user", "content": "Four."},
    ]
    rendered = render(Timeline(History.from_anthropic(talk)), provider="anthropic", counter=words)
    (row,) = rendered.record().to_dict()["dropped"]
    assert ([0, 2], 0, "user: One.\n\nassistant: Two.\n\nuser: Three.") == (
        row["range"],
        row["at"],
        row["text"],
    )


def test_two_limits() -> None:
    """What a limit cut stood in its message."""
    prompt = (
        System("Be kind."),
        User("See: ", Limit(2, "a b c d")),
        Assistant("Yes."),
        User("And: ", Limit(2, "e f g h")),
    )
    assert [("", 1, None), ("", 3, None)] == dropped(*prompt)


def test_without_content() -> None:
    """A record without content has the numbers, too."""
    prompt = Timeline(System("Be kind."), History(turns(3), step=0, keep=0), User("Hi."))
    record = render(prompt, provider="openai", counter=words, budget=30).record(content=False)
    (row,) = record.to_dict()["dropped"]
    assert (1, [0, 3]) == (row["at"], row["range"])
