"""What tests of templates share: what a template comes to, and the error it ends in."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from promptdsl import TemplateError
from tests.internals import Inserted, Piece, TemplateSource, rendered_template


def template_pieces(template: TemplateSource, variables: Mapping[str, object]) -> tuple[Piece, ...]:
    """Return the pieces of a template."""
    return rendered_template(template, variables)[0]


def pieces(text: str, /, **variables: Any) -> tuple[Piece, ...]:
    """Return the pieces of a template passed as text."""
    return template_pieces(TemplateSource.from_text(text), variables)


def file_pieces(name: str, /, **variables: Any) -> tuple[Piece, ...]:
    """Return the pieces of a template in a registered folder."""
    return template_pieces(TemplateSource.of(name), variables)


def author(given: tuple[Piece, ...]) -> str:
    """Return the author text of a rendering."""
    return "".join(piece for piece in given if not isinstance(piece, Inserted))


def values(given: tuple[Piece, ...]) -> list[str]:
    """Return the values of a rendering."""
    return [piece.text for piece in given if isinstance(piece, Inserted)]


def in_full(given: tuple[Piece, ...]) -> str:
    """Return all that a rendering comes to, as one text."""
    return "".join(p.text if isinstance(p, Inserted) else p for p in given)


def fault(text: str, /, **variables: Any) -> str:
    """Return the error a template passed as text ends in."""
    with pytest.raises(TemplateError) as caught:
        pieces(text, **variables)
    return str(caught.value)


def file_fault(name: str, /, **variables: Any) -> str:
    """Return the error a template in a registered folder ends in."""
    with pytest.raises(TemplateError) as caught:
        file_pieces(name, **variables)
    return str(caught.value)


def put(folder: Path, **files: str) -> Path:
    """Return a folder with these templates in it; their names are passed without ``.md``."""
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return folder
