"""The names of templates, which cannot lead out of their folder."""

from promptdsl.foundation.errors import TemplateError


def check_name(name: object) -> str:
    """Return the checked name of a template, which cannot lead out of its folder.

    Raises :class:`TemplateError` for a name with an empty part, ``.`` or ``..``, one that starts
    with ``/``, and for a backslash, colon or null character in it.
    """
    if not isinstance(name, str):
        raise TemplateError(
            f"the name of a template is a string, not {type(name).__name__}",
            fix='write it in quotes: "name.md.j2"',
        )
    if {"", ".", ".."} & {*name.split("/")} or {"\\", ":", "\0"} & {*name}:
        fix = 'a name is relative to a registered folder, such as "support/role.md.j2"'
        if "{" in name or "\n" in name:
            fix = "for the text of a template write Template.from_string(...)"
        raise TemplateError(f"{name[:60]!r} is not the name of a template", fix=fix)
    return str.__str__(name)


def label(name: str | None) -> str:
    """Return the words for a template in an error."""
    return "the template" if name is None else f"template {name!r}"
