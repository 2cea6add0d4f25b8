"""What a template says about itself, without running it: the names that it needs and includes."""

from collections.abc import Mapping
from typing import NamedTuple, cast

from jinja2 import nodes
from jinja2.exceptions import TemplateSyntaxError
from jinja2.meta import find_undeclared_variables

from promptdsl.foundation.errors import TemplateError
from promptdsl.templates.compiler import check_names, checked_tree, names_in
from promptdsl.templates.environment import sandbox
from promptdsl.templates.front_matter import split
from promptdsl.templates.inputs import Input
from promptdsl.templates.render import template_error


class TemplateFacts(NamedTuple):
    """The names of a template: those it fails without, each with its line, and all it may use.

    ``used`` is ``None`` where another template may use its variables. ``includes`` are the names of
    other templates, with their lines. ``inputs`` are ``None`` without front matter.
    """

    required: Mapping[str, int]
    used: frozenset[str] | None
    includes: tuple[tuple[str, int], ...]
    inputs: tuple[Input, ...] | None


class WrongTemplate(NamedTuple):
    """Why a template cannot be read, and its line; 0 where that is not known."""

    problem: TemplateError
    line: int


def template_facts(text: str, name: str | None = None) -> TemplateFacts | WrongTemplate:
    """Return what a template says, or why it cannot be used."""
    try:
        front, body = split(text, name)
        tree = checked_tree(sandbox(), body, name, front.lines if front else 0)
        inputs = None if front is None else front.inputs
        if inputs is not None:
            check_names(tree, [it.name for it in inputs], name)
    except Exception as error:
        line = error.lineno if isinstance(error, TemplateSyntaxError) else 0
        return WrongTemplate(template_error(error, {}, None), line)
    tested = {"defined", "undefined", "default", "d"}  # these take a name that is not there
    optional = {
        node.node.name
        for node in tree.find_all((nodes.Test, nodes.Filter))
        if node.name in tested and isinstance(node.node, nodes.Name)
    }
    undeclared = find_undeclared_variables(tree) - optional - {*sandbox().globals}
    required: dict[str, int] = {}
    for node in tree.find_all(nodes.Name):
        if node.name in undeclared:
            required.setdefault(node.name, node.lineno)
    includes: list[tuple[str, int]] = []
    for found in tree.find_all((nodes.Include, nodes.Extends, nodes.Import, nodes.FromImport)):
        asked = cast("nodes.Include", found).template
        if isinstance(asked, nodes.Const) and not getattr(found, "ignore_missing", False):
            includes.append((str(asked.value), found.lineno))
    return TemplateFacts(required, names_in(tree), tuple(includes), inputs)
