"""How much of a prompt stays what it was from one request to the next, measured in what is sent."""

import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import pytest

from promptdsl import *

slow = pytest.mark.slow

BUDGET = 32_768
TURNS = 400


def quarter(text: str) -> int:
    """Return the tokens of a text: a quarter of its characters."""
    return -(-len(text) // 4)


class Shape(NamedTuple):
    """An exchange: how many characters its texts have, and whether a tool is called in it."""

    size: int
    calls: bool = False


def exchange(shape: Shape, number: int) -> Iterator[Message]:
    """Yield the messages of one exchange."""
    text = f"{number} " + "word " * (shape.size // 5)
    yield Message("user", text[: shape.size // 3])
    if shape.calls:
        call = ToolUseBlock(f"call_{number}", "find", json.dumps({"q": text[:40]}))
        yield Message("assistant", [call])
        yield Message.tool_result(f"call_{number}", text[: shape.size // 2])
    yield Message("assistant", text)


def chat(shape: Shape, target: str, step: int | None, turns: int = TURNS) -> Iterator[Rendered]:
    """Yield the requests of a growing conversation, a changing clock before each question."""
    said: list[Message] = []
    for number in range(turns):
        tree = Timeline(
            System("You help the customers of TechCorp. " * 10),
            History(said, step=step),
            Ephemeral(f"It is {number} o'clock.", position="before_user"),
            User(f"Question {number}?"),
        )
        yield render(tree, provider=target, budget=BUDGET, counter=quarter)
        said += exchange(shape, number)


def entries(rendered: Rendered) -> list[str]:
    """Return what is sent, in the order a provider's cache sees it, as bytes would be."""
    payload: dict[str, Any] = dict(rendered.payload())
    return [json.dumps(one) for one in (payload.get("system"), *payload["messages"])]


def shared(before: list[str], after: list[str]) -> int:
    """Return how many characters two requests share at their beginning, whole entries only."""
    count = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        count += len(one)
    return count


def figures(requests: Iterator[Rendered]) -> tuple[float, float]:
    """Return reuse and fill, of the requests from the first one on that was cut."""
    cut = [one for one in requests if one.dropped]
    sent = [entries(one) for one in cut]
    reuse = [shared(a, b) / sum(map(len, b)) for a, b in pairwise(sent)]
    fill = [one.tokens.total / BUDGET for one in cut]
    return sum(reuse) / len(reuse), sum(fill) / len(fill)


def size_of(shape: Shape) -> int:
    """Return the tokens of one exchange, its frames included."""
    whole = [*exchange(shape, 200)]
    without = render(Timeline(User("x")), provider="openai", counter=quarter).tokens.total
    tree = Timeline(History(whole), User("x"))
    return render(tree, provider="openai", counter=quarter).tokens.total - without


CHAT = Shape(696)


@pytest.mark.parametrize(
    ("target", "turns"),
    [
        ("openai", 200),
        pytest.param("openai", 400, marks=slow),
        pytest.param("anthropic", 400, marks=slow),
    ],
)
def test_a_chat_of_many_turns(target: str, turns: int) -> None:
    """With the default step most of the prefix is served again, and most of the budget is used."""
    assert 235 <= size_of(CHAT) <= 245
    reuse, fill = figures(chat(CHAT, target, None, turns))
    assert (True, True) == (reuse >= 0.92, fill >= 0.92)


@slow
def test_an_exact_fit_reuses_little() -> None:
    """Without steps the cut moves with every turn, and the prefix is new each time."""
    reuse, fill = figures(chat(CHAT, "openai", 0))
    assert (True, True) == (reuse < 0.3, fill > 0.98)


@slow
@pytest.mark.parametrize(
    ("target", "shape", "step"),
    [
        ("anthropic", Shape(1_300), 4_096),
        *(
            (target, shape, step)
            for target in ("openai", "anthropic")
            for shape, step in (
                (CHAT, 8_192),
                (CHAT, 2_048),
                (Shape(760, calls=True), 4_096),
                (Shape(1_300), 4_096),
            )
        ),
    ],
)
def test_the_formula(shape: Shape, step: int, target: str) -> None:
    """Reuse is about 1 - g/S - g/B and fill about 1 - S/2B, within two points of a hundred."""
    size = size_of(shape)
    reuse, fill = figures(chat(shape, target, step))
    expected = 1 - size / step - size / BUDGET, 1 - step / (2 * BUDGET)
    assert (reuse, fill) == pytest.approx(expected, abs=0.02)


@slow
def test_an_agent_loop_of_400_calls() -> None:
    """It stays in its budget, keeps its task and its newest round, and reuses its prefix."""
    said = [Message("user", "The task: find the bug.")]
    requests: list[Rendered] = []
    for number in range(TURNS):
        call = ToolUseBlock(f"call_{number}", "read", json.dumps({"file": f"{number}.py"}))
        result = Message.tool_result(f"call_{number}", f"{number} " + "line of code; " * 60)
        said += [Message("assistant", [call]), result]
        tree = Timeline(System("You are a careful engineer."), History(said))
        requests.append(render(tree, provider="openai", budget=BUDGET, counter=quarter))
    cut = [one for one in requests if one.dropped]
    assert all(one.tokens.total <= BUDGET for one in requests)
    assert {"The task: find the bug."} == {one.messages[1].text for one in requests}
    assert [f"call_{n}" for n in range(TURNS)] == [
        one.payload()["messages"][-1]["tool_call_id"] for one in requests
    ]
    reuse, fill = figures(iter(cut))
    assert (True, True) == (reuse >= 0.9, fill >= 0.9)
