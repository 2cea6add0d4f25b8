"""Texts as a snapshot shows them: values that change from run to run are signs."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import TypeAlias

from promptdsl import Span
from promptdsl.comparing.escapes import alias, ended, shown

Scrubber: TypeAlias = "str | re.Pattern[str] | Callable[[str], Iterable[str]]"
"""Finds values that change: a regular expression, or a function that returns the values."""

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"(?P<colon>:)?')
"""A string of JSON; a key is followed by a colon."""


class ShownTexts:
    """The texts of a snapshot. Volatile values are numbered in order, scrubbed ones by value."""

    def __init__(self, scrubbers: Mapping[str, Scrubber]) -> None:
        self.scrubbers = {
            name: re.compile(scrubber) if isinstance(scrubber, str) else scrubber
            for name, scrubber in scrubbers.items()
        }
        self.locations: Counter[str] = Counter()
        """How many volatile values with each label there are so far."""
        self.numbers: dict[str, dict[str, int]] = {}
        """The number of each scrubbed value, by the name of its scrubber."""
        self.signs: list[str] = []
        """The signs of the volatile values so far."""

    def volatile(self, span: Span) -> str:
        """Return the sign of a volatile value; the first with a label has no number."""
        label = span.label or "value"
        self.locations[label] += 1
        number = self.locations[label]
        self.signs.append(alias(label, number if number > 1 else 0))
        return self.signs[-1]

    def of_spans(self, spans: Iterable[tuple[str, Span]]) -> str:
        """Return the text of spans, scrubbed; the text of a volatile span is already its sign."""
        pieces: list[str] = []
        for is_sign, run in groupby(spans, lambda pair: pair[1].kind == "volatile"):
            text = "".join([text for text, _ in run])
            pieces.append(text if is_sign else self._shown(text))
        return ended("".join(pieces))

    def text(self, text: str) -> str:
        """Return a text, scrubbed."""
        return ended(self._shown(text))

    def name(self, text: str) -> str:
        """Return an id, a file name or a description on one line, scrubbed."""
        return ended(self._shown(text, one_line=True))

    def data(self, text: str) -> str:
        """Return JSON on one line; its texts are scrubbed, its keys and numbers are not."""
        pieces: list[str] = []
        start = 0
        for match in _STRING.finditer(text):
            if not match["colon"]:
                pieces += [shown(text[start : match.start()], one_line=True)]
                pieces += [self._shown(match[0], one_line=True)]
                start = match.end()
        return ended("".join([*pieces, shown(text[start:], one_line=True)]))

    def line(self, text: str) -> str:
        """Return a fact on one line, such as the model or the name of a tool; never scrubbed."""
        return ended(shown(text, one_line=True))

    def _shown(self, text: str, *, one_line: bool = False) -> str:
        return "".join(
            piece if is_sign else shown(piece, one_line=one_line)
            for is_sign, piece in self.scrubbed(text)
        )

    def scrubbed(self, text: str) -> list[tuple[bool, str]]:
        """Return the pieces of a text; each pair begins with whether the piece is a sign."""
        pieces = [(False, text)]
        for name, scrubber in self.scrubbers.items():
            pieces = [
                new
                for is_sign, piece in pieces
                for new in ([(True, piece)] if is_sign else self._split(name, scrubber, piece))
            ]
        return pieces

    def _split(
        self, name: str, scrubber: "re.Pattern[str] | Callable[[str], Iterable[str]]", text: str
    ) -> Iterator[tuple[bool, str]]:
        if not isinstance(scrubber, re.Pattern):
            # The longest value first, as a value may begin with another one.
            values = sorted({value for value in scrubber(text) if value}, key=len, reverse=True)
            scrubber = re.compile("|".join(map(re.escape, values)) or "(?!)")
        numbers = self.numbers.setdefault(name, {})
        start = 0
        for match in scrubber.finditer(text):
            if match[0]:
                yield False, text[start : match.start()]
                # A volatile value may have a label equal to this name.
                number = numbers.setdefault(match[0], self.locations[name] + len(numbers) + 1)
                yield True, alias(name, number)
                start = match.end()
        yield False, text[start:]
