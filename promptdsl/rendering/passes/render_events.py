"""Render events: write events as fenced text, in the role that the configuration gives them."""

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from typing import cast, get_args

import attrs

from promptdsl.config.transformation import Delimiter, Resolved
from promptdsl.foundation.errors import PromptError
from promptdsl.foundation.escaping import (
    Labelled,
    data_text,
    inline_line,
    json_pieces,
    json_text,
    labelled,
    title,
)
from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.foundation.guards import json_body
from promptdsl.foundation.json import ABSENT
from promptdsl.messages import EventBlock
from promptdsl.rendering.text.blocks import formatted
from promptdsl.rendering.text.format import fence, line_in_fence
from promptdsl.tree.masks import EVENT, MEDIA, TEXT
from promptdsl.tree.node import Child, Node, Options, make
from promptdsl.tree.part_nodes import EventBlockNode, FenceNode, VerbatimNode
from promptdsl.tree.rewrite import make_turn, mapped_role, replace, with_content
from promptdsl.tree.turn_nodes import RootNode, TurnNode

EventWriter = Callable[[str, Mapping[str, object]], tuple[str, ...]]
"""A function that returns the pieces of an event's text, from its type and its encoded fields."""
_FIELDS = {kind.type: [field.name for field in attrs.fields(kind)] for kind in get_args(EventBlock)}


def render_events(root: RootNode, *, config: Resolved, event_pieces: EventWriter) -> RootNode:
    """Return the tree with every event turn mapped to its role, one fence per event block."""
    content: list[Node] = []
    for child in root.content:
        is_event = isinstance(child, TurnNode) and child._mask & EVENT
        content.append(_rendered(child, config, event_pieces) if is_event else child)
    return with_content(root, tuple(content))


def _rendered(turn: Node, config: Resolved, event_pieces: EventWriter) -> TurnNode:
    """Return an event turn in its mapped role, with a fence for each text and each event block."""
    content: list[Child] = []
    # The author's texts since the last block.
    texts: list[Child] = []
    for child in (*turn.content, None):
        if child is not None and (
            isinstance(child, str) or not (isinstance(child, EventBlockNode) or child._mask & MEDIA)
        ):
            texts.append(child)
            continue
        if texts:
            text_fence = fence(config.delimiters.text, tuple(texts), at=turn)
            separated = Options(separator=turn.options.separator)
            content.append(replace(text_fence, options=separated))
            texts = []
        if isinstance(child, EventBlockNode):
            content.append(_event_fence(child, turn.options, config, event_pieces))
        elif child is not None:
            content.append(child)
    role, options = mapped_role(turn, config.event_role), turn.options
    return make_turn(
        TurnNode, tuple(content), EVENT, at=turn, role=role, kind="event", options=options
    )


def _event_fence(
    node: EventBlockNode, options: Options, config: Resolved, event_pieces: EventWriter
) -> FenceNode:
    """Return the fence of an event block: its fields as text, and after them its content.

    ``format_block`` writes the fields, or else the template of the event's type.
    """
    block = node.block
    delimiter: Delimiter = getattr(config.delimiters, block.type)
    text_node: Child | None = None
    if config.format_block is not None:
        text_node = formatted(block, config.format_block, node.source)
        if text_node is not None and node.labels:
            piece = labelled(text_node, next(iter(node.labels.values())))
            text_node = make(VerbatimNode, mask=TEXT, at=node, text=piece, pieces=(piece,))
    if text_node is None:
        line, nested = inline_line, str.__str__
        if delimiter.close:
            names = options.reserved_tags or config.tags
            is_full = (options.encoding or config.body_encoding) == "full"
            line = partial(line_in_fence, names=names, literals=config.literals)
            nested = partial(json_body, names=names, literals=config.literals, full=is_full)
        try:
            pieces = event_pieces(block.type, _event_fields(node, line, nested))
        except PromptError as error:
            raise error.located(node.source) from None
        raw: list[str] = []
        for name in _FIELDS[block.type]:
            value = getattr(block, name)
            if isinstance(value, Mapping):
                details = cast("Mapping[str, object]", value).items()
                raw += [f"{key}{_field_text(detail)}" for key, detail in details]
            elif value is not ABSENT:
                raw.append(_field_text(value))
        if node.labels:
            inner = (getattr(piece, "pieces", ()) or (piece,) for piece in pieces)
            pieces = tuple(chain.from_iterable(inner))
        text_node = make(
            VerbatimNode,
            mask=TEXT,
            at=node,
            text="".join(pieces),
            pieces=pieces,
            raw_values=tuple(raw),
        )
    return fence(delimiter, (text_node, *node.content), attributes=f' type="{block.type}"', at=node)


def _field_text(value: object, name: str = "") -> str:
    """Return the text of a field; nested data is JSON."""
    if isinstance(value, str):
        return value
    return json_text(value, name) if _is_nested(value) else data_text(value)


def _is_nested(value: object) -> bool:
    return is_mapping(value) or is_list(value)


def _event_fields(
    node: EventBlockNode, line: Callable[[str], str], nested: Callable[[str], str]
) -> dict[str, object]:
    """Return the fields of an event, each as text of one line; ``None`` for an absent field.

    ``line`` encodes a value for one line, ``nested`` encodes the JSON of nested data. A trusted
    field (with a name such as ``target`` or ``details.page``) is the author's text: it is not
    encoded.
    """
    block, trusted, labels = node.block, node.trusted, node.labels

    def encode(name: str, value: object) -> str:
        text = _field_text(value, name)
        # Nested data is encoded even if it is trusted: as a title it would not stay JSON.
        is_json = not isinstance(value, str) and _is_nested(value)
        if not is_json and name in trusted:
            return title(text)
        encoded = Labelled((nested if is_json else line)(text))
        if labels:
            _, dot, key = name.partition(".")
            path = ("details", key) if dot else ("fields", name)
            encoded.label = labels.get(path)
            if is_json:
                pieces = json_pieces(value, path, labels)
                encoded.pieces = tuple(labelled(nested(piece), piece.label) for piece in pieces)
        return encoded

    texts: dict[str, object] = {}
    for name in _FIELDS[block.type]:
        value: object = getattr(block, name)
        if name in ("details", "data"):
            details = cast("Mapping[str, object]", value).items()
            texts["details"] = tuple(
                (encode("", key), encode(f"{name}.{key}", detail)) for key, detail in details
            )
        elif name != "extra":
            # The old or new value of a state change may be None, too.
            absent = ABSENT if name in ("old", "new") else None
            texts[name] = None if value is absent else encode(name, value)
    return texts
