"""The template: text that is made from a Jinja template when the prompt is rendered."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from os import PathLike
from typing import Never, Self, cast

from promptdsl.components.arguments import adopt_values
from promptdsl.components.overrides import section_at
from promptdsl.components.replacements import kept_overrides
from promptdsl.components.scope import Component, location, open_block, retract, start
from promptdsl.foundation.errors import (
    ContentError,
    OptionError,
    PromptError,
    TemplateError,
    shown,
)
from promptdsl.foundation.escaping import labelled
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.source import LEFT_OUT, author, public_api
from promptdsl.messages.field_checks import kind_of
from promptdsl.templates.limits import WhiteSpace
from promptdsl.templates.sources import TemplateSource, check_inputs
from promptdsl.templates.variables import check_variables
from promptdsl.tree.masks import OPAQUE, TEXT, bits
from promptdsl.tree.node import Node, named_label, nodes_in
from promptdsl.tree.part_nodes import TemplateNode, VolatileNode

_SECTION = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*:[^/\\:\s{]")
"""The beginning of a section's qualified name; no path and no text begins like this."""


class Template(Component, TemplateNode):
    """Text made from a Jinja template when the prompt is rendered.

    ``name`` is the name of a template in a registered folder, the path of a file, or the qualified
    name of a section of an installed library, such as ``"support:refunds"``.
    ``Template.from_string`` takes the template itself, ``Template.from_format`` a text for
    ``str.format``. The text of the template is author text.

    ``vars``, a mapping, and all keywords are the variables: plain data, which is encoded like a
    :class:`Value`. An instance of a dataclass or an attrs class becomes a mapping of its fields.
    ``trusted(text)`` marks a string as author text. A :class:`Volatile` keeps its label if the
    template inserts it unchanged. A keyword that the template never uses is reported as a hint.

    Raises :class:`ContentError` for variables that are not plain data. Raises
    :class:`TemplateError` for a text with a variable written as ``{name}`` or ``$name``, and for
    inputs that do not fit the front matter of a text or a section. Raises :class:`LibraryError` for
    an unknown library or section. Any other mistake in the template is a :class:`TemplateError`
    when it is rendered.

    >>> from promptdsl import System, Template, render
    >>> system = System(Template.from_string("You help {{ name }}.", name="Ann"))
    >>> render(system).messages[0].text
    'You help Ann.'
    """

    __slots__ = ()
    _initial_mask = bits(TEXT) | OPAQUE

    def __new__(
        cls,
        name: str | PathLike[str],
        /,
        vars: Mapping[str, object] | None = None,  # noqa: A002 (the field's word)
        *more: Never,
        **inputs: object,
    ) -> Self:
        """Return a template; for the qualified name of a section, the section's component."""
        if more:
            problem = f"{shown(more[0])} is a variable without a name"
            raise OptionError(problem, fix="write Template(name, plan=plan)", at=(author(),))
        if isinstance(name, str) and ":" in name and _SECTION.match(name):
            # This is not a Template, so Python does not call __init__.
            return cast("Self", _section(name, vars, inputs))
        return object.__new__(cls)

    def __init__(
        self,
        name: str | PathLike[str],
        /,
        vars: Mapping[str, object] | None = None,  # noqa: A002 (the field's word)
        *_: Never,
        **inputs: object,
    ) -> None:
        _begin_template(self, partial(TemplateSource.of, name), vars, inputs)

    @classmethod
    def from_string(
        cls,
        source: str,
        /,
        vars: Mapping[str, object] | None = None,  # noqa: A002 (the field's word)
        *,
        trim_blocks: bool = True,
        lstrip_blocks: bool = True,
        keep_trailing_newline: bool = False,
        **inputs: object,
    ) -> Self:
        """Return the text that is made from a template in a string.

        Jinja's settings for white space are those of :func:`register_templates`. A text that begins
        with a line end is dedented, unless ``keep_trailing_newline`` keeps the line ends around it.
        """
        template = object.__new__(cls)
        white_space = WhiteSpace(trim_blocks, lstrip_blocks, keep_trailing_newline)
        text = partial(TemplateSource.from_text, source, white_space)
        _begin_template(template, text, vars, inputs)
        return template

    @classmethod
    def from_format(
        cls,
        source: str,
        /,
        vars: Mapping[str, object] | None = None,  # noqa: A002 (the field's word)
        **inputs: object,
    ) -> Self:
        """Return the text that is made from a string for ``str.format``.

        A field is the name of a variable; ``{{`` and ``}}`` are braces of the text. The variables
        are values, as in a Jinja template. The line ends around the text are sent, too.

        Raises :class:`TemplateError` for a field that is not only a name, for a field without a
        variable, and for a single brace.

        >>> from promptdsl import System, Template, render
        >>> system = System(Template.from_format("Use {shell}, as in {{ls}}.", shell="zsh"))
        >>> render(system).messages[0].text
        'Use zsh, as in {ls}.'
        """
        template = object.__new__(cls)
        text = partial(TemplateSource.from_text, source, is_format=True)
        _begin_template(template, text, vars, inputs)
        return template


# The default of every required argument: promptdsl raises the error if it is left out.
Template.__new__.__defaults__ = (LEFT_OUT, None)


@public_api
def _section(name: str, mapping: object, inputs: dict[str, object]) -> object:
    """Return a section of an installed library; its inputs are the variables of the template."""
    try:
        section = section_at(name)
    except PromptError as error:
        raise error.located(author()) from error.__cause__
    if mapping is None:
        return section(**inputs)
    if not is_mapping(mapping):
        problem = f"the variables of a template are a mapping, not {kind_of(mapping)}"
        raise ContentError(problem, fix='write vars={"name": value}', at=(author(),))
    for key in inputs:
        if key in mapping:
            raise _given_twice(key).located(author())
    return section(**mapping, **inputs)


def _given_twice(name: str) -> ContentError:
    return ContentError(f"the variable {name!r} is passed twice", fix="leave it out of vars")


def section_text(source: TemplateSource, inputs: dict[str, object]) -> Template:
    """Return the template of a library section, in the open block of its component."""
    template = object.__new__(Template)
    _begin_template(template, lambda: source, None, inputs, at=open_block())
    return template


@public_api
def _begin_template(
    component: Template,
    source: Callable[[], TemplateSource],
    mapping: Mapping[str, object] | None,
    inputs: dict[str, object],
    *,
    at: Node | None = None,
) -> None:
    """Fill a template, and put it into the open block.

    Its line is that of the node ``at``, or the author's line.
    """
    start(component, 4)
    if at is not None:
        component._code, component._offset = at._code, at._offset
    volatile: list[VolatileNode] = []

    def known(value: object) -> object:
        if not isinstance(value, VolatileNode):
            return None
        volatile.append(value)
        return labelled(value.plain, value.label or "")

    try:
        component.template = source()
        variables: Mapping[str, object] = {}
        if mapping is not None:
            variables = check_variables(mapping, known)
        for name in inputs:
            if name in variables:
                raise _given_twice(name)
        variables = check_variables({**variables, **inputs}, known)
        component.variables = check_inputs(component.template, variables)
        component.keywords = tuple(inputs)
        component.overrides = kept_overrides(of_sections=True)
        _check_braces(component)
        if volatile:
            adopt_values(component, volatile)
    except PromptError as error:
        parts = nodes_in(mapping, inputs)
        retract(parts)
        parts = [part for part in parts if not isinstance(part, VolatileNode)]
        if parts:
            raise ContentError(
                f"{named_label(parts[0])} cannot be a variable of a template",
                fix="write it next to the Template, as a part of its own",
                at=(component.source,),
            ) from None
        raise error.located(component.source) from None
    location(component)


def _check_braces(component: Template) -> None:
    source, text = component.template, component.template.value
    if source.kind != "text" or source.is_format or "{{" in text or "{%" in text:
        return
    for name in component.variables:
        for field in (f"{{{name}}}", f"${name}", f"${{{name}}}", f"%({name})s"):
            if field in text:
                problem = f"{field} in a template is text, not the variable {name!r}"
                other = f", or Template.from_format(text) for {field}" if field[0] == "{" else ""
                raise TemplateError(problem, fix=f"write {{{{ {name} }}}}{other}")
