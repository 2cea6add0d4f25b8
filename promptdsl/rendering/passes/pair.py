"""Pair: make every tool call have exactly one result before the next assistant turn.

First comes the check, which is fast and finds no fault in most prompts. Then comes the repair.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, islice
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import attrs

from promptdsl.foundation.author_text import INTERRUPTED
from promptdsl.foundation.errors import PairingError, nearest
from promptdsl.foundation.frozen import new_dict, new_list
from promptdsl.foundation.source import Source
from promptdsl.messages import Block, ToolResultBlock, ToolUseBlock, conversation_cache
from promptdsl.messages.message import Message, answers_in, only_text, results_in
from promptdsl.messages.pairing import OpenCalls, Step, calls_in, closes_calls, new_calls, step_of
from promptdsl.tree.masks import CALL, RECORDED, RESULT, SHIFT, SPOKEN, TEXT, TURN, bits
from promptdsl.tree.node import Node, make, walk
from promptdsl.tree.part_nodes import ToolResultNode, ToolUseNode
from promptdsl.tree.recorded import answers_of, calls_of, cut, first_of, remember
from promptdsl.tree.rewrite import has_content, replace, rewrite, with_content
from promptdsl.tree.turn_nodes import RecordedNode, RootNode, ToolTurnNode, TurnNode

PAIRING_OPTION = 'render(..., transformation={{"tool_pairing": "{}"}})'
"""The advice to set another mode, whose name replaces ``{}``."""

HAS_CALLS_OR_RESULTS = (CALL | RESULT) << SHIFT
"""The deep bits of a node that is, or contains, a call or a result."""
NEEDS_CHECK = HAS_CALLS_OR_RESULTS | RECORDED
"""The bits of a turn that the check reads, even if no call is open."""

Mode: TypeAlias = Literal["error", "fill", "prune", "keep"]


def pair(root: RootNode, *, mode: Mode) -> RootNode:
    """Return the tree with its tool calls and results in pairs.

    Only the last calls of a conversation may be open. Another call without a result is a fault, and
    so is a result without a call:

    - ``mode="error"`` raises :class:`PairingError` with the line.
    - ``fill`` adds a result, an error of type ``interrupted``, and removes a result without a call.
    - ``prune`` removes the call, and a result without a call.
    - ``keep`` changes nothing, for a prompt whose calls or results are stored elsewhere.

    :func:`removed_by_pairing` lists the calls and results that were removed.
    """
    if mode == "keep":
        return root
    if mode == "error":
        _check(root)
        return root
    # The two other modes also change the last calls, which may be open: ``_check`` returns these.
    try:
        in_pairs = not _check(root)
    except PairingError:
        in_pairs = False
    if in_pairs:
        return root
    return with_content(root, tuple(_Repair(fill=mode == "fill").repaired(root)))


_Location: TypeAlias = tuple[int, str]
"""The location of a turn or recorded message: its position before pairing, and its address."""


class RemovedPart(NamedTuple):
    """A call or a result that pairing removed.

    ``turn`` is its turn or recorded message without any other content. ``source`` is the line of
    the call or result. ``location`` is the location of the turn before pairing. ``why`` is the
    reason.
    """

    turn: TurnNode | RecordedNode
    source: Source | None
    location: _Location
    why: str


def removed_by_pairing(root: RootNode, *, mode: Mode) -> list[RemovedPart]:
    """Return the calls and results that pairing removes from a tree, in document order."""
    repair = _Repair(fill=mode == "fill")
    repair.repaired(root)
    return sorted(repair.removed, key=attrgetter("location"))


# The check: one scan for a fault, which skips most turns by their mask.

_Calls: TypeAlias = OpenCalls[Node]
"""The open calls, each with the turn that made it."""


def _check(root: RootNode) -> _Calls:
    """Return the calls that are open at the end; raise :class:`PairingError` for a fault."""
    open_calls: _Calls = OpenCalls()
    for child in root.content:
        if isinstance(child, RecordedNode):
            _check_recording(child, open_calls)
        elif child._mask & NEEDS_CHECK or open_calls:
            _take(_written_step(child), child, open_calls)
    return open_calls


class _CheckedRun(NamedTuple):
    """The index up to which recorded messages are in pairs, and the ids of calls open there."""

    stop: int
    open: Sequence[str]


def _check_recording(node: RecordedNode, open_calls: _Calls) -> None:
    """Check a recording. The next request checks only its new messages."""
    if open_calls or len(node.items) < conversation_cache.SHORTEST:
        _check_messages(node.items, node, open_calls)
        return
    start = first_of(node)

    def check(messages: Sequence[Message], before: _CheckedRun | None) -> _CheckedRun:
        checked = before or _CheckedRun(start, ())
        if checked.stop > len(messages):  # an earlier request had more messages: check all
            checked = _CheckedRun(start, ())
        for id in checked.open:
            open_calls.add(id, node)
        _check_messages(messages[checked.stop :], node, open_calls)
        return _CheckedRun(len(messages), tuple(open_calls))

    remember(node, (_check_recording, start), check)


def _check_messages(messages: Iterable[Message], node: Node, open_calls: _Calls) -> None:
    """Check recorded messages, and keep the open calls up to date."""
    for message in messages:
        if message._plain is not None and not open_calls:
            continue
        answers = answers_in(message)
        # A message of the user or the model closes all calls (``messages/pairing.py``). A message
        # with a single result does not: recorded results may each be in a message of their own.
        closes = closes_calls(message) and not (answers and len(message.content) == 1)
        _take(Step(calls_in(message), answers, closes), node, open_calls)


def _take(step: Step, turn: Node, open_calls: _Calls) -> None:
    """Remove the calls that a turn answers from the open calls, and add the calls it makes."""
    for id in step.answers:
        if open_calls.answer(id) is None:
            raise PairingError(
                f"there is no open tool call for the result {id!r}",
                fix=_swapped(turn, id, open_calls) or _advice(id, open_calls),
                at=(turn.source,),
            )
    if step.closes and open_calls:
        raise _unanswered(open_calls, turn)
    for id in step.calls:
        if id in open_calls:
            raise PairingError(
                f"the call id {id!r} is used twice in one turn",
                fix="give each call of a turn an id of its own",
                at=(turn.source,),
            )
        open_calls.add(id, turn)


def _unanswered(open_calls: _Calls, turn: Node) -> PairingError:
    """Return the error for calls without a result before a turn, with the line of the first."""
    id, (caller,) = next(iter(open_calls.items()))
    calls = (node for node, _ in walk(caller) if isinstance(node, ToolUseNode))
    call = next((call for call in calls if call.block.id == id), caller)
    return PairingError(
        f"the call {id!r} has no result before the next turn",
        fix=f"answer it: ToolMessage({id!r}, ...), or {PAIRING_OPTION.format('fill')}",
        at=(call.source, turn.source),
    )


def _swapped(turn: Node, id: str, open_calls: _Calls) -> str | None:
    """Return the advice for a result whose text is the id of a call: swap its two arguments."""
    function = "ToolMessage"
    contents: list[tuple[object, ...]]
    contents = [node.content for node, _ in walk(turn) if _result_id(node) == id]
    if isinstance(turn, RecordedNode):
        function = "Message.tool_result"
        results = (result for message in turn.items for result in results_in(message))
        contents = [(only_text(result.content),) for result in results if _result_id(result) == id]
    for call in open_calls:
        if (call,) in contents:
            return f"the id of the call comes first: {function}({call!r}, ...)"
    return None


def _advice(id: str, open_calls: _Calls) -> str:
    """Return the advice for a result that answers no open call."""
    nearest_id = nearest(id, open_calls)
    if nearest_id.startswith("did"):  # "did you mean": there is a similar id
        return nearest_id
    if open_calls and " " in id:  # the "id" is probably the text of the result
        return f"the id of the call comes first: ToolMessage({next(iter(open_calls))!r}, ...)"
    advice = f"write it directly after the turn with the call, or {PAIRING_OPTION.format('prune')}"
    if open_calls:
        open_ids = ", ".join(map(repr, islice(open_calls, 3)))
        advice += f"; the open calls are: {open_ids}"
    return advice


def _written_step(node: Node) -> Step:
    role = _written_role(node)
    closes = role == "assistant" or (role == "user" and has_content(node.content))
    return Step(calls_of(node), answers_of(node), closes)


def _written_role(node: Node) -> str:
    """Return the role of a turn that an author wrote, ``""`` for any other node."""
    if isinstance(node, TurnNode) and node.kind == "written":
        return node.role
    return ""


# The repair: turn by turn.


class _Located(NamedTuple):
    """A turn or a recorded message, and its location before pairing."""

    node: Node
    step: Step
    location: _Location


@attrs.define(eq=False, repr=False)
class _Repair:
    """The repair of a tree: the turns so far, and what was removed from them."""

    fill: bool
    turns: list[Node] = attrs.field(factory=new_list)
    removed: list[RemovedPart] = attrs.field(factory=new_list)
    fates: dict[str, str] = attrs.field(factory=new_dict)
    """The reason to remove one more result of a call, by the id of the call."""
    open_calls: OpenCalls[str] = attrs.field(factory=new_calls)
    caller: _Located | None = None
    """The last turn that makes calls."""
    index: int = 0
    """The index of that turn among the turns so far."""
    end: int = 0
    """The index after the last results of its calls."""

    def repaired(self, root: RootNode) -> list[Node]:
        """Return the turns of a tree, in pairs."""
        for turn in _located_turns(root):
            self._add(turn)
        self._close()
        return self.turns

    def _add(self, turn: _Located) -> None:
        """Add a turn; its results that answer no open call are removed."""
        node, step, location = turn
        answered = Counter(id for id in step.answers if self.open_calls.answer(id) is not None)
        self.fates.update(dict.fromkeys(answered, "its call has a result already"))
        if step.closes:
            self._close()
        rest, removed_parts = _with_results(node, step.answers, answered)
        for call_or_result, id in removed_parts:
            why = self.fates.get(id, "no call before it has its id")
            self.removed.append(_removed(node, call_or_result, location, why))
        if rest is None:
            return
        self.turns.append(rest)
        if step.answers or step.calls:
            self.end = len(self.turns)
        if step.calls:
            # ``_close`` may have to remove calls from this turn, so keep it and its index.
            self.caller, self.index = turn._replace(node=rest), len(self.turns) - 1
        for id in step.calls:
            self.open_calls.add(id, id)

    def _close(self) -> None:
        """Answer the open calls, or remove them from their turn."""
        open_ids = self.open_calls.close()
        if self.caller is None or not open_ids:
            return
        node, step, location = self.caller
        self.fates.update(dict.fromkeys(open_ids, "it comes after the next turn"))
        if self.fill:
            self.turns[self.end : self.end] = [_interrupted(node, id) for id in open_ids]
            return
        rest, removed_calls = _reduced(node, _call_id, Counter(step.calls) - Counter(open_ids))
        for call, _ in removed_calls:
            self.removed.append(_removed(node, call, location, "it has no result"))
        if rest is None:
            del self.turns[self.index]
        else:
            self.turns[self.index] = rest


def _located_turns(root: RootNode) -> Iterator[_Located]:
    """Yield the turns and recorded messages of a tree, each with its location."""
    counts: Counter[str] = Counter()
    position = count()
    for child in root.content:
        if isinstance(child, RecordedNode):
            for index, message in enumerate(child.items):
                location = next(position), f"history[{child.start + index}]"
                yield _Located(cut(child, index, index + 1), step_of(message), location)
        else:
            role = _written_role(child)
            address = child.options.address if child.options.id else f"{role}[{counts[role]}]"
            yield _Located(child, _written_step(child), (next(position), address))
            counts[role] += 1


def _removed(node: Node, part: Node | Block, location: _Location, why: str) -> RemovedPart:
    turn: Any = node  # Any: a turn or a recording; these make and answer calls
    if isinstance(node, RecordedNode):
        turn = replace(node, items=(node.items[0].replace(content=(part,)),))
    elif part is not node:
        turn = with_content(node, (cast("Node", part),))
    return RemovedPart(turn, part.source if isinstance(part, Node) else node.source, location, why)


def _interrupted(caller: Node, id: str) -> ToolTurnNode:
    """Return the result that ``fill`` adds for an open call: an error."""
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


def _call_id(part: Node | Block) -> str | None:
    """Return the id of a call, ``None`` for other content."""
    if isinstance(part, ToolUseNode):
        return part.block.id
    return part.id if isinstance(part, ToolUseBlock) else None


def _result_id(part: Node | Block) -> str | None:
    """Return the id of the call that a result answers, ``None`` for other content."""
    if isinstance(part, ToolTurnNode | ToolResultNode | ToolResultBlock):
        return part.tool_use_id
    return None


_Reduced: TypeAlias = tuple[Node | None, list[tuple[Node | Block, str]]]
"""The rest of a turn, ``None`` if it becomes empty, and what was removed, with the ids of calls."""


def _with_results(node: Node, answers: Sequence[str], answered: Counter[str]) -> _Reduced:
    """Return a turn with only the first result of each call that it answers."""
    if len(answers) == answered.total():
        return node, []
    if isinstance(node, ToolTurnNode):
        return None, [(node, node.tool_use_id)]
    return _reduced(node, _result_id, answered)


def _reduced(
    node: Node, id_of: Callable[[Node | Block], str | None], counts: Counter[str]
) -> _Reduced:
    """Return a turn with the first ``counts[id]`` calls or results of each id.

    ``counts`` is changed. ``id_of`` returns the id of a call or result, ``None`` for other content,
    which stays.
    """
    removed_parts: list[tuple[Node | Block, str]] = []

    def stays(part: Node | Block) -> bool:
        id = id_of(part)
        if id is None:
            return True
        counts[id] -= 1
        if counts[id] < 0:
            removed_parts.append((part, id))
        return counts[id] >= 0

    rest: Node
    if isinstance(node, RecordedNode):
        message = node.items[0]
        content = tuple(block for block in message.content if stays(block))
        rest = replace(node, items=(message.replace(content=content),))
        return rest if content else None, removed_parts
    rest = rewrite(node, lambda inner: inner if stays(inner) else None, within=HAS_CALLS_OR_RESULTS)
    return rest if rest.content else None, removed_parts
