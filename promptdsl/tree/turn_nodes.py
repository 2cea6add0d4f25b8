"""The node classes of a prompt and its children: groups, turns, histories, tools, output schema.

First come the nodes that a pass replaces by their content, such as groups; then turns and the other
children of a prompt.
"""

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


# Groups of other nodes, histories, lazies, reserves and notes.
#
# They are not written to messages themselves: the passes of a render replace them by their content,
# or leave them out.


@node_class
class FragmentNode(Node):
    """Several nodes without any text around them; a pass replaces the fragment by its content."""

    _holds_parts = True


@node_class
class GroupNode(FragmentNode):
    """Nodes that a budget keeps together or drops together."""

    priority: float | None = None

    def _summary(self) -> str:
        return f"group{prioritised(self.priority)}"


@node_class
class FirstFitNode(FragmentNode):
    """Alternatives: each child is one, and the first child that fits the budget is sent."""

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
    # History checks the names and raises the error for any other value.
    return tuple(names) if isinstance(names, Iterable) else (names,)  # pyright: ignore[reportUnnecessaryIsInstance]


@attrs.frozen
class ClearResults:
    """The rule for clearing old tool results: a placeholder replaces their content.

    - ``keep``: the number of last calls whose results stay, 1 or more, 3 by default;
    - ``exclude``: the names of tools whose results always stay, ``()`` by default;
    - ``at_least``: a number of tokens. Results are cleared each time that this saves so many
      tokens: without a budget, too, and even if the budget has enough tokens. With ``None``
      (default) they are cleared only if a budget is too small, in the steps of the history;
    - ``placeholder``: the text of a cleared result, ``"[cleared]"`` by default;
    - ``inputs``: with ``True``, the arguments of cleared calls become an object with the
      placeholder; ``False`` by default.

    :class:`History` checks the values, and raises :class:`OptionError` for a wrong one.

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

    The fields are the options of :class:`History`. A budget drops the oldest exchanges at
    ``priority``, in steps of ``step`` tokens; the last ``keep`` exchanges always stay. A longer
    recorded result is cut to ``max_result_tokens``. ``clear_results`` is the rule for clearing old
    results. A budget does not change the rounds of messages that ``pin`` selects. With
    ``keep_compacted``, the messages that a provider's compaction replaces are sent, too. With
    ``cut_line``, a line is sent where a budget dropped something.
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
        for child in self.content[:1]:
            provider_format = getattr(child, "provider_format", "messages")
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
    """The nodes that the function of a ``@component`` wrote.

    ``name`` is the name of the component. ``by`` is the name of the function that overrides it, if
    any. ``section`` is its library section, if the component is one.
    """

    _extra_slots = ("running", "instead_of")
    _hidden_fields = ("by", "section")
    name: str
    by: str | None
    section: LibrarySection | None = None
    running: Any  # Any: a type of ``components``, a higher layer
    """Its generator, which is suspended at ``yield`` while its block is open. Not a field."""
    instead_of: Node
    """The node that an override replaced by this node, as its author wrote it. Not a field."""

    def _name(self) -> str:
        return self.name

    def _summary(self) -> str:
        if self.by:
            return f"{self.name} (overridden by {self.by})"
        return str(self.section or self.name)


@node_class
class FormatNode(FragmentNode):
    """Nodes that have a text format, which may differ from that of the text around them."""

    format: str

    def _summary(self) -> str:
        return f"format {self.format}"


@node_class
class LazyNode(Node):
    """A node that the result of ``function`` replaces when the prompt is rendered.

    ``weight`` is its share of the tokens that a budget divides among lazies. ``overrides`` are the
    replacements that were in force where it was written.
    """

    function: Callable[..., object]
    weight: float
    overrides: Any = ()  # Any: a type of ``components``, a higher layer


@node_class
class NoteNode(Node):
    """Content for people; no model receives it."""


# The children of a prompt: turns, recorded messages, tools and the output schema.


@node_class
class RootNode(Node):
    """A complete prompt; ``transformation`` is the configuration that its author wrote.

    ``equipment`` has the nodes that the pass ``extract_tools`` moved out of the content: tools, the
    output schema, and cache breakpoints that no part before them can carry.
    """

    _placement: Literal["prompt"]

    content: tuple[Node, ...]  # pyright: ignore[reportIncompatibleVariableOverride] # frozen
    transformation: Any  # Any: a configuration of ``config``, which this package may not import
    equipment: tuple[Node, ...]
    _hidden_fields = ("equipment",)
    _open_advice: ClassVar[str] = (
        "write all turns in one block, or include() a Fragment of shared turns in each Timeline"
    )
    _add_advice: ClassVar[str] = "write one with the turns of both: Timeline(*prompt.content, ...)"

    def _name(self) -> str:
        return "Timeline"


@node_class
class TurnNode(Node):
    """A turn, which becomes a message.

    ``role`` is the role of the message, which a configuration may change. ``kind`` says where the
    message comes from: ``messages/details.py`` lists the kinds.
    """

    _placement: Literal["turn"]

    role: Role
    kind: Kind
    _add_advice: ClassVar[str] = "write turns side by side: Timeline(turn, another)"

    def _name(self) -> str:
        role = getattr(self, "role", None)
        return role.capitalize() if isinstance(role, str) else Node._name(self)

    @property
    def _word(self) -> str:
        """The author's word for the turn: the name of its component, or its role."""
        if self.kind == "event":
            return "event"
        if self.kind == "request":
            # Every string in a grounding is a value, and its fence has a field for that.
            is_grounding = any(getattr(child, "values", False) for child in self.content)
            return "grounding" if is_grounding else "ephemeral"
        return self.role

    def _summary(self) -> str:
        if self.kind in ("written", "event", "request"):
            return self._word
        return f"{self.role} ({self.kind.replace('_', ' ')})"


@node_class
class ToolTurnNode(TurnNode):
    """A tool result as a separate turn; its content is the content of the result."""

    tool_use_id: str
    is_error: bool
    error_type: str | None

    def _name(self) -> str:
        return "ToolMessage"

    def _summary(self) -> str:
        return f"tool {self.tool_use_id}"


@node_class
class RequestOnlyNode(Node):
    """A ``Grounding`` or an ``Ephemeral``: content for this request only.

    ``type`` and ``title`` are written in its opening tag. ``position`` says where it is sent;
    ``None`` is the position of the configuration. At one position, the lowest ``order`` is first.
    ``grounding`` is whether every string in it is a value.
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
        """The author's words for its turns: ``ephemeral and grounding``, or their role."""
        if self.kind not in ("event", "request"):
            return self.role
        return " and ".join(
            dict.fromkeys(getattr(turn, "_word", self.role) for turn in self.content)
        )

    def _summary(self) -> str:
        return f"{TurnNode._summary(self)} (merged)"


@node_class
class ConsolidatedNode(TurnNode):
    """The system message of a prompt: its system turns, and its sections outside of turns."""


@node_class
class RecordedNode(Node):
    """Recorded messages: all items of a history as its author passed them, or a run of messages.

    ``items`` are in the format ``provider_format``. The pass ``read`` replaces the node by nodes of
    this class, its runs. The ``items`` of a run are messages, and its ``provider_format`` is
    ``"messages"``.
    """

    _extra_slots = ("read_cache",)
    _address_word = "history"
    items: Any  # a provider's list or payload until the pass ``read``, then a tuple of messages
    provider_format: str
    start: int
    """The index of its first message in the history."""
    read_cache: ReadCache | None
    """The cache of its conversation. It is not a field, and is set after the node was made.

    ``History`` sets it if its messages continue a conversation that is cached. The pass ``read``,
    ``tree/recorded.py`` and the budget set it for a run.
    """

    def _name(self) -> str:
        return "History"


@node_class
class ToolNode(Node):
    """A tool that a model may call."""

    _placement: Literal["turn"]

    _extra_slots = ("function",)
    definition: ToolDefinition
    function: Callable[..., object] | None
    """The function that :func:`run_calls` runs.

    It is not a field, because two tools are equal if the model gets the same definition."""

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
    """The schema of the answer, if the pass ``merge_system`` writes it into the system text."""


@node_class
class CacheBreakpointNode(Node):
    """A cache mark: a provider may keep everything before it. ``ttl`` is the lifetime.

    ``None`` is the provider's default lifetime.
    """

    ttl: Literal["5m", "1h"] | None

    def _summary(self) -> str:
        return f"cache breakpoint {self.ttl or ''}".rstrip()


def among_turns(root: Node) -> Iterator[Node]:
    """Yield the children of a timeline; instead of a fragment, those of the fragment.

    They are in document order. Strings are left out.
    """
    child_stack: list[Child] = [*reversed(root.content)]
    while child_stack:
        child = child_stack.pop()
        if isinstance(child, FragmentNode):
            child_stack += reversed(child.content)
        elif not isinstance(child, str):
            yield child
