"""The outline of a prompt: one line for each part, with its size and its source line.

``outline_rows`` makes the lines as data, ``outline_text`` their text.
"""

from collections.abc import Sequence

from promptdsl.foundation.errors import is_one_of
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.json import JsonDict
from promptdsl.foundation.unicode import (
    columns,
    cut_to,
    file_columns,
    fitted_source,
    is_blank,
    on_one_line,
)
from promptdsl.messages import Block, TextBlock, ToolResultBlock
from promptdsl.messages.blocks import described
from promptdsl.messages.details import ROLES, SPOKEN_KINDS
from promptdsl.messages.message import Message
from promptdsl.tree import part_nodes, turn_nodes
from promptdsl.tree.node import Child, Node, cached, mark_of, size

WIDTH = 60
DEEPEST = 40
WORDS = 5
"""The most words of a text that are shown."""
LONGEST = 36
"""The most characters of them."""
SEARCHED = 200
"""The characters of a text in which they are looked for."""
WITHOUT_WORDS = (
    turn_nodes.RequestOnlyNode,
    part_nodes.CodeNode,
    part_nodes.EventBlockNode,
    part_nodes.QuoteNode,
    part_nodes.ReasoningNode,
    part_nodes.ToolResultNode,
    part_nodes.ToolUseNode,
)
"""The parts whose texts are often data, as those of users are: their words are not shown."""


def outline(root: Node, width: int | None = None) -> str:
    """Return one line for each part below a node, indented, with its size and its source line.

    The size is in characters, with the first words of an instruction. For a part without
    parts, such as a ``Tool``, the only line is the part itself. Lines fit ``width`` columns;
    without it, they may have any width.
    """
    return outline_text(outline_rows(root), width)


def outline_text(rows: Sequence[JsonDict], width: int | None = None) -> str:
    """Return the rows of an outline as lines, which fit ``width`` columns."""
    # The indentation ends at DEEPEST levels: the text would grow with the square of the depth.
    names = ["  " * min(row["depth"], DEEPEST) + on_one_line(_named(row)) for row in rows]
    sources = [row.get("source", "") for row in rows]
    if width is None:
        names = [name.ljust(WIDTH) for name in names]
    else:
        most = max(width - file_columns(sources) - 2, width // 2)
        name_width = min(max(map(columns, names), default=0), most)
        names = [cut_to(name, name_width) for name in names]
        names = [name + " " * (name_width - columns(name)) for name in names]
        sources = [fitted_source(source, width - name_width - 2) for source in sources]
    lines = (f"{name}  {source}" for name, source in zip(names, sources, strict=True))
    return "\n".join(map(str.rstrip, lines))


def _named(row: JsonDict) -> str:
    return f'{row["what"]} "{row["text"]}"' if row.get("text") else row["what"]


def first_words(text: str) -> str:
    """Return the first words of a text, with an ellipsis if there are more.

    The ellipsis of a text of ASCII is three dots, so that its outline is ASCII, too.

    >>> first_words("You work at the support desk of TechCorp.")
    'You work at the support...'
    """
    start = text[:SEARCHED].split()
    shown = " ".join(start[:WORDS])[:LONGEST]
    if shown == " ".join(start) and is_blank(text[SEARCHED:]):
        return shown
    ellipsis = "..." if text.isascii() else "…"
    return shown + ellipsis


def outline_rows(root: Node) -> list[JsonDict]:
    """Return the lines of an outline as data: ``depth``, ``what`` it is, and its ``source``.

    Also the first words of an instruction, ``text``: a text in a system or developer turn, or in a
    section outside of turns. Of other turns, recorded messages, values, code and quotes only the
    size is there: an outline is printed to logs, and an f-string of an author may hold data.
    """
    rows: list[JsonDict] = []
    parts = root.content or (root,)
    if isinstance(root, turn_nodes.RootNode):
        parts = (*root.equipment, *root.content)
    stack: list[tuple[Child, int, bool | None]]
    stack = [(child, 0, _has_words(root, around=None)) for child in reversed(parts)]
    while stack:
        node, depth, has_words = stack.pop()
        if isinstance(node, str):
            rows.append({"depth": depth, "what": size(node)})
            if has_words and not is_blank(node):
                rows[-1]["text"] = on_one_line(first_words(node))
            continue
        location = {} if node.source is None else {"source": str(node.source)}
        if isinstance(node, turn_nodes.RecordedNode):
            names = []
            if node.provider_format == "messages":
                names = [_recorded(item) + _components(node) for item in node.items]
        else:
            names = [_described(node)]
            has_words = _has_words(node, around=has_words)
            stack.extend((child, depth + 1, has_words) for child in reversed(node.content))
        rows += [{"depth": depth, "what": name, **location} for name in names]
    return rows


def _recorded(item: object) -> str:
    """Return the line of a recorded message, which may be no message yet."""
    if isinstance(item, Message):
        speaker = f" name={item.name}" if item.name else ""
        return f"{item.role} (recorded){speaker}: {'; '.join(map(_block, item.content))}"
    if is_mapping(item) and is_one_of(item.get("role"), ROLES):
        return f"{item['role']} (recorded)"
    return "message (recorded)"


def _has_words(node: Node, *, around: bool | None) -> bool | None:
    """Return whether the words of the texts in a node are shown.

    ``around`` is what holds for its parent. ``None`` means that neither a turn nor a section is
    around it: then no words are shown, but those of a section in it are.
    """
    if isinstance(node, turn_nodes.TurnNode):
        return node.role in ("system", "developer") and node.kind in SPOKEN_KINDS
    if isinstance(node, WITHOUT_WORDS):
        return False
    if around is None and isinstance(node, part_nodes.SectionNode):
        return True
    return around


def _described(node: Node) -> str:
    options, mark = node.options, mark_of(node.options)
    words = [node._summary()]
    if options.id:
        words.append(options.address)
    if isinstance(node, part_nodes.SectionNode) and node.title is not None:
        words.append(repr(getattr(node.title, "text", node.title)))
    words[-1] += _components(node)
    if isinstance(node, turn_nodes.TurnNode) and node._word != node.role:
        words.append(f"role={node.role}")
    if options.name:
        words.append(f"name={options.name}")
    if options.audience != "all":
        words.append(f"audience={options.audience}")
    if options.priority is not None:
        words.append(f"priority={options.priority:,}")
    if mark:
        words.append(cached(mark))
    words += [f"#{tag}" for tag in options.tags]
    return " ".join(words)


def _components(node: Node) -> str:
    """Return the names of the components that wrote a node, after passes removed their nodes."""
    sections = {section.name: str(section) for section in node.options.libraries if section}
    names = [sections.get(name, name) for name in node.options.within]
    return f" by={'/'.join(names)}" if names else ""


def _block(block: Block) -> str:
    if isinstance(block, TextBlock):
        return size(block.text)
    if isinstance(block, ToolResultBlock) and block.content:
        return f"{described(block)}, {'; '.join(map(_block, block.content))}"
    return described(block)
