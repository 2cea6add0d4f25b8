"""Rendering a template to pieces: author text and values."""

import os
from collections.abc import Mapping

from promptdsl.templates.environment import sandbox
from promptdsl.templates.errors import template_error
from promptdsl.templates.folders import (
    TemplateFile,
    file_at,
    find,
    missing_template,
    registered,
    templates_root,
)
from promptdsl.templates.limits import RUN, Run
from promptdsl.templates.pieces import Piece, Rope
from promptdsl.templates.source import TemplateSource
from promptdsl.templates.variables import check_variables


def rendered_template(
    template: TemplateSource, variables: Mapping[str, object]
) -> tuple[tuple[Piece, ...], frozenset[str] | None]:
    """Return the pieces of a template: author text as strings, values as :class:`Inserted`.

    Also the names in it, ``None`` if another template may use its variables, too.

    Nothing is encoded yet. The content of a variable is a value wherever it goes, through macros,
    blocks, filters and operators; only a string marked by ``trusted()`` that is output unchanged
    is author text. Neighbouring author texts are one, and empty pieces are left out.

    Raises :class:`TemplateError`, with the name and line of the template, for a template that is
    missing or wrong, asks for an undefined name, outputs a value that is no text, or exceeds a
    limit. Raises :class:`ContentError` for variables that are no plain data.
    """
    folders = (*registered(), str(templates_root()))
    if template.kind == "path":
        # What a file includes is looked up beside it first.
        folders = (os.path.realpath(os.path.dirname(template.value)), *folders)
    checked = check_variables(variables)
    source: TemplateFile | str | None = template.value
    if template.kind == "path":
        source = file_at(template.value)
    elif template.kind == "name":
        source = find(template.value, folders)
    if source is None:
        raise missing_template(template.value, folders)
    run = Run(folders)
    return run_template(source, checked, run).pieces, run.names


def run_template(source: TemplateFile | str, variables: Mapping[str, object], run: Run) -> Rope:
    """Return the output of a template, within the limits of a run.

    Raises :class:`TemplateError`, with the name and line of the template, for every failure.
    """
    token = RUN.set(run)
    compiled = None
    try:
        compiled = sandbox().compiled(source)
        run.names = compiled.names
        return sandbox().run(compiled, variables)
    except Exception as error:
        raise template_error(error, variables, compiled) from None
    finally:
        RUN.reset(token)
