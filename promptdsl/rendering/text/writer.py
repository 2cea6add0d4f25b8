"""The words of a turn: its parts as text, and what cannot be text as blocks.

The walk keeps its own stack, and the text is a flat list of pieces that is joined once, so that a
section ten thousand levels deep costs no more than ten thousand beside each other.
"""

# The tables below name the methods of a class from beside it.
# pyright: reportPrivateUsage=false

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from itertools import takewhile
from typing import Any, TypeAlias

import attrs

from promptdsl.config.transformation import FormatBlock
from promptdsl.foundation.errors import ContentError, MediaError
from promptdsl.foundation.escaping import data_text
from promptdsl.foundation.guards import fold, guard_prefixes
from promptdsl.foundation.json import ABSENT, read_json
from promptdsl.foundation.tables import table_text
from promptdsl.foundation.trusted import Trusted as TrustedText
from promptdsl.foundation.unicode import is_whole
from promptdsl.messages import Block, CodeBlock, JsonBlock, ToolResultBlock
from promptdsl.messages.loss import Loss, LossKind
from promptdsl.rendering.text.blocks import formatted, settle_block
from promptdsl.rendering.text.format import Form, Frame
from promptdsl.rendering.text.page import PLAIN, Listed, Margin, Mark, Page, Trace, deeper
from promptdsl.rendering.text.voice import (
    Note,
    Voice,
    code_in,
    guarded,
    line_in,
    notice,
    text_in,
    untrusted_in,
    written,
)
from promptdsl.tree.masks import CACHE, CALL, MEDIA, RESULT, SHIFT
from promptdsl.tree.node import Child, Node, make, mark_of
from promptdsl.tree.nodes import (
    CacheBreakpoint,
    Call,
    Checklist,
    Code,
    Example,
    Fence,
    Format,
    Fragment,
    Heading,
    Item,
    Json,
    List,
    Media,
    Paragraph,
    Quote,
    Reasoning,
    Result,
    Section,
    Side,
    Table,
    Text,
    Trusted,
    Turn,
    Untrusted,
    Value,
    Verbatim,
    Volatile,
)
from promptdsl.tree.nodes import Note as PeopleNote
from promptdsl.tree.rewrite import any_said

Report = Callable[[Loss], None]
"""Called for a loss, whose path is that of the sections it is in."""

Words: TypeAlias = Callable[[tuple[Child, ...], Voice, Collection[str], Note], str]


@attrs.define
class _Open:
    """A part whose children are being written, and what is done when they are."""

    node: Any
    rest: Iterator[Child]
    mark: Mark
    voice: Voice
    form: Form
    level: int
    margin: Margin
    listing: "_Open | None" = None
    """The list whose items the children are."""
    frame: Frame | None = None
    """What stands around it; ``None`` for what only stands for its children."""
    names: tuple[str, ...] = ()
    number: int = 0
    """How many items a list has so far."""
    goes_on: bool = False
    """Whether it goes on with the item before it: a list in a list stands under that item."""
    other: bool = False
    """Whether a list of the same kind stands right before this one."""
    tight: bool = False
    """Whether a list follows a text on the next line: so it is in an item."""


@attrs.frozen
class Setting:
    """What holds for all turns: the forms there are, and what an author wants of them."""

    forms: Mapping[str, Form]
    form: Form
    roots: tuple[str | os.PathLike[str], ...] = ()
    format_block: FormatBlock | None = None
    trace: Trace | None = None
    """What is told which part came to which text, when somebody asks."""


class Wording:
    """Writes the parts of one turn."""

    def __init__(self, setting: Setting, report: Report) -> None:
        self.setting = setting
        self.report = report
        self.page = Page() if setting.trace is None else setting.trace.page()
        self.names: dict[str, int] = {}
        self.open: list[_Open] = []

    def write(self, node: Node, voice: Voice) -> tuple[Block, ...]:
        """Return the blocks of what a node holds."""
        stack, page = self.open, self.page
        rest, form = iter(node.content), self.setting.form
        stack.append(_Open(node, rest, page.here(), voice, form, 2, PLAIN))
        while stack:
            top = stack[-1]
            child = next(top.rest, None)
            if child is None:
                stack.pop()
                self._close(top, stack[-1].margin if stack else PLAIN)
            elif top.listing is not None and self._opens_item(child, top):
                continue
            elif isinstance(child, str):
                self._text((child,), top, top.node)
            elif self._part(child, top):
                continue
            if stack and not stack[-1].voice.joined:
                page.flush()
        page.flush()
        return tuple(page.blocks)

    def _part(self, node: Any, around: _Open) -> bool:
        """Write a part; return whether it was opened, so that its children are next."""
        kind = node._node
        page = self.page
        if around.tight and kind in _TIGHT and page.tail == "prose":
            page.gap = f"\n{around.margin.prefix}"
        write = _LEAVES.get(kind)
        trace = self.setting.trace
        if trace is not None:
            trace.begin(node, page, plain=not node.mask & _PARTED)
        if write is not None:
            write(self, node, around)
            if trace is not None:
                trace.end(node, page)
            return False
        self.open.append(self._entered(node, around))
        return True

    def _opens_item(self, child: Child, around: _Open) -> bool:
        """Open an item for a child of a list that is none; return whether that was done."""
        if isinstance(child, Format) and self.setting.forms[child.format] is not around.form:
            pass  # what is in another format is an item
        elif isinstance(child, Fragment | Item | PeopleNote):
            return False
        item = make(Item, (child,), at=around.node.at, done=None)
        if isinstance(child, List | Checklist) and around.listing and around.listing.number:
            if around.form.tagged:
                return False
            self.open.append(self._entered(item, around, goes_on=True))
        else:
            self.open.append(self._entered(item, around))
        return True

    # Containers.

    def _entered(self, node: Any, around: _Open, *, goes_on: bool = False) -> _Open:
        """Write the opening of a container; one without a frame stands for its children."""
        opened = _Open(
            node,
            iter(node.content),
            self.page.here(),
            around.voice,
            around.form,
            around.level,
            around.margin,
            around.listing,
            goes_on=goes_on,
            tight=around.tight,
        )
        framed = _CONTAINERS.get(node._node)
        if framed is None:
            if isinstance(node, Format):
                opened.form = self.setting.forms[node.format]
            return opened
        frame = opened.frame = framed(self, node, opened)
        opened.listing = opened if isinstance(node, List | Checklist) else None
        opened.tight = isinstance(node, Item | Side)
        opened.margin = deeper(around.margin, frame.prefix, frame.between)
        self.page.open(frame.open, around.margin)
        if goes_on:
            self.page.tail = opened.mark.tail
        opened.names = tuple(map(fold, frame.tags))
        for name in opened.names:
            self.names[name] = self.names.get(name, 0) + 1
        return opened

    def _fence(self, node: Fence, opened: _Open) -> Frame:
        opened.voice = opened.voice.in_fence(node)
        for said in node.said:
            notice(said, self._noting(node))
        return Frame(node.open, node.close, node.names)

    def _section(self, node: Section, opened: _Open) -> Frame:
        title, note, form = node.title, self._noting(node), opened.form
        value = isinstance(title, Value) or opened.voice.values
        text = title.text if isinstance(title, Value) else title
        if text is not None:
            if value or form.tagged:
                notice(text, note)
            else:
                text = guarded(written(text, note), opened.voice, self.names)
        frame = form.section(str(node.options.id), text, opened.level, value=value)
        frame = _shielded(frame, opened.voice)
        opened.level += 1
        opened.voice = opened.voice.in_section(tagged=form.tagged)
        return frame

    def _textual(self, node: Any, opened: _Open) -> Frame:
        form = opened.form
        opened.voice = opened.voice.in_text(tagged=form.tagged)
        match node:
            case List():
                opened.other = self.page.tail == Listed(node.ordered, other=False)
                return form.list(ordered=node.ordered)
            case Checklist():
                opened.other = self.page.tail == Listed(ordered=False, other=False)
                return form.checklist()
            case Quote():
                return form.quote()
            case Side():
                return form.side(node.name, plain=_is_plain(node))
            case _:
                return form.example(plain=all(map(_is_plain, node.content)))

    def _item(self, node: Item, opened: _Open) -> Frame:
        opened.voice = opened.voice.in_text(tagged=opened.form.tagged)
        listing = opened.listing
        if listing is None:
            return opened.form.item(None, done=None, other=False)
        listing.number += not opened.goes_on
        ticked = isinstance(listing.node, Checklist)
        frame = opened.form.item(
            None if ticked or not listing.node.ordered else listing.number,
            done=bool(node.done) if ticked else None,
            other=listing.other,
            plain=not ticked or _begins_plain(node),
        )
        return frame._replace(open=frame.prefix) if opened.goes_on else frame

    def _close(self, done: _Open, around: Margin) -> None:
        node = done.node
        for name in done.names:
            self.names[name] -= 1
            if not self.names[name]:
                del self.names[name]
        if done.frame is not None:
            if self.page.written == done.mark.written:
                self._take_back(done)
            else:
                self.page.close(done.frame.close, around)
                self._ended(done, done.frame)
        if self.setting.trace is not None:
            self.setting.trace.end(node, self.page)
        mark = mark_of(node.options)
        if mark and (isinstance(node, Section) or _is_system(node)):
            self.page.cache(mark)

    def _ended(self, done: _Open, frame: Frame) -> None:
        """Remember what stands last on the page: a list, or nothing that matters."""
        if isinstance(done.node, List | Checklist):
            ordered = isinstance(done.node, List) and done.node.ordered
            self.page.tail = None if done.form.tagged else Listed(ordered, done.other)
        elif frame.prefix and (self.page.tail == "prose" or not isinstance(done.node, Item)):
            self.page.tail = None

    def _take_back(self, done: _Open) -> None:
        self.page.take_back(done.mark)
        node = done.node
        if isinstance(node, Item) and self.open and self.open[-1].listing:
            self.open[-1].listing.number -= not done.goes_on
        if isinstance(node, Section) and node.title is not None:
            what = f"section {node.options.id!r}"
        elif isinstance(node, Fence) and node.said:
            what = "a request-only turn"
        else:
            return
        self._noting(node)("hint", what, "it has a title but no content")

    # Text.

    def _text(self, parts: tuple[Child, ...], around: _Open, node: Node) -> None:
        text = text_in(parts, around.voice, self.names, self._noting(node))
        if text:
            self.page.put(text, around.margin)
            self.page.tail = "prose"

    def _texts(self, node: Text, around: _Open) -> None:
        self._text(node.content, around, node)

    def _inline(self, node: Value | Trusted, around: _Open) -> None:
        self._text((node,), around, node)

    def _verbatim(self, node: Verbatim, around: _Open) -> None:
        for value in node.said:
            notice(value, self._noting(node))
        text = written(node.text, self._noting(node))
        self.page.put(guarded(text, around.voice, self.names), around.margin)
        if node.cache:
            self.page.cache(node.cache)

    def _heading(self, node: Heading, around: _Open) -> None:
        self._framed(node, around, around.form.heading(node.level), line_in)

    def _paragraph(self, node: Paragraph, around: _Open) -> None:
        self._framed(node, around, around.form.paragraph(), text_in)

    def _code(self, node: Code, around: _Open) -> None:
        raw = "".join([part if isinstance(part, str) else part.text for part in node.content])
        if not self._formatted(CodeBlock(raw, node.language), node, around):
            frame = _shielded(around.form.code(raw, node.language), around.voice)
            self._framed(node, around, frame, code_in)

    def _json(self, node: Json, around: _Open) -> None:
        # The text is read back only for a function that asks for its value.
        asked = self.setting.format_block is not None
        if not (asked and self._formatted(_json_block(node), node, around)):
            self._enclosed(around.form.json(), guarded(node.text, around.voice, ()), around)

    def _table(self, node: Table, around: _Open) -> None:
        if not node.rows:
            return
        note = self._noting(node)
        for name in node.columns or ():
            notice(name, note)
        rows = [tuple([self._cell(cell, around, note) for cell in row]) for row in node.rows]
        try:
            text = table_text(node.columns, rows, node.format or around.form.table)
        except ContentError as error:
            raise error.located(node.source) from None
        literals = around.voice.literals
        self.page.put(guard_prefixes(text, literals) if literals else text, around.margin)

    def _cell(self, cell: Any, around: _Open, note: Note) -> Any:
        """Return a cell; what an author vouches for cannot leave the fences around it."""
        if type(cell) is TrustedText:
            return TrustedText(guarded(written(cell, note), around.voice, self.names))
        notice(data_text(cell), note)
        return cell

    def _untrusted(self, node: Untrusted, around: _Open) -> None:
        if node.text:
            text = untrusted_in(node.text, node.origin, around.voice, self._noting(node))
            self.page.put(text, around.margin)

    def _framed(self, node: Node, around: _Open, frame: Frame, words: Words) -> None:
        """Write a part of one text, which cannot close the tags around it."""
        own = [name for name in map(fold, frame.tags) if name not in self.names]
        voice = around.voice.in_text(tagged=bool(frame.tags))
        # Added and removed: a copy of all names for every part is slow ten thousand levels deep.
        self.names.update(dict.fromkeys(own, 1))
        text = words(node.content, voice, self.names, self._noting(node))
        for name in own:
            del self.names[name]
        self._enclosed(frame, text, around)

    def _enclosed(self, frame: Frame, text: str, around: _Open) -> None:
        if text:
            self.page.open(frame.open, around.margin)
            self.page.put(text, around.margin)
            self.page.close(frame.close, around.margin)

    def _formatted(self, block: Block, node: Node, around: _Open) -> bool:
        """Write what an author's function makes of a block; return whether it made anything."""
        if self.setting.format_block is None:
            return False
        text = formatted(block, self.setting.format_block, node.source)
        if text is None:
            return False
        said = guarded(written(text, self._noting(node)), around.voice, self.names)
        self.page.put(said, around.margin)
        return True

    # Cache marks.

    def _breakpoint(self, node: CacheBreakpoint, around: _Open) -> None:
        """Put a mark behind what is written: what was opened since stands behind it."""
        page = self.page
        if not page.written:
            self._noting(node)("hint", "a cache breakpoint", "nothing stands before it in its turn")
            return
        # What opened since the last mark stands behind that one already.
        opened = self._opened() if page.marked < page.written else []
        start = opened[-1].mark.pieces if opened else len(page.pieces)
        if not page.cache(node.ttl or "default", start):
            self._noting(node)("hint", "a cache breakpoint", "the block before it takes none")
        for one in opened:
            one.mark = Mark(one.mark.pieces - start, "", page.written, None)

    def _opened(self) -> list[_Open]:
        """Return the containers in which nothing is written yet, the innermost first."""
        written = self.page.written
        empty = takewhile(lambda one: one.mark.written == written, reversed(self.open))
        return [one for one in empty if one.frame is not None]

    # Blocks.

    def _media(self, node: Media, around: _Open) -> None:
        try:
            block = settle_block(node.block, roots=self.setting.roots, replaced=_nothing)
        except MediaError as error:
            raise error.located(node.source) from None
        self.page.block(block)

    def _as_it_is(self, node: Call | Reasoning, around: _Open) -> None:
        self.page.block(node.block)

    def _result(self, node: Result, around: _Open) -> None:
        setting = attrs.evolve(self.setting, form=around.form)
        content = Wording(setting, self.report).write(node, around.voice)
        error = (node.is_error, node.error_type)
        self.page.block(ToolResultBlock(node.tool_use_id, content, None, *error))

    # Losses.

    def _noting(self, node: Node) -> Note:
        """Return what reports a loss of a node."""
        return partial(self._note, node)

    def _note(self, node: Node, kind: LossKind, what: str, why: str) -> None:
        around = [part.node for part in self.open if isinstance(part.node, Section)]
        if isinstance(node, Section) and not any(part is node for part in around):
            around.append(node)
        path = "/".join([str(part.options.id) for part in around])
        self.report(Loss(kind, what, why, path, node.source))


_PARTED = CACHE | (MEDIA | CALL | RESULT) << SHIFT
"""What ends a block: a mark, and what is no text."""

_LEAVES: Mapping[type[Node], Callable[[Wording, Any, _Open], None]] = {
    Text: Wording._texts,
    Value: Wording._inline,
    Volatile: Wording._inline,
    Trusted: Wording._inline,
    Verbatim: Wording._verbatim,
    Heading: Wording._heading,
    Paragraph: Wording._paragraph,
    Code: Wording._code,
    Json: Wording._json,
    Table: Wording._table,
    Untrusted: Wording._untrusted,
    Media: Wording._media,
    Call: Wording._as_it_is,
    Reasoning: Wording._as_it_is,
    CacheBreakpoint: Wording._breakpoint,
    Result: Wording._result,
}
_CONTAINERS: Mapping[type[Node], Callable[[Wording, Any, _Open], Frame]] = {
    Section: Wording._section,
    Fence: Wording._fence,
    Item: Wording._item,
    **dict.fromkeys((List, Checklist, Quote, Example, Side), Wording._textual),
}
_TIGHT = (List, Checklist, Code)
"""What follows the plain text of an item without a blank line."""


def plain_instructions(content: tuple[Child, ...], form: Form) -> str | None:
    """Return the text of strings and sections of one string, as most system content is.

    ``None`` when there is more to do: values, fences, dedenting, marks, lone surrogates.
    """
    if form.tagged:
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
            head = "" if title is None else form.title(title, 2, value=False)
        if type(text) is Text and len(text.content) == 1:
            text = text.content[0]
        if type(text) is not str or not text or text[0] in "\r\n" or not is_whole(text):
            return None
        items.append(head + text if head else text)
    return "\n\n".join(items)


def _json_block(node: Json) -> JsonBlock:
    """Return the block of a JSON text; :class:`ContentError` for one nested too deep to be read."""
    value = read_json(node.text)
    if value is ABSENT:
        raise ContentError(
            "format_block cannot be given this Json: it is nested too deep to be read back",
            fix="make it flatter, or render it without format_block",
            at=(node.source,),
        )
    return JsonBlock(value)


def _nothing() -> None:
    pass


def _is_plain(side: Node) -> bool:
    """Whether a side of an example is plain text, so that it can follow its name on the line."""
    waiting = [*side.content]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Fragment):
            waiting += part.content
        elif not isinstance(part, str | _PROSE):
            return False
    return True


def _begins_plain(item: Node) -> bool:
    """Whether what an item says first is text, so that it can follow a box on the line."""
    waiting = [*reversed(item.content)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Fragment | PeopleNote):
            waiting += reversed(part.content)
        elif isinstance(part, str | _PROSE):
            if any_said((part,)):
                return True
        else:
            return False
    return True


_PROSE = Text | Value | Trusted | Paragraph | Json


def _is_system(node: Node) -> bool:
    return isinstance(node, Turn) and node.role == "system"


def _shielded(frame: Frame, voice: Voice) -> Frame:
    """Return a frame whose opening holds no delimiter that is no tag: data may stand in it."""
    if not voice.literals:
        return frame
    return frame._replace(open=guard_prefixes(frame.open, voice.literals))
