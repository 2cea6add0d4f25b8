"""The component :class:`Template`: text from a Jinja template, made when the prompt is rendered.

:func:`_begin_template` makes each of them. ``templates/`` reads and renders the templates.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from os import PathLike
from typing import Never, Self, cast

from promptdsl.components.arguments import adopt_values
from promptdsl.components.overrides import section_at
from promptdsl.components.replacements import current_overrides
from promptdsl.components.scope import Component, join_open_block, open_block, retract, start
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
"""The beginning of a section's qualified name, such as ``support:refunds``; no path matches it."""


class Template(Component, TemplateNode):
    """Text made from a Jinja template when the prompt is rendered.

    ``name`` is the name of a template in a registered folder, the path of a file, or the qualified
    name of a section of an installed library, such as ``"support:refunds"``.
    ``Template.from_string`` takes the text of the template, ``Template.from_format`` a text for
    ``str.format``. The text of the template is author text.

    ``vars``, a mapping, and all keywords are the variables. They are plain data, and are encoded
    like a :class:`Value`. An instance of a dataclass or an attrs class becomes a mapping of its
    fields. ``trusted(text)`` marks a string as author text. A :class:`Volatile` keeps its label if
    the template inserts it unchanged. A hint reports a keyword that the template never uses.

    Raises :class:`ContentError` for variables that are not plain data, :class:`LibraryError` for an
    unknown library or section. Raises :class:`TemplateError` for a text with a variable written as
    ``{name}`` or ``$name``, and for inputs that do not fit the front matter of a text or a section.
    Other mistakes in a template raise :class:`TemplateError` when it is rendered.

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
        *extra: Never,
        **inputs: object,
    ) -> Self:
        """Return a new template, or for the qualified name of a section the component of it."""
        if extra:
            problem = f"{shown(extra[0])} is a variable without a name"
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

        The three settings for white space are Jinja's; :func:`register_templates` explains them. A
        text that begins with a line end is dedented and loses the line ends around it, unless
        ``keep_trailing_newline`` is ``True``. The errors are those of :class:`Template`.
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
        are values, as in a Jinja template. The line ends around the text are sent.

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


# Every required argument gets this default, because promptdsl raises the error if it is missing.
Template.__new__.__defaults__ = (LEFT_OUT, None)


@public_api
def _section(name: str, mapping: object, inputs: dict[str, object]) -> object:
    """Return a section of an installed library; its inputs are the variables of the template.

    Raises :class:`LibraryError` for an unknown library or section, :class:`ContentError` for
    variables that are not a mapping, or are passed twice.
    """
    try:
        section = section_at(name)
    except PromptError as error:
        raise error.located(author()) from error.__cause__
    if mapping is None:
        return section(**inputs)
    if not is_mapping(mapping):
        problem = f"the variables of a template must be a mapping, not {kind_of(mapping)}"
        raise ContentError(problem, fix='write vars={"name": value}', at=(author(),))
    for key in inputs:
        if key in mapping:
            raise _passed_twice(key).located(author())
    return section(**mapping, **inputs)


def _passed_twice(name: str) -> ContentError:
    return ContentError(f"the variable {name!r} is passed twice", fix="leave it out of vars")


def section_text(source: TemplateSource, inputs: dict[str, object]) -> Template:
    """Return the template of a library section; its line is that of the section's component.

    The component of the section is the open block.
    """
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
    """Fill a new template, and put it into the open block.

    Its line is the line of the node ``at``, or the author's line. The errors are those of
    :class:`Template`.
    """
    start(component, 4)
    if at is not None:
        component._code, component._offset = at._code, at._offset
    volatile: list[VolatileNode] = []

    def volatile_text(value: object) -> object:
        if not isinstance(value, VolatileNode):
            return None
        volatile.append(value)
        return labelled(value.plain, value.label or "")

    try:
        component.template = source()
        variables: Mapping[str, object] = {}
        if mapping is not None:
            variables = check_variables(mapping, volatile_text)
        for name in inputs:
            if name in variables:
                raise _passed_twice(name)
        variables = check_variables({**variables, **inputs}, volatile_text)
        component.variables = check_inputs(component.template, variables)
        component.keywords = tuple(inputs)
        component.overrides = current_overrides(of_sections=True)
        _check_braces(component)
        if volatile:
            adopt_values(component, volatile)
    except PromptError as error:
        nodes = nodes_in(mapping, inputs)
        retract(nodes)
        nodes = [node for node in nodes if not isinstance(node, VolatileNode)]
        if nodes:
            raise ContentError(
                f"{named_label(nodes[0])} cannot be a variable of a template",
                fix="write it next to the Template, as a separate part",
                at=(component.source,),
            ) from None
        raise error.located(component.source) from None
    join_open_block(component)


def _check_braces(component: Template) -> None:
    """Raise :class:`TemplateError` for a text with a field in another syntax, such as ``{name}``.

    A text that uses Jinja is not checked, because such a field is probably part of the text.
    """
    source, text = component.template, component.template.value
    if source.kind != "text" or source.is_format or "{{" in text or "{%" in text:
        return
    for name in component.variables:
        for field in (f"{{{name}}}", f"${name}", f"${{{name}}}", f"%({name})s"):
            if field in text:
                problem = f"{field} in a template is text, not the variable {name!r}"
                alternative = ""
                if field[0] == "{":
                    alternative = f", or Template.from_format(text) for {field}"
                raise TemplateError(problem, fix=f"write {{{{ {name} }}}}{alternative}")
