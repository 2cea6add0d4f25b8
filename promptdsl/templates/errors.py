"""The error for a template that fails: the problem, and the line of the template."""

from collections.abc import Mapping
from itertools import islice

from jinja2 import Template
from jinja2.exceptions import TemplateNotFound, TemplatesNotFound, TemplateSyntaxError

from promptdsl.foundation.errors import PromptError, TemplateError, nearest
from promptdsl.templates.compiler import SYNTAX_FIX, UnknownFilter
from promptdsl.templates.environment import UndefinedName, sandbox
from promptdsl.templates.folders import missing_template
from promptdsl.templates.limits import RUN
from promptdsl.templates.names import label
from promptdsl.templates.operators import is_mapping


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
            problem, fix = str(error.message), SYNTAX_FIX
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
            problem = "it goes too deep"
            fix = "look for what calls, includes or extends itself without end"
        case _:
            problem, fix = f"{type(error).__name__}: {error!s:.200}", "check what it is given"
    origin = _origin(error)
    if origin is not None:
        problem = f"{label(origin[0])}, line {origin[1]}: {problem}"
    elif template is not None and not problem.startswith(label(template.name)):
        problem = f"{label(template.name)}: {problem}"
    return TemplateError(problem, fix=fix)


def _undefined_fix(error: UndefinedName, variables: Mapping[str, object]) -> str:
    name, holder = error.name, error.holder
    look_first = "check that it is there first: {% if value is defined %}"
    if not isinstance(name, str):
        return look_first
    if holder is None:
        if name in variables:
            return "it is not known there: import the template with context, or pass it on"
        if not variables:
            return f"the template is given no variables: write {name}=... beside it"
        return nearest(name, variables)
    if is_mapping(holder):
        # Data may have any number of keys.
        known = [key for key in islice(holder, 100) if isinstance(key, str)]
    else:
        is_safe = sandbox().is_safe_attribute
        known = [name for name in dir(holder) if is_safe(holder, name, None)]
    return nearest(name, known) if known else look_first


def _origin(error: Exception) -> tuple[str | None, int] | None:
    """Return the name and the line of the innermost template in which an error was raised."""
    if isinstance(error, TemplateSyntaxError):
        return error.name, error.lineno
    innermost: tuple[Template, int] | None = None
    trace = error.__traceback__
    while trace is not None:
        template = trace.tb_frame.f_globals.get("__jinja_template__")
        innermost = innermost if template is None else (template, trace.tb_lineno)
        trace = trace.tb_next
    if innermost is None:
        return None
    template, line = innermost
    return template.name, template.get_corresponding_lineno(line)
