"""Pair: every tool call is answered by exactly one result before the next assistant turn."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import count, islice
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import attrs

from promptdsl.foundation.errors import PairingError, nearest
from promptdsl.foundation.notice import INTERRUPTED
from promptdsl.foundation.source import Source
from promptdsl.messages import Block, TextBlock, ToolResultBlock, ToolUseBlock, conversation_cache
from promptdsl.messages.message import Message
from promptdsl.messages.roles import CONVERSATION
from promptdsl.tree.calls import answers_in, answers_of, calls_in, calls_of
from promptdsl.tree.masks import CALL, RECORDED, RESULT, SHIFT, SPOKEN, TEXT, TURN, bits
from promptdsl.tree.node import Node, make, walk
from promptdsl.tree.part_nodes import ToolResultNode, ToolUseNode
from promptdsl.tree.recorded import cut, first_of, recording, remember
from promptdsl.tree.rewrite import has_content, replace, rewrite, with_content
from promptdsl.tree.turn_nodes import RecordedNode, RootNode, ToolTurnNode, TurnNode

SET = 'render(..., transformation={{"tool_pairing": "{}"}})'

WITHIN = (CALL | RESULT) << SHIFT
PAIRED = WITHIN | RECORDED


class _Step(NamedTuple):
    """A turn in pairing: the ids of the calls it makes and of the calls it answers.

    A turn ``speaks`` if it has other content of an assistant or a user. After it, open calls cannot
    be answered any more.
    """

    node: Node
    calls: tuple[str, ...]
    answers: tuple[str, ...]
    speaks: bool


OpenCalls: TypeAlias = dict[str, Node]
"""The ids of calls without a result so far, each with the turn that made it."""


Mode: TypeAlias = Literal["error", "fill", "prune", "keep"]


def pair(root: RootNode, *, mode: Mode) -> RootNode:
    """Return the tree with its tool calls and results in pairs.

    Only the last calls of a conversation may be open. For other calls without a result and for
    results without a call, ``mode="error"`` raises :class:`PairingError` with the line. ``fill``
    adds a result, an error of type ``interrupted``; ``prune`` removes the call; both remove a
    result without a call. :func:`removed_by_pairing` lists what they removed. ``keep`` changes
    nothing: the rest of the conversation is stored elsewhere.
    """
    if mode == "keep":
        return root
    open_calls: OpenCalls = {}
    fault = _first_fault(root, open_calls)
    if fault is None and (mode == "error" or not open_calls):
        return root
    if mode == "error" and fault is not None:
        raise fault
    return with_content(root, tuple(_Repair(fill=mode == "fill").repaired(root)))


_Location: TypeAlias = tuple[int, str]
"""The location of a turn or recorded message: its number before pairing, and its address."""


class Removed(NamedTuple):
    """A call or a result that pairing removed, as the only part of its turn or message.

    ``source`` is its line, ``place`` the location of its turn in the tree before pairing.
    """

    turn: TurnNode | RecordedNode
    source: Source | None
    location: _Location
    why: str


def removed_by_pairing(root: RootNode, *, mode: Mode) -> list[Removed]:
    """Return the calls and results that pairing removes from a tree, in document order."""
    repair = _Repair(fill=mode == "fill")
    repair.repaired(root)
    return sorted(repair.removed, key=attrgetter("location"))


# Looking for a fault: one scan that skips most turns by their mask.


def _first_fault(root: RootNode, open_calls: OpenCalls) -> PairingError | None:
    """Return the first fault; without a fault, the last open calls are in ``open_calls``."""
    for child in root.content:
        if not child._mask & PAIRED and not open_calls:
            continue
        if isinstance(child, RecordedNode):
            fault = _scan(child, open_calls)
        elif isinstance(child, ToolTurnNode) and child.tool_use_id in open_calls:
            # The usual case: a call and its answer.
            del open_calls[child.tool_use_id]
            continue
        elif (
            not open_calls and len(child.content) == 1 and isinstance(child.content[0], ToolUseNode)
        ):
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
    start, recorded_messages = first_of(node), recording(node).items
    end = start + len(node.items)
    faults: list[PairingError] = []

    def scan(_: object, before: _Scanned | None) -> _Scanned:
        known = before or (start, start, ())
        first, count, last_calls = known
        # No call is open before a user message: that would have been a fault.
        clean = start == first or (start > first and node.items[0].role == "user")
        if (
            clean
            and count > end
            and recorded_messages[end]._plain
            and recorded_messages[end].role == "user"
        ):
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
        if message._plain is not None and not open_calls:
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
                f"no tool call is waiting for the result {id!r}",
                fix=_swapped(step.node, id, open_calls) or _advice(id, open_calls),
                at=(step.node.source,),
            )
        del open_calls[id]
    if open_calls and step.speaks:
        id, caller = next(iter(open_calls.items()))
        calls = (part for part, _ in walk(caller) if isinstance(part, ToolUseNode))
        call = next((call for call in calls if call.block.id == id), caller)
        return PairingError(
            f"the call {id!r} has no result before the next turn",
            fix=f"answer it: ToolMessage({id!r}, ...), or {SET.format('fill')}",
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


def _swapped(turn: Node, id: str, open_calls: OpenCalls) -> str | None:
    """Return the advice for a result whose text is the id of a call: its arguments are swapped."""
    if isinstance(turn, RecordedNode):
        blocks = (block for message in turn.items for block in message.content)
        results = [block for block in blocks if isinstance(block, ToolResultBlock)]
        contents = [block.content for block in results if block.tool_use_id == id]
        swapped = next((call for call in open_calls if (TextBlock(call),) in contents), None)
        function = "Message.tool_result"
    else:
        parts = [part for part, _ in walk(turn) if isinstance(part, ToolTurnNode | ToolResultNode)]
        texts = [part.content for part in parts if part.tool_use_id == id]
        swapped = next((call for call in open_calls if (call,) in texts), None)
        function = "ToolMessage"
    if swapped is None:
        return None
    return f"the id of the call comes first: {function}({swapped!r}, ...)"


def _advice(id: str, open_calls: OpenCalls) -> str:
    near = nearest(id, open_calls)
    if near.startswith("did"):
        return near
    if open_calls and " " in id:
        return f"the id of the call comes first: ToolMessage({next(iter(open_calls))!r}, ...)"
    after = f"write it directly after the turn with the call, or {SET.format('prune')}"
    waiting = ", ".join(map(repr, islice(open_calls, 3)))
    return f"{after}; the open calls are: {waiting}" if waiting else after


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
    """The calls of a turn: its index, its open calls by id, the index after its results.

    ``place`` is the location of the turn before pairing.
    """

    caller: int
    open: Counter[str]
    end: int
    location: _Location


class _Repair:
    """The repair of a tree: the turns so far, and what was removed from them."""

    def __init__(self, *, fill: bool) -> None:
        self.fill = fill
        self.turns: list[Node] = []
        self.removed: list[Removed] = []
        self.fates: dict[str, str] = {}
        """The reason why a further result of a call is removed, by the id of the call."""

    def repaired(self, root: RootNode) -> list[Node]:
        """Return the turns of a tree, in pairs."""
        turns = self.turns
        batch: _Batch | None = None
        for step, location in _located_steps(root):
            answered: Counter[str] = Counter()
            if batch is not None:
                answered = Counter(step.answers) & Counter(
                    {id: batch.open[id] for id in step.answers}
                )
                batch.open.subtract(answered)
                self.fates.update(dict.fromkeys(answered, "its call has a result already"))
                if step.speaks:
                    self._close(batch)
                    batch = None
            node, removed_parts = _with_results(step.node, step.answers, answered)
            for part, id in removed_parts:
                why = self.fates.get(id, "no call before it has its id")
                self.removed.append(_removed(step.node, part, location, why))
            if node is None:
                continue
            turns.append(node)
            if batch is not None and step.answers:
                batch.end = len(turns)
            if step.calls:
                batch = _Batch(len(turns) - 1, Counter(step.calls), len(turns), location)
        if batch is not None:
            self._close(batch)
        return turns

    def _close(self, batch: _Batch) -> None:
        """Answer the open calls of a batch, or remove them from their turn."""
        turns, caller = self.turns, self.turns[batch.caller]
        open_calls = [*batch.open.elements()]
        self.fates.update(dict.fromkeys(open_calls, "it comes after the next turn"))
        if self.fill:
            turns[batch.end : batch.end] = [_interrupted(caller, id) for id in open_calls]
        elif open_calls:
            rest, removed_calls = _without_calls(caller, open_calls)
            why = "it has no result"
            self.removed += [
                _removed(caller, part, batch.location, why) for part, _ in removed_calls
            ]
            turns[batch.caller : batch.caller + 1] = [] if rest is None else [rest]


def _located_steps(root: RootNode) -> Iterator[tuple[_Step, _Location]]:
    """Yield the turns and recorded messages of a tree, each with its location."""
    counts: Counter[str] = Counter()
    number = count()
    for child in root.content:
        if isinstance(child, RecordedNode):
            for index, message in enumerate(child.items):
                step = _recorded_step(message, cut(child, index, index + 1))
                yield step, (next(number), f"history[{child.start + index}]")
        else:
            role = child.role if isinstance(child, TurnNode) and child.kind == "written" else ""
            address = child.options.address if child.options.id else f"{role}[{counts[role]}]"
            yield _written_step(child), (next(number), address)
            counts[role] += 1


def _removed(node: Node, part: Node | Block, location: _Location, why: str) -> Removed:
    turn: Any = node  # Any: a turn or a recording; these make and answer calls
    if isinstance(node, RecordedNode):
        turn = replace(node, items=(node.items[0].replace(content=(part,)),))
    elif part is not node:
        turn = with_content(node, (cast("Node", part),))
    return Removed(turn, part.source if isinstance(part, Node) else node.source, location, why)


def _interrupted(caller: Node, id: str) -> ToolTurnNode:
    return make(
        ToolTurnNode,
        (INTERRUPTED,),
        mask=bits(TURN | SPOKEN, bits(RESULT | TEXT)),
        at=caller._at,
        role="tool",
        kind="written",
        tool_use_id=id,
        is_error=True,
        error_type="interrupted",
    )


_Reduced: TypeAlias = tuple[Node | None, list[tuple[Node | Block, str]]]
"""The rest of a turn, ``None`` when it becomes empty, and its removed parts with their ids."""


def _without_calls(node: Node, ids: Iterable[str]) -> _Reduced:
    """Return a turn without calls of these ids; of calls with one id, the last ones are removed."""
    calls = calls_in(node.items[0]) if isinstance(node, RecordedNode) else calls_of(node)

    def call_id(part: Node | Block) -> str | None:
        block = part.block if isinstance(part, ToolUseNode) else part
        return block.id if isinstance(block, ToolUseBlock) else None

    return _reduced(node, call_id, Counter(calls) - Counter(ids))


def _with_results(node: Node, answers: tuple[str, ...], answered: Counter[str]) -> _Reduced:
    """Return a turn with only the first result of each call that it answers."""
    if len(answers) == answered.total():
        return node, []
    if isinstance(node, ToolTurnNode):
        return None, [(node, node.tool_use_id)]

    def result_id(part: Node | Block) -> str | None:
        return part.tool_use_id if isinstance(part, ToolResultNode | ToolResultBlock) else None

    return _reduced(node, result_id, answered)


def _reduced(
    node: Node, id_of: Callable[[Node | Block], str | None], left: Counter[str]
) -> _Reduced:
    """Return a turn with at most ``left`` parts of each id."""
    removed_parts: list[tuple[Node | Block, str]] = []

    def stays(part: Node | Block) -> bool:
        id = id_of(part)
        if id is None:
            return True
        left[id] -= 1
        if left[id] < 0:
            removed_parts.append((part, id))
        return left[id] >= 0

    rest: Node
    if isinstance(node, RecordedNode):
        message = node.items[0]
        content = tuple(block for block in message.content if stays(block))
        rest = replace(node, items=(message.replace(content=content),))
        return rest if content else None, removed_parts
    rest = rewrite(node, lambda part: part if stays(part) else None, within=WITHIN)
    return rest if rest.content else None, removed_parts
