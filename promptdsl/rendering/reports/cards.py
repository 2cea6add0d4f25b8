"""The view of a request that people read, with a card for each message, tool or output schema.

Read :class:`RequestView` first, then :class:`Card`. :class:`BudgetUse`, at the top, is how full the
budget is.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from typing import Literal, NamedTuple, TypeVar

import attrs

from promptdsl.budget.dropped import Dropped, in_tokens, named
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.errors import counted
from promptdsl.foundation.json import write_json
from promptdsl.foundation.unicode import on_one_line
from promptdsl.messages import Block, ImageBlock, TextBlock, ToolResultBlock
from promptdsl.messages.blocks import described, shown_text
from promptdsl.messages.field_checks import Cache
from promptdsl.messages.message import Message
from promptdsl.messages.prompt import Loss, OutputSchema, Prompt, ToolDefinition
from promptdsl.rendering.spans import Span

# The use of a budget: its line of text and its bar.

BUDGET_BAR = 40
"""The width of the bar of a budget, in characters."""
_EIGHTHS = " ▏▎▍▌▋▊▉"
"""The character that is filled by 0 to 7 eighths."""


@attrs.frozen
class BudgetUse:
    """The use of a budget, in tokens; ``free`` is below 0 if the request has too many."""

    limit: int
    used: int
    reserve: int
    free: int

    def line(self, word: str = "") -> str:
        """Return the use in words; ``word`` follows the limit."""
        texts = [f"{self.used:,} of {self.limit:,}{word}"]
        if self.reserve:
            texts.append(f"{self.reserve:,} for the answer")
        texts.append(f"{self.free:,} free" if self.free >= 0 else f"{-self.free:,} too many")
        return " · ".join(texts)

    def shares(self) -> tuple[float, float]:
        """Return two shares of the limit, at most 1: what is used, and what is used or reserved."""
        if not self.limit:
            return 1, 1
        return min(self.used / self.limit, 1), min((self.used + self.reserve) / self.limit, 1)

    def bar(self) -> str:
        """Return a bar of text: what is used, what is reserved for the answer, what is free."""
        used, filled = (round(share * BUDGET_BAR * 8) for share in self.shares())
        full = eighths(used / (BUDGET_BAR * 8), BUDGET_BAR).rstrip()
        reserve = "▒" * (round(filled / 8) - len(full))
        return f"{full}{reserve}".ljust(BUDGET_BAR, "·")


def eighths(share: float, width: int) -> str:
    """Return a bar of text for a share, in eighths of a character, padded to a width."""
    full, rest = divmod(max(round(min(share, 1) * width * 8), 0), 8)
    return f"{'█' * full}{_EIGHTHS[rest] if rest else ''}".ljust(width)


# The view of a request, and its cards: text, HTML, Markdown and ``rich`` show them.
#
# A card is a message, a tool or the output schema, with labelled texts.

T = TypeVar("T")
NOT_SENT = "not sent"
"""The beginning of the label of a block that the target does not take."""
TINTED = ("value", "volatile")
"""The kinds of spans that views show in another style than the author's text."""
CACHE_MARK = "cache mark"
"""The label of a cache mark: a provider caches the request up to there."""


def or_none_on_error(function: Callable[[], T]) -> T | None:
    """Return what a function returns, ``None`` if it raises, so that a view never fails."""
    with suppress(Exception):
        return function()
    return None


class Tint(NamedTuple):
    """Characters of a text that are a ``value`` or a ``volatile`` value, not the author's text."""

    start: int
    end: int
    kind: str


class Piece(NamedTuple):
    """A text of a card, with a label; without a label it is text of the request itself."""

    label: str
    text: str = ""
    image: ImageBlock | None = None
    tints: Sequence[Tint] = ()
    schema: object = None
    """The JSON schema, if the text is one."""
    kind: Literal["", "mark", "lost"] = ""
    """``mark`` for a cache mark, ``lost`` for a block that is not sent."""

    def runs(self) -> Iterator[tuple[str, str]]:
        """Yield the text in pieces, each with its kind, ``""`` for the author's text."""
        end = 0
        for tint in self.tints:
            yield self.text[end : tint.start], ""
            yield self.text[tint.start : tint.end], tint.kind
            end = tint.end
        yield self.text[end:], ""


def heading_of(role: str, sent_as: str) -> str:
    """Return the role of a message; if it is sent in another role, both roles."""
    return f"{sent_as} (written as {role})" if sent_as else role


MAX_DROPPED_CARDS = 20
"""The maximum number of dropped parts at one location that have a card each."""


@attrs.frozen
class DroppedCard:
    """A dropped part with its text, and the index of the message where its author wrote it.

    The part was in this message (``is_inside``) or before it. ``tokens`` are ``None`` if they are
    not counted.
    """

    dropped: Dropped
    text: str
    tokens: int | None
    message: int
    is_inside: bool = attrs.field(kw_only=True)

    @property
    def name(self) -> str:
        """The name of the part, as its author calls it."""
        return named(self.dropped.what, self.dropped.path)

    @property
    def reason(self) -> str:
        """Why it is not sent."""
        why, note = self.dropped.why, self.dropped.note
        return f"{why} ({note})" if note else why


class Card(NamedTuple):
    """A message, a tool, the output schema or dropped parts; ``what`` is its role or kind.

    ``sent_as`` is the role that a message is sent in, if that is another role. ``dropped_inside``
    are the cards of the dropped parts that were written in it. A card of a dropped part has it in
    ``dropped``. ``dropped_count`` is the number of dropped parts that the card is about.
    """

    what: str
    name: str
    pieces: tuple[Piece, ...] = ()
    sent_as: str = ""
    tokens: int | None = None
    dropped_inside: tuple["Card", ...] = ()
    dropped: DroppedCard | None = None
    dropped_count: int = 0

    @property
    def is_dropped(self) -> bool:
        """Whether it is a dropped part, or the number of more dropped parts."""
        return self.dropped_count > 0

    @property
    def heading(self) -> str:
        """What the card is, and how it is sent."""
        return heading_of(self.what, self.sent_as)

    @property
    def style(self) -> str:
        """The kind of the card for colours: the role that a message is sent in."""
        return self.sent_as or self.what

    @property
    def why(self) -> str:
        """Why a dropped part is not sent, with its tokens if they are counted."""
        if self.dropped is None:
            return ""
        if self.tokens is None:
            return self.dropped.reason
        return f"{in_tokens(self.tokens)}: {self.dropped.reason}"


class BlockView(NamedTuple):
    """A block of a message with its spans; ``at`` is its location, as in losses.

    ``is_lost`` says that the target does not take it. ``is_unsent`` says that it is lost, or left
    out because it is white space alone. ``inner`` are the blocks in a tool result; the result has
    the spans of all of them.
    """

    at: tuple[int, ...]
    block: Block
    spans: Sequence[Span]
    is_lost: bool
    is_unsent: bool
    inner: "tuple[BlockView, ...]"

    @property
    def tints(self) -> list[Tint]:
        """The characters of its text that are not the author's text."""
        return [Tint(span.start, span.end, span.kind) for span in self.spans if _is_tinted(span)]


def _is_tinted(span: Span) -> bool:
    return span.kind in TINTED and span.start < span.end


class MessageView(NamedTuple):
    """A message with its blocks; ``tokens`` are ``None`` if they are not counted.

    ``sent_as`` is the role that it is sent in, if that is another role, otherwise ``""``.
    """

    message: Message
    blocks: tuple[BlockView, ...]
    sent_as: str
    tokens: int | None

    @property
    def heading(self) -> str:
        """Its role, and how it is sent."""
        return heading_of(self.message.role, self.sent_as)

    @property
    def style(self) -> str:
        """The kind of its heading for colours: the role that it is sent in."""
        return self.sent_as or self.message.role


@attrs.frozen(eq=False, slots=False)
class RequestView:
    """What views show of a request: ``Rendered`` and ``PromptRecord`` both make one.

    - ``tokens``: those of the request and of each message. ``None`` if they cannot be counted, for
      example because the file of an attachment is missing; then ``budget`` is ``None``, too.
    - ``sent_as``: by index, the roles of the messages that are sent in another role.
    - ``definitions``: the tokens of each tool and of the output schema, by name.
    - ``located``: the dropped parts with their locations, ``None`` if these are not known.
    - ``spans``: the pieces of the messages; empty for a view that shows all text in one style.
    """

    prompt: Prompt
    facts: ModelFacts
    losses: tuple[Loss, ...]
    hints: tuple[Loss, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    tokens: tuple[int, Sequence[int]] | None = None
    budget: BudgetUse | None = None
    sent_as: Mapping[int, str] = attrs.field(factory=dict[int, str])
    definitions: Mapping[str, int] = attrs.field(factory=dict[str, int])
    located: Sequence[DroppedCard] | None = None
    spans: Sequence[Span] = ()

    @cached_property
    def messages(self) -> list[MessageView]:
        """The messages with their blocks."""
        reader = _BlockReader(self)
        messages = self.prompt.messages
        counts: Sequence[int | None] = [None] * len(messages)
        if self.tokens is not None and self.tokens[1]:
            counts = self.tokens[1]
        return [
            MessageView(
                message,
                reader.blocks(message.content, (index,)),
                self.sent_as.get(index, ""),
                counts[index],
            )
            for index, message in enumerate(messages)
        ]

    @property
    def is_tinted(self) -> bool:
        """Whether a text has characters that are not the author's text."""
        return any(_is_tinted(span) for span in self.spans)

    @cached_property
    def summary(self) -> str:
        """The target of the request, its size and its digest, on one line."""
        target = " ".join(filter(None, (self.facts.provider or "no target", self.facts.model)))
        sizes = [counted(len(self.prompt.messages), "message", "messages")]
        if self.budget is not None:
            sizes.append(self.budget.line(" tokens"))
        elif self.tokens:
            sizes.append(f"{self.tokens[0]:,} tokens")
        if self.losses:
            sizes.append(counted(len(self.losses), "loss", "losses"))
        if self.hints:
            sizes.append(counted(len(self.hints), "hint", "hints"))
        if self.dropped:
            sizes.append(f"{len(self.dropped):,} dropped")
        return on_one_line(f"Rendered for {target}: {', '.join(sizes)}, {digest_of(self.prompt)}")

    def notes(self) -> Iterator[Card]:
        """Yield a card for the losses, one for the hints, and one for the dropped parts.

        If the locations of dropped parts are known, these have cards of their own instead.
        """
        dropped = self.dropped if self.located is None else ()
        for what, notes in (("losses", self.losses), ("hints", self.hints), ("dropped", dropped)):
            if notes:
                yield Card(what, "", tuple(Piece("", str(_located(note))) for note in notes))

    def cards(self) -> Iterator[Card]:
        """Yield a card for each tool, for the output schema, and for each message.

        The card of a dropped part is in or before the message where its author wrote it.
        """
        yield from self._definition_cards()
        dropped = _cards_by_location(self.located or ())
        tool_names: dict[str, str] = {}
        for index, view in enumerate(self.messages):
            yield from dropped[index, False]
            message = view.message
            tool_names |= {call.id: call.name for call in message.calls}
            name = message.name or ""
            pieces = tuple(_pieces(view.blocks, tool_names))
            if message.role == "tool" and len(view.blocks) == 1:
                # The label of its only result is the name of the message.
                name, pieces = pieces[0].label.removeprefix("result "), pieces[1:]
            dropped_inside = tuple(dropped[index, True])
            yield Card(message.role, name, pieces, view.sent_as, view.tokens, dropped_inside)
        yield from dropped[len(self.messages), False]

    def _definition_cards(self) -> Iterator[Card]:
        for tool in self.prompt.tools:
            schema = tool.input_schema if tool.raw is None else tool.raw
            schema_piece = Piece("input", write_json(schema), schema=schema)
            pieces = (*_described(tool), schema_piece, *_cached(tool.cache))
            tokens = self.definitions.get(tool.name)
            yield Card("tool definition", tool.name, pieces, tokens=tokens)
        if self.prompt.tool_choice is not None:
            yield Card("tool choice", self.prompt.tool_choice)
        output = self.prompt.sent_output
        if output is not None:
            schema_piece = Piece("schema", write_json(output.schema), schema=output.schema)
            tokens = self.definitions.get(output.name)
            yield Card("output", output.name, (*_described(output), schema_piece), tokens=tokens)


class _BlockReader:
    """A reader of blocks, which knows the spans of each, and whether it is sent."""

    def __init__(self, view: RequestView) -> None:
        self.spans: dict[tuple[int, ...], list[Span]] = defaultdict(list)
        for span in view.spans:
            self.spans[span.message, span.block].append(span)
            if span.inner is not None:
                self.spans[span.message, span.block, span.inner].append(span)
        self.lost = {loss.at for loss in view.losses if loss.kind == "content"}
        self.unsent = self.lost | {hint.at for hint in view.hints if hint.what == "text block"}

    def blocks(self, blocks: Sequence[Block], location: tuple[int, ...]) -> tuple[BlockView, ...]:
        """Return the blocks of the message or the tool result at a location."""
        return tuple([self._block(block, (*location, n)) for n, block in enumerate(blocks)])

    def _block(self, block: Block, at: tuple[int, ...]) -> BlockView:
        inner = self.blocks(block.content, at) if isinstance(block, ToolResultBlock) else ()
        spans = self.spans.get(at, ())
        return BlockView(at, block, spans, at in self.lost, at in self.unsent, inner)


def _cards_by_location(dropped: Iterable[DroppedCard]) -> Mapping[tuple[int, bool], list[Card]]:
    """Return the cards of dropped parts, by their message and by whether they were in it.

    The first 20 parts with one location have a card each; one more card counts the others.
    """
    by_location: dict[tuple[int, bool], list[DroppedCard]] = defaultdict(list)
    for card in dropped:
        by_location[card.message, card.is_inside].append(card)
    cards: dict[tuple[int, bool], list[Card]] = defaultdict(list)
    for location, group in by_location.items():
        cards[location] += map(_dropped_card, group[:MAX_DROPPED_CARDS])
        if len(group) > MAX_DROPPED_CARDS:
            rest = len(group) - MAX_DROPPED_CARDS
            cards[location].append(Card("dropped", f"{rest:,} more", dropped_count=rest))
    return cards


def _dropped_card(card: DroppedCard) -> Card:
    pieces = (Piece("", card.text),) if card.text else ()
    return Card("dropped", card.name, pieces, tokens=card.tokens, dropped=card, dropped_count=1)


def _pieces(views: Iterable[BlockView], tool_names: Mapping[str, str]) -> Iterator[Piece]:
    """Yield the pieces of each block: its text, the pieces of the blocks in it, its cache mark."""
    for view in views:
        yield _piece(view, tool_names)
        yield from _pieces(view.inner, tool_names)
        yield from _cached(getattr(view.block, "cache", None))


def _piece(view: BlockView, tool_names: Mapping[str, str]) -> Piece:
    block = view.block
    if isinstance(block, TextBlock):
        return Piece("", block.text, tints=view.tints)
    label = described(block, tools=tool_names)
    image = block if isinstance(block, ImageBlock) else None
    if view.is_lost and label:
        return Piece(f"{NOT_SENT}: {label}", shown_text(block), image, kind="lost")
    return Piece(label, shown_text(block), image)


def _cached(cache_mark: Cache | None) -> Iterator[Piece]:
    if cache_mark is not None:
        label = CACHE_MARK if cache_mark == "default" else f"{CACHE_MARK} {cache_mark}"
        yield Piece(label, kind="mark")


def _described(definition: ToolDefinition | OutputSchema) -> Iterator[Piece]:
    if definition.description:
        yield Piece("", definition.description)


def _located(note: Loss | Dropped) -> Loss | Dropped:
    """Return a note without the folder of its file, which would take most of a line."""
    if note.source is None:
        return note
    file = re.split(r"[/\\]", note.source.file)[-1]
    return attrs.evolve(note, source=attrs.evolve(note.source, file=file))


def digest_of(prompt: Prompt) -> str:
    """Return twelve hexadecimal digits, which change if anything that is sent changes.

    Ids, metadata and lines are not sent. The same request has the same digest in every process.
    """
    messages = [
        (message.role, message.kind, message.name, [block.to_dict() for block in message.content])
        for message in prompt.messages
    ]
    definitions: tuple[ToolDefinition | OutputSchema, ...]
    definitions = (*prompt.tools, *([prompt.sent_output] if prompt.sent_output else []))
    # Fields that are not compared, such as the line, are not sent.
    fields = [
        attrs.asdict(definition, recurse=False, filter=lambda field, _: bool(field.eq))
        for definition in definitions
    ]
    content = (messages, fields, prompt.tool_choice)
    return sha256(json.dumps(content, default=str).encode()).hexdigest()[:12]
