"""The source of a template: its name, its path, or its own text."""

import os
from collections.abc import Mapping
from typing import Literal, Self

import attrs

from promptdsl.foundation.errors import TemplateError, close_names, nearest, shown
from promptdsl.foundation.unicode import exact
from promptdsl.templates.format_text import format_parts
from promptdsl.templates.limits import MAX_SOURCE, check_limit
from promptdsl.templates.template_folder import DEFAULT, TemplateFolder, WhiteSpace, check_name


@attrs.frozen
class TemplateSource:
    """The source of a template; hashable, comparable, and equal after a pickle.

    ``value`` depends on ``kind``: a name in a registered folder, the path of a file, or the text of
    the template. What a file includes is looked up in its folder first. ``folder`` is the folder of
    a library: a name is looked up only there. A text has its own ``white_space``. With
    ``is_format`` it is a text for ``str.format``, and not for Jinja.
    """

    kind: Literal["name", "path", "text"]
    value: str
    folder: TemplateFolder | None = None
    white_space: WhiteSpace = DEFAULT
    is_format: bool = False

    @property
    def keeps_ends(self) -> bool:
        """Whether the line ends at both ends of the text are sent, and its indentation is kept.

        So it is for a file, for a text for ``str.format``, and where ``keep_trailing_newline`` is
        set.
        """
        return self.kind != "text" or self.is_format or self.white_space.keep_trailing_newline

    @classmethod
    def of(cls, template: str | os.PathLike[str]) -> Self:
        """Return the source of a name (a string) or a path (such as a ``pathlib.Path``)."""
        if isinstance(template, str):
            return cls("name", check_name(exact(template)))
        path = os.fspath(template) if isinstance(template, os.PathLike) else None  # pyright: ignore[reportUnnecessaryIsInstance]
        if not isinstance(path, str) or "\0" in path:
            raise TemplateError(
                f"a template is a name or a path, not {shown(template)}",
                fix='write Template("name.md.j2"), or Template(Path("name.md.j2")) for a file',
            )
        return cls("path", exact(path))

    @classmethod
    def from_text(
        cls, text: object, white_space: WhiteSpace = DEFAULT, *, is_format: bool = False
    ) -> Self:
        """Return the source of a template that is given as text."""
        if not isinstance(text, str):
            raise TemplateError(
                f"the text of a template is a string, not {type(text).__name__}",
                fix="give the text itself",
            )
        check_limit(len(text), MAX_SOURCE, "characters of template")
        return cls("text", exact(text), None, white_space.checked(), is_format)


_ONLY_INSIDE = {
    "super": "super() is defined in a {% block %} of a template that extends another one",
    "caller": "caller() is defined in a macro that {% call %} calls",
    "loop": "loop is defined in {% for %}",
}


def other_name(name: str, variables: Mapping[str, object]) -> str:
    """Return the advice for a name that is undefined, although there are variables.

    The misspelt name may be that in the template, or that in the call, so the advice has both.
    """
    if name in _ONLY_INSIDE:
        return _ONLY_INSIDE[name]
    close = close_names(name, variables)
    if not close:
        return nearest(name, variables)
    return f"the call has {close[0]}=...: write {name}=... there, or {close[0]!r} in the template"


def check_inputs(source: TemplateSource, variables: Mapping[str, object]) -> Mapping[str, object]:
    """Return the variables of a template given as text, checked against its front matter or fields.

    Those of another template are returned unchanged: they are checked when it is rendered.
    """
    for name in WhiteSpace._fields:
        if name in variables:
            way = "Template.from_string" if source.kind == "text" else "register_templates"
            problem = f"{name} is a setting of Jinja, not a variable"
            raise TemplateError(problem, fix=f"write {way}(..., {name}=...)")
    for _, field in format_parts(source.value) if source.is_format else ():
        if field is not None and field not in variables:
            fix = f"write {field}=... after the text"
            if variables:
                fix = other_name(field, variables)
            raise TemplateError(f"the template: {field!r} is undefined", fix=fix)
    is_text = source.kind == "text" and not source.is_format
    if not is_text or not source.value.lstrip().startswith("---"):
        return variables
    from promptdsl.templates.front_matter import split

    front, _ = split(source.value, None)
    return variables if front is None else front.checked(variables)
