"""The words of a turn: its parts as text, and what cannot be text as blocks.

The walk keeps its own stack, and the text is a flat list of pieces that is joined once, so that a
section ten thousand levels deep costs no more than ten thousand beside each other.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, cast

import attrs

from promptdsl.blocks import Block, Cache, ToolResultBlock, text_block
from promptdsl.encoding import fold, is_whole
from promptdsl.errors import MediaError
from promptdsl.fencing import SectionFormat
from promptdsl.losses import Loss, LossKind
from promptdsl.nodes import (
    Call,
    Fence,
    Media,
    Reasoning,
    Result,
    Section,
    Text,
    Turn,
    Value,
    Verbatim,
)
from promptdsl.settling import settle_block
from promptdsl.tree import CACHE, Child, Node
from promptdsl.voices import Note, Voice, guarded, notice, text_in, written

Report = Callable[[Loss], None]
"""Called for a loss, whose path is that of the sections it is in."""


@attrs.define
class _Open:
    """A part whose children are being written, and what is done when they are."""

    node: Any
    rest: Iterator[Child]
    voice: Voice
    level: int
    mark: tuple[int, int, str]
    names: tuple[str, ...] = ()


class Wording:
    """Writes the parts of one turn; ``blocks`` is the outcome."""

    def __init__(
        self, form: SectionFormat, report: Report, roots: Iterable[str | os.PathLike[str]]
    ) -> None:
        self.form = form
        self.report = report
        self.roots = roots
        self.blocks: list[Block] = []
        self.pieces: list[str] = []
        self.gap = ""
        self.names: dict[str, int] = {}
        self.open: list[_Open] = []

    def write(self, node: Node, voice: Voice) -> tuple[Block, ...]:
        """Return the blocks of what a node holds."""
        stack = self.open
        stack.append(self._opened(node, voice, 2))
        while stack:
            top = stack[-1]
            child = next(top.rest, None)
            if child is None:
                self._close(top)
                stack.pop()
            elif isinstance(child, str):
                self._text((child,), top.voice, top.node)
            elif self._part(child, top):
                continue
            if stack and not stack[-1].voice.joined:
                self._flush()
        self._flush()
        return tuple(self.blocks)

    def _part(self, node: Any, around: _Open) -> bool:
        """Write a part; return whether it was opened, so that its children are next."""
        kind = node._node
        if kind is Text:
            self._text(node.content, around.voice, node)
        elif kind is Value:
            self._text((node,), around.voice, node)
        elif kind is Verbatim:
            self._verbatim(node, around.voice)
        elif kind is Media:
            self._block(self._settled(node))
        elif kind is Call or kind is Reasoning:
            self._block(node.block)
        elif kind is Result:
            self._block(self._result(node, around.voice))
        else:
            self.open.append(self._entered(node, around))
            return True
        return False

    def _verbatim(self, node: Verbatim, voice: Voice) -> None:
        for value in node.said:
            notice(value, self._noting(node))
        self._put(guarded(node.text, voice, self.names))
        if node.cache:
            self._mark(node.cache)

    # Containers.

    def _opened(self, node: Any, voice: Voice, level: int) -> _Open:
        return _Open(node, iter(node.content), voice, level, self._here())

    def _entered(self, node: Any, around: _Open) -> _Open:
        """Write the opening of a section or a fence; other containers stand for their children."""
        opened = self._opened(node, around.voice, around.level)
        if isinstance(node, Fence):
            opening, opened.names = node.open, tuple(map(fold, node.names))
            opened.voice = around.voice.in_fence(node)
            for value in node.said:
                notice(value, self._noting(node))
        elif isinstance(node, Section):
            opening = self._heading(node, around)
            opened.level += 1
            opened.names = (fold(str(node.options.id)),) if self.form.fenced else ()
            opened.voice = around.voice.in_section(fenced=self.form.fenced)
        else:
            return opened
        if opening:
            self.pieces += (self.gap, opening)
            self.gap = ""
        for name in opened.names:
            self.names[name] = self.names.get(name, 0) + 1
        return opened

    def _heading(self, node: Section, around: _Open) -> str:
        title, note = node.title, self._noting(node)
        value = isinstance(title, Value) or around.voice.values
        text = title.text if isinstance(title, Value) else title
        if text is not None:
            if value or self.form.fenced:
                notice(text, note)
            else:
                text = guarded(written(text, note), around.voice, self.names)
        return self.form.opening(str(node.options.id), text, around.level, value=value)

    def _close(self, done: _Open) -> None:
        node = done.node
        for name in done.names:
            self.names[name] -= 1
            if not self.names[name]:
                del self.names[name]
        if isinstance(node, Section | Fence):
            if self._is_empty(done):
                self._take_back(done)
            else:
                self._end(node)
        if node.options.cache and (isinstance(node, Section) or _is_system(node)):
            self._mark("default")

    def _end(self, node: Section | Fence) -> None:
        """Write the closing of a section or a fence."""
        if isinstance(node, Section):
            closing = self.form.closing(str(node.options.id))
        else:
            closing = node.close
        if closing:
            self.pieces.append(closing if self.pieces else closing.lstrip("\n"))
        self.gap = "\n\n"

    def _is_empty(self, done: _Open) -> bool:
        pieces, blocks, _ = done.mark
        return len(self.blocks) == blocks and len(self.pieces) <= pieces + 2 and self.gap == ""

    def _take_back(self, done: _Open) -> None:
        pieces, _, gap = done.mark
        del self.pieces[pieces:]
        self.gap = gap
        node = done.node
        if isinstance(node, Section) and node.title is not None:
            what = f"section {node.options.id!r}"
        elif isinstance(node, Fence) and node.said:
            what = "a request-only turn"
        else:
            return
        self._noting(node)("hint", what, "it has a title but no content")

    # Text.

    def _text(self, parts: tuple[Child, ...], voice: Voice, node: Node) -> None:
        self._put(text_in(parts, voice, self.names, self._noting(node)))

    def _noting(self, node: Node) -> Note:
        """Return what reports a loss of a node."""
        return partial(self._note, node)

    def _note(self, node: Node, kind: LossKind, what: str, why: str) -> None:
        around = [part.node for part in self.open if isinstance(part.node, Section)]
        if isinstance(node, Section) and not any(part is node for part in around):
            around.append(node)
        path = "/".join([str(part.options.id) for part in around])
        self.report(Loss(kind, what, why, path, node.source))

    # Pieces and blocks.

    def _here(self) -> tuple[int, int, str]:
        return len(self.pieces), len(self.blocks), self.gap

    def _put(self, text: str) -> None:
        if text:
            self.pieces += (self.gap, text) if self.gap else (text,)
            self.gap = "\n\n"

    def _flush(self, cache: Cache | None = None) -> None:
        if self.pieces:
            self.blocks.append(text_block("".join(self.pieces), cache))
            self.pieces.clear()
        self.gap = ""

    def _block(self, block: Block) -> None:
        self._flush()
        self.blocks.append(block)

    def _mark(self, cache: Cache) -> None:
        """Put a cache mark behind what has been written."""
        if self.pieces:
            self._flush(cache)
        elif self.blocks:
            self.blocks[-1] = marked(self.blocks[-1], cache)

    def _result(self, node: Result, voice: Voice) -> ToolResultBlock:
        inner = Wording(self.form, self.report, self.roots)
        content = inner.write(node, voice)
        return ToolResultBlock(node.tool_use_id, content, None, node.is_error, node.error_type)

    def _settled(self, node: Media) -> Block:
        try:
            return settle_block(node.block, roots=self.roots, replaced=_nothing)
        except MediaError as error:
            raise error.located(node.source) from None


def plain_instructions(content: tuple[Child, ...], form: SectionFormat) -> str | None:
    """Return the text of strings and sections of one string, as most system content is.

    ``None`` when there is more to do: values, fences, dedenting, marks, lone surrogates.
    """
    if form.fenced:
        return None
    items: list[str] = []
    for child in content:
        text, head = child, ""
        if type(child) is Section:
            title = child.title
            if len(child.content) != 1 or child.mask & CACHE or isinstance(title, Value):
                return None
            text = child.content[0]
            if title is not None and not is_whole(title):
                return None
            head = "" if title is None else form.opening("", title, 2, value=False)
        if type(text) is Text and len(text.content) == 1:
            text = text.content[0]
        if type(text) is not str or not text or text[0] in "\r\n" or not is_whole(text):
            return None
        items.append(head + text if head else text)
    return "\n\n".join(items)


def marked(block: Any, cache: Cache) -> Block:
    """Return a block with a cache mark behind it; one that cannot carry it as it is."""
    return cast("Block", attrs.evolve(block, cache=cache) if hasattr(block, "cache") else block)


def _is_system(node: Node) -> bool:
    return isinstance(node, Turn) and node.role == "system"


def _nothing() -> None:
    pass
