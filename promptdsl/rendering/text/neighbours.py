"""The neighbours of a value: the author's text on its line, with which it could form a tag."""

import re
from collections.abc import Sequence

from promptdsl.foundation.readable import RAW, Neighbours

FARTHEST = 50
"""The most texts and values that are read on either side of a value: many may share one line."""
_RAW = re.compile(rf"<(?:{'|'.join(RAW)})\b", re.IGNORECASE)
_LINE_END = re.compile(r"[\n\r]")
_FENCE = re.compile(r"(`{3,}(?=[^`]*\Z)|~{3,})")
_UNSURE = re.compile(r"\s*<|[\s>*+\-.)\d]+(?:```|~~~)")


class PartLines:
    """The author's texts of a part, with ``None`` for each value; ``opening`` is before them."""

    def __init__(self, texts: Sequence[str | None], opening: str) -> None:
        self.texts = texts
        self.opening = opening
        author_texts = [text for text in texts if text]
        self.in_comment = any("<!" in text or "<?" in text for text in author_texts)
        self.in_raw = any(map(_RAW.search, author_texts))
        self.in_code, self.opens_code = code_in(texts)

    def neighbours(self, index: int) -> Neighbours:
        """Return the neighbours of the value with an index."""
        before, nearest, is_first = self._before(index)
        after, until = self._after(index)
        return Neighbours(
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
        # If the line begins farther away than texts are read, the opening is not before it.
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


def code_in(texts: Sequence[str | None]) -> tuple[frozenset[int], bool]:
    """Return the indexes of the values that are certainly in a code fence of the author's.

    Also return whether a code fence may be open at the end. A code fence begins at the very
    beginning of a line of the author's text. Nothing is certain after these lines:

    - a line that may close the fence or not, because of a value in it;
    - a line with a tag, which may begin HTML;
    - a fence that is indented, or after a value, which may be empty.
    """
    if not any(text and ("```" in text or "~~~" in text) for text in texts):  # the usual case
        return frozenset(), False
    fence, number, inside = "", -1, set[int]()
    values = [index for index, text in enumerate(texts) if text is None]
    lines = "".join("\0" if text is None else text.replace("\0", " ") for text in texts)
    for line in lines.splitlines():
        for _ in range(line.count("\0")):
            number += 1
            if fence:
                inside.add(values[number])
        without_values = line.replace("\0", "")
        stripped = without_values.strip()
        if not fence:
            fence = _fence_of(line)
            # The values of the line may be empty.
            if _UNSURE.match(without_values) or fence != _fence_of(without_values):
                return frozenset(inside), True
        elif stripped.startswith(fence) and not stripped.strip(fence[0]):
            if "\0" in line:
                return frozenset(inside), True
            fence = ""
    return frozenset(inside), bool(fence)


def _fence_of(line: str) -> str:
    """Return the fence that a line opens, or nothing."""
    opened = _FENCE.match(line)
    return opened[0] if opened else ""
