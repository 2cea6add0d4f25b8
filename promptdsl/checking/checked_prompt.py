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
    """A prompt with its ``spans``; ``texts`` are those of its author outside of the conversation.

    ``file_of`` returns the file of a line that wrote a part of it.
    """

    def __init__(self, rendered: Rendered, file_of: Callable[[str], PythonFile | None]) -> None:
        self.rendered, self._file_of = rendered, file_of
        self.spans = rendered.spans()
        self.texts = [it for it in self.spans if it.kind == "author"]

    def calls(self, *names: str) -> Iterator[tuple[Source, AuthorCall]]:
        """Yield the calls of components that wrote a part of the prompt, with their lines."""
        for source in {it.source: None for it in self.spans if it.source}:
            yield from ((source, call) for call in self.calls_at(source, *names))

    def calls_at(self, source: Source | None, *names: str) -> list[AuthorCall]:
        """Return the calls of components at a line of the author."""
        file = self._file_of(source.file) if source else None
        calls = file.calls if file and source else []
        return [it for it in calls if source and it.node.lineno == source.line and it.name in names]


def prose(text: str) -> str:
    """Return a text with blanks in the place of code."""
    return _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)


def literal(node: ast.expr | None) -> object:
    """Return the value of an expression that is written out; :class:`ValueError` for any other."""
    try:
        return ast.literal_eval(node) if node is not None else None
    except (TypeError, SyntaxError, RecursionError, MemoryError):
        raise ValueError from None
