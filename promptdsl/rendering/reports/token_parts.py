"""The parts of a request and their tokens, in document order.

Read :class:`TokenPart` first, then :class:`Ledger`, which makes the list. The tokens of the parts
of a text must add up to those of the text. But if the pieces of a text are counted alone, their sum
differs slightly. ``_spread`` spreads the difference over them.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, groupby, pairwise

import attrs

from promptdsl.budget.dropped import described
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.source import LibrarySection, Source
from promptdsl.messages import TextBlock, ToolResultBlock
from promptdsl.messages.field_checks import Cache
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import ToolDefinition
from promptdsl.rendering.reports.report_input import ReportInput
from promptdsl.rendering.spans import Span, TimelineEntry, joined
from promptdsl.rendering.text.layout import WrittenNode, WrittenPiece, WrittenTurn
from promptdsl.tokens import Tokens
from promptdsl.tokens.payloads import (
    TOOLS_TEXT,
    assumes_size,
    block_tokens,
    output_tokens,
    tool_tokens,
    tools_frame,
)
from promptdsl.tree.node import Node, label, mark_of
from promptdsl.tree.part_nodes import (
    FenceNode,
    MediaNode,
    SectionNode,
    TextNode,
    ToolResultNode,
    ToolUseNode,
    TrustedTextNode,
    ValueNode,
    VerbatimNode,
)
from promptdsl.tree.turn_nodes import (
    CacheBreakpointNode,
    ComponentNode,
    ConsolidatedNode,
    FragmentNode,
    MergedNode,
    RecordedNode,
    ToolTurnNode,
    TurnNode,
)

INLINE = (TextNode, ValueNode, TrustedTextNode, VerbatimNode)
"""The classes of nodes that are text without containers in it."""


def name_of(node: Node) -> str:
    """Return the name of a node in a report: one or two words."""
    match node:
        case MergedNode():
            return f"{described(node)} (merged)"
        case ConsolidatedNode():
            return "system text"
        case ToolTurnNode() | ToolResultNode():
            return "tool result"
        case TurnNode():
            return described(node)
        case RecordedNode():
            name = f"{node.items[0].role} message"
        case ToolUseNode():
            name = f"call {node.block.name!r}"
        case MediaNode():
            name = node.block.type
        case CacheBreakpointNode():
            name = "cache breakpoint"
        case TextNode() | ValueNode() | TrustedTextNode() | VerbatimNode():
            name = label(node).lower()
        case _:
            name = described(node)
    return name


def cache_mark_in(message: Message) -> Cache | None:
    """Return the last cache mark in a message."""
    if message._plain is not None:
        return None
    cache_marks = (getattr(block, "cache", None) for block in reversed(message.content))
    return next((cache_mark for cache_mark in cache_marks if cache_mark is not None), None)


@attrs.frozen
class TokenPart:
    """A part of a request and its tokens, those of all parts in it included.

    - ``depth``: 0 for a part directly in the request.
    - ``what``: the name of the part. ``path``: its address.
    - ``source``: the line that wrote it.
    - ``cache``: the cache mark after it.
    - ``dropped``: the reason why it is not sent. Its tokens are in no other part then.
    - ``library``: the innermost section of a library that it is in.
    - ``message``: the indices of the first and the last message that it is in; ``None`` for a part
      that is in no message, such as a tool.
    - ``assumed``: ``"size"`` if the size of a picture in it is not known. The largest size is
      counted then.

    >>> from promptdsl import Section, System, render
    >>> report = render(System(Section("role", "You help.")), counter=len).tokens
    >>> [(part.depth, part.what, part.path, part.tokens) for part in report.parts[:2]]
    [(0, 'system turn', 'system[0]', 18), (1, 'section role', 'role', 9)]
    """

    depth: int
    what: str
    path: str
    tokens: int
    source: Source | None = None
    cache: Cache | None = None
    dropped: str | None = None
    library: LibrarySection | None = None
    message: tuple[int, int] | None = None
    assumed: str | None = None


@attrs.define(eq=False)
class Ledger:
    """The list of the parts of a request, and the tokens of each section and each line.

    ``messages`` are the tokens of each message.
    """

    report_input: ReportInput
    messages: Sequence[int]
    parts: list[TokenPart] = attrs.field(factory=list[TokenPart])
    nodes: list[tuple[object, int]] = attrs.field(factory=list[tuple[object, int]])
    """Each node and definition that has a part, and the index of the part."""
    sections: dict[str, int] = attrs.field(factory=dict[str, int])
    sources: dict[Source, int] = attrs.field(factory=dict[Source, int])

    def charge(self, source: Source | None, tokens: int) -> None:
        """Add tokens to those of a line of the author's code."""
        if source is not None and tokens:
            self.sources[source] = self.sources.get(source, 0) + tokens

    def add_tools(self, total: int) -> None:
        """Add the tools and the output schema that are sent; a request begins with these.

        ``total`` are the tokens of all of them.
        """
        prompt, tokens = self.report_input.equipped, self.report_input.tokens
        output = prompt.output
        output_format = output_tokens(output, tokens) if output else 0
        if prompt.tools:
            self.parts.append(TokenPart(0, "tools", "", total - output_format))
            for tool in prompt.tools:
                self._add_tool(tool)
            frame = tools_frame(self.report_input.facts)
            self.parts.append(TokenPart(1, TOOLS_TEXT, "", frame))
        if output:
            part = TokenPart(0, "form of the answer", output.name, output_format, output.source)
            self.parts.append(part)
            self.charge(output.source, output_format)

    def _add_tool(self, tool: ToolDefinition) -> None:
        count = tool_tokens(tool, self.report_input.tokens)
        part = TokenPart(1, f"tool {tool.name!r}", tool.name, count, tool.source, tool.cache)
        self.nodes.append((tool, len(self.parts)))
        self.parts.append(part)
        self.charge(tool.source, count)

    def add_messages(self) -> None:
        """Add a part for every turn and history, and the parts in them."""
        report_input = self.report_input
        first_message = 0
        previous: Node | None = None
        for node, entry in zip(report_input.tree.content, report_input.timeline(), strict=True):
            if isinstance(node, RecordedNode):
                # A line that runs twice writes two histories: the second begins at a lower index.
                continues = (
                    isinstance(previous, RecordedNode)
                    and previous._at == node._at
                    and node.start >= previous.start + len(previous.items)
                )
                self._add_history(node, first_message, continues=continues)
            elif entry.message_end > first_message:
                self._add_turn(node, entry, first_message)
            first_message, previous = entry.message_end, node

    def _add_history(self, node: RecordedNode, first_message: int, *, continues: bool) -> None:
        """Add a history, or with ``continues`` more messages of the last history."""
        source, end = node.source, first_message + len(node.items)
        total = sum(self.messages[first_message:end])
        if continues:
            index = max(index for index, part in enumerate(self.parts) if not part.depth)
            history = self.parts[index]
            messages = (history.message or (first_message, end))[0], end - 1
            total_tokens = history.tokens + total
            self.parts[index] = attrs.evolve(history, tokens=total_tokens, message=messages)
            self.nodes.append((node, index))
        else:
            messages = first_message, end - 1
            self.nodes.append((node, len(self.parts)))
            self.parts.append(TokenPart(0, "history", "history", total, source, message=messages))
        self.charge(source, total)
        for position, index in enumerate(range(first_message, end), node.start):
            message = self.report_input.sent.messages[index]
            name, cache_mark = f"{message.role} message", cache_mark_in(message)
            tokens, path, span = self.messages[index], f"history[{position}]", (index, index)
            is_assumed = message._plain is None and any(map(assumes_size, message.content))
            size = "size" if is_assumed else None
            # The fields source, cache, dropped, library, message and assumed.
            rest = (source, cache_mark, None, None, span, size)
            self.parts.append(TokenPart(1, name, path, tokens, *rest))

    def _add_turn(self, node: Node, entry: TimelineEntry, first_message: int) -> None:
        """Add a turn and the parts in it; a merged turn has its turns in it."""
        source = node.source
        total = sum(self.messages[first_message : entry.message_end])
        span = first_message, entry.message_end - 1
        cache_mark: Cache | None = mark_of(node.options)
        if cache_mark is None:
            # An automatic cache mark may be in one of its messages.
            sent_messages = self.report_input.sent.messages
            lowered_messages = self.report_input.messages
            marked = (
                n
                for n in range(first_message, entry.message_end)
                if sent_messages[n] is not lowered_messages[n]
            )
            cache_mark = next((cache_mark_in(sent_messages[index]) for index in marked), None)
        if not isinstance(node, MergedNode):
            turn = entry.turns[0]
            rest = (source, cache_mark, None, turn.library, span)
            self.nodes.append((node, len(self.parts)))
            self.parts.append(TokenPart(0, name_of(node), turn.address, total, *rest))
            self.charge(source, total - self._add_nodes(turn, source, span, depth=1))
            return
        self.parts.append(TokenPart(0, name_of(node), "", total, source, cache_mark, message=span))
        tokens, facts = self.report_input.tokens, self.report_input.facts
        for turn in entry.turns:
            line, name = turn.node.source or source, name_of(turn.node)
            cache_mark = mark_of(turn.node.options)
            count = sum(block_tokens(block, tokens, facts) for block in turn.blocks)
            rest = (line, cache_mark, None, turn.library, span)
            self.nodes.append((turn.node, len(self.parts)))
            self.parts.append(TokenPart(1, name, turn.address, count, *rest))
            self.charge(line, count - self._add_nodes(turn, line, span, depth=2))
            total -= count
        self.charge(source, total)

    def _add_nodes(
        self, turn: WrittenTurn, source: Source | None, span: tuple[int, int], *, depth: int
    ) -> int:
        """Add the nodes of a turn; return the tokens of the nodes directly in it."""
        tokens, facts = self.report_input.tokens, self.report_input.facts
        # By the id of a page: the tokens before each piece. A tool result has its own page.
        sums: dict[int, list[int]] = {}
        assumed_pieces: set[tuple[int, int]] = set()
        for page in {
            id(written_node.page): written_node.page for written_node in turn.nodes
        }.values():
            before = sums[id(page)] = [0]
            for segment in page.segments:
                start = before[-1]
                if segment.block is None:
                    before += [start + end for end in _piece_ends(segment.pieces, tokens)]
                else:
                    if assumes_size(segment.block):
                        assumed_pieces.add((id(page), len(before) - 1))
                    before.append(start + block_tokens(segment.block, tokens, facts))
        top = _CountedNode(depth - 1, source, 0)
        counted: dict[int, _CountedNode] = {}
        hidden = _hidden(turn.nodes)
        for written_node in turn.nodes:
            node, before = written_node.node, sums[id(written_node.page)]
            parent = top if written_node.parent is None else counted[id(written_node.parent)]
            # An empty container may begin after the last piece.
            end = min(written_node.end, len(before) - 1)
            count = before[end] - before[min(written_node.start, end)]
            parent.tokens_inside += count
            if isinstance(node, SectionNode):
                self.sections[written_node.path] = self.sections.get(written_node.path, 0) + count
            line = node.source or parent.source
            counted_node = counted[id(written_node)] = _CountedNode(parent.depth, line, count)
            if id(written_node) not in hidden:
                counted_node.depth += 1
                cache_mark = mark_of(node.options)
                if isinstance(node, CacheBreakpointNode):
                    cache_mark = node.ttl or "default"
                name, library = name_of(node), written_node.library
                if isinstance(node, ComponentNode) and node.section is not None:
                    name = str(node.section)
                rest = (line, cache_mark, None, library, span)
                self.nodes.append((node, len(self.parts)))
                size = None
                if (
                    isinstance(node, MediaNode)
                    and (id(written_node.page), written_node.start) in assumed_pieces
                ):
                    size = "size"
                token_part = TokenPart(
                    counted_node.depth, name, written_node.path, count, *rest, assumed=size
                )
                self.parts.append(token_part)
        for counted_node in counted.values():
            self.charge(counted_node.source, counted_node.tokens - counted_node.tokens_inside)
        return top.tokens_inside


@attrs.define(eq=False)
class _CountedNode:
    """A node with its tokens; ``tokens_inside`` are those of the nodes directly in it."""

    depth: int
    source: Source | None
    tokens: int
    tokens_inside: int = 0


def _hidden(nodes: Sequence[WrittenNode]) -> set[int]:
    """Return the ids of nodes that are not listed: fragments, fences, text without siblings."""
    siblings: dict[int, int] = {}
    for node in nodes:
        siblings[id(node.parent)] = siblings.get(id(node.parent), 0) + 1
    return {
        id(node)
        for node in nodes
        if isinstance(node.node, FenceNode)
        or (isinstance(node.node, FragmentNode) and not isinstance(node.node, ComponentNode))
        or (isinstance(node.node, INLINE) and siblings[id(node.parent)] == 1)
    }


def span_tokens(
    spans: Iterable[Span], messages: Sequence[Message], tokens: Tokens, facts: ModelFacts
) -> Iterator[int]:
    """Yield the tokens of each span, without the frames of messages and results."""
    for location, group in groupby(spans, lambda span: (span.message, span.block, span.inner)):
        message, index, inner = location
        block = messages[message].content[index]
        if isinstance(block, ToolResultBlock) and inner is not None:
            block = block.content[inner]
        if isinstance(block, TextBlock):
            ends = [0, *_spread([span.text for span in group], tokens)]
            yield from (end - start for start, end in pairwise(ends))
        else:
            yield block_tokens(block, tokens, facts)


def _piece_ends(pieces: Sequence[WrittenPiece], tokens: Tokens) -> Iterator[int]:
    """Yield the tokens up to the end of every piece, as the sum of the spans up to there."""
    text = "".join([piece.text for piece in pieces])
    ends = [0, *accumulate(run.length for run, _ in joined(pieces))]
    counted = [0, *_spread([text[start:end] for start, end in pairwise(ends)], tokens)]
    for end in accumulate(len(piece.text) for piece in pieces):
        yield counted[bisect_left(ends, end)]


def _spread(pieces: list[str], tokens: Tokens) -> Iterator[int]:
    """Yield the tokens up to the end of every piece; the last number is that of the text."""
    total = tokens.of("".join(pieces))
    ends = [0]
    for piece, after in pairwise([*pieces, ""]):
        # White space counts with the piece before it: counted alone, it may be one more token.
        counted = piece + after if after.isspace() else piece
        ends.append(ends[-1] + (0 if not piece or piece.isspace() else tokens.of(counted)))
    for end in ends[1:-1]:
        yield total * end // ends[-1] if ends[-1] else 0
    yield total
