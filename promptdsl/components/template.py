"""Text made from a Jinja template when the prompt is rendered."""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from os import PathLike
from typing import Any, Self

from promptdsl.components.arguments import retract
from promptdsl.components.block import Written
from promptdsl.components.scope import place
from promptdsl.foundation.errors import ContentError, PromptError
from promptdsl.templates import TemplateSource, check_variables
from promptdsl.tree.masks import HOLLOW, TEXT, bits
from promptdsl.tree.node import DEFAULTS, found_in
from promptdsl.tree.part_nodes import TemplateNode

_getframe = sys._getframe  # pyright: ignore[reportPrivateUsage]


class Template(Written, TemplateNode):
    """Text made from a Jinja template when the prompt is rendered.

    ``name`` is that of a template in a registered folder, or the path of a file. Its text is
    author text. ``vars`` and keywords are plain data, and values wherever the template puts them;
    :func:`trusted` makes author text of one.

    Raises :class:`ContentError` for what is no plain data. What is wrong with the template itself
    is a :class:`TemplateError` when it is rendered.
    """

    __slots__ = ()

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
