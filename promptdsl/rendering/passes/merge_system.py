"""Merge system: join all system content to one system turn, the first turn of the prompt."""

from typing import cast

from promptdsl.messages import DataBlock, TextBlock
from promptdsl.messages.message import Message, leading_systems
from promptdsl.rendering.text.blocks import prompted_turn
from promptdsl.tree.masks import MEDIA, RECORDED, SECTION, SYSTEM, TEXT, bits
from promptdsl.tree.node import DEFAULTS, Child, Node, Options, make
from promptdsl.tree.part_nodes import MediaNode, VerbatimNode, data_node
from promptdsl.tree.recorded import cut, options_of
from promptdsl.tree.rewrite import check_unique_ids, make_turn, with_content
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

    In document order it contains every system turn, every section outside of turns, and the system
    messages at the beginning of a recorded conversation. The output schema comes last, if it is
    sent as text.

    There is one exception. If the settings merge no turns (``merges=False``), and recorded system
    messages at the beginning of the prompt are its only system content, these stay unchanged.
    """
    output_turns = [
        prompted_turn(node) for node in root.equipment if isinstance(node, PromptedOutputNode)
    ]
    # Most prompts have one system turn or none. The masks show that quickly.
    candidates = [child for child in root.content if child._mask & _SYSTEM_CONTENT]
    if not candidates:
        return with_content(root, (*output_turns, *root.content)) if output_turns else root
    first_node = candidates[0]
    is_recorded = isinstance(first_node, RecordedNode) and first_node is root.content[0]
    if not merges and is_recorded and not any(map(_has_system, candidates[1:])):
        return _after_recorded(root, output_turns) if output_turns else root
    is_only = len(candidates) == 1 and not output_turns
    if is_only and first_node._mask & SYSTEM and first_node is root.content[0]:
        return root
    system_nodes: list[Node] = []
    rest: list[Node] = []
    for child in root.content:
        if child._mask & (SYSTEM | SECTION):
            system_nodes.append(child)
        elif isinstance(child, RecordedNode) and (count := leading_systems(child.items)):
            system_nodes += [_system_turn(message, child) for message in child.items[:count]]
            if count < len(child.items):
                rest.append(cut(child, count))
        else:
            rest.append(child)
    system_nodes += output_turns
    if not system_nodes:
        return root
    if len(system_nodes) == 1 and system_nodes[0]._mask & SYSTEM:
        # ``with_content`` returns the same root if the turn is the first already.
        return with_content(root, (system_nodes[0], *rest))
    # The children of system turns and the sections between turns become siblings.
    siblings = [
        child
        for system_node in system_nodes
        for child in (system_node.content if system_node._mask & SYSTEM else (system_node,))
    ]
    check_unique_ids(root, tuple(siblings))
    first_node = system_nodes[0]
    options = DEFAULTS
    for system_node in system_nodes:
        inner: Child = system_node
        while isinstance(inner, FormatNode):
            inner = inner.content[0]
        if isinstance(inner, Node) and inner.options.reserved_tags:
            # All system content has the same reserved tags; recorded messages have none.
            inner_options = inner.options
            options = Options(
                reserved_tags=inner_options.reserved_tags, opens_code=inner_options.opens_code
            )
            break
    system = make_turn(
        ConsolidatedNode,
        tuple(system_nodes),
        SYSTEM,
        at=first_node,
        role="system",
        kind="written",
        options=options,
    )
    return with_content(root, (system, *rest))


def _after_recorded(root: RootNode, output_turns: list[TurnNode]) -> RootNode:
    """Return the tree with turns after the system messages at the beginning of its first recording.

    These messages are not merged with the turns.
    """
    first_recording = cast("RecordedNode", root.content[0])
    count = leading_systems(first_recording.items)
    systems = [cut(first_recording, 0, count)] if count else []
    rest = [cut(first_recording, count)] if count < len(first_recording.items) else []
    return with_content(root, (*systems, *output_turns, *rest, *root.content[1:]))


_SYSTEM_CONTENT = SYSTEM | SECTION | RECORDED
"""The bits of a child of the root that is system content, or may have some at its beginning."""


def _has_system(child: Node) -> bool:
    """Return whether a child of the root has system content that may have to move."""
    if isinstance(child, RecordedNode):
        return leading_systems(child.items) > 0
    return child._mask & (SYSTEM | SECTION) != 0


def _system_turn(message: Message, recorded: RecordedNode) -> TurnNode:
    """Return the system turn of a recorded system message."""
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
