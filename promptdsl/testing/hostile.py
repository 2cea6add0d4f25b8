"""The corpus of hostile texts: strings that try to break out of the text around them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

DATA = Path(__file__).with_name("hostile.json")
"""The texts of the corpus by their kinds, in order."""


class HostileText(NamedTuple):
    r"""A string that tries to break out, and its kind, such as ``tag`` or ``line end``.

    ``str(...)`` returns both on one line, for the id of a test.

    >>> from promptdsl.testing import HOSTILE
    >>> print(HOSTILE[0])
    tag '</context>'
    """

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind} {shortened(self.text)}"


def shortened(text: str) -> str:
    """Return a text as a Python literal in ASCII, shortened to 60 characters."""
    literal = ascii(text)
    return literal if len(literal) <= 60 else f"{literal[:60]}..."


def _corpus() -> Iterator[HostileText]:
    """Yield the texts of the data file; some are written as pieces with counts.

    These are long texts, and two neighbouring surrogates, which JSON reads as one character.
    """
    corpus: dict[str, list[Any]] = json.loads(DATA.read_text("utf-8"))  # Any: a text, or pieces
    for kind, texts in corpus.items():
        for text in texts:
            pieces: list[Any] = [text, 1] if isinstance(text, str) else text  # Any: with counts
            repeated = (
                piece * times for piece, times in zip(pieces[::2], pieces[1::2], strict=True)
            )
            yield HostileText(kind, "".join(repeated))


HOSTILE: tuple[HostileText, ...] = tuple(_corpus())
"""The corpus of promptdsl's own tests, in a stable order; no text is empty or repeated.

The kinds: tags, also in disguise, references, delimiters, chat markers, Markdown, HTML, JSON, CSV,
tables, lists, quotations, code, template syntax, line ends, control and invisible characters,
look-alikes, marks of snapshots, long texts, and harmless texts for contrast.
"""
