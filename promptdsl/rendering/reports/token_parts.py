"""The parts of a request with their tokens: its tree, flattened.

The tokens of the parts of a text add up to those of the text. A text is not the sum of its pieces
exactly, so the difference is spread over them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import attrs

from promptdsl.budget.dropped import described
from promptdsl.foundation.source import Source, source_of
from promptdsl.messages.field_checks import Cache
from promptdsl.messages.message import Message
from promptdsl.rendering.reports.outcome import Outcome
from promptdsl.rendering.text.traced import TracedEntry, TracedPage, TracedPart, TracedTurn
from promptdsl.tokens import Tokens
from promptdsl.tokens.messages import block_tokens
from promptdsl.tree.group_nodes import ComponentNode, FragmentNode
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
    VolatileNode,
)
from promptdsl.tree.turn_nodes import (
    CacheBreakpointNode,
    ConsolidatedNode,
    MergedNode,
    RecordedNode,
    ToolTurnNode,
    TurnNode,
)

INLINE = (TextNode, ValueNode, VolatileNode, TrustedTextNode, VerbatimNode)
"""Nodes that are text, and hold no other part."""


def what_of(node: Any) -> str:
    """Return the name of a node, in a word or two."""
    say = _WORDS.get(node._node)
    return described(node) if say is None else say(node)


def _turn(turn: TurnNode) -> str:
    kind = _KINDS.get(turn.kind)
    return f"{turn.role} turn" if kind is None else f"{kind} ({turn.role} turn)"


_KINDS = {"event": "event", "request": "request-only content"}
_WORDS: Mapping[type[Node], Callable[[Any], str]] = {
    TurnNode: _turn,
    MergedNode: lambda node: f"{node.role} turn (merged)",
    ConsolidatedNode: lambda _: "system text",
    **dict.fromkeys((ToolTurnNode, ToolResultNode), lambda _: "tool result"),
    RecordedNode: lambda node: f"{node.items[0].role} message",
    ToolUseNode: lambda node: f"call {node.block.name!r}",
    MediaNode: lambda node: str(node.block.type),
    CacheBreakpointNode: lambda _: "cache breakpoint",
    **dict.fromkeys(INLINE, lambda node: label(node).lower()),
}


def mark_on(node: Any) -> Cache | None:
    """Return the cache mark after a node."""
    if isinstance(node, CacheBreakpointNode):
        return node.ttl or "default"
    return mark_of(node.options)


def mark_in(said: Message) -> Cache | None:
    """Return the last cache mark in a message."""
    if said.plain is not None:
        return None
    marks = (getattr(block, "cache", None) for block in reversed(said.content))
    return next((mark for mark in marks if mark is not None), None)


LONGEST = 1_000
"""An address of more characters loses its beginning: it would grow with the square of the depth."""


@attrs.frozen
class TokenPart:
    """A part of a request: its name, its address, and its tokens, with all parts in it.

    ``depth`` is 0 for a part directly in the request. ``cache`` is the mark after it. ``dropped``
    says why it was left out; then its tokens are in no other part.
    """

    depth: int
    what: str
    path: str
    tokens: int
    source: Source | None = None
    cache: Cache | None = None
    dropped: str | None = None


@attrs.define(eq=False)
class Ledger:
    """The parts of a request, and their tokens by section and by the author's line."""

    outcome: Outcome
    messages: Sequence[int]
    parts: list[TokenPart] = attrs.field(factory=list[TokenPart])
    sections: dict[str, int] = attrs.field(factory=dict[str, int])
    sources: dict[Source, int] = attrs.field(factory=dict[Source, int])
    _lines: dict[tuple[int, int], Source | None] = attrs.field(factory=dict[Any, Any])
    _pages: dict[int, list[int]] = attrs.field(factory=dict[int, list[int]])

    def add_messages(self) -> None:
        """Add a part for every message, with the parts in it."""
        outcome = self.outcome
        first = 0
        before: Any = None
        for node, entry in zip(outcome.tree.content, outcome.traced(), strict=True):
            if isinstance(node, RecordedNode):
                # A line that is run again writes another history, which begins anew.
                continues = isinstance(before, RecordedNode) and before.at == node.at
                continues = continues and node.start >= before.start + len(before.items)
                self._add_history(node, first, continues=continues)
            elif entry.messages > first:
                self._add_turn(node, entry, first)
            first, before = entry.messages, node

    def charge(self, source: Source | None, tokens: int) -> None:
        """Add tokens to those of a line of the author."""
        if source is not None and tokens:
            self.sources[source] = self.sources.get(source, 0) + tokens

    # A recorded conversation.

    def _add_history(self, node: RecordedNode, first: int, *, continues: bool) -> None:
        """Add a history, or more messages of the one that was added last."""
        source, end = self._source(node), first + len(node.items)
        total = sum(self.messages[first:end])
        if continues:
            place = max(n for n, part in enumerate(self.parts) if not part.depth)
            whole = self.parts[place]
            self.parts[place] = attrs.evolve(whole, tokens=whole.tokens + total)
        else:
            self.parts.append(TokenPart(0, "history", "history", total, source))
        self.charge(source, total)
        for number, place in enumerate(range(first, end), node.start):
            said = self.outcome.sent.messages[place]
            what, mark = f"{said.role} message", mark_in(said)
            tokens = self.messages[place]
            self.parts.append(TokenPart(1, what, f"history[{number}]", tokens, source, mark))

    # Turns.

    def _add_turn(self, node: Any, entry: TracedEntry, first: int) -> None:
        """Add a turn, or each of the turns that were merged to one message."""
        source = self._source(node)
        total = sum(self.messages[first : entry.messages])
        mark: Cache | None = mark_of(node.options)
        if mark is None:
            # A mark may have been placed after one of its messages, beside those of the author.
            sent, lowered = self.outcome.sent.messages, self.outcome.messages
            placed = (n for n in range(first, entry.messages) if sent[n] is not lowered[n])
            mark = next((mark_in(sent[number]) for number in placed), None)
        merged = isinstance(node, MergedNode)
        path = "" if merged else entry.turns[0].address
        self.parts.append(TokenPart(0, what_of(node), path, total, source, mark))
        for turn in entry.turns:
            if merged:
                total -= self._add_merged(turn, source)
            else:
                total -= self._add_nodes(turn, source, depth=1)
        self.charge(source, total)

    def _add_merged(self, turn: TracedTurn, around: Source | None) -> int:
        """Add a turn that was merged with others; return its tokens."""
        source = self._source(turn.node) or around
        tokens, facts = self.outcome.tokens, self.outcome.facts
        total = sum(block_tokens(block, tokens, facts) for block in turn.blocks)
        mark = mark_of(turn.node.options)
        self.parts.append(TokenPart(1, what_of(turn.node), turn.address, total, source, mark))
        self.charge(source, total - self._add_nodes(turn, source, depth=2))
        return total

    def _add_nodes(self, turn: TracedTurn, source: Source | None, *, depth: int) -> int:
        """Add the parts of a turn; return the tokens of those directly in it."""
        system = isinstance(turn.node, TurnNode) and turn.node.role == "system"
        seen: dict[int, _Seen] = {}
        top = _Seen(depth - 1, "" if system else turn.address, source, 0)
        hidden = _hidden(turn.parts)
        for node in turn.parts:
            around = top if node.around is None else seen[id(node.around)]
            before = self._pages.get(id(node.page))
            if before is None:
                before = self._pages[id(node.page)] = self._summed(node.page)
            # A part of a container that was taken back ends after all there is now.
            end = min(node.end, len(before) - 1)
            tokens = max(before[end] - before[min(node.start, end)], 0)
            around.inside += tokens
            path = around.path
            if isinstance(node.node, SectionNode):
                path = within(path, str(node.node.options.id))
                self.sections[path] = self.sections.get(path, 0) + tokens
            line = self._source(node.node) or around.source
            found = seen[id(node)] = _Seen(around.depth, path, line, tokens)
            if id(node) in hidden:
                continue
            found.depth += 1
            part = TokenPart(found.depth, what_of(node.node), found.path, tokens, found.source)
            self.parts.append(attrs.evolve(part, cache=mark_on(node.node)))
        for found in seen.values():
            self.charge(found.source, found.tokens - found.inside)
        return top.inside

    def _summed(self, page: TracedPage) -> list[int]:
        """Return the tokens before every piece of a page."""
        tokens, found = self.outcome.tokens, [0]
        for said in page.segments:
            before = found[-1]
            if isinstance(said, list):
                found += [before + part for part in _spread(said, tokens)]
            else:
                found.append(before + block_tokens(said, tokens, self.outcome.facts))
        return found

    def _source(self, node: Node) -> Source | None:
        """Return the line a node was written in; one line writes many, and is looked up once."""
        at = node.at
        if not isinstance(at, tuple):
            return at
        key = (id(at[0]), at[1])
        if key not in self._lines:
            self._lines[key] = source_of(at)
        return self._lines[key]


@attrs.define(eq=False)
class _Seen:
    """A node with its tokens; ``inside`` are those of the nodes directly in it."""

    depth: int
    path: str
    source: Source | None
    tokens: int
    inside: int = 0


def _hidden(nodes: Sequence[TracedPart]) -> set[int]:
    """Return the nodes that are no parts of their own: mere holders, and text alone."""
    count: dict[int, int] = {}
    for node in nodes:
        key = id(node.around)
        count[key] = count.get(key, 0) + 1
    hidden: set[int] = set()
    for node in nodes:
        is_component = isinstance(node.node, ComponentNode)
        if (
            isinstance(node.node, FenceNode)
            or (isinstance(node.node, FragmentNode) and not is_component)
            or (isinstance(node.node, INLINE) and count[id(node.around)] == 1)
        ):
            hidden.add(id(node))
    return hidden


def within(path: str, id: str) -> str:
    """Return the address of a section in a part with an address."""
    if len(path) > LONGEST:
        path = "..."
    return f"{path}/{id}" if path else id


def _spread(pieces: list[str], tokens: Tokens) -> Iterator[int]:
    """Yield the tokens up to the end of every piece: all of them are those of the whole text."""
    whole = tokens.of("".join(pieces))
    ends = [0]
    for piece, after in pairwise([*pieces, ""]):
        # Counted with the white space after it, so that pieces add up.
        counted = piece + after if after.isspace() else piece
        ends.append(ends[-1] + (0 if not piece or piece.isspace() else tokens.of(counted)))
    for end in ends[1:-1]:
        yield whole * end // ends[-1] if ends[-1] else 0
    yield whole
