"""Narrate: events become fenced text in a turn of the role the configuration maps them to."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, cast

import attrs

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
from promptdsl.tree.turn_nodes import TurnNode

Narrator = Callable[[str, Mapping[str, Any]], str]
"""Returns the text of an event: its type, and its fields, encoded, one line each."""


def narrate(root: Node, *, config: Resolved, event_text: Narrator) -> Node:
    """Return the tree with every event turn mapped to its role, one fence per event block."""
    content = tuple(
        _narrated(child, config, event_text) if child.mask & EVENT else child
        for child in root.content
    )
    return with_content(root, content)


def _narrated(turn: Any, config: Resolved, event_text: Narrator) -> TurnNode:
    content: list[Child] = []
    texts: list[Child] = []
    for child in turn.content:
        if type(child) is str or not (isinstance(child, EventBlockNode) or child.mask & MEDIA):
            texts.append(child)
            continue
        _fence_texts(content, texts, config, turn)
        content.append(
            _happening(child, config, event_text) if isinstance(child, EventBlockNode) else child
        )
    _fence_texts(content, texts, config, turn)
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


def _fence_texts(content: list[Child], texts: list[Child], config: Resolved, turn: Node) -> None:
    """Move what an author wrote in the event beside its blocks into a fence of its own."""
    if texts:
        content.append(fence(config.delimiters.text, tuple(texts), at=turn))
        texts.clear()


def _happening(node: EventBlockNode, config: Resolved, event_text: Narrator) -> FenceNode:
    block = node.block
    delimiter = getattr(config.delimiters, block.type)
    attributes = f' type="{block.type}"'
    text = None
    if config.format_block is not None:
        text = formatted(block, config.format_block, node.source)
    said: Child = text
    if text is None:
        encode = field if delimiter.close else inline_line
        try:
            text = event_text(block.type, fields(block, encode, node.trusted))
        except PromptError as error:
            raise error.located(node.source) from None
        raw = tuple(_values(block))
        said = make(VerbatimNode, mask=TEXT, at=node, text=text, cache=None, said=raw)
    return fence(delimiter, (said,), attributes=attributes, at=node)


def _values(block: EventBlock) -> Iterator[str]:
    """Yield every value of an event as it is before it is encoded."""
    for attribute in attrs.fields(type(block)):
        value = getattr(block, attribute.name)
        if isinstance(value, Mapping):
            for key, detail in cast("Mapping[str, object]", value).items():
                yield f"{key}{_text(detail)}"
        elif value is not ABSENT:
            yield _text(value)


def _text(value: Any) -> str:
    """Return the text of a field; recorded data may be nested, and is JSON then."""
    if type(value) is str:
        return value
    return json_text(value) if isinstance(value, _NESTED) else data_text(value)


_NESTED: Any = (Mapping, list)


def fields(
    block: EventBlock, line: Callable[[str], str] = field, trusted: Collection[str] = ()
) -> dict[str, Any]:
    """Return the fields of an event as text of one line each; ``None`` for what is absent.

    ``line`` encodes a value for its place; what stands in a field that is ``trusted`` (by name, as
    ``target`` or ``details.page``) is kept as written.
    """

    def encode(name: str, value: object) -> str:
        return (title if name in trusted else line)(_text(value))

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


def _lines(values: Mapping[str, Any], encode: Encode) -> dict[str, str | None]:
    return {name: None if v is None else encode(name, v) for name, v in values.items()}


def _pairs(name: str, values: Mapping[str, Any], encode: Encode) -> tuple[tuple[str, str], ...]:
    return tuple((encode("", key), encode(f"{name}.{key}", v)) for key, v in values.items())
