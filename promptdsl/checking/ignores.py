"""Comments that ignore a finding: ``# promptdsl: ignore[PD101]``, in templates ``{# ... #}``."""

import ast
import io
import re
import tokenize
from collections import defaultdict
from collections.abc import Iterator

from promptdsl.checking.python_file import PythonFile

_COMMENT = re.compile(r"promptdsl: ?ignore\b(?:\[([^\]]*)\])?")
_TEMPLATE = re.compile(r"\{#-?\s*promptdsl: ?ignore\b(?:\[([^\]]*)\])?\s*-?#\}")
Comment = tuple[int, str]
"""The line of a comment, and one of its ids, or ``""`` if it has none."""


class Ignores:
    """The ignore comments of a file, and the lines that each of them covers."""

    def __init__(self, text: str, file: PythonFile | None = None) -> None:
        self._covering: defaultdict[int, set[Comment]] = defaultdict(set)
        self._used: set[Comment] = set()
        self._every: list[Comment] = []
        if "promptdsl:" not in text:
            return
        for number, words in _comments(text) if file else enumerate(text.split("\n"), 1):
            for match in (_COMMENT if file else _TEMPLATE).finditer(words):
                ids = (match[1] or "").split(",")
                self._covering[number] |= {(number, id.strip()) for id in ids}
        self._every += sorted(set[Comment]().union(*self._covering.values()))
        for node in ast.walk(file.tree) if file and self._every else ():
            if isinstance(node, ast.With | ast.AsyncWith):
                head = range(node.lineno, node.body[0].lineno)
            elif isinstance(node, ast.stmt) and not hasattr(node, "body"):
                # A long string cannot contain a comment: one at its end covers the statement.
                head = range(node.lineno, (node.end_lineno or 0) + 1)
            else:
                continue
            at_head = {
                comment
                for line in head
                for comment in self._covering.get(line, ())
                if comment[0] == line
            }
            if at_head:
                for line in range(node.lineno, (node.end_lineno or 0) + 1):
                    self._covering[line] |= at_head

    def covers(self, line: int, rule: str) -> bool:
        """Return whether a comment ignores a finding of this rule, and note that it was needed."""
        needed = {comment for comment in self._covering.get(line, ()) if comment[1] == rule}
        self._used |= needed
        return bool(needed)

    def unused(self) -> Iterator[Comment]:
        """Yield the line and the id of each comment that no finding needed."""
        return (comment for comment in self._every if comment not in self._used)


def _comments(text: str) -> Iterator[tuple[int, str]]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return ((token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT)
