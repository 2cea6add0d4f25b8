"""Pair: every tool call is answered by exactly one result before the next assistant turn."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

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
from promptdsl.tree.rewrite import replace, rewrite, says_something, with_content
from promptdsl.tree.turn_nodes import RecordedNode, ToolTurnNode, TurnNode

INTERRUPTED = "The tool call was interrupted before it returned a result."
WITHIN = (CALL | RESULT) << SHIFT
PAIRED = WITHIN | RECORDED


class _Unit(NamedTuple):
    """A turn as pairing sees it: the calls it makes, the calls it answers, whether it says more."""

    node: Any
    calls: tuple[str, ...]
    answers: tuple[str, ...]
    speaks: bool


class _Fault(NamedTuple):
    what: str
    fix: str
    at: tuple[object, ...]


def pair(root: Node, *, mode: Literal["error", "fill", "prune"]) -> Node:
    """Return the tree with its tool calls and results in pairs.

    The last calls of a conversation may be open. ``mode`` says what is done about a call without a
    result and a result without a call: ``error`` raises :class:`PairingError` with the line,
    ``fill`` answers the call with an error of type ``interrupted``, ``prune`` removes it; both
    remove a result that answers nothing.
    """
    waiting: dict[str, Any] = {}
    fault = _first_fault(root, waiting)
    if fault is None and (mode == "error" or not waiting):
        return root
    if mode == "error" and fault is not None:
        raise PairingError(fault.what, fix=fault.fix, at=fault.at)
    return with_content(root, tuple(_repaired(root, fill=mode == "fill")))


# Looking for a fault: one scan, most turns passed over by their mask.


def _first_fault(root: Node, waiting: dict[str, Any]) -> _Fault | None:
    """Return what is wrong first; without a fault ``waiting`` holds the last calls, if open."""
    for child in root.content:
        mask = child.mask
        if not mask & PAIRED and not waiting:
            continue
        if mask & RECORDED:
            fault = _scan(child, waiting)
        elif type(child) is ToolTurnNode and child.tool_use_id in waiting:
            # A call and its answer, as nearly all are.
            del waiting[child.tool_use_id]
            continue
        elif len(child.content) == 1 and type(child.content[0]) is ToolUseNode and not waiting:
            waiting[child.content[0].block.id] = child
            continue
        else:
            fault = _step(_unit(child), waiting)
        if fault is not None:
            return fault
    return None


def _scan(node: Any, waiting: dict[str, Any]) -> _Fault | None:
    """Move past a recording; what was found of its beginning the last time is not looked at."""
    if waiting or len(node.items) < conversation_cache.SHORTEST:
        return _scan_from(node, 0, waiting)
    start, whole = first_of(node), recording(node).items
    end = start + len(node.items)
    faults: list[_Fault] = []

    def scan(_: object, before: _Scanned | None) -> _Scanned | None:
        first, count, open_calls = before or (start, start, ())
        # Where a user asks no call is open: that was a fault.
        clean = start == first or (start > first and node.items[0].role == "user")
        if clean and count > end and whole[end].plain and whole[end].role == "user":
            return before
        if not clean or not start <= count <= end:
            first, count, open_calls = start, start, ()
        waiting.update(dict.fromkeys(open_calls, node))
        fault = _scan_from(node, count - start, waiting)
        if fault is not None:
            faults.append(fault)
        return before if fault is not None or count == end else (first, end, tuple(waiting))

    remember(node, _scan, scan)
    return faults[0] if faults else None


_Scanned = tuple[int, int, tuple[str, ...]]
"""From which message to which one a recording pairs, and the calls that are open there."""


def _scan_from(node: Any, start: int, waiting: dict[str, Any]) -> _Fault | None:
    for message in node.items[start:] if start else node.items:
        if message.plain is not None and not waiting:
            continue
        content = message.content
        if len(content) == 1:
            block = content[0]
            kind = type(block)  # pyright: ignore[reportUnknownVariableType]
            if kind is ToolUseBlock and not waiting and message.role == "assistant":
                waiting[block.id] = node
                continue
            if kind is ToolResultBlock and block.tool_use_id in waiting:
                del waiting[block.tool_use_id]
                continue
            if not waiting and kind is not ToolResultBlock:
                continue
        fault = _step(_recorded(message, node), waiting)
        if fault is not None:
            return fault
    return None


def _step(unit: _Unit, waiting: dict[str, Any]) -> _Fault | None:
    """Move past a turn: ``waiting`` holds the open calls and the turn that made each."""
    for id in unit.answers:
        if id not in waiting:
            return _orphan(unit.node, id)
        del waiting[id]
    if waiting and unit.speaks:
        return _unanswered(waiting, unit.node)
    for id in unit.calls:
        if id in waiting:
            return _Fault(
                f"the call id {id!r} is used twice in one turn",
                "give each call of a turn an id of its own",
                (_place(unit.node),),
            )
        waiting[id] = unit.node
    return None


def _orphan(node: Any, id: str) -> _Fault:
    return _Fault(
        f"the result {id!r} answers no open call",
        'write it directly behind the turn that calls, or set tool_pairing="prune"',
        (_place(node),),
    )


def _unanswered(waiting: dict[str, Any], node: Any) -> _Fault:
    id, caller = next(iter(waiting.items()))
    return _Fault(
        f"the call {id!r} has no result before the next turn",
        f'answer it: ToolMessage({id!r}, ...), or set tool_pairing="fill" or "prune"',
        (_place(caller, id), _place(node)),
    )


def _place(node: Any, id: str | None = None) -> object:
    if id is not None:
        for part, _ in walk(node):
            if isinstance(part, ToolUseNode) and part.block.id == id:
                return part.source
    return node.source


def _unit(node: Any) -> _Unit:
    role = node.role if isinstance(node, TurnNode) and node.kind == "written" else None
    speaks = role == "assistant" or (role == "user" and says_something(node))
    return _Unit(node, calls_of(node), answers_of(node), speaks)


def _recorded(message: Message, node: Node) -> _Unit:
    said = message.kind in CONVERSATION
    speaks = message.role == "assistant" or (message.role == "user" and said)
    return _Unit(node, calls_in(message), answers_in(message), speaks)


# Repairing: turn by turn.


def _units(root: Node) -> Iterator[_Unit]:
    for child in root.content:
        if not isinstance(child, RecordedNode):
            yield _unit(child)
            continue
        for index, message in enumerate(child.items):
            part = cut(child, index, index + 1)
            yield _recorded(message, part)


@attrs.define(eq=False, repr=False)
class _Batch:
    """The calls of one turn: where it stands in the output, what is open, where results end."""

    caller: int
    open: list[str]
    end: int


def _repaired(root: Node, *, fill: bool) -> list[Node]:
    out: list[Node] = []
    batch: _Batch | None = None
    for unit in _units(root):
        known = batch.open if batch is not None else []
        if batch is not None and unit.speaks:
            batch.open = _rest(known, unit.answers)
            _close(out, batch, fill=fill)
            batch = None
        node = _with_results(unit.node, unit.answers, known)
        if node is None:
            continue
        out.append(node)
        if batch is not None and unit.answers:
            batch.open = _rest(batch.open, unit.answers)
            batch.end = len(out)
        if unit.calls:
            batch = _Batch(len(out) - 1, list(unit.calls), len(out))
    if batch is not None:
        _close(out, batch, fill=fill)
    return out


def _rest(open_calls: list[str], answers: tuple[str, ...]) -> list[str]:
    """Return the open calls without one for each answer."""
    return list((Counter(open_calls) - Counter(answers)).elements())


def _close(out: list[Node], batch: _Batch, *, fill: bool) -> None:
    """Answer the open calls of a batch, or take them out of the turn that made them."""
    if fill:
        at = out[batch.caller].at
        out[batch.end : batch.end] = [_interrupted(id, at) for id in batch.open]
    elif batch.open:
        caller = _without_calls(out[batch.caller], batch.open)
        out[batch.caller : batch.caller + 1] = [] if caller is None else [caller]


def _interrupted(id: str, at: Any) -> ToolTurnNode:
    return make(
        ToolTurnNode,
        (INTERRUPTED,),
        mask=bits(TURN | SPOKEN, bits(RESULT | TEXT)),
        at=at,
        role="tool",
        kind="written",
        tool_use_id=id,
        is_error=True,
        error_type="interrupted",
    )


def _without_calls(node: Node, ids: Iterable[str]) -> Node | None:
    """Return a turn without calls of these ids, the last ones where an id is used several times."""
    unit = _unit(node) if isinstance(node, TurnNode) else _recorded(node.items[0], node)  # type: ignore[attr-defined]
    left = Counter(unit.calls) - Counter(ids)

    def stays(id: str) -> bool:
        kept = left[id] > 0
        left[id] -= 1
        return kept

    if isinstance(node, RecordedNode):
        return _filtered(node, lambda b: not isinstance(b, ToolUseBlock) or stays(b.id))
    return _kept(node, lambda n: isinstance(n, ToolUseNode) and not stays(n.block.id))


def _with_results(node: Node, answers: tuple[str, ...], known: list[str]) -> Node | None:
    """Return a turn with the first result of each open call, and no other result."""
    left = Counter(known)
    if Counter(answers) <= left:
        return node
    if isinstance(node, ToolTurnNode):
        return None

    def is_first(id: str) -> bool:
        first = left[id] > 0
        left[id] -= 1
        return first

    if isinstance(node, RecordedNode):
        return _filtered(
            node, lambda b: not isinstance(b, ToolResultBlock) or is_first(b.tool_use_id)
        )
    return _kept(node, lambda n: isinstance(n, ToolResultNode) and not is_first(n.tool_use_id))


def _filtered(node: RecordedNode, keep: Callable[[Block], bool]) -> Node | None:
    message = node.items[0]
    content = tuple(block for block in message.content if keep(block))
    if not content:
        return None
    return replace(node, items=(message.replace(content=content),))


def _kept(node: Node, unwanted: Callable[[Node], bool]) -> Node | None:
    changed = rewrite(node, lambda n: None if unwanted(n) else n, within=WITHIN)
    return changed if changed.content else None
