"""The walk over the parts of any turn, and the shorter ways for the kinds that most turns have."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias, cast

import attrs

from promptdsl.foundation.errors import ContentError
from promptdsl.foundation.escaping import attribute, decode, field
from promptdsl.foundation.escaping import title as one_line
from promptdsl.foundation.guards import fold, guard, guard_between, holds
from promptdsl.foundation.unicode import is_valid_unicode
from promptdsl.messages import Block, ToolResultBlock
from promptdsl.messages.field_checks import Cache
from promptdsl.messages.prompt import Loss, hint
from promptdsl.rendering.text.encode import Fences, StringRules, kind_of, notice, texts_in, written
from promptdsl.rendering.text.format import BETWEEN, FORMATS, TextFrame, title_line
from promptdsl.rendering.text.layout import Layout, PieceKind, TextRun, inserted
from promptdsl.rendering.text.leaves import LEAVES, sent_block, write_strings
from promptdsl.rendering.text.page import (
    NO_INDENT,
    PROSE,
    Framed,
    Margin,
    OnLoss,
    OpenList,
    OpenPart,
    Page,
    TextState,
    TurnText,
    deeper,
)
from promptdsl.tree.masks import CACHE, HINTED
from promptdsl.tree.node import Child, Node, make, mark_of
from promptdsl.tree.part_nodes import (
    ChecklistNode,
    ExampleNode,
    ExampleSideNode,
    FenceNode,
    ItemNode,
    ListNode,
    MediaNode,
    QuoteNode,
    ReasoningNode,
    SectionNode,
    TextNode,
    ToolResultNode,
    ToolUseNode,
    TrustedTextNode,
    ValueNode,
    VolatileNode,
)
from promptdsl.tree.rewrite import has_content
from promptdsl.tree.turn_nodes import (
    FormatNode,
    FragmentNode,
    NoteNode,
    RequestOnlyNode,
    ReserveNode,
    TurnNode,
)

# The walk over the parts of any turn; a container has an opening and a closing.

LISTS = (ListNode, ChecklistNode)
_ITEMS = (ItemNode, ExampleSideNode)
_ENTRIES = (FragmentNode, ItemNode, NoteNode)
_GROUPS = (FragmentNode, NoteNode, ExampleSideNode)
_CONTAINERS_OF_KEYS = (FragmentNode, NoteNode, TurnNode, RequestOnlyNode, ReserveNode)
"""The nodes without a frame: only their children are written."""

ONLY_TITLED = "it has a title but no content"
"""The reason of the hint for a container that is left out; it is reported once per line."""


class TurnWalk(TextState):
    """The walk over the parts of one turn.

    The walk has its own stack, and the text is a flat list of pieces that is joined once. So ten
    thousand nested sections take no longer than ten thousand siblings.
    """

    def write(self) -> None:
        """Write the parts on the page."""
        stack, page = self.open, self.page
        while len(stack) > 1:
            part = stack[-1]
            child = next(part.children, None)
            if child is None:
                around = stack[-2]
                close_part(self, part, around)
                stack.pop()
                part, page.node_number = around, around.node_number
            elif part.listing is not None and open_item(self, child, part, part.listing):
                continue
            elif isinstance(child, str):
                write_strings(self, (child,), part.node, part)
            else:
                self.write_part(child, part)
            if not part.rules.joined:
                page.flush()

    def write_part(self, node: Node, around: OpenPart) -> None:
        """Write a leaf, or the opening of a container, whose children are next."""
        page = self.page
        page.begin(node)
        write = LEAVES.get(node._node)
        if write is not None:
            write(self, node, around)
            page.node_number = around.node_number
        elif isinstance(node, ToolResultNode):
            self._write_result(node, around)
            page.node_number = around.node_number
        else:
            open_part(self, node, around)

    def _write_result(self, node: ToolResultNode, around: OpenPart) -> None:
        """Write a tool result, whose blocks are on a page of their own."""
        page, layout = self.page, self.page.layout
        page.end_text()
        setting, before = self.setting._replace(text_format=around.text_format), len(layout.ends)
        inner = Page(layout, page.node_number)
        inside = self.text._replace(page=inner, setting=setting)
        TurnWalk(inside, node, self.fences).write()
        content = inner.finish()
        layout.results[len(layout.ends)] = before
        name, mark = node.options.name, mark_of(node.options)
        error = (node.is_error, node.error_type)
        result = ToolResultBlock(node.tool_use_id, content, name, *error, mark)
        page.block(result, around.rules.kind)


def walk(text: TurnText, turn: TurnNode) -> tuple[Block, ...]:
    """Return the blocks of a turn with parts of any kind, for which there is no shorter way."""
    TurnWalk(text, turn, Fences(text.author_tags, text.literals)).write()
    return text.page.finish()


# Containers.


def open_part(state: TextState, node: Node, around: OpenPart) -> None:
    """Write the opening of a container, whose children are next.

    A part without a frame, such as a fragment, only contains its children.
    """
    page = state.page
    part = OpenPart(
        node,
        iter(node.content),
        around.rules,
        around.text_format,
        around.level,
        around.margin,
        in_item=around.in_item,
        list_around=around.listing,
        written=page.written,
        node_number=page.node_number,
    )
    state.open.append(part)
    container = CONTAINERS.get(node._node)
    if container is not None:
        opening = container.frame(part.text_format, node)
        frame = part.frame = container.write(state, node, part, opening)
        part.in_item, outer = isinstance(node, _ITEMS), part.margin
        part.margin = deeper(outer, frame.prefix, frame.between)
        part.separate(outer)
        page.open(frame.open, frame.kind, outer)
        part.tags = tuple(map(fold, frame.tags))
        state.fences.open(part.tags)
        if node.options.encoding:
            part.rules = part.rules.encoded_by(node.options.encoding)
    elif isinstance(node, _CONTAINERS_OF_KEYS):
        if isinstance(node, FormatNode):
            part.text_format = FORMATS[node.format]
        part.listing, part.joined = around.listing, around.joined
        part.separate(part.margin)
    else:
        name = type(node).__name__
        raise TypeError(f"no text for a node of type {name}: add it to LEAVES or CONTAINERS")


def open_item(state: TextState, child: Child, around: OpenPart, listing: OpenList) -> bool:
    """Open an item around a child of a list that is not an item; return whether it was opened."""
    if isinstance(child, FormatNode):
        if FORMATS[child.format] is around.text_format:
            return False
    elif isinstance(child, _ENTRIES) or (isinstance(child, LISTS) and listing.items):
        return False
    open_part(state, make(ItemNode, (child,), at=around.node, done=None), around)
    return True


def close_part(state: TextState, part: OpenPart, around: OpenPart) -> None:
    """Write the closing of a part whose children are written."""
    node, page, options = part.node, state.page, part.node.options
    if part.frame is not None:
        _close_frame(state, part, part.frame, around.margin)
    elif page.gap and options.separator is not None:
        page.gap = around.margin.gap
    if options.cache and (isinstance(node, SectionNode) or getattr(node, "role", "") == "system"):
        page.cache(cast("Cache", mark_of(options)))


def _close_frame(state: TextState, part: OpenPart, frame: TextFrame, outside: Margin) -> None:
    """Write the closing of a container; remove its opening if nothing was written in it."""
    page = state.page
    state.fences.close(part.tags)
    if page.written == part.written:
        page.close_empty(frame.open)
        if part.listing is not None and page.gap:
            page.gap = part.listing.gap
        if part.titled:
            state.note(part.node, hint("title_only", part.titled, ONLY_TITLED))
        return
    page.close(frame.close, outside)
    if part.listing is not None:
        page.tail = part.listing.marker
        return
    if frame.prefix and (page.tail == PROSE or not isinstance(part.node, ItemNode)):
        page.tail = ""
    if part.list_around is not None:  # it is an item
        part.list_around.items += 1
        part.list_around.margin = part.margin


# The openings: the frame of each, and the rules for the strings inside.


def _open_section(
    state: TextState, node: SectionNode, part: OpenPart, frame: TextFrame
) -> TextFrame:
    text_format, level, rules, id = part.text_format, part.level, part.rules, str(node.options.id)
    part.level += 1
    part.rules = rules.in_section(tagged=text_format.tagged)
    if text_format.tagged and holds(f"<{id}></{id}>", rules.literals):
        # With a reference in it, it is not a tag; without one, it could end the fence.
        raise ContentError(
            f"the tag <{id}> of this Section contains the delimiter around it",
            fix="give the section another id, or choose another delimiter",
            at=(node.source,),
        )
    if node.title is None:
        return frame
    # If its block was opened and left empty, it has another hint.
    if node._mask & HINTED != HINTED:
        part.titled = f"section {id}"
    is_value, title = rules.values, node.title
    if isinstance(title, ValueNode):
        is_value, title = True, title.text
    text = _title(state, node, title, part, is_value=is_value)
    frame = text_format.section(id, text, level)
    if not (is_value or rules.literals):
        return frame
    before, _, after = text_format.section(id, "\0", level).open.partition("\0")
    if text:
        text = guard_between(before, text, after, rules.literals)
        frame = text_format.section(id, text, level)
    if is_value:
        values = [(text, node.title)]
        frame = frame._replace(kind=partial(inserted, frame.open, values, before))
    return frame


def _title(
    state: TextState, node: SectionNode, title: str, part: OpenPart, *, is_value: bool
) -> str:
    """Return the title of a section as it is written: as an attribute, a value or a heading."""
    note, rules = partial(state.note, node), part.rules
    fences = state.fences
    if part.text_format.tagged:
        notice((title,), note)
        literals = rules.literals
        if is_value:
            literals |= fences.literals
        return guard(attribute(title), fences.reserved, literals)
    if is_value:
        notice((title,), note)
        return fences.encoded(title, rules, field)
    return one_line(fences.guarded(written(title, note), rules))


_ATTRIBUTE = re.compile('="([^"]*)"')


def _open_fence(state: TextState, node: FenceNode, part: OpenPart, frame: TextFrame) -> TextFrame:
    notice(node.raw_values, partial(state.note, node))
    if node.raw_values:
        part.titled = "an Ephemeral or Grounding"
    part.rules = attrs.evolve(
        part.rules,
        # A prefix has no closing text that the content could contain.
        encoding="body" if node.close else part.rules.encoding,
        values=node.values,
        literals=part.rules.literals.union(node.literals),
    )
    return frame._replace(kind=partial(_attribute_runs, node.open, node.raw_values))


def _attribute_runs(opening: str, raw_values: Sequence[str]) -> Sequence[TextRun]:
    """Return the runs of a tag whose last attributes are values, as they were written."""
    encoded = _ATTRIBUTE.findall(opening)[-len(raw_values) :]
    pairs = zip(encoded, raw_values, strict=False)
    return inserted(opening, [pair for pair in pairs if decode(pair[0]) == pair[1]], '="')


def _open_list(
    state: TextState, node: ListNode | ChecklistNode, part: OpenPart, frame: TextFrame
) -> TextFrame:
    text_format, page, gap = part.text_format, state.page, state.page.gap
    if part.list_around is not None and not text_format.tagged:
        # A list directly in a list is a part of the item before it.
        part.margin = part.list_around.margin
        page.gap = f"\n{part.margin.prefix}"
    else:
        state.tighten(part)
    part.rules = part.rules.in_text(tagged=text_format.tagged)
    ordered = isinstance(node, ListNode) and node.ordered
    marker = text_format.marker(ordered=ordered, previous="" if page.openings else page.tail)
    part.listing = OpenList(marker, isinstance(node, ChecklistNode), gap)
    return frame


def _open_item(_state: TextState, node: ItemNode, part: OpenPart, frame: TextFrame) -> TextFrame:
    text_format, listing = part.text_format, part.list_around
    part.rules = part.rules.in_text(tagged=text_format.tagged)
    if listing is None:
        return frame
    if not listing.is_checklist:
        return text_format.item(listing.marker, listing.items + 1, done=None, text_only=True)
    return text_format.item(
        listing.marker, 0, done=bool(node.done), text_only=_begins_with_text(node)
    )


def _open_text(_state: TextState, _node: Node, part: OpenPart, frame: TextFrame) -> TextFrame:
    """Return the frame of a quotation or an example, in which all parts are one text."""
    part.rules = part.rules.in_text(tagged=part.text_format.tagged)
    return frame


def _is_text_only(side: Child) -> bool:
    """Return whether a side of an example is only text, which can follow its name on the line."""
    return all(isinstance(part, str) or part._is_prose for part in _parts_in((side,)))


def _begins_with_text(item: ItemNode) -> bool:
    """Return whether an item begins with text, which can follow a box on the line."""
    for part in _parts_in(item.content):
        is_prose = isinstance(part, str) or part._is_prose
        if not is_prose or has_content((part,)):
            return is_prose
    return True


def _parts_in(content: tuple[Child, ...]) -> Iterator[Child]:
    """Yield the parts of a content, and those in its nodes that only contain other parts."""
    waiting = [*reversed(content)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, _GROUPS):
            waiting += reversed(part.content)
        else:
            yield part


CONTAINERS: Mapping[type[Node], Framed[TextFrame]] = {
    SectionNode: Framed(
        lambda text_format, node: text_format.section(str(node.options.id), None, 1), _open_section
    ),
    FenceNode: Framed(lambda _, node: TextFrame(node.open, node.close, node.names), _open_fence),
    ListNode: Framed(lambda text_format, node: text_format.list(ordered=node.ordered), _open_list),
    ChecklistNode: Framed(lambda text_format, _: text_format.checklist, _open_list),
    ItemNode: Framed(lambda text_format, _: text_format.item_alone, _open_item),
    QuoteNode: Framed(lambda text_format, _: text_format.quote, _open_text),
    ExampleNode: Framed(
        lambda text_format, node: text_format.example(
            text_only=all(map(_is_text_only, node.content))
        ),
        _open_text,
    ),
    ExampleSideNode: Framed(
        lambda text_format, node: text_format.side(node.name, text_only=_is_text_only(node)),
        _open_text,
    ),
}


# The ways to write a turn that are shorter than the ``walk``, for the content of most turns.
#
# ``instructions`` writes strings and sections of one string, ``side_by_side`` the texts, calls and
# attachments of a conversation. The blocks and the layout are those of the ``walk``.

Way: TypeAlias = Callable[[TurnText, TurnNode], tuple[Block, ...]]


def way_of(turn: TurnNode, rules: StringRules) -> Way:
    """Return the way of a turn that is not simple, by the kinds of its content."""
    if rules.joined or turn.options.separator is not None:
        return walk
    kinds = {str if isinstance(child, str) else child._node for child in turn.content}
    return side_by_side if kinds <= SIDE_BY_SIDE else walk


SIDE_BY_SIDE = frozenset(
    {
        *(str, TextNode, ValueNode, VolatileNode, TrustedTextNode),
        *(ToolUseNode, ReasoningNode, MediaNode),
    }
)
"""The kinds of parts that are one text or one block in a conversation."""


def parts_of(text: Child) -> tuple[Child, ...]:
    """Return the strings and values of a text."""
    return text.content if isinstance(text, TextNode) else (text,)


def only_string(part: Child) -> str:
    """Return a string, or the string of a text of one string; ``""`` for another part."""
    if isinstance(part, str):
        return part
    if part._node is TextNode and len(part.content) == 1:
        (text,) = part.content
        return text if isinstance(text, str) else ""
    return ""


def side_by_side(state: TurnText, turn: TurnNode) -> tuple[Block, ...]:
    """Return the blocks of a conversation turn: one for each text, call and attachment."""
    page, rules = state.page, state.rules
    fences = Fences(state.author_tags, state.literals)
    follows = False
    for part in turn.content:
        node: Node = turn
        if not isinstance(part, str):
            page.begin(part)
            node = part
        if isinstance(part, ToolUseNode | ReasoningNode | MediaNode):
            page.block(sent_block(part, state.setting.media_roots, rules), rules.kind)
            follows = False
        else:
            parts = parts_of(part)
            note = partial(_report, state.report, node)
            texts = texts_in(parts, rules, fences, note, follows=follows)
            page.write("".join(texts), kind_of(parts, texts, rules), NO_INDENT)
            page.flush()
            follows = True
        page.node_number = -1
    return page.finish()


def _is_plain(part: Child) -> bool:
    """Return whether a part of instructions is a string, or a section of one, sent as written."""
    title = ""
    if isinstance(part, SectionNode):
        if part._mask & CACHE or isinstance(part.title, ValueNode) or len(part.content) != 1:
            return False
        title = str(part.title)
        (part,) = part.content
    text = only_string(part)
    # A text that starts with a line end is dedented.
    written = title + text
    is_valid = written.isascii() or is_valid_unicode(written)
    return is_valid and text[:1] not in ("", "\r", "\n")


def instructions(layout: Layout, turn: TurnNode) -> str:
    """Return the text of instructions that are strings, and sections of one string each.

    Its pieces are noted in the layout. For other instructions the result is ``""``, and nothing is
    noted.
    """
    if not all(map(_is_plain, turn.content)):
        return ""
    texts: list[str] = []

    def add(text: str, kind: PieceKind, node_number: int) -> None:
        texts.append(text)
        layout.lengths.append(len(text))
        layout.kinds.append(kind)
        layout.node_numbers.append(node_number)

    for part in turn.content:
        start, node_number, text = len(layout.lengths), -1, part
        if texts:
            add(BETWEEN, "gap", -1)
        if isinstance(part, SectionNode):
            node_number = _noted(layout, part, -1, start)
            (text,) = part.content
            if part.title is not None:
                add(title_line(one_line(str(part.title)), 2), "section", node_number)
                start = len(layout.lengths)
        if not isinstance(text, str):
            node_number = _noted(layout, text, node_number, start)
            text = only_string(text)
        add(text, "author", node_number)
    layout.ends.append(len(layout.lengths))
    return "".join(texts)


def _noted(layout: Layout, node: Node, around: int, start: int) -> int:
    """Note a node in another one, after ``start`` pieces, and return its number."""
    layout.nodes.append(node)
    layout.around.append(around)
    layout.starts.append(start)
    return len(layout.nodes) - 1


def _report(report: OnLoss, node: Node, loss: Loss) -> None:
    """Report a loss of a node that is directly in a turn."""
    report(attrs.evolve(loss, path="", source=node.source))
