"""Templates that include a section which is overridden: what is written in its place."""

import inspect
from collections.abc import Mapping, Sequence
from functools import partial
from inspect import Parameter

from promptdsl.components.custom import CustomComponent, stand_in, written_by
from promptdsl.components.lazy_results import check_replaced
from promptdsl.components.overrides import components_called, difference, original_of, unfit
from promptdsl.components.replacements import restored
from promptdsl.components.scope import detached, place
from promptdsl.components.text import Volatile
from promptdsl.foundation.dedent import dedent_parts
from promptdsl.foundation.errors import PlacementError
from promptdsl.foundation.frozen import is_list
from promptdsl.foundation.labelled import Label
from promptdsl.foundation.library_section import LibrarySection
from promptdsl.foundation.source import note_caller
from promptdsl.templates.render import rendered_template
from promptdsl.templates.rendered import Inserted, Piece, RenderedTemplate
from promptdsl.tree.group_nodes import ComponentNode, FragmentNode
from promptdsl.tree.masks import BARE, HOLLOW
from promptdsl.tree.node import DEFAULTS, Child, named_label
from promptdsl.tree.part_nodes import (
    ParagraphNode,
    TemplateNode,
    TextNode,
    TrustedTextNode,
    ValueNode,
    VolatileNode,
)


def rendered_under_overrides(template: TemplateNode) -> RenderedTemplate:
    """Return the pieces of a template in which sections that it includes are overridden.

    Raises :class:`OptionError` for a function that does not take the inputs of such a section, and
    :class:`PlacementError` for a part that is no text.
    """
    stand_ins = {name: partial(_stand_in, template, name) for name, _ in template.overrides}
    return rendered_template(template.template, template.variables, stand_ins)


def _stand_in(
    template: TemplateNode, name: str, variables: Mapping[str, object], is_declared: bool
) -> RenderedTemplate:
    """Return what replaces a section that a template includes, as if it was written there."""
    inside = restored(template.overrides, check_replaced)
    entry = inside.of_component((name,), has_children=False)
    assert entry is not None
    function, by, section = stand_in(entry)
    taken = inspect.signature(function).parameters
    takes_all = is_declared or any(it.kind is Parameter.VAR_KEYWORD for it in taken.values())
    # A section without declared inputs sees all variables: a function takes the ones that it names.
    given = {key: value for key, value in variables.items() if takes_all or key in taken}
    original = original_of(components_called(name)[0])
    if problem := difference(original, function, ((), given)):
        raise unfit(name, original, (function, problem), (template.source, entry.line))
    block = object.__new__(CustomComponent)
    block.code, block.offset = template.code, template.offset
    block.name, block.by, block.section, block.running = name, by, section, None
    block.content, block.options, block.mask = (), DEFAULTS, HOLLOW | BARE
    with detached():
        place(block)
        inputs = {key: _as_given(value) for key, value in given.items()}
        try:
            written_by(partial(function, **inputs), block, inside.without(entry))
        except Exception as error:
            note_caller(error, template.source, f"the override of {name}")
            raise
    return _as_text(block, template, name)


def _as_given(value: object) -> object:
    """Return a variable of a template as its caller gave it: a volatile one is a part."""
    if isinstance(value, Label) and value.label is not None:
        plain: object = value
        for kind in (str, int, float):
            plain = kind(value) if isinstance(value, kind) else plain
        return Volatile(plain, value.label)
    return [*map(_as_given, value)] if is_list(value) else value


def _as_text(block: ComponentNode, template: TemplateNode, name: str) -> RenderedTemplate:
    """Return the texts in a component as pieces, with a blank line between two of them."""
    pieces: list[Piece] = []
    sections: dict[LibrarySection, None] = {}
    waiting: list[Child] = [block]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ComponentNode) or type(node) is FragmentNode:
            waiting += reversed(node.content)
            if isinstance(node, ComponentNode) and node.section is not None:
                sections[node.section] = None
            continue
        text: Sequence[Piece] = ()
        is_file = False
        match node:
            case str():
                text = (node,)
            case TextNode() | ParagraphNode():
                text = [_piece(part) for part in node.content]
            case ValueNode() | TrustedTextNode():
                text = (_piece(node),)
            case TemplateNode():
                text, _, its_sections = rendered_under_overrides(node)
                is_file = node.template.kind != "text"
                sections.update(dict.fromkeys(its_sections))
            case _:
                raise PlacementError(
                    f"{named_label(node)} replaces {name}, which this template includes as text",
                    fix="replace it by text: a string, a Text or a Template",
                    at=(template.source, node.source),
                )
        if not is_file and text and isinstance(text[0], str) and text[0][:1] in ("\n", "\r"):
            text = dedent_parts(text)
        pieces += ["\n\n", *text] if pieces and text else text
    return RenderedTemplate(tuple(pieces), None, tuple(sections))


def _piece(part: Child) -> Piece:
    """Return a part of a text as a piece of a template: author text, or a value."""
    if isinstance(part, ValueNode):
        return Inserted(part.text, part.label, isinstance(part, VolatileNode))
    assert isinstance(part, str | TrustedTextNode)
    return part if isinstance(part, str) else part.text
