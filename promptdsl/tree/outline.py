"""The outline of a prompt: one line for each node, with its size and its source line.

:func:`outline_rows` makes the lines as data, :func:`outline_text` makes their text.
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

NAME_WIDTH = 60
"""The number of columns for the names, if the lines may have any width."""
MAX_INDENTED = 40
"""The maximum number of levels that are indented."""
MAX_WORDS = 5
"""The maximum number of words of a text that are shown."""
MAX_CHARACTERS = 36
"""The maximum number of characters of these words."""
SEARCHED = 200
"""The number of characters of a text that are searched for these words."""
WITHOUT_WORDS = (
    turn_nodes.RequestOnlyNode,
    part_nodes.CodeNode,
    part_nodes.EventBlockNode,
    part_nodes.QuoteNode,
    part_nodes.ReasoningNode,
    part_nodes.ToolResultNode,
    part_nodes.ToolUseNode,
)
"""The nodes whose words are not shown, because their texts are often data, such as those of users.
"""


def outline(root: Node, width: int | None = None) -> str:
    """Return one indented line for each node and text below a node.

    A line has the size in characters, the first words of an instruction, and the source line. For a
    node without children, such as a ``Tool``, the only line is the node itself. Lines fit ``width``
    columns; with ``None`` they may be longer.
    """
    return outline_text(outline_rows(root), width)


def outline_text(rows: Sequence[JsonDict], width: int | None = None) -> str:
    """Return the rows of an outline as lines, which fit ``width`` columns."""
    # Without a maximum of the indentation, the text would grow with the square of the depth.
    names = ["  " * min(row["depth"], MAX_INDENTED) + on_one_line(_with_words(row)) for row in rows]
    sources = [row.get("source", "") for row in rows]
    if width is None:
        names = [name.ljust(NAME_WIDTH) for name in names]
    else:
        max_width = max(width - file_columns(sources) - 2, width // 2)
        name_width = min(max(map(columns, names), default=0), max_width)
        names = [cut_to(name, name_width) for name in names]
        names = [name + " " * (name_width - columns(name)) for name in names]
        sources = [fitted_source(source, width - name_width - 2) for source in sources]
    lines = (f"{name}  {source}" for name, source in zip(names, sources, strict=True))
    return "\n".join(map(str.rstrip, lines))


def _with_words(row: JsonDict) -> str:
    return f'{row["what"]} "{row["text"]}"' if row.get("text") else row["what"]


def first_words(text: str) -> str:
    """Return the first words of a text, with an ellipsis if the text has more words.

    If the text is ASCII, the ellipsis is three dots, so that the outline is ASCII, too.

    >>> first_words("You work at the support desk of TechCorp.")
    'You work at the support...'
    """
    start = text[:SEARCHED].split()
    words = " ".join(start[:MAX_WORDS])[:MAX_CHARACTERS]
    if words == " ".join(start) and is_blank(text[SEARCHED:]):
        return words
    ellipsis = "..." if text.isascii() else "…"
    return words + ellipsis


def outline_rows(root: Node) -> list[JsonDict]:
    """Return the lines of an outline as data: ``depth``, ``what`` (name and size), ``source``.

    An instruction also has its first words, ``text``. It is a text in a system or developer turn,
    or in a section outside of turns. Of other turns, recorded messages, values, code and quotes
    only the size is shown: an outline is printed to logs, and an f-string of an author may hold
    data.
    """
    rows: list[JsonDict] = []
    children = root.content or (root,)
    if isinstance(root, turn_nodes.RootNode):
        children = (*root.equipment, *root.content)
    stack: list[tuple[Child, int, bool | None]]
    stack = [(child, 0, _has_words(root, in_parent=None)) for child in reversed(children)]
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
            has_words = _has_words(node, in_parent=has_words)
            stack.extend((child, depth + 1, has_words) for child in reversed(node.content))
        rows += [{"depth": depth, "what": name, **location} for name in names]
    return rows


def _recorded(item: object) -> str:
    """Return the line of a recorded message, which may still be a dictionary."""
    if isinstance(item, Message):
        speaker = f" name={item.name}" if item.name else ""
        return f"{item.role} (recorded){speaker}: {'; '.join(map(_block, item.content))}"
    if is_mapping(item) and is_one_of(item.get("role"), ROLES):
        return f"{item['role']} (recorded)"
    return "message (recorded)"


def _has_words(node: Node, *, in_parent: bool | None) -> bool | None:
    """Return whether the words of the texts in a node are shown.

    ``in_parent`` is the answer for its parent. ``None`` means that the node is neither in a turn
    nor in a section: then words are shown only in the sections inside it.
    """
    if isinstance(node, turn_nodes.TurnNode):
        return node.role in ("system", "developer") and node.kind in SPOKEN_KINDS
    if isinstance(node, WITHOUT_WORDS):
        return False
    if in_parent is None and isinstance(node, part_nodes.SectionNode):
        return True
    return in_parent


def _described(node: Node) -> str:
    options, cache_mark = node.options, mark_of(node.options)
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
    if cache_mark:
        words.append(cached(cache_mark))
    words += [f"#{tag}" for tag in options.tags]
    return " ".join(words)


def _components(node: Node) -> str:
    """Return the names of the components that wrote a node; passes removed their nodes."""
    sections = {section.name: str(section) for section in node.options.libraries if section}
    names = [sections.get(name, name) for name in node.options.within]
    return f" by={'/'.join(names)}" if names else ""


def _block(block: Block) -> str:
    if isinstance(block, TextBlock):
        return size(block.text)
    if isinstance(block, ToolResultBlock) and block.content:
        return f"{described(block)}, {'; '.join(map(_block, block.content))}"
    return described(block)
