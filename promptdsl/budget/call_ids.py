"""What parts of a prompt call and answer, and which forms of one part are alike in that."""

from collections.abc import Iterator, Sequence
from typing import Any

from promptdsl.tree.calls import answers_of, calls_of
from promptdsl.tree.group_nodes import FirstFitNode, FragmentNode
from promptdsl.tree.node import Node, walk
from promptdsl.tree.part_nodes import ToolResultNode, ToolUseNode
from promptdsl.tree.turn_nodes import RecordedNode


def turns_in(node: Any) -> Iterator[Any]:
    """Yield the turns and recorded runs in a part of a timeline; of several forms, the first's."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, FirstFitNode):
            waiting += one.content[:1]
        elif isinstance(one, FragmentNode):
            waiting += reversed(one.content)
        else:
            yield one


def answered_by(turn: Node) -> tuple[str, ...]:
    """Return the ids of the calls that a turn answers, or the beginning of a run."""
    return _head_answers(turn) if isinstance(turn, RecordedNode) else answers_of(turn)


def left_open_by(turn: Node) -> tuple[str, ...]:
    """Return the ids of the calls that a turn makes, or the end of a run."""
    return _tail_calls(turn) if isinstance(turn, RecordedNode) else calls_of(turn)


def _head_answers(run: RecordedNode) -> tuple[str, ...]:
    """Return the ids of the results a run begins with."""
    found: list[str] = []
    for said in run.items:
        if said.role == "assistant":
            break
        found += [block.tool_use_id for block in said.content if block.type == "tool_result"]
    return tuple(found)


def _tail_calls(run: RecordedNode) -> tuple[str, ...]:
    """Return the ids of the calls that a run ends with and does not answer."""
    answered: set[str] = set()
    for said in reversed(run.items):
        if said.plain is None:
            answered |= {b.tool_use_id for b in said.content if b.type == "tool_result"}
        if said.role == "assistant":
            return tuple(call.id for call in said.calls if call.id not in answered)
    return ()


Outward = tuple[list[str], list[str]]
"""The ids of the calls that a form leaves open, and of the calls of others that it answers."""


def alike(
    forms: Sequence[Any], sizes: list[tuple[int, int]], *, in_turn: bool
) -> list[tuple[int, int]]:
    """Return the sizes of the forms that call and answer the same as the first one.

    Any other form would leave a call without its result.
    """
    outward = _within if in_turn else _outward
    said = [outward(forms[number]) for number, _ in sizes]
    return [size for size, one in zip(sizes, said, strict=True) if one == said[0]]


def _within(form: Node) -> Outward:
    parts = [part for part, _ in walk(form)]
    calls = [part.block.id for part in parts if isinstance(part, ToolUseNode)]
    return sorted(calls), sorted(
        part.tool_use_id for part in parts if isinstance(part, ToolResultNode)
    )


def _outward(form: Node) -> Outward:
    calls: list[str] = []
    answers: list[str] = []
    for turn in turns_in(form):
        for id in answered_by(turn):
            if id in calls:
                calls.remove(id)
            else:
                answers.append(id)
        calls += left_open_by(turn)
    return sorted(calls), sorted(answers)
