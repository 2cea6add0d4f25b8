"""A request as people read it: cards with labelled texts, which every view shows in its own way.

A card is a message, a tool or the output schema.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import attrs

from promptdsl.budget.dropped import Dropped, named
from promptdsl.config.model_facts import ModelFacts
from promptdsl.foundation.json import write_json
from promptdsl.foundation.unicode import on_one_line
from promptdsl.messages import Block, ImageBlock, TextBlock, ToolResultBlock
from promptdsl.messages.description import described, shown_text
from promptdsl.messages.field_checks import Cache
from promptdsl.messages.loss import Loss
from promptdsl.messages.prompt import OutputSchema, Prompt, ToolDefinition
from promptdsl.rendering.reports.budget_use import BudgetUse

T = TypeVar("T")
NOT_SENT = "not sent"
"""The beginning of the label of a block that the target does not take."""
TINTED = ("value", "volatile")
"""The kinds of spans that views show apart from the text of the author."""
CACHE_MARK = "cache mark"
"""The label of the end of what a provider caches."""


def or_none_on_error(function: Callable[[], T]) -> T | None:
    """Return what a function returns, ``None`` if it raises: a view has to work all the same."""
    with suppress(Exception):
        return function()
    return None


class Tint(NamedTuple):
    """A part of a text that is no text of the author: a ``value``, or a ``volatile`` value."""

    start: int
    end: int
    kind: str


class Piece(NamedTuple):
    """A text of a card; one without a label is text of the request itself."""

    label: str
    text: str = ""
    image: ImageBlock | None = None
    tints: Sequence[Tint] = ()
    schema: object = None
    """The schema that the text is."""
    kind: Literal["", "mark", "lost"] = ""
    """``mark`` for a cache mark, ``lost`` for a block that is not sent."""

    def runs(self) -> Iterator[tuple[str, str]]:
        """Yield the text in pieces, each with its kind: empty for text of the author."""
        end = 0
        for tint in self.tints:
            yield self.text[end : tint.start], ""
            yield self.text[tint.start : tint.end], tint.kind
            end = tint.end
        yield self.text[end:], ""


@attrs.frozen
class DroppedCard:
    """A dropped part with its text, and the message in which or before which it stood.

    ``tokens`` are ``None`` where they are not counted.
    """

    dropped: Dropped
    text: str
    tokens: int | None
    message: int
    is_inside: bool = attrs.field(kw_only=True)

    @property
    def name(self) -> str:
        """The name of the part, by the word of its author."""
        return named(self.dropped.what, self.dropped.path)

    @property
    def reason(self) -> str:
        """Why it is not sent, in words."""
        return self.dropped.why + (f" ({self.dropped.note})" if self.dropped.note else "")


class Card(NamedTuple):
    """A message, a tool, the output schema or a dropped part; ``what`` is its role or kind.

    ``sent_as`` is the role that a message is sent in, if it is another one. ``inside`` are the
    dropped parts that stood in it, ``dropped`` is set for a card that is one itself. ``stands_for``
    is the number of dropped parts that it tells of.
    """

    what: str
    name: str
    pieces: tuple[Piece, ...]
    sent_as: str = ""
    tokens: int | None = None
    inside: tuple["Card", ...] = ()
    dropped: DroppedCard | None = None
    stands_for: int = 1

    @property
    def is_dropped(self) -> bool:
        """Whether it is a dropped part, or the number of more of them."""
        return self.what == "dropped" and bool(self.name)

    @property
    def heading(self) -> str:
        """What the card is, and how it is sent."""
        return f"{self.sent_as} (written as {self.what})" if self.sent_as else self.what


TextLocation: TypeAlias = tuple[int, int, int | None]
"""The location of a text: its message, its block, and its block in a result."""
Tints: TypeAlias = Mapping[TextLocation, Sequence[Tint]]
NO_TINTS: Tints = {}
MOST_DROPPED = 20
"""So many dropped parts with one location have a card each."""


class CardTokens(NamedTuple):
    """The tokens of each message, and of each tool and the output schema by name."""

    messages: Sequence[int | None]
    definitions: Mapping[str, int]


NOT_COUNTED = CardTokens((), {})


def tints_of(spans: Iterable[Mapping[str, Any]]) -> Tints:  # Any: JSON data
    """Return the tints of each text, by the rows of spans in a record."""
    tints: dict[TextLocation, list[Tint]] = defaultdict(list)
    for span in spans:
        if span["kind"] in TINTED and span["start"] < span["end"]:
            tint = Tint(span["start"], span["end"], span["kind"])
            tints[span["message"], span["block"], span.get("inner")].append(tint)
    return tints


@attrs.frozen(eq=False, slots=False)
class Cards:
    """The content of the views of a request.

    ``tokens`` are those of the request and of each message, ``None`` where they cannot be counted,
    such as when the file of an attachment is gone; then ``budget`` is ``None``, too. ``sent_as``
    are the roles of the messages that are sent in another role, by index. ``definitions`` are the
    tokens of each tool and of the output schema by name. ``located`` are the dropped parts at their
    locations, ``None`` where these are not known; ``tints`` are those of each text.
    """

    prompt: Prompt
    facts: ModelFacts
    losses: tuple[Loss, ...]
    hints: tuple[Loss, ...]
    dropped: tuple[Dropped, ...]
    tokens: tuple[int, Sequence[int]] | None
    budget: BudgetUse | None = None
    sent_as: Mapping[int, str] = attrs.field(factory=dict[int, str])
    definitions: Mapping[str, int] = attrs.field(factory=dict[str, int])
    located: Sequence[DroppedCard] | None = None
    tints: Tints = attrs.field(factory=dict[TextLocation, Sequence[Tint]])

    @cached_property
    def summary(self) -> str:
        """The target of the request, its size and its digest, on one line."""
        target = " ".join(filter(None, (self.facts.provider or "no target", self.facts.model)))
        sizes = [_counted("message", self.prompt.messages)]
        if self.budget is not None:
            sizes.append(self.budget.line(" tokens"))
        elif self.tokens:
            sizes.append(f"{self.tokens[0]:,} tokens")
        sizes += [_counted("loss", self.losses)] if self.losses else []
        sizes += [_counted("hint", self.hints)] if self.hints else []
        sizes += [f"{len(self.dropped):,} dropped"] if self.dropped else []
        return on_one_line(f"Rendered for {target}: {', '.join(sizes)}, {digest_of(self.prompt)}")

    def cards(self) -> Iterator[Card]:
        """Yield the cards of the request, with their tokens where they are counted."""
        counts = self.tokens[1] if self.tokens else [None] * len(self.prompt.messages)
        tokens = CardTokens(counts, self.definitions)
        yield from cards_of(
            self.prompt,
            self.sent_as,
            dropped=self.located or (),
            tints=self.tints,
            tokens=tokens,
            losses=self.losses,
        )

    def notes(self) -> Iterator[Card]:
        """Yield the losses, the hints and what was dropped, a text each.

        A dropped part whose location is known has a card of its own.
        """
        dropped = self.dropped if self.located is None else ()
        named = ("losses", self.losses), ("hints", self.hints), ("dropped", dropped)
        for what, notes in named:
            if notes:
                yield Card(what, "", tuple(Piece("", str(_located(note))) for note in notes))


def _located(note: Loss | Dropped) -> Loss | Dropped:
    """Return a note with the name of its file alone: a folder takes most of a line."""
    if note.source is None:
        return note
    file = re.split(r"[/\\]", note.source.file)[-1]
    return attrs.evolve(note, source=attrs.evolve(note.source, file=file))


def digest_of(prompt: Prompt) -> str:
    """Return twelve hexadecimal digits that change with anything that is sent.

    Ids, metadata and lines are not sent. The same request has the same digest in every process.
    """
    messages = [
        (message.role, message.kind, message.name, [block.to_dict() for block in message.content])
        for message in prompt.messages
    ]
    definitions: tuple[ToolDefinition | OutputSchema, ...]
    definitions = (*prompt.tools, *([prompt.sent_output] if prompt.sent_output else []))
    # Fields that do not count when parts are compared, such as the line, are not sent.
    fields = [
        attrs.asdict(definition, recurse=False, filter=lambda field, _: bool(field.eq))
        for definition in definitions
    ]
    content = (messages, fields, prompt.tool_choice)
    return sha256(json.dumps(content, default=str).encode()).hexdigest()[:12]


def _counted(word: str, values: Sequence[object]) -> str:
    plural = "" if len(values) == 1 else "es" if word.endswith("s") else "s"
    return f"{len(values):,} {word}{plural}"


def cards_of(
    prompt: Prompt,
    sent_as: Mapping[int, str],
    *,
    dropped: Sequence[DroppedCard] = (),
    tints: Tints = NO_TINTS,
    tokens: CardTokens = NOT_COUNTED,
    losses: Iterable[Loss] = (),
) -> Iterator[Card]:
    """Yield the cards of a request: its tools, its output schema, and its messages.

    A dropped part stands in or before the message where its author wrote it.
    """
    for tool in prompt.tools:
        schema = tool.input_schema if tool.raw is None else tool.raw
        shown = Piece("input", write_json(schema), schema=schema)
        pieces = (*_described(tool), shown, *_cached(tool.cache))
        count = tokens.definitions.get(tool.name)
        yield Card("tool definition", tool.name, pieces, tokens=count)
    if prompt.tool_choice is not None:
        yield Card("tool choice", prompt.tool_choice, ())
    output = prompt.sent_output
    if output is not None:
        shown = Piece("schema", write_json(output.schema), schema=output.schema)
        pieces = (*_described(output), shown)
        yield Card("output", output.name, pieces, tokens=tokens.definitions.get(output.name))
    before, inside = _by_message(dropped) if dropped else (_NO_CARDS, _NO_CARDS)
    lost = [loss.at for loss in losses if loss.kind == "content"]
    notes = _Notes(tints, {*lost}) if tints or lost else None
    tool_names: dict[str, str] = {}
    for index, message in enumerate(prompt.messages):
        yield from before.get(index, ())
        tool_names |= {call.id: call.name for call in message.calls}
        name = message.name or ""
        pieces = tuple(_pieces(message.content, tool_names, notes, (index, None)))
        if message.role == "tool" and len(message.content) == 1:
            # The label of its only result is the name of the message.
            name, pieces = pieces[0].label.removeprefix("result "), pieces[1:]
        count = tokens.messages[index] if tokens.messages else None
        gone = inside.get(index, ())
        yield Card(message.role, name, pieces, sent_as.get(index, ""), count, gone)
    yield from before.get(len(prompt.messages), ())


_NO_CARDS: Mapping[int, tuple[Card, ...]] = {}


def _by_message(
    dropped: Iterable[DroppedCard],
) -> tuple[Mapping[int, tuple[Card, ...]], Mapping[int, tuple[Card, ...]]]:
    """Return the cards of dropped parts before each message, and in each message."""
    parts: dict[tuple[int, bool], list[DroppedCard]] = defaultdict(list)
    for part in dropped:
        parts[part.message, part.is_inside].append(part)
    before: dict[int, tuple[Card, ...]] = {}
    inside: dict[int, tuple[Card, ...]] = {}
    for (message, is_inside), group in parts.items():
        cards = inside if is_inside else before
        cards[message] = tuple(_dropped_cards(group))
    return before, inside


def _dropped_cards(parts: Sequence[DroppedCard]) -> Iterator[Card]:
    """Yield the cards of dropped parts with one location; of many parts, those of the first."""
    for part in parts[:MOST_DROPPED]:
        text = (Piece("", part.text),) if part.text else ()
        yield Card("dropped", part.name, text, tokens=part.tokens, dropped=part)
    if len(parts) > MOST_DROPPED:
        more = len(parts) - MOST_DROPPED
        yield Card("dropped", f"{more:,} more", (), stands_for=more)


def _described(part: ToolDefinition | OutputSchema) -> Iterator[Piece]:
    if part.description:
        yield Piece("", part.description)


class _Notes(NamedTuple):
    """What is shown of blocks: the tints of texts, and the locations of what is not sent."""

    tints: Tints
    lost: Container[tuple[int, ...]]


def _pieces(
    blocks: Iterable[Block],
    tool_names: Mapping[str, str],
    notes: _Notes | None,
    around: tuple[int, int | None],
) -> Iterator[Piece]:
    """Yield the pieces of blocks; ``around`` is their message, and the result they are in."""
    for number, block in enumerate(blocks):
        words = "" if isinstance(block, TextBlock) else described(block, tools=tool_names)
        piece = Piece(words, shown_text(block), block if isinstance(block, ImageBlock) else None)
        yield piece if notes is None else _noted(piece, notes, (*around, number))
        if isinstance(block, ToolResultBlock):
            yield from _pieces(block.content, tool_names, notes, (around[0], number))
        yield from _cached(getattr(block, "cache", None))


def _noted(piece: Piece, notes: _Notes, at: tuple[int, int | None, int]) -> Piece:
    """Return a piece with its tints, and with a word if it is not sent.

    ``at`` is its message, the result it is in, and its number in that or in the message.
    """
    message, result, number = at
    location: TextLocation = (message, number, None)
    if result is not None:
        location = (message, result, number)
    parts = tuple(part for part in location if part is not None)
    piece = piece._replace(tints=notes.tints.get(location, ()))
    if not piece.label or parts not in notes.lost:
        return piece
    return piece._replace(label=f"{NOT_SENT}: {piece.label}", kind="lost")


def _cached(mark: Cache | None) -> Iterator[Piece]:
    if mark is not None:
        label = CACHE_MARK if mark == "default" else f"{CACHE_MARK} {mark}"
        yield Piece(label, kind="mark")
