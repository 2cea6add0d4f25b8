"""What is written when the prompt is rendered: text from templates, and what a function returns."""

import sys
from collections.abc import Callable
from inspect import isawaitable
from math import inf
from typing import Any, Never

import attrs

from promptdsl.components.arguments import TEXT_BITS, inline, retract, value_node
from promptdsl.components.block import Written, finish
from promptdsl.components.options import refuse_options
from promptdsl.components.overrides import OVERRIDES, standing
from promptdsl.components.scope import detached, open_block, place
from promptdsl.foundation.errors import ContentError, OptionError, PromptError, ScopeError
from promptdsl.foundation.escaping import is_number
from promptdsl.foundation.trusted import Trusted
from promptdsl.tree.group_nodes import LazyNode
from promptdsl.tree.masks import HOLLOW
from promptdsl.tree.node import DEFAULTS, Node, label, make
from promptdsl.tree.part_nodes import TextNode

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


@attrs.frozen
class LazyContext:
    """What the function of a :class:`Lazy` is told of the request it is called for.

    ``tokens`` is how many it may fill, ``None`` without a budget.
    """

    model: str | None = None
    provider: str | None = None
    tokens: int | None = None


class Lazy(Written, LazyNode):
    """What ``function`` returns when the prompt is rendered: text (a value), a part, or ``None``.

    It is called with a :class:`LazyContext`, where no block is open; under ``arender()`` it may be
    asynchronous. ``weight`` is its share of the tokens that several lazies divide.

    Raises :class:`ContentError` for what is no function, :class:`OptionError` for a weight that is
    no number above zero.
    """

    __slots__ = ()

    def __init__(
        self, function: Callable[[LazyContext], Any], /, weight: float = 1, **options: Never
    ) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        self.content = ()
        self.mask = HOLLOW
        self.options = DEFAULTS
        try:
            refuse_options(self, options, ("weight",))
            _check(self, function, weight)
        except PromptError:
            retract((function,))
            raise
        self.function = function
        self.weight = weight
        self.overrides = OVERRIDES.get()
        place(self)


def _check(lazy: Lazy, function: object, weight: Any) -> None:
    if not callable(function):
        raise ContentError(
            f"a Lazy takes a function, not {type(function).__name__}",
            fix="Lazy(lambda context: ...)",
            at=(lazy.source,),
        )
    numeric = isinstance(weight, int | float) and not isinstance(weight, bool)
    if not numeric or not 0 < weight < inf:
        raise OptionError(
            f"Lazy(weight={weight!r})", fix="write a number above 0", at=(lazy.source,)
        )


def call(lazy: LazyNode, context: LazyContext) -> object:
    """Return what the function of a lazy returns, called where no block is open.

    Raises :class:`ContentError` when it has to be awaited.
    """
    with detached(), standing(lazy.overrides):
        returned = lazy.function(context)
        _refuse_open(lazy)
    if isawaitable(returned):
        close = getattr(returned, "close", None)
        if close is not None:
            close()
        raise ContentError(
            "this Lazy is asynchronous, and render() does not wait",
            fix="use await arender(...)",
            at=(lazy.source,),
        )
    return returned


async def acall(lazy: LazyNode, context: LazyContext) -> object:
    """Return what the function of a lazy returns, awaited where it has to be."""
    with detached(), standing(lazy.overrides):
        returned = lazy.function(context)
        found = await returned if isawaitable(returned) else returned
        _refuse_open(lazy)
        return found


def _refuse_open(lazy: LazyNode) -> None:
    block = open_block()
    if block is not None:
        raise ScopeError(
            f"the function of this Lazy left a {label(block)} open",
            fix="write blocks with `with`",
            at=(lazy.source, block.source),
        )


def part_of(returned: object, lazy: LazyNode) -> Node | None:
    """Return the part that a lazy came to: text is a value.

    Raises :class:`ContentError` for what is neither text nor a part nor ``None``.
    """
    if returned is None:
        return None
    if isinstance(returned, Node):
        return finish(returned)
    if is_number(returned) or (isinstance(returned, str) and not isinstance(returned, Trusted)):
        value = value_node(returned, lazy)
        return value if value.text else None
    parts = tuple(inline(returned, lazy))
    return make(TextNode, parts, mask=TEXT_BITS, at=lazy.at) if parts else None
