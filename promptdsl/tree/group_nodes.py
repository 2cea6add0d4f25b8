"""Group nodes: they hold other nodes, or are replaced by some when the prompt is rendered."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Any, Literal

from promptdsl.tree.node import Node


class Fragment(Node):
    """Several parts without anything around them."""

    __slots__ = ()


class Group(Fragment):
    """Parts that a budget keeps or drops together."""

    __slots__ = ("priority",)
    _fields = ("priority",)
    _defaults = MappingProxyType({"priority": None})
    priority: float | None


class FirstFit(Fragment):
    """Alternatives, one per child; the first that fits the budget is sent."""

    __slots__ = ("priority",)
    _fields = ("priority",)
    _defaults = MappingProxyType({"priority": None})
    priority: float | None


class Limit(Fragment):
    """Text that is cut to ``max_tokens``; ``keep`` names the end that stays."""

    __slots__ = ("keep", "max_tokens")
    _fields = ("max_tokens", "keep")
    _defaults = MappingProxyType({"keep": "head"})
    max_tokens: int
    keep: Literal["head", "tail", "ends"]


class Reserve(Node):
    """Tokens of the budget that nothing is to use."""

    __slots__ = ("tokens",)
    _fields = ("tokens",)
    tokens: int


class Conversation(Fragment):
    """One history that was read: runs of messages (``Recorded``), events, request-only turns.

    A budget drops its oldest exchanges, at ``priority``, in steps of ``step`` tokens, and never the
    last ``keep`` exchanges.
    """

    __slots__ = ("keep", "priority", "step")
    _fields = ("keep", "step", "priority")
    _defaults = MappingProxyType({"keep": 0, "step": None, "priority": 0})
    keep: int
    step: int | None
    priority: float

    def _name(self) -> str:
        return "History"


class Component(Fragment):
    """The parts that a component function wrote.

    ``name`` is the name of the component, ``by`` the name of the function that replaced it, if any.
    """

    __slots__ = ("by", "name", "running")
    _fields = ("name", "by")
    name: str
    by: str | None
    running: Any
    """The rest of its function, while its block is being written."""

    def _name(self) -> str:
        return self.name


class Format(Fragment):
    """Parts in a text format of their own."""

    __slots__ = ("format",)
    _fields = ("format",)
    format: str


class Lazy(Node):
    """A part that ``function`` returns when the prompt is rendered.

    ``weight`` is its share of the budget among lazies. ``overrides`` are the replaced components at
    the place where it was written.
    """

    __slots__ = ("function", "overrides", "weight")
    _fields = ("function", "weight", "overrides")
    function: Callable[..., Any]
    weight: float
    overrides: Any


class Note(Node):
    """Text for people, which is never sent to a model."""

    __slots__ = ()
