"""The root of a prompt: :class:`Timeline`."""

from typing import TYPE_CHECKING, Never

from promptdsl.components.block import Container, begin
from promptdsl.components.scope import open_block
from promptdsl.config.transformation import as_layer
from promptdsl.foundation.errors import PlacementError, ScopeError
from promptdsl.foundation.source import Source
from promptdsl.tree.group_nodes import FragmentNode
from promptdsl.tree.masks import CALL, EVENT_BLOCK, MEDIA, RESULT, ROOT, SECTION, SHIFT, TEXT
from promptdsl.tree.node import Child, Node, label, named_label, walk
from promptdsl.tree.part_nodes import MediaNode
from promptdsl.tree.rewrite import numbered
from promptdsl.tree.turn_nodes import RootNode

if TYPE_CHECKING:
    from promptdsl.components.contents import TimelineContent
    from promptdsl.config.transformation import Transformation


class Timeline(Container, RootNode):
    """A complete prompt: turns, histories and sections outside of turns, in conversation order.

    ``transformation`` is the configuration of this prompt: a
    :class:`MessageTransformationConfig`, a mapping of its fields, or a function
    ``(model, provider) -> config``.

    Raises :class:`ScopeError` if another block is open, :class:`PlacementError` for a child that
    belongs in a turn, such as text outside of a turn.

    >>> from promptdsl import System, Timeline, User, render
    >>> with Timeline() as prompt:
    ...     system = System("You are a guide.")
    ...     user = User("Hello.")
    >>> [message.role for message in render(prompt).messages]
    ['system', 'user']
    """

    __slots__ = ()
    _initial_mask = ROOT
    _forbids_at_once = ROOT
    _forbids = ROOT | TEXT | MEDIA | CALL | RESULT | EVENT_BLOCK

    def __init__(
        self,
        *content: "TimelineContent",
        transformation: "Transformation | None" = None,
        **unknown: Never,
    ) -> None:
        self.transformation = transformation
        self.equipment = ()
        begin(self, content, unknown)

    def _check_fields(self) -> None:
        around = open_block()
        if around is not None:
            raise ScopeError(
                "a Timeline cannot be written while a block is open",
                fix="write it under `with detached():`, or in a function called outside",
                at=(self.source, around.source),
            )
        if self.transformation is not None:
            self.transformation = as_layer(self.transformation, at=self.source)

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        super().__exit__(kind, error, trace)
        if kind is None:
            self.__class__ = self._frozen  # type: ignore[assignment]  # a subclass

    def _inspect(self, content: tuple[Child, ...], mask: int) -> tuple[Child, ...]:
        if mask & SECTION and mask & MEDIA << SHIFT:
            refuse_loose_media(content)
        return numbered(content)

    @classmethod
    def _advice(cls, node: Node) -> str:
        if isinstance(node, RootNode):
            return "a prompt cannot be in a prompt: include a Fragment of its turns"
        name = label(node)
        if node._mask & CALL:
            return f"put it in an Assistant: Assistant({name}(...))"
        if node._mask & RESULT:
            return "write ToolMessage(tool_use_id, ...), or put it in a User"
        if node._mask & EVENT_BLOCK:
            return f"put it in an Event: Event({name}(...))"
        if node._mask & MEDIA:
            return "put it in a User"
        return "put it in a System for instructions, or in a User"


def refuse_loose_media(content: tuple[Child, ...]) -> None:
    """Raise :class:`PlacementError` for an attachment in a section outside of any turn."""
    waiting = [*reversed(content)]
    while waiting:
        child = waiting.pop()
        if isinstance(child, str):
            continue
        if isinstance(child, FragmentNode):
            waiting.extend(reversed(child.content))
        elif child._mask & SECTION and child._mask & MEDIA << SHIFT:
            media = next(node for node, _ in walk(child) if isinstance(node, MediaNode))
            raise PlacementError(
                f"{named_label(media)} cannot be in a Section outside of a turn: "
                "it is system content",
                fix="put it in a User turn",
                at=(media.source, child.source),
            )


def write_timeline(content: tuple[Node, ...], at: Source) -> Timeline:
    """Return a timeline for parts that were written without one; its line is ``at``."""
    timeline = object.__new__(Timeline)
    timeline.transformation = None
    timeline.equipment = ()
    begin(timeline, content, {}, at=at)
    return timeline
