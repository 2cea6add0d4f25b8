"""Reasoning that a model binds is sent while all before it is what it was."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from promptdsl import BudgetError, ClearResults, History, Section, System, Timeline, render
from tests.providers.every_target import SERVICES, every_check_of
from tests.searching import examples

MODEL = "claude-opus-5-5"


def words(text: str) -> int:
    """Return the words of a text."""
    return len(text.split())


def loop(sizes: list[int]) -> list[dict[str, Any]]:
    """Return a task and rounds in Anthropic's form, each call with signed thinking before it."""
    said: list[dict[str, Any]] = [{"role": "user", "content": "Do it."}]
    for number, size in enumerate(sizes):
        thought = {"type": "thinking", "thinking": f"Hm {number}.", "signature": "c2ln"}
        call = {"type": "tool_use", "id": f"c{number}", "name": "look", "input": {}}
        told = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "w " * size}
        said += [
            {"role": "assistant", "content": [thought, call]},
            {"role": "user", "content": [told]},
        ]
    return said


def requests(sizes: list[int], budget: int, **options: Any) -> list[Any]:
    """Return the request before each turn of the model, as far as they fit."""
    said, sent = loop(sizes), list[Any]()
    for stop in range(1, len(said) + 1, 2):
        prompt = Timeline(System("s"), History.from_anthropic(said[:stop], **options))
        try:
            sent.append(render(prompt, model=MODEL, budget=budget, counter=words))
        except BudgetError:
            break
    return sent


def thoughts(messages: list[Any]) -> dict[int, str]:
    """Return the reasoning in messages, by the index of its message."""
    return {
        index: block["thinking"]
        for index, message in enumerate(messages)
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "thinking"
    }


def refused(sent: list[list[Any]]) -> list[str]:
    """Return the reasoning that is sent behind other bytes than those it was written behind."""
    before = {f"Hm {number}.": json.dumps(messages) for number, messages in enumerate(sent)}
    return [
        thought
        for messages in sent
        for index, thought in thoughts(messages).items()
        if json.dumps(messages[:index]) != before[thought]
    ]


@examples(40)
@given(
    st.lists(st.sampled_from([5, 10, 20, 40]), min_size=5, max_size=40),
    st.integers(120, 400),
    st.sampled_from([None, 0, 30, 80]),
    st.sampled_from([None, 1, 3, ClearResults(2, at_least=50)]),
)
def test_nothing_is_refused(sizes: list[int], budget: int, step: int | None, clear: Any) -> None:
    """In any loop, all before reasoning that is sent is what it was when that was written."""
    sent = requests(sizes, budget, step=step, clear_results=clear)
    assert refused([found.to_anthropic()["messages"] for found in sent]) == []


@every_check_of(*SERVICES)
def test_a_loop_of_40_rounds(check: Any) -> None:
    """The newest reasoning is sent after most moves, and every request is one that is taken."""
    sent = requests([20] * 40, 400, clear_results=3, step=100)
    newest = 0
    for number, found in enumerate(sent[1:]):
        check(found.payload(), found.facts)
        newest += f"Hm {number}." in thoughts(found.to_anthropic()["messages"]).values()
    moved = len({tuple(part.why for part in found.dropped) for found in sent}) - 1
    assert (len(sent), moved, newest) == (41, 10, 30)


def test_another_part_that_goes() -> None:
    """When something else is dropped, too, no reasoning is sent: when it went is not known."""
    note = Section("note", "n " * 9, priority=-1)

    def found(*content: Any) -> int:
        prompt = Timeline(System("s", *content), History.from_anthropic(loop([20] * 8), step=90))
        sent = render(prompt, model=MODEL, budget=130, counter=words).to_anthropic()["messages"]
        return len(thoughts(list(sent)))

    assert (found(), found(note)) == (1, 0)
