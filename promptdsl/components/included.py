"""The text of a template that includes library sections while ``override()`` replaces them.

:func:`rendered_under_overrides` renders such a template. The functions after it call the function
that replaces a section, and make the text of its result.
"""

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
    """Render a template that was written in a block that overrides library sections."""
    stand_ins = {name: partial(_replaced, template, name) for name, _ in template.overrides}
    return rendered_template(template.template, template.variables, stand_ins)


def _replaced(template: TemplateNode, name: str, inputs: Mapping[str, object]) -> RenderedTemplate:
    """Return the text that the template gets instead of the section ``name``."""
    node, section = _replacing_node(template, name, inputs)
    text = _text_of(node, template, name)
    if section is None:
        return text
    return text._replace(sections=tuple(dict.fromkeys((section, *text.sections))))


def _replacing_node(
    template: TemplateNode, name: str, inputs: Mapping[str, object]
) -> tuple[Node, LibrarySection | None]:
    """Call what replaces the section ``name``; return the result, and its library section if any.

    Raises :class:`OptionError` if it does not take these inputs. An error that its function raises
    gets a note with the line of the template.
    """
    replacements = restored(template.overrides, check_replaced)
    replacement = replacements.of_component((name,), has_children=False)
    assert replacement is not None
    function, _, section = stand_in(replacement)
    original = components_called(name)[0].function
    # override() checked the parameters. The inputs of the template are known only now.
    if problem := difference(original, function, ((), inputs)):
        line = source_of((cast("FunctionType", function).__code__, 0))
        raise unfit(name, original, (function, problem), (template.source, line))
    try:
        # It is called as a component, because it may return a string or write parts. If it calls
        # the section that it replaces, it gets the next replacement, or the section itself.
        with detached(), replacing(replacements.without(replacement)):
            arguments = {key: _as_argument(value) for key, value in inputs.items()}
            node = component_of(function, "included")(**arguments)
    except Exception as error:
        note_caller(error, template.source, f"what replaces {name}")
        raise
    return finish(node), section


def _text_of(replacing_node: Node, template: TemplateNode, name: str) -> RenderedTemplate:
    """Return the text of a node that replaces a section: its paragraphs, with blank lines between.

    Raises :class:`PlacementError` for a node that is not text.
    """
    pieces: list[Piece] = []
    # Dictionaries without values instead of sets, because they keep the order of the first use.
    sections: dict[LibrarySection, None] = {}
    tags: dict[WrittenTags, None] = {}
    child_stack: list[Child] = [replacing_node]
    while child_stack:
        node = child_stack.pop()
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
                    # A file is not indented like code. An empty file is a paragraph, too: therefore
                    # an empty text comes before it.
                    paragraph = ("", *rendered.pieces)
            # Subclasses are not taken: a group or a format does more than hold nodes.
            case FragmentNode() if node._node in (FragmentNode, ComponentNode):
                child_stack += reversed(node.content)
                section = getattr(node, "section", None)
                if section is not None:
                    sections[section] = None
            case _:
                raise PlacementError(
                    f"{named_label(node)} replaces {name}, which this template includes as text",
                    fix="replace the section by text: a string, a Text or a Template",
                    at=(template.source, node.source),
                )
        if pieces and paragraph:
            pieces.append("\n\n")
        pieces += paragraph
    return RenderedTemplate(tuple(pieces), None, tuple(sections), tuple(tags))


def _dedented(text: Sequence[Piece]) -> Sequence[Piece]:
    """Return a text without the indentation of the code around it.

    Only a text that begins with a line end has such an indentation.
    """
    if text and isinstance(text[0], str) and text[0][:1] in ("\n", "\r"):
        return dedent_parts(text)
    return text


def _as_argument(value: object) -> object:
    """Return a variable of a template as an argument: a volatile value becomes a ``Volatile``."""
    if isinstance(value, Label) and value.label is not None:
        # The result of ``+`` or ``str()`` has no label, so the Volatile gets it.
        unlabelled = +value if isinstance(value, int | float) else str(value)
        return Volatile(unlabelled, value.label)
    return [*map(_as_argument, value)] if is_list(value) else value


def _as_piece(child: Child) -> Piece:
    """Return a child of a text as a piece of a template: author text, or a value."""
    if isinstance(child, ValueNode):
        return Inserted(child.text, child.label, isinstance(child, VolatileNode))
    assert isinstance(child, str | TrustedTextNode)
    return child if isinstance(child, str) else child.text
