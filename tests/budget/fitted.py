"""What tests of budgets read of a rendered prompt, and what would be wrong with it."""

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from promptdsl import (
    BudgetError,
    Message,
    Rendered,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    render,
)
from promptdsl.tokens import counter
from tests.budget.descriptions import Part, below, built, seen, weigh
from tests.budget.oracle import items_of, last_user, leaves
from tests.budget.trees import Room

O200K = counter("gpt-5")
COUNTERS: dict[str, Callable[[str], int]] = {
    "characters": len,
    "words": lambda text: len(text.split()),
    "sevenths": lambda text: -(-len(text) // 7),
    "dear joints": lambda text: len(text) // 3 + 9 * text.count("\n\n"),
    "o200k": lambda text: O200K.count(text).tokens,
}
"""Counters of texts, of which only the first adds up."""


def recorded_exchanges(*exchanges: int) -> list[Message]:
    """Return exchanges of so many rounds; ids are ``q1``, ``q1a1``, and ``q1r1`` of results."""
    found: list[dict[str, Any]] = []
    for number, rounds in enumerate(exchanges, 1):
        found.append({"role": "user", "content": "Ask me.", "id": f"q{number}"})
        for index in range(1, rounds + 1):
            id = f"q{number}a{index}"
            call = {"type": "tool_use", "id": id, "name": "look", "input": {}}
            told = {"type": "tool_result", "tool_use_id": id, "content": "w " * 10}
            found.append({"role": "assistant", "content": [call], "id": id})
            found.append({"role": "tool", "content": [told], "id": f"q{number}r{index}"})
    return [Message.from_dict(message) for message in found]


def fitted(tree: Part, room: Room, **request: Any) -> Rendered | None:
    """Return a described prompt in a budget, ``None`` where its required parts are too much."""
    try:
        return render(
            built(tree), budget=room.budget, reserve=room.reserve, counter=weigh, **request
        )
    except BudgetError:
        return None


def heard(rendered: Rendered | None) -> list[str] | None:
    """Return the words of a rendered prompt, in their order."""
    return None if rendered is None else seen(rendered.messages)


def in_order(found: list[str] | None) -> list[str] | None:
    """Return words in document order."""
    return None if found is None else sorted(found, key=_number)


def _number(word: str) -> int:
    return int(word[1 : word.index("x")])


def dropped_tokens(rendered: Rendered | None) -> int:
    """Return the tokens of all that was dropped; of what was refused, more than there are."""
    return 10**9 if rendered is None else sum(one.tokens for one in rendered.dropped)


def least(rendered: Rendered, count: Callable[[str], int]) -> int:
    """Return the tokens of all texts that are sent, what stands around them left out.

    A target is not sent the white space at the end of the last answer, so it is not counted.
    """
    texts = [text for message in rendered.messages for text in _texts(message)]
    answers = [it for it in rendered.messages[-1:] if it.role == "assistant"]
    for text in [text for answer in answers for text in _texts(answer)][-1:]:
        if rendered.facts.provider:
            texts[texts.index(text)] = text.rstrip()
    return sum(map(count, texts))


def _texts(message: Message) -> Iterator[str]:
    """Yield the texts of a message, those of results in their place."""
    for block in message.content:
        inside = block.content if isinstance(block, ToolResultBlock) else (block,)
        yield from (it.text for it in inside if isinstance(it, TextBlock))


# What would be wrong.


def broken(messages: tuple[Message, ...]) -> list[str]:
    """Return what is wrong with calls and results: an orphan, or a call that is not answered."""
    wrong: list[str] = []
    waiting: set[str] = set()
    for message in messages:
        results = {b.tool_use_id for b in message.content if isinstance(b, ToolResultBlock)}
        wrong += sorted(results - waiting)
        waiting -= results
        if message.role in ("user", "assistant"):
            wrong += sorted(waiting)
            waiting = {b.id for b in message.content if isinstance(b, ToolUseBlock)}
    return wrong + sorted(waiting)


def split(tree: Part, words: list[str]) -> list[Part]:
    """Return the groups, and the calls with their answers, of which only a part is there."""
    units = [(part,) for part in below(tree) if part.kind == "group"]
    calls = {part.id: part for part in below(tree) if part.kind == "call"}
    units += [(part, calls[part.id]) for part in below(tree) if part.kind == "tool"]
    return [unit[0] for unit in units if _is_split(unit, words)]


def _is_split(unit: tuple[Part, ...], words: list[str]) -> bool:
    inside = frozenset[str]().union(*map(leaves, unit))
    return inside & {*words} not in (inside, frozenset())


def cuts(tree: Part, words: list[str]) -> Iterator[tuple[Part, int | None]]:
    """Yield the histories of a prompt that are there, and how many of their items are gone.

    ``None`` where what is left is no run of whole items to the end.
    """
    for part in below(tree):
        if part.kind != "history" or _is_whole(part, tree):
            continue
        items = items_of(part, tree)
        left = leaves(part) & {*words}
        runs = [leaves(part).difference(*items[:cut]) for cut in range(len(items) + 1)]
        yield part, runs.index(left) if left in runs else None


def _is_whole(part: Part, tree: Part) -> bool:
    """Return whether a history stands in what goes whole."""
    around = [one for one in below(tree) if one.kind in ("group", "first_fit")]
    return any(inner.number == part.number for one in around for inner in below(one))


def asked(tree: Part) -> list[str]:
    """Return the words from the last question on that have to stay."""
    last = last_user(tree)
    [turn] = [part for part in below(tree) if part.number == last]
    recorded = any(part.kind == "history" and turn in below(part) for part in below(tree))
    after = [] if recorded else [*_flat(tree.parts, last)]
    stays = [one for one in (turn, *after) if one.priority is None]
    return [one.word for part in stays for one in part.parts if one.kind == "words"]


def _flat(parts: tuple[Part, ...], last: int) -> Iterator[Part]:
    for part in parts:
        if part.kind == "fragment":
            yield from _flat(part.parts, last)
        elif part.number > last:
            yield part


# What would have been written.


def without(part: Part, words: list[str]) -> Part | None:
    """Return what an author would have written who knew which words stay."""
    if part.kind in ("words", "call"):
        return part if part.word in words else None
    if part.kind == "mark":
        return part
    if part.kind == "first_fit":
        return next((form for form in part.parts if leaves(form) & {*words}), None)
    inside = tuple(filter(None, (without(inner, words) for inner in part.parts)))
    return attrs.evolve(part, parts=inside) if inside else None
