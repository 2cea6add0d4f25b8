"""What became of each block on the wire: its role, its message, its cache mark, or nothing.

The payload is read back, and its blocks are found again in order; each list is walked once, and a
block is looked for in a window of the next ones.
"""

import re
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import attrs

from promptdsl import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    ReasoningBlock,
    Rendered,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    VideoBlock,
    read_payload,
)

INSTRUCTIONS = ("system", "developer")
MEDIA = (ImageBlock, AudioBlock, DocumentBlock, VideoBlock)
WINDOW = 8
"""How many blocks ahead a block is looked for; those of neighbours may change places."""

_FENCE = re.compile(r"^<document[^>]*>\n.*?\n</document>$", re.DOTALL | re.MULTILINE)
"""A document of text that is sent as text."""


@attrs.define
class SentBlock:
    """What became of a block: the number and role of its message on the wire.

    ``number`` is ``None`` for a block that is not there as it is written. ``before`` and ``after``
    are texts that the adapter put around it, ``id`` is that of a call or result as sent.
    """

    number: int | None = None
    role: str = ""
    cache: str | None = None
    id: str | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    turns: tuple[tuple[str, str], ...] = ()
    """The messages before it that nobody wrote: role and text."""
    is_error: bool = False
    """Whether a result has the flag of an error."""
    is_joined: bool = False
    """Whether an empty line and more text follow it in its block on the wire."""


class SentPrompt(NamedTuple):
    """What became of each block of each message, and the messages at the end that nobody wrote.

    ``names`` are those that are sent: of speakers, and of the form of the answer.
    """

    blocks: list[list[SentBlock]]
    tail: tuple[tuple[str, str], ...]
    names: set[str | None]


class WireBlock(NamedTuple):
    """A block on the wire, with the number and the role of its message, and as what it is read."""

    number: int
    role: str
    read_as: str
    block: Block


def sent_prompt(rendered: Rendered) -> SentPrompt | None:
    """Return what became of a prompt; ``None`` without a target.

    Also ``None`` when the last calls have no results yet: such a prompt cannot be sent.
    """
    if rendered.facts.provider is None or has_open_calls(rendered.messages):
        return None
    lost = lost_places(rendered)
    payload, provider = rendered.payload(), rendered.facts.provider
    prompt = read_payload(payload, provider)
    reader = WireReader(wire_blocks(payload, provider, prompt.messages))
    found = [
        [
            SentBlock() if (index, number) in lost else reader.find(message.role, block)
            for number, block in enumerate(message.content)
        ]
        for index, message in enumerate(rendered.messages)
    ]
    names = {message.name for message in prompt.messages}
    names.add(prompt.output.name if prompt.output else None)
    return SentPrompt(found, reader.end(), names)


def wire_blocks(
    payload: Mapping[str, Any],  # Any: JSON data
    provider: str,
    messages: Sequence[Message],
) -> list[WireBlock]:
    """Return the blocks of the messages that were read from a payload, each with its place in it.

    A message of the payload may have been read as several.

    >>> result = {"type": "tool_result", "tool_use_id": "1", "content": "x"}
    >>> message = {"role": "user", "content": [result, {"type": "text", "text": "So?"}]}
    >>> payload = {"messages": [message]}
    >>> read = read_payload(payload, "anthropic").messages
    >>> [block[:3] for block in wire_blocks(payload, "anthropic", read)]
    [(0, 'user', 'tool'), (0, 'user', 'user')]
    """
    items = next(payload[key] for key in ("messages", "contents", "input") if key in payload)
    owners = [
        (number, "assistant" if role == "model" else role)
        for number, item in enumerate(items)
        for message in read_payload([item], provider).messages
        for role in [item.get("role") or message.role] * len(message.content)
    ]
    blocks = [(message.role, block) for message in messages for block in message.content]
    # What is sent beside the messages is read first.
    beside = blocks[: len(blocks) - len(owners)]
    owners = [*((-1, role) for role, _ in beside), *owners]
    return [WireBlock(*owner, *block) for owner, block in zip(owners, blocks, strict=True)]


def lost_places(rendered: Rendered) -> set[tuple[int, ...]]:
    """Return the places of the blocks that are not sent, such as blank texts."""
    losses = rendered.losses
    return {it.at for it in losses if it.kind == "content" or it.what == "text block"}


def has_open_calls(messages: Sequence[Message]) -> bool:
    """Return whether the last calls have no results yet."""
    answered: set[str] = set()
    for message in reversed(messages):
        if message.role == "assistant":
            return any(call.id not in answered for call in message.calls)
        results = (block for block in message.content if isinstance(block, ToolResultBlock))
        answered.update(block.tool_use_id for block in results)
    return False


class WireReader:
    """The blocks on the wire by type; those at the beginning are found already."""

    def __init__(self, wire: Sequence[WireBlock]) -> None:
        self.wire: dict[str, list[WireBlock]] = {}
        self.next: dict[str, int] = {}
        self.results: dict[str, deque[WireBlock]] = {}
        """The results on the wire by id; they may be in another order."""
        self.ids: dict[str, str] = {}
        """The id as sent of the last call with each id."""
        lead, rest = self.lead, self.rest = WireTexts(), WireTexts()
        for sent in wire:
            block = sent.block
            if isinstance(block, TextBlock):
                texts = rest if rest.texts or sent.read_as not in INSTRUCTIONS else lead
                texts.texts.append((sent.number, sent.role, block))
            elif isinstance(block, ToolResultBlock):
                self.results.setdefault(block.tool_use_id, deque()).append(sent)
            else:
                self.wire.setdefault(block.type, []).append(sent)

    def find(self, role: str, block: Block) -> SentBlock:
        """Return what became of the next block, which is in a message of this role."""
        if isinstance(block, TextBlock):
            # Instructions before the conversation may join the system text.
            first, second = self.rest, self.lead
            if role in INSTRUCTIONS:
                first, second = second, first
            return first.find(block.text) or second.find(block.text) or SentBlock()
        if isinstance(block, ToolResultBlock):
            results = self.results.get(self.ids.get(block.tool_use_id, ""))
            return _sent_result(block, results.popleft()) if results else SentBlock()
        start = self.next.get(block.type, 0)
        ahead = self.wire.get(block.type, ())[start : start + WINDOW]
        for index, wire in enumerate(ahead, start + 1):
            if self._is_same(block, wire.block):
                self.next[block.type] = index
                sent = SentBlock(wire.number, wire.role, getattr(wire.block, "cache", None))
                if isinstance(block, ToolUseBlock) and isinstance(wire.block, ToolUseBlock):
                    self.ids[block.id] = sent.id = wire.block.id
                return sent
        if isinstance(block, DocumentBlock) and (fence := _FENCE.search(self.rest.ahead())):
            return self.rest.find(fence[0]) or SentBlock()
        return SentBlock()

    def _is_same(self, block: Block, wire: Block) -> bool:
        if isinstance(block, ReasoningBlock) and isinstance(wire, ReasoningBlock):
            return block.text == wire.text
        if isinstance(block, MEDIA) and isinstance(wire, MEDIA):
            # An attachment from another place may be sent as its bytes.
            source, other = block.source, wire.source
            return source.value == other.value or source.kind != other.kind
        return True  # calls are neither left out nor moved

    def end(self) -> tuple[tuple[str, str], ...]:
        """Note the texts after the last one that was found; return those of other messages."""
        rest = [*self.lead.skip_to(len(self.lead.texts)), *self.rest.skip_to(len(self.rest.texts))]
        return tuple((role, text) for _, role, text in rest)


class WireTexts:
    """Texts on the wire, read from the beginning: adapters join, fence and add some."""

    def __init__(self) -> None:
        self.texts: list[tuple[int, str, TextBlock]] = []
        self.next = self.offset = 0
        """The place after the last text that was found: its block, and the offset in it."""
        self.last: SentBlock | None = None

    def find(self, text: str) -> SentBlock | None:
        """Return where a text is next; ``None`` if it is not near."""
        if not text.strip():
            return SentBlock(self.last.number) if self.last else None
        for index in range(self.next, min(self.next + WINDOW, len(self.texts))):
            number, role, block = self.texts[index]
            start = _place_of(text, block.text, self.offset if index == self.next else 0)
            if start >= 0:
                skipped = self.skip_to(index)
                before = [text for other, _, text in skipped if other == number]
                turns = [(role, text) for other, role, text in skipped if other != number]
                before += _said(block.text[self.offset : start])
                self.offset = start + len(text)
                cache = block.cache if self.offset == len(block.text) else None
                self.last = SentBlock(number, role, cache, None, tuple(before), (), tuple(turns))
                self.last.is_joined = block.text.startswith("\n\n", self.offset)
                return self.last
        return None

    def ahead(self) -> str:
        """Return the next texts, from the place after the last one that was found."""
        near = self.texts[self.next : self.next + WINDOW]
        return "\n".join(block.text for _, _, block in near)[self.offset :]

    def skip_to(self, index: int) -> list[tuple[int, str, str]]:
        """Go on to a block; return the texts before it that the adapter added.

        Each with the number and role of its message. Those in the message of the last text that was
        found are put after that text.
        """
        skipped: list[tuple[int, str, str]] = []
        for number, role, block in self.texts[self.next : index]:
            rest = _said(block.text[self.offset :])
            if self.last and self.last.number == number:
                self.last.after += rest
                self.last.cache = self.last.cache or block.cache
            else:
                skipped += [(number, role, text) for text in rest]
            self.offset = 0
        self.next = index
        return skipped


def _place_of(text: str, whole: str, offset: int) -> int:
    """Return where a text is in a joined one, -1 if it is not: after the last one, or on lines."""
    if whole.startswith(text, offset):
        return offset
    for _ in range(WINDOW):
        offset = whole.find(text, offset)
        end = offset + len(text)
        if offset < 0 or (whole[offset - 1 : offset] in "\n" and whole[end : end + 1] in "\n"):
            break
        offset += 1
    else:
        return -1
    return offset


def _sent_result(result: ToolResultBlock, wire: WireBlock) -> SentBlock:
    """Return what became of a tool result; adapters may write an error as a word before it."""
    text, said = (_first_text(block) for block in (result, wire.block))
    added = said.removesuffix(text) if said.endswith(text) else said.partition(text)[0]
    assert isinstance(wire.block, ToolResultBlock)
    return SentBlock(
        wire.number,
        wire.role,
        wire.block.cache,
        wire.block.tool_use_id,
        _said(added if text else said),
        is_error=wire.block.is_error,
    )


def _first_text(block: Block) -> str:
    """Return the first text in a tool result that is not blank."""
    inner = block.content if isinstance(block, ToolResultBlock) else ()
    texts = (part.text for part in inner if isinstance(part, TextBlock))
    return next((text for text in texts if text.strip()), "")


def _said(text: str) -> tuple[str, ...]:
    """Return a text that the adapter added, without the blank lines around it, if there is one."""
    text = text.strip("\n")
    return (text,) if text.strip() else ()
