"""The place of an argument in a prompt: what is promised there, and which text breaks it."""

import csv
import json
import re
from collections.abc import Iterator
from contextlib import suppress

import attrs

from promptdsl import Span, decode
from promptdsl.foundation.guards import guard, tag_names
from promptdsl.foundation.unicode import whole

WORD = "40716253"
"""A harmless text that no prompt holds, and that upper() and quote() leave as it is."""


@attrs.frozen
class InjectionPlace:
    """A span with the argument in it: the text ``before`` and ``after`` it in that span.

    ``prefix`` begins its further lines. ``names`` and ``literals`` are the tags and delimiters that
    it may not forge. ``strict``: it has no angle bracket. ``bare``: it is read as Markdown.
    ``spoken``: it is sent as it is. ``kept``: the function passes its argument on unchanged.
    """

    span: Span
    before: str
    after: str
    names: frozenset[str]
    literals: frozenset[str]
    prefix: str
    strict: bool
    bare: bool
    spoken: bool
    kept: bool
    around: tuple[str, str]
    """The two lines before, and the two after it."""
    begun: str
    """The end of the text before it, from a bracket that is not closed."""

    @property
    def calm(self) -> str:
        """What is there for the harmless word, which an author may have written twice."""
        return self.span.text[len(self.before) : len(self.span.text) - len(self.after)]

    def promise_broken_by(self, piece: str, given: str) -> str | None:
        """Return what a text does that it may not, given what it was before it was encoded."""
        lines = self.unindented(piece)
        if self.names and guard(piece, self.names, self.literals) != piece and not self.strict:
            return "forges a tag or delimiter of the prompt"
        if not (self.strict or self.spoken) and self._completes(piece) > self._completes(self.calm):
            return "completes a tag of the prompt"
        if self.spoken:
            changed = self.kept and piece != whole(self.calm.replace(WORD, given))[0]
            return "is not sent as it is" if changed and not self.names else None
        if self.strict and ("<" in lines or ">" in lines):
            return "writes a tag"
        before, after = self.around
        if self.bare and skeleton(before + piece + after) != skeleton(before + self.calm + after):
            return "begins a heading, a rule or a code fence"
        # Two lone surrogates together are a character in JSON.
        wanted = {self.calm.replace(WORD, text) for text in (given, _paired(given))}
        if self.kept and wanted.isdisjoint(readings(lines)):
            return "does not come back from decode()"
        return None

    def _completes(self, piece: str) -> bool:
        """Return whether a text makes a tag of the bracket that the author's text left open."""
        if not self.begun:
            return False
        names = self.names - tag_names(f"{self.begun}>")  # a tag of the author's own is kept
        return not guard(self.begun + piece, names, self.literals).startswith(self.begun)

    def unindented(self, piece: str) -> str:
        """Return a text in this place without what begins its further lines; blank ones lack it."""
        indent = self.prefix.rstrip()
        rest = re.escape(self.prefix[len(indent) :])
        return re.sub(f"\n{re.escape(indent)}(?:{rest})?", "\n", piece) if self.prefix else piece


def between(text: str, before: str, after: str) -> str | None:
    """Return what is between the beginning and the end of a text, ``None`` if it has others."""
    fits = len(text) >= len(before) + len(after)
    if not (fits and text.startswith(before) and text.endswith(after)):
        return None
    return text[len(before) : len(text) - len(after)]


def readings(text: str) -> Iterator[str]:
    """Yield what a reader of text, CSV or JSON gets back from an encoded text."""
    yield decode(text)
    for cell in csv.reader([text]) if text.startswith('"') else ():
        yield decode("".join(cell))
    with suppress(ValueError):
        yield str(json.loads(f'"{decode(text)}"', strict=False))


def _paired(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


# Markdown, as a tolerant reader sees it.

CONTAINERS = re.compile(r"\s*(?:(?:[-+*>]|\d+[.)])\s+)*")
LINES = {
    "rule": re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*"),
    "fence": re.compile(r"(?:```|~~~).*", re.DOTALL),
    "heading": re.compile(r"#{1,6}(?:\s.*)?", re.DOTALL),
}
UNDERLINE = re.compile(r"\s*(?:=+|-+)\s*")


def _kinds(above: str, line: str) -> list[str]:
    """Return what a line is, under the line above it: a heading, a rule, a fence or none."""
    start = CONTAINERS.match(line)
    rest = line[start.end() :] if start else line
    if above.strip() and (UNDERLINE.fullmatch(line) or UNDERLINE.fullmatch(rest)):
        return ["underline"]
    return [
        kind for kind, shape in LINES.items() if shape.fullmatch(line) or shape.fullmatch(rest)
    ][:1]


def skeleton(text: str) -> list[str]:
    """Return the headings, rules and code fences of a text, by every line end Python knows."""
    lines = text.splitlines()
    return [
        kind
        for above, line in zip(["", *lines], lines, strict=False)
        for kind in _kinds(above, line)
    ]
