"""Lower: the finished tree becomes messages. The only bridge between the two."""

import os
from collections.abc import Iterable
from typing import Any

import attrs

from promptdsl.blocks import EMPTY, Block, TextBlock, ToolResultBlock, text_block
from promptdsl.config import Resolved, fences, literal_fences
from promptdsl.encoding import guard, guard_prefixes
from promptdsl.fencing import SectionFormat
from promptdsl.losses import Loss
from promptdsl.messages import Message, RawOrigin, message
from promptdsl.sources import Source
from promptdsl.tree import (
    DEFAULTS,
    RECORDED,
    RESULT,
    SHIFT,
    Consolidated,
    Merged,
    Node,
    Recorded,
    Text,
    ToolTurn,
    Turn,
)
from promptdsl.wording import FENCED, INSTRUCTION, SPOKEN, Voice, Wording, marked

Roots = Iterable[str | os.PathLike[str]]


def lower(
    root: Node, *, form: SectionFormat, config: Resolved, roots: Roots = ()
) -> tuple[tuple[Message, ...], tuple[Loss, ...]]:
    """Return the messages of a finished tree, and what of it could not be said.

    A turn without content makes no message. Raises :class:`MediaError` for an attachment that
    cannot be read.
    """
    state = _Lowering(form, config, roots)
    spoken = state.spoken
    messages = state.messages
    guarded = config.guard_conversation
    counts = state.counts
    for turn in root.content:
        if type(turn) is Turn and turn.options is DEFAULTS and len(turn.content) == 1:
            text = turn.content[0]
            if type(text) is Text and len(text.content) == 1:
                text = text.content[0]
            role = turn.role
            if type(text) is str and text.isascii() and role in spoken and turn.kind == "written":
                # The fast path: conversation text that goes out as it is.
                number = counts[role]
                counts[role] = number + 1
                if text:
                    origin = ((role, number), turn.at, None, EMPTY)
                    messages.append(message(role, (text_block(text),), origins=(origin,)))
                continue
        if turn.mask & RECORDED and not guarded:
            messages.extend(turn.items)
        else:
            state.lower(turn)
    return tuple(messages), tuple(state.losses)


class _Lowering:
    """What is carried from turn to turn."""

    def __init__(self, form: SectionFormat, config: Resolved, roots: Roots) -> None:
        self.form = form
        self.roots = tuple(roots)
        self.messages: list[Message] = []
        self.losses: list[Loss] = []
        self.counts = dict.fromkeys(_LABELS, 0)
        self.path = ""
        guard = config.guard_conversation
        self.fences = fences(config) if guard else frozenset[str]()
        self.literals = literal_fences(config) if guard else frozenset[str]()
        self.heard = attrs.evolve(SPOKEN, guards=self.fences, literals=self.literals)
        # The turns whose text goes out to the byte.
        self.spoken = ("assistant",) if guard else ("user", "assistant")

    def lower(self, turn: Any) -> None:
        """Append the messages of one turn, merged turn or recording."""
        if isinstance(turn, Merged):
            self._merged(turn)
        elif isinstance(turn, Recorded):
            self.messages += [self._guarded(one) for one in turn.items]
        else:
            blocks, origins = self._blocks(turn)
            options = turn.options
            self._emit(turn, blocks, (options.id, options.name, options.metadata), origins)

    def _merged(self, turn: Merged) -> None:
        blocks: list[Block] = []
        origins: list[RawOrigin] = []
        ids: list[str | None] = []
        for part in turn.content:
            if isinstance(part, Recorded):
                recorded = self._guarded(part.items[0])
                blocks += recorded.content
                origins += recorded.origins or ((("history", 0), part.at, recorded.id, {}),)
                ids.append(recorded.id)
                name = recorded.name
            else:
                said, places = self._blocks(part)
                blocks += said
                origins += places
                ids.append(part.options.id)
                name = part.options.name
        id = next((id for id in ids if id is not None), None)
        metadata = next((origin[3] for origin in origins if origin[3]), EMPTY)
        self._emit(turn, tuple(blocks), (id, name, metadata), tuple(origins))

    def _emit(
        self,
        turn: Any,
        blocks: tuple[Block, ...],
        said: tuple[Any, ...],
        origins: tuple[RawOrigin, ...],
    ) -> None:
        """Append a message; the results in a user turn are tool messages of their own, first."""
        id, name, metadata = said
        role = turn.role
        merge = turn.options.merge
        if role in ("user", "tool") and turn.mask & RESULT << SHIFT:
            results = [block for block in blocks if isinstance(block, ToolResultBlock)]
            for result in results:
                self.messages.append(
                    message("tool", (result,), id=id, metadata=metadata, origins=origins)
                )
            blocks = tuple(block for block in blocks if not isinstance(block, ToolResultBlock))
        if blocks:
            self.messages.append(
                message(
                    role,
                    blocks,
                    kind=turn.kind,
                    id=id,
                    name=name,
                    metadata=metadata,
                    merge=merge,
                    origins=origins,
                )
            )

    def _blocks(self, turn: Any) -> tuple[tuple[Block, ...], tuple[RawOrigin, ...]]:
        """Return the blocks of one turn and where they are from."""
        options = turn.options
        address = self._address(turn)
        self.path = address if isinstance(address, str) else f"{address[0]}[{address[1]}]"
        origin = (address, turn.at, options.id, options.metadata)
        wording = Wording(self.form, self._report, self.roots)
        blocks = wording.write(turn, self._voice(turn))
        if isinstance(turn, ToolTurn):
            result = ToolResultBlock(
                turn.tool_use_id, blocks, options.name, turn.is_error, turn.error_type
            )
            blocks = (result,)
        if options.cache and blocks and turn.role != "system":
            blocks = (*blocks[:-1], marked(blocks[-1], "default"))
        if isinstance(turn, Consolidated):
            return blocks, tuple(_origins_within(turn))
        return blocks, (origin,)

    def _voice(self, turn: Any) -> Voice:
        if turn.kind in ("event", "request"):
            return FENCED
        if turn.role in ("system", "developer"):
            return INSTRUCTION
        return self.heard if turn.role in ("user", "tool") else SPOKEN

    def _address(self, turn: Any) -> str | tuple[str, int]:
        label = turn.role if turn.kind in ("written", "recorded") else _LABEL_OF[turn.kind]
        number = self.counts[label]
        self.counts[label] = number + 1
        return turn.options.id or (label, number)

    def _report(self, kind: Any, what: str, why: str, source: Source | None) -> None:
        self.losses.append(Loss(kind, what, why, self.path, source))

    def _guarded(self, recorded: Message) -> Message:
        if not self.fences or recorded.role not in ("user", "tool"):
            return recorded
        content = tuple(self._guarded_block(block) for block in recorded.content)
        return attrs.evolve(recorded, content=content)

    def _guarded_block(self, block: Block) -> Block:
        if isinstance(block, TextBlock):
            text = guard_prefixes(guard(block.text, self.fences), self.literals)
            return attrs.evolve(block, text=text)
        if isinstance(block, ToolResultBlock):
            content = tuple(self._guarded_block(inner) for inner in block.content)
            return attrs.evolve(block, content=content)
        return block


_LABELS = ("system", "developer", "user", "assistant", "tool", "event", "ephemeral")
_LABEL_OF = {"event": "event", "request": "ephemeral"}


def _origins_within(system: Consolidated) -> Iterable[RawOrigin]:
    """Yield where the parts of the system message were written: turns, and loose sections."""
    number = 0
    for part in system.content:
        options = part.options
        if isinstance(part, Turn):
            yield options.id or ("system", number), part.at, options.id, options.metadata
            number += 1
        else:
            yield options.id, part.at, options.id, EMPTY


