"""The parts that a message was made of, down to the pieces of its text."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple, TypeAlias

import attrs

from promptdsl.foundation.source import Source
from promptdsl.messages import Block, TextBlock, ToolResultBlock
from promptdsl.messages.message import Message
from promptdsl.rendering.reports.cache_order import GAP
from promptdsl.rendering.reports.outcome import Outcome
from promptdsl.rendering.reports.token_parts import INLINE, name_of
from promptdsl.rendering.text.page import MARKABLE
from promptdsl.rendering.text.traced import Segment, TracedEntry, TracedTurn
from promptdsl.tree.node import Node
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


@attrs.define(eq=False, slots=False)
class MessageParts:
    """A message, and the entry of the timeline it is from: its message of that ``number``."""

    node: Node
    entry: TracedEntry
    number: int
    message: Message

    @classmethod
    def of(cls, outcome: Outcome, index: int) -> "MessageParts":
        """Return the parts of the message with this index."""
        entries = outcome.traced()
        place = bisect_right(entries, index, key=lambda entry: entry.messages)
        first = entries[place - 1].messages if place else 0
        message = outcome.sent.messages[index]
        return cls(outcome.tree.content[place], entries[place], index - first, message)

    @property
    def whole(self) -> MessagePart:
        """The message itself."""
        node, turns = self.node, self.entry.turns
        if isinstance(node, RecordedNode):
            path = f"history[{node.start + self.number}]"
            return MessagePart(f"{self.message.role} message", path, node.source)
        return MessagePart(name_of(node), turns[0].address if len(turns) == 1 else "", node.source)

    @cached_property
    def pieces(self) -> list[TextPiece]:
        """The pieces of the message; a block other than text is one piece."""
        pieces: list[TextPiece] = []
        if isinstance(self.node, RecordedNode):
            pieces += [TextPiece(text, None) for text in _texts(_segments(self.message.content))]
        for turn in self.entry.turns:
            if turn.page is None:
                pieces += [TextPiece(text, turn) for text in _texts(_segments(turn.blocks))]
            else:
                texts = enumerate(_texts(turn.page.segments))
                pieces += [TextPiece(text, turn, number) for number, text in texts]
        return pieces

    @property
    def text(self) -> str:
        """The text of all pieces."""
        return "".join([piece.text for piece in self.pieces])

    def around(self, length: int) -> list[MessagePart]:
        """Return the parts around the character after so many, innermost first.

        Plain text counts as the part around it. After the last character there are no parts.
        """
        ends = [*accumulate(len(piece.text) for piece in self.pieces)]
        index = bisect_right(ends, length)
        if index == len(ends):
            return []
        _, turn, number = self.pieces[index]
        if turn is None or number < 0:
            return [self._turn_part(turn)]
        holders = [
            part
            for part in reversed(turn.parts)
            if part.page is turn.page and part.start <= number < part.end
        ]
        around = [MessagePart(name_of(p.node), p.path, p.node.source) for p in holders]
        around.append(self._turn_part(turn))
        if holders and isinstance(holders[0].node, INLINE):
            text, outer, *others = around
            return [outer._replace(source=text.source or outer.source), *others]
        return around

    def _turn_part(self, turn: TracedTurn | None) -> MessagePart:
        """Return a turn that may be merged with others."""
        if turn is None or len(self.entry.turns) == 1:
            return self.whole
        return MessagePart(name_of(turn.node), turn.address, turn.node.source)

    def keys(self) -> set[Key]:
        """Return the keys of all parts of the message."""
        keys = {self.whole.key}
        for turn in self.entry.turns:
            keys.add(self._turn_part(turn).key)
            keys |= {(name_of(part.node), part.path) for part in turn.parts}
        return keys


def _segments(blocks: Iterable[Block]) -> Iterator[Segment]:
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


def unmarked(block: Block) -> Block:
    """Return a block without cache marks, also in the blocks it holds."""
    if isinstance(block, ToolResultBlock):
        block = attrs.evolve(block, content=tuple(map(unmarked, block.content)))
    if isinstance(block, MARKABLE) and block.cache:
        return attrs.evolve(block, cache=None)
    return block
