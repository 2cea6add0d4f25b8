"""``clear_results``: old results become placeholders before anything is dropped."""

import pickle
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptdsl import *
from tests.budget.fitted import broken
from tests.budget.loop_oracle import Loop
from tests.errors import raised
from tests.searching import examples


def words(text: str) -> int:
    """Return the words of a text."""
    return len(text.split())


def loop(sizes: Sequence[int], name: str = "look", arguments: Any = None) -> list[Message]:
    """Return a task, and a round for each result of so many words."""
    said: list[dict[str, Any]] = [{"role": "user", "content": "Do it."}]
    for number, size in enumerate(sizes):
        call = {"type": "tool_use", "id": f"c{number}", "name": name, "input": arguments or {}}
        told = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "w " * size}
        said += [{"role": "assistant", "content": [call]}, {"role": "tool", "content": [told]}]
    return [Message.from_dict(message) for message in said]


def sent(said: Sequence[Message], budget: int | None, **options: Any) -> Rendered:
    """Return a conversation in a budget."""
    return render(Timeline(System("s"), History(said, **options)), budget=budget, counter=words)


def shape(rendered: Rendered) -> str:
    """Return the results that are sent, in order: ``.`` for a cleared one, ``#`` for any other."""
    texts = [m.content[0].content[0].text for m in rendered.messages if m.role == "tool"]  # type: ignore[union-attr]
    return "".join("." if text == "[cleared]" else "#" for text in texts)


def two_tools(*order: str) -> list[Message]:
    """Return a round with calls of two tools, whose results are in one message in this order."""
    names = {"a": "look", "b": "keep"}
    calls = [{"type": "tool_use", "id": id, "name": names[id], "input": {}} for id in "ab"]
    results = [{"type": "tool_result", "tool_use_id": id, "content": "w " * 20} for id in order]
    said = [{"role": "assistant", "content": calls}, {"role": "tool", "content": results}]
    return [Message.from_dict(message) for message in said]


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_one_of_two_tools_is_never_cleared(order: str) -> None:
    """Of two results in one message, that of the tool that is excluded stays."""
    clearing = ClearResults(1, at_least=1, exclude=("keep",))
    said = [*loop([20]), *two_tools(*order), *loop([20])[1:]]
    blocks = sent(said, None, clear_results=clearing).messages[5].to_dict()["content"]
    texts = {block["tool_use_id"]: block["content"][0]["text"] for block in blocks}
    assert {"a": "[cleared]", "b": "w " * 20} == texts


def apart(number: int) -> list[Message]:
    """Return a round with calls of two tools, whose results are in messages of their own."""
    calls, results = [message.to_dict()["content"] for message in two_tools("a", "b")]
    said = [
        {
            "role": "assistant",
            "content": [{**call, "id": f"{call['id']}{number}"} for call in calls],
        }
    ]
    for block in results:
        told = {**block, "tool_use_id": f"{block['tool_use_id']}{number}"}
        said.append({"role": "tool", "content": [told]})
    return [Message.from_dict(message) for message in said]


@pytest.mark.parametrize("options", [{}, {"max_result_tokens": 9}, {"pin": ["late"]}])
def test_two_tools_of_a_growing_conversation(options: dict[str, Any]) -> None:
    """Of a conversation that grew, also between two results, as much is cleared as of a new one."""
    rounds = [message for number in range(32) for message in apart(number)]
    said = [Message("user", "Do it."), *rounds[:60], Message("event", "Late.", id="late")]
    said += rounds[60:]
    clearing = ClearResults(2, at_least=30, exclude=("keep",), inputs=True)
    filled = {"transformation": {"tool_pairing": "fill"}}

    def request(messages: Sequence[Message]) -> list[Any]:
        prompt = Timeline(History(messages, clear_results=clearing, **options))
        done = render(prompt, counter=words, **filled)
        told = [(part.tokens, part.why) for part in done.dropped]
        return [told, *(message.to_dict() for message in done.messages)]

    stops = [70, 81, 82, 94, 71]
    grown = [request(said[:stop]) for stop in stops]
    assert grown == [request([it.replace() for it in said[:stop]]) for stop in stops]


TEN = loop([20] * 10)
WHOLE = sent(TEN, None).tokens.total


@pytest.mark.parametrize(
    ("budget", "options", "expected"),
    [
        (WHOLE, {"clear_results": 3}, "##########"),
        (WHOLE - 1, {"clear_results": 3, "step": 0}, ".#########"),
        (WHOLE - 20, {"clear_results": 3, "step": 0}, "..########"),
        (WHOLE - 1, {"clear_results": 3, "step": 50}, "...#######"),
        (WHOLE - 58, {"clear_results": 3, "step": 50}, "......####"),
        (WHOLE - 133, {"clear_results": 3, "step": 0}, ".......###"),
        (WHOLE - 134, {"clear_results": 3, "step": 0}, "......###"),
        (WHOLE - 134, {"clear_results": 3, "step": 30}, "....###"),
        (None, {"clear_results": ClearResults(3, at_least=50)}, "......####"),
        (None, {"clear_results": ClearResults(3, at_least=19)}, ".......###"),
        (None, {"clear_results": ClearResults(9, at_least=20)}, "##########"),
        (None, {"clear_results": ClearResults(1, at_least=1)}, ".........#"),
        (None, {"clear_results": ClearResults(3, 1, exclude=("look",))}, "##########"),
        (None, {"clear_results": ClearResults(3, 1, exclude=("other",))}, ".......###"),
    ],
)
def test_what_is_cleared(budget: int | None, options: dict[str, Any], expected: str) -> None:
    """Results are cleared in steps, the oldest first; the cut begins when that is not enough."""
    assert shape(sent(TEN, budget, **options)) == expected


@pytest.mark.parametrize("between", ["text", "call"])
def test_a_result_of_an_older_call(between: str) -> None:
    """A result without a name has that of its call, also where other turns are between them."""

    def call(id: str, name: str) -> ToolUseBlock:
        return ToolUseBlock(id, name, "{}")

    def result(id: str) -> Message:
        return Message("tool", (ToolResultBlock(id, (TextBlock("w " * 30),)),))

    said = [Message("user", "Go."), Message("assistant", (call("a", "memory"),))]
    said += [Message("assistant", "Wait." if between == "text" else (call("b", "look"),))]
    said += [result("a"), *([result("b")] if between == "call" else [])]
    said += [Message("assistant", (call("z", "look"),)), result("z")]
    rule = ClearResults(1, at_least=1, exclude=("memory",))
    repaired = {"tool_pairing": "fill"}
    prompt = Timeline(History(said, clear_results=rule), User("And?"))
    rendered = render(prompt, counter=words, transformation=repaired)
    reasons = [part.why for part in rendered.dropped if "cleared" in part.why]
    assert (["1 of its results is cleared"] if between == "call" else []) == reasons


def test_the_placeholder_and_the_arguments() -> None:
    """A cleared result keeps its id and its error; with ``inputs`` the call keeps its name."""
    how = ClearResults(keep=1, at_least=1, placeholder="(gone)", inputs=True)
    said = loop([20] * 3, arguments={"place": "in the old house"})
    call, told = sent(said, None, clear_results=how).messages[2:4]
    assert call.calls[0].to_dict()["input"] == {"input": "(gone)"}
    result = told.to_dict()["content"][0]
    assert result["tool_use_id"] == "c0"
    assert result["content"] == [{"type": "text", "text": "(gone)"}]


def test_a_name_as_it_is_sent() -> None:
    """``exclude`` takes the name of a tool as it was recorded, or as a provider takes it."""
    said = loop([20] * 4, "web.search")
    for name in ("web.search", "web_search"):
        how = ClearResults(keep=1, at_least=1, exclude=(name,))
        assert shape(sent(said, None, clear_results=how)) == "####"


def test_what_saves_nothing_stays() -> None:
    """A result that is not larger than the placeholder is not cleared."""
    how = ClearResults(keep=1, at_least=1)
    assert shape(sent(loop([1, 20, 1, 20]), None, clear_results=how)) == "#.##"


def test_it_is_told() -> None:
    """What was cleared is in ``dropped`` and in the outline."""
    [dropped] = sent(TEN, WHOLE - 1, clear_results=3, step=50).dropped
    assert (dropped.tokens, dropped.why) == (57, "3 of its results are cleared")
    [dropped] = sent(TEN, WHOLE - 134, clear_results=3, step=30).dropped
    assert dropped.why == (
        "there is no room for the first 3 rounds of its last exchange; 4 of its results are cleared"
    )
    [dropped] = sent(TEN, None, clear_results=ClearResults(3, at_least=50)).dropped
    assert (dropped.tokens, dropped.why) == (114, "6 of its results are cleared")
    assert "clear_results=3" in str(Timeline(History([], clear_results=3)))
    [dropped] = sent(loop([20, 1, 20]), None, clear_results=ClearResults(1, at_least=1)).dropped
    assert dropped.why == "1 of its results is cleared"


def test_it_can_be_saved() -> None:
    """A prompt whose results were cut and cleared can be saved, with what was done."""
    found = sent(TEN, WHOLE - 134, clear_results=3, step=30, max_result_tokens=19)
    assert pickle.loads(pickle.dumps(found)).dropped == found.dropped


def test_other_parts_keep_their_order() -> None:
    """A part with a lower priority goes before anything is cleared, one with a higher stays."""

    def prompt(priority: int) -> Timeline:
        note = Section("note", "n " * 10, priority=priority)
        return Timeline(System("s", note), History(TEN, clear_results=3, step=0))

    def found(priority: int) -> list[str]:
        dropped = render(prompt(priority), budget=WHOLE - 10, counter=words).dropped
        return [part.what for part in dropped]

    assert (found(-1), found(1)) == (["section note", "history"], ["history"])


@pytest.mark.parametrize(
    ("value", "named"),
    [
        *((value, "clear_results=") for value in (0, -1, 1.5, "3", True)),
        ({"keep": 0}, "clear_results.keep=0"),
        ({"at_least": 0}, "clear_results.at_least=0"),
        ({"exclude": None}, "clear_results.exclude=(None,)"),
        ({"exclude": 3}, "clear_results.exclude=(3,)"),
        ({"exclude": [b"memory"]}, "clear_results.exclude="),
        ({"placeholder": " "}, "clear_results.placeholder=' '"),
        ({"placeholder": None}, "clear_results.placeholder=None"),
        ({"inputs": "no"}, "clear_results.inputs='no'"),
        ({"inputs": None}, "clear_results.inputs=None"),
    ],
)
def test_bad_values(value: Any, named: str) -> None:
    """A wrong value is an error when the history is written; one name is no wrong value."""
    how = ClearResults(**value) if isinstance(value, dict) else value
    assert f"History({named}" in str(raised(OptionError, lambda: History([], clear_results=how)))
    assert ClearResults(exclude="memory") == ClearResults(exclude=("memory",))


def test_without_a_budget() -> None:
    """Without a budget and without a step of its own it is an error that says so."""
    error = raised(OptionError, lambda: sent(TEN, None, clear_results=3))
    assert "clear_results without a budget" in str(error)
    assert "at_least" in str(error)


LOOPS = st.builds(
    Loop,
    st.lists(st.sampled_from([1, 2, 5, 10, 20, 60]), min_size=1, max_size=14).map(tuple),
    st.integers(1, 5),
    st.sampled_from([0, 15, 40, 100]),
    st.frozensets(st.integers(0, 13), max_size=2),
    st.booleans(),
)


@pytest.mark.xfail(strict=True, reason="a smaller need is tried, which forgets the earlier cut")
def test_a_cut_that_moves_back() -> None:
    """The request after four rounds is cut; that cut stays, although clearing is enough later."""
    assert shape(sent(loop([1, 1, 20, 60]), 135, clear_results=2, step=0)) == "###"
    assert shape(sent(loop([1, 1, 20, 60, 1]), 135, clear_results=2, step=0)) == "#.##"


@examples(100, fast=30)
@given(LOOPS, st.integers(30, 400))
def test_what_the_rules_say(loop_: Loop, limit: int) -> None:
    """What is sent of a loop is what the rules leave, taken literally, or the budget is refused."""
    assert as_sent(loop_, limit) == loop_.shape(limit)


def as_sent(loop_: Loop, limit: int) -> str | None:
    """Return what is sent of a described loop, ``None`` where the budget is refused."""
    pins = {f"c{number}" for number in loop_.pins}

    def is_pinned(message: Message) -> bool:
        return any(call.id in pins for call in message.calls)

    options = {"clear_results": loop_.keep, "step": loop_.step, "pin": is_pinned}
    options["cut_line"] = loop_.cut_line
    try:
        return shape(sent(loop(loop_.sizes), limit, **options))
    except BudgetError:
        return None


SIZES = st.lists(st.sampled_from([1, 5, 10, 20, 60, 100]), min_size=4, max_size=25)
WORDS = st.builds(
    ClearResults, st.integers(1, 4), st.none() | st.integers(1, 120), inputs=st.booleans()
)


STEPS = st.sampled_from([0, 20, 60, 150])


@examples(40)
@given(SIZES, WORDS, STEPS, st.integers(150, 500))
def test_between_two_moves_nothing_changes(
    sizes: list[int], how: ClearResults, step: int, budget: int
) -> None:
    """A request begins with the request before it, to the byte, until something is moved.

    Nothing is over the budget, and no call is without its result.
    """
    requests = [*requests_of(loop(sizes), budget, how, step)]
    assert [] == [it for it in requests if it.tokens.total > budget or broken(it.messages)]
    same = [pair for pair in pairwise(requests) if len({*map(reasons, pair)}) == 1]
    assert [] == [pair for pair in same if not begins_with(*pair)]


@examples(40)
@given(SIZES, WORDS, STEPS, st.integers(150, 500))
def test_nothing_moves_back(sizes: list[int], how: ClearResults, step: int, budget: int) -> None:
    """The cut and the frontier of a request are never before those of an earlier one."""
    requests = requests_of(loop(sizes), budget, how, step)
    places = [*map(cut_and_frontier, requests, count(1))]
    assert [] == [move for move in pairwise(places) if moves_back(*move)]


def test_a_cut_after_a_much_longer_request() -> None:
    """A cut does not move back, also after a request that was much longer."""
    said = loop([20, 10, 5, 60, 5, 20, 5, 5, 1, 20, 100, 100, 100, 5, 5])
    requests = [*requests_of(said, 230, ClearResults(3), step=0)]
    cuts = [cut for cut, _ in map(cut_and_frontier, requests, count(1))]
    assert sorted(cuts) == cuts


def requests_of(
    said: Sequence[Message], budget: int | None, how: ClearResults, step: int
) -> Iterator[Rendered]:
    """Yield the requests after each round of a loop, up to the first that does not fit."""
    with suppress(BudgetError):
        for stop in range(3, len(said) + 1, 2):
            yield sent(said[:stop], budget, clear_results=how, step=step)


def reasons(rendered: Rendered) -> tuple[str, ...]:
    """Return why parts of a request were dropped: what was moved, and how far."""
    return tuple(part.why for part in rendered.dropped)


def begins_with(before: Rendered, after: Rendered) -> bool:
    """Return whether a request begins with all messages of the one before it."""
    return after.messages[: len(before.messages)] == before.messages


def cut_and_frontier(rendered: Rendered, rounds: int) -> tuple[int, int]:
    """Return of a loop with so many rounds how many were cut, and up to which it is cleared."""
    results = shape(rendered)
    cut = rounds - len(results)
    return cut, cut + results.rfind(".") + 1


def moves_back(before: tuple[int, int], after: tuple[int, int]) -> bool:
    """Return whether the cut or the frontier was farther before."""
    return before[0] > after[0] or before[1] > after[1]


@examples(30)
@given(SIZES, WORDS, st.sampled_from([1, 20, 60]))
def test_a_larger_budget_keeps_as_much(sizes: list[int], how: ClearResults, step: int) -> None:
    """With a fixed step what is dropped never grows with the budget."""

    def lost(budget: int) -> int:
        try:
            return sum(
                part.tokens
                for part in sent(loop(sizes), budget, clear_results=how, step=step).dropped
            )
        except BudgetError:
            return 10**9

    found = [lost(budget) for budget in range(20, 25 * sum(sizes) // 20 + 300, 29)]
    assert found == sorted(found, reverse=True)


def test_a_cut_does_not_move_back_when_somebody_asks_again() -> None:
    """What was cut between rounds stays out when another exchange begins."""
    said = loop([50, 50, 50, 200, 10, 10, 10])
    asked = [Message("assistant", "Done."), Message("user", "And now this.")]
    said[11:11] = asked
    first: list[str] = []
    for stop in (7, 9, 11, 15, 17):
        rendered = sent(said[:stop], 250, clear_results=1, step=0)
        calls = [call.id for message in rendered.messages for call in message.calls]
        first.append(calls[0])
    assert first == sorted(first)
