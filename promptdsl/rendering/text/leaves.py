"""Leaves: nodes without open containers in them, each written at once.

``LEAVES``, at the end, lists the function that writes each kind of node.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from promptdsl.foundation.author_text import UNTRUSTED_NOTE, Trusted
from promptdsl.foundation.errors import ContentError, MediaError
from promptdsl.foundation.escaping import Labelled, attribute, body, data_text
from promptdsl.foundation.guards import guard, json_body, minimal_body, written_tags
from promptdsl.foundation.tables import TABLE_TAGS, cell_locations, table_text
from promptdsl.messages import Block, TextBlock
from promptdsl.messages.prompt import hint
from promptdsl.rendering.text.blocks import (
    MediaRoots,
    code_of,
    data_block,
    formatted,
    guarded_document,
    sendable_block,
)
from promptdsl.rendering.text.encode import (
    StringRules,
    piece_kind_of,
    report_invisible,
    texts_in,
    valid_text,
)
from promptdsl.rendering.text.format import TextFormat, TextFrame
from promptdsl.rendering.text.layout import (
    PieceKind,
    SpanKind,
    TextRun,
    guarded,
    inserted,
    value_run,
)
from promptdsl.rendering.text.page import Framed, OpenNode, TextState, is_own_block, margin
from promptdsl.tree.node import Child, Node, mark_of
from promptdsl.tree.part_nodes import (
    CodeNode,
    HeadingNode,
    JsonNode,
    MediaNode,
    ParagraphNode,
    ReasoningNode,
    TableNode,
    TextBlockNode,
    TextNode,
    ToolUseNode,
    TrustedTextNode,
    UntrustedNode,
    ValueNode,
    VerbatimNode,
    VolatileNode,
)
from promptdsl.tree.turn_nodes import CacheBreakpointNode

# Text.


def write_strings(
    state: TextState, children: tuple[Child, ...], node: Node, parent: OpenNode
) -> None:
    """Write strings and values as one text; report its losses for ``node``."""
    page, note = state.page, partial(state.note, node)
    follows = not page.openings and page.written_count == state.fences.count_at_last_text
    encode = partial(texts_in, fences=state.fences, opening=page.opening, follows=follows)
    if parent.joined_texts is None:
        texts = encode(children, parent.rules, note=note)
        text, kind = "".join(texts), piece_kind_of(children, texts, parent.rules)
    else:
        text, kind, gap = parent.joined_texts.take(parent.rules, encode)
        if parent.joined_texts.lost:  # encoded alone, a text reports its own losses
            texts_in(children, parent.rules, state.fences, note)
        if gap is not None and page.gap:
            page.gap = margin(parent.margin.prefix, gap).gap
    page.write(text, kind, parent.margin)
    state.fences.count_at_last_text = page.written_count


def _write_text(state: TextState, node: TextNode, parent: OpenNode) -> None:
    write_strings(state, node.content, node, parent)


def _write_text_block(state: TextState, node: TextBlockNode, parent: OpenNode) -> None:
    """Write the text of a text block; in a conversation it stays a block, with its extra keys."""
    cache_mark, page = mark_of(node.options), state.page
    is_alone = parent.joined_texts is not None and is_own_block(node)
    if parent.rules.joined and not is_alone:
        write_strings(state, node.content, node, parent)
    else:
        note = partial(state.note, node)
        texts = texts_in(node.content, parent.rules, state.fences, note)
        text, kind = "".join(texts), piece_kind_of(node.content, texts, parent.rules)
        if parent.rules.encoding != "none":
            page.put(text, kind, parent.margin)
        elif text or node.extra:
            page.block(
                TextBlock(text, cache_mark, node.extra), kind if text else "conversation", text
            )
            return
    if cache_mark:
        page.cache(cache_mark)


def _write_value(state: TextState, node: ValueNode | TrustedTextNode, parent: OpenNode) -> None:
    write_strings(state, (node,), node, parent)


def _write_verbatim(state: TextState, node: VerbatimNode, parent: OpenNode) -> None:
    """Write text that is not encoded, only guarded: a rendered event or recorded system text."""
    note = partial(state.note, node)
    report_invisible(node.raw_values, note)
    page = state.page
    if node.starts_block:
        page.flush()
    unguarded = valid_text(node.text, note)
    text = state.fences.guard_author_text(unguarded, parent.rules)
    texts = _changed(unguarded, text)
    kind = partial(_verbatim_runs, node.pieces, len(unguarded), texts)
    page.put(text, kind, parent.margin)
    if node.cache:
        page.cache(node.cache)


def _changed(before: str, after: str) -> tuple[str, str]:
    """Return two texts for :func:`guarded`, or two empty texts if they are equal.

    The layout keeps the two texts. Equal texts would waste memory.
    """
    return ("", "") if before == after else (before, after)


def _verbatim_runs(pieces: Sequence[str], length: int, texts: tuple[str, str]) -> Sequence[TextRun]:
    """Return the runs of a verbatim text; without pieces, it is the text of a recorded message."""
    runs = [TextRun(length, "conversation")]
    if pieces:
        runs = [
            value_run(len(piece), piece)
            if isinstance(piece, Labelled)
            else TextRun(len(piece), "author")
            for piece in pieces
        ]
    return guarded(runs, *texts)


_UNTRUSTED_END = "\n</untrusted>"
"""The text after untrusted text."""


def _write_untrusted(
    state: TextState, node: UntrustedNode, parent: OpenNode, frame: TextFrame
) -> None:
    """Write untrusted text in its fence, which is the same in every format."""
    if not node.text:
        return
    report_invisible((node.text, node.origin or ""), partial(state.note, node))
    fences, rules = state.fences, parent.rules.encoded_by(node.options.encoding)
    fences.open(frame.tags)
    text = fences.encoded(node.text, rules, None)
    fences.close(frame.tags)
    source = "" if node.origin is None else f' source="{attribute(node.origin)}"'
    source = guard(source, fences.reserved, fences.literals | rules.literals)
    head = f'<untrusted{source} note="{UNTRUSTED_NOTE}">\n'
    kind = partial(_untrusted_runs, head, source, node, len(text))
    state.page.put(f"{head}{text}{_UNTRUSTED_END}", kind, parent.margin)


def _untrusted_runs(head: str, source: str, node: UntrustedNode, length: int) -> Sequence[TextRun]:
    """Return the runs of untrusted text; ``head`` is the opening tag and its line end."""
    before = ' source="'
    # The encoded origin is between the quotes of the attribute.
    origin = [(source[len(before) : -1], node.origin)] if source else []
    runs = [*inserted(head, origin, before), value_run(length, node.text)]
    return [*runs, TextRun(len(_UNTRUSTED_END), "section")]


# Text in a frame.


def _write_code(state: TextState, node: CodeNode, parent: OpenNode, frame: TextFrame) -> None:
    """Write code in a code fence or tag, or as ``format_block`` returns it."""
    state.tighten(parent)
    if _write_by_format_block(state, node, parent):
        return
    # The language of recorded code is data.
    fences, rules = state.fences, parent.rules
    names = fences.reserved.difference(frame.tags)
    frame = frame._replace(open=guard(frame.open, names, rules.literals))
    # The code fence is longer than any in the code: no value can close it. But a value can still
    # contain a reserved tag.
    literals = fences.literals | rules.literals
    minimal = partial(minimal_body, names=fences.reserved, literals=literals)
    _write_framed(state, node, parent, frame, encode=body if rules.full_inline else minimal)


def _write_json(state: TextState, node: JsonNode, parent: OpenNode, frame: TextFrame) -> None:
    """Write JSON in its frame, or as ``format_block`` returns it."""
    if _write_by_format_block(state, node, parent):
        return
    fences, rules = state.fences, parent.rules
    is_full = rules.full or not (frame.tags or fences.in_body(rules))
    literals = fences.literals | rules.literals
    encode = partial(json_body, names=fences.reserved, literals=literals, full=is_full)
    encoded = encode(node.text)
    # ``json_body`` lets no string contain a tag. But a delimiter such as ``[[`` may be JSON syntax.
    text = guard(encoded, (), rules.literals)
    kind = partial(_json_runs, node, encode, _changed(encoded, text))
    _write_in_frame(state, text, frame, parent, kind=kind)


def _json_runs(
    node: JsonNode, encode: Callable[[str], str], texts: tuple[str, str]
) -> Sequence[TextRun]:
    """Return the runs of JSON: its pieces; some may be volatile values."""
    pieces = [value_run(len(encode(piece)), piece) for piece in node.pieces or (node.text,)]
    return guarded(pieces, *texts)


def _write_by_format_block(state: TextState, node: CodeNode | JsonNode, parent: OpenNode) -> bool:
    """Write the text of ``format_block`` for JSON or code; return whether it returned one."""
    format_block = state.setting.format_block
    if format_block is None:
        return False
    text = formatted(data_block(node), format_block, node.source)
    if text is None:
        return False
    text = state.fences.guard_author_text(valid_text(text, partial(state.note, node)), parent.rules)
    state.page.put(
        text, partial(_formatted_runs, node, len(text), parent.rules.kind), parent.margin
    )
    return True


def _formatted_runs(node: CodeNode | JsonNode, length: int, kind: SpanKind) -> Sequence[TextRun]:
    """Return the one run of a text of ``format_block``; it is volatile if one of its values is."""
    values = node.content if isinstance(node, CodeNode) else node.pieces
    for value in values:
        run = value_run(length, value)
        if run.kind == "volatile":
            return [run]
    return [TextRun(length, kind)]


def _write_framed(
    state: TextState,
    node: Node,
    parent: OpenNode,
    frame: TextFrame,
    *,
    encode: Callable[[str], str] | None = None,
    one_line: bool = False,
) -> None:
    """Write a node that is one text; the text cannot close the tags around it.

    ``encode`` is the encoding of its values outside of any fence or tag.
    """
    note = partial(state.note, node)
    fences, rules = state.fences, parent.rules.in_text(tagged=bool(frame.tags))
    fences.open(frame.tags)
    encode = None if fences.in_body(rules) else encode
    texts = texts_in(
        node.content,
        rules,
        fences,
        note,
        encode=encode,
        one_line=one_line,
        opening=state.page.opening,
    )
    fences.close(frame.tags)
    kind = piece_kind_of(node.content, texts, rules)
    _write_in_frame(state, "".join(texts), frame, parent, kind=kind)


def _write_in_frame(
    state: TextState, text: str, frame: TextFrame, parent: OpenNode, *, kind: PieceKind
) -> None:
    """Write a text between the opening and the closing of its frame."""
    if text:
        state.page.open(frame.open, "section", parent.margin)
        state.page.put(text, kind, parent.margin)
        state.page.close(frame.close, parent.margin)
    else:
        state.page.leave_out(kind)


# Tables.


def _table_frame(text_format: TextFormat, node: TableNode) -> TextFrame:
    """Return a frame with the names of a table's tags alone: ``table_text`` writes the tags."""
    return TextFrame(tags=TABLE_TAGS.get(node.format or text_format.table, ()))


def _write_table(state: TextState, node: TableNode, parent: OpenNode, frame: TextFrame) -> None:
    """Write a table; trusted cells are guarded, all other cells are encoded."""
    if not node.rows:
        return
    note, rules = partial(state.note, node), parent.rules
    report_invisible(node.columns or (), note)
    rows: list[tuple[object, ...]] = []
    trusted_cells: list[str] = []
    for row in node.rows:
        cells: list[object] = []
        for cell in row:
            if type(cell) is Trusted:
                # A trusted cell is not encoded, but it may not close the fences around it.
                trusted = Trusted(state.fences.guard_author_text(valid_text(cell, note), rules))
                trusted_cells.append(trusted)
                cells.append(trusted)
                continue
            value = cell.plain if isinstance(cell, VolatileNode) else cell
            text = value if type(value) is str else data_text(value)
            report_invisible((text,), note)
            cells.append(value)
        rows.append(tuple(cells))
    format = node.format or parent.text_format.table
    try:
        unguarded = table_text(node.columns, rows, format)
    except ContentError as error:
        raise error.located(node.source) from None
    # The tags of the table and of its trusted cells stay. An encoded value has no ``<``, but may
    # have a character that looks like one.
    author_tags = chain.from_iterable(chain.from_iterable(map(written_tags, trusted_cells)))
    names = state.fences.reserved.difference(frame.tags, author_tags)
    text = guard(unguarded, names, state.fences.literals | rules.literals)
    texts, length = _changed(unguarded, text), len(unguarded)
    kind = partial(_table_runs, node, rows, format, length=length, texts=texts)
    state.page.put(text, kind, parent.margin)


def _table_runs(
    node: TableNode,
    rows: Sequence[tuple[object, ...]],
    format: str,
    *,
    length: int,
    texts: tuple[str, str],
) -> Sequence[TextRun]:
    """Return the runs of a table; ``rows`` are the cells that were passed to ``table_text``."""
    locations = [*cell_locations(node.columns, rows, format)]
    return guarded(_cell_runs(node, locations, length), *texts)


def _cell_runs(
    node: TableNode, locations: Sequence[tuple[int, int]], length: int
) -> Iterator[TextRun]:
    """Yield the runs of a table; ``locations`` are those of its cells in the text.

    If the names of the columns are in a line of their own, their locations come first.
    """
    cells = [*chain(node.columns or (), *node.rows)]
    end = 0
    for cell, (start, stop) in zip(cells[len(cells) - len(locations) :], locations, strict=True):
        yield TextRun(start - end, "section")
        is_author = type(cell) is Trusted
        yield (TextRun(stop - start, "author") if is_author else value_run(stop - start, cell))
        end = stop
    yield TextRun(length - end, "section")


# Blocks.


def _write_block(
    state: TextState, node: MediaNode | ToolUseNode | ReasoningNode, parent: OpenNode
) -> None:
    rules = parent.rules
    state.page.block(sent_block(node, state.setting.media_roots, rules), rules.kind)


def sent_block(
    node: MediaNode | ToolUseNode | ReasoningNode, roots: MediaRoots, rules: StringRules
) -> Block:
    """Return the block of a node as it is sent.

    Raises :class:`MediaError` for a file that cannot be read.
    """
    if not isinstance(node, MediaNode):
        return node.block
    try:
        # The pass ``read`` has made the blocks of a recording ready, and reported their losses.
        block = sendable_block(node.block, media_roots=roots, replaced=lambda: None)
    except MediaError as error:
        raise error.located(node.source) from None
    return guarded_document(block, rules) if rules.guards else block


# Cache marks.


def _write_breakpoint(state: TextState, node: CacheBreakpointNode, _parent: OpenNode) -> None:
    """Put a cache mark after the text so far, before the openings of containers still empty."""
    if not state.page.written_count:
        why = "there is nothing before it in its turn"
        state.note(node, hint("cache_mark", "a cache breakpoint", why))
    elif not state.page.cache(node.ttl or "default"):
        why = "the block before it takes no cache mark"
        state.note(node, hint("cache_mark", "a cache breakpoint", why))


def _frame_of_untrusted(_text_format: TextFormat, _node: Node) -> TextFrame:
    """Return the tag of untrusted text, which is the same in every format."""
    return TextFrame(tags=("untrusted",))


WriteLeaf = Callable[[TextState, Any, OpenNode], None] | Framed[None]  # Any: its own class
LEAVES: Mapping[type[Node], WriteLeaf] = {
    TextNode: _write_text,
    TextBlockNode: _write_text_block,
    ValueNode: _write_value,
    VolatileNode: _write_value,
    TrustedTextNode: _write_value,
    VerbatimNode: _write_verbatim,
    UntrustedNode: Framed(_frame_of_untrusted, _write_untrusted),
    HeadingNode: Framed(
        lambda text_format, node: text_format.heading(node.level),
        partial(_write_framed, one_line=True),
    ),
    ParagraphNode: Framed(lambda text_format, _: text_format.paragraph, _write_framed),
    CodeNode: Framed(
        lambda text_format, node: text_format.code(code_of(node), node.language), _write_code
    ),
    JsonNode: Framed(lambda text_format, _: text_format.json, _write_json),
    TableNode: Framed(_table_frame, _write_table),
    MediaNode: _write_block,
    ToolUseNode: _write_block,
    ReasoningNode: _write_block,
    CacheBreakpointNode: _write_breakpoint,
}
