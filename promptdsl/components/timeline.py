"""The root of a prompt."""

import sys
from typing import TYPE_CHECKING, Any

from promptdsl.components.arguments import Content, retract
from promptdsl.components.block import Block, begin
from promptdsl.components.options import unknown_option
from promptdsl.components.scope import open_block
from promptdsl.config.transformation import as_layer
from promptdsl.foundation.errors import PlacementError, ScopeError
from promptdsl.foundation.source import Source
from promptdsl.tree.group_nodes import FragmentNode
from promptdsl.tree.masks import (
    CALL,
    EVENT_BLOCK,
    MEDIA,
    RESULT,
    ROOT,
    SECTION,
    SHIFT,
    TEXT,
)
from promptdsl.tree.node import DEFAULTS, Node, label, named_label, walk
from promptdsl.tree.part_nodes import MediaNode
from promptdsl.tree.turn_nodes import RootNode

if TYPE_CHECKING:
    from promptdsl.config.transformation import Transformation

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


class Timeline(Block, RootNode):
    """A whole prompt: turns, recorded history and loose sections, in the order they are said.

    ``transformation`` is the configuration that belongs to this prompt: a
    :class:`MessageTransformationConfig`, a mapping of its fields, or a function
    ``(model, provider) -> config``.

    Raises :class:`ScopeError` when written while another block is open.
    """

    __slots__ = ()
    _own = ROOT
    _forbids = ROOT | TEXT | MEDIA | CALL | RESULT | EVENT_BLOCK

    if TYPE_CHECKING:

        def __init__(
            self, *content: Content, transformation: Transformation | None = None
        ) -> None: ...

    else:

        def __init__(self, *content, **options):
            frame = _getframe(1)
            self.code = frame.f_code
            self.offset = frame.f_lasti
            self.transformation = None
            self.equipment = ()
            self.content, self.mask, self.options = (), self._own, DEFAULTS
            for name in options:
                if name != "transformation":
                    retract(content)
                    raise unknown_option(self, name, {"transformation"}, self.source)
            around = open_block()
            if around is not None:
                retract(content)
                raise ScopeError(
                    "a Timeline cannot be written while a block is open",
                    fix="write it under `with detached():`, or in a function called outside",
                    at=(self.source, around.source),
                )
            if options:
                self.transformation = as_layer(options["transformation"], at=self.source)
            begin(self, content, {})

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        super().__exit__(kind, error, trace)
        if kind is None:
            self.__class__ = RootNode  # type: ignore[assignment]

    def _inspect(self, content: tuple[Any, ...], mask: int) -> None:
        """Refuse media in a loose section, which is system content."""
        if not (mask & SECTION and mask & MEDIA << SHIFT):
            return
        waiting = list(reversed(content))
        while waiting:
            child = waiting.pop()
            if isinstance(child, FragmentNode):
                waiting.extend(reversed(child.content))
            elif child.mask & SECTION and child.mask & MEDIA << SHIFT:
                media = next(node for node, _ in walk(child) if isinstance(node, MediaNode))
                raise PlacementError(
                    f"{named_label(media)} cannot stand in a Section outside of a turn: "
                    "it is system content",
                    fix="put it in a User turn",
                    at=(media.source, child.source),
                )

    def _advice(self, node: Node) -> str:
        if isinstance(node, RootNode):
            return "a prompt stands in no other: write its turns, or include a Fragment of them"
        name = label(node)
        if node.mask & CALL:
            return f"put it in an Assistant: Assistant({name}(...))"
        if node.mask & RESULT:
            return "write ToolMessage(tool_use_id, ...), or put it in a User"
        if node.mask & EVENT_BLOCK:
            return f"put it in an Event: Event({name}(...))"
        return "put it in a System for instructions, or in a User"


def write_timeline(content: tuple[Any, ...], at: Source) -> Timeline:
    """Return a timeline of parts that were written without one, for a place."""
    timeline = object.__new__(Timeline)
    timeline.transformation = None
    timeline.equipment = ()
    timeline.code = at
    timeline.offset = -1
    begin(timeline, content, {})
    return timeline
