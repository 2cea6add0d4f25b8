"""Merge: neighbours of one role become one message, their blocks side by side."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from promptdsl.messages import conversation_cache
from promptdsl.messages.message import Message
from promptdsl.messages.roles import CONVERSATION, FLEETING
from promptdsl.tree.masks import RECORDED, TURN
from promptdsl.tree.node import Node, make
from promptdsl.tree.recorded import cut, first_of, remember
from promptdsl.tree.rewrite import covering, with_content
from promptdsl.tree.turn_nodes import MergedNode, RecordedNode, TurnNode


def merge(root: Node, *, enabled: bool) -> Node:
    """Return the tree with neighbouring turns of one role joined, tool turns apart.

    Turns with ``merge=False`` or with different names stay apart, and developer turns merge only
    with their own kind: written, recorded, event or request-only.
    """
    if not enabled or not _has_neighbours(root):
        return root
    units = list(_units(root))
    groups = _groups(units)
    return with_content(root, tuple(_rejoined(groups)))


def _has_neighbours(root: Node) -> bool:
    before = None
    if not root.mask & RECORDED:
        for child in root.content:
            role = child.role
            if role == before and role != "tool":
                return True
            before = role
        return False
    for child in root.content:
        if child.mask & RECORDED:
            role = child.items[0].role
            if (role == before and role != "tool") or not _is_apart(child):
                return True
            before = child.items[-1].role
        else:
            role = child.role
            if role == before and role != "tool":
                return True
            before = role
    return False


def _is_apart(run: Any) -> bool:
    """Return whether no two neighbours in a run are of one role, tool results apart."""
    if len(run.items) < conversation_cache.SHORTEST:
        return _apart(run.items) == len(run.items)
    count = first_of(run) + len(run.items)
    return remember(run, _apart, _apart) >= count or _apart(run.items) == len(run.items)


def _apart(messages: Sequence[Message], before: int | None = None) -> int:
    """Return how many messages there are before one that is of the same role as its neighbour."""
    count = before or 0
    if count >= len(messages):
        return count
    last = messages[count - 1].role if count else None
    for number in range(count, len(messages)):
        role = messages[number].role
        if role == last and role != "tool":
            return number
        last = role
    return len(messages)


_Unit = tuple[Any, Any]
"""A turn, or one message of a recording; and what a neighbour must equal to join it."""


def _units(root: Node) -> Iterator[_Unit]:
    for child in root.content:
        if isinstance(child, RecordedNode):
            last = len(child.items) - 1
            inner = last > 1 and _is_known_apart(child)
            for index in (0, last) if inner else range(last + 1):
                if inner and index:
                    yield cut(child, 1, last), object()
                message = child.items[index]
                yield (child, index), _key(message, message.name, merges=True)
        else:
            yield child, _key(child, child.options.name, merges=child.options.merge)


def _is_known_apart(run: RecordedNode) -> bool:
    """Return whether only the ends of a long run can merge."""
    return len(run.items) >= conversation_cache.SHORTEST and _is_apart(run)


def _key(turn: TurnNode | Message, name: str | None, *, merges: bool) -> tuple[object, ...]:
    apart = not merges or turn.role == "tool"
    # So nothing joins the one system message of a prompt, which is written or recorded.
    kind = turn.kind if turn.role in ("developer", "system") else None
    return (turn.role, name, kind, object() if apart else None)


def _groups(units: list[_Unit]) -> Iterator[list[Any]]:
    for _, group in groupby(units, key=lambda unit: unit[1]):
        yield [item for item, _ in group]


def _rejoined(groups: Iterator[list[Any]]) -> Iterator[Node]:
    """Yield merged turns; messages of a recording that stay as they are stay together."""
    run: list[tuple[RecordedNode, int]] = []
    for group in groups:
        alone = len(group) == 1 and isinstance(group[0], tuple)
        if run and not (alone and group[0][0] is run[0][0]):
            yield _slice(run)
            run = []
        if alone:
            run.append(group[0])  # pyright: ignore[reportUnknownArgumentType]
        elif len(group) == 1:
            yield group[0]  # pyright: ignore[reportReturnType]
        else:
            yield _merged([_slice([item]) if isinstance(item, tuple) else item for item in group])
    if run:
        yield _slice(run)


def _slice(run: list[tuple[RecordedNode, int]]) -> RecordedNode:
    (node, first), last = run[0], run[-1][1]
    whole = first == 0 and last == len(node.items) - 1
    return node if whole else cut(node, first, last + 1)


def _merged(turns: list[Any]) -> MergedNode:
    first = turns[0]
    role = first.items[0].role if isinstance(first, RecordedNode) else first.role
    kinds = [_kind(turn) for turn in turns]
    kind = kinds[0] if len({*kinds}) == 1 else _joint(kinds)
    return make(
        MergedNode,
        tuple(turns),
        mask=TURN | covering(turns),
        at=first,
        role=role,
        kind=kind,
    )


def _joint(kinds: list[str]) -> str:
    """Return the kind of what was several: was it said, and is it there next time."""
    said = max((n for n, kind in enumerate(kinds) if kind in CONVERSATION), default=-1)
    fleeting = max((n for n, kind in enumerate(kinds) if kind in FLEETING), default=-1)
    if said < 0:
        return "request" if fleeting >= 0 else "event"
    if fleeting < 0:
        return "written"
    return "trailed" if fleeting > said or kinds[said] == "trailed" else "mixed"


def _kind(turn: Any) -> str:
    return str(turn.items[0].kind if isinstance(turn, RecordedNode) else turn.kind)
