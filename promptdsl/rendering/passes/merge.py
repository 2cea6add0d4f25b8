"""Merge: join neighbouring turns of one role to one turn, which becomes one message."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeAlias, cast

from promptdsl.messages import conversation_cache
from promptdsl.messages.details import CONVERSATION, FLEETING, Kind, Role
from promptdsl.messages.message import Message
from promptdsl.tree.masks import RECORDED
from promptdsl.tree.recorded import cut, first_of, remember
from promptdsl.tree.rewrite import make_turn, with_content
from promptdsl.tree.turn_nodes import MergedNode, RecordedNode, RootNode, TurnNode


def merge(root: RootNode, *, enabled: bool) -> RootNode:
    """Return the tree with neighbouring turns of one role joined.

    Tool turns, turns with ``merge=False`` and turns with different names stay apart. Developer
    turns merge only with turns of their own kind: written, recorded, event or grounding. With
    ``enabled=False`` nothing is joined.
    """
    if not enabled or not _has_neighbours(root):
        return root
    turns: list[TurnNode | RecordedNode] = []
    # Neighbouring messages of a recording that do not merge stay together in one run.
    run: list[_RecordedMessage] = []
    for _, keyed_turns in groupby(_mergeable(root), key=lambda keyed_turn: keyed_turn[1]):
        group = [turn for turn, _ in keyed_turns]
        first_turn = group[0]
        if len(group) == 1 and isinstance(first_turn, tuple):
            if run and first_turn[0] is not run[0][0]:
                turns.append(_joined_run(run))
                run = []
            run.append(first_turn)
            continue
        if run:
            turns.append(_joined_run(run))
            run = []
        group_turns = [*map(_as_turn, group)]
        if len(group_turns) > 1:
            group_turns = [_merged(group_turns)]
        turns += group_turns
    if run:
        turns.append(_joined_run(run))
    return with_content(root, tuple(turns))


def _has_neighbours(root: RootNode) -> bool:
    """Return whether two neighbours may merge, by their roles and kinds."""
    previous: TurnNode | Message | None = None
    if not root._mask & RECORDED:
        previous_role: Role | None = None
        for turn in cast("Sequence[TurnNode]", root.content):
            role = turn.role
            if role == previous_role and previous is not None and _are_alike(previous, turn):
                return True
            previous, previous_role = turn, role
        return False
    for child in _turns(root):
        first_message: TurnNode | Message
        if isinstance(child, RecordedNode):
            first_message, last_message = child.items[0], child.items[-1]
            if not _is_apart(child):
                return True
        else:
            first_message = last_message = child
        if (
            previous is not None
            and first_message.role == previous.role
            and _are_alike(previous, first_message)
        ):
            return True
        previous = last_message
    return False


def _are_alike(first: TurnNode | Message, second: TurnNode | Message) -> bool:
    """Return whether neighbours of one role may merge; an event and an instruction may not.

    Names and ``merge=False`` are not looked at.
    """
    return first.role != "tool" and (first.role not in _BY_KIND or first.kind == second.kind)


_BY_KIND = ("developer", "system")
"""The roles whose turns merge only with turns of the same kind."""


def _turns(root: RootNode) -> "Sequence[TurnNode | RecordedNode]":
    """Return the children of a timeline: after the earlier passes, only turns and recordings."""
    return cast("Sequence[TurnNode | RecordedNode]", root.content)


def _is_apart(run: RecordedNode) -> bool:
    """Return whether no two neighbours in a run have the same role; tool results do not count."""
    if len(run.items) >= conversation_cache.SHORTEST:
        end = first_of(run) + len(run.items)
        if remember(run, _apart_count, _apart_count) >= end:
            return True
    return _apart_count(run.items) == len(run.items)


def _apart_count(messages: Sequence[Message], before: int | None = None) -> int:
    """Return the number of messages before the first one with the role of its neighbour.

    ``before`` is the count for fewer messages of the same conversation.
    """
    count = before or 0
    if count >= len(messages):
        return count
    previous_role = messages[count - 1].role if count else None
    for index in range(count, len(messages)):
        role = messages[index].role
        if role == previous_role and role != "tool":
            return index
        previous_role = role
    return len(messages)


_RecordedMessage: TypeAlias = tuple[RecordedNode, int]
"""One message of a recording: the recording, and the index of the message."""


def _mergeable(
    root: RootNode,
) -> Iterator[tuple[TurnNode | RecordedNode | _RecordedMessage, object]]:
    """Yield turns and recorded messages, each with a key: neighbours with equal keys merge."""
    for child in _turns(root):
        if not isinstance(child, RecordedNode):
            options = child.options
            yield child, merge_key(child.role, child.kind, options.name, merges=options.merge)
            continue
        last_index = len(child.items) - 1
        # In a long run without equal neighbours only the first and the last message can merge.
        ends = (
            last_index > 1 and len(child.items) >= conversation_cache.SHORTEST and _is_apart(child)
        )
        if ends:
            yield _keyed(child, 0)
            yield cut(child, 1, last_index), object()
            yield _keyed(child, last_index)
        else:
            yield from (_keyed(child, index) for index in range(last_index + 1))


def _keyed(run: RecordedNode, index: int) -> tuple[_RecordedMessage, object]:
    """Return a message of a recording with its key."""
    message: Message = run.items[index]
    return (run, index), merge_key(message.role, message.kind, message.name)


def merge_key(
    role: Role, kind: Kind, name: str | None, *, merges: bool = True
) -> tuple[object, ...]:
    """Return the key of a turn: neighbours with equal keys merge."""
    if not merges or role == "tool":
        return (object(),)
    # The kind keeps all other turns out of the one system message of a prompt.
    if role in _BY_KIND:
        return role, name, kind
    return role, name


def _as_turn(turn: TurnNode | RecordedNode | _RecordedMessage) -> TurnNode | RecordedNode:
    """Return a recorded message as a run of its own; a turn or a run is returned unchanged."""
    return _joined_run([turn]) if isinstance(turn, tuple) else turn


def _joined_run(run: list[_RecordedMessage]) -> RecordedNode:
    """Return neighbouring messages of one recording as one run."""
    (node, start), last_index = run[0], run[-1][1]
    is_complete = start == 0 and last_index == len(node.items) - 1
    return node if is_complete else cut(node, start, last_index + 1)


def _source(turn: TurnNode | RecordedNode) -> TurnNode | Message:
    """Return the object that has the role and the kind: the turn, or the message of a run."""
    if isinstance(turn, RecordedNode):
        message: Message = turn.items[0]
        return message
    return turn


def _merged(turns: list[TurnNode | RecordedNode]) -> MergedNode:
    """Return several turns as one turn.

    Its kind says whether the next request contains it, too: a grounding is in one request alone.
    """
    sources = [*map(_source, turns)]
    kinds: list[Kind] = [source.kind for source in sources]
    last_conversation = max((i for i, kind in enumerate(kinds) if kind in CONVERSATION), default=-1)
    last_grounding = max((i for i, kind in enumerate(kinds) if kind in FLEETING), default=-1)
    kind: Kind
    if len({*kinds}) == 1:
        kind = kinds[0]
    elif last_conversation < 0:
        kind = "request" if last_grounding >= 0 else "event"
    elif last_grounding < 0:
        kind = "written"
    else:
        kind = (
            "trailed"
            if last_grounding > last_conversation or kinds[last_conversation] == "trailed"
            else "mixed"
        )
    return make_turn(MergedNode, tuple(turns), at=turns[0], role=sources[0].role, kind=kind)
