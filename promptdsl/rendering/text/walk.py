"""The walk over the nodes of any turn, and shorter ways for the content that most turns have.

Read ``way_of`` first: it chooses the way of a turn. ``TurnWalk.write`` is the loop of the walk.
"""

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
from promptdsl.rendering.text.encode import (
    Fences,
    StringRules,
    piece_kind_of,
    report_invisible,
    texts_in,
    valid_text,
)
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
    OpenNode,
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

# The walk over the nodes of any turn; a container has an opening and a closing.

LISTS = (ListNode, ChecklistNode)
_ITEMS = (ItemNode, ExampleSideNode)
"""The classes of containers in which a list or code follows a text without a blank line."""
_ITEM_LIKE = (FragmentNode, ItemNode, NoteNode)
"""The classes of children of a list that get no item around them."""
_GROUPS = (FragmentNode, NoteNode, ExampleSideNode)
"""The classes of nodes whose children decide whether a content is only text."""
_WITHOUT_FRAME = (FragmentNode, NoteNode, TurnNode, RequestOnlyNode, ReserveNode)
"""The classes of nodes without a frame: only their children are written."""

ONLY_TITLED = "it has a title but no content"
"""The reason of the hint for a container that is left out; it is reported once per source line."""


class TurnWalk(TextState):
    """The walk over the nodes of one turn.

    The walk has a stack of open nodes, and the text is a flat list of pieces that is joined once.
    So ten thousand nested sections take no longer than ten thousand siblings.
    """

    def write(self) -> None:
        """Write the nodes of the turn on the page."""
        stack, page = self.open_nodes, self.page
        while len(stack) > 1:
            open_node = stack[-1]
            child = next(open_node.children, None)
            if child is None:
                parent = stack[-2]
                write_closing(self, open_node, parent)
                stack.pop()
                open_node, page.node_number = parent, parent.node_number
            elif open_node.listing is not None and open_item(
                self, child, open_node, open_node.listing
            ):
                continue  # the child is written next, as the only child of its new item
            elif isinstance(child, str):
                write_strings(self, (child,), open_node.node, open_node)
            else:
                self.write_node(child, open_node)
            if not open_node.rules.joined:
                page.flush()

    def write_node(self, node: Node, parent: OpenNode) -> None:
        """Write a leaf, or the opening of a container, whose children are next."""
        page = self.page
        page.begin(node)
        write = LEAVES.get(node._node)
        if write is not None:
            write(self, node, parent)
            page.node_number = parent.node_number
        elif isinstance(node, ToolResultNode):
            self._write_result(node, parent)
            page.node_number = parent.node_number
        else:
            write_opening(self, node, parent)

    def _write_result(self, node: ToolResultNode, parent: OpenNode) -> None:
        """Write a tool result, whose blocks are on a page of their own."""
        page, layout = self.page, self.page.layout
        page.end_text()
        setting = self.setting._replace(text_format=parent.text_format)
        count_before = len(layout.ends)
        page_of_result = Page(layout, page.node_number)
        result_text = self.text._replace(page=page_of_result, setting=setting)
        TurnWalk(result_text, node, self.fences).write()
        content = page_of_result.finish()
        # The result itself is the next block: its number is the number of blocks so far.
        layout.results[len(layout.ends)] = count_before
        name, cache_mark = node.options.name, mark_of(node.options)
        error = (node.is_error, node.error_type)
        result = ToolResultBlock(node.tool_use_id, content, name, *error, cache_mark)
        page.block(result, parent.rules.kind)


def walk(text: TurnText, turn: TurnNode) -> tuple[Block, ...]:
    """Return the blocks of a turn with content of any kind, for which there is no shorter way."""
    TurnWalk(text, turn, Fences(text.author_tags, text.literals)).write()
    return text.page.finish()


# Containers.


def write_opening(state: TextState, node: Node, parent: OpenNode) -> None:
    """Write the opening of a container, whose children are next.

    A node without a frame, such as a fragment, has no opening: only its children are written.
    """
    page = state.page
    open_node = OpenNode(
        node,
        iter(node.content),
        parent.rules,
        parent.text_format,
        parent.level,
        parent.margin,
        in_item=parent.in_item,
        parent_list=parent.listing,
        count_before=page.written_count,
        node_number=page.node_number,
    )
    state.open_nodes.append(open_node)
    framed = CONTAINERS.get(node._node)
    if framed is not None:
        opening = framed.frame(open_node.text_format, node)
        frame = open_node.frame = framed.write(state, node, open_node, opening)
        open_node.in_item, outer = isinstance(node, _ITEMS), open_node.margin
        open_node.margin = deeper(outer, frame.prefix, frame.between)
        open_node.separate(outer)
        page.open(frame.open, frame.kind, outer)
        open_node.tags = tuple(map(fold, frame.tags))
        state.fences.open(open_node.tags)
        if node.options.encoding:
            open_node.rules = open_node.rules.encoded_by(node.options.encoding)
    elif isinstance(node, _WITHOUT_FRAME):
        if isinstance(node, FormatNode):
            open_node.text_format = FORMATS[node.format]
        open_node.listing, open_node.joined_texts = parent.listing, parent.joined_texts
        open_node.separate(open_node.margin)
    else:
        name = type(node).__name__
        raise TypeError(f"no text for a node of type {name}: add it to LEAVES or CONTAINERS")


def open_item(state: TextState, child: Child, parent: OpenNode, listing: OpenList) -> bool:
    """Open an item around a child of a list that is not an item; return whether it was opened."""
    if isinstance(child, FormatNode):
        if FORMATS[child.format] is parent.text_format:
            return False
    elif isinstance(child, _ITEM_LIKE) or (isinstance(child, LISTS) and listing.items):
        return False
    write_opening(state, make(ItemNode, (child,), at=parent.node, done=None), parent)
    return True


def write_closing(state: TextState, open_node: OpenNode, parent: OpenNode) -> None:
    """Write the closing of a container whose children are written."""
    node, page, options = open_node.node, state.page, open_node.node.options
    if open_node.frame is not None:
        _close_frame(state, open_node, open_node.frame, parent.margin)
    elif page.gap and options.separator is not None:
        page.gap = parent.margin.gap
    if options.cache and (isinstance(node, SectionNode) or getattr(node, "role", "") == "system"):
        page.cache(cast("Cache", mark_of(options)))


def _close_frame(state: TextState, open_node: OpenNode, frame: TextFrame, outside: Margin) -> None:
    """Write the closing of a container; remove its opening if nothing was written in it."""
    page = state.page
    state.fences.close(open_node.tags)
    if page.written_count == open_node.count_before:
        page.close_empty(frame.open)
        if open_node.listing is not None and page.gap:
            page.gap = open_node.listing.gap
        if open_node.titled:
            state.note(open_node.node, hint("title_only", open_node.titled, ONLY_TITLED))
        return
    page.close(frame.close, outside)
    if open_node.listing is not None:
        page.tail = open_node.listing.marker
        return
    if frame.prefix and (page.tail == PROSE or not isinstance(open_node.node, ItemNode)):
        page.tail = ""
    if open_node.parent_list is not None:  # it is an item
        open_node.parent_list.items += 1
        open_node.parent_list.margin = open_node.margin


# The openings of containers. Each function sets the rules for the strings inside, and returns the
# frame, often with a title or a sign in it.


def _open_section(
    state: TextState, node: SectionNode, open_node: OpenNode, frame: TextFrame
) -> TextFrame:
    """Return the frame of a section with its title: encoded if it is a value, else guarded."""
    text_format, level, rules, id = (
        open_node.text_format,
        open_node.level,
        open_node.rules,
        str(node.options.id),
    )
    open_node.level += 1
    open_node.rules = rules.in_section(tagged=text_format.tagged)
    if text_format.tagged and holds(f"<{id}></{id}>", rules.literals):
        # The delimiter inside must become a reference, and then the text is no tag any more.
        raise ContentError(
            f"the tag <{id}> of this Section contains the delimiter around it",
            fix="give the section another id, or choose another delimiter",
            at=(node.source,),
        )
    if node.title is None:
        return frame
    # A section with an empty block (``with``) has another hint already.
    # HINTED is two bits together.
    if node._mask & HINTED != HINTED:
        open_node.titled = f"section {id}"
    is_value, title = rules.values, node.title
    if isinstance(title, ValueNode):
        is_value, title = True, title.text
    text = _title(state, node, title, open_node, is_value=is_value)
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
    state: TextState, node: SectionNode, title: str, open_node: OpenNode, *, is_value: bool
) -> str:
    """Return the encoded title of a section, for the attribute of its tag or for its heading."""
    note, rules = partial(state.note, node), open_node.rules
    fences = state.fences
    if open_node.text_format.tagged:
        report_invisible((title,), note)
        literals = rules.literals
        if is_value:
            literals |= fences.literals
        return guard(attribute(title), fences.reserved, literals)
    if is_value:
        report_invisible((title,), note)
        return fences.encoded(title, rules, field)
    return one_line(fences.guard_author_text(valid_text(title, note), rules))


_ATTRIBUTE = re.compile('="([^"]*)"')
"""The encoded value of an attribute in a tag."""


def _open_fence(
    state: TextState, node: FenceNode, open_node: OpenNode, frame: TextFrame
) -> TextFrame:
    """Return the frame of a fence; set the rules for the values inside."""
    report_invisible(node.raw_values, partial(state.note, node))
    if node.raw_values:
        open_node.titled = "an Ephemeral or Grounding"
    open_node.rules = attrs.evolve(
        open_node.rules,
        # A prefix has no closing text that the content could contain.
        encoding="body" if node.close else open_node.rules.encoding,
        values=node.values,
        literals=open_node.rules.literals.union(node.literals),
    )
    return frame._replace(kind=partial(_attribute_runs, node.open, node.raw_values))


def _attribute_runs(opening: str, raw_values: Sequence[str]) -> Sequence[TextRun]:
    """Return the runs of a tag whose last attributes are values; ``raw_values`` are not encoded."""
    encoded = _ATTRIBUTE.findall(opening)[-len(raw_values) :]
    pairs = zip(encoded, raw_values, strict=False)
    return inserted(opening, [pair for pair in pairs if decode(pair[0]) == pair[1]], '="')


def _open_list(
    state: TextState, node: ListNode | ChecklistNode, open_node: OpenNode, frame: TextFrame
) -> TextFrame:
    """Return the frame of a list; choose the sign of its items."""
    text_format, page, gap = open_node.text_format, state.page, state.page.gap
    if open_node.parent_list is not None and not text_format.tagged:
        # A list directly in a list belongs to the item before it.
        open_node.margin = open_node.parent_list.margin
        page.gap = f"\n{open_node.margin.prefix}"
    else:
        state.tighten(open_node)
    open_node.rules = open_node.rules.in_text(tagged=text_format.tagged)
    ordered = isinstance(node, ListNode) and node.ordered
    marker = text_format.marker(ordered=ordered, previous="" if page.openings else page.tail)
    open_node.listing = OpenList(marker, isinstance(node, ChecklistNode), gap)
    return frame


def _open_item(
    _state: TextState, node: ItemNode, open_node: OpenNode, frame: TextFrame
) -> TextFrame:
    """Return the frame of an item, with the sign and number that its list gives it."""
    text_format, listing = open_node.text_format, open_node.parent_list
    open_node.rules = open_node.rules.in_text(tagged=text_format.tagged)
    if listing is None:
        return frame
    if not listing.is_checklist:
        return text_format.item(listing.marker, listing.items + 1, done=None, text_only=True)
    return text_format.item(
        listing.marker, 0, done=bool(node.done), text_only=_begins_with_text(node)
    )


def _open_text(_state: TextState, _node: Node, open_node: OpenNode, frame: TextFrame) -> TextFrame:
    """Return the frame of a quotation or an example, whose children are one text."""
    open_node.rules = open_node.rules.in_text(tagged=open_node.text_format.tagged)
    return frame


def _is_text_only(side: Child) -> bool:
    """Return whether a side of an example is only text, which can follow its name on the line."""
    return all(isinstance(child, str) or child._is_prose for child in _ungrouped((side,)))


def _begins_with_text(item: ItemNode) -> bool:
    """Return whether an item begins with text, which can follow a box on the line."""
    for child in _ungrouped(item.content):
        is_prose = isinstance(child, str) or child._is_prose
        if not is_prose or has_content((child,)):
            return is_prose
    return True


def _ungrouped(content: tuple[Child, ...]) -> Iterator[Child]:
    """Yield the children of a content; a fragment, note or side is replaced by its children."""
    pending = [*reversed(content)]
    while pending:
        child = pending.pop()
        if isinstance(child, _GROUPS):
            pending += reversed(child.content)
        else:
            yield child


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
"""The kinds of children that are one text or one block in a conversation."""


def children_of(text: Child) -> tuple[Child, ...]:
    """Return the strings and values of a text."""
    return text.content if isinstance(text, TextNode) else (text,)


def only_string(child: Child) -> str:
    """Return a string, or the string of a text of one string; ``""`` for another node."""
    if isinstance(child, str):
        return child
    if child._node is TextNode and len(child.content) == 1:
        (text,) = child.content
        return text if isinstance(text, str) else ""
    return ""


def side_by_side(state: TurnText, turn: TurnNode) -> tuple[Block, ...]:
    """Return the blocks of a conversation turn: one for each text, call and attachment."""
    page, rules = state.page, state.rules
    fences = Fences(state.author_tags, state.literals)
    follows = False
    for child in turn.content:
        node: Node = turn
        if not isinstance(child, str):
            page.begin(child)
            node = child
        if isinstance(child, ToolUseNode | ReasoningNode | MediaNode):
            page.block(sent_block(child, state.setting.media_roots, rules), rules.kind)
            follows = False
        else:
            children = children_of(child)
            note = partial(_report, state.report, node)
            texts = texts_in(children, rules, fences, note, follows=follows)
            page.write("".join(texts), piece_kind_of(children, texts, rules), NO_INDENT)
            page.flush()
            follows = True
        page.node_number = -1
    return page.finish()


def _is_simple(child: Child) -> bool:
    """Return whether a child of instructions is a string, or a section of one, sent unchanged."""
    title = ""
    if isinstance(child, SectionNode):
        if child._mask & CACHE or isinstance(child.title, ValueNode) or len(child.content) != 1:
            return False
        title = str(child.title)
        (child,) = child.content
    text = only_string(child)
    # A text that starts with a line end is dedented.
    title_and_text = title + text
    is_valid = title_and_text.isascii() or is_valid_unicode(title_and_text)
    return is_valid and text[:1] not in ("", "\r", "\n")


def instructions(layout: Layout, turn: TurnNode) -> str:
    """Return the text of instructions that are strings, and sections of one string each.

    Its pieces are noted in the layout. For other instructions the result is ``""``, and nothing is
    noted.
    """
    if not all(map(_is_simple, turn.content)):
        return ""
    texts: list[str] = []

    def add(text: str, kind: PieceKind, node_number: int) -> None:
        texts.append(text)
        layout.lengths.append(len(text))
        layout.kinds.append(kind)
        layout.node_numbers.append(node_number)

    for child in turn.content:
        start, node_number, text = len(layout.lengths), -1, child
        if texts:
            add(BETWEEN, "gap", -1)
        if isinstance(child, SectionNode):
            node_number = _note_node(layout, child, -1, start)
            (text,) = child.content
            if child.title is not None:
                add(title_line(one_line(str(child.title)), 2), "section", node_number)
                start = len(layout.lengths)
        if not isinstance(text, str):
            node_number = _note_node(layout, text, node_number, start)
            text = only_string(text)
        add(text, "author", node_number)
    layout.ends.append(len(layout.lengths))
    return "".join(texts)


def _note_node(layout: Layout, node: Node, parent_number: int, start: int) -> int:
    """Note a node in the layout, after ``start`` pieces, and return its number.

    ``parent_number`` is the number of the node around it, -1 for the turn.
    """
    layout.nodes.append(node)
    layout.parents.append(parent_number)
    layout.starts.append(start)
    return len(layout.nodes) - 1


def _report(report: OnLoss, node: Node, loss: Loss) -> None:
    """Report a loss of a node that is directly in a turn."""
    report(attrs.evolve(loss, path="", source=node.source))
