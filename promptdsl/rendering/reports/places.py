"""Places: what a message was made of, down to the pieces of its text."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

import attrs

from promptdsl.foundation.source import Source
from promptdsl.messages import TextBlock
from promptdsl.messages.message import Message
from promptdsl.rendering.reports.cache_order import GAP
from promptdsl.rendering.reports.outcome import Outcome
from promptdsl.rendering.reports.token_parts import INLINE, what_of, within
from promptdsl.rendering.text.traced import Segment, TracedEntry, TracedTurn
from promptdsl.tree.nodes import Recorded, Section

Key: TypeAlias = tuple[str, str]
"""What a part is known by in another prompt: what it is, and its address."""


class Place(NamedTuple):
    """Something a message was made of: a turn, or a node in it."""

    what: str
    path: str
    source: Source | None

    @property
    def key(self) -> Key:
        """What it is known by in another prompt."""
        return self.what, self.path


class Leaf(NamedTuple):
    """A piece of what was said, its turn, and which piece of the turn's sheet it is."""

    text: str
    turn: TracedTurn | None
    number: int = 0


@attrs.define(eq=False)
class Spoken:
    """A message, and the part of the timeline it is from; ``number`` is which of its messages."""

    node: Any
    entry: TracedEntry
    number: int
    message: Message

    @classmethod
    def of(cls, outcome: Outcome, number: int) -> "Spoken":
        """Return the message of a number."""
        entries = outcome.traced()
        place = bisect_right(entries, number, key=lambda entry: entry.messages)
        first = entries[place - 1].messages if place else 0
        said = outcome.sent.messages[number]
        return cls(outcome.tree.content[place], entries[place], number - first, said)

    @property
    def place(self) -> Place:
        """The message itself."""
        node, turns = self.node, self.entry.turns
        if isinstance(node, Recorded):
            path = f"history[{node.start + self.number}]"
            return Place(f"{self.message.role} message", path, node.source)
        return Place(what_of(node), turns[0].address if len(turns) == 1 else "", node.source)

    def turn_place(self, turn: TracedTurn | None) -> Place:
        """Return a turn that may be merged with others."""
        if turn is None or len(self.entry.turns) == 1:
            return self.place
        return Place(what_of(turn.node), turn.address, turn.node.source)

    def leaves(self) -> Iterator[Leaf]:
        """Yield the pieces of what was said."""
        if isinstance(self.node, Recorded):
            yield from (Leaf(text, None) for text in _texts(self.message.content))
        for turn in self.entry.turns:
            page = turn.page
            if page is None:
                yield from (Leaf(text, turn, -1) for text in _texts(turn.blocks))
            else:
                yield from (Leaf(text, turn, n) for n, text in enumerate(_pieces(page.segments)))

    def chain(self, leaf: Leaf) -> list[Place]:
        """Return the places around a piece, the innermost first; plain text is what it is in."""
        turn = leaf.turn
        if turn is None or leaf.number < 0:
            return [self.turn_place(turn)]
        on_it = [one for one in turn.parts if one.page is turn.page]
        nodes = [one for one in reversed(on_it) if one.start <= leaf.number < one.end]
        places = _places(turn)
        found = [*(places[id(node)] for node in nodes), self.turn_place(turn)]
        if nodes and isinstance(nodes[0].node, INLINE):
            text, around, *others = found
            return [around._replace(source=text.source or around.source), *others]
        return found

    def known(self) -> set[Key]:
        """Return what the parts of the message are known by."""
        found = {self.place.key}
        for turn in self.entry.turns:
            found.add(self.turn_place(turn).key)
            found |= {place.key for place in _places(turn).values()}
        return found


def _places(turn: TracedTurn) -> dict[int, Place]:
    """Return the places of the nodes in a turn, by id."""
    top = "" if getattr(turn.node, "role", "") == "system" else turn.address
    found: dict[int, Place] = {}
    for one in turn.parts:
        path = top if one.around is None else found[id(one.around)].path
        if isinstance(one.node, Section):
            path = within(path, str(one.node.options.id))
        found[id(one)] = Place(what_of(one.node), path, one.node.source)
    return found


def _texts(blocks: Iterable[Any]) -> Iterator[str]:
    """Yield what blocks say, as texts that can be compared."""
    before = False
    for block in blocks:
        is_text = isinstance(block, TextBlock)
        text = block.text if is_text else repr(unmarked(block))
        yield GAP + text if is_text and before else text
        before = is_text


def _pieces(segments: Iterable[Segment]) -> Iterator[str]:
    """Yield the pieces of a sheet: of two texts the second begins with the gap between them."""
    before = False
    for said in segments:
        is_text = isinstance(said, list)
        pieces = said if isinstance(said, list) else [repr(unmarked(said))]
        yield GAP + pieces[0] if is_text and before else pieces[0]
        yield from pieces[1:]
        before = is_text


def unmarked(block: Any) -> Any:
    """Return a block without cache marks, in what it holds, too."""
    inner = getattr(block, "content", None)
    if inner:
        block = attrs.evolve(block, content=tuple(map(unmarked, inner)))
    return attrs.evolve(block, cache=None) if getattr(block, "cache", None) else block
