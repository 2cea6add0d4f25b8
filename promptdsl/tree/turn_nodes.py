"""The children of a prompt: turns, recorded messages, tools and the output schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal

from promptdsl.messages.conversation_cache import ReadCache
from promptdsl.messages.prompt import OutputSchema, ToolDefinition
from promptdsl.messages.roles import Kind, Role
from promptdsl.tree.group_nodes import FragmentNode
from promptdsl.tree.node import Child, Node, node_class
from promptdsl.tree.words import cached


@node_class
class RootNode(Node):
    """A complete prompt. ``transformation`` is the configuration from its author.

    ``equipment`` contains the nodes that the pass ``extract_tools`` moved out of its content:
    tools, the output schema, and cache breakpoints that no message can carry.
    """

    _placement: Literal["prompt"]

    content: tuple[Node, ...]  # pyright: ignore[reportIncompatibleVariableOverride] # frozen
    transformation: Any  # Any: a configuration of ``config``, which this package may not import
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
    """A turn, which becomes a message. ``kind`` is its origin; a configuration may map ``role``."""

    _placement: Literal["turn"]

    role: Role
    kind: Kind
    _unadded: ClassVar[str] = "write turns side by side: Timeline(turn, another)"

    def _name(self) -> str:
        role = getattr(self, "role", None)
        return role.capitalize() if isinstance(role, str) else Node._name(self)

    @property
    def _word(self) -> str:
        """The author's word for the turn: the name of its component, or its role."""
        if self.kind == "event":
            return "event"
        if self.kind == "request":
            # Every string in a grounding is a value: its fence keeps that.
            is_grounding = any(getattr(part, "values", False) for part in self.content)
            return "grounding" if is_grounding else "ephemeral"
        return self.role

    def _summary(self) -> str:
        if self.kind in ("written", "event", "request"):
            return self._word
        return f"{self.role} ({self.kind.replace('_', ' ')})"


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
    """A ``Grounding`` or an ``Ephemeral``: a turn for this request only.

    ``type`` and ``title`` are written in its opening tag. ``position`` is ``None`` for the default.
    With ``grounding`` every string in it is a value.
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

    @property
    def _word(self) -> str:
        """The author's words for its turns: ``ephemeral and grounding``."""
        if self.kind not in ("event", "request"):
            return self.role
        return " and ".join(
            dict.fromkeys(getattr(turn, "_word", self.role) for turn in self.content)
        )

    def _summary(self) -> str:
        return f"{TurnNode._summary(self)} (merged)"


@node_class
class ConsolidatedNode(TurnNode):
    """The system turns and loose sections of a prompt, which become one system message."""


@node_class
class RecordedNode(Node):
    """Recorded messages: a complete history as its author passed it, or a run of its messages.

    The ``items`` of a complete history are in the provider format ``form``. The pass ``read``
    replaces the history by its runs, which are nodes of this class, too. The ``items`` of a run are
    messages, and its ``form`` is ``"messages"``.
    """

    _notes = ("known",)
    _head = "history"
    items: Any  # a provider's list or payload until the pass ``read``, then a tuple of messages
    provider_format: str
    start: int
    """The index of its first message in the history."""
    known: ReadCache | None
    """The cache of its conversation. Not a field, so it may be set after the node is frozen.

    ``History`` sets it when its messages continue a conversation that is cached. ``read`` and
    ``tree/recorded.py`` set it for a run.
    """

    def _name(self) -> str:
        return "History"


@node_class
class ToolNode(Node):
    """A tool that a model may call."""

    _placement: Literal["turn"]

    _notes = ("function",)
    definition: ToolDefinition
    function: Callable[..., object] | None
    """The function that :func:`run_calls` runs. Not a field: tools are equal if a model reads the
    same."""

    def _summary(self) -> str:
        words = f"tool definition {self.definition.name}"
        if self.definition.cache:
            words += f" {cached(self.definition.cache)}"
        return words


@node_class
class OutputNode(Node):
    """The schema of the answer."""

    _placement: Literal["turn"]

    schema: OutputSchema

    def _summary(self) -> str:
        return f"output {self.schema.name}"


@node_class
class PromptedOutputNode(OutputNode):
    """The schema of the answer, when the pass ``merge_system`` writes it into the system text."""


@node_class
class CacheBreakpointNode(Node):
    """The end of a part to cache; ``ttl`` is the lifetime, by default that of the provider."""

    ttl: Literal["5m", "1h"] | None

    def _summary(self) -> str:
        return f"cache breakpoint {self.ttl or ''}".rstrip()


def among_turns(root: Node) -> Iterator[Node]:
    """Yield the children of a timeline and of its fragments, in document order."""
    waiting: list[Child] = [*reversed(root.content)]
    while waiting:
        part = waiting.pop()
        if isinstance(part, FragmentNode):
            waiting += reversed(part.content)
        elif not isinstance(part, str):
            yield part
