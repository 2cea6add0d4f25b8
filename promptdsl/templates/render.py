"""Rendering a template to pieces: author text and values."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from promptdsl.foundation.guards import WrittenTags
from promptdsl.foundation.library_section import LibrarySection
from promptdsl.templates.environment import compiled_at, sandbox, used
from promptdsl.templates.errors import template_error
from promptdsl.templates.folders import (
    Registration,
    file_at,
    find,
    missing_template,
    shipped_folder,
)
from promptdsl.templates.limits import RUN, Run, StandIn
from promptdsl.templates.pieces import Piece, Rope
from promptdsl.templates.source import TemplateSource
from promptdsl.templates.template_folder import TemplateFile, TemplateFolder
from promptdsl.templates.variables import check_variables


class RenderedTemplate(NamedTuple):
    """The pieces of a template, the template as compiled, and its sections of libraries.

    The template is ``None`` where other text replaces it. The sections are in the order of their
    first use. ``tags`` are those in the sources of the templates that were used, whichever branches
    were taken.
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

    Nothing is encoded yet. The content of a variable is a value wherever it goes, through macros,
    blocks, filters and operators; only a string marked by ``trusted()`` that is output unchanged
    is author text. Neighbouring author texts are one, and empty pieces are left out. ``stand_ins``
    write what replaces a section that it includes; what they raise is raised as it is.

    Raises :class:`TemplateError`, with the name and line of the template, for a template that is
    missing or wrong, asks for an undefined name, outputs a value that is no text, or exceeds a
    limit. Raises :class:`ContentError` for variables that are no plain data.
    """
    folders = (*Registration.active, shipped_folder())
    if template.kind == "path":
        # What a file includes is looked up beside it first.
        beside = os.path.realpath(os.path.dirname(template.value))
        folders = (TemplateFolder(beside, reload=True), *folders)
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
