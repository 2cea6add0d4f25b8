"""Turn nodes: the children of a timeline, such as turns, recordings and tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal

from promptdsl.messages.conversation_cache import Recording
from promptdsl.messages.prompt import OutputSchema, ToolDefinition
from promptdsl.messages.roles import Kind, Role
from promptdsl.tree.group_nodes import FragmentNode
from promptdsl.tree.node import Child, Node, node_class
from promptdsl.tree.words import cached


@node_class
class RootNode(Node):
    """A whole prompt. ``transformation`` is the configuration from its author.

    ``equipment`` contains the nodes that the pass ``equip`` moved out of its content: tools, the
    output schema, and cache breakpoints without a message to mark.
    """

    _placement: Literal["prompt"]

    content: tuple[Node, ...]  # pyright: ignore[reportIncompatibleVariableOverride] # frozen
    transformation: Any  # Any: a layer of ``config``, which this room may not import
    equipment: tuple[Node, ...]
    _internal = ("equipment",)
    _second_block: ClassVar[str] = (
        "write all turns in one block, or include() a Fragment of shared turns in each Timeline"
    )
    _unadded: ClassVar[str] = "write one with the turns of both: Timeline(*prompt.content, ...)"

    def _name(self) -> str:
        return "Timeline"


@node_class
class TurnNode(Node):
    """A turn, which becomes a message. ``kind`` is its origin, even if its role is mapped."""

    _placement: Literal["turn"]

    role: Role
    kind: Kind
    _unadded: ClassVar[str] = "write turns side by side: Timeline(turn, another)"

    def _name(self) -> str:
        role = getattr(self, "role", None)
        return role.capitalize() if isinstance(role, str) else Node._name(self)

    def _summary(self) -> str:
        kind = "" if self.kind == "written" else f" ({self.kind.replace('_', ' ')})"
        return f"{self.role}{kind}"


@node_class
class ToolTurnNode(TurnNode):
    """A tool result as a turn of its own; its content is the content of the result."""

    tool_use_id: str
    is_error: bool
    error_type: str | None

    def _name(self) -> str:
        return "ToolMessage"

    def _summary(self) -> str:
        return f"tool {self.tool_use_id}"


@node_class
class RequestOnlyNode(Node):
    """A request-only turn; ``type`` and ``title`` are written in its fence.

    Its ``position`` is ``None`` for the default. With ``grounding`` every string in it is a value.
    """

    _placement: Literal["turn"]

    _volatile_fields = ("type", "title")

    type: str | None
    title: str | None
    position: str | None
    order: float
    grounding: bool

    def _name(self) -> str:
        if type(self) is not RequestOnlyNode:
            return Node._name(self)
        return "Grounding" if self.grounding else "Ephemeral"


@node_class
class MergedNode(TurnNode):
    """Neighbouring turns of one role, which become one message."""

    def _summary(self) -> str:
        return f"{TurnNode._summary(self)} (merged)"


@node_class
class ConsolidatedNode(TurnNode):
    """The system turns and loose sections of a prompt, which become its one system message."""


@node_class
class RecordedNode(Node):
    """Recorded messages: a whole history as its author passed it, or a run of its messages.

    The ``items`` of a whole history are in the wire form ``form``. The pass ``read`` replaces it by
    its runs, which are also nodes of this class: their ``items`` are messages, and their ``form``
    is ``"messages"``.
    """

    _beside = ("known",)
    _head = "history"
    items: Any  # a provider's list or payload until the pass ``read``, then a tuple of messages
    form: str
    start: int
    """The index of its first message in the history."""
    known: Recording | None
    """The cache of its history. Not a field, so it may be set after the node is frozen.

    The component sets it when its messages continue a known conversation; ``read`` and
    ``tree/recorded.py`` set it for a run.
    """

    def _name(self) -> str:
        return "History"


@node_class
class ToolNode(Node):
    """A tool that a model may call."""

    _placement: Literal["turn"]

    _beside = ("function",)
    definition: ToolDefinition
    function: Callable[..., object] | None
    """The function that :func:`run_calls` runs. Not a field: a tool is what a model reads of it."""

    def _summary(self) -> str:
        mark = self.definition.cache
        return f"tool definition {self.definition.name}" + (f" {cached(mark)}" if mark else "")


@node_class
class OutputNode(Node):
    """The schema of the answer."""

    _placement: Literal["turn"]

    schema: OutputSchema

    def _summary(self) -> str:
        return f"output {self.schema.name}"


@node_class
class PromptedOutputNode(OutputNode):
    """The schema of the answer, where the pass ``consolidate`` writes it into the system text."""


@node_class
class CacheBreakpointNode(Node):
    """The end of a part to cache; ``ttl`` is the lifetime, by default that of the provider."""

    ttl: Literal["5m", "1h"] | None

    def _summary(self) -> str:
        return f"cache breakpoint {self.ttl or ''}".rstrip()


def among_turns(root: Node) -> Iterator[Node]:
    """Yield the children of a timeline, those in its fragments too, in document order."""
    waiting: list[Child] = [*reversed(root.content)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, FragmentNode):
            waiting += reversed(part.content)
        elif not isinstance(part, str):
            yield part
