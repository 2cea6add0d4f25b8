"""Rendering a template to pieces of author text and of values; errors name file and line.

In this order: rendering, the texts of events, which are templates too, and facts about a template
without running it: the variables it needs, the files it includes.
"""

import os
import re
from collections.abc import Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple, cast

from jinja2 import Environment, StrictUndefined, Template, UndefinedError, nodes
from jinja2.exceptions import TemplateNotFound, TemplatesNotFound, TemplateSyntaxError
from jinja2.meta import find_undeclared_variables

from promptdsl.foundation.errors import PromptError, TemplateError, nearest
from promptdsl.foundation.escaping import labelled
from promptdsl.foundation.guards import WrittenTags
from promptdsl.foundation.source import LibrarySection
from promptdsl.templates.compiler import (
    Piece,
    PieceCode,
    Rope,
    UnknownFilter,
    check_names,
    checked_tree,
    is_mapping,
    names_in,
    syntax_fix,
)
from promptdsl.templates.environment import UndefinedName, compiled_at, sandbox, used
from promptdsl.templates.front_matter import Input, split
from promptdsl.templates.limits import (
    RUN,
    SUFFIX,
    Run,
    StandIn,
    TemplateFile,
    TemplateFolder,
    label,
)
from promptdsl.templates.sources import (
    Registration,
    TemplateSource,
    file_at,
    find,
    missing_template,
    other_name,
    read_template,
    shipped_folder,
)
from promptdsl.templates.variables import check_variables

# Rendering a template to pieces of author text and of values; errors name file and line.


class RenderedTemplate(NamedTuple):
    """The pieces of a template, the compiled template, and the sections of libraries in it.

    The template is ``None`` where other text replaces it. The sections are in the order of their
    first use. ``tags`` are the tags in the sources of all templates that were used, in whichever
    branches.
    """

    pieces: tuple[Piece, ...]
    template: object
    sections: tuple[LibrarySection, ...]
    tags: tuple[WrittenTags, ...]


def rendered_template(
    template: TemplateSource,
    variables: Mapping[str, object],
    stand_ins: Mapping[str, StandIn] | None = None,
) -> RenderedTemplate:
    """Return the pieces of a template: author text as strings, values as :class:`Inserted`.

    Nothing is encoded yet. The content of a variable stays a value in macros, blocks, filters and
    operators. Only a string marked by ``trusted()`` that is output unchanged is author text.
    Neighbouring author texts are joined, and empty pieces are left out. ``stand_ins`` write what
    replaces a section that it includes; their errors are raised unchanged.

    Raises :class:`TemplateError`, with the name and line of the template, for a template that is
    missing or wrong, asks for an undefined name, outputs a value that is no text, or exceeds a
    limit. Raises :class:`ContentError` for variables that are no plain data.
    """
    folders = (*Registration.active, shipped_folder())
    if template.kind == "path":
        # The templates that a file includes are looked up in its own folder first.
        own_folder = os.path.realpath(os.path.dirname(template.value))
        folders = (TemplateFolder(own_folder, reload=True), *folders)
    elif template.folder is not None:
        folders = (template.folder,)
    checked = check_variables(variables)
    source: TemplateFile | TemplateSource | None = template
    if template.kind == "path":
        source = file_at(template.value)
    elif template.kind == "name":
        source = find(template.value, folders)
    if source is None:
        raise missing_template(template.value, folders)
    run = Run(folders, stand_ins=stand_ins or {})
    pieces = run_template(source, checked, run).pieces
    return RenderedTemplate(pieces, run.template, tuple(run.sections), tuple(run.tags))


def check_template(file: TemplateFile) -> None:
    """Raise :class:`TemplateError`, with its name and line, for a template with wrong syntax."""
    try:
        compiled_at(file)
    except Exception as error:
        raise template_error(error, {}, None) from None


def run_template(
    source: TemplateFile | TemplateSource, variables: Mapping[str, object], run: Run
) -> Rope:
    """Return the output of a template; each failure is an error with its name and line."""
    token = RUN.set(run)
    compiled = None
    try:
        compiled = used(compiled_at(source))
        run.template = compiled
        if compiled.front is not None and not run.none_is_empty:
            variables = compiled.front.checked(variables)
        return sandbox().run(compiled, variables)
    except Exception as error:
        if error is run.raised:
            raise
        raise template_error(error, variables, compiled) from None
    finally:
        RUN.reset(token)


def template_error(
    error: Exception, variables: Mapping[str, object], template: Template | None
) -> TemplateError:
    """Return the error for an exception, with the name and line of the template it came from."""
    match error:
        case PromptError():
            problem, fix = error.what, error.fix
        case UnknownFilter():
            problem, fix = str(error.message), error.fix
        case TemplateSyntaxError():
            problem, fix = str(error.message), syntax_fix(str(error.message))
        case UndefinedName():
            problem, fix = str(error.message), _undefined_fix(error, variables)
        case TemplatesNotFound():
            problem = f"no folder has any of the templates {error.templates!r:.200}"
            fix = "check their names"
        case TemplateNotFound():
            folders = getattr(error, "folders", RUN.get().folders)
            absent = missing_template(str(error.name), folders)
            problem, fix = absent.what, absent.fix
        case RecursionError():
            problem = "it is nested too deep"
            fix = "look for a template or macro that includes, extends or calls itself"
        case _:
            problem, fix = f"{type(error).__name__}: {error!s:.200}", "check the variables"
    origin = _origin(error)
    if origin is not None:
        problem = f"{label(origin[0])}, line {origin[1]}: {problem}"
    elif template is not None and not problem.startswith(label(template.name)):
        problem = f"{label(template.name)}: {problem}"
    located = TemplateError(problem, fix=fix)
    if origin is not None and origin[2]:
        located.template_line = f"{os.path.abspath(origin[2])}:{origin[1]}"
    return located


def _undefined_fix(error: UndefinedName, variables: Mapping[str, object]) -> str:
    name, container = error.name, error.container
    look_first = "check it before: {% if value is defined %}"
    if not isinstance(name, str):
        return look_first
    if container is None:
        if name in variables:
            return "it is not defined there: import the template with context, or pass the variable"
        if not variables:
            return f"no variables were given: write Template(..., {name}=...)"
        return other_name(name, variables)
    if is_mapping(container):
        # Data may have any number of keys.
        known = [key for key in islice(container, 100) if isinstance(key, str)]
    else:
        is_safe = sandbox().is_safe_attribute
        known = [name for name in dir(container) if is_safe(container, name, None)]
    return nearest(name, known) if known else look_first


def _origin(error: Exception) -> tuple[str | None, int, str | None] | None:
    """Return name, line and file of the innermost template in which an error was raised."""
    if isinstance(error, TemplateSyntaxError):
        return error.name, error.lineno, error.filename
    innermost: tuple[Template, int] | None = None
    trace = error.__traceback__
    while trace is not None:
        template = trace.tb_frame.f_globals.get("__jinja_template__")
        innermost = innermost if template is None else (template, trace.tb_lineno)
        trace = trace.tb_next
    if innermost is None:
        return None
    template, line = innermost
    return template.name, template.get_corresponding_lineno(line), getattr(template, "path", "")


# The texts of events, from the templates of a user or those that come with promptdsl.

_KIND = re.compile("[A-Za-z0-9_]+")


def event_pieces(kind: str, fields: Mapping[str, object]) -> tuple[str, ...]:
    """Return the pieces of an event's text: a line that describes it, then a line for each detail.

    ``kind`` is the type of the event block. ``fields`` has every field of the template of that
    type: an encoded text of one line, or ``None``, for which nothing is written. ``details`` has
    pairs of such texts. Nothing is encoded here. Values with a label stay :class:`Labelled`. A
    template ``events/{kind}.md.j2`` in a registered folder replaces the one of promptdsl.
    """
    folders = Registration.active
    if folders and _KIND.fullmatch(kind):
        file = find(f"events/{kind}{SUFFIX}", folders)
        if file is not None:
            run = Run((*folders, shipped_folder()), none_is_empty=True)
            return tuple(map(_labelled, run_template(file, fields, run).pieces))
    template = _shipped_template(kind)
    try:
        outputs = template.root_render_func(template.new_context({**fields}, shared=True))
        return tuple([text[0] if isinstance(text, tuple) else text for text in outputs])
    except UndefinedError as error:
        raise TemplateError(
            f"the template of {kind!r} events needs a missing field: {error.message}",
            fix="give every field that it uses, with None for an absent one",
        ) from error


@cache
def _shipped_template(kind: str) -> Template:
    """Return a template that comes with promptdsl, which needs no limits."""

    class EventTemplates(Environment):
        """The environment of the templates of promptdsl, whose fields are already encoded."""

        code_generator_class = PieceCode
        put = staticmethod(_output)

    # The kind is compared with the names of files and never becomes a path.
    root = shipped_folder()
    file = find(f"events/{kind}{SUFFIX}", (root,)) if kind in _kinds(root) else None
    if file is None:
        known = {name for folder in (*Registration.active, root) for name in _kinds(folder)}
        raise TemplateError(f"there is no template of {kind!r} events", fix=nearest(kind, known))
    environment = EventTemplates(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(read_template(file)[0])


def _output(value: object, _: str | None = None) -> str:
    """Return the output of ``{{ value }}``; that of an absent field is empty."""
    return value if isinstance(value, str) else "" if value is None else str(value)


def _labelled(piece: Piece) -> str:
    """Return a piece of a user's template as a piece of the text of an event."""
    if isinstance(piece, str):
        return piece
    return labelled(piece.text, piece.name if piece.is_volatile else None)


def _kinds(folder: TemplateFolder) -> list[str]:
    files = Path(folder.folder, "events").glob(f"*{SUFFIX}")
    return [file.name.removesuffix(SUFFIX) for file in files]


# Facts about a template without running it: the variables it needs, the files it includes.


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
