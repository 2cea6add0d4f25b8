"""The spans of a prompt: the kind of each piece of its messages, and the line that wrote it.

Read :class:`Span` first, then :class:`SpanReader`, which makes spans of the layout that the package
``text`` noted.
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
"""The kinds of pieces that are joined to one span, if they are neighbours of one node."""


@attrs.frozen
class Span:
    r"""A piece of output: its kind, and the line that wrote it.

    ``message`` and ``block`` are its location in ``rendered.messages``; ``inner`` is the index of
    the block in a tool result. ``text`` is the text of the block from ``start`` to before ``end``,
    in characters; it is empty for a block other than text. ``kind`` is one of

    - ``section``: what promptdsl writes around and between parts, such as headings, tags, fences,
      the signs of lists and tables, and gaps;
    - ``author``: text of the prompt's author;
    - ``value``: a value, encoded for its location: :func:`decode` returns it (in JSON and CSV, a
      reader of that format does). In lists and quotations its further lines have their prefix;
    - ``volatile``: a value of a :class:`Volatile`;
    - ``conversation``: text of a user, an assistant, a tool or a recording, values in it included.

    ``address`` is the address of the section or the turn, as in losses. ``turn`` is the address of
    the turn alone, as in ``message.sources``. ``role`` is the role as its author wrote it, so it
    may be ``event`` or ``ephemeral``. ``label`` names a ``Volatile`` or the variable of a template.
    ``source`` is the file and line. ``cache`` is the cache mark of the block; only its last span
    has it. ``library`` is the innermost section of a library around it.

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


def masked_spans(spans: Iterable[Span], new_text_of: Callable[[Span], str]) -> Iterator[Span]:
    """Yield spans with other texts for volatile values: the texts that ``new_text_of`` returns.

    The spans of a block of white space alone are yielded unchanged, because it is not sent.
    """
    for _, group in groupby(spans, _location):
        spans_of_block = [*group]
        is_masked = not is_blank("".join([span.text for span in spans_of_block]))
        start = 0
        for span in spans_of_block:
            text = new_text_of(span) if is_masked and span.kind == "volatile" else span.text
            if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
                problem = f"the function passed to masked() returned {shown(text)}"
                raise OptionError(problem, fix="return a string", at=(author(),))
            yield attrs.evolve(span, start=start, end=start + len(text), text=text)
            start += len(text)


def with_texts(prompt: Prompt, spans: Sequence[Span]) -> Prompt:
    """Return a prompt with the texts of spans; messages without a volatile value do not change."""
    texts = {
        location: "".join([span.text for span in group])
        for location, group in groupby(spans, _location)
    }

    def changed(block: Block, message: int, block_index: int, inner: int | None = None) -> Block:
        if isinstance(block, TextBlock):
            return attrs.evolve(block, text=texts[message, block_index, inner])
        if isinstance(block, ToolResultBlock):
            contents = [
                changed(inner_block, message, block_index, n)
                for n, inner_block in enumerate(block.content)
            ]
            return attrs.evolve(block, content=tuple(contents))
        return block

    messages = [*prompt.messages]
    for index in {span.message for span in spans if span.kind == "volatile"}:
        blocks = [changed(block, index, n) for n, block in enumerate(messages[index].content)]
        messages[index] = messages[index].replace(content=tuple(blocks))
    return attrs.evolve(prompt, messages=tuple(messages))


class TurnBlock(NamedTuple):
    """A block of a message, and where it is in the turn that wrote it.

    ``index_on_page`` is its index on the ``page`` of the turn. ``page`` is ``None`` if only the
    address and the line of ``turn`` are known.
    """

    turn: WrittenTurn
    page: WrittenPage | None
    index_on_page: int

    def content_page(self) -> WrittenPage | None:
        """Return the page with the content of the block, a tool result."""
        # A tool turn has one block, its result, and its page is that of the result's content.
        if self.page is None or isinstance(self.turn.node, ToolTurnNode):
            return self.page
        return self.page.results.get(self.index_on_page)


class TimelineEntry(NamedTuple):
    """A timeline entry: its turns, and the index after its last message.

    An entry is a turn, several merged turns, or a recording. A recording has no turns, unless it is
    merged with some.
    """

    turns: Sequence[WrittenTurn]
    message_end: int


class SpanReader:
    """A reader of the layout of a finished tree: it returns what wrote each piece of a message."""

    def __init__(self, tree: RootNode, messages: Sequence[Message], layout: Layout) -> None:
        self.nodes = tree.content
        self.messages = messages
        self.layout = layout
        self.reader = LayoutReader(layout, messages)
        self.cached_entries: dict[int, TimelineEntry] = {}
        self.cached_blocks: dict[int, list[list[tuple[WrittenTurn, int]]]] = {}
        """For each block of the messages of an entry: its turn, and its index there."""
        self.addresses: dict[int, str] = {}
        """The addresses of the turns in system text, by the id of the node."""

    @cached_property
    def timeline_entries(self) -> Sequence[TimelineEntry]:
        """The timeline entries."""
        return [self.timeline_entry(index) for index in range(len(self.nodes))]

    def timeline_entry(self, index: int) -> TimelineEntry:
        """Return the timeline entry with an index; it is made at the first call."""
        if index not in self.cached_entries:
            turns, end = self.reader.turns_of(index), self.layout.entries[index]
            start = self._messages_before(index)
            if not turns and end > start and not isinstance(self.nodes[index], RecordedNode):
                # To save time, ``lower`` notes no turn of one text or one call: its message has all
                # that is needed.
                only_node = self.layout.only_nodes.get(index)
                turns = [self.message_turn(start).with_one_part(only_node)]
            self.cached_entries[index] = TimelineEntry(turns, end)
        return self.cached_entries[index]

    def _messages_before(self, entry_index: int) -> int:
        """Return the number of messages before a timeline entry."""
        return self.layout.entries[entry_index - 1] if entry_index else 0

    def spans(self, messages: Sequence[Message]) -> Iterator[Span]:
        """Yield the spans of all messages; ``messages`` are those with all cache marks."""
        for index, message in enumerate(messages):
            for block_index, block in enumerate(message.content):
                turn_block = self.turn_block(index, block_index)
                if not isinstance(block, ToolResultBlock):
                    yield from self._spans_of(turn_block, block, (index, block_index, None))
                    continue
                page = turn_block.content_page()
                for inner, inner_block in enumerate(block.content):
                    inner_turn_block = TurnBlock(turn_block.turn, page, inner)
                    location = index, block_index, inner
                    yield from self._spans_of(inner_turn_block, inner_block, location)

    def _spans_of(
        self, turn_block: TurnBlock, block: Block, location: tuple[int, int, int | None]
    ) -> Iterator[Span]:
        """Yield the spans of a block; a text that is not that of its pieces is one span."""
        message, block_index, inner = location
        text, turn = text_of_block(block), turn_block.turn
        page = turn_block.page
        written_pieces = page.segments[turn_block.index_on_page].pieces if page else []
        runs = joined(written_pieces)
        if not written_pieces or text != "".join([piece.text for piece in written_pieces]):
            runs = [(TextRun(len(text), "conversation"), None)]
        start, cache = 0, getattr(block, "cache", None)
        last_index = len(runs) - 1
        # The role as its author wrote it: another role may be sent for an event or an ephemeral.
        role = LABEL_OF.get(getattr(turn.node, "kind", ""), self.messages[message].role)
        # System text consists of turns, with gaps that no node wrote. A run of a gap gets the turn
        # before it, the first run the first turn. Its ``address`` is that of the system text.
        turn_address = self.turn_address(turn, next((node for _, node in runs if node), None))
        for index, (run, node) in enumerate(runs):
            end = start + run.length
            turn_address = self.turn_address(turn, node) if node else turn_address
            yield Span(
                message,
                block_index,
                start,
                end,
                text[start:end],
                run.kind,
                self.address(turn, node),
                turn_address,
                role,
                run.label,
                self.line(node, run.node) or turn.source,
                cache if index == last_index else None,
                inner,
                node.library if node else turn.library,
            )
            start = end

    def turn_block(self, message_index: int, block_index: int) -> TurnBlock:
        """Return a block of a message, and where it is in the turn that wrote it."""
        entry_index = bisect_right(self.layout.entries, message_index)
        node = self.nodes[entry_index]
        if isinstance(node, RecordedNode):
            return TurnBlock(self.message_turn(message_index), None, block_index)
        if entry_index not in self.cached_blocks:
            self.cached_blocks[entry_index] = message_blocks(
                self.timeline_entry(entry_index).turns, node
            )
        blocks = self.cached_blocks[entry_index]
        turn, index = blocks[message_index - self._messages_before(entry_index)][block_index]
        return TurnBlock(turn, turn.page, index)

    def message_turn(self, index: int) -> WrittenTurn:
        """Return a message as a turn, which has an address and a line, but no page."""
        message, entry_index = self.messages[index], bisect_right(self.layout.entries, index)
        node = self.nodes[entry_index]
        start = node.start if isinstance(node, RecordedNode) else 0
        index_in_entry = index - self._messages_before(entry_index)
        address, source = f"history[{start + index_in_entry}]", node.source
        if message._origins:
            origin = origin_of(message._origins[0])
            address, source = origin.address, origin.source
        return WrittenTurn(node, address, message.content, [], None, source)

    def address(self, turn: WrittenTurn, node: WrittenNode | None) -> str:
        """Return the address of a node in a turn, or of the turn itself for ``None``."""
        return (node and node.path) or self.turn_address(turn, node)

    def turn_address(self, turn: WrittenTurn, node: WrittenNode | None) -> str:
        """Return the address of the turn that a node was written in."""
        if node is None or not isinstance(turn.node, ConsolidatedNode):
            return turn.address
        # System text consists of turns, and of sections between them. A prompt has only one system
        # text, so its addresses are read once.
        if not self.addresses:
            addresses: dict[int, str] = {}
            origins = map(origin_of, system_origins(turn.node))
            for child, origin in zip(turn.node.content, origins, strict=True):
                # A node may be in the system text twice: then it has its first address.
                addresses.setdefault(id(child), origin.address)
            self.addresses = addresses
        return self.addresses[id(node.top)]

    def line(self, node: WrittenNode | None, value: ValueNode | None = None) -> Source | None:
        """Return the line of a node, or of a value in it."""
        if value is not None:
            return value.source
        return node.node.source if node else None


def joined(pieces: Sequence[WrittenPiece]) -> list[tuple[TextRun, WrittenNode | None]]:
    """Return the runs of pieces, each with the node that wrote it.

    Neighbouring runs of one node and one kind are joined if the kind is in ``JOINED``. An empty run
    is left out, unless it is a volatile value, or ``pieces`` is a single piece.
    """
    runs: list[tuple[TextRun, WrittenNode | None]] = []
    # The first run is joined with nothing, because ``value`` is not in ``JOINED``.
    last_run, last_node = TextRun(0, "value"), None
    for text, node, piece_kind in pieces:
        for run in runs_of(len(text), piece_kind):
            if node is last_node and run.kind == last_run.kind and run.kind in JOINED:
                last_run = TextRun(last_run.length + run.length, run.kind)
                runs[-1] = last_run, node
            elif run.length or run.kind == "volatile" or len(pieces) == 1:
                last_run, last_node = run, node
                runs.append((run, node))
    return runs
