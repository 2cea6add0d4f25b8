"""Reasoning that a model binds is sent while all before it is what it was."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
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


def test_system_text_of_a_history_that_stays() -> None:
    """What has to stay is too long for the budget: it is an error of the budget, nothing else."""
    thought = {"type": "reasoning", "text": "Hm", "signature": "c2ln", "origin": "anthropic"}
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    said: list[Any] = [
        {"role": "system", "content": "a"},
        {"role": "assistant", "content": [thought, call]},
    ]
    prompt = Timeline(System("s"), History(said, keep=1))
    with pytest.raises(BudgetError):
        render(prompt, budget=15, counter=lambda text: len(text.split()), model="claude-opus-5-5")


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


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [(15, (16, 2, 13)), pytest.param(40, (41, 11, 29), marks=pytest.mark.slow)],
)
@every_check_of(*SERVICES)
def test_a_loop_of_many_rounds(check: Any, rounds: int, expected: tuple[int, ...]) -> None:
    """The newest reasoning is sent after most moves, and every request is one that is taken."""
    sent = requests([20] * rounds, 400, clear_results=3, step=100)
    newest = 0
    for number, found in enumerate(sent[1:]):
        check(found.payload(), found.facts)
        newest += f"Hm {number}." in thoughts(found.to_anthropic()["messages"]).values()
    moved = len({tuple(part.why for part in found.dropped) for found in sent}) - 1
    assert (len(sent), moved, newest) == expected


@examples(30)
@given(
    st.lists(st.tuples(st.integers(1, 60), st.sampled_from([0, 1, 2, 6])), min_size=1, max_size=12),
    st.sampled_from([200, 400]),
    st.sampled_from([{}, {"keep": 1}, {"step": 40}, {"pin": ["T3"], "clear_results": 1}]),
    st.booleans(),
)
def test_questions_outside(
    exchanges: list[tuple[int, int]], budget: int, options: Any, recorded: bool
) -> None:
    """A question may stand behind the history first, or be in it: nothing is refused."""
    said, sent = list[dict[str, Any]](), list[list[Any]]()
    number = 0
    for size, rounds in exchanges:
        question = {"role": "user", "content": "Q " * size + "?"}
        for left in range(rounds, -1, -1):
            history = History.from_anthropic([*said], **options)
            behind = [User(question["content"])] if left == rounds else []
            if recorded and behind:
                history, behind = History.from_anthropic([*said, question], **options), []
            prompt = Timeline(System("s"), history, *behind)
            try:
                found = render(prompt, model=MODEL, budget=budget, counter=words)
            except BudgetError:
                return
            sent.append([*found.to_anthropic()["messages"]])
            said += [question] if left == rounds else []
            thought = {"type": "thinking", "thinking": f"Hm {number}.", "signature": "c2ln"}
            call = {"type": "tool_use", "id": f"c{number}", "name": "look", "input": {}}
            answer = [thought, call if left else {"type": "text", "text": "A " * size + "."}]
            said.append({"role": "assistant", "content": answer, "id": f"T{number}"})
            told = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "w " * size}
            said += [{"role": "user", "content": [told]}] if left else []
            number += 1
    assert refused(sent) == []


@examples(20)
@given(
    st.lists(
        st.tuples(st.integers(1, 30), st.integers(0, 4), st.booleans()), min_size=4, max_size=12
    ),
    st.sampled_from([200, 400]),
    st.sampled_from([{"step": 30}, {"step": 150}, {"keep": 2}, {"clear_results": 3}]),
)
def test_neighbours_that_merge(
    exchanges: list[tuple[int, int, bool]], budget: int, options: Any
) -> None:
    """Results of parallel calls and two turns of a user are sent as one: nothing is refused."""
    said, sent = list[Message](), list[list[Any]]()
    for size, calls, again in exchanges:
        said += [Message("user", "First.")] if again else []
        for number in range(2 if calls else 1):
            behind = [] if number else [User("w " * size + "?")]
            prompt = Timeline(System("s"), History([*said], **options), *behind)
            try:
                found = render(prompt, model=MODEL, budget=budget, counter=words)
            except BudgetError:
                return
            said += [] if number else [Message("user", "w " * size + "?")]
            thought = ReasoningBlock(f"Hm {len(sent)}.", signature="c2ln", origin="anthropic")
            sent.append([*found.to_anthropic()["messages"]])
            ids = [f"c{len(sent)}{call}" for call in range(0 if number else calls)]
            uses = [ToolUseBlock(id, "look", "{}") for id in ids]
            said.append(Message("assistant", [thought, *(uses or [TextBlock("A " * size + ".")])]))
            said += [Message("tool", [ToolResultBlock(id, (TextBlock("Done."),))]) for id in ids]
    assert refused(sent) == []


def test_without_a_budget() -> None:
    """What ``at_least`` clears moves, too: what was written since then is sent."""
    said = loop([20] * 9)
    how = ClearResults(2, at_least=50)
    prompt = Timeline(History.from_anthropic(said, clear_results=how))
    sent = render(prompt, model=MODEL, counter=words).to_anthropic()["messages"]
    assert [*thoughts([*sent]).values()] == ["Hm 8."]


def test_another_part_that_goes() -> None:
    """When something else is dropped, too, no reasoning is sent: when it went is not known."""
    note = Section("note", "n " * 9, priority=-1)

    def found(*content: Any) -> int:
        prompt = Timeline(System("s", *content), History.from_anthropic(loop([20] * 8), step=90))
        sent = render(prompt, model=MODEL, budget=130, counter=words).to_anthropic()["messages"]
        return len(thoughts(list(sent)))

    assert (found(), found(note)) == (1, 0)


def one_message_for_each(calls: int, size: int, rounds: int) -> list[dict[str, Any]]:
    """Return a task and rounds of several calls, whose results are messages of their own."""
    said: list[dict[str, Any]] = [{"role": "user", "content": "Do it."}]
    for number in range(rounds):
        thought = {"type": "thinking", "thinking": f"Hm {number}.", "signature": "c2ln"}
        ids = [f"c{number}x{index}" for index in range(calls)]
        made = [{"type": "tool_use", "id": id, "name": "look", "input": {}} for id in ids]
        said.append({"role": "assistant", "content": [thought, *made]})
        for id in ids:
            told = {"type": "tool_result", "tool_use_id": id, "content": "w " * size}
            said.append({"role": "user", "content": [told]})
    return said


@pytest.mark.parametrize(("calls", "size"), [(5, 2), (8, 4)])
def test_results_that_are_sent_as_one_message(calls: int, size: int) -> None:
    """No reasoning is sent behind other bytes where a target merges what was recorded apart."""
    said, sent = one_message_for_each(calls, size, 16), list[list[Any]]()
    for stop in range(1, len(said), calls + 1):
        prompt = Timeline(System("s"), History.from_anthropic(said[:stop]))
        rendered = render(prompt, model=MODEL, budget=400, counter=words)
        sent.append(rendered.to_anthropic()["messages"])
    assert [] == refused(sent)
    assert len([turn for messages in sent for turn in thoughts(messages)]) > 10
