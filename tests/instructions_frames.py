r"""Frames: what an author writes around values of strangers, at random, and hostile values for it.

A frame is turns of parts of rows of pieces; a piece is a string of the author's or a value.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from promptdsl import Heading, Item, List, Quote, Section, System, Template, Text, Timeline, Value


class Stranger(str):
    """A piece that is a value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Value({super().__repr__()})"


Row = tuple[str, ...]


class Part(NamedTuple):
    """A part of a turn: its kind, its title if it has one, and its rows."""

    kind: str
    rows: tuple[Row, ...]
    title: str | None = None


Frame = tuple[tuple[Part, ...], ...]

PREFIXES = {"bullets": "  ", "ordered": "   ", "quote": "> "}
"""What a further line of a value begins with, in each kind of part that has such a thing."""


def values_of(frame: Frame) -> Iterator[tuple[str, str]]:
    """Yield the values of a frame, and what their further lines begin with."""
    for part in (part for turn in frame for part in turn):
        for piece in (piece for row in part.rows for piece in row):
            if isinstance(piece, Stranger):
                yield piece, PREFIXES.get(part.kind, "")


def with_values(frame: Frame, values: list[str]) -> Frame:
    """Return the frame with other values."""
    left = iter(values)
    return tuple(
        tuple(
            part._replace(
                rows=tuple(
                    tuple(Stranger(next(left)) if type(p) is Stranger else p for p in row)
                    for row in part.rows
                )
            )
            for part in turn
        )
        for turn in frame
    )


def built(frame: Frame) -> object:
    """Return the prompt of a frame."""
    names = iter(range(1000))
    turns = [System(*(item for part in turn for item in _content(part, names))) for turn in frame]
    return turns[0] if len(turns) == 1 else Timeline(*turns)


def _content(part: Part, names: Iterator[int]) -> list[object]:
    rows = [[Value(str(p)) if type(p) is Stranger else p for p in row] for row in part.rows]
    match part.kind:
        case "plain":
            return rows[0]
        case "text":
            return [Text(*rows[0])]
        case "quote":
            return [Quote(*rows[0])]
        case "bullets" | "ordered":
            return [List(*(Item(*row) for row in rows), ordered=part.kind == "ordered")]
        case "section":
            return [Section(f"s{next(names)}", *rows[0], title=part.title)]
        case "heading":
            return [Heading(part.title)]
    source, variables = "", dict[str, str]()
    for piece in part.rows[0]:
        if type(piece) is Stranger:
            name = f"x{len(variables)}"
            variables[name] = str(piece)
            source += "{{ " + name + " }}"
        else:
            source += piece
    return [Template.from_string(source, **variables)]


ATOMS: dict[str, list[str]] = json.loads(
    Path(__file__).with_name("instructions_atoms.json").read_text(encoding="utf-8")
)
"""What texts are made of; ``structures`` are whole."""


def frames(rng: Random) -> tuple[Frame, Callable[[], list[str]]]:
    """Return a frame, and a function that returns other values for it, each time at random."""
    directed = list[str]()
    ends = ((), (), (Part("section", (("Body.",),), "Last"),), (Part("heading", ((),), "Last"),))
    turns = tuple(
        tuple(_part(rng, directed) for _ in range(rng.choice((1, 1, 1, 2)))) + rng.choice(ends)
        for _ in range(rng.choice((1, 1, 1, 1, 2)))
    )
    count = sum(1 for _ in values_of(turns))
    if not 1 <= count <= 3:
        return frames(rng)

    def values() -> list[str]:
        return [words if words and rng.random() < 0.4 else _value(rng, words) for words in directed]

    return turns, values


def _part(rng: Random, directed: list[str]) -> Part:
    kind = rng.choices(
        ("plain", "text", "bullets", "ordered", "quote", "section", "template"),
        (8, 1, 2, 1, 2, 2, 2),
    )[0]
    count = rng.choice((1, 2)) if kind in {"bullets", "ordered"} else 1
    rows = tuple(_row(rng, directed) for _ in range(count))
    if kind in {"bullets", "ordered"} and rng.random() < 0.5:
        rows = (*rows, ("Last item.",))
    if kind == "template":
        rows = tuple(
            tuple(p if type(p) is Stranger else re.sub(r"\{(?=[{%#])|\{$", "(", p) for p in row)
            for row in rows
        )
    return Part(kind, rows, rng.choice(("Title", None)) if kind == "section" else None)


def _row(rng: Random, directed: list[str]) -> Row:
    """Return author text and values; note for each value what it would complete."""
    way = rng.random()
    if way < 0.45:
        return _cut(rng, directed, rng.choice(ATOMS["structures"] + ATOMS["tag_texts"]))
    wraps = (("", ""),) * 12 + (("<facts>", "</facts>"), ("<facts>\n", "\n</facts>\n"))
    opened, closed = rng.choice((*wraps, ('Facts:\n\n<facts n="1">\n', "\n</facts>\n\nDo it.\n")))
    pieces = [opened]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        pieces += [_author(rng, small=way > 0.8), Stranger("word")]
        directed.append("")
    return _joined([*pieces, _author(rng, small=way > 0.8), closed])


def _cut(rng: Random, directed: list[str], text: str) -> Row:
    """Return a structure, in pieces that are by turns the author's and values."""
    cuts = sorted(rng.choices(range(len(text) + 1), k=rng.choice((1, 1, 2, 3))))
    is_value, pieces = rng.random() < 0.5, [rng.choice(("", _author(rng)))]
    pieces.append(rng.choice(("", "\n", "\n\n")))
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        if start < end:
            pieces.append(Stranger("word") if is_value else text[start:end])
            directed += [text[start:end]] * is_value
            is_value ^= rng.random() < 0.9
    return _joined([*pieces, rng.choice(("", "\n", "\n\n", " ")), _author(rng)])


def _joined(pieces: list[str]) -> Row:
    row = list[str]()
    for piece in pieces:
        if row and type(row[-1]) is str and type(piece) is str:
            row[-1] += piece
        else:
            row.append(piece)
    return tuple(piece for piece in row if piece)


def _mixed(rng: Random, weights: dict[str, float], counts: tuple[int, ...]) -> str:
    kinds = rng.choices([*weights], [*weights.values()], k=rng.choice(counts))
    return "".join(rng.choice(ATOMS[kind]) for kind in kinds)


AUTHOR = {"words": 6, "ends": 5, "spaces": 2, "marks": 5, "author_blocks": 6, "tag_texts": 0.5}
VALUE = {
    **{"words": 4, "ends": 5, "spaces": 3, "marks": 6, "structures": 5, "tag_texts": 3},
    **{"strange": 1.5, "ordinary": 0.5},
}


def _author(rng: Random, *, small: bool = False) -> str:
    if small:
        return _mixed(rng, {"small": 1}, (0, 0, 1, 1, 2, 3, 4))
    return _mixed(rng, AUTHOR, (0, 1, 1, 2, 3, 4))


def _value(rng: Random, words: str) -> str:
    way = rng.random()
    if way < 0.3:
        return _mixed(rng, {"small": 1}, (1, 1, 2, 2, 3, 4, 5)) + words
    if way < 0.36:
        return _mixed(rng, {"blank": 1}, (1, 1, 2, 3))
    if way < 0.42:
        return rng.choice(ATOMS["ordinary"])
    return _mixed(rng, VALUE, (1, 1, 2, 2, 3, 4, 5)) + rng.choice(("", "", words))
