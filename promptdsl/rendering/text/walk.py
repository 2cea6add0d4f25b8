"""The walk over the parts of any turn; a container has an opening and a closing."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import attrs

from promptdsl.foundation.errors import ContentError
from promptdsl.foundation.escaping import attribute, decode, field
from promptdsl.foundation.escaping import title as one_line
from promptdsl.foundation.guards import fold, guard, guard_between, holds
from promptdsl.messages import Block, ToolResultBlock
from promptdsl.messages.loss import hint
from promptdsl.rendering.text.encode import Fences, notice, written
from promptdsl.rendering.text.format import BETWEEN, FORMATS, TextFrame
from promptdsl.rendering.text.leaves import LEAVES, write_strings
from promptdsl.rendering.text.page import (
    NO_INDENT,
    PROSE,
    Framed,
    Margin,
    OpenList,
    OpenPart,
    Page,
    TextState,
    TurnText,
    deeper,
)
from promptdsl.rendering.text.pieces import TextRun, inserted
from promptdsl.tree.group_nodes import FormatNode, FragmentNode, NoteNode, ReserveNode
from promptdsl.tree.masks import HINTED
from promptdsl.tree.node import Child, Node, make, mark_of
from promptdsl.tree.part_nodes import (
    ChecklistNode,
    ExampleNode,
    ExampleSideNode,
    FenceNode,
    ItemNode,
    ListNode,
    QuoteNode,
    SectionNode,
    ToolResultNode,
    ValueNode,
)
from promptdsl.tree.rewrite import has_content
from promptdsl.tree.turn_nodes import RequestOnlyNode, TurnNode

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

    def write(self) -> tuple[Block, ...]:
        """Return the blocks that the parts become."""
        stack, page = self.open, self.page
        while stack:
            top = stack[-1]
            child = next(top.children, None)
            if child is None:
                stack.pop()
                self.close(top, stack[-1].margin if stack else NO_INDENT)
                page.node_number = stack[-1].node_number if stack else top.node_number
            elif top.listing is not None and open_item(self, child, top, top.listing):
                continue
            elif isinstance(child, str):
                write_strings(self, (child,), top.node, top)
            elif self.write_part(child, top):
                continue
            if stack and not stack[-1].rules.joined:
                page.flush()
        return page.finish()

    def write_part(self, node: Node, around: OpenPart) -> bool:
        """Write a part; return whether it is open, so that its children are next."""
        page = self.page
        page.begin(node)
        write = LEAVES.get(node._node)
        if write is not None:
            write(self, node, around)
        elif isinstance(node, ToolResultNode):
            self._write_result(node, around)
        else:
            open_part(self, node, around)
            return True
        page.node_number = around.node_number
        return False

    def _write_result(self, node: ToolResultNode, around: OpenPart) -> None:
        """Write a tool result, whose blocks are on a page of their own."""
        page, layout = self.page, self.page.layout
        if page.openings:
            page.write_openings()
        page.flush()
        setting, before = self.setting._replace(text_format=around.text_format), len(layout.ends)
        inner = Page(layout, page.node_number)
        inside = self.text._replace(page=inner, setting=setting)
        content = TurnWalk(inside, node, self.fences).write()
        layout.results[len(layout.ends)] = before
        name, mark = node.options.name, mark_of(node.options)
        error = (node.is_error, node.error_type)
        result = ToolResultBlock(node.tool_use_id, content, name, *error, mark)
        page.block(result, around.rules.kind)

    def close(self, part: OpenPart, outside: Margin) -> None:
        """Write the closing of a part whose children are written."""
        options = part.node.options
        if part.frame is not None or options.cache or options.separator is not None:
            close_part(self, part, outside)


def walk(text: TurnText, node: Node) -> tuple[Block, ...]:
    """Return the blocks of a turn with parts of any kind, for which ``ways`` has no shorter way."""
    return TurnWalk(text, node, Fences(text.author_tags, text.literals)).write()


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
        around.listing,
        around.in_item,
        written=page.written,
        node_number=page.node_number,
    )
    container = CONTAINERS.get(node._node)
    if container is not None:
        opening = container.frame(part.text_format, node)
        frame = part.frame = container.write(state, node, part, opening)
        if not isinstance(node, LISTS):
            part.listing = None
        outer = part.margin
        part.in_item = isinstance(node, _ITEMS)
        if frame.prefix or frame.between != BETWEEN or outer is not NO_INDENT:
            part.margin = deeper(outer, frame.prefix, frame.between)
        part.separate(outer)
        page.open(frame.open, frame.kind, outer)
        if frame.tags:
            part.tags = tuple(map(fold, frame.tags))
            state.fences.open(part.tags)
        if node.options.encoding:
            part.rules = part.rules.encoded_by(node.options.encoding)
    elif isinstance(node, _CONTAINERS_OF_KEYS):
        if isinstance(node, FormatNode):
            part.text_format = FORMATS[node.format]
        part.joined = around.joined
        part.separate(part.margin)
    else:
        name = type(node).__name__
        raise TypeError(f"no text for a node of type {name}: add it to LEAVES or CONTAINERS")
    state.open.append(part)


def open_item(state: TextState, child: Child, around: OpenPart, listing: OpenList) -> bool:
    """Open an item around a child of a list that is not an item; return whether it was opened."""
    if isinstance(child, FormatNode):
        if FORMATS[child.format] is around.text_format:
            return False
    elif isinstance(child, _ENTRIES) or (isinstance(child, LISTS) and listing.items):
        return False
    open_part(state, make(ItemNode, (child,), at=around.node, done=None), around)
    return True


def close_part(state: TextState, part: OpenPart, outside: Margin) -> None:
    """Write the closing of a container; remove its opening if nothing was written in it."""
    node, page, frame = part.node, state.page, part.frame
    state.fences.close(part.tags)
    if frame is not None and page.written == part.written:
        page.close_empty(frame.open)
        if part.listing is not None and page.gap:
            page.gap = part.listing.gap
        # If its block was opened and left empty, it has another hint.
        has_hint = node._mask & HINTED == HINTED
        if isinstance(node, SectionNode) and node.title is not None and not has_hint:
            state.note(node, hint("title_only", f"section {node.options.id}", ONLY_TITLED))
        elif isinstance(node, FenceNode) and node.raw_values:
            state.note(node, hint("title_only", "an Ephemeral or Grounding", ONLY_TITLED))
    elif frame is not None:
        page.close(frame.close, outside)
        if isinstance(node, LISTS) and part.listing is not None:
            page.tail = part.listing.marker
        elif frame.prefix and (page.tail == PROSE or not isinstance(node, ItemNode)):
            page.tail = ""
        listing = state.open[-1].listing if isinstance(node, ItemNode) else None
        if listing is not None:
            listing.items += 1
            listing.margin = part.margin
    elif page.gap:
        page.gap = outside.gap
    mark = mark_of(node.options) if node.options.cache else None
    is_system = isinstance(node, TurnNode) and node.role == "system"
    if mark and (is_system or isinstance(node, SectionNode)):
        page.cache(mark)


# The openings: the frame of each, and the rules for the strings inside.


def _open_section(
    state: TextState, node: SectionNode, part: OpenPart, frame: TextFrame
) -> TextFrame:
    text_format, rules, id, title = part.text_format, part.rules, str(node.options.id), node.title
    is_value = rules.values or isinstance(title, ValueNode)
    text = title.text if isinstance(title, ValueNode) else title
    if text is not None:
        note = partial(state.note, node)
        if text_format.tagged:
            notice((text,), note)
            literals = rules.literals
            if is_value:
                literals |= state.fences.literals
            text = guard(attribute(text), state.fences.reserved, literals)
        elif is_value:
            notice((text,), note)
            text = state.fences.encoded(text, rules, field)
        else:
            text = one_line(state.fences.guarded(written(text, note), rules))
        frame = text_format.section(id, text, part.level)
    if rules.literals:
        tag = f"<{id}></{id}>"
        if text_format.tagged and holds(tag, rules.literals):
            # With a reference in it, it is not a tag; without one, it could end the fence.
            raise ContentError(
                f"the tag <{id}> of this Section contains the delimiter around it",
                fix="give the section another id, or choose another delimiter",
                at=(node.source,),
            )
        if text:
            before, _, after = frame.open.rpartition(text)
            text = guard_between(before, text, after, rules.literals)
            frame = text_format.section(id, text, part.level)
    if text is not None and is_value:
        # An empty title is at the position of any other title.
        before = text_format.section(id, "\0", part.level).open.partition("\0")[0]
        frame = frame._replace(kind=partial(inserted, frame.open, [(text, title)], before))
    part.level += 1
    part.rules = rules.in_section(tagged=text_format.tagged)
    return frame


_ATTRIBUTE = re.compile('="([^"]*)"')


def _open_fence(state: TextState, node: FenceNode, part: OpenPart, frame: TextFrame) -> TextFrame:
    notice(node.raw_values, partial(state.note, node))
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
    if part.listing is not None and not text_format.tagged:
        # A list directly in a list is a part of the item before it.
        part.margin = part.listing.margin
        page.gap = f"\n{part.margin.prefix}"
    else:
        state.tighten(part)
    part.rules = part.rules.in_text(tagged=text_format.tagged)
    ordered = isinstance(node, ListNode) and node.ordered
    marker = text_format.marker(ordered=ordered, previous="" if page.openings else page.tail)
    part.listing = OpenList(marker, isinstance(node, ChecklistNode), gap)
    return frame


def _open_item(_state: TextState, node: ItemNode, part: OpenPart, frame: TextFrame) -> TextFrame:
    text_format, listing = part.text_format, part.listing
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
