"""What went wrong in a template, and on which of its lines."""

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from jinja2 import Template
from jinja2.exceptions import TemplateNotFound, TemplatesNotFound, TemplateSyntaxError

from promptdsl.foundation.errors import PromptError, TemplateError, nearest
from promptdsl.templates.allowed import readable
from promptdsl.templates.compiler import Unknown
from promptdsl.templates.environments import UndefinedName
from promptdsl.templates.folders import missing
from promptdsl.templates.limits import RUN
from promptdsl.templates.source import label

_SUGGESTED = 100
"""Among how many keys of a mapping a name is looked for; data may hold any number."""


def fault(error: Exception, variables: Mapping[str, Any], running: object = None) -> TemplateError:
    """Return the error for what went wrong, with the name and line of the template it was in.

    ``running`` is the template that ran, if it came to that. An error from before names its own.
    """
    what, fix = _told(error, variables)
    place = _place(error)
    if place is not None:
        what = f"{label(place[0])}, line {place[1]}: {what}"
    elif isinstance(running, Template):
        what = f"{label(running.name)}: {what}"
    return TemplateError(what, fix=fix)


def _told(error: Exception, variables: Mapping[str, Any]) -> tuple[str, str]:
    match error:
        case PromptError():
            return error.what, error.fix
        case Unknown():
            return str(error.message), error.fix
        case TemplateSyntaxError():
            return str(error.message), "look at what stands before it, too"
        case UndefinedName():
            return str(error.message), _suggestion(error, variables)
        case TemplatesNotFound():
            return f"there is none of the templates {error.templates!r:.200}", "check their names"
        case TemplateNotFound():
            absent = missing(str(error.name), RUN.get().folders)
            return absent.what, absent.fix
        case RecursionError():
            return "it goes too deep", "look for what calls, includes or extends itself without end"
        case _:
            return f"{type(error).__name__}: {error!s:.200}", "check what it is given"


def _suggestion(error: UndefinedName, variables: Mapping[str, Any]) -> str:
    name = error.name
    if not isinstance(name, str):
        return "check that it is there first: {% if value is defined %}"
    if error.holder is None:
        return _variable(name, variables)
    if isinstance(error.holder, Mapping):
        keys: Iterable[Any] = islice(error.holder, _SUGGESTED)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        return nearest(name, (key for key in keys if isinstance(key, str)))
    return nearest(name, readable(error.holder))


def _variable(name: str, variables: Mapping[str, Any]) -> str:
    if name in variables:
        return "it is not known there: import the template with context, or pass it on"
    return nearest(name, variables) if variables else "the template is given no variables"


def _place(error: Exception) -> tuple[str | None, int] | None:
    """Return the template and line of an error; that of the innermost template it went through."""
    if isinstance(error, TemplateSyntaxError):
        return error.name, error.lineno
    found = None
    trace = error.__traceback__
    while trace is not None:
        template = trace.tb_frame.f_globals.get("__jinja_template__")
        found = (template, trace.tb_lineno) if template is not None else found
        trace = trace.tb_next
    if found is None:
        return None
    template, line = found
    return template.name, template.get_corresponding_lineno(line)
