"""The texts of events, from the templates of a user or those that come with promptdsl."""

import re
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from promptdsl.foundation.errors import TemplateError, nearest
from promptdsl.templates.folders import find, read_template, registered, templates_root

if TYPE_CHECKING:
    from jinja2 import Template

    from promptdsl.templates.folders import TemplateFile

_SUFFIX = ".md.j2"
_KIND = re.compile("[A-Za-z0-9_]+")


def event_text(kind: str, fields: Mapping[str, object]) -> str:
    """Return the text of an event: what happened on its first line, then its details, one a line.

    ``kind`` is the type of the event block. ``fields`` holds every field the template of that type
    asks for, as text of one line that is encoded already, or ``None`` where it is absent, for which
    nothing is written; ``details`` holds pairs of such texts. Nothing is escaped here. A template
    ``events/{kind}.md.j2`` in a registered folder takes the place of the one that comes with
    promptdsl.

    Raises :class:`TemplateError` when there is no template of that name, a field it asks for is not
    given, or it goes wrong.
    """
    folders = registered()
    own = None
    if folders and _KIND.fullmatch(kind):
        own = find(f"events/{kind}{_SUFFIX}", folders)
    if own is None:
        text = partial(_shipped(kind).render, fields)
    else:
        text = partial(_own_text, own, fields, folders)
    try:
        return text()
    except Exception as error:
        raise _fault(error, kind, fields) from error


def _own_text(file: "TemplateFile", fields: Mapping[str, object], folders: tuple[str, ...]) -> str:
    """Return the text a user's template makes of the fields, within the limits of all templates."""
    from promptdsl.templates.environments import event_environment
    from promptdsl.templates.limits import RUN, Run

    environment = event_environment()
    token = RUN.set(Run((*folders, str(templates_root()))))
    try:
        return environment.concat(environment.started(environment.compiled(file), fields))
    finally:
        RUN.reset(token)


@cache
def _shipped(kind: str) -> "Template":
    """Return the template of a kind that comes with promptdsl: it needs no limits."""
    from jinja2 import Environment, StrictUndefined

    # A name is compared with the names there are and never becomes a path.
    root = str(templates_root())
    file = find(f"events/{kind}{_SUFFIX}", (root,)) if kind in _kinds(root) else None
    if file is None:
        known = {name for folder in (*registered(), root) for name in _kinds(folder)}
        raise TemplateError(f"there is no template of {kind!r} events", fix=nearest(kind, known))
    environment = Environment(
        undefined=StrictUndefined,
        finalize=_finalized,
        autoescape=False,  # the fields are encoded already
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.from_string(read_template(file))


def _finalized(value: object) -> object:
    return "" if value is None else value


def _kinds(folder: str) -> list[str]:
    return [file.name.removesuffix(_SUFFIX) for file in Path(folder, "events").glob(f"*{_SUFFIX}")]


def _fault(error: Exception, kind: str, fields: Mapping[str, object]) -> TemplateError:
    from jinja2 import UndefinedError

    from promptdsl.templates.errors import fault

    if not isinstance(error, UndefinedError):
        return fault(error, fields)
    return TemplateError(
        f"the template of {kind!r} events asks for what it is not given: {error.message}",
        fix="give every field it asks for; None is the value of an absent one",
    )
