"""The texts of events, from the templates of a user or those that come with promptdsl."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from promptdsl.foundation.errors import TemplateError, nearest
from promptdsl.foundation.labelled import labelled
from promptdsl.templates.folders import Registration, find, read_template, shipped_folder
from promptdsl.templates.pieces import Piece
from promptdsl.templates.template_folder import SUFFIX, TemplateFolder

if TYPE_CHECKING:
    from jinja2 import Template

_KIND = re.compile("[A-Za-z0-9_]+")


def event_pieces(kind: str, fields: Mapping[str, object]) -> tuple[str, ...]:
    """Return the pieces of an event's text: a line that describes it, then a line for each detail.

    ``kind`` is the type of the event block. ``fields`` has every field of the template of that
    type: an encoded text of one line, or ``None``, for which nothing is written. ``details`` has
    pairs of such texts. Nothing is encoded here. Values with a label stay :class:`Labelled`. A
    template ``events/{kind}.md.j2`` in a registered folder replaces the one of promptdsl.
    """
    folders = Registration.active
    if folders and _KIND.fullmatch(kind):
        file = find(f"events/{kind}{SUFFIX}", folders)
        if file is not None:
            from promptdsl.templates.limits import Run
            from promptdsl.templates.render import run_template

            run = Run((*folders, shipped_folder()), none_is_empty=True)
            return tuple(map(_labelled, run_template(file, fields, run).pieces))
    template = _shipped_template(kind)
    try:
        outputs = template.root_render_func(template.new_context({**fields}, shared=True))
        return tuple([text[0] if isinstance(text, tuple) else text for text in outputs])
    except Exception as error:
        from jinja2 import UndefinedError

        if not isinstance(error, UndefinedError):
            raise
        raise TemplateError(
            f"the template of {kind!r} events needs a missing field: {error.message}",
            fix="give every field that it uses, with None for an absent one",
        ) from error


@cache
def _shipped_template(kind: str) -> "Template":
    """Return a template that comes with promptdsl, which needs no limits."""
    from jinja2 import Environment, StrictUndefined

    from promptdsl.templates.compiler import PieceCode

    class EventTemplates(Environment):
        """The environment of the templates of promptdsl, whose fields are already encoded."""

        code_generator_class = PieceCode
        put = staticmethod(_output)

    # The kind is compared with the names of files and never becomes a path.
    root = shipped_folder()
    file = find(f"events/{kind}{SUFFIX}", (root,)) if kind in _kinds(root) else None
    if file is None:
        known = {name for folder in (*Registration.active, root) for name in _kinds(folder)}
        raise TemplateError(f"there is no template of {kind!r} events", fix=nearest(kind, known))
    environment = EventTemplates(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(read_template(file)[0])


def _output(value: object, _: str | None = None) -> str:
    """Return the output of ``{{ value }}``; that of an absent field is empty."""
    return value if isinstance(value, str) else "" if value is None else str(value)


def _labelled(piece: Piece) -> str:
    """Return a piece of a user's template as a piece of the text of an event."""
    if isinstance(piece, str):
        return piece
    return labelled(piece.text, piece.name if piece.is_volatile else None)


def _kinds(folder: TemplateFolder) -> list[str]:
    files = Path(folder.folder, "events").glob(f"*{SUFFIX}")
    return [file.name.removesuffix(SUFFIX) for file in files]
