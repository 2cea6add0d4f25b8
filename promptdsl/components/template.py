"""Text made from a Jinja template when the prompt is rendered."""

from collections.abc import Callable, Mapping
from functools import partial
from os import PathLike
from typing import Self

from promptdsl.components.arguments import adopt_values
from promptdsl.components.scope import Component, place, retract, start
from promptdsl.foundation.errors import ContentError, PromptError, TemplateError
from promptdsl.foundation.labelled import labelled
from promptdsl.foundation.source import door
from promptdsl.templates import TemplateSource, check_variables
from promptdsl.tree.masks import HOLLOW, TEXT, bits
from promptdsl.tree.node import found_in, named_label
from promptdsl.tree.part_nodes import TemplateNode, VolatileNode


class Template(Component, TemplateNode):
    """Text made from a Jinja template when the prompt is rendered.

    ``name`` is that of a template in a registered folder, or the path of a file;
    ``Template.from_string`` takes the template itself. Its text is author text. ``vars``, a
    mapping, and all keywords are its variables: plain data, which is encoded as a :class:`Value`
    is; ``trusted(text)`` marks a string as author text, and a :class:`Volatile` keeps its label
    where it is inserted unchanged. A keyword that the template never names is a hint.

    Raises :class:`ContentError` for variables that are no plain data, and :class:`TemplateError`
    for a text that marks one as ``{name}`` or ``$name``. Any other mistake in the template is a
    :class:`TemplateError` when it is rendered.

    >>> from promptdsl import System, Template, render
    >>> system = System(Template.from_string("You help {{ name }}.", name="Ann"))
    >>> render(system).messages[0].text
    'You help Ann.'
    """

    __slots__ = ()
    _own = bits(TEXT) | HOLLOW

    def __init__(
        self,
        name: str | PathLike[str],
        /,
        vars: Mapping[str, object] | None = None,  # noqa: A002 (the field's word)
        **inputs: object,
    ) -> None:
        _begin_template(self, partial(TemplateSource.of, name), vars, inputs)

    @classmethod
    def from_string(
        cls,
        source: str,
        /,
        vars: Mapping[str, object] | None = None,  # noqa: A002 (the field's word)
        **inputs: object,
    ) -> Self:
        """Return the text made from a template given as text."""
        template = object.__new__(cls)
        _begin_template(template, partial(TemplateSource.from_text, source), vars, inputs)
        return template


@door
def _begin_template(
    component: Template,
    source: Callable[[], TemplateSource],
    mapping: Mapping[str, object] | None,
    inputs: dict[str, object],
) -> None:
    """Fill a template from its source and its variables, and put it into the open block."""
    start(component, 4)
    volatile: list[VolatileNode] = []

    def known(value: object) -> object:
        if not isinstance(value, VolatileNode):
            return None
        volatile.append(value)
        return labelled(value.plain, value.label or "")

    try:
        component.template = source()
        variables = check_variables({} if mapping is None else mapping, known)
        for name in inputs:
            if name in variables:
                raise ContentError(
                    f"the variable {name!r} is given twice", fix="leave it out of vars"
                )
        component.variables = check_variables({**variables, **inputs}, known)
        component.keywords = tuple(inputs)
        _check_braces(component)
        if volatile:
            adopt_values(component, volatile)
    except PromptError as error:
        parts = found_in(mapping, inputs)
        retract(parts)
        parts = [part for part in parts if not isinstance(part, VolatileNode)]
        if parts:
            raise ContentError(
                f"{named_label(parts[0])} cannot be a variable of a template",
                fix="write it beside the Template, as a part of its own",
                at=(component.source,),
            ) from None
        raise error.located(component.source) from None
    place(component)


def _check_braces(component: Template) -> None:
    """Raise :class:`TemplateError` for a text that marks a variable in another library's way."""
    text = component.template.value
    if component.template.kind != "text" or "{{" in text or "{%" in text:
        return
    for name in component.variables:
        for mark in (f"{{{name}}}", f"${name}", f"${{{name}}}", f"%({name})s"):
            if mark in text:
                problem = f"{mark} in a template is text, not the variable {name!r}"
                raise TemplateError(problem, fix=f"write {{{{ {name} }}}}")
