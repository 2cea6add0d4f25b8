"""Pair: every tool call is answered by exactly one result before the next assistant turn."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, TypeAlias

import attrs

from promptdsl.foundation.errors import PairingError
from promptdsl.messages import Block, ToolResultBlock, ToolUseBlock, conversation_cache
from promptdsl.messages.message import Message
from promptdsl.messages.roles import CONVERSATION
from promptdsl.tree.calls import answers_in, answers_of, calls_in, calls_of
from promptdsl.tree.masks import CALL, RECORDED, RESULT, SHIFT, SPOKEN, TEXT, TURN, bits
from promptdsl.tree.node import Node, make, walk
from promptdsl.tree.part_nodes import ToolResultNode, ToolUseNode
from promptdsl.tree.recorded import cut, first_of, recording, remember
from promptdsl.tree.rewrite import has_content, replace, rewrite, with_content
from promptdsl.tree.turn_nodes import RecordedNode, RootNode, ToolTurnNode, TurnNode

INTERRUPTED = "The tool call was interrupted before it returned a result."
WITHIN = (CALL | RESULT) << SHIFT
PAIRED = WITHIN | RECORDED


class _Step(NamedTuple):
    """A turn in pairing: the ids of the calls it makes and answers, and whether it ``speaks``.

    A turn speaks if it has other content of an assistant or a user. After it, open calls cannot be
    answered any more.
    """

    node: Node
    calls: tuple[str, ...]
    answers: tuple[str, ...]
    speaks: bool


OpenCalls: TypeAlias = dict[str, Node]
"""The ids of calls without a result so far, each with the turn that made it."""


def pair(root: RootNode, *, mode: Literal["error", "fill", "prune"]) -> RootNode:
    """Return the tree with its tool calls and results in pairs.

    Only the last calls of a conversation may be open. For other calls without a result and for
    results without a call, ``mode="error"`` raises :class:`PairingError` with the line. ``fill``
    adds a result, an error of type ``interrupted``; ``prune`` removes the call; both remove a
    result without a call.
    """
    open_calls: OpenCalls = {}
    fault = _first_fault(root, open_calls)
    if fault is None and (mode == "error" or not open_calls):
        return root
    if mode == "error" and fault is not None:
        raise fault
    return with_content(root, tuple(_repaired(root, fill=mode == "fill")))


# Looking for a fault: one scan that skips most turns by their mask.


def _first_fault(root: RootNode, open_calls: OpenCalls) -> PairingError | None:
    """Return the first fault; without a fault, the last open calls are in ``open_calls``."""
    for child in root.content:
        if not child.mask & PAIRED and not open_calls:
            continue
        if isinstance(child, RecordedNode):
            fault = _scan(child, open_calls)
        elif type(child) is ToolTurnNode and child.tool_use_id in open_calls:
            # The usual case: a call and its answer.
            del open_calls[child.tool_use_id]
            continue
        elif not open_calls and len(child.content) == 1 and type(child.content[0]) is ToolUseNode:
            open_calls[child.content[0].block.id] = child
            continue
        else:
            fault = _take(_written_step(child), open_calls)
        if fault is not None:
            return fault
    return None


def _scan(node: RecordedNode, open_calls: OpenCalls) -> PairingError | None:
    """Scan a recording; the next request scans only its new messages."""
    if open_calls or len(node.items) < conversation_cache.SHORTEST:
        return _scan_from(node, 0, open_calls)
    start, whole = first_of(node), recording(node).items
    end = start + len(node.items)
    faults: list[PairingError] = []

    def scan(_: object, before: _Scanned | None) -> _Scanned:
        known = before or (start, start, ())
        first, count, last_calls = known
        # No call is open before a user message: that would have been a fault.
        clean = start == first or (start > first and node.items[0].role == "user")
        if clean and count > end and whole[end].plain and whole[end].role == "user":
            return known
        if not clean or not start <= count <= end:
            first, count, last_calls = start, start, ()
        open_calls.update(dict.fromkeys(last_calls, node))
        fault = _scan_from(node, count - start, open_calls)
        if fault is not None:
            faults.append(fault)
        return known if fault is not None or count == end else (first, end, tuple(open_calls))

    remember(node, _scan, scan)
    return faults[0] if faults else None


_Scanned: TypeAlias = tuple[int, int, tuple[str, ...]]
"""The first and last index of recorded messages that are in pairs, and the open calls there."""


def _scan_from(node: RecordedNode, start: int, open_calls: OpenCalls) -> PairingError | None:
    messages: tuple[Message, ...] = node.items
    for message in messages[start:] if start else messages:
        if message.plain is not None and not open_calls:
            continue
        content = message.content
        if len(content) == 1:
            block = content[0]
            if type(block) is ToolUseBlock and not open_calls and message.role == "assistant":
                open_calls[block.id] = node
                continue
            if type(block) is ToolResultBlock:
                if block.tool_use_id in open_calls:
                    del open_calls[block.tool_use_id]
                    continue
            elif not open_calls:
                continue
        fault = _take(_recorded_step(message, node), open_calls)
        if fault is not None:
            return fault
    return None


def _take(step: _Step, open_calls: OpenCalls) -> PairingError | None:
    """Remove the calls that a turn answers from the open calls, and add the calls it makes."""
    for id in step.answers:
        if id not in open_calls:
            return PairingError(
                f"the result {id!r} answers no open call",
                fix='write it directly after the turn with the call, or set tool_pairing="prune"',
                at=(step.node.source,),
            )
        del open_calls[id]
    if open_calls and step.speaks:
        id, caller = next(iter(open_calls.items()))
        calls = (part for part, _ in walk(caller) if isinstance(part, ToolUseNode))
        call = next((call for call in calls if call.block.id == id), caller)
        return PairingError(
            f"the call {id!r} has no result before the next turn",
            fix=f'answer it: ToolMessage({id!r}, ...), or set tool_pairing="fill" or "prune"',
            at=(call.source, step.node.source),
        )
    for id in step.calls:
        if id in open_calls:
            return PairingError(
                f"the call id {id!r} is used twice in one turn",
                fix="give each call of a turn an id of its own",
                at=(step.node.source,),
            )
        open_calls[id] = step.node
    return None


def _written_step(node: Node) -> _Step:
    role = node.role if isinstance(node, TurnNode) and node.kind == "written" else None
    speaks = role == "assistant" or (role == "user" and has_content(node.content))
    return _Step(node, calls_of(node), answers_of(node), speaks)


def _recorded_step(message: Message, node: RecordedNode) -> _Step:
    asks = message.role == "user" and message.kind in CONVERSATION
    return _Step(node, calls_in(message), answers_in(message), asks or message.role == "assistant")


# Repairing: turn by turn.


@attrs.define(eq=False, repr=False)
class _Batch:
    """The calls of a turn: its index, the ids of its open calls, the index after its results."""

    caller: int
    open: list[str]
    end: int


def _repaired(root: RootNode, *, fill: bool) -> list[Node]:
    steps: list[_Step] = []
    for child in root.content:
        if not isinstance(child, RecordedNode):
            steps.append(_written_step(child))
            continue
        for index, message in enumerate(child.items):
            steps.append(_recorded_step(message, cut(child, index, index + 1)))
    turns: list[Node] = []
    batch: _Batch | None = None
    for step in steps:
        open_calls = batch.open if batch is not None else []
        if batch is not None and step.speaks:
            batch.open = _unanswered(open_calls, step.answers)
            _close(turns, batch, fill=fill)
            batch = None
        node = _with_results(step.node, step.answers, open_calls)
        if node is None:
            continue
        turns.append(node)
        if batch is not None and step.answers:
            batch.open = _unanswered(batch.open, step.answers)
            batch.end = len(turns)
        if step.calls:
            batch = _Batch(len(turns) - 1, list(step.calls), len(turns))
    if batch is not None:
        _close(turns, batch, fill=fill)
    return turns


def _unanswered(open_calls: list[str], answers: tuple[str, ...]) -> list[str]:
    """Return the open calls without the answered ones; an answer removes one call of its id."""
    return list((Counter(open_calls) - Counter(answers)).elements())


def _close(turns: list[Node], batch: _Batch, *, fill: bool) -> None:
    """Answer the open calls of a batch, or remove them from their turn."""
    if fill:
        turns[batch.end : batch.end] = [
            make(
                ToolTurnNode,
                (INTERRUPTED,),
                mask=bits(TURN | SPOKEN, bits(RESULT | TEXT)),
                at=turns[batch.caller].at,
                role="tool",
                kind="written",
                tool_use_id=id,
                is_error=True,
                error_type="interrupted",
            )
            for id in batch.open
        ]
    elif batch.open:
        caller = _without_calls(turns[batch.caller], batch.open)
        turns[batch.caller : batch.caller + 1] = [] if caller is None else [caller]


def _without_calls(node: Node, ids: Iterable[str]) -> Node | None:
    """Return a turn without calls of these ids; of several calls with one id, the last go."""
    calls = calls_in(node.items[0]) if isinstance(node, RecordedNode) else calls_of(node)

    def call_id(part: Node | Block) -> str | None:
        block = part.block if isinstance(part, ToolUseNode) else part
        return block.id if isinstance(block, ToolUseBlock) else None

    return _reduced(node, call_id, Counter(calls) - Counter(ids))


def _with_results(node: Node, answers: tuple[str, ...], open_calls: list[str]) -> Node | None:
    """Return a turn with only the first result of each open call."""
    left = Counter(open_calls)
    if Counter(answers) <= left:
        return node
    if isinstance(node, ToolTurnNode):
        return None

    def result_id(part: Node | Block) -> str | None:
        return part.tool_use_id if isinstance(part, ToolResultNode | ToolResultBlock) else None

    return _reduced(node, result_id, left)


def _reduced(
    node: Node, id_of: Callable[[Node | Block], str | None], left: Counter[str]
) -> Node | None:
    """Return a turn with at most ``left`` parts of each id, ``None`` when it becomes empty."""

    def stays(part: Node | Block) -> bool:
        id = id_of(part)
        if id is not None:
            left[id] -= 1
        return id is None or left[id] >= 0

    if isinstance(node, RecordedNode):
        message = node.items[0]
        content = tuple(block for block in message.content if stays(block))
        return replace(node, items=(message.replace(content=content),)) if content else None
    changed = rewrite(node, lambda part: part if stays(part) else None, within=WITHIN)
    return changed if changed.content else None
