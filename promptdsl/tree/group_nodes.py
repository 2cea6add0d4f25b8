"""The nodes that do not reach the messages: groups of other nodes, lazies and notes.

The passes of a render replace them by their content, or leave them out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

import attrs

from promptdsl.tree.node import Node, node_class
from promptdsl.tree.words import prioritised

if TYPE_CHECKING:
    from promptdsl.foundation.library_section import LibrarySection


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
