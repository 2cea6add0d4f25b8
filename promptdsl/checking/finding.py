"""The classes of a rule and of a finding, and the rendered prompt that a rule checks."""

import ast
import re
from collections.abc import Callable, Collection, Iterator
from textwrap import fill, indent
from typing import TypeAlias

import attrs

from promptdsl import Rendered, Source
from promptdsl.checking.python_file import AuthorCall, PythonFile
from promptdsl.foundation.unicode import on_one_line

# A rendered prompt for the rules: the text of its author, and the code that wrote the text.

_CODE = re.compile(
    r"^[ \t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]*\1|\Z)|(`+)(?!`).+?(?<!`)\2(?!`)"
    r"|<(code|pre|example)\b.*?</\3>",
    re.DOTALL | re.MULTILINE,
)
"""Code in a text: a code fence, code in backticks, or the tags of code and examples."""


class CheckedPrompt:
    """A rendered prompt with its ``spans``; ``texts`` are the spans with text of its author.

    ``file_of`` is a function that returns the parsed Python file at a path, or ``None``.
    """

    def __init__(self, rendered: Rendered, file_of: Callable[[str], PythonFile | None]) -> None:
        self.rendered, self._file_of = rendered, file_of
        self.spans = rendered.spans()
        self.texts = [span for span in self.spans if span.kind == "author"]

    def calls(self, *names: str) -> Iterator[tuple[Source, AuthorCall]]:
        """Yield the calls of these components that wrote spans of the prompt, with their lines."""
        for source in {span.source: None for span in self.spans if span.source}:
            yield from ((source, call) for call in self.calls_at(source, *names))

    def calls_at(self, source: Source | None, *names: str) -> list[AuthorCall]:
        """Return the calls of these components that begin in a line of the author's code."""
        file = self._file_of(source.file) if source else None
        calls = file.calls if file and source else []
        return [
            call
            for call in calls
            if source and call.node.lineno == source.line and call.name in names
        ]


def prose(text: str) -> str:
    """Return a text of the same length in which blanks replace all code."""
    return _CODE.sub(lambda code: re.sub(r"[^\n]", " ", code[0]), text)


def literal(node: ast.expr | None) -> object:
    """Return the value of a literal expression; raise :class:`ValueError` for any other."""
    try:
        return ast.literal_eval(node) if node is not None else None
    except (TypeError, SyntaxError, RecursionError, MemoryError):
        raise ValueError from None


# The classes of a rule and of a finding.

Location: TypeAlias = "ast.expr | ast.stmt | Source | None"
"""The location of a problem: code, a source line, or ``None`` if it is not known."""
Problems: TypeAlias = Iterator[tuple[Location, str, str]]
"""What a rule yields: for each problem the location, what is wrong, and what to do."""
MAX_NAMES = 3
"""The maximum number of names of inputs in the text of a finding."""


@attrs.frozen(order=True)
class Finding:
    """A problem that a rule found: where it is, what is wrong, and what to do.

    ``rule`` is the id of the rule. ``line`` and ``column`` count from 1; 0 means unknown.
    ``inputs`` are the names of the inputs of the prompts that have the problem.

    >>> from promptdsl.checking import Finding
    >>> print(Finding("prompts.py", 12, 5, "PD101", "`name` is built into text", "use Value(name)"))
    prompts.py:12:5: PD101 `name` is built into text; use Value(name)
    """

    file: str
    line: int
    column: int
    rule: str
    message: str
    fix: str
    inputs: tuple[str, ...] = ()

    def __str__(self) -> str:
        location = ":".join(str(piece) for piece in (self.file, self.line, self.column) if piece)
        return on_one_line(f"{location}: {self.rule} {self.text}")

    @property
    def text(self) -> str:
        """The problem, the first three names of inputs, and what to do."""
        if not self.inputs:
            return f"{self.message}; {self.fix}"
        names = ", ".join(self.inputs[:MAX_NAMES])
        if len(self.inputs) > MAX_NAMES:
            names = f"{names} and {len(self.inputs) - MAX_NAMES} more"
        return f"{self.message} (inputs: {names}); {self.fix}"


@attrs.frozen(kw_only=True)
class CheckRule:
    """A rule of ``promptdsl check``: its data, and its functions.

    ``why`` is its reason. ``source`` says where the rule comes from, with the year. ``in_source``,
    ``in_template`` and ``in_prompt`` are functions that yield its problems in a Python file, a
    template and a rendered prompt. ``wrong`` and ``right`` are examples in Python, which may use
    all public names. In an example of a rule about prompts, the variable ``prompt`` is checked,
    rendered for ``model``. ``hints`` are the names of hints of a render that are findings of this
    rule.

    >>> from promptdsl.checking import RULES
    >>> RULES["PD101"].name
    'value built into an instruction'
    """

    id: str
    name: str
    why: str
    source: str
    wrong: str
    right: str
    model: str | None = None
    hints: tuple[str, ...] = ()
    in_source: "Callable[[PythonFile], Problems] | None" = None
    in_template: "Callable[[str, str, Collection[str]], Problems] | None" = None
    in_prompt: "Callable[[CheckedPrompt], Problems] | None" = None

    def __str__(self) -> str:
        """Return the explanation of the rule for a terminal."""
        examples = f"Wrong:\n{indent(self.wrong, '    ')}Right:\n{indent(self.right, '    ')}"
        hints = (
            [f"Hints that are findings of this rule: {', '.join(self.hints)}."]
            if self.hints
            else []
        )
        texts = (f"{self.id}: {self.name}", "", fill(self.why, 79), "", examples)
        return "\n".join([*texts, fill(" ".join([*hints, f"Source: {self.source}"]), 79)])
