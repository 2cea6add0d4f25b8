"""The library: where the templates that come with promptdsl are, and how one is rendered.

Jinja is imported here and nowhere else, and only once a template is asked for.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from promptdsl.errors import TemplateError, nearest

if TYPE_CHECKING:
    from jinja2 import Environment, Template

_SUFFIX = ".md.j2"


def event_text(kind: str, fields: Mapping[str, object]) -> str:
    """Return the text of an event: what happened on its first line, then its details, one a line.

    ``kind`` is the type of the event block. ``fields`` holds every field the template of that type
    asks for, as text of one line that is encoded already, or ``None`` where it is absent;
    ``details`` holds pairs of such texts. Nothing is escaped here. Raises :class:`TemplateError`
    when there is no template of that name, or a field it asks for is not given.
    """
    from jinja2 import UndefinedError

    try:
        return _event_template(kind).render(fields)
    except UndefinedError as error:
        raise TemplateError(
            f"the template of {kind!r} events asks for what it is not given: {error.message}",
            fix="give every field it asks for; None is the value of an absent one",
        ) from error


def templates_root() -> Path:
    """Return the folder of the templates.

    An installed package holds them; in a source tree they stand beside it. Raises
    :class:`TemplateError` when neither is so.
    """
    package = Path(__file__).resolve().parent
    for folder in (package / "templates", package.parent / "templates"):
        if folder.is_dir():
            return folder
    raise TemplateError(
        f"no templates in {package} nor beside it", fix="install promptdsl again: files are missing"
    )


@cache
def _event_template(kind: str) -> "Template":
    files = (templates_root() / "events").glob(f"*{_SUFFIX}")
    # A name is compared with the names there are and never becomes a path.
    known = [file.name.removesuffix(_SUFFIX) for file in files]
    if kind not in known:
        raise TemplateError(
            f"there is no template of {kind!r} events", fix=nearest(str(kind), known)
        )
    return _environment().get_template(f"events/{kind}{_SUFFIX}")


@cache
def _environment() -> "Environment":
    from jinja2 import FileSystemLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(templates_root()),
        undefined=StrictUndefined,
        auto_reload=False,
        autoescape=False,
        keep_trailing_newline=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
