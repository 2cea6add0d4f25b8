"""The place of an argument in a prompt: what is promised there, and which text breaks it."""

import csv
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import cached_property

import attrs

from promptdsl import decode
from promptdsl.foundation.guards import guard, holds, written_tags
from promptdsl.foundation.unicode import valid_unicode

WORD = "40716253"
"""A harmless text that no prompt holds, and that upper() and quote() leave as it is."""
TAG = re.compile(r"<(/?)([A-Za-z_][\w.\-]*)")
ENDS_CODE = "ends the code fence that it stands in"


@attrs.frozen
class InjectionPlace:
    """A text with the argument in it: what is ``before`` and ``after`` it in that text.

    ``start`` and ``end`` are the same of its whole block. ``names`` and ``literals`` are the tags
    and delimiters that it may not forge. ``bare``: it is read as Markdown. ``code`` is what is
    before it in a code fence that the author wrote. ``prefix`` begins its further lines.
    ``strict``: it has no angle bracket. ``spoken``: it is sent as it is. ``kept``: the function
    passes its argument on unchanged.
    """

    text: str
    before: str
    after: str
    start: str
    end: str
    names: frozenset[str] = frozenset()
    literals: frozenset[str] = frozenset()
    bare: bool = False
    code: str = ""
    prefix: str = ""
    strict: bool = False
    spoken: bool = False
    kept: bool = False

    @cached_property
    def around(self) -> tuple[str, str]:
        """The two lines before, and the two after it."""
        return "".join(self.start.splitlines(True)[-2:]), "".join(self.end.splitlines(True)[:2])

    @cached_property
    def begun(self) -> str:
        """The end of the text before it, from a bracket that is not closed."""
        bracket = self.start.rfind("<")
        return self.start[bracket:] if bracket > self.start.rfind(">") else ""

    @property
    def calm(self) -> str:
        """What is there for the harmless word, which an author may have written twice."""
        return self.text[len(self.before) : len(self.text) - len(self.after)]

    def promise_broken_by(self, piece: str, given: str) -> str | None:
        """Return what a text does that it may not, given what it was before it was encoded."""
        lines = self.unindented(piece)
        guarded = guard(piece + self.after, self.names, self.literals) if self.names else piece
        if not (self.strict or guarded.startswith(piece)):
            return "forges a tag or delimiter of the prompt"
        if not self.strict and self._completes(piece) > self._completes(self.calm):
            return "completes a tag of the prompt"
        if self.spoken:
            changed = self.kept and piece != valid_unicode(self.calm.replace(WORD, given))[0]
            return "is not sent as it is" if changed and not self.names else None
        if self.strict and ("<" in lines or ">" in lines):
            return "writes a tag"
        before, after = self.around
        if self.bare and skeleton(before + piece + after) != skeleton(before + self.calm + after):
            return "begins a heading, a rule or a code fence"
        if self.code and self._fences(piece + after) != self._fences(self.calm + after):
            return ENDS_CODE
        # Two lone surrogates together are a character in JSON.
        paired = given.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        wanted = {self.calm.replace(WORD, text) for text in (given, paired)}
        if self.kept and wanted.isdisjoint(readings(lines)):
            return "does not come back from decode()"
        return None

    def _fences(self, text: str) -> list[str]:
        """Return the code fences that are opened and closed from its own on."""
        return [fence for fence, _ in code_fences(self.code + text)]

    def _completes(self, piece: str) -> bool:
        """Return whether a text makes a tag of the bracket that the author's text left open."""
        if not self.begun:
            return False
        own = written_tags(f"{self.begun}>")  # a tag of the author's own is kept
        names = self.names.difference(*own)
        return not guard(self.begun + piece, names, self.literals).startswith(self.begun)

    def unindented(self, piece: str) -> str:
        """Return a text in this place without what begins its further lines; blank ones lack it."""
        indent = self.prefix.rstrip()
        rest = re.escape(self.prefix[len(indent) :])
        return re.sub(f"\n{re.escape(indent)}(?:{rest})?", "\n", piece) if self.prefix else piece


def around_word(text: str) -> tuple[str, str]:
    """Return what is before the harmless word in a text, and what is after its last one."""
    before, _, rest = text.partition(WORD)
    return before, rest.rpartition(WORD)[2]


def between(text: str, before: str, after: str) -> str | None:
    """Return what is between the beginning and the end of a text, ``None`` if it has others."""
    fits = len(text) >= len(before) + len(after)
    if not (fits and text.startswith(before) and text.endswith(after)):
        return None
    return text[len(before) : len(text) - len(after)]


def readings(text: str) -> Iterator[str]:
    """Yield what a reader of text, CSV or JSON gets back from an encoded text."""
    yield decode(text)
    with suppress(csv.Error):  # a line end behind a quoted cell
        for cell in csv.reader([text]) if text.startswith('"') else ():
            yield decode("".join(cell))
    with suppress(ValueError):
        yield str(json.loads(f'"{decode(text)}"', strict=False))


def is_enclosed(before: str, after: str, literals: Collection[str]) -> bool:
    """Return whether a tag or a delimiter is around what is between two texts."""
    opened: Counter[str] = Counter()
    for slash, name in TAG.findall(before):
        opened[name] += -1 if slash else 1
    closed = {name for slash, name in TAG.findall(after) if slash}
    return holds(after, literals) or any(opened[name] > 0 for name in closed)


# Markdown, as a tolerant reader sees it.

CONTAINERS = re.compile(r"\s*(?:(?:[-+*>]|\d+[.)])\s+)*")
LINES = {
    "rule": re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*"),
    "fence": re.compile(r"(?:```|~~~).*", re.DOTALL),
    "heading": re.compile(r"#{1,6}(?:\s.*)?", re.DOTALL),
}
UNDERLINE = re.compile(r"\s*(?:=+|-+)\s*")


def skeleton(text: str) -> list[str]:
    """Return the headings, rules and code fences of a text, by every line end Python knows."""
    found: list[str] = []
    above = ""
    for line in text.splitlines():
        forms = (line, CONTAINERS.sub("", line, count=1))
        kinds = [kind for kind, shape in LINES.items() if any(map(shape.fullmatch, forms))]
        if above.strip() and any(map(UNDERLINE.fullmatch, forms)):
            kinds = ["underline"]
        found += kinds[:1]
        above = line
    return found


FENCE = re.compile(r"(`{3,}(?=[^`]*\Z)|~{3,})(.*)", re.DOTALL)
"""A line that opens a code fence, or closes one if nothing follows; code in a line is neither."""


def code_fences(text: str) -> list[tuple[str, int]]:
    """Return each code fence that a text opens, and where; what closes one is an empty fence."""
    fences: list[tuple[str, int]] = []
    offset = 0
    for line in text.splitlines(keepends=True):
        rest = CONTAINERS.sub("", line, count=1)
        offset += len(line)
        mark, fence = FENCE.match(rest), fences[-1][0] if fences else ""
        if mark and not fence:
            fences.append((mark[1], offset - len(rest)))
        elif mark and mark[1].startswith(fence) and not mark[2].strip():
            fences.append(("", offset))
    return fences
