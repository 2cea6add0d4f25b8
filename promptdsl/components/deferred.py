"""What is written when the prompt is rendered: text from templates, and what a function returns."""

import sys
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import partial
from inspect import isawaitable
from math import inf
from os import PathLike
from typing import Any, Never, Self

import attrs

from promptdsl import nodes
from promptdsl.components.arguments import TEXT_BITS, inline, retract, value_node
from promptdsl.components.options import refuse_options
from promptdsl.components.overriding import OVERRIDES, standing
from promptdsl.components.writing import Written, finish
from promptdsl.errors import ContentError, OptionError, PromptError, ScopeError
from promptdsl.library import TemplateSource, check_variables
from promptdsl.nodes import found_in
from promptdsl.scope import detached, open_block, place
from promptdsl.tree import DEFAULTS, HOLLOW, TEXT, Node, bits, label, make
from promptdsl.trust import Trusted

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


@attrs.frozen
class LazyContext:
    """What the function of a :class:`Lazy` is told of the request it is called for.

    ``tokens`` is how many it may fill, ``None`` without a budget.
    """

    model: str | None = None
    provider: str | None = None
    tokens: int | None = None


class Lazy(Written, nodes.Lazy):
    """What ``function`` returns when the prompt is rendered: text (a value), a part, or ``None``.

    It is called with a :class:`LazyContext`, where no block is open; under ``arender()`` it may be
    asynchronous. ``weight`` is its share of the tokens that several lazies divide.

    Raises :class:`ContentError` for what is no function, :class:`OptionError` for a weight that is
    no number above zero.
    """

    __slots__ = ()
    _node = nodes.Lazy

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


class Template(Written, nodes.Template):
    """Text made from a Jinja template when the prompt is rendered.

    ``name`` is that of a template in a registered folder, or the path of a file. Its text is
    author text. ``vars`` and keywords are plain data, and values wherever the template puts them;
    :func:`trusted` makes author text of one.

    Raises :class:`ContentError` for what is no plain data. What is wrong with the template itself
    is a :class:`TemplateError` when it is rendered.
    """

    __slots__ = ()
    _node = nodes.Template

    def __init__(
        self,
        name: str | PathLike[str],
        /,
        vars: Mapping[str, object] | None = None,  # noqa: A002 (the field's word)
        **inputs: object,
    ) -> None:
        frame = _getframe(1)
        self.code = frame.f_code
        self.offset = frame.f_lasti
        _fill(self, partial(TemplateSource.of, name), (vars, inputs))

    @classmethod
    def from_string(
        cls,
        source: str,
        /,
        vars: Mapping[str, object] | None = None,  # noqa: A002
        **inputs: object,
    ) -> Self:
        """Return the text made from a template given as text."""
        frame = _getframe(1)
        template = object.__new__(cls)
        template.code = frame.f_code
        template.offset = frame.f_lasti
        _fill(template, partial(TemplateSource.from_text, source), (vars, inputs))
        return template


def _fill(
    component: Template, source: Callable[[], TemplateSource], given: tuple[Any, dict[str, object]]
) -> None:
    """Fill a template from its source and its variables, and place it."""
    component.content = ()
    component.mask = bits(TEXT) | HOLLOW
    component.options = DEFAULTS
    named, inputs = given
    try:
        component.template = source()
        variables = check_variables({} if named is None else named)
        for name in inputs:
            if name in variables:
                raise ContentError(
                    f"the variable {name!r} is given twice", fix="leave it out of vars"
                )
        component.variables = check_variables({**variables, **inputs})
    except PromptError as error:
        retract(found_in(given))
        raise error.located(component.source) from None
    place(component)


def call(lazy: nodes.Lazy, context: LazyContext) -> object:
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


async def acall(lazy: nodes.Lazy, context: LazyContext) -> object:
    """Return what the function of a lazy returns, awaited where it has to be."""
    with detached(), standing(lazy.overrides):
        returned = lazy.function(context)
        found = await returned if isawaitable(returned) else returned
        _refuse_open(lazy)
        return found


def _refuse_open(lazy: nodes.Lazy) -> None:
    block = open_block()
    if block is not None:
        raise ScopeError(
            f"the function of this Lazy left a {label(block)} open",
            fix="write blocks with `with`",
            at=(lazy.source, block.source),
        )


def part_of(returned: object, lazy: nodes.Lazy) -> Node | None:
    """Return the part that a lazy came to: text is a value.

    Raises :class:`ContentError` for what is neither text nor a part nor ``None``.
    """
    if returned is None:
        return None
    if isinstance(returned, Node):
        return finish(returned)
    if isinstance(returned, _VALUES) and not isinstance(returned, bool | Trusted):
        value = value_node(returned, lazy)
        return value if value.text else None
    parts = tuple(inline(returned, lazy))
    return make(nodes.Text, parts, mask=TEXT_BITS, at=lazy.at) if parts else None


_VALUES = (str, int, float, Decimal, Fraction)
