"""The text that replaces an overridden library section when a template includes the section."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import cast

from promptdsl.components.block import finish
from promptdsl.components.custom import component_of, stand_in
from promptdsl.components.lazy import check_replaced
from promptdsl.components.overrides import components_called
from promptdsl.components.replacements import difference, replacing, restored, unfit
from promptdsl.components.scope import detached
from promptdsl.components.text import Volatile
from promptdsl.foundation.author_text import dedent_parts
from promptdsl.foundation.errors import PlacementError
from promptdsl.foundation.escaping import Label
from promptdsl.foundation.frozen import is_list
from promptdsl.foundation.guards import WrittenTags
from promptdsl.foundation.source import note_caller, source_of
from promptdsl.templates.compiler import Inserted, Piece
from promptdsl.templates.render import RenderedTemplate, rendered_template
from promptdsl.tree.node import Child, named_label
from promptdsl.tree.part_nodes import (
    ParagraphNode,
    TemplateNode,
    TextNode,
    TrustedTextNode,
    ValueNode,
    VolatileNode,
)
from promptdsl.tree.turn_nodes import ComponentNode, FragmentNode


def rendered_under_overrides(template: TemplateNode) -> RenderedTemplate:
    """Return the pieces of a template that was written where library sections are overridden."""
    stand_ins = {name: partial(_written, template, name) for name, _ in template.overrides}
    return rendered_template(template.template, template.variables, stand_ins)


def _written(template: TemplateNode, name: str, inputs: Mapping[str, object]) -> RenderedTemplate:
    """Return the text that replaces a section in a template, as if it was called there."""
    inside = restored(template.overrides, check_replaced)
    replacement = inside.of_component((name,), has_children=False)
    assert replacement is not None
    function, _, section = stand_in(replacement)
    original = components_called(name)[0].function
    if problem := difference(original, function, ((), inputs)):
        line = source_of((cast("FunctionType", function).__code__, 0))
        raise unfit(name, original, (function, problem), (template.source, line))
    try:
        with detached(), replacing(inside.without(replacement)):
            arguments = {key: _as_argument(value) for key, value in inputs.items()}
            part = component_of(function, "included")(**arguments)
    except Exception as error:
        note_caller(error, template.source, f"what replaces {name}")
        raise
    pieces: list[Piece] = []
    sections = {} if section is None else {section: None}
    tags: dict[WrittenTags, None] = {}
    waiting: list[Child] = [finish(part)]
    while waiting:
        node = waiting.pop()
        text: Sequence[Piece] = ()
        match node:
            case str() | ValueNode() | TrustedTextNode():
                text = (_piece(node),)
            case TextNode() | ParagraphNode():
                text = [_piece(child) for child in node.content]
            case TemplateNode():
                text, _, its_sections, its_tags = rendered_under_overrides(node)
                sections |= dict.fromkeys(its_sections)
                tags |= dict.fromkeys(its_tags)
                # A file is not indented like code.
                if node.template.kind != "text":
                    text = ("", *text)
            case FragmentNode() if node._node in (FragmentNode, ComponentNode):
                waiting += reversed(node.content)
                its_section = getattr(node, "section", None)
                if its_section is not None:
                    sections[its_section] = None
            case _:
                raise PlacementError(
                    f"{named_label(node)} replaces {name}, which this template includes as text",
                    fix="replace it by text: a string, a Text or a Template",
                    at=(template.source, node.source),
                )
        if text and isinstance(text[0], str) and text[0][:1] in ("\n", "\r"):
            text = dedent_parts(text)
        if pieces and text:
            pieces.append("\n\n")
        pieces += text
    return RenderedTemplate(tuple(pieces), None, tuple(sections), tuple(tags))


def _as_argument(value: object) -> object:
    """Return a variable of a template as an argument: a volatile value becomes a part again."""
    if isinstance(value, Label) and value.label is not None:
        return Volatile(+value if isinstance(value, int | float) else str(value), value.label)
    return [*map(_as_argument, value)] if is_list(value) else value


def _piece(part: Child) -> Piece:
    """Return a child of a text as a piece of a template: author text, or a value."""
    if isinstance(part, ValueNode):
        return Inserted(part.text, part.label, isinstance(part, VolatileNode))
    assert isinstance(part, str | TrustedTextNode)
    return part if isinstance(part, str) else part.text
