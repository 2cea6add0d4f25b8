"""The nodes that hold others, or give way to them when the prompt is rendered."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Any, Literal

from promptdsl.tree.node import Node


class Fragment(Node):
    """Several parts that stand for themselves."""

    __slots__ = ()


class Group(Fragment):
    """Parts that belong together: they are kept or dropped whole."""

    __slots__ = ("priority",)
    _fields = ("priority",)
    _unsaid = MappingProxyType({"priority": None})
    priority: float | None


class FirstFit(Fragment):
    """Forms of one part, of which the first one is sent that a budget has room for.

    Each form is one node of its content.
    """

    __slots__ = ("priority",)
    _fields = ("priority",)
    _unsaid = MappingProxyType({"priority": None})
    priority: float | None


class Limit(Fragment):
    """Text that is cut to ``max_tokens``; ``keep`` is which end of it stays."""

    __slots__ = ("keep", "max_tokens")
    _fields = ("max_tokens", "keep")
    _unsaid = MappingProxyType({"keep": "head"})
    max_tokens: int
    keep: Literal["head", "tail", "ends"]


class Reserve(Node):
    """Tokens of a budget that are left free."""

    __slots__ = ("tokens",)
    _fields = ("tokens",)
    tokens: int


class Conversation(Fragment):
    """One history that was read: runs of messages (``Recorded``), events, request-only turns.

    A budget takes its oldest exchanges, at ``priority``, in steps of ``step`` tokens; the last
    ``keep`` exchanges stay.
    """

    __slots__ = ("keep", "priority", "step")
    _fields = ("keep", "step", "priority")
    _unsaid = MappingProxyType({"keep": 0, "step": None, "priority": 0})
    keep: int
    step: int | None
    priority: float

    def _name(self) -> str:
        return "History"


class Component(Fragment):
    """What a component function wrote.

    ``name`` is the component's, ``by`` the name of the function that stood in for it, if one did.
    """

    __slots__ = ("by", "name", "running")
    _fields = ("name", "by")
    name: str
    by: str | None
    running: Any
    """What has yet to write the rest, while it is being written."""

    def _name(self) -> str:
        return self.name


class Format(Fragment):
    """Parts that are written in a format of their own."""

    __slots__ = ("format",)
    _fields = ("format",)
    format: str


class Lazy(Node):
    """What is written when the prompt is rendered: what ``function`` returns.

    ``overrides`` are the components that others stood in for where this was written.
    """

    __slots__ = ("function", "overrides", "weight")
    _fields = ("function", "weight", "overrides")
    function: Callable[..., Any]
    weight: float
    overrides: Any


class Note(Node):
    """What only people read."""

    __slots__ = ()
