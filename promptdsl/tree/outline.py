"""The outline of a prompt: one line for each part, with its size and its source line."""

from collections.abc import Sequence

from promptdsl.foundation.errors import is_one_of
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.json import JsonDict
from promptdsl.foundation.terminal_width import columns, cut_to, file_columns, fitted_source
from promptdsl.foundation.unicode import is_blank, on_one_line
from promptdsl.messages import Block, TextBlock, ToolResultBlock
from promptdsl.messages.description import described
from promptdsl.messages.message import Message
from promptdsl.messages.roles import ROLES, SPOKEN_KINDS
from promptdsl.tree import part_nodes, turn_nodes
from promptdsl.tree.node import Child, Node, mark_of
from promptdsl.tree.words import cached, size

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
    return shown + ("..." if text.isascii() else "…")


def outline_rows(root: Node) -> list[JsonDict]:
    """Return the lines of an outline as data: ``depth``, ``what`` it is, and its ``source``.

    Also the first words of an instruction, ``text``: a text in a system or developer turn, or in a
    section outside of turns. Of other turns, recorded messages, values, code and quotes only the
    size is there: an outline is printed to logs, and an f-string of an author may hold data.
    """
    rows: list[JsonDict] = []

    def add(depth: int, what: str, where: object, text: str = "") -> None:
        words = {} if is_blank(text) else {"text": on_one_line(first_words(text))}
        location = {} if where is None else {"source": str(where)}
        rows.append({"depth": depth, "what": what, **words, **location})

    parts = root.content or (root,)
    if isinstance(root, turn_nodes.RootNode):
        parts = (*root.equipment, *root.content)
    has_words = _has_words(root, around=None)
    stack: list[tuple[Child, int, bool | None]]
    stack = [(child, 0, has_words) for child in reversed(parts)]
    while stack:
        node, depth, has_words = stack.pop()
        if isinstance(node, str):
            add(depth, size(node), None, node if has_words else "")
        elif isinstance(node, turn_nodes.RecordedNode):
            source, components = node.source, _components(node)
            for item in node.items if node.provider_format == "messages" else ():
                role = item.get("role") if is_mapping(item) else None
                name = f"{role if is_one_of(role, ROLES) else 'message'} (recorded)"
                if isinstance(item, Message):
                    speaker = f" name={item.name}" if item.name else ""
                    blocks = "; ".join(map(_block, item.content))
                    name = f"{item.role} (recorded){speaker}: {blocks}"
                add(depth, name + components, source)
        else:
            add(depth, _described(node), node.source)
            has_words = _has_words(node, around=has_words)
            stack.extend((child, depth + 1, has_words) for child in reversed(node.content))
    return rows


def _has_words(node: Node, *, around: bool | None) -> bool | None:
    """Return whether the words of the texts in a node are shown.

    ``around`` is what holds for its parent. ``None`` means that neither a turn nor a section is
    around it: then no words are shown, but those of a section in it are.
    """
    if isinstance(node, turn_nodes.TurnNode):
        return node.role in ("system", "developer") and node.kind in SPOKEN_KINDS
    if isinstance(node, WITHOUT_WORDS):
        return False
    return True if around is None and isinstance(node, part_nodes.SectionNode) else around


def _described(node: Node) -> str:
    options = node.options
    words = [node._summary()]
    words += [options.address] if options.id else []
    if isinstance(node, part_nodes.SectionNode) and node.title is not None:
        title = node.title
        words.append(repr(title.text if isinstance(title, part_nodes.ValueNode) else title))
    words[-1] += _components(node)
    if isinstance(node, turn_nodes.TurnNode) and node._word != node.role:
        words.append(f"role={node.role}")
    words += [f"name={options.name}"] if options.name else []
    words += [f"audience={options.audience}"] if options.audience != "all" else []
    words += [f"priority={options.priority:,}"] if options.priority is not None else []
    mark = mark_of(options)
    words += [cached(mark)] if mark else []
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
    inner = block.content if isinstance(block, ToolResultBlock) else ()
    return f"{described(block)}{', ' if inner else ''}{'; '.join(map(_block, inner))}"
