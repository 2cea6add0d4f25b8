"""Comments that let a finding stand: ``# promptdsl: ignore[PD101]``, in templates ``{# ... #}``."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from promptdsl.checking.python_file import PythonFile

_MARK = "promptdsl: ignore"
_COMMENT = re.compile(r"promptdsl: ignore\[([^\]]*)\]")
_TEMPLATE = re.compile(r"\{#-?\s*promptdsl: ignore\[([^\]]*)\]\s*-?#\}")


class Ignores:
    """The comments of a file: the ids in each line, and the lines that each is about."""

    def __init__(self, text: str, file: PythonFile | None = None) -> None:
        self.ids: dict[int, list[str]] = {}
        self.used: set[tuple[int, str]] = set()
        self._ranges: dict[int, list[range]] = {}
        if _MARK not in text:
            return
        lines = _comments(text) if file else enumerate(text.split("\n"), 1)
        for number, line in lines:
            for match in (_COMMENT if file else _TEMPLATE).finditer(line):
                self.ids[number] = [it.strip() for it in match[1].split(",") if it.strip()]
                self._ranges[number] = [range(number, number + 1)]
        for node in ast.walk(file.tree) if file and self.ids else ():
            if isinstance(node, ast.With | ast.AsyncWith):
                head, end = range(node.lineno, node.body[0].lineno), node.end_lineno
            elif isinstance(node, ast.stmt) and not hasattr(node, "body"):
                # A comment cannot stand in a long text: it stands at the end of the statement.
                head, end = range(node.lineno, (node.end_lineno or 0) + 1), node.end_lineno
            else:
                continue
            for number in head:
                if number in self.ids:
                    self._ranges[number].append(range(node.lineno, (end or number) + 1))

    def covers(self, line: int, rule: str) -> bool:
        """Return whether a comment lets a finding stand, and note that it was needed."""
        for number, ids in self.ids.items():
            if rule in ids and any(line in it for it in self._ranges[number]):
                self.used.add((number, rule))
                return True
        return False

    def unused(self) -> Iterator[tuple[int, str]]:
        """Yield the line and the id of each comment that no finding needed."""
        for number, ids in self.ids.items():
            yield from ((number, it) for it in ids if (number, it) not in self.used)

    def lines_of(self, number: int) -> list[range]:
        """Return the lines that the comment of a line is about."""
        return self._ranges[number]


def _comments(text: str) -> Iterator[tuple[int, str]]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return ((it.start[0], it.string) for it in tokens if it.type == tokenize.COMMENT)
