"""Text made from a Jinja template when the prompt is rendered."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from os import PathLike
from typing import Self, cast

from promptdsl.components.arguments import adopt_values
from promptdsl.components.overrides import section_at
from promptdsl.components.replacements import kept_overrides
from promptdsl.components.scope import Component, open_block, place, retract, start
from promptdsl.foundation.errors import ContentError, PromptError, TemplateError
from promptdsl.foundation.frozen import is_mapping
from promptdsl.foundation.labelled import labelled
from promptdsl.foundation.signatures import LEFT_OUT
from promptdsl.foundation.source import author, door
from promptdsl.messages.field_checks import kind_of
from promptdsl.templates.source import TemplateSource, check_inputs
from promptdsl.templates.template_folder import WhiteSpace
from promptdsl.templates.variables import check_variables
from promptdsl.tree.masks import HOLLOW, TEXT, bits
from promptdsl.tree.node import Node, named_label, nodes_in
from promptdsl.tree.part_nodes import TemplateNode, VolatileNode

_SECTION = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*:[^/\\:\s{]")
"""How the qualified name of a section begins, and no path and no text does."""


class Template(Component, TemplateNode):
    """Text made from a Jinja template when the prompt is rendered.

    ``name`` is that of a template in a registered folder, the path of a file, or the qualified name
    of a section of an installed library, such as ``"support:refunds"``; ``Template.from_string``
    takes the template itself, ``Template.from_format`` a text for ``str.format``. Its text is
    author text. ``vars``, a mapping, and all keywords are its variables: plain data, which is
    encoded as a :class:`Value` is. An instance of a dataclass or an attrs class is a mapping of its
    fields; ``trusted(text)`` marks a string as author text, and a :class:`Volatile` keeps its label
    where it is inserted unchanged. A keyword that the template never names is a hint.

    Raises :class:`ContentError` for variables that are no plain data, and :class:`TemplateError`
    for a text that marks one as ``{name}`` or ``$name``, and for inputs that do not fit the front
    matter of a text or a section; :class:`LibraryError` for an unknown library or section. Any
    other mistake in the template is a :class:`TemplateError` when it is rendered.

    >>> from promptdsl import System, Template, render
    >>> system = System(Template.from_string("You help {{ name }}.", name="Ann"))
    >>> render(system).messages[0].text
    'You help Ann.'
    """

    __slots__ = ()
    _initial_mask = bits(TEXT) | HOLLOW

    def __new__(
        cls,
        name: str | PathLike[str],
        /,
        vars: Mapping[str, object] | None = None,  # noqa: A002 (the field's word)
        **inputs: object,
    ) -> Self:
        """Return the component of a section for a qualified name, and a template for another."""
        if isinstance(name, str) and ":" in name and _SECTION.match(name):
            # The component of a section: then Python does not call __init__.
            return cast("Self", _section(name, vars, inputs))
        return object.__new__(cls)

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
        *,
        trim_blocks: bool = True,
        lstrip_blocks: bool = True,
        keep_trailing_newline: bool = False,
        **inputs: object,
    ) -> Self:
        """Return the text made from a template given as text.

        Jinja's settings of white space are those of :func:`register_templates`. A text that begins
        with a line end is dedented, unless ``keep_trailing_newline`` keeps all line ends around it.
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
        """Return the text made from one that was written for ``str.format``.

        A field is the name of a variable; ``{{`` and ``}}`` are braces of the text. The variables
        are values, as those of a Jinja template are. The text is sent with the line ends around it.

        Raises :class:`TemplateError` for a field that is more than a name, for one without a
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


# As that of any required argument that is left out.
Template.__new__.__defaults__ = (LEFT_OUT, None)


@door
def _section(name: str, mapping: object, inputs: dict[str, object]) -> object:
    """Return a section of an installed library, with its inputs as a template takes variables."""
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
    return ContentError(f"the variable {name!r} is given twice", fix="leave it out of vars")


def section_text(source: TemplateSource, inputs: dict[str, object]) -> Template:
    """Return the template of a section, written into the open block of its component."""
    template = object.__new__(Template)
    _begin_template(template, lambda: source, None, inputs, at=open_block())
    return template


@door
def _begin_template(
    component: Template,
    source: Callable[[], TemplateSource],
    mapping: Mapping[str, object] | None,
    inputs: dict[str, object],
    *,
    at: Node | None = None,
) -> None:
    """Fill a template, and put it into the open block; its line is that of ``at`` or its author."""
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
                fix="write it beside the Template, as a part of its own",
                at=(component.source,),
            ) from None
        raise error.located(component.source) from None
    place(component)


def _check_braces(component: Template) -> None:
    source, text = component.template, component.template.value
    if source.kind != "text" or source.is_format or "{{" in text or "{%" in text:
        return
    for name in component.variables:
        for mark in (f"{{{name}}}", f"${name}", f"${{{name}}}", f"%({name})s"):
            if mark in text:
                problem = f"{mark} in a template is text, not the variable {name!r}"
                other = f", or Template.from_format(text) for {mark}" if mark[0] == "{" else ""
                raise TemplateError(problem, fix=f"write {{{{ {name} }}}}{other}")
