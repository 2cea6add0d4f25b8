"""The location of an argument in a prompt: what is promised there, and which text breaks it."""

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
"""A harmless text that no prompt contains, and that upper() and quote() do not change."""
TAG = re.compile(r"<(/?)([A-Za-z_][\w.\-]*)")
ENDS_CODE = "ends its code fence"


@attrs.frozen
class InjectionLocation:
    """A text with the argument in it; ``before`` and ``after`` are the rest of the text.

    ``start`` and ``end`` are the texts before and after the argument in its complete block.
    ``names`` and ``literals`` are the tags and delimiters that the argument must not forge.
    ``bare``: it is read as Markdown. ``code`` is the text before it in a code fence of the author.
    ``prefix`` begins each of its lines after the first. ``strict``: it has no angle bracket.
    ``spoken``: it is sent as it is. ``kept``: the function does not change its argument.
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
        """The end of the text before it, from a ``<`` that is not closed; ``""`` without one."""
        bracket = self.start.rfind("<")
        return self.start[bracket:] if bracket > self.start.rfind(">") else ""

    @property
    def calm(self) -> str:
        """The text for the harmless word, which an author may have written twice."""
        return self.text[len(self.before) : len(self.text) - len(self.after)]

    def promise_broken_by(self, piece: str, hostile: str) -> str | None:
        """Return how a text breaks a promise, or ``None``; ``hostile`` is the original text."""
        lines = self.unindented(piece)
        guarded = guard(piece + self.after, self.names, self.literals) if self.names else piece
        if not (self.strict or guarded.startswith(piece)):
            return "forges a tag or delimiter of the prompt"
        if not self.strict and self._completes(piece) > self._completes(self.calm):
            return "completes a tag of the prompt"
        if self.spoken:
            changed = self.kept and piece != valid_unicode(self.calm.replace(WORD, hostile))[0]
            return "is not sent as it is" if changed and not self.names else None
        if self.strict and ("<" in lines or ">" in lines):
            return "writes a tag"
        before, after = self.around
        if self.bare and skeleton(before + piece + after) != skeleton(before + self.calm + after):
            return "begins a heading, a rule or a code fence"
        if self.code and self._fences(piece + after) != self._fences(self.calm + after):
            return ENDS_CODE
        # Two lone surrogates together are a character in JSON.
        paired = hostile.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        wanted = {self.calm.replace(WORD, text) for text in (hostile, paired)}
        if self.kept and wanted.isdisjoint(readings(lines)):
            return "does not come back from decode()"
        return None

    def _fences(self, text: str) -> list[str]:
        """Return the code fences from the author's code fence on."""
        return [fence for fence, _ in code_fences(self.code + text)]

    def _completes(self, piece: str) -> bool:
        """Return whether a text makes a tag of an open ``<`` of the author."""
        if not self.begun:
            return False
        authored = written_tags(f"{self.begun}>")  # a tag of the author is not changed
        names = self.names.difference(*authored)
        return not guard(self.begun + piece, names, self.literals).startswith(self.begun)

    def unindented(self, piece: str) -> str:
        """Return a text without ``prefix`` in its further lines; blank lines may lack it."""
        indent = self.prefix.rstrip()
        rest = re.escape(self.prefix[len(indent) :])
        return re.sub(f"\n{re.escape(indent)}(?:{rest})?", "\n", piece) if self.prefix else piece


def around_word(text: str) -> tuple[str, str]:
    """Return the texts before the first harmless word, and after the last one."""
    before, _, rest = text.partition(WORD)
    return before, rest.rpartition(WORD)[2]


def between(text: str, before: str, after: str) -> str | None:
    """Return the text between a beginning and an end; ``None`` if a text has others."""
    fits = len(text) >= len(before) + len(after)
    if not (fits and text.startswith(before) and text.endswith(after)):
        return None
    return text[len(before) : len(text) - len(after)]


def readings(text: str) -> Iterator[str]:
    """Yield the texts that a reader of text, CSV or JSON decodes from a text."""
    yield decode(text)
    if text.startswith('"'):
        with suppress(csv.Error):  # a line end behind a quoted cell
            yield from (decode("".join(cell)) for cell in csv.reader([text]))
    with suppress(ValueError):
        yield str(json.loads(f'"{decode(text)}"', strict=False))


def is_enclosed(before: str, after: str, literals: Collection[str]) -> bool:
    """Return whether a tag or a delimiter is open between two texts."""
    tags = Counter(TAG.findall(before))
    closed = {name for slash, name in TAG.findall(after) if slash}
    is_in_tag = any(tags["", name] > tags["/", name] for name in closed)
    return is_in_tag or holds(after, literals)


# Markdown, as a tolerant reader sees it.

CONTAINERS = re.compile(r"\s*(?:(?:[-+*>]|\d+[.)])\s+)*")
LINES = {
    "rule": re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*"),
    "fence": re.compile(r"(?:```|~~~).*", re.DOTALL),
    "heading": re.compile(r"#{1,6}(?:\s.*)?", re.DOTALL),
}
UNDERLINE = re.compile(r"\s*(?:=+|-+)\s*")


def skeleton(text: str) -> list[str]:
    """Return the kinds of the headings, rules and code fences of a text, in their order."""
    structure: list[str] = []
    above = ""
    for line in text.splitlines():
        readings_of_line = (line, CONTAINERS.sub("", line, count=1))
        kinds = [
            kind for kind, shape in LINES.items() if any(map(shape.fullmatch, readings_of_line))
        ]
        if above.strip() and any(map(UNDERLINE.fullmatch, readings_of_line)):
            kinds = ["underline"]
        structure += kinds[:1]
        above = line
    return structure


FENCE = re.compile(r"(`{3,}(?=[^`]*\Z)|~{3,})(.*)", re.DOTALL)
"""A line that opens a code fence, or closes one if nothing follows. Inline code does neither."""


def code_fences(text: str) -> list[tuple[str, int]]:
    """Return each code fence that a text opens, and its offset; ``""`` closes the one before."""
    fences: list[tuple[str, int]] = []
    offset = 0
    for line in text.splitlines(keepends=True):
        rest = CONTAINERS.sub("", line, count=1)
        offset += len(line)
        match = FENCE.match(rest)
        fence = fences[-1][0] if fences else ""
        if match and not fence:
            fences.append((match[1], offset - len(rest)))
        elif match and match[1].startswith(fence) and not match[2].strip():
            fences.append(("", offset))
    return fences
