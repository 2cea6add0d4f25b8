"""The spans of a prompt: the kind of each piece of its messages, and the line that wrote it.

``Trace`` finds them in the layout that ``text`` noted.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import attrs

from promptdsl.foundation.errors import OptionError, shown
from promptdsl.foundation.source import LibrarySection, Source, author
from promptdsl.foundation.unicode import is_blank
from promptdsl.messages import Block, TextBlock, ToolResultBlock
from promptdsl.messages.details import origin_of
from promptdsl.messages.field_checks import Cache
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Prompt
from promptdsl.rendering.text.layout import (
    Layout,
    LayoutReader,
    SpanKind,
    TextRun,
    WrittenNode,
    WrittenPage,
    WrittenPiece,
    WrittenTurn,
    message_blocks,
    runs_of,
    text_of_block,
)
from promptdsl.rendering.text.lower import LABEL_OF, system_origins
from promptdsl.tree.part_nodes import ValueNode
from promptdsl.tree.turn_nodes import ConsolidatedNode, RecordedNode, RootNode, ToolTurnNode

JOINED = ("section", "author")
"""The kinds of pieces that are joined to one span, if they are neighbours in one part."""


@attrs.frozen
class Span:
    r"""A piece of output: its kind, and the line that wrote it.

    ``message`` and ``block`` are its location in ``rendered.messages``, ``inner`` is the block in a
    tool result. ``text`` is that of the block from ``start`` to before ``end``, in characters;
    empty for a block other than text. ``kind`` is one of

    - ``section``: what the library writes around parts, such as headings, tags, fences, the signs
      of lists and tables, and the gaps between parts;
    - ``author``: text of the prompt's author;
    - ``value``: a value, encoded for its location: :func:`decode` returns it (in JSON and CSV a
      reader of these). In lists and quotations its further lines have the prefix of these;
    - ``volatile``: a value of a :class:`Volatile`;
    - ``conversation``: text of a user, an assistant, a tool or a recording, values in it included.

    ``address`` is the path of the section or the turn, as in losses. ``turn`` is the address of the
    turn alone, as in ``message.sources``; ``role`` is its role as its author wrote it, so
    ``event`` and ``ephemeral`` too. ``label`` names a ``Volatile`` or the variable of a template.
    ``source`` is the file and line. ``cache`` is the cache mark of the block, at its last span.
    ``library`` is the section of a library that it is in, the innermost.

    >>> from promptdsl import Section, System, Value, render
    >>> rendered = render(System(Section("role", "You help ", Value("<Ann>"), ".", title="Role")))
    >>> for span in rendered.spans():
    ...     print(span.start, span.kind, span.address, repr(span.text))
    0 section role '## Role\n'
    8 author role 'You help '
    17 value role '<Ann>'
    22 author role '.'
    """

    message: int
    block: int
    start: int
    end: int
    text: str
    kind: SpanKind
    address: str
    turn: str
    role: str
    label: str | None = None
    source: Source | None = None
    cache: Cache | None = None
    inner: int | None = None
    library: LibrarySection | None = None


def _location(span: Span) -> tuple[int, int, int | None]:
    return span.message, span.block, span.inner


def masked_spans(spans: Iterable[Span], mask: Callable[[Span], str]) -> Iterator[Span]:
    """Yield spans with other texts for volatile values. A blank text is not sent, so it stays."""
    for _, group in groupby(spans, _location):
        pieces = [*group]
        is_masked = not is_blank("".join([span.text for span in pieces]))
        start = 0
        for span in pieces:
            text = mask(span) if is_masked and span.kind == "volatile" else span.text
            if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                problem = f"the function given to masked() returned {shown(text)}"
                raise OptionError(problem, fix="return a string", at=(author(),))
            yield attrs.evolve(span, start=start, end=start + len(text), text=text)
            start += len(text)


def with_texts(prompt: Prompt, spans: Sequence[Span]) -> Prompt:
    """Return a prompt with the texts of spans; messages without a volatile value stay."""
    texts = {
        location: "".join([span.text for span in group])
        for location, group in groupby(spans, _location)
    }

    def changed(block: Block, message: int, number: int, inner: int | None = None) -> Block:
        if isinstance(block, TextBlock):
            return attrs.evolve(block, text=texts[message, number, inner])
        if isinstance(block, ToolResultBlock):
            contents = [changed(part, message, number, n) for n, part in enumerate(block.content)]
            return attrs.evolve(block, content=tuple(contents))
        return block

    messages = [*prompt.messages]
    for index in {span.message for span in spans if span.kind == "volatile"}:
        blocks = [changed(block, index, n) for n, block in enumerate(messages[index].content)]
        messages[index] = messages[index].replace(content=tuple(blocks))
    return attrs.evolve(prompt, messages=tuple(messages))


class TurnBlock(NamedTuple):
    """A block of a message in the turn that wrote it: the block ``place`` on the turn's ``page``.

    ``page`` is ``None`` where only the address and the line of ``turn`` are known.
    """

    turn: WrittenTurn
    page: WrittenPage | None
    location: int

    def inside(self) -> "TurnBlock":
        """Return the content of the block, a tool result, in the turn that wrote it."""
        # The only block of a tool turn is its result: the page is that of the content.
        if self.page is None or isinstance(self.turn.node, ToolTurnNode):
            return self
        return self._replace(page=self.page.results.get(self.location))


class TimelineEntry(NamedTuple):
    """A timeline entry: its turns, and the number of messages up to its end.

    An entry is a turn, several merged turns, or a recording. A recording has no turns, unless it is
    merged with some.
    """

    turns: Sequence[WrittenTurn]
    messages: int


class Trace:
    """What wrote each piece of the ``messages`` that a finished tree became."""

    def __init__(self, tree: RootNode, messages: Sequence[Message], layout: Layout) -> None:
        self.nodes = tree.content
        self.messages = messages
        self.layout = layout
        self.reader = LayoutReader(layout, messages)
        self.known_entries: dict[int, TimelineEntry] = {}
        self.blocks_of: dict[int, list[list[tuple[WrittenTurn, int]]]] = {}
        """The blocks of the messages of each entry: their turns, and the index in the turn."""
        self.addresses: dict[int, str] = {}
        """The addresses of the turns in system text, by the id of the node."""

    @cached_property
    def entries(self) -> Sequence[TimelineEntry]:
        """The timeline entries."""
        return [self.entry(number) for number in range(len(self.nodes))]

    def entry(self, number: int) -> TimelineEntry:
        """Return a timeline entry, made at the first call."""
        if number not in self.known_entries:
            turns, end = self.reader.turns_of(number), self.layout.entries[number]
            first = self.first(number)
            if not turns and end > first and not isinstance(self.nodes[number], RecordedNode):
                turns = [self.message_turn(first).with_one_part(self.layout.only_nodes.get(number))]
            self.known_entries[number] = TimelineEntry(turns, end)
        return self.known_entries[number]

    def first(self, number: int) -> int:
        """Return the number of messages before a timeline entry."""
        return self.layout.entries[number - 1] if number else 0

    def spans(self, marked: Sequence[Message]) -> Iterator[Span]:
        """Yield the spans of all messages; ``marked`` are the messages with all cache marks."""
        for index, message in enumerate(marked):
            for number, sent in enumerate(message.content):
                turn_block = self.turn_block(index, number)
                if not isinstance(sent, ToolResultBlock):
                    yield from self._of_block(turn_block, sent, (index, number, None))
                    continue
                inside = turn_block.inside()
                for inner, content in enumerate(sent.content):
                    within = inside._replace(location=inner)
                    yield from self._of_block(within, content, (index, number, inner))

    def _of_block(
        self, turn_block: TurnBlock, block: Block, location: tuple[int, int, int | None]
    ) -> Iterator[Span]:
        message, number, inner = location
        text = text_of_block(block)
        page = turn_block.page
        traced = page.segments[turn_block.location].pieces if page else []
        pieces = joined(traced)
        if not traced or text != "".join([piece.text for piece in traced]):
            pieces = [(TextRun(len(text), "conversation"), None)]
        start, cache = 0, getattr(block, "cache", None)
        last = len(pieces) - 1
        role = LABEL_OF.get(getattr(turn_block.turn.node, "kind", ""), self.messages[message].role)
        turn = self.turn_address(turn_block.turn, next((part for _, part in pieces if part), None))
        for index, (run, part) in enumerate(pieces):
            end = start + run.length
            turn = self.turn_address(turn_block.turn, part) if part else turn
            yield Span(
                message,
                number,
                start,
                end,
                text[start:end],
                run.kind,
                self.address(turn_block.turn, part),
                turn,
                role,
                run.label,
                self.line(part, run.node) or turn_block.turn.source,
                cache if index == last else None,
                inner,
                part.library if part else turn_block.turn.library,
            )
            start = end

    def turn_block(self, index: int, block: int) -> TurnBlock:
        """Return a block of a message in the turn that wrote it."""
        number = bisect_right(self.layout.entries, index)
        node = self.nodes[number]
        if isinstance(node, RecordedNode):
            return TurnBlock(self.message_turn(index), None, block)
        if number not in self.blocks_of:
            self.blocks_of[number] = message_blocks(self.entry(number).turns, node)
        turn, location = self.blocks_of[number][index - self.first(number)][block]
        return TurnBlock(turn, turn.page, location)

    def message_turn(self, index: int) -> WrittenTurn:
        """Return a message as a turn, of which only its address and its line are known."""
        message, number = self.messages[index], bisect_right(self.layout.entries, index)
        node = self.nodes[number]
        start = node.start if isinstance(node, RecordedNode) else 0
        address, source = f"history[{start + index - self.first(number)}]", node.source
        if message._origins:
            origin = origin_of(message._origins[0])
            address, source = origin.address, origin.source
        return WrittenTurn(node, address, message.content, [], None, source)

    def address(self, turn: WrittenTurn, part: WrittenNode | None) -> str:
        """Return the address of a part of a turn, or without one of the turn itself."""
        return (part and part.path) or self.turn_address(turn, part)

    def turn_address(self, turn: WrittenTurn, part: WrittenNode | None) -> str:
        """Return the address of the turn that a part was written in."""
        if part is None or not isinstance(turn.node, ConsolidatedNode):
            return turn.address
        # System text consists of turns, and of sections between them.
        if not self.addresses:
            addresses: dict[int, str] = {}
            origins = map(origin_of, system_origins(turn.node))
            for node, origin in zip(turn.node.content, origins, strict=True):
                addresses.setdefault(id(node), origin.address)
            self.addresses = addresses
        return self.addresses[id(part.top)]

    def line(self, part: WrittenNode | None, value: ValueNode | None = None) -> Source | None:
        """Return the line of a part, or of a value in it."""
        if value is not None:
            return value.source
        return part.node.source if part else None


def joined(pieces: Sequence[WrittenPiece]) -> list[tuple[TextRun, WrittenNode | None]]:
    """Return the runs of pieces, each with the node that wrote it.

    Neighbours of one node and kind are joined, except for values.
    """
    runs: list[tuple[TextRun, WrittenNode | None]] = []
    last, last_node = TextRun(0, "value"), None
    for text, node, of_piece in pieces:
        for run in runs_of(len(text), of_piece):
            if node is last_node and run.kind == last.kind and run.kind in JOINED:
                last = TextRun(last.length + run.length, run.kind)
                runs[-1] = last, node
            elif run.length or run.kind == "volatile" or len(pieces) == 1:
                last, last_node = run, node
                runs.append((run, node))
    return runs
