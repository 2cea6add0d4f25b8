"""Renders a template to pieces of author text and of values; an error names its file and line.

Begin with :func:`rendered_template`. Then come the texts of events, which are templates, too
(:func:`event_pieces`). Last come facts about a template that does not run: the variables that it
needs, the files that it includes (:func:`template_facts`).
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
    RefusedTemplate,
    Rope,
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

# Renders a template to pieces of author text and of values.


class RenderedTemplate(NamedTuple):
    """The pieces of a rendered template, and what it used.

    ``template`` is the compiled template, ``None`` if another text replaced it. ``sections`` are
    the library sections in it, in the order of their first use. ``tags`` are the tags in the
    sources of all templates that were used, also those in branches that did not run.
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

    Values are not encoded yet. The content of a variable stays a value in macros, blocks, filters
    and operators; only a string marked by ``trusted()`` is author text, if it is output unchanged.
    Neighbouring author texts are joined, and empty pieces are left out. ``stand_ins`` are
    functions, by the name of a section that the template may include: they return what replaces
    the section. Their errors are raised unchanged.

    Raises :class:`TemplateError`, with the name and line of the template, for a template that is
    missing or has a mistake, for an undefined name, for a value that is not text, and for too much
    output or work. Raises :class:`ContentError` for variables that are not plain data.
    """
    folders = (*Registration.active, shipped_folder())
    if template.kind == "path":
        # A template that the file includes is looked up in the folder of the file first.
        folder_of_file = os.path.realpath(os.path.dirname(template.value))
        folders = (TemplateFolder(folder_of_file, reload=True), *folders)
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
    """Raise :class:`TemplateError`, with name and line, for a template with a syntax error."""
    try:
        compiled_at(file)
    except Exception as error:
        raise template_error(error, {}, None) from None


def run_template(
    source: TemplateFile | TemplateSource, variables: Mapping[str, object], run: Run
) -> Rope:
    """Return the output of a template.

    Any failure raises :class:`TemplateError` with the name and line of the template. Only an error
    of a function in ``stand_ins`` is raised unchanged.
    """
    token = RUN.set(run)
    compiled = None
    try:
        compiled = used(compiled_at(source))
        run.template = compiled
        if compiled.front_matter is not None and not run.none_is_empty:
            variables = compiled.front_matter.checked(variables)
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
    """Return the error for an exception, with the name and line of the template that raised it."""
    match error:
        case PromptError():
            problem, fix = error.what, error.fix
        case RefusedTemplate():
            problem, fix = str(error.message), error.fix
        case TemplateSyntaxError():
            problem, fix = str(error.message), syntax_fix(str(error.message))
        case UndefinedName():
            problem, fix = str(error.message), _undefined_fix(error, variables)
        case TemplatesNotFound():
            problem = f"no folder has one of the templates {error.templates!r:.200}"
            fix = "check their names"
        case TemplateNotFound():
            folders = getattr(error, "folders", RUN.get().folders)
            missing = missing_template(str(error.name), folders)
            problem, fix = missing.what, missing.fix
        case RecursionError():
            problem = "it is nested too deep"
            fix = "look for a template or macro that includes, extends or calls itself"
        case _:
            problem, fix = f"{type(error).__name__}: {error!s:.200}", "check the variables"
    origin = _origin(error)
    if origin is not None:
        problem = f"{label(origin.name)}, line {origin.line}: {problem}"
    elif template is not None and not problem.startswith(label(template.name)):
        problem = f"{label(template.name)}: {problem}"
    located = TemplateError(problem, fix=fix)
    if origin is not None and origin.path:
        located.template_line = f"{os.path.abspath(origin.path)}:{origin.line}"
    return located


def _undefined_fix(error: UndefinedName, variables: Mapping[str, object]) -> str:
    """Return the advice for an undefined name."""
    name, container = error.name, error.container
    look_first = "check first whether it is defined: {% if value is defined %}"
    if not isinstance(name, str):
        return look_first
    if container is None:
        if name in variables:
            return "it is not defined there: import the template with context, or pass the variable"
        if not variables:
            return f"no variables were passed: write Template(..., {name}=...)"
        return other_name(name, variables)
    if is_mapping(container):
        # A mapping may have any number of keys, so only the first ones are compared.
        names = [key for key in islice(container, 100) if isinstance(key, str)]
    else:
        is_safe = sandbox().is_safe_attribute
        names = [name for name in dir(container) if is_safe(container, name, None)]
    return nearest(name, names) if names else look_first


class _Origin(NamedTuple):
    """The template in which an error was raised: its name, the line, and the path of its file."""

    name: str | None
    line: int
    path: str | None


def _origin(error: Exception) -> _Origin | None:
    """Return the innermost template in which an error was raised, ``None`` if there is none."""
    if isinstance(error, TemplateSyntaxError):
        return _Origin(error.name, error.lineno, error.filename)
    innermost: tuple[Template, int] | None = None
    trace = error.__traceback__
    while trace is not None:
        template = trace.tb_frame.f_globals.get("__jinja_template__")
        innermost = innermost if template is None else (template, trace.tb_lineno)
        trace = trace.tb_next
    if innermost is None:
        return None
    template, line = innermost
    template_line = template.get_corresponding_lineno(line)
    return _Origin(template.name, template_line, getattr(template, "path", ""))


# The texts of events, from templates of a user or from those that come with promptdsl.

_KIND = re.compile("[A-Za-z0-9_]+")
"""A type of event block that can be a part of the name of a file."""


def event_pieces(kind: str, fields: Mapping[str, object]) -> tuple[str, ...]:
    """Return the pieces of an event's text: a line that describes it, then a line for each detail.

    ``kind`` is the type of the event block. ``fields`` has every field of the template of this
    type: an encoded text of one line, or ``None``, for which nothing is written. The field
    ``details`` has pairs of such texts. Nothing is encoded here. Values with a label stay
    :class:`Labelled`. A template ``events/{kind}.md.j2`` in a registered folder replaces that of
    promptdsl.

    Raises :class:`TemplateError` for an unknown kind, a missing field, and a mistake in a template.
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
            fix="pass each field that it uses, and None for a field without a value",
        ) from error


@cache
def _shipped_template(kind: str) -> Template:
    """Return the template of an event that comes with promptdsl; it runs without limits.

    Raises :class:`TemplateError` for an unknown kind.
    """

    class EventTemplates(Environment):
        """The environment of the templates of promptdsl, whose fields are already encoded."""

        code_generator_class = PieceCode
        put = staticmethod(_output)

    # The kind is only compared with the names of files, so it cannot be another path.
    root = shipped_folder()
    file = find(f"events/{kind}{SUFFIX}", (root,)) if kind in _kinds(root) else None
    if file is None:
        kinds = {name for folder in (*Registration.active, root) for name in _kinds(folder)}
        raise TemplateError(f"there is no template of {kind!r} events", fix=nearest(kind, kinds))
    environment = EventTemplates(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(read_template(file)[0])


def _output(value: object, _: str | None = None) -> str:
    """Return the output of ``{{ value }}``, an empty text for ``None``."""
    return value if isinstance(value, str) else "" if value is None else str(value)


def _labelled(piece: Piece) -> str:
    """Return a piece of a user's template as a piece of the text of an event."""
    if isinstance(piece, str):
        return piece
    return labelled(piece.text, piece.name if piece.is_volatile else None)


def _kinds(folder: TemplateFolder) -> list[str]:
    files = Path(folder.folder, "events").glob(f"*{SUFFIX}")
    return [file.name.removesuffix(SUFFIX) for file in files]


# Facts about a template that does not run: the variables that it needs, the files it includes.


class TemplateFacts(NamedTuple):
    """The names that a template uses, with their lines.

    ``required`` are the variables without which it fails. ``used`` are all variables that it may
    use; ``None`` if another template may use its variables, too. ``includes`` are the names of
    templates that it needs. ``inputs`` are those of its front matter, ``None`` without them.
    """

    required: Mapping[str, int]
    used: frozenset[str] | None
    includes: tuple[tuple[str, int], ...]
    inputs: tuple[Input, ...] | None


class WrongTemplate(NamedTuple):
    """Why a template cannot be used, and the line of the mistake; 0 if the line is not known."""

    problem: TemplateError
    line: int


def template_facts(text: str, name: str | None = None) -> TemplateFacts | WrongTemplate:
    """Return the facts of a template, or why it cannot be used."""
    try:
        front_matter, body = split(text, name)
        tree = checked_tree(sandbox(), body, name, front_matter.lines if front_matter else 0)
        inputs = None if front_matter is None else front_matter.inputs
        if inputs is not None:
            check_names(tree, [declared.name for declared in inputs], name)
    except Exception as error:
        line = error.lineno if isinstance(error, TemplateSyntaxError) else 0
        return WrongTemplate(template_error(error, {}, None), line)
    accept_undefined = {"defined", "undefined", "default", "d"}  # names of tests and filters
    optional = {
        node.node.name
        for node in tree.find_all((nodes.Test, nodes.Filter))
        if node.name in accept_undefined and isinstance(node.node, nodes.Name)
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
