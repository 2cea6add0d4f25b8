"""What two requests share at their beginning, and the first difference.

``first_difference`` comes first, then :class:`PrefixReport`, and last ``compared``, which makes it.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import accumulate, groupby, takewhile
from math import ceil
from typing import Literal, NamedTuple, TypeAlias

import attrs

from promptdsl.budget.dropped import named
from promptdsl.config.models import USUAL, facts_for
from promptdsl.config.wire import CACHED_COST, CacheRule
from promptdsl.foundation.errors import TargetError
from promptdsl.foundation.json import JsonDict
from promptdsl.foundation.source import Source
from promptdsl.foundation.unicode import equal_start, on_one_line
from promptdsl.messages import Block, TextBlock, ToolResultBlock
from promptdsl.messages.details import FLEETING
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import OutputSchema, ToolDefinition
from promptdsl.providers.registry import TARGETS
from promptdsl.rendering.reports.cache_order import (
    GAP,
    Payload,
    beginning_of,
    beginning_tokens,
    cache_blocks,
    cache_order,
    shared_by,
)
from promptdsl.rendering.reports.report_input import ReportInput, newly_dropped
from promptdsl.rendering.reports.token_parts import INLINE, name_of
from promptdsl.rendering.reports.token_view import total_of
from promptdsl.rendering.spans import TimelineEntry
from promptdsl.rendering.text.layout import Segment, WrittenPiece, WrittenTurn
from promptdsl.rendering.text.page import MARKABLE
from promptdsl.tree.node import Node
from promptdsl.tree.part_nodes import FenceNode
from promptdsl.tree.turn_nodes import RecordedNode

# The first difference: the first part that differs, as an author wrote it.

How: TypeAlias = Literal["changed", "added", "removed", "moved", "appended"]


@attrs.frozen
class Difference:
    """The first part in which two prompts differ.

    ``how`` is ``changed``, ``added``, ``removed``, ``moved``, or ``appended`` (added at the end).
    ``what`` names the part, ``path`` is its address. ``source`` is the line that wrote it; for a
    part that was removed, it is the line in the first prompt.

    >>> from promptdsl import Section, System, prefix_report, render
    >>> one, two = (render(System(Section("role", text))) for text in ("Help.", "Go."))
    >>> difference = prefix_report(one, two).first
    >>> difference.how, difference.what, difference.path
    ('changed', 'section role', 'role')
    """

    how: How
    what: str
    path: str
    source: Source | None = None

    def to_dict(self) -> JsonDict:
        """Return the difference as JSON data; ``source`` is left out if it is not known."""
        row: JsonDict = {"how": self.how, "what": self.what, "path": self.path}
        return {**row, "source": str(self.source)} if self.source else row

    def __str__(self) -> str:
        source = f": {self.source}" if self.source else ""
        return on_one_line(f"{named(self.what, self.path)} was {self.how}{source}")


def first_difference(before: ReportInput, after: ReportInput) -> Difference | None:
    """Return the first difference of two prompts, ``None`` for equal prompts.

    The order of JSON keys counts, because keys are sent in order. Cache marks are not compared.
    """
    old, new = before.sent, after.sent
    tools = _tool_difference(old.tools, new.tools)
    if tools is not None:
        return tools
    output = _output_difference(old.sent_output, new.sent_output)
    if output is not None:
        return output
    # Names of speakers are compared last, because most providers do not take them.
    change = _first_change(
        map(_content_without_marks, old.messages), map(_content_without_marks, new.messages)
    ) or _first_change(map(_named_content, old.messages), map(_named_content, new.messages))
    return None if change is None else _message_difference(before, after, *change)


def _first_change(before: Iterable[object], after: Iterable[object]) -> tuple[How, int] | None:
    """Return how the first of two lists of values changes to the second, and at which index."""
    old_values, new_values = [*before], [*after]
    index = equal_start(old_values, new_values)
    if index == len(old_values) == len(new_values):
        return None
    if index == len(old_values):
        return "appended", index
    if index == len(new_values) or new_values[index] in old_values[index + 1 :]:
        return "removed", index
    if old_values[index] in new_values[index + 1 :]:
        return "added", index
    return "changed", index


def _tool_difference(
    old_tools: Sequence[ToolDefinition], new_tools: Sequence[ToolDefinition]
) -> Difference | None:
    """Return the first difference of the tools, without their cache marks."""
    without_mark = partial(attrs.evolve, cache=None)
    change = _first_change(
        *(map(exact, map(without_mark, tools)) for tools in (old_tools, new_tools))
    )
    if change is None:
        return None
    how, index = change
    if how == "removed":
        return _of_tool(how, old_tools[index])
    if how == "appended":
        return _of_tool("added", new_tools[index])
    other_names = {old.name for old in old_tools} - {old_tools[index].name}
    if how == "changed" and new_tools[index].name in other_names:
        return _of_tool("moved", new_tools[index])
    return _of_tool(how, new_tools[index])


def _of_tool(how: How, tool: ToolDefinition) -> Difference:
    return Difference(how, f"tool {tool.name!r}", tool.name, tool.source)


def _output_difference(old: OutputSchema | None, new: OutputSchema | None) -> Difference | None:
    """Return the difference of the output schemas."""
    if exact(old) == exact(new):
        return None
    if new is None:
        assert old is not None
        return Difference("removed", "form of the answer", old.name, old.source)
    how: How = "added" if old is None else "changed"
    return Difference(how, "form of the answer", new.name, new.source)


# Messages.


def _message_difference(
    before: ReportInput, after: ReportInput, how: How, index: int
) -> Difference:
    """Return the difference at the first message that changed."""
    if how == "added" and before.sent.messages[index].kind in FLEETING:
        # A grounding comes after the added turns, so its position in the cache changed.
        return Difference("moved", *MessageParts.of(before, index).as_part)
    if how != "changed":
        side = before if how == "removed" else after
        return Difference(how, *MessageParts.of(side, index).as_part)
    old, new = MessageParts.of(before, index), MessageParts.of(after, index)
    if old.message.role == new.message.role:
        return _part_difference(old, new)
    if old.message.role == "system":
        return Difference("removed", *old.as_part)
    return Difference("added" if new.message.role == "system" else how, *new.as_part)


def _content_without_marks(message: Message) -> tuple[object, ...]:
    """Return the role and the content without cache marks.

    Neighbouring texts are joined, because a cache mark between them is no difference.
    """
    if message._plain is not None:
        return message.role, message._plain
    content: list[object] = []
    for is_text, blocks in groupby(message.content, lambda block: isinstance(block, TextBlock)):
        if is_text:
            content.append(GAP.join([getattr(block, "text", "") for block in blocks]))
        else:
            content += map(exact, map(without_cache_marks, blocks))
    return (message.role, *content)


def exact(value: object) -> tuple[object, str]:
    """Return a key to compare a value with JSON in it exactly.

    For Python, mappings with another order of keys are equal, and so are ``1``, ``1.0`` and
    ``True``.
    """
    return value, repr(value)


def _named_content(message: Message) -> tuple[object, ...]:
    """Return the name of the speaker, the role and the content."""
    return (message.name, *_content_without_marks(message))


# The parts that a message was made of, down to the pieces of its text.

Key: TypeAlias = tuple[str, str]
"""The name and the address of a part: by these it is found in another prompt."""


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
    """A piece of the text of a message, with its turn and its position on the turn's page.

    A recorded message has no page: the position is -1.
    """

    text: str
    turn: WrittenTurn | None
    position: int = -1


@attrs.define(eq=False, slots=False)
class MessageParts:
    """A message, its timeline entry, and its index among the messages of this entry."""

    node: Node
    entry: TimelineEntry
    index_in_entry: int
    message: Message

    @classmethod
    def of(cls, report_input: ReportInput, index: int) -> "MessageParts":
        """Return the parts of the message with this index."""
        entries = report_input.timeline()
        entry_index = bisect_right(entries, index, key=lambda entry: entry.message_end)
        first_message = entries[entry_index - 1].message_end if entry_index else 0
        message = report_input.sent.messages[index]
        return cls(
            report_input.tree.content[entry_index],
            entries[entry_index],
            index - first_message,
            message,
        )

    @property
    def as_part(self) -> MessagePart:
        """The message itself, as a part."""
        node, turns = self.node, self.entry.turns
        if isinstance(node, RecordedNode):
            path = f"history[{node.start + self.index_in_entry}]"
            return MessagePart(f"{self.message.role} message", path, node.source)
        path = turns[0].address if len(turns) == 1 else ""
        return MessagePart(name_of(node), path, node.source)

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
                pieces += [TextPiece(text, turn, position) for position, text in texts]
        return pieces

    @property
    def text(self) -> str:
        """The text of all pieces."""
        return "".join([piece.text for piece in self.pieces])

    def enclosing_parts(self, offset: int) -> list[MessagePart]:
        """Return the parts around the character at an offset, the innermost first.

        A text node counts as the part around it. After the last character there are no parts.
        """
        ends = [*accumulate(len(piece.text) for piece in self.pieces)]
        index = bisect_right(ends, offset)
        if index == len(ends):
            return []
        _, turn, position = self.pieces[index]
        if turn is None or position < 0:
            return [self._turn_part(turn)]
        containers = [
            part
            for part in reversed(turn.nodes)
            if part.page is turn.page
            and part.start <= position < part.end
            and not isinstance(part.node, FenceNode)
        ]
        enclosing_parts = [
            *(MessagePart(name_of(part.node), part.path, part.node.source) for part in containers),
            self._turn_part(turn),
        ]
        if containers and isinstance(containers[0].node, INLINE):
            inline_part, outer, *more_parts = enclosing_parts
            return [outer._replace(source=inline_part.source or outer.source), *more_parts]
        return enclosing_parts

    def starts_of(self, key: Key) -> list[int]:
        """Return where the parts with a key begin, as indices of characters of the message."""
        starts = accumulate((len(piece.text) for piece in self.pieces), initial=0)
        starts_on_pages = {
            (id(turn), part.start)
            for turn in self.entry.turns
            for part in turn.nodes
            if part.page is turn.page and (name_of(part.node), part.path) == key
        }
        pairs = zip(starts, self.pieces, strict=False)
        return [
            start for start, piece in pairs if (id(piece.turn), piece.position) in starts_on_pages
        ]

    def _turn_part(self, turn: WrittenTurn | None) -> MessagePart:
        """Return the part of a turn; if the turn is not merged, that is the message itself."""
        if turn is None or len(self.entry.turns) == 1:
            return self.as_part
        return MessagePart(name_of(turn.node), turn.address, turn.node.source)

    def keys(self) -> set[Key]:
        """Return the keys of all parts of the message."""
        keys = {self.as_part.key}
        for turn in self.entry.turns:
            keys.add(self._turn_part(turn).key)
            keys |= {(name_of(part.node), part.path) for part in turn.nodes}
        return keys


def _texts(segments: Iterable[Segment]) -> Iterator[str]:
    """Yield pieces as texts to compare; between two segments of text there is a gap."""
    after_text = False
    for segment in segments:
        if segment.block is None or isinstance(segment.block, TextBlock):
            first_text, *more_texts = [piece.text for piece in segment.pieces]
            yield GAP + first_text if after_text else first_text
            yield from more_texts
            after_text = True
        else:
            yield repr(without_cache_marks(segment.block))
            after_text = False


def _segments(blocks: Iterable[Block]) -> Iterator[Segment]:
    for block in blocks:
        yield Segment(block, [WrittenPiece(getattr(block, "text", ""), None, "conversation")], 0)


def without_cache_marks(block: Block) -> Block:
    """Return a block without cache marks, also without those of the blocks in it."""
    if isinstance(block, ToolResultBlock):
        block = attrs.evolve(block, content=tuple(map(without_cache_marks, block.content)))
    if isinstance(block, MARKABLE) and block.cache:
        return attrs.evolve(block, cache=None)
    return block


def _part_difference(before: MessageParts, after: MessageParts) -> Difference:
    """Return the difference of two messages of one role, at the first character that differs."""
    offset = equal_start(before.text, after.text)
    old_parts, new_parts = before.enclosing_parts(offset), after.enclosing_parts(offset)
    old_keys, new_keys = before.keys(), after.keys()
    if not old_parts:
        return _grown("added", new_parts or [after.as_part], old_keys)
    if not new_parts:
        return _grown("removed", old_parts, new_keys)
    # Was the part in the old message already, and is the old part still in the new message?
    was_there, is_there = new_parts[0].key in old_keys, old_parts[0].key in new_keys
    if old_parts[0].key == new_parts[0].key or not (was_there or is_there):
        return Difference("changed", *new_parts[0])
    if was_there and is_there:
        part = _same_start(after, before, new_parts, offset) or _same_start(
            before, after, old_parts, offset
        )
        part = part or _continued(after, new_parts, offset) or _continued(before, old_parts, offset)
        if part:
            return Difference("changed", *part)
        return Difference("moved", *new_parts[0])
    if was_there:
        return Difference("removed", *_outermost(old_parts, new_keys))
    return Difference("added", *_outermost(new_parts, old_keys))


def _same_start(
    message: MessageParts, other: MessageParts, enclosing: Sequence[MessagePart], offset: int
) -> MessagePart | None:
    """Return the innermost part around a character that begins at the same place in both messages.

    Such a part became longer or shorter. If several parts have the same key, such as items, and
    this one begins elsewhere, it is new in the part around it.
    """
    for part in enclosing:
        starts = message.starts_of(part.key)
        # The part with this key that begins last before the character.
        if starts and starts[bisect_right(starts, offset) - 1] in other.starts_of(part.key):
            return part
        if len(starts) < 2:
            break
    return None


def _continued(
    message: MessageParts, enclosing: Sequence[MessagePart], offset: int
) -> MessagePart | None:
    """Return the turn whose own text continues at a character: it is longer than the other one."""
    is_text_of_turn = offset > 0 and len(enclosing) == 1
    return (
        enclosing[0]
        if is_text_of_turn and message.enclosing_parts(offset - 1) == [*enclosing]
        else None
    )


def _outermost(enclosing: Sequence[MessagePart], keys: set[Key]) -> MessagePart:
    """Return the largest part around a character that the other prompt does not have."""
    unknown = [*takewhile(lambda part: part.key not in keys, enclosing)]
    return unknown[-1] if unknown else enclosing[0]


def _grown(how: How, enclosing: Sequence[MessagePart], keys: set[Key]) -> Difference:
    """Return the difference if one message continues where the other one ends.

    ``keys`` are those of the parts of the other message. A part that both messages have became
    longer or shorter.
    """
    part = _outermost(enclosing, keys)
    if part.key in keys:
        return Difference("changed", *part)
    return Difference(how, *part)


# The prefix report: the tokens that two requests share at their beginning, and what ends it.


@attrs.frozen(eq=False)
class PrefixReport:
    """The number of tokens at the beginning that two requests share, and what a cache serves.

    - ``shared``: the number of equal tokens at the beginning.
    - ``served``: the shared tokens that the provider's cache serves: up to a cache mark or in
      complete steps, and 0 if there are fewer than ``minimum``.
    - ``before``, ``after``: all tokens of each request, with the counter of the second.
    - ``label``: how exact the counts are.
    - ``first``: the first difference, ``None`` for equal requests.
    - ``extends``: whether the second request only continues the first, without another change.
    - ``dropped``: the tokens of the first request that were dropped, cut or cleared in the second.

    >>> from promptdsl import Timeline, User, prefix_report, render
    >>> one, two = (render(Timeline(User(text)), counter=len) for text in ("One two.", "One six."))
    >>> report = prefix_report(one, two)
    >>> report.after, report.extends, report.first.how
    (18, False, 'changed')
    """

    shared: int
    served: int
    before: int
    after: int
    label: str
    first: Difference | None
    extends: bool
    minimum: int = 0
    dropped: int = 0

    @property
    def advice(self) -> str:
        """What to do if the requests differ and the cache serves nothing, otherwise ``""``."""
        if self.served or self.first is None:
            return ""
        if self.after < self.minimum:
            return f"a request below {self.minimum:,} tokens is not cached: leave it as it is"
        if not self.shared or self.shared < self.minimum:
            return "write what changes after what stays the same: a cache serves only the beginning"
        return "write cache=True on the last turn or section that stays the same"

    @property
    def pays_from(self) -> int | None:
        """The number of requests after which ``dropped`` saves more than it costs.

        1 is the second request of the two. Each later request is cheaper by these tokens, at the
        price of cached tokens. ``None`` if nothing at the beginning changed, or if nothing of the
        first request was dropped.
        """
        if self.extends or not self.dropped:
            return None
        uncached = max(self.before - self.shared - self.dropped, 0) * (1 - CACHED_COST)
        return max(ceil(uncached / (self.dropped * CACHED_COST)), 1)

    @property
    def behind(self) -> int:
        """The tokens of the second request after the shared tokens."""
        return self.after - self.shared

    @property
    def cost(self) -> float:
        """The cost of the second request, in the price of tokens that are not cached."""
        return CacheRule.cost(self.served, self.after)

    def to_dict(self) -> JsonDict:
        """Return the report as JSON data; ``read_from_cache`` are the tokens that are served.

        >>> from promptdsl import Section, System, prefix_report, render
        >>> one, two = (render(System(Section("role", text))) for text in ("Help.", "Go."))
        >>> data = prefix_report(one, two).to_dict()
        >>> data["shared"], data["first"]["how"], data["first"]["path"]
        (0, 'changed', 'role')
        """
        first = self.first
        return {
            "before": self.before,
            "after": self.after,
            "shared": self.shared,
            "read_from_cache": self.served,
            "minimum": self.minimum,
            "dropped": self.dropped,
            "label": self.label,
            "extends": self.extends,
            "first": None if first is None else first.to_dict(),
        }

    def __str__(self) -> str:
        after, what = self.after, ""
        difference = "nothing differs, except cache marks if there are any"
        if self.first:
            difference, what = str(self.first), "the shared prefix ends there: "
        if self.first and self.extends:
            what = "nothing before it changed: "
        below = f" below {self.minimum:,} tokens" if self.shared < self.minimum else ""
        share, saved_share = 1.0, 0.0
        if after:
            share, saved_share = self.shared / after, 1 - self.cost / after
        lines = [
            f"{self.shared:,} of {after:,} tokens are shared ({share:.0%}): {self.label}",
            f"  {difference}",
            f"  {what}{CacheRule.bill(self.served, after, below)}",
            f"  if cached tokens cost a tenth, it costs {self.cost:,.0f} of {after:,} "
            f"({saved_share:.0%} saved)",
        ]
        if self.pays_from:
            lines.append(
                f"  {self.dropped:,} tokens of the first request are dropped: "
                f"that is cheaper from request {self.pays_from} on"
            )
        if self.advice:
            lines.append(f"  {self.advice}")
        return "\n".join(lines)


def compared(before: ReportInput, after: ReportInput) -> PrefixReport:
    """Return the report on two requests; raises :class:`TargetError` if their targets differ."""
    tokens, facts = after.tokens, after.facts
    if (before.facts.provider, before.facts.model) != (facts.provider, facts.model):
        names = [side.model or side.provider or "no target" for side in (before.facts, facts)]
        raise TargetError(
            f"the first is for {names[0]}, the second for {names[1]}: they share no cache",
            fix="render both for the same model and provider",
        )
    payloads = _payload(before), _payload(after)
    orders = [cache_order(payload, facts) for payload in payloads]
    shared = shared_by(*orders)
    (old_total, _), (new_total, label) = (total_of(payload, tokens, facts) for payload in payloads)
    count = new_total
    if shared.location:
        count = min(beginning_tokens(shared.payload, tokens, facts), new_total)
    rule, served_tokens = facts.cache_rule, count
    if rule.needs_marks:
        blocks = [*map(cache_blocks, payloads, orders)]
        keys_of_blocks = [[(block.key, block.is_marked) for block in side] for side in blocks]
        served_blocks = blocks[1][: rule.served_blocks(*keys_of_blocks)]
        cached_beginning = beginning_of(orders[1], served_blocks)
        served_tokens = min(beginning_tokens(cached_beginning, tokens, facts), count)
    served_tokens = rule.served_tokens(served_tokens)
    if not shared.location:
        return PrefixReport(
            new_total,
            served_tokens,
            old_total,
            new_total,
            label,
            None,
            extends=True,
            minimum=rule.minimum,
        )
    difference = first_difference(before, after) or Difference(
        "changed", "the request", shared.location
    )
    # A chat template writes an end after the last turn; an appended turn replaces this end.
    extends = shared.is_complete or ("prompt" in shared.payload and difference.how == "appended")
    dropped = newly_dropped(before, after)
    return PrefixReport(
        count,
        served_tokens,
        old_total,
        new_total,
        label,
        difference,
        extends,
        rule.minimum,
        dropped,
    )


def _payload(report_input: ReportInput) -> Payload:
    """Return the payload; without a target, the payload for OpenAI."""
    if report_input.payload is not None:
        return report_input.payload
    payload: Payload = TARGETS[USUAL].write(report_input.sent, facts_for(None, USUAL), None)[0]
    return payload
