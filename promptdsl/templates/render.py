"""Rendering a template to pieces: author text and values."""

import os
from collections.abc import Mapping
from typing import Any

from promptdsl.foundation.errors import TemplateError
from promptdsl.templates.folders import (
    TemplateFile,
    file_at,
    find,
    missing,
    registered,
    templates_root,
)
from promptdsl.templates.limits import RUN, Run
from promptdsl.templates.pieces import Piece
from promptdsl.templates.source import TemplateSource
from promptdsl.templates.variables import check_variables


def template_pieces(template: TemplateSource, variables: Mapping[str, Any]) -> tuple[Piece, ...]:
    """Return what a template comes to: author text as strings, values as :class:`Inserted`.

    Nothing is encoded yet. What a variable holds is a value wherever it goes, through macros,
    blocks, filters and operators; only a string marked by ``trusted()`` that is put out as it is is
    author text. Neighbouring author texts are one, and empty pieces are left out.

    Raises :class:`TemplateError`, with the name and line of the template, for a template that is
    missing or wrong, asks for what it is not given, puts out what is no text, or goes over a limit.
    Raises :class:`ContentError` for variables that are no plain data.
    """
    from promptdsl.templates.environments import piece_environment

    environment = piece_environment()
    given = check_variables(variables)
    folders = _folders(template)
    token = RUN.set(Run(folders))
    compiled = None
    try:
        compiled = environment.compiled(_found(template, folders))
        return environment.concat(environment.started(compiled, given)).pieces
    except Exception as error:
        raise _fault(error, given, compiled) from None
    finally:
        RUN.reset(token)


def _folders(template: TemplateSource) -> tuple[str, ...]:
    """Return the folders in which a template and what it includes are looked up, in order."""
    shared = (*registered(), str(templates_root()))
    if template.kind != "path":
        return shared
    return (os.path.realpath(os.path.dirname(template.value)), *shared)


def _found(template: TemplateSource, folders: tuple[str, ...]) -> TemplateFile | str:
    if template.kind == "text":
        return template.value
    if template.kind == "path":
        return file_at(template.value)
    file = find(template.value, folders)
    if file is None:
        raise missing(template.value, folders)
    return file


def _fault(error: Exception, variables: Mapping[str, Any], running: object) -> TemplateError:
    from promptdsl.templates.errors import fault

    return fault(error, variables, running)
