"""Expand: what only holds others, fragments and groups among the turns, gives way to its parts."""

from promptdsl.tree.masks import DEVELOPER, HOLLOW, RESULT, SHIFT, TURN, bits
from promptdsl.tree.node import Child, Node, make, walk
from promptdsl.tree.nodes import CacheBreakpoint, Note, Recorded, Turn
from promptdsl.tree.rewrite import says_something, with_content
from promptdsl.tree.unwrap import dissolved, dissolved_in_turn


def expand(root: Node) -> Node:
    """Return the tree with fragments dissolved, and without turns that say nothing."""
    content: list[Child] = []
    for child in dissolved(root.content):
        if isinstance(child, Note):
            content.append(_spoken(child))
        elif child.mask & HOLLOW and not isinstance(child, Recorded):
            content += _emptied(child)
        else:
            content.append(child)
    return with_content(root, tuple(content))


def _emptied(turn: Node) -> list[Node]:
    """Return a turn without the fragments directly in it, or nothing when it says nothing.

    What is empty but has a title or a cache breakpoint stays, so that it is noticed.
    """
    turn = with_content(turn, dissolved_in_turn(turn))
    silent = isinstance(turn, Turn) and turn.role != "system"
    if not silent or turn.mask & RESULT << SHIFT or says_something(turn):
        return [turn]
    return [turn] if any(_is_noticed(part) for part, _ in walk(turn)) else []


def _is_noticed(part: Node) -> bool:
    return isinstance(part, CacheBreakpoint) or getattr(part, "title", None) is not None


def _spoken(note: Note) -> Turn:
    """Return the turn of a note that stands among turns."""
    mask = bits(TURN | DEVELOPER, note.mask)
    return make(
        Turn,
        note.content,
        mask=mask,
        at=note.at,
        options=note.options,
        role="developer",
        kind="recorded",
    )
