"""Rendering a template to pieces of author text and of values; errors name file and line."""

import os
from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

from jinja2 import Template
from jinja2.exceptions import TemplateNotFound, TemplatesNotFound, TemplateSyntaxError

from promptdsl.foundation.errors import PromptError, TemplateError, nearest
from promptdsl.foundation.guards import WrittenTags
from promptdsl.foundation.library_section import LibrarySection
from promptdsl.templates.compiler import UnknownFilter, syntax_fix
from promptdsl.templates.environment import UndefinedName, compiled_at, sandbox, used
from promptdsl.templates.folders import (
    Registration,
    file_at,
    find,
    missing_template,
    shipped_folder,
)
from promptdsl.templates.limits import RUN, Run, StandIn
from promptdsl.templates.operators import is_mapping
from promptdsl.templates.pieces import Piece, Rope
from promptdsl.templates.source import TemplateSource, other_name
from promptdsl.templates.template_folder import TemplateFile, TemplateFolder, label
from promptdsl.templates.variables import check_variables


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
