"""The words of a turn: its parts as text, and what cannot be text as blocks.

The walk keeps its own stack, and the text is a flat list of pieces that is joined once, so that a
section ten thousand levels deep costs no more than ten thousand beside each other.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

from promptdsl.blocks import Block, Cache, ToolResultBlock, text_block
from promptdsl.encoding import body, controls, guard, guard_prefixes, inline, is_whole, whole
from promptdsl.errors import MediaError
from promptdsl.fencing import SectionFormat
from promptdsl.indentation import dedent_parts
from promptdsl.settling import settle_block
from promptdsl.sources import Source
from promptdsl.tree import (
    CACHE,
    Call,
    Child,
    Fence,
    Media,
    Node,
    Reasoning,
    Result,
    Section,
    Text,
    Turn,
    Value,
    Verbatim,
)

Report = Callable[[str, str, str, Source | None], None]
"""Called for a loss: its kind, what, why, and where it was written."""


@attrs.frozen
class Voice:
    """How the strings of a part are taken.

    ``joined``: parts stand in one text, a blank line between them; otherwise each is a block.
    ``instruction``: a text that starts with a newline is dedented. ``place`` is the encoding of
    values: ``inline``, ``body`` or ``plain``. ``values``: author text is a value too.
    ``guards``: fences that no text may forge.
    """

    joined: bool
    instruction: bool
    place: str
    values: bool = False
    guards: frozenset[str] = frozenset()
    literals: frozenset[str] = frozenset()


INSTRUCTION = Voice(joined=True, instruction=True, place="inline")
FENCED = Voice(joined=True, instruction=False, place="inline")
SPEECH = Voice(joined=False, instruction=False, place="plain")


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

    def write(self, node: Node, voice: Voice) -> tuple[Block, ...]:
        """Return the blocks of what a node holds."""
        stack = [self._opened(node, voice, 2)]
        while stack:
            top = stack[-1]
            child = next(top.rest, None)
            if child is None:
                self._close(stack.pop())
            elif isinstance(child, str):
                self._text((child,), top.voice, top.node)
            else:
                inner = self._part(child, top)
                if inner is not None:
                    stack.append(inner)
                    continue
            if len(stack) == 1 and not voice.joined:
                self._flush()
        self._flush()
        return tuple(self.blocks)

    def _part(self, node: Any, around: _Open) -> _Open | None:
        kind = node._node
        if kind is Text:
            self._text(node.content, around.voice, node)
        elif kind is Section or kind is Fence:
            return self._entered(node, around)
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
            return self._opened(node, around.voice, around.level)
        return None

    def _verbatim(self, node: Verbatim, voice: Voice) -> None:
        self._put(guard_prefixes(node.text, voice.literals) if voice.literals else node.text)
        if node.cache:
            self._mark(node.cache)

    # Containers.

    def _opened(self, node: Any, voice: Voice, level: int) -> _Open:
        return _Open(node, iter(node.content), voice, level, self._here())

    def _entered(self, node: Any, around: _Open) -> _Open:
        """Write the opening of a section or a fence, whose children are to follow."""
        voice, mark = around.voice, self._here()
        if isinstance(node, Fence):
            opening, names, level = node.open, node.names, around.level
            voice = attrs.evolve(
                voice,
                place="body" if names or node.literals else voice.place,
                values=node.values,
                literals=voice.literals.union(node.literals),
            )
        else:
            opening, names, level = self._heading(node, around), (), around.level + 1
            if self.form.fenced:
                names = (node.options.id,)
            if not voice.instruction and not voice.values or names:
                voice = _in_section(voice, fenced=bool(names))
        if opening:
            self.pieces += (self.gap, opening)
            self.gap = ""
        for name in names:
            self.names[name] = self.names.get(name, 0) + 1
        return _Open(node, iter(node.content), voice, level, mark, names)

    def _heading(self, node: Section, around: _Open) -> str:
        title = node.title
        value = isinstance(title, Value)
        text = title.text if isinstance(title, Value) else title
        return self.form.opening(
            str(node.options.id), text, around.level, value=value or around.voice.values
        )

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
                closing = (
                    node.close
                    if isinstance(node, Fence)
                    else self.form.closing(str(node.options.id))
                )
                if closing:
                    self.pieces.append(closing if self.pieces else closing.lstrip("\n"))
                self.gap = "\n\n"
        if node.options.cache and (isinstance(node, Section) or _is_system(node)):
            self._mark("default")

    def _is_empty(self, done: _Open) -> bool:
        pieces, blocks, _ = done.mark
        return len(self.blocks) == blocks and len(self.pieces) <= pieces + 2 and self.gap == ""

    def _take_back(self, done: _Open) -> None:
        pieces, _, gap = done.mark
        del self.pieces[pieces:]
        self.gap = gap
        if isinstance(done.node, Section) and done.node.title is not None:
            self.report(
                "hint",
                f"section {done.node.options.id!r}",
                "it has a title but no content",
                done.node.source,
            )

    # Text.

    def _text(self, parts: tuple[Child, ...], voice: Voice, node: Node) -> None:
        if voice.instruction and isinstance(parts[0], str) and parts[0][:1] in ("\n", "\r"):
            parts = dedent_parts(parts)
        text = "".join([self._encoded(part, voice, node) for part in parts])
        # Guarded as a whole: a value could complete a delimiter that the text before it begins.
        if self.names and "<" in text:
            text = guard(text, self.names)
        if voice.guards:
            text = guard(text, voice.guards)
        self._put(guard_prefixes(text, voice.literals) if voice.literals else text)

    def _encoded(self, part: Child, voice: Voice, node: Node) -> str:
        value = not isinstance(part, str)
        text: str = part.text if value else part
        if voice.place != "plain" and (value or voice.values):
            return self._value(text, voice, node)
        text, changed = whole(text)
        if changed:
            self.report(
                "content", "a lone surrogate", "it is no character, U+FFFD is sent", node.source
            )
        return text

    def _value(self, text: str, voice: Voice, node: Node) -> str:
        found = controls(text)
        if found:
            self.report(
                "hint", f"control characters {', '.join(found)}", "sent as references", node.source
            )
        return body(text) if voice.place == "body" or self.names else inline(text)

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
            return settle_block(node.block, node, roots=self.roots, replaced=_nothing)
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
            head = "" if title is None else form.opening("", title, 2, value=False)
        if type(text) is Text and len(text.content) == 1:
            text = text.content[0]
        if type(text) is not str or not text or text[0] in "\r\n" or not is_whole(text):
            return None
        items.append(head + text if head else text)
    return "\n\n".join(items)


def marked(block: Block, cache: Cache) -> Block:
    """Return a block with a cache mark behind it; one that cannot carry it as it is."""
    return attrs.evolve(block, cache=cache) if hasattr(block, "cache") else block


def _in_section(voice: Voice, *, fenced: bool) -> Voice:
    """Return the voice inside a section: instructions, values encoded where it is a tag."""
    place = "body" if fenced else voice.place
    return attrs.evolve(voice, joined=True, instruction=not voice.values, place=place)


def _is_system(node: Node) -> bool:
    return isinstance(node, Turn) and node.role == "system"


def _nothing(_: object) -> None:
    pass
