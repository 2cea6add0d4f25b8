"""Containers: parts that hold parts. Each writes its opening, and later its closing."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from promptdsl.foundation.errors import ContentError
from promptdsl.foundation.escaping import attribute, field
from promptdsl.foundation.escaping import title as one_line
from promptdsl.foundation.guards import fold, guard_between, guard_prefixes
from promptdsl.rendering.text.format import Frame
from promptdsl.rendering.text.page import (
    BETWEEN,
    PLAIN,
    Listed,
    Margin,
    OpenPart,
    TextState,
    deeper,
)
from promptdsl.rendering.text.strings import guarded, notice, value, written
from promptdsl.tree.group_nodes import FormatNode, FragmentNode, NoteNode, ReserveNode
from promptdsl.tree.node import Child, Node, make, mark_of
from promptdsl.tree.part_nodes import (
    ChecklistNode,
    ExampleNode,
    ExampleSideNode,
    FenceNode,
    ItemNode,
    JsonNode,
    ListNode,
    ParagraphNode,
    QuoteNode,
    SectionNode,
    TextNode,
    TrustedTextNode,
    ValueNode,
)
from promptdsl.tree.rewrite import any_said
from promptdsl.tree.turn_nodes import RequestOnlyNode, TurnNode


def open_part(
    state: TextState, node: Any, around: OpenPart, *, continues: bool = False
) -> OpenPart:
    """Write the opening of a container, whose children are next; return it.

    A part without a frame, such as a fragment, only holds its children.
    """
    part = OpenPart(
        node,
        iter(node.content),
        around.rules,
        around.form,
        around.level,
        around.margin,
        around.listing,
        around.tight,
    )
    make_frame = _FRAMES.get(node._node)
    if make_frame is None:
        if not isinstance(node, _HOLDERS):
            name = node._node.__name__
            raise TypeError(f"no text for a node of type {name}: add it to LEAVES or _FRAMES")
        if isinstance(node, FormatNode):
            part.form = state.setting.forms[node.format]
        state.open.append(part)
        return part
    part.continues = continues
    frame = part.frame = make_frame(state, node, part)
    part.listing = part if isinstance(node, ListNode | ChecklistNode) else None
    part.tight = isinstance(node, ItemNode | ExampleSideNode)
    if frame.prefix or frame.between != BETWEEN or around.margin is not PLAIN:
        part.margin = deeper(around.margin, frame.prefix, frame.between)
    part.start = state.page.open(frame.open, around.margin)
    if continues:
        state.page.tail = part.start.tail
    if frame.tags:
        part.tags = tuple(map(fold, frame.tags))
        for name in part.tags:
            state.tags[name] = state.tags.get(name, 0) + 1
    state.open.append(part)
    return part


def open_item(state: TextState, child: Child, around: OpenPart) -> bool:
    """Open an item for a child of a list that is no item yet; return whether that was done."""
    in_other_format = isinstance(child, FormatNode) and (
        state.setting.forms[child.format] is not around.form
    )
    if isinstance(child, FragmentNode | ItemNode | NoteNode) and not in_other_format:
        return False
    listing = around.listing
    is_list = isinstance(child, ListNode | ChecklistNode)
    continues = is_list and listing is not None and listing.items > 0
    if continues and around.form.tagged:
        return False
    item = make(ItemNode, (child,), at=around.node, done=None)
    open_part(state, item, around, continues=continues)
    return True


def close_part(state: TextState, part: OpenPart, outside: Margin) -> None:
    """Write the closing of a container; one in which nothing was written is taken back."""
    node, page = part.node, state.page
    for name in part.tags:
        state.tags[name] -= 1
        if not state.tags[name]:
            del state.tags[name]
    if part.frame is not None and part.start is not None:
        if page.written == part.start.written:
            page.take_back(part.start)
            _note_empty(state, part)
        else:
            page.close(part.frame.close, outside)
            if isinstance(node, ListNode | ChecklistNode):
                ordered = isinstance(node, ListNode) and node.ordered
                page.tail = None if part.form.tagged else Listed(ordered, part.second)
            elif part.frame.prefix and (page.tail == "prose" or not isinstance(node, ItemNode)):
                page.tail = None
    if node.options.cache and (isinstance(node, SectionNode) or _is_system(node)):
        mark = mark_of(node.options)
        if mark:
            page.cache(mark)


def _note_empty(state: TextState, part: OpenPart) -> None:
    """Report the title of a container without content; an item of that kind is not counted."""
    node = part.node
    if isinstance(node, ItemNode) and state.open and state.open[-1].listing:
        state.open[-1].listing.items -= not part.continues
    if isinstance(node, SectionNode) and node.title is not None:
        what = f"section {node.options.id!r}"
    elif isinstance(node, FenceNode) and node.said:
        what = "a request-only turn"
    else:
        return
    state.note(node, "hint", what, "it has a title but no content")


def _is_system(node: Node) -> bool:
    return isinstance(node, TurnNode) and node.role == "system"


# The frames, and the rules that hold for the strings inside.


def _section(state: TextState, node: SectionNode, part: OpenPart) -> Frame:
    form, rules, id, title = part.form, part.rules, str(node.options.id), node.title
    text = title.text if isinstance(title, ValueNode) else title
    if text is not None:
        note = partial(state.note, node)
        if form.tagged:
            text = value(text, attribute, note)
        elif isinstance(title, ValueNode) or rules.values:
            text = value(text, field, note)
        else:
            text = one_line(guarded(written(text, note), rules, state.tags))
    frame = form.section(id, text, part.level)
    if rules.literals:
        tag = f"<{id}></{id}>"
        if form.tagged and guard_prefixes(tag, rules.literals) != tag:
            # Broken it would be no tag, and as it is it would forge the end of the fence.
            raise ContentError(
                f"the tag <{id}> of this Section reads as a delimiter of the fence around it",
                fix="give the section another id, or the fence another delimiter",
                at=(node.source,),
            )
        if text:
            before, _, after = frame.open.rpartition(text)
            text = guard_between(before, text, after, rules.literals)
            frame = form.section(id, text, part.level)
    part.level += 1
    part.rules = rules.in_section(tagged=form.tagged)
    return frame


def _fence(state: TextState, node: FenceNode, part: OpenPart) -> Frame:
    part.rules = part.rules.in_fence(node)
    if node.said:
        notice(node.said, partial(state.note, node))
    return Frame(node.open, node.close, node.names)


def _list(state: TextState, node: ListNode | ChecklistNode, part: OpenPart) -> Frame:
    form = part.form
    part.rules = part.rules.in_text(tagged=form.tagged)
    ordered = isinstance(node, ListNode) and node.ordered
    part.second = state.page.tail == Listed(ordered, other=False)
    return form.list(ordered=ordered) if isinstance(node, ListNode) else form.checklist()


def _item(_state: TextState, node: ItemNode, part: OpenPart) -> Frame:
    part.rules = part.rules.in_text(tagged=part.form.tagged)
    listing = part.listing
    if listing is None:
        return part.form.item(None, done=None, other=False)
    listing.items += not part.continues
    ticked = isinstance(listing.node, ChecklistNode)
    frame = part.form.item(
        None if ticked or not listing.node.ordered else listing.items,
        done=bool(node.done) if ticked else None,
        other=listing.second,
        plain=not ticked or _begins_plain(node),
    )
    return frame._replace(open=frame.prefix) if part.continues else frame


def _quote_or_example(
    _state: TextState, node: QuoteNode | ExampleNode | ExampleSideNode, part: OpenPart
) -> Frame:
    form = part.form
    part.rules = part.rules.in_text(tagged=form.tagged)
    match node:
        case QuoteNode():
            return form.quote()
        case ExampleSideNode():
            return form.side(node.name, plain=_is_plain(node))
        case ExampleNode():
            return form.example(plain=all(map(_is_plain, node.content)))


def _is_plain(side: Node) -> bool:
    """Whether a side of an example is plain text, so that it can follow its name on the line."""
    waiting = [*side.content]
    while waiting:
        part = waiting.pop()
        if isinstance(part, FragmentNode):
            waiting += part.content
        elif not isinstance(part, str | _PROSE):
            return False
    return True


def _begins_plain(item: Node) -> bool:
    """Whether an item begins with text, so that it can follow a box on the line."""
    waiting = [*reversed(item.content)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, FragmentNode | NoteNode):
            waiting += reversed(part.content)
        elif isinstance(part, str | _PROSE):
            if any_said((part,)):
                return True
        else:
            return False
    return True


_HOLDERS = FragmentNode | NoteNode | TurnNode | RequestOnlyNode | ReserveNode
"""The nodes without a frame, which write nothing but their children."""
_PROSE = TextNode | ValueNode | TrustedTextNode | ParagraphNode | JsonNode

_FRAMES: Mapping[type[Node], Callable[[TextState, Any, OpenPart], Frame]] = {
    SectionNode: _section,
    FenceNode: _fence,
    ListNode: _list,
    ChecklistNode: _list,
    ItemNode: _item,
    QuoteNode: _quote_or_example,
    ExampleNode: _quote_or_example,
    ExampleSideNode: _quote_or_example,
}
