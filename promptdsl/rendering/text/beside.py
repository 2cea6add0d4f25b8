"""The author's text beside a value, in the text of its part: what the value could complete."""

import re
from collections.abc import Sequence

from promptdsl.foundation.guards import left_open
from promptdsl.foundation.readable import Beside
from promptdsl.tree.node import Child
from promptdsl.tree.part_nodes import TrustedTextNode, ValueNode

FARTHEST = 50
"""The most texts and values that are read on either side of a value: many may share one line."""
_RAW = re.compile(r"<(?:pre|script|style|textarea)", re.IGNORECASE)
_LINE_END = re.compile(r"[\n\r]")
_FENCE = re.compile(r"(`{3,}(?=[^`]*\Z)|~{3,})")
_UNSURE = re.compile(r"<|[\s>*+\-.)\d]++(?:```|~~~)")


class PartLines:
    """The author's texts of a part, with ``None`` for each value; ``opening`` is before them."""

    def __init__(self, texts: Sequence[str | None], opening: str) -> None:
        self.texts = texts
        self.opening = opening
        authored = [text for text in texts if text]
        self.in_comment = any("<!" in text or "<?" in text for text in authored)
        self.in_raw = any(map(_RAW.search, authored))
        self.in_code, self.opens_code = frozenset[int](), False
        if any(map(may_fence, authored)):
            self.in_code, self.opens_code = code_in(texts)

    def beside(self, index: int) -> Beside:
        """Return what is beside the value with an index."""
        before, nearest, is_first = self._before(index)
        after, until = self._after(index)
        return Beside(
            before,
            after,
            nearest,
            until,
            is_first=is_first,
            in_code=index in self.in_code,
            in_comment=self.in_comment,
            in_raw=self.in_raw,
        )

    def _before(self, index: int) -> tuple[str, str | None, bool]:
        line, nearest = "", None
        for text in reversed(self.texts[max(index - FARTHEST, 0) : index]):
            if text is None:
                nearest = line if nearest is None else nearest
                continue
            start = max(text.rfind("\n"), text.rfind("\r")) + 1
            line = text[start:] + line
            if start:
                return line, nearest, False
        # Farther away, a line may have begun anywhere.
        return (self.opening if index <= FARTHEST else "") + line, nearest, not line

    def _after(self, index: int) -> tuple[str, str | None]:
        line, until = "", None
        for text in self.texts[index + 1 : index + 1 + FARTHEST]:
            if text is None:
                until = line if until is None else until
                continue
            end = _LINE_END.search(text)
            line += text[: end.start()] if end else text
            if end:
                break
        return line, until


def may_fence(text: str) -> bool:
    """Return whether a text has the mark of a code fence."""
    return "```" in text or "~~~" in text


def code_in(texts: Sequence[str | None]) -> tuple[frozenset[int], bool]:
    """Return the indexes of the values that are in a code fence of the author's, for certain.

    Also return whether a fence may be open at the end. The author's text opens one at the very
    beginning of a line. Where a value decides whether a line closes it, nothing is certain from
    there on. Nor is it below a tag, which may begin HTML, or a fence that is indented.
    """
    fence, number, inside = "", -1, set[int]()
    values = [index for index, text in enumerate(texts) if text is None]
    whole = "".join("\0" if text is None else text.replace("\0", " ") for text in texts)
    for line in whole.splitlines():
        for _ in range(line.count("\0")):
            number += 1
            if fence:
                inside.add(values[number])
        bare = line.replace("\0", "").strip()
        if not fence and _UNSURE.match(line):
            return frozenset(inside), True
        if not fence:
            opened = _FENCE.match(line)
            fence = opened[0] if opened else ""
        elif bare.startswith(fence) and not bare.strip(fence[0]):
            if "\0" in line:
                return frozenset(inside), True
            fence = ""
    return frozenset(inside), bool(fence)


def text_of(part: Child) -> str:
    """Return the text of a string or a value; other parts write none."""
    if isinstance(part, str):
        return part
    return part.text if isinstance(part, ValueNode | TrustedTextNode) else ""


def authored_text(part: Child) -> str | None:
    """Return the author's text of a part of a text, ``None`` for a value."""
    return None if isinstance(part, ValueNode) else text_of(part)


def is_value(part: Child, *, are_values: bool) -> bool:
    """Return whether a part is a value; with ``are_values`` strings are."""
    return are_values if isinstance(part, str) else isinstance(part, ValueNode)


_OPEN_TAG = re.compile(
    r"""<[A-Za-z_](?:[^<>"'=]|"[^"]*"|'[^']*'|=(?!\s*+(?:"[^"]*+|'[^']*+)\Z))*+"""
    r"""(?:=\s*+(["']).*)?\Z""",
    re.DOTALL,
)
"""A tag that is open at the end of a text; group 1 is an attribute's open quotation mark."""


def _left_open(text: str) -> str:
    """Return the tag that a text leaves open, in short: ``<a``, ``<a=``, ``<a="``, or nothing."""
    opened = _OPEN_TAG.search(text)
    if opened is None:
        return ""
    if opened[1]:
        return f"<a={opened[1]}"
    return "<a=" if text.rstrip().endswith("=") else "<a"


class AuthorText:
    """The author's texts in a part, read one after another; ``opening`` is before them on the line.

    With ``are_values`` its strings are values, too. ``tag`` is the tag that is open at the end of
    what was read, in short, and ``begun`` the beginning of one; ``before`` is the text directly
    before the next value; ``has_bracket`` is whether there was a ``<``.
    """

    __slots__ = (
        "_lines",
        "are_values",
        "before",
        "begun",
        "has_bracket",
        "opening",
        "parts",
        "tag",
    )

    def __init__(self, parts: Sequence[Child], are_values: bool, opening: str) -> None:
        self.parts, self.are_values, self.opening = parts, are_values, opening
        self.tag = self.begun = self.before = ""
        self.has_bracket = False
        self._lines: PartLines | None = None

    def read(self, text: str) -> None:
        """Read the next text of the author's."""
        self.before = text
        if self.has_bracket or self.begun or "<" in text or not text.isascii():
            self.has_bracket = self.has_bracket or "<" in text
            self.tag = _left_open(self.tag + text)
            self.begun = left_open(self.begun + text)

    def pass_value(self) -> None:
        """Pass over the next value."""
        self.before = ""
        if self.tag == "<a=":
            self.tag = "<a"

    @property
    def in_quotes(self) -> bool:
        """Whether the next value is in the quotation marks of a tag."""
        return self.tag.endswith(('"', "'"))

    def is_value(self, index: int) -> bool:
        """Return whether the part with an index is a value; there may be none."""
        return index < len(self.parts) and is_value(self.parts[index], are_values=self.are_values)

    @property
    def opens_code(self) -> bool:
        """Whether it may leave a code fence open."""
        return self._part_lines().opens_code

    def beside(self, index: int) -> Beside:
        """Return what is beside the value with an index, the next one."""
        beside = self._part_lines().beside(index)
        return beside._replace(in_tag=True) if self.tag or self.begun else beside

    def _part_lines(self) -> PartLines:
        if self._lines is None:
            texts = [
                None if self.is_value(number) else text_of(part)
                for number, part in enumerate(self.parts)
            ]
            self._lines = PartLines(texts, self.opening)
        return self._lines
