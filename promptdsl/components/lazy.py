"""The lazy part: a function returns it when the prompt is rendered."""

from collections.abc import Awaitable, Callable, Coroutine
from inspect import isawaitable
from math import inf
from typing import Never

import attrs

from promptdsl.components.arguments import TEXT_BITS, inline, value_node
from promptdsl.components.block import begin_leaf, finish
from promptdsl.components.options import bad_option, is_real, too_many
from promptdsl.components.replacements import Replacements, kept_overrides, replacing, restored
from promptdsl.components.scope import Component, detached, open_block, wrote_detached
from promptdsl.foundation.errors import ContentError, ScopeError
from promptdsl.foundation.escaping import is_number
from promptdsl.foundation.frozen import is_list
from promptdsl.foundation.source import note_caller
from promptdsl.foundation.trusted import Trusted
from promptdsl.messages.field_checks import kind_of
from promptdsl.messages.provider_names import ProviderName
from promptdsl.tree.group_nodes import ComponentNode, LazyNode
from promptdsl.tree.masks import HINTED, OPAQUE
from promptdsl.tree.node import Node, label, make
from promptdsl.tree.part_nodes import TextNode


@attrs.frozen
class LazyContext:
    """The request that the function of a :class:`Lazy` is called for.

    ``model`` and ``provider`` are the target, ``None`` where it is unknown. ``tokens`` is the
    number of tokens that the part may fill, ``None`` without a budget.

    >>> from promptdsl import LazyContext
    >>> LazyContext(model="gpt-5", tokens=200).tokens
    200
    """

    model: str | None = None
    provider: ProviderName | None = None
    tokens: int | None = None


class Lazy(Component, LazyNode):
    r"""A part that ``function`` returns when the prompt is rendered.

    The function is called with a :class:`LazyContext`; no block is open. It returns text (which is
    a value), a part, or ``None`` for nothing. With ``arender()`` it may be asynchronous.
    ``weight``, a number above 0 (default 1), is its share when several lazies divide the remaining
    tokens of a budget.

    Raises :class:`ContentError` for anything but a function, :class:`OptionError` for another
    weight.

    >>> from promptdsl import Lazy, System, render
    >>> system = System(Lazy(lambda context: f"You run on {context.model}."))
    >>> render(system, model="gpt-5").messages[0].text
    'You run on gpt-5.'
    """

    __slots__ = ()
    _initial_mask = OPAQUE

    def __init__(
        self,
        function: Callable[[LazyContext], object],
        /,
        weight: float = 1,
        *extra: Never,
        **unknown: Never,
    ) -> None:
        if extra:
            raise too_many(self, function, weight, *extra)
        self.function = function
        self.weight = weight
        self.overrides = kept_overrides()
        begin_leaf(self, unknown)

    def _check_fields(self) -> None:
        function: object = self.function
        if not callable(function):
            if isinstance(function, Coroutine):
                function.close()
            raise ContentError(
                f"a Lazy takes a function, not {kind_of(function)}",
                fix="give the function itself, which is called later: Lazy(function)"
                if isinstance(function, Coroutine)
                else "Lazy(lambda context: ...)",
                at=(self.source,),
            )
        if not is_real(self.weight) or not 0 < self.weight < inf:
            raise bad_option(self, "weight", self.weight, "write a number above 0")


def call(lazy: LazyNode, context: LazyContext) -> object:
    """Return the result of a lazy's function; :class:`ContentError` if it has to be awaited."""
    with detached(), replacing(_overrides(lazy)):
        result = _finished(_called(lazy, context), lazy)
    if isawaitable(result):
        close: Callable[[], object] | None = getattr(result, "close", None)
        if close is not None:
            close()
        raise ContentError(
            "the function of this Lazy is asynchronous, and render() cannot await it",
            fix="use await arender(...)",
            at=(lazy.source,),
        )
    return result


def _overrides(lazy: LazyNode) -> Replacements | None:
    """Return the replacements that were in force where a lazy was written."""
    if not lazy.overrides:
        return None
    from promptdsl.components.lazy_results import check_replaced

    return restored(lazy.overrides, check_replaced)


def _called(lazy: LazyNode, context: LazyContext) -> object:
    """Return the result of a lazy's function; :class:`ContentError` if it takes other arguments."""
    try:
        return lazy.function(context)
    except Exception as error:
        trace = error.__traceback__
        if not isinstance(error, TypeError) or (trace is not None and trace.tb_next is not None):
            # Raised by the function itself.
            note_caller(error, lazy.source, "the function of this Lazy")
            raise
        raise ContentError(
            f"the function of this Lazy has to take one argument, the context: {error}",
            fix="give it one parameter: lambda context: ...",
            at=(lazy.source,),
        ) from None


async def acall(lazy: LazyNode, context: LazyContext) -> object:
    """Return the result of a lazy's function; it is awaited if necessary."""
    with detached(), replacing(_overrides(lazy)):
        result: object | Awaitable[object] = _called(lazy, context)
        if isawaitable(result):
            try:
                result = await result
            except Exception as error:
                note_caller(error, lazy.source, "the function of this Lazy")
                raise
        return _finished(result, lazy)


def _finished(result: object, lazy: LazyNode) -> object:
    """Return the result, or an empty part with a hint if it wrote parts and returned none."""
    block = open_block()
    if block is not None:
        raise ScopeError(
            f"the function of this Lazy left a {label(block)} open",
            fix="open blocks with `with`",
            at=(lazy.source, block.source),
        )
    if result is not None or not wrote_detached():
        return result
    return make(ComponentNode, mask=OPAQUE | HINTED, at=lazy, name=label(lazy), by=None)


def part_of(result: object, lazy: LazyNode) -> Node | None:
    """Return the result of a lazy as a part: text is a value; ``None`` for an empty result."""
    if result is None:
        return None
    if isinstance(result, Node):
        return finish(result)
    if is_number(result) or (isinstance(result, str) and not isinstance(result, Trusted)):
        value = value_node(result, lazy)
        return value if value.text else None
    if is_list(result):
        problem = f"a {kind_of(result)} cannot be content of a Lazy"
        raise ContentError(problem, fix="return Fragment(*parts)", at=(lazy.source,))
    parts = tuple(inline(result, lazy))
    return make(TextNode, parts, mask=TEXT_BITS, at=lazy._at) if parts else None
