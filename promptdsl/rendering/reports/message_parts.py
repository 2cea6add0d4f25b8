"""The parts that a message was made of, down to the pieces of its text."""

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
from promptdsl.tree.part_nodes import SectionNode
from promptdsl.tree.turn_nodes import RecordedNode

Key: TypeAlias = tuple[str, str]
"""The name and the address of a part, by which it is found in another prompt."""


class MessagePart(NamedTuple):
    """A part that a message was made of: a turn, or a node in it."""

    what: str
    path: str
    source: Source | None

    @property
    def key(self) -> Key:
        """The name and the address."""
        return self.what, self.path


class TextPiece(NamedTuple):
    """A piece of the text of a message, with its turn and its number on the turn's page.

    A recorded message has no page: the number is -1 there.
    """

    text: str
    turn: TracedTurn | None
    number: int = -1


@attrs.define(eq=False)
class MessageParts:
    """A message, and the entry of the timeline it is from: its message of that ``number``."""

    node: Any
    entry: TracedEntry
    number: int
    message: Message

    @classmethod
    def of(cls, outcome: Outcome, number: int) -> "MessageParts":
        """Return the parts of the message of a number."""
        entries = outcome.traced()
        index = bisect_right(entries, number, key=lambda entry: entry.messages)
        first = entries[index - 1].messages if index else 0
        message = outcome.sent.messages[number]
        return cls(outcome.tree.content[index], entries[index], number - first, message)

    @property
    def whole(self) -> MessagePart:
        """The message itself."""
        node, turns = self.node, self.entry.turns
        if isinstance(node, RecordedNode):
            path = f"history[{node.start + self.number}]"
            return MessagePart(f"{self.message.role} message", path, node.source)
        return MessagePart(what_of(node), turns[0].address if len(turns) == 1 else "", node.source)

    def of_turn(self, turn: TracedTurn | None) -> MessagePart:
        """Return a turn that may be merged with others."""
        if turn is None or len(self.entry.turns) == 1:
            return self.whole
        return MessagePart(what_of(turn.node), turn.address, turn.node.source)

    def pieces(self) -> Iterator[TextPiece]:
        """Yield the pieces of the message, a block other than text as one."""
        if isinstance(self.node, RecordedNode):
            yield from (TextPiece(text, None) for text in _texts(_segments(self.message.content)))
        for turn in self.entry.turns:
            if turn.page is None:
                yield from (TextPiece(text, turn) for text in _texts(_segments(turn.blocks)))
            else:
                texts = enumerate(_texts(turn.page.segments))
                yield from (TextPiece(text, turn, number) for number, text in texts)

    def around(self, piece: TextPiece) -> list[MessagePart]:
        """Return the parts around a piece, innermost first; plain text counts as the next."""
        turn, number = piece.turn, piece.number
        if turn is None or number < 0:
            return [self.of_turn(turn)]
        holders = [
            part
            for part in reversed(turn.parts)
            if part.page is turn.page and part.start <= number < part.end
        ]
        parts = _parts(turn)
        found = [*(parts[id(holder)] for holder in holders), self.of_turn(turn)]
        if holders and isinstance(holders[0].node, INLINE):
            text, around, *others = found
            return [around._replace(source=text.source or around.source), *others]
        return found

    def keys(self) -> set[Key]:
        """Return the keys of all parts of the message."""
        keys = {self.whole.key}
        for turn in self.entry.turns:
            keys.add(self.of_turn(turn).key)
            keys |= {part.key for part in _parts(turn).values()}
        return keys


def _parts(turn: TracedTurn) -> dict[int, MessagePart]:
    """Return the parts of a turn by the id of what was traced of them."""
    top = "" if getattr(turn.node, "role", "") == "system" else turn.address
    parts: dict[int, MessagePart] = {}
    for traced in turn.parts:
        path = top if traced.around is None else parts[id(traced.around)].path
        if isinstance(traced.node, SectionNode):
            path = within(path, str(traced.node.options.id))
        parts[id(traced)] = MessagePart(what_of(traced.node), path, traced.node.source)
    return parts


def _segments(blocks: Iterable[Any]) -> Iterator[Segment]:
    return ([block.text] if isinstance(block, TextBlock) else block for block in blocks)


def _texts(segments: Iterable[Segment]) -> Iterator[str]:
    """Yield pieces as texts to compare: of two segments of text the second begins with a gap."""
    after_text = False
    for segment in segments:
        is_text = isinstance(segment, list)
        pieces = segment if isinstance(segment, list) else [repr(unmarked(segment))]
        yield GAP + pieces[0] if is_text and after_text else pieces[0]
        yield from pieces[1:]
        after_text = is_text


def unmarked(block: Any) -> Any:
    """Return a block without cache marks, also in the blocks it holds."""
    inner = getattr(block, "content", None)
    if inner:
        block = attrs.evolve(block, content=tuple(map(unmarked, inner)))
    return attrs.evolve(block, cache=None) if getattr(block, "cache", None) else block
