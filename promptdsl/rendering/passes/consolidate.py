"""Consolidate: all system content becomes one system turn, first of all."""

from typing import Any

from promptdsl.messages import CodeBlock, JsonBlock, TextBlock
from promptdsl.messages.message import Message
from promptdsl.messages.roles import LEADING
from promptdsl.rendering.text.blocks import data_node
from promptdsl.tree.masks import MEDIA, RECORDED, SECTION, SYSTEM, TEXT, TURN, bits
from promptdsl.tree.node import Child, Node, Options, make
from promptdsl.tree.part_nodes import MediaNode, VerbatimNode
from promptdsl.tree.recorded import cut
from promptdsl.tree.rewrite import covering, unique_ids, with_content
from promptdsl.tree.turn_nodes import ConsolidatedNode, RecordedNode, TurnNode


def consolidate(root: Node) -> Node:
    """Return the tree with one system turn, first of all.

    It holds every system turn, every loose section, and the system messages a recorded
    conversation begins with, in document order. Raises :class:`PlacementError` when two of its
    sections have one id.
    """
    if _is_done(root):
        return root
    parts: list[Node] = []
    rest: list[Child] = []
    for child in root.content:
        surface = child.mask
        if surface & (SYSTEM | SECTION):
            parts.append(child)
        elif surface & RECORDED and _leads(child.items[0]):
            said, conversation = _split(child)
            parts += said
            rest += conversation
        else:
            rest.append(child)
    system = parts[0] if len(parts) == 1 and parts[0].mask & SYSTEM else _consolidated(parts, root)
    return with_content(root, (system, *rest))


def _leads(message: Message) -> bool:
    return message.role == "system" and message.kind in LEADING


def _is_done(root: Node) -> bool:
    """Whether the only system content is one system turn, first."""
    found = [child for child in root.content if child.mask & _SYSTEM_CONTENT]
    said = [one for one in found if not one.mask & RECORDED or _leads(one.items[0])]
    if not said:
        return True
    return len(said) == 1 and said[0] is root.content[0] and bool(said[0].mask & SYSTEM)


_SYSTEM_CONTENT = SYSTEM | SECTION | RECORDED


def _consolidated(parts: list[Node], root: Node) -> Node:
    # One set of siblings: what the turns hold counts beside the loose sections.
    siblings = tuple(
        item for part in parts for item in (part.content if part.mask & SYSTEM else (part,))
    )
    unique_ids(root, siblings)
    return make(
        ConsolidatedNode,
        tuple(parts),
        mask=bits(TURN | SYSTEM, covering(tuple(parts))),
        at=parts[0],
        role="system",
        kind="written",
    )


def _split(node: RecordedNode) -> tuple[list[Node], list[Node]]:
    """Return the leading system messages of a recording as turns, and what is left of it."""
    messages = node.items
    count = next((i for i, m in enumerate(messages) if not _leads(m)), len(messages))
    said = [_turn(message, node) for message in messages[:count]]
    rest = messages[count:]
    return said, [cut(node, count)] if rest else []


def _turn(message: Any, node: RecordedNode) -> Node:
    content = tuple(_item(block, node) for block in message.content)
    mask = bits(TURN | SYSTEM, covering(content))
    options = Options(id=message.id, name=message.name, metadata=message.metadata)
    return make(
        TurnNode, content, mask=mask, at=node, options=options, role="system", kind="recorded"
    )


def _item(block: Any, node: RecordedNode) -> Node:
    if isinstance(block, JsonBlock | CodeBlock):
        return data_node(block, node.at, is_value=False)
    if not isinstance(block, TextBlock):
        return make(MediaNode, mask=bits(MEDIA), at=node, block=block)
    return make(VerbatimNode, mask=TEXT, at=node, text=block.text, cache=block.cache, said=())
