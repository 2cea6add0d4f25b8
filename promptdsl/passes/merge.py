"""Merge: neighbours of one role become one message, their blocks side by side."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from promptdsl.messages import CONVERSATION, FLEETING, Message
from promptdsl.nodes import Merged, Recorded, Turn
from promptdsl.rewriting import covering, cut, with_content
from promptdsl.tree import RECORDED, SHIFT, TURN, Node, bits, make


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
    if not root.mask & RECORDED << SHIFT:
        for child in root.content:
            role = child.role
            if role == before and role != "tool":
                return True
            before = role
        return False
    for child in root.content:
        if child.mask & RECORDED:
            for message in child.items:
                role = message.role
                if role == before and role != "tool":
                    return True
                before = role
        else:
            role = child.role
            if role == before and role != "tool":
                return True
            before = role
    return False


_Unit = tuple[Any, Any]
"""A turn, or one message of a recording; and what a neighbour must equal to join it."""


def _units(root: Node) -> Iterator[_Unit]:
    for child in root.content:
        if isinstance(child, Recorded):
            for index, message in enumerate(child.items):
                yield (child, index), _key(message, message.name, merges=True)
        else:
            yield child, _key(child, child.options.name, merges=child.options.merge)


def _key(turn: Turn | Message, name: str | None, *, merges: bool) -> tuple[object, ...]:
    # The one system message of a prompt, whose kind is written, merges with nothing.
    leading = turn.role == "system" and turn.kind in ("written", "recorded")
    apart = not merges or turn.role == "tool" or leading
    kind = turn.kind if turn.role in ("developer", "system") else None
    return (turn.role, name, kind, object() if apart else None)


def _groups(units: list[_Unit]) -> Iterator[list[Any]]:
    for _, group in groupby(units, key=lambda unit: unit[1]):
        yield [item for item, _ in group]


def _rejoined(groups: Iterator[list[Any]]) -> Iterator[Node]:
    """Yield merged turns; messages of a recording that stay as they are stay together."""
    run: list[tuple[Recorded, int]] = []
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


def _slice(run: list[tuple[Recorded, int]]) -> Recorded:
    node, first = run[0]
    return cut(node, first, run[-1][1] + 1)


def _merged(turns: list[Any]) -> Merged:
    first = turns[0]
    role = first.items[0].role if isinstance(first, Recorded) else first.role
    kinds = [_kind(turn) for turn in turns]
    kind = kinds[0] if len({*kinds}) == 1 else _joint(kinds)
    return make(
        Merged,
        tuple(turns),
        mask=bits(TURN, covering(tuple(turns))),
        at=first.at,
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
    return str(turn.items[0].kind if isinstance(turn, Recorded) else turn.kind)
