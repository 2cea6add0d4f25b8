"""The children of a prompt: groups, turns, recorded messages, tools and the output schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import attrs

from promptdsl.messages.conversation_cache import ReadCache
from promptdsl.messages.details import Kind, Role
from promptdsl.messages.prompt import OutputSchema, ToolDefinition
from promptdsl.tree.node import Child, Node, cached, node_class, prioritised

if TYPE_CHECKING:
    from promptdsl.foundation.source import LibrarySection


# The nodes that do not reach the messages: groups of other nodes, lazies and notes.
#
# The passes of a render replace them by their content, or leave them out.


@node_class
class FragmentNode(Node):
    """Several parts with nothing around them; a pass replaces the fragment by its parts."""

    _holds_parts = True


@node_class
class GroupNode(FragmentNode):
    """Parts that a budget keeps or drops together."""

    priority: float | None = None

    def _summary(self) -> str:
        return f"group{prioritised(self.priority)}"


@node_class
class FirstFitNode(FragmentNode):
    """Alternatives, one per child; the first that fits the budget is sent."""

    content: tuple[Node, ...]  # pyright: ignore[reportIncompatibleVariableOverride] # frozen
    priority: float | None = None

    def _summary(self) -> str:
        return f"first fit{prioritised(self.priority)}"


@node_class
class LimitNode(FragmentNode):
    """Text of at most ``most`` tokens or characters; ``keep`` names the end that stays."""

    _placement: Literal["text"]

    most: int
    keep: Literal["head", "tail", "ends"] = "head"
    unit: Literal["tokens", "characters"] = "tokens"

    def _summary(self) -> str:
        end = "" if self.keep == "head" else f" keep={self.keep}"
        return f"limit {self.most:,} {self.unit}{end}"


@node_class
class ReserveNode(Node):
    """Tokens of the budget that stay unused, for instance for the answer."""

    tokens: int

    def _summary(self) -> str:
        return f"reserve {self.tokens:,} tokens"


def _names(names: str | Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        return (names,)
    # A History raises the error for a value that is not a name.
    return tuple(names) if isinstance(names, Iterable) else (names,)  # pyright: ignore[reportUnnecessaryIsInstance]


@attrs.frozen
class ClearResults:
    """The rule for old tool results: their content is replaced by a placeholder ("cleared").

    The results of the last ``keep`` calls (1 or more) stay. The results of the tools named in
    ``exclude`` stay, too. Results are cleared in steps: a step saves ``at_least`` tokens or more.
    Without ``at_least`` the step is the ``step`` of the history, and results are cleared only when
    a budget is too small. With ``at_least`` they are cleared without a budget, too, and far below
    it: each time that so many tokens of results are old, whatever the budget still holds. With
    ``inputs``, the arguments of cleared calls become an object with the placeholder.

    >>> from promptdsl import ClearResults, History
    >>> History([], clear_results=ClearResults(keep=3, exclude=("memory",))).clear_results.keep
    3
    """

    keep: int = 3
    at_least: int | None = None
    exclude: tuple[str, ...] = attrs.field(default=(), converter=_names)
    placeholder: str = "[cleared]"
    inputs: bool = False


@node_class
class ConversationNode(FragmentNode):
    """A history: recorded messages, and the turns that were written in its block.

    After the pass ``read`` its content is runs of messages, events and groundings.

    A budget drops its oldest exchanges at ``priority``, in steps of ``step`` tokens. The last
    ``keep`` exchanges always stay. No recorded result has more than ``max_result_tokens``.
    ``clear_results`` is the rule by which old results are cleared. The rounds of messages that
    ``pin`` names do not change. With ``keep_compacted``, the messages that a provider's compaction
    replaces are sent, too. With ``cut_line``, a line is sent where a budget drops something.
    """

    _placement: Literal["turn"]

    content: tuple[Node, ...]  # pyright: ignore[reportIncompatibleVariableOverride] # frozen
    keep: int = 0
    step: int | None = None
    priority: float = 0
    max_result_tokens: int | None = None
    clear_results: ClearResults | None = None
    pin: Any = None  # Any: a set of ids, or a function from a Message to a bool
    keep_compacted: bool = False
    cut_line: bool = False

    def _name(self) -> str:
        return "History"

    def _summary(self) -> str:
        words = ["history"]
        for part in self.content[:1]:
            provider_format = getattr(part, "provider_format", "messages")
            if provider_format != "messages":
                words.append(f"({provider_format})")
        if self.keep:
            words.append(f"keep={self.keep:,}")
        if self.step is not None:
            words.append(f"step={self.step:,}")
        if self.max_result_tokens is not None:
            words.append(f"max_result_tokens={self.max_result_tokens:,}")
        if callable(self.pin):
            words.append("pin=function")
        elif self.pin is not None:
            words.append(f"pin={len(self.pin):,}")
        if self.clear_results is not None:
            words.append(f"clear_results={self.clear_results.keep:,}")
        if self.keep_compacted:
            words.append("keep_compacted=True")
        if self.cut_line:
            words.append("cut_line=True")
        return " ".join(words) + prioritised(self.priority or None)


@node_class
class ComponentNode(FragmentNode):
    """The parts that the function of a ``@component`` wrote.

    ``name`` is the name of the component, ``by`` the name of the function that overrides it.
    ``section`` is the section of a library that the component is.
    """

    _notes = ("running", "instead_of")
    _internal = ("by", "section")
    name: str
    by: str | None
    section: LibrarySection | None = None
    running: Any  # Any: a type of ``components``, a higher layer
    """Its generator, suspended at ``yield`` while its block is open. Not a field."""
    instead_of: Node
    """The part that an override replaced by this one, as it was written. Not a field."""

    def _name(self) -> str:
        return self.name

    def _summary(self) -> str:
        if self.by:
            return f"{self.name} (overridden by {self.by})"
        return str(self.section or self.name)


@node_class
class FormatNode(FragmentNode):
    """Parts whose text format differs from the format of the text around them."""

    format: str

    def _summary(self) -> str:
        return f"format {self.format}"


@node_class
class LazyNode(Node):
    """A part that ``function`` returns when the prompt is rendered.

    ``weight`` is its share of the tokens that a budget divides among lazies. ``overrides`` are the
    components that were overridden where it was written.
    """

    function: Callable[..., object]
    weight: float
    overrides: Any = ()  # Any: a type of ``components``, a higher layer


@node_class
class NoteNode(Node):
    """Text for people; a model never receives it."""


# The children of a prompt: turns, recorded messages, tools and the output schema.


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
