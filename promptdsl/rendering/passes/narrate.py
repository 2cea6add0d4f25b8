"""Narrate: an event becomes fenced text, in a turn of the role that the configuration gives."""

from collections.abc import Callable, Collection, Mapping
from typing import cast

import attrs

from promptdsl.config.delimiters import Delimiter
from promptdsl.config.transformation import Resolved
from promptdsl.foundation.errors import PromptError
from promptdsl.foundation.escaping import data_text, field, inline_line, json_text, title
from promptdsl.foundation.json import ABSENT
from promptdsl.messages import EventBlock, StateChangeBlock, UserActionBlock
from promptdsl.rendering.text.blocks import formatted
from promptdsl.rendering.text.format import fence
from promptdsl.tree.masks import EVENT, MEDIA, TEXT, TURN, bits
from promptdsl.tree.node import Child, Node, make
from promptdsl.tree.part_nodes import EventBlockNode, FenceNode, VerbatimNode
from promptdsl.tree.rewrite import covering, with_content
from promptdsl.tree.turn_nodes import RootNode, TurnNode

Narrator = Callable[[str, Mapping[str, object]], str]
"""Returns the text of an event: its type, and its fields, encoded, one line each."""


def narrate(root: RootNode, *, config: Resolved, event_text: Narrator) -> RootNode:
    """Return the tree with every event turn mapped to its role, one fence per event block."""
    content: list[Node] = []
    for child in root.content:
        narrates = isinstance(child, TurnNode) and child.mask & EVENT
        content.append(_narrated(child, config, event_text) if narrates else child)
    return with_content(root, tuple(content))


def _narrated(turn: Node, config: Resolved, event_text: Narrator) -> TurnNode:
    """Return an event turn in its mapped role; text beside its blocks has a fence of its own."""
    content: list[Child] = []
    # What the author wrote since the last block.
    texts: list[Child] = []
    for child in (*turn.content, None):
        if child is not None and (
            isinstance(child, str) or not (isinstance(child, EventBlockNode) or child.mask & MEDIA)
        ):
            texts.append(child)
            continue
        if texts:
            content.append(fence(config.delimiters.text, tuple(texts), at=turn))
            texts = []
        if isinstance(child, EventBlockNode):
            content.append(_event_fence(child, config, event_text))
        elif child is not None:
            content.append(child)
    return make(
        TurnNode,
        tuple(content),
        mask=_EVENT_TURN | covering(content),
        at=turn,
        options=turn.options,
        role=config.event_role,
        kind="event",
    )


_EVENT_TURN = bits(TURN | EVENT)


def _event_fence(node: EventBlockNode, config: Resolved, event_text: Narrator) -> FenceNode:
    """Return the fence of one event block: the author's own text for it, or its template's."""
    block = node.block
    delimiter: Delimiter = getattr(config.delimiters, block.type)
    inside: Child | None = None
    if config.format_block is not None:
        inside = formatted(block, config.format_block, node.source)
    if inside is None:
        encode = field if delimiter.close else inline_line
        try:
            text = event_text(block.type, fields(block, encode, node.trusted))
        except PromptError as error:
            raise error.located(node.source) from None
        raw: list[str] = []
        for attribute in attrs.fields(type(block)):
            value = getattr(block, attribute.name)
            if isinstance(value, Mapping):
                details = cast("Mapping[str, object]", value).items()
                raw += [f"{key}{_field_text(detail)}" for key, detail in details]
            elif value is not ABSENT:
                raw.append(_field_text(value))
        inside = make(VerbatimNode, mask=TEXT, at=node, text=text, raw_values=tuple(raw))
    return fence(delimiter, (inside,), attributes=f' type="{block.type}"', at=node)


def _field_text(value: object) -> str:
    """Return the text of a field; recorded data may be nested, and is JSON then."""
    if isinstance(value, str):
        return value
    return json_text(value) if isinstance(value, Mapping | list) else data_text(value)


def fields(
    block: EventBlock, line: Callable[[str], str] = field, trusted: Collection[str] = ()
) -> dict[str, object]:
    """Return the fields of an event, each as text of one line; ``None`` for an absent field.

    ``line`` encodes a value for its place. A field in ``trusted`` (a name such as ``target`` or
    ``details.page``) is author text, and is not encoded.
    """

    def encode(name: str, value: object) -> str:
        return (title if name in trusted else line)(_field_text(value))

    match block:
        case UserActionBlock():
            named = {"action": block.action, "target": block.target, "actor": block.actor}
            return {**_lines(named, encode), "details": _pairs("details", block.details, encode)}
        case StateChangeBlock():
            ends = {k: v for k, v in (("old", block.old), ("new", block.new)) if v is not ABSENT}
            shown = {name: encode(name, value) for name, value in ends.items()}
            named = {"key": block.key, "trigger": block.trigger}
            absent = {"old": None, "new": None}
            details = _pairs("details", block.details, encode)
            return {**absent, **shown, **_lines(named, encode), "details": details}
        case _:
            named = {"event": block.event, "source": block.source}
            return {**_lines(named, encode), "details": _pairs("data", block.data, encode)}


Encode = Callable[[str, object], str]
"""Returns the text of a field: its name, and its value."""


def _lines(values: Mapping[str, object], encode: Encode) -> dict[str, str | None]:
    return {name: None if v is None else encode(name, v) for name, v in values.items()}


def _pairs(name: str, values: Mapping[str, object], encode: Encode) -> tuple[tuple[str, str], ...]:
    return tuple((encode("", key), encode(f"{name}.{key}", v)) for key, v in values.items())
