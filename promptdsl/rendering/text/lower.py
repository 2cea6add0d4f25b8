"""Lower: the finished tree becomes messages."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TypeAlias, cast

import attrs

from promptdsl.config.delimiters import fence_literals, fence_names
from promptdsl.config.transformation import Resolved
from promptdsl.foundation.frozen import EMPTY
from promptdsl.messages import Block, TextBlock, ToolResultBlock
from promptdsl.messages.details import NO_DETAILS, Details, RawOrigin
from promptdsl.messages.fast_path import text_block
from promptdsl.messages.loss import Loss, LossKind
from promptdsl.messages.message import Message, message
from promptdsl.rendering.text.blocks import MediaRoots, as_text
from promptdsl.rendering.text.fast_path import answer_of, lower_plain, plain_instructions
from promptdsl.rendering.text.format import FORMATS
from promptdsl.rendering.text.page import MARKABLE, OnLoss, Setting, marked
from promptdsl.rendering.text.strings import FENCED, INSTRUCTION, SPEECH, StringRules, guarded
from promptdsl.rendering.text.writer import TextWriter
from promptdsl.tree.group_nodes import FragmentNode
from promptdsl.tree.masks import HOLLOW, RESULT, SHIFT, SPOKEN, SYSTEM
from promptdsl.tree.node import Child, Node, mark_of
from promptdsl.tree.turn_nodes import (
    ConsolidatedNode,
    MergedNode,
    RecordedNode,
    ToolTurnNode,
    TurnNode,
)

Turns: TypeAlias = "tuple[TurnNode | RecordedNode, ...]"
"""The content of a finished tree."""

Written: TypeAlias = tuple[tuple[Block, ...], tuple[RawOrigin, ...]]
"""The blocks of a turn, and the places they are from."""


def lower(
    root: Node, *, config: Resolved, media_roots: MediaRoots = ()
) -> tuple[tuple[Message, ...], tuple[Loss, ...]]:
    """Return the messages of a finished tree, and the losses: its parts that could not be sent.

    A turn without content makes no message. Raises :class:`MediaError` for an attachment that
    cannot be read.
    """
    lowering = Lowering(config, media_roots)
    messages, counts, form = lowering.messages, lowering.counts, lowering.setting.form
    turns, index = cast("Turns", root.content), 0
    # The text of a conversation is sent unchanged, unless it is guarded.
    plain = 0 if config.guard_conversation else SPOKEN | SYSTEM
    while index < len(turns):
        if turns[index].mask & plain:
            index = lower_plain(turns, index, form, messages=messages, counts=counts)
        if index < len(turns):
            lowering.lower(turns[index])
            index += 1
    return tuple(messages), tuple(lowering.losses)


class Lowering:
    """The messages and losses so far, and the number of turns by the head of their address."""

    def __init__(self, config: Resolved, media_roots: MediaRoots | None) -> None:
        form = FORMATS[config.format]
        self.setting = Setting(form, media_roots, config.format_block)
        self.messages: list[Message] = []
        self.losses: list[Loss] = []
        self.counts: dict[str, int] = dict.fromkeys(_LABELS, 0)
        self.speech = SPEECH
        if config.guard_conversation:
            guards, literals = fence_names(config.delimiters), fence_literals(config.delimiters)
            self.speech = attrs.evolve(SPEECH, guards=guards, literals=literals)

    def lower(self, turn: TurnNode | RecordedNode) -> None:
        """Append the messages of one turn, merged turn or recording."""
        if isinstance(turn, MergedNode):
            self._lower_merged(turn)
        elif isinstance(turn, RecordedNode):
            items = self._as_text(turn) if turn.mask & HOLLOW else turn.items
            self.messages += items if self.speech is SPEECH else map(self._guarded, items)
        else:
            options = turn.options
            details = _details(options.id, options.name, options.metadata)
            self._append(turn, *self.turn_blocks(turn), details)

    def _lower_merged(self, merged: MergedNode) -> None:
        """Append the message of merged turns; it has the first id and the first metadata."""
        blocks: list[Block] = []
        origins: list[RawOrigin] = []
        ids: list[str | None] = []
        name: str | None = None
        for part in cast("Turns", merged.content):
            if isinstance(part, RecordedNode):
                recorded = self.recorded_message(part)
                unplaced = ("history", part.start, part.at, recorded.id, recorded.metadata, ())
                blocks += recorded.content
                origins += recorded.origins or (unplaced,)
                ids.append(recorded.id)
                name = recorded.name
            else:
                part_blocks, places = self.turn_blocks(part)
                if part_blocks:
                    blocks += part_blocks
                    origins += places
                    ids.append(part.options.id)
                    name = part.options.name
        id = next((id for id in ids if id is not None), None)
        metadata = next((origin[4] for origin in origins if origin[4]), EMPTY)
        self._append(merged, tuple(blocks), tuple(origins), _details(id, name, metadata))

    def _append(
        self,
        turn: TurnNode,
        blocks: tuple[Block, ...],
        origins: tuple[RawOrigin, ...],
        details: Details,
    ) -> None:
        """Append a message; before it, a tool message for each result in a user turn."""
        role = turn.role
        if role in ("user", "tool") and turn.mask & RESULT << SHIFT:
            of_results = _details(details.id, None, details.metadata)
            for block in blocks:
                if isinstance(block, ToolResultBlock):
                    self.messages.append(message("tool", (block,), origins, details=of_results))
            rest = tuple(block for block in blocks if not isinstance(block, ToolResultBlock))
            blocks = () if role == "tool" else rest
        if blocks:
            self.messages.append(message(role, blocks, origins, kind=turn.kind, details=details))

    # Turns.

    def turn_blocks(self, turn: TurnNode) -> Written:
        """Return the blocks of one turn and the places they are from."""
        options = turn.options
        # The address of a turn is its id, or its label and its number among turns of that label.
        label = _LABEL_OF.get(turn.kind, turn.role)
        head, number = label, self.counts[label]
        self.counts[label] = number + 1
        if options.id:
            head, number = options.id, -1
        address = head if number < 0 else f"{head}[{number}]"
        report = partial(self._report, address)
        blocks = self.part_blocks(turn, address, report)
        if isinstance(turn, ToolTurnNode):
            blocks = answer_of(turn, blocks)
        # The cache mark of a turn is put on its last block.
        mark = mark_of(options) if options.cache else None
        if mark and blocks and turn.role != "system":
            last = marked(blocks[-1], mark)
            if not isinstance(last, MARKABLE):
                reason = f"a {last.type} block takes no cache mark"
                report(Loss("hint", "a cache mark", reason, source=turn.source))
            blocks = (*blocks[:-1], last)
        if isinstance(turn, ConsolidatedNode):
            return blocks, tuple(system_origins(turn))
        return blocks, ((head, number, turn.at, options.id, options.metadata, options.within),)

    def part_blocks(self, turn: TurnNode, address: str, report: OnLoss) -> tuple[Block, ...]:
        """Return the blocks that the parts of a turn become."""
        rules = self.rules(turn)
        if rules is INSTRUCTION:
            text = plain_instructions(turn.content, self.setting.form)
            if text:
                return (text_block(text, mark_of(turn.options)),)
        return TextWriter(self.setting, report, turn, rules).write()

    def rules(self, turn: TurnNode) -> StringRules:
        """Return how the strings of a turn become text."""
        if turn.kind in ("event", "request"):
            return FENCED
        if turn.role in ("system", "developer"):
            return INSTRUCTION
        return self.speech if turn.role in ("user", "tool") else SPEECH

    def _report(self, address: str, loss: Loss) -> None:
        # In system content an address is the path of ids; elsewhere it starts with the turn.
        if not loss.path:
            loss = attrs.evolve(loss, path=address)
        elif not address.startswith("system"):
            loss = attrs.evolve(loss, path=f"{address}/{loss.path}")
        self.losses.append(loss)

    # Recorded messages.

    def recorded_message(self, node: RecordedNode) -> Message:
        """Return the message of a recording that is merged with turns, as it is sent."""
        return self._guarded(*self._as_text(node))

    def _as_text(self, node: RecordedNode) -> list[Message]:
        """Return recorded messages whose JSON and code are text."""

        def note(index: int, kind: LossKind, what: str, why: str) -> None:
            self.losses.append(Loss(kind, what, why, f"history[{index}]", node.source))

        format_block = self.setting.format_block
        source = None if format_block is None else node.source
        return [
            as_text(message, format_block, source, partial(note, index))
            for index, message in enumerate(node.items, node.start)
        ]

    def _guarded(self, recorded: Message) -> Message:
        """Return a recorded message; texts of the user and of tools in it forge no fence."""
        if self.speech is SPEECH or recorded.role not in ("user", "tool"):
            return recorded
        return recorded.replace(content=tuple(map(self._guarded_block, recorded.content)))

    def _guarded_block(self, block: Block) -> Block:
        if isinstance(block, TextBlock):
            return attrs.evolve(block, text=guarded(block.text, self.speech, ()))
        if isinstance(block, ToolResultBlock):
            return attrs.evolve(block, content=tuple(map(self._guarded_block, block.content)))
        return block


_LABELS = ("system", "developer", "user", "assistant", "tool", "event", "ephemeral")
_LABEL_OF = {"event": "event", "request": "ephemeral"}


def _details(id: str | None, name: str | None, metadata: Mapping[str, object]) -> Details:
    """Return the details of a message; most messages share one object of defaults."""
    bare = id is None and name is None and not metadata
    return NO_DETAILS if bare else Details(id=id, name=name, metadata=metadata)


def system_origins(system: ConsolidatedNode) -> Iterable[RawOrigin]:
    """Yield where the parts of the system message were written: turns, and loose sections."""
    number = 0
    for part in system.content:
        inner: Child = part
        while isinstance(inner, FragmentNode):  # a format of its own around a section
            inner = inner.content[0]
        if isinstance(inner, TurnNode):
            options = inner.options
            head, index = (options.id, -1) if options.id else ("system", number)
            yield head, index, inner.at, options.id, options.metadata, options.within
            number += 1
        elif isinstance(inner, Node):
            options = inner.options
            yield str(options.id), -1, inner.at, options.id, EMPTY, options.within
