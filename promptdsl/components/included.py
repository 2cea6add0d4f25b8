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
from promptdsl.foundation.source import LibrarySection, note_caller, source_of
from promptdsl.templates.compiler import Inserted, Piece
from promptdsl.templates.render import RenderedTemplate, rendered_template
from promptdsl.tree.node import Child, Node, named_label
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
    """Return a template, rendered, that was written where library sections are overridden."""
    stand_ins = {name: partial(_replaced, template, name) for name, _ in template.overrides}
    return rendered_template(template.template, template.variables, stand_ins)


def _replaced(template: TemplateNode, name: str, inputs: Mapping[str, object]) -> RenderedTemplate:
    """Return the text that replaces a section in a template, as if it was called there."""
    part, section = _called(template, name, inputs)
    text = _text_of(part, template, name)
    if section is None:
        return text
    return text._replace(sections=tuple(dict.fromkeys((section, *text.sections))))


def _called(
    template: TemplateNode, name: str, inputs: Mapping[str, object]
) -> tuple[Node, LibrarySection | None]:
    """Return what the replacement of a section returns for inputs, and its library section."""
    replacements = restored(template.overrides, check_replaced)
    replacement = replacements.of_component((name,), has_children=False)
    assert replacement is not None
    function, _, section = stand_in(replacement)
    original = components_called(name)[0].function
    # override() has checked the parameters; here they are checked for the inputs of the template.
    if problem := difference(original, function, ((), inputs)):
        line = source_of((cast("FunctionType", function).__code__, 0))
        raise unfit(name, original, (function, problem), (template.source, line))
    try:
        # As a component, the function may return a string or write parts. A call of the section in
        # it gets the replacement that was in force before.
        with detached(), replacing(replacements.without(replacement)):
            arguments = {key: _as_argument(value) for key, value in inputs.items()}
            part = component_of(function, "included")(**arguments)
    except Exception as error:
        note_caller(error, template.source, f"what replaces {name}")
        raise
    return finish(part), section


def _text_of(part: Node, template: TemplateNode, name: str) -> RenderedTemplate:
    """Return a part that replaces a section as text: its paragraphs, with blank lines between them.

    Raises :class:`PlacementError` for a part that is no text.
    """
    pieces: list[Piece] = []
    # Dictionaries without values, because a set does not keep the order of the first use.
    sections: dict[LibrarySection, None] = {}
    tags: dict[WrittenTags, None] = {}
    waiting: list[Child] = [part]
    while waiting:
        node = waiting.pop()
        paragraph: Sequence[Piece] = ()
        match node:
            case str() | ValueNode() | TrustedTextNode():
                paragraph = _dedented([_as_piece(node)])
            case TextNode() | ParagraphNode():
                paragraph = _dedented([_as_piece(child) for child in node.content])
            case TemplateNode():
                rendered = rendered_under_overrides(node)
                sections |= dict.fromkeys(rendered.sections)
                tags |= dict.fromkeys(rendered.tags)
                if node.template.kind == "text":
                    paragraph = _dedented(rendered.pieces)
                else:
                    # A file is not indented like code. With an empty text before it, an empty file
                    # is a paragraph, too.
                    paragraph = ("", *rendered.pieces)
            # Without subclasses: a group or a format does more than hold parts.
            case FragmentNode() if node._node in (FragmentNode, ComponentNode):
                waiting += reversed(node.content)
                section = getattr(node, "section", None)
                if section is not None:
                    sections[section] = None
            case _:
                raise PlacementError(
                    f"{named_label(node)} replaces {name}, which this template includes as text",
                    fix="replace it by text: a string, a Text or a Template",
                    at=(template.source, node.source),
                )
        if pieces and paragraph:
            pieces.append("\n\n")
        pieces += paragraph
    return RenderedTemplate(tuple(pieces), None, tuple(sections), tuple(tags))


def _dedented(text: Sequence[Piece]) -> Sequence[Piece]:
    """Return a text without the indentation of code, which it has if it begins with a line end."""
    if text and isinstance(text[0], str) and text[0][:1] in ("\n", "\r"):
        return dedent_parts(text)
    return text


def _as_argument(value: object) -> object:
    """Return a variable of a template as an argument: a volatile value becomes a part again."""
    if isinstance(value, Label) and value.label is not None:
        # The result of an operation on a value has no label: the part gets it.
        unlabelled = +value if isinstance(value, int | float) else str(value)
        return Volatile(unlabelled, value.label)
    return [*map(_as_argument, value)] if is_list(value) else value


def _as_piece(part: Child) -> Piece:
    """Return a child of a text as a piece of a template: author text, or a value."""
    if isinstance(part, ValueNode):
        return Inserted(part.text, part.label, isinstance(part, VolatileNode))
    assert isinstance(part, str | TrustedTextNode)
    return part if isinstance(part, str) else part.text
