"""Lower: the finished tree becomes messages. The only bridge between the two."""

# What a child is told by its exact type, which is faster than isinstance and tells a checker less.
# pyright: reportUnknownVariableType=false

import os
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import attrs

from promptdsl.config.delimiters import fence_literals, fence_names
from promptdsl.config.transformation import Resolved
from promptdsl.foundation.frozen import EMPTY
from promptdsl.foundation.guards import guard, guard_end, guard_prefixes
from promptdsl.foundation.unicode import is_whole
from promptdsl.messages import Block, TextBlock, ToolResultBlock
from promptdsl.messages.details import NO_DETAILS, Details, RawOrigin
from promptdsl.messages.field_checks import Cache
from promptdsl.messages.loss import Loss, LossKind
from promptdsl.messages.message import Message, message, spoken
from promptdsl.messages.unchecked import text_block, tool_result_block
from promptdsl.rendering.text.blocks import formatted, worded
from promptdsl.rendering.text.format import Form
from promptdsl.rendering.text.page import Trace, marked
from promptdsl.rendering.text.voice import FENCED, INSTRUCTION, SPEECH, Voice, written
from promptdsl.rendering.text.writer import Setting, Wording, plain_instructions
from promptdsl.tree.masks import HOLLOW, RESULT, SHIFT, SPOKEN
from promptdsl.tree.node import Child, Node, mark_of
from promptdsl.tree.nodes import (
    Call,
    Consolidated,
    Fragment,
    Media,
    Merged,
    Recorded,
    Text,
    ToolTurn,
    Turn,
)

Roots = Iterable[str | os.PathLike[str]]


def lower(  # noqa: PLR0915 (the hot loop: a function for its parts is a call for every turn)
    root: Node,
    *,
    forms: Mapping[str, Form],
    config: Resolved,
    roots: Roots = (),
    trace: Trace | None = None,
) -> tuple[tuple[Message, ...], tuple[Loss, ...]]:
    """Return the messages of a finished tree, and what of it could not be said.

    A turn without content makes no message. ``trace`` is told what the parts of turns came to.
    Raises :class:`MediaError` for an attachment that cannot be read.
    """
    state = _Lowering(forms, config, roots, trace)
    messages = state.messages
    counts = state.counts
    # Conversation goes out as it is, unless it is guarded.
    plain = 0 if config.guard_conversation or trace is not None else SPOKEN
    for turn in root.content:
        if not turn.mask & plain:
            state.lower(turn)
            continue
        role, content = turn.role, turn.content
        child: Any = content[0] if len(content) == 1 else None
        kind = type(child)
        if kind is Text and len(child.content) == 1:
            child = child.content[0]
            kind = type(child)
        if kind is str and child and role != "tool":
            try:
                # What has no UTF-8 form holds a lone surrogate, which is not sent.
                child.isascii() or child.encode()  # pyright: ignore[reportUnusedExpression]
            except UnicodeEncodeError:
                state.lower(turn)
                continue
            number = counts[role]
            counts[role] = number + 1
            messages.append(spoken(role, child, turn, number))
            continue
        blocks = (child.block,) if kind is Call else _plain(content)
        if blocks is None:
            state.lower(turn)
            continue
        number = counts[role]
        counts[role] = number + 1
        if role == "tool":
            blocks = _answer(turn, blocks)
        if blocks:
            messages.append(message(role, blocks, turn, number))
    return tuple(messages), tuple(state.losses)


def _plain(content: tuple[Child, ...]) -> tuple[Block, ...] | None:
    """Return the blocks of plain strings, calls and attachments, ``None`` for anything else."""
    blocks: list[Block] = []
    for child in content:
        kind = type(child)
        if kind is Text:
            parts = child.content
            if len(parts) > 1:
                return None
            child = parts[0]  # noqa: PLW2901
            kind = type(child)
        if kind is str:
            if not child.isascii() and not is_whole(child):
                return None
            if child:
                blocks.append(text_block(child))
        elif kind is Call or (kind is Media and child.block.source.kind != "path"):
            blocks.append(child.block)
        else:
            return None
    return tuple(blocks)


def _answer(turn: Any, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return the content of a tool message."""
    if turn.is_error or turn.error_type:
        error = (turn.is_error, turn.error_type)
        return (ToolResultBlock(turn.tool_use_id, blocks, turn.options.name, *error),)
    return (tool_result_block(turn.tool_use_id, blocks, turn.options.name),)


class _Lowering:
    """What is carried from turn to turn."""

    def __init__(
        self, forms: Mapping[str, Form], config: Resolved, roots: Roots, trace: Trace | None
    ) -> None:
        form = forms[config.format]
        self.setting = Setting(forms, form, tuple(roots), config.format_block, trace)
        self.messages: list[Message] = []
        self.losses: list[Loss] = []
        self.counts: dict[str, int] = dict.fromkeys(_LABELS, 0)
        self.path = ""
        guard = config.guard_conversation
        self.fences = fence_names(config.delimiters) if guard else frozenset[str]()
        self.literals = fence_literals(config.delimiters) if guard else frozenset[str]()
        self.heard = (
            attrs.evolve(SPEECH, guards=self.fences, literals=self.literals) if guard else SPEECH
        )

    def lower(self, turn: Any) -> None:
        """Append the messages of one turn, merged turn or recording."""
        if isinstance(turn, Merged):
            self._merged(turn)
        elif isinstance(turn, Recorded):
            items = self._worded(turn, turn.items) if turn.mask & HOLLOW else turn.items
            self.messages += map(self._guarded, items) if self.fences else items
        else:
            blocks, origins = self._blocks(turn)
            options = turn.options
            self._emit(turn, blocks, (options.id, options.name, options.metadata), origins)
        if self.setting.trace is not None:
            self.setting.trace.reached(len(self.messages))

    def _worded(self, node: Recorded, items: tuple[Message, ...]) -> list[Message]:
        """Return recorded messages whose JSON and code are text."""
        wanted = partial(self._wanted, node)
        return [worded(message, wanted) for message in items]

    def _wanted(self, node: Recorded, block: Block) -> str | None:
        """Return what an author's function makes of a recorded block."""
        format_block = self.setting.format_block
        text = None if format_block is None else formatted(block, format_block, node.source)
        return None if text is None else written(text, partial(self._lost, node))

    def _lost(self, node: Recorded, kind: LossKind, what: str, why: str) -> None:
        self.losses.append(Loss(kind, what, why, "history", node.source))

    def _merged(self, turn: Merged) -> None:
        blocks: list[Block] = []
        origins: list[RawOrigin] = []
        ids: list[str | None] = []
        name: str | None = None
        for part in turn.content:
            if isinstance(part, Recorded):
                recorded = self._guarded(*self._worded(part, part.items))
                blocks += recorded.content
                if self.setting.trace is not None:
                    self.setting.trace.said(part, recorded.content, f"history[{part.start}]")
                unplaced = ("history", part.start, part.at, recorded.id, recorded.metadata, ())
                origins += recorded.origins or (unplaced,)
                ids.append(recorded.id)
                name = recorded.name
            else:
                said, places = self._blocks(part)
                if not said:
                    continue
                blocks += said
                origins += places
                ids.append(part.options.id)
                name = part.options.name
        id = next((id for id in ids if id is not None), None)
        metadata = next((origin[4] for origin in origins if origin[4]), EMPTY)
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
        bare = id is None and name is None and not metadata
        details = NO_DETAILS if bare else Details(id=id, name=name, metadata=metadata)
        if role in ("user", "tool") and turn.mask & RESULT << SHIFT:
            results = [block for block in blocks if isinstance(block, ToolResultBlock)]
            for result in results:
                self.messages.append(
                    message("tool", (result,), origins, details=Details(id=id, metadata=metadata))
                )
            rest = tuple(block for block in blocks if not isinstance(block, ToolResultBlock))
            blocks = () if role == "tool" else rest
        if blocks:
            self.messages.append(message(role, blocks, origins, kind=turn.kind, details=details))

    def _blocks(self, turn: Any) -> tuple[tuple[Block, ...], tuple[RawOrigin, ...]]:
        """Return the blocks of one turn and where they are from."""
        options = turn.options
        head, number = self._address(turn)
        self.path = head if number < 0 else f"{head}[{number}]"
        origin = (head, number, turn.at, options.id, options.metadata, options.within)
        voice = self._voice(turn)
        plain = (
            plain_instructions(turn.content, self.setting.form)
            if voice is INSTRUCTION and self.setting.trace is None
            else None
        )
        if plain:
            blocks: tuple[Block, ...] = (text_block(plain, mark_of(options)),)
        else:
            blocks = Wording(self.setting, self._report).write(turn, voice)
        if isinstance(turn, ToolTurn):
            blocks = _answer(turn, blocks)
        mark = mark_of(options)
        if mark and blocks and turn.role != "system":
            blocks = (*blocks[:-1], self._marked(blocks[-1], mark, turn))
        if self.setting.trace is not None:
            self.setting.trace.said(turn, blocks, self.path)
        if isinstance(turn, Consolidated):
            return blocks, tuple(_origins_within(turn))
        return blocks, (origin,)

    def _marked(self, block: Block, mark: Cache, turn: Node) -> Block:
        if not hasattr(block, "cache"):
            why = f"a {block.type} block takes none"
            self._report(Loss("hint", "a cache mark", why, source=turn.source))
        return marked(block, mark)

    def _voice(self, turn: Any) -> Voice:
        if turn.kind in ("event", "request"):
            return FENCED
        if turn.role in ("system", "developer"):
            return INSTRUCTION
        return self.heard if turn.role in ("user", "tool") else SPEECH

    def _address(self, turn: Any) -> tuple[str, int]:
        label = turn.role if turn.kind in ("written", "recorded") else _LABEL_OF[turn.kind]
        number = self.counts[label]
        self.counts[label] = number + 1
        return (turn.options.id, -1) if turn.options.id else (label, number)

    def _report(self, loss: Loss) -> None:
        # In system content an address is the path of ids; elsewhere it starts with the turn.
        if not loss.path:
            loss = attrs.evolve(loss, path=self.path)
        elif not self.path.startswith("system"):
            loss = attrs.evolve(loss, path=f"{self.path}/{loss.path}")
        self.losses.append(loss)

    def _guarded(self, recorded: Message) -> Message:
        if not self.fences or recorded.role not in ("user", "tool"):
            return recorded
        content = tuple(self._guarded_block(block) for block in recorded.content)
        return recorded.replace(content=content)

    def _guarded_block(self, block: Block) -> Block:
        if isinstance(block, TextBlock):
            text = guard_end(guard(block.text, self.fences))
            text = guard_prefixes(text, self.literals)
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
    for part in map(_unwrapped, system.content):
        options = part.options
        if isinstance(part, Turn):
            head, place = (options.id, -1) if options.id else ("system", number)
            yield head, place, part.at, options.id, options.metadata, options.within
            number += 1
        else:
            yield str(options.id), -1, part.at, options.id, EMPTY, options.within


def _unwrapped(part: Any) -> Any:
    """Return the section that a format of its own stands around."""
    while isinstance(part, Fragment):
        part = part.content[0]
    return part
