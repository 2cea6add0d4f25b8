"""Comments that let a finding stand: ``# promptdsl: ignore[PD101]``, in templates ``{# ... #}``."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from promptdsl.checking.python_file import PythonFile

_COMMENT = re.compile(r"promptdsl: ignore\[([^\]]*)\]")
_TEMPLATE = re.compile(r"\{#-?\s*promptdsl: ignore\[([^\]]*)\]\s*-?#\}")


class Ignores:
    """The comments of a file: the ids in each, by its line, and the lines that it is about."""

    def __init__(self, text: str, file: PythonFile | None = None) -> None:
        self._ids: dict[int, list[str]] = {}
        self._used: set[tuple[int, str]] = set()
        if "promptdsl: ignore" not in text:
            return
        for number, line in _comments(text) if file else enumerate(text.split("\n"), 1):
            for match in (_COMMENT if file else _TEMPLATE).finditer(line):
                self._ids[number] = [it.strip() for it in match[1].split(",") if it.strip()]
        self.lines = {number: {number} for number in self._ids}
        """The lines that the comment of a line is about."""
        for node in ast.walk(file.tree) if file else ():
            if isinstance(node, ast.With | ast.AsyncWith):
                head = range(node.lineno, node.body[0].lineno)
            elif isinstance(node, ast.stmt) and not hasattr(node, "body"):
                # A comment cannot stand in a long text: it stands at the end of the statement.
                head = range(node.lineno, (node.end_lineno or 0) + 1)
            else:
                continue
            for number in self._ids.keys() & {*head}:
                self.lines[number] |= {*range(node.lineno, (node.end_lineno or number) + 1)}

    def covers(self, line: int, rule: str) -> bool:
        """Return whether a comment lets a finding stand, and note that it was needed."""
        for number, ids in self._ids.items():
            if rule in ids and line in self.lines[number]:
                self._used.add((number, rule))
                return True
        return False

    def unused(self) -> Iterator[tuple[int, str]]:
        """Yield the line and the id of each comment that no finding needed."""
        every = ((number, id) for number, ids in self._ids.items() for id in ids)
        return (it for it in every if it not in self._used)


def _comments(text: str) -> Iterator[tuple[int, str]]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return ((it.start[0], it.string) for it in tokens if it.type == tokenize.COMMENT)
