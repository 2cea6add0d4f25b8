"""The texts of events, from the templates of a user or those that come with promptdsl."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from promptdsl.foundation.errors import TemplateError, nearest
from promptdsl.templates.folders import find, registered, templates_root
from promptdsl.templates.limits import RUN, Run

if TYPE_CHECKING:
    from jinja2 import Template

    from promptdsl.templates.environments import Events

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
    environment = _environment()
    folders = _folders()
    token = RUN.set(Run(folders))
    try:
        return environment.concat(environment.started(_template(kind, folders), fields))
    except Exception as error:
        raise _fault(error, kind, fields) from error
    finally:
        RUN.reset(token)


@cache
def _environment() -> "Events":
    from promptdsl.templates.environments import event_environment

    return event_environment()


def _folders() -> tuple[str, ...]:
    return (*registered(), _shipped())


@cache
def _shipped() -> str:
    return str(templates_root())


def _template(kind: str, folders: tuple[str, ...]) -> "Template":
    """Return the template of a kind of event; a folder of a user's is asked each time."""
    if len(folders) > 1 and _KIND.fullmatch(kind):
        file = find(f"events/{kind}{_SUFFIX}", folders[:-1])
        if file is not None:
            return _environment().compiled(file)
    return _shipped_template(kind)


@cache
def _shipped_template(kind: str) -> "Template":
    # A name is compared with the names there are and never becomes a path.
    found = kind in _kinds(_shipped()) and find(f"events/{kind}{_SUFFIX}", (_shipped(),))
    if not found:
        known = {name for folder in _folders() for name in _kinds(folder)}
        raise TemplateError(
            f"there is no template of {kind!r} events", fix=nearest(str(kind), known)
        )
    return _environment().compiled(found)


def _kinds(folder: str) -> list[str]:
    return [file.name.removesuffix(_SUFFIX) for file in Path(folder, "events").glob(f"*{_SUFFIX}")]


def _fault(error: Exception, kind: str, fields: Mapping[str, object]) -> TemplateError:
    from promptdsl.templates.environments import UndefinedName
    from promptdsl.templates.errors import fault

    if not isinstance(error, UndefinedName):
        return fault(error, fields)
    return TemplateError(
        f"the template of {kind!r} events asks for what it is not given: {error.message}",
        fix="give every field it asks for; None is the value of an absent one",
    )
