"""Hostile texts: strings that try to leave their place in a prompt."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

DATA = Path(__file__).with_name("hostile.json")
"""The texts of the corpus by their kinds, in order."""


class HostileText(NamedTuple):
    r"""A string that tries to leave its place, and its kind, such as ``tag`` or ``line end``.

    ``str(...)`` is both on one line, for the id of a test.

    >>> from promptdsl.testing import HOSTILE
    >>> print(HOSTILE[0])
    tag '</context>'
    """

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind} {shortened(self.text)}"


def shortened(text: str) -> str:
    """Return a text as a literal of Python in plain ASCII, of which at most 60 characters."""
    shown = ascii(text)
    return shown if len(shown) <= 60 else f"{shown[:60]}..."


def _corpus() -> Iterator[HostileText]:
    """Yield the texts of the data file; some are written as pieces, each with its count.

    So are long ones, and two surrogates side by side, which JSON reads as one character.
    """
    corpus: dict[str, list[Any]] = json.loads(DATA.read_text("utf-8"))  # Any: a text, or pieces
    for kind, texts in corpus.items():
        for text in texts:
            pieces: list[Any] = [text, 1] if isinstance(text, str) else text  # Any: with counts
            whole = (piece * times for piece, times in zip(pieces[::2], pieces[1::2], strict=True))
            yield HostileText(kind, "".join(whole))


HOSTILE: tuple[HostileText, ...] = tuple(_corpus())
"""The corpus of this project's own tests, in an order that stays; no text is empty or twice in it.

The kinds: tags, also in disguise, references, delimiters, chat markers, Markdown, HTML, JSON, CSV,
tables, lists, quotations, code, template syntax, line ends, control and invisible characters,
look-alikes, marks of snapshots, long texts, and harmless texts for contrast.
"""
