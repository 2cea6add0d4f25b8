"""Merge system: all system content becomes one system turn, the first turn of the prompt."""

from typing import cast

from promptdsl.messages import DataBlock, TextBlock
from promptdsl.messages.message import Message, leading_systems
from promptdsl.rendering.text.blocks import prompted_turn
from promptdsl.tree.masks import MEDIA, RECORDED, SECTION, SYSTEM, TEXT, bits
from promptdsl.tree.node import DEFAULTS, Child, Node, Options, make
from promptdsl.tree.part_nodes import MediaNode, VerbatimNode, data_node
from promptdsl.tree.recorded import cut, options_of
from promptdsl.tree.rewrite import make_turn, unique_ids, with_content
from promptdsl.tree.turn_nodes import (
    ConsolidatedNode,
    FormatNode,
    PromptedOutputNode,
    RecordedNode,
    RootNode,
    TurnNode,
)


def merge_system(root: RootNode, *, merges: bool) -> RootNode:
    """Return the tree with one system turn, the first of its turns.

    It contains every system turn, every loose section, and the system messages at the beginning of
    a recorded conversation, in document order, and then the output schema, if that is text. If the
    settings merge no turns, and the prompt begins with recorded system messages and has no other
    system content, these messages stay as they are.
    """
    output_turns = [
        prompted_turn(node) for node in root.equipment if isinstance(node, PromptedOutputNode)
    ]
    # Most prompts have one system turn, or none: the masks are enough to know that.
    candidates = [child for child in root.content if child._mask & _SYSTEM_CONTENT]
    if not candidates:
        return with_content(root, (*output_turns, *root.content)) if output_turns else root
    first = candidates[0]
    is_recorded = isinstance(first, RecordedNode) and first is root.content[0]
    if not merges and is_recorded and not any(map(_has_system, candidates[1:])):
        return _behind_recorded(root, output_turns) if output_turns else root
    is_alone = len(candidates) == 1 and not output_turns
    if is_alone and first._mask & SYSTEM and first is root.content[0]:
        return root
    parts: list[Node] = []
    rest: list[Node] = []
    for child in root.content:
        if child._mask & (SYSTEM | SECTION):
            parts.append(child)
        elif isinstance(child, RecordedNode) and (count := leading_systems(child.items)):
            parts += [_system_turn(message, child) for message in child.items[:count]]
            if count < len(child.items):
                rest.append(cut(child, count))
        else:
            rest.append(child)
    parts += output_turns
    if not parts:
        return root
    if len(parts) == 1 and parts[0]._mask & SYSTEM:
        # If the turn is first already, this is the same root.
        return with_content(root, (parts[0], *rest))
    # The children of system turns and the loose sections are one set of siblings.
    siblings = [
        child for part in parts for child in (part.content if part._mask & SYSTEM else (part,))
    ]
    unique_ids(root, tuple(siblings))
    first = parts[0]
    options = DEFAULTS
    for part in parts:
        inner: Child = part
        while isinstance(inner, FormatNode):
            inner = inner.content[0]
        if isinstance(inner, Node) and inner.options.reserved_tags:
            # All parts have the same reserved tags, except for recorded ones, which have none.
            noted = inner.options
            options = Options(reserved_tags=noted.reserved_tags, opens_code=noted.opens_code)
            break
    system = make_turn(
        ConsolidatedNode,
        tuple(parts),
        SYSTEM,
        at=first,
        role="system",
        kind="written",
        options=options,
    )
    return with_content(root, (system, *rest))


def _behind_recorded(root: RootNode, output_turns: list[TurnNode]) -> RootNode:
    """Return the tree with turns after the system messages that the first recording begins with.

    These messages are not merged with the turns.
    """
    first = cast("RecordedNode", root.content[0])
    count = leading_systems(first.items)
    systems = [cut(first, 0, count)] if count else []
    rest = [cut(first, count)] if count < len(first.items) else []
    return with_content(root, (*systems, *output_turns, *rest, *root.content[1:]))


_SYSTEM_CONTENT = SYSTEM | SECTION | RECORDED


def _has_system(child: Node) -> bool:
    """Return whether a turn, a loose section or a recording has system content to move."""
    if isinstance(child, RecordedNode):
        return leading_systems(child.items) > 0
    return child._mask & (SYSTEM | SECTION) != 0


def _system_turn(message: Message, recorded: RecordedNode) -> TurnNode:
    content: list[Node] = []
    for block in message.content:
        match block:
            case _ if isinstance(block, DataBlock):
                content.append(data_node(block, recorded._at, is_value=False))
            case TextBlock():
                # Two blocks of a payload stay two blocks.
                content.append(
                    make(
                        VerbatimNode,
                        mask=TEXT,
                        at=recorded,
                        text=block.text,
                        cache=block.cache,
                        starts_block=bool(content) and message.kind == "recorded",
                    )
                )
            case _:
                content.append(make(MediaNode, mask=bits(MEDIA), at=recorded, block=block))
    return make_turn(
        TurnNode,
        tuple(content),
        SYSTEM,
        at=recorded,
        role="system",
        kind="recorded",
        options=options_of(message),
    )
