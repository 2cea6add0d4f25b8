"""Facts about a template without running it: the variables it needs, the files it includes."""

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
    """The names in a template, with their lines.

    ``required`` are the variables without which it fails. ``used`` are all that it may use, or
    ``None`` where another template may use its variables. ``includes`` are the names of other
    templates. ``inputs`` are ``None`` without front matter.
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
    """Return the facts of a template, or why it cannot be used."""
    try:
        front, body = split(text, name)
        tree = checked_tree(sandbox(), body, name, front.lines if front else 0)
        inputs = None if front is None else front.inputs
        if inputs is not None:
            check_names(tree, [declared.name for declared in inputs], name)
    except Exception as error:
        line = error.lineno if isinstance(error, TemplateSyntaxError) else 0
        return WrongTemplate(template_error(error, {}, None), line)
    tested = {"defined", "undefined", "default", "d"}  # these accept an undefined name
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
    for inclusion in tree.find_all((nodes.Include, nodes.Extends, nodes.Import, nodes.FromImport)):
        target = cast("nodes.Include", inclusion).template
        if isinstance(target, nodes.Const) and not getattr(inclusion, "ignore_missing", False):
            includes.append((str(target.value), inclusion.lineno))
    return TemplateFacts(required, names_in(tree), tuple(includes), inputs)
