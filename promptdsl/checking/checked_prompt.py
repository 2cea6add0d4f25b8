"""A rendered prompt as rules see it: its author's text, and the code that wrote it."""

import ast
import re
from collections.abc import Callable, Iterator

from promptdsl import Rendered, Source
from promptdsl.checking.python_file import AuthorCall, PythonFile

_CODE = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1|\Z)|(`+)(?!`).+?(?<!`)\2(?!`)"
    r"|<(code|pre|example)\b.*?</\3>",
    re.DOTALL | re.MULTILINE,
)
"""A code fence, code in a line, and tags around examples."""


class CheckedPrompt:
    """A rendered prompt with its ``spans``; ``texts`` are the spans that its author wrote.

    ``file_of`` returns the parsed file of a path.
    """

    def __init__(self, rendered: Rendered, file_of: Callable[[str], PythonFile | None]) -> None:
        self.rendered, self._file_of = rendered, file_of
        self.spans = rendered.spans()
        self.texts = [span for span in self.spans if span.kind == "author"]

    def calls(self, *names: str) -> Iterator[tuple[Source, AuthorCall]]:
        """Yield the calls of components that wrote a part of the prompt, with their lines."""
        for source in {span.source: None for span in self.spans if span.source}:
            yield from ((source, call) for call in self.calls_at(source, *names))

    def calls_at(self, source: Source | None, *names: str) -> list[AuthorCall]:
        """Return the calls of components in a line of the author's code."""
        file = self._file_of(source.file) if source else None
        calls = file.calls if file and source else []
        return [
            call
            for call in calls
            if source and call.node.lineno == source.line and call.name in names
        ]


def prose(text: str) -> str:
    """Return a text in which code is replaced by blanks."""
    return _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)


def literal(node: ast.expr | None) -> object:
    """Return the value of a literal expression; raise :class:`ValueError` for any other."""
    try:
        return ast.literal_eval(node) if node is not None else None
    except (TypeError, SyntaxError, RecursionError, MemoryError):
        raise ValueError from None
