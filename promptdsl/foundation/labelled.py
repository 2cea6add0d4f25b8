"""Strings and numbers with a label: volatile values among strings that are author text."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import overload

from promptdsl.foundation.escaping import json_text
from promptdsl.foundation.frozen import is_list, is_mapping


class Label:
    """The base of volatile values; ``label`` is the name of such a value.

    ``None`` is the label of every other value. ``pieces`` are the pieces of a text of which only a
    part is volatile. The result of an operation on it is a plain string or number again.
    """

    label: str | None = None
    pieces: "tuple[Labelled, ...]" = ()


class Labelled(Label, str):
    """The text of a value."""


class LabelledInt(Label, int):
    """A whole number."""


class LabelledFloat(Label, float):
    """A number."""


@overload
def labelled(value: str, label: str | None) -> Labelled: ...
@overload
def labelled(value: float, label: str | None) -> float: ...
def labelled(value: str | float, label: str | None) -> str | float:
    """Return a value with its label; a boolean, which is never in a text, is unchanged."""
    if type(value) is bool:
        return value
    kind = LabelledInt if type(value) is int else LabelledFloat
    copy = Labelled(value) if isinstance(value, str) else kind(value)
    copy.label = label
    return copy


def label_of(pieces: Iterable[object]) -> str | None:
    """Return the first label of some pieces, for a text that is made of all of them."""
    labels = (
        piece.label for piece in pieces if isinstance(piece, Label) and piece.label is not None
    )
    return next(labels, None)


Labels = Mapping[tuple[object, ...], str]
"""The labels of the volatile values in data, by their paths."""


def json_pieces(value: object, path: tuple[object, ...], labels: Labels) -> tuple[Labelled, ...]:
    """Return the JSON text of data in pieces: its volatile values, and the text around them."""
    pieces: list[Labelled] = []
    parts = _json_parts(value, path, labels)
    for is_plain, group in groupby(parts, lambda part: part.label is None):
        run = [*group]
        pieces += [Labelled("".join(run))] if is_plain else run
    return tuple(pieces)


def _json_parts(value: object, path: tuple[object, ...], labels: Labels) -> Iterator[Labelled]:
    """Yield the parts of JSON data, which is nested 200 levels deep at most."""
    if is_mapping(value) or is_list(value):
        entries = [*(value.items() if is_mapping(value) else enumerate(value))]
        start, end = "{}" if is_mapping(value) else "[]"
        for index, (key, item) in enumerate(entries):
            name = f"{json_text(key)}: " if is_mapping(value) else ""
            yield Labelled(f"{', ' if index else start}{name}")
            yield from _json_parts(item, (*path, key), labels)
        yield Labelled(end if entries else start + end)
    else:
        yield labelled(json_text(value), labels.get(path))
