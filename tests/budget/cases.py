"""What the readable cases of budgets share: a counter that reads like a sum, and what is left.

A word in capital letters is a hundred tokens, everything else nothing; a budget of 3 is three
hundred and a little for the frames.
"""

import re
from typing import Any

from promptdsl import BudgetError, Message, Node, Rendered, render
from tests.errors import raised
from tests.providers.every_target import strings_in
from tests.renders import timeline_of

_WORD = re.compile(r"\b[A-Z]+\b")


def hundreds(text: str) -> int:
    """Return a hundred tokens for every word in capital letters."""
    return 100 * len(_WORD.findall(text))


APART: dict[str, Any] = {"merge_consecutive": False}


def fit(budget: float, *parts: Any, **request: Any) -> Rendered:
    """Return a timeline of parts, rendered in a budget of so many words."""
    tokens = int(budget * 100) + 70
    return render(timeline_of(*parts), budget=tokens, counter=hundreds, **request)


def left(budget: float, *parts: Any, **request: Any) -> str:
    """Return the words that are left in a budget, in the order in which they are sent."""
    return capitals(fit(budget, *parts, **request).messages)


Gone = tuple[str, str, int, float | None, str]
"""What went, its address, its tokens, its priority and why."""


def exactly(tokens: int, *parts: Any, **request: Any) -> str | None:
    """Return the words that are left in a budget of so many tokens, ``None`` for a refusal.

    Around each message are 3 tokens, around all system content 3, and an answer begins with 3.
    Turns that stand beside each other stay apart.
    """
    prompt = timeline_of(*parts)
    try:
        rendered = render(prompt, budget=tokens, counter=hundreds, transformation=APART, **request)
    except BudgetError:
        return None
    return capitals(rendered.messages)


def gone(tokens: int, *parts: Any, **request: Any) -> list[Gone]:
    """Return all that a budget of so many tokens takes away.

    Turns that stand beside each other stay apart.
    """
    prompt = timeline_of(*parts)
    found = render(prompt, budget=tokens, counter=hundreds, transformation=APART, **request).dropped
    return [(one.what, one.path, one.tokens, one.priority, one.why) for one in found]


def capitals(messages: tuple[Message, ...]) -> str:
    """Return the words in capital letters in messages."""
    told = [text for message in messages for text in strings_in(message.to_dict())]
    return " ".join(_WORD.findall(" ".join(told)))


def talk(*turns: str) -> list[dict[str, Any]]:
    """Return recorded turns: ``"user A"``, ``"call 1 A"`` and ``"result 1 B"``."""
    return [_turn(*turn.split(" ", 1)) for turn in turns]


def _turn(kind: str, said: str) -> dict[str, Any]:
    if kind == "call":
        id, _, word = said.partition(" ")
        use = {"type": "tool_use", "id": id, "name": "look", "input": {"q": word}}
        return {"role": "assistant", "content": [use]}
    if kind == "result":
        id, _, word = said.partition(" ")
        block = {"type": "tool_result", "tool_use_id": id, "content": word}
        return {"role": "tool", "content": [block]}
    return {"role": kind, "content": said}


def loop(count: int, said: str = "LOOK FOUND") -> list[dict[str, Any]]:
    """Return so many rounds of an agent: a call with one word and its result with another."""
    call, result = said.split()
    names = [f"c{number}" for number in range(count)]
    turns = [(f"call {name} {call}", f"result {name} {result}") for name in names]
    return talk(*(turn for pair in turns for turn in pair))


def too_big(*parts: Node, budget: int = 100) -> BudgetError:
    """Return the error of a prompt that is too big for a budget."""
    prompt = timeline_of(*parts)
    return raised(BudgetError, lambda: render(prompt, budget=budget, counter=hundreds))
