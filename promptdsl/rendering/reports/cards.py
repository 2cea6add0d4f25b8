"""A request as people read it: cards with labelled texts, which every view shows in its own way.

A card is a message, a tool or the output schema.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from typing import NamedTuple, TypeVar

import attrs

from promptdsl.budget.dropped import Dropped
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
CACHE_MARK = "cache mark"
"""The label of the end of what a provider caches."""


def or_none_on_error(function: Callable[[], T]) -> T | None:
    """Return what a function returns, ``None`` if it raises: a view has to work all the same."""
    with suppress(Exception):
        return function()
    return None


class Piece(NamedTuple):
    """A text of a card; one without a label is text of the request itself."""

    label: str
    text: str = ""
    image: ImageBlock | None = None


class Card(NamedTuple):
    """A message, a tool or the output schema; ``what`` is its role or kind.

    ``sent_as`` is the role that a message is sent in, if it is another one.
    """

    what: str
    name: str
    pieces: tuple[Piece, ...]
    sent_as: str = ""

    @property
    def heading(self) -> str:
        """What the card is, and how it is sent."""
        return f"{self.sent_as} (written as {self.what})" if self.sent_as else self.what


@attrs.frozen(eq=False, slots=False)
class Cards:
    """The content of the views of a request.

    ``tokens`` are those of the request and of each message, ``None`` where they cannot be counted,
    such as when the file of an attachment is gone; then ``budget`` is ``None``, too. ``sent_as``
    are the roles of the messages that are sent in another role, by index.
    """

    prompt: Prompt
    facts: ModelFacts
    losses: tuple[Loss, ...]
    hints: tuple[Loss, ...]
    dropped: tuple[Dropped, ...]
    tokens: tuple[int, Sequence[int]] | None
    budget: BudgetUse | None = None
    sent_as: Mapping[int, str] = attrs.field(factory=dict[int, str])

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

    def message_tokens(self) -> Sequence[int | None]:
        """Return the tokens of each message, ``None`` where they cannot be counted."""
        return self.tokens[1] if self.tokens else [None] * len(self.prompt.messages)

    def cards(self) -> Iterator[Card]:
        """Yield the cards of the request."""
        return cards_of(self.prompt, self.sent_as)

    def notes(self) -> Iterator[Card]:
        """Yield the losses, the hints and what was dropped, a text each."""
        named = ("losses", self.losses), ("hints", self.hints), ("dropped", self.dropped)
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


def cards_of(prompt: Prompt, sent_as: Mapping[int, str]) -> Iterator[Card]:
    """Yield the cards of a request: its tools, its output schema, and its messages."""
    for tool in prompt.tools:
        schema = write_json(tool.input_schema if tool.raw is None else tool.raw)
        pieces = (*_described(tool), Piece("input", schema), *_cached(tool.cache))
        yield Card("tool definition", tool.name, pieces)
    if prompt.tool_choice is not None:
        yield Card("tool choice", prompt.tool_choice, ())
    output = prompt.sent_output
    if output is not None:
        pieces = (*_described(output), Piece("schema", write_json(output.schema)))
        yield Card("output", output.name, pieces)
    tool_names: dict[str, str] = {}
    for index, message in enumerate(prompt.messages):
        tool_names |= {call.id: call.name for call in message.calls}
        name, pieces = message.name or "", tuple(_pieces(message.content, tool_names))
        if message.role == "tool" and len(message.content) == 1:
            # The label of its only result is the name of the message.
            name, pieces = pieces[0].label.removeprefix("result "), pieces[1:]
        yield Card(message.role, name, pieces, sent_as.get(index, ""))


def _described(part: ToolDefinition | OutputSchema) -> Iterator[Piece]:
    if part.description:
        yield Piece("", part.description)


def _pieces(blocks: Iterable[Block], tool_names: Mapping[str, str]) -> Iterator[Piece]:
    for block in blocks:
        words = "" if isinstance(block, TextBlock) else described(block, tools=tool_names)
        yield Piece(words, shown_text(block), block if isinstance(block, ImageBlock) else None)
        if isinstance(block, ToolResultBlock):
            yield from _pieces(block.content, tool_names)
        yield from _cached(getattr(block, "cache", None))


def _cached(mark: Cache | None) -> Iterator[Piece]:
    if mark is not None:
        yield Piece(CACHE_MARK if mark == "default" else f"{CACHE_MARK} {mark}")
