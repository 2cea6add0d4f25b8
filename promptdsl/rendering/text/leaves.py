"""Leaves: parts that hold no other parts, each written at once."""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, TypeAlias

from promptdsl.foundation.errors import ContentError, MediaError
from promptdsl.foundation.escaping import data_text
from promptdsl.foundation.guards import fold, guard_prefixes
from promptdsl.foundation.tables import table_text
from promptdsl.foundation.trusted import Trusted
from promptdsl.rendering.text.blocks import settle_block
from promptdsl.rendering.text.data import code_of, data_block, formatted
from promptdsl.rendering.text.format import Frame
from promptdsl.rendering.text.page import Checkpoint, OpenPart, TextState
from promptdsl.rendering.text.strings import (
    NoteLoss,
    StringRules,
    code_in,
    guarded,
    line_in,
    notice,
    text_in,
    untrusted_in,
    verbatim_in,
    written,
)
from promptdsl.tree.node import Child, Node
from promptdsl.tree.part_nodes import (
    CodeNode,
    HeadingNode,
    JsonNode,
    MediaNode,
    ParagraphNode,
    ReasoningNode,
    TableNode,
    TextNode,
    ToolUseNode,
    TrustedTextNode,
    UntrustedNode,
    ValueNode,
    VerbatimNode,
    VolatileNode,
)
from promptdsl.tree.turn_nodes import CacheBreakpointNode

StringsIn: TypeAlias = Callable[[tuple[Child, ...], StringRules, Collection[str], NoteLoss], str]
"""Returns strings and values as one text: ``text_in``, ``line_in`` or ``code_in``."""

# Text.


def write_strings(state: TextState, parts: tuple[Child, ...], node: Node, around: OpenPart) -> None:
    """Write strings and values as one text; ``node`` is what a loss is reported of."""
    text = text_in(parts, around.rules, state.tags, partial(state.note, node))
    if text:
        state.page.put(text, around.margin)
        state.page.tail = "prose"


def _write_text(state: TextState, node: TextNode, around: OpenPart) -> None:
    write_strings(state, node.content, node, around)


def _write_value(state: TextState, node: ValueNode | TrustedTextNode, around: OpenPart) -> None:
    write_strings(state, (node,), node, around)


def _write_verbatim(state: TextState, node: VerbatimNode, around: OpenPart) -> None:
    text = verbatim_in(
        node.text, node.said, around.rules, state.tags, note=partial(state.note, node)
    )
    state.page.put(text, around.margin)
    if node.cache:
        state.page.cache(node.cache)


def _write_untrusted(state: TextState, node: UntrustedNode, around: OpenPart) -> None:
    if node.text:
        text = untrusted_in(node.text, node.origin, around.rules, partial(state.note, node))
        state.page.put(text, around.margin)


# Text in a frame.


def _write_heading(state: TextState, node: HeadingNode, around: OpenPart) -> None:
    _write_framed(state, node, around, line_in, frame=around.form.heading(node.level))


def _write_paragraph(state: TextState, node: ParagraphNode, around: OpenPart) -> None:
    _write_framed(state, node, around, text_in, frame=around.form.paragraph())


def _write_code(state: TextState, node: CodeNode, around: OpenPart) -> None:
    if _write_formatted(state, node, around):
        return
    frame = around.form.code(code_of(node), node.language)
    if around.rules.literals:
        # The language of recorded code is data.
        frame = frame._replace(open=guard_prefixes(frame.open, around.rules.literals))
    _write_framed(state, node, around, code_in, frame=frame)


def _write_json(state: TextState, node: JsonNode, around: OpenPart) -> None:
    if not _write_formatted(state, node, around):
        # No tag can stand in the text of a Json: only other delimiters are kept out of it.
        _enclose(state, guarded(node.text, around.rules, ()), around.form.json(), around)


def _write_formatted(state: TextState, node: CodeNode | JsonNode, around: OpenPart) -> bool:
    """Write what an author's function makes of JSON or code; return whether it made anything."""
    format_block = state.setting.format_block
    if format_block is None:
        return False
    text = formatted(data_block(node), format_block, node.source)
    if text is None:
        return False
    text = guarded(written(text, partial(state.note, node)), around.rules, state.tags)
    state.page.put(text, around.margin)
    return True


def _write_framed(
    state: TextState, node: Node, around: OpenPart, strings_in: StringsIn, *, frame: Frame
) -> None:
    """Write a part of one text, which cannot close the tags around it."""
    note = partial(state.note, node)
    if not frame.tags:
        rules = around.rules.in_text(tagged=False)
        text = strings_in(node.content, rules, state.tags, note)
    else:
        rules = around.rules.in_text(tagged=True)
        own = [name for name in map(fold, frame.tags) if name not in state.tags]
        # Added and removed: a copy of all names for every part is slow ten thousand levels deep.
        state.tags.update(dict.fromkeys(own, 1))
        text = strings_in(node.content, rules, state.tags, note)
        for name in own:
            del state.tags[name]
    _enclose(state, text, frame, around)


def _enclose(state: TextState, text: str, frame: Frame, around: OpenPart) -> None:
    if text:
        state.page.open(frame.open, around.margin)
        state.page.put(text, around.margin)
        state.page.close(frame.close, around.margin)


# Tables.


def _write_table(state: TextState, node: TableNode, around: OpenPart) -> None:
    if not node.rows:
        return
    note = partial(state.note, node)
    notice(node.columns or (), note)
    rows = [tuple([_cell(state, cell, around.rules, note) for cell in row]) for row in node.rows]
    try:
        text = table_text(node.columns, rows, node.format or around.form.table)
    except ContentError as error:
        raise error.located(node.source) from None
    literals = around.rules.literals
    state.page.put(guard_prefixes(text, literals) if literals else text, around.margin)


def _cell(state: TextState, cell: Any, rules: StringRules, note: NoteLoss) -> Any:
    """Return a cell; one that an author vouches for cannot leave the fences around it."""
    if type(cell) is Trusted:
        return Trusted(guarded(written(cell, note), rules, state.tags))
    notice((data_text(cell),), note)
    return cell


# Blocks.


def _write_media(state: TextState, node: MediaNode, _around: OpenPart) -> None:
    try:
        block = settle_block(node.block, media_roots=state.setting.media_roots, replaced=_nothing)
    except MediaError as error:
        raise error.located(node.source) from None
    state.page.block(block)


def _nothing() -> None:
    pass


def _write_block(state: TextState, node: ToolUseNode | ReasoningNode, _around: OpenPart) -> None:
    state.page.block(node.block)


# Cache marks.


def _write_breakpoint(state: TextState, node: CacheBreakpointNode, _around: OpenPart) -> None:
    """Put a mark after everything that is written, and before the containers still empty."""
    page = state.page
    if not page.written:
        state.note(node, "hint", "a cache breakpoint", "nothing stands before it in its turn")
        return
    # The containers opened since the last mark come after that one already.
    empty = [*_empty_parts(state)] if page.marked < page.written else []
    start = empty[-1][1].pieces if empty else len(page.pieces)
    if not page.cache(node.ttl or "default", start):
        state.note(node, "hint", "a cache breakpoint", "the block before it takes none")
    for part, opening in empty:
        part.start = Checkpoint(opening.pieces - start, "", page.written, None)


def _empty_parts(state: TextState) -> Iterator[tuple[OpenPart, Checkpoint]]:
    """Yield the containers in which nothing is written yet, the innermost first."""
    for part in reversed(state.open):
        opening = part.start
        if opening is not None:
            if opening.written != state.page.written:
                return
            yield part, opening


LEAVES: Mapping[type[Node], Callable[[TextState, Any, OpenPart], None]] = {
    TextNode: _write_text,
    ValueNode: _write_value,
    VolatileNode: _write_value,
    TrustedTextNode: _write_value,
    VerbatimNode: _write_verbatim,
    UntrustedNode: _write_untrusted,
    HeadingNode: _write_heading,
    ParagraphNode: _write_paragraph,
    CodeNode: _write_code,
    JsonNode: _write_json,
    TableNode: _write_table,
    MediaNode: _write_media,
    ToolUseNode: _write_block,
    ReasoningNode: _write_block,
    CacheBreakpointNode: _write_breakpoint,
}
