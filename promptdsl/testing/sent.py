"""What became of each block on the wire: its role, its message, its cache mark, or nothing.

The payload is read back, and its blocks are found again in order; each list is walked once, and a
block is looked for in a window of the next ones.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import attrs

from promptdsl import (
    Block,
    Message,
    Rendered,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    read_payload,
)

WINDOW = 8
"""How many blocks ahead a block is looked for; those of neighbours may change places."""


@attrs.define
class SentBlock:
    """What became of a block: the number and role of its message on the wire.

    ``before`` and ``after`` are texts that the adapter put around it. ``id`` is that of a call as
    sent. ``number`` is ``None`` for a block that was not found again.
    """

    number: int | None = None
    role: str = ""
    cache: str | None = None
    id: str | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    changed: bool = False


class _WireBlock(NamedTuple):
    number: int
    role: str
    block: Block


def sent_blocks(rendered: Rendered) -> list[list[SentBlock]] | None:
    """Return what became of each block of each message; ``None`` without a target.

    Also ``None`` when the last calls have no results yet: such a prompt cannot be sent.
    """
    if rendered.facts.provider is None or has_open_calls(rendered.messages):
        return None
    wire = read_payload(rendered.payload(), rendered.facts.provider).messages
    return Alignment(wire).align(rendered.messages)


def has_open_calls(messages: Sequence[Message]) -> bool:
    """Return whether the last calls have no results yet."""
    answered: set[str] = set()
    for message in reversed(messages):
        if message.role == "assistant":
            return any(call.id not in answered for call in message.calls)
        results = (block for block in message.content if isinstance(block, ToolResultBlock))
        answered.update(block.tool_use_id for block in results)
    return False


class Alignment:
    """The blocks on the wire by type, of which those at the beginning are found already."""

    def __init__(self, wire: Sequence[Message]) -> None:
        self.wire: dict[str, list[_WireBlock]] = {}
        for number, message in enumerate(wire):
            for block in message.content:
                kind = self.wire.setdefault(block.type, [])
                kind.append(_WireBlock(number, message.role, block))
        self.next: dict[str, int] = dict.fromkeys(self.wire, 0)
        self.offset = 0
        """The end of the last text that was found, in the text block it was found in."""
        self.last: SentBlock | None = None
        """The last text that was found."""
        self.ids: dict[str, str] = {}
        """The id as sent of the last call with each id."""

    def align(self, messages: Sequence[Message]) -> list[list[SentBlock]]:
        """Return what became of each block."""
        found = [[self._find(block) for block in message.content] for message in messages]
        self._end_text(len(self.wire.get("text", ())))
        return found

    def _find(self, block: Block) -> SentBlock:
        if isinstance(block, TextBlock):
            return self._find_text(block.text)
        for index, wire in self._ahead(block.type):
            if self._is_same(block, wire.block):
                self.next[block.type] = index + 1
                sent = SentBlock(wire.number, wire.role, getattr(wire.block, "cache", None))
                if isinstance(block, ToolUseBlock) and isinstance(wire.block, ToolUseBlock):
                    self.ids[block.id] = sent.id = wire.block.id
                return sent
        return SentBlock()

    def _ahead(self, kind: str) -> Iterator[tuple[int, _WireBlock]]:
        start = self.next.get(kind, 0)
        return enumerate(self.wire.get(kind, ())[start : start + WINDOW], start)

    def _is_same(self, block: Block, wire: Block) -> bool:
        if isinstance(block, ToolUseBlock) and isinstance(wire, ToolUseBlock):
            return block.name == wire.name and (block.input == wire.input)
        if isinstance(block, ToolResultBlock) and isinstance(wire, ToolResultBlock):
            return self.ids.get(block.tool_use_id) == wire.tool_use_id
        return True

    def _find_text(self, text: str) -> SentBlock:
        if not text.strip():
            return SentBlock(number=self.last.number if self.last else None)
        for index, wire in self._ahead("text"):
            whole = wire.block.text if isinstance(wire.block, TextBlock) else ""
            offset = self.offset if index == self.next["text"] else 0
            start = whole.find(text, offset)
            if start < 0:
                continue
            before = self._end_text(index)
            sent = SentBlock(wire.number, wire.role)
            sent.before = (*before, *_said(whole[self.offset : start]))
            self.next["text"], self.offset = index, start + len(text)
            self.last = sent
            if self.offset == len(whole):
                sent.cache = getattr(wire.block, "cache", None)
            return sent
        return SentBlock(changed=True)

    def _end_text(self, index: int) -> tuple[str, ...]:
        """Skip the texts up to a block; return those of other messages that nobody wrote."""
        before: list[str] = []
        while self.next.get("text", index) < index:
            wire = self.wire["text"][self.next["text"]]
            rest = wire.block.text[self.offset :] if isinstance(wire.block, TextBlock) else ""
            if self.last and self.last.number == wire.number:
                self.last.after = (*self.last.after, *_said(rest))
                self.last.cache = self.last.cache or getattr(wire.block, "cache", None)
            else:
                before += _said(rest)
            self.next["text"] += 1
            self.offset = 0
        return tuple(before)


def _said(text: str) -> tuple[str, ...]:
    """Return a text that the adapter added, without the blank lines around it, if there is one."""
    text = text.strip("\n")
    return (text,) if text.strip() else ()
