"""A rule, and what it finds in a file or a prompt."""

import ast
from collections.abc import Callable, Collection, Iterator
from textwrap import fill, indent
from typing import TYPE_CHECKING, TypeAlias

import attrs

from promptdsl import Source
from promptdsl.foundation.unicode import on_one_line

if TYPE_CHECKING:
    from promptdsl.checking.checked_prompt import CheckedPrompt
    from promptdsl.checking.python_file import PythonFile

Place: TypeAlias = "ast.expr | ast.stmt | Source | None"
"""Where something was found: code, a line of the author, or nowhere."""
Found: TypeAlias = Iterator[tuple[Place, str, str]]
"""What a rule yields: the place, what is wrong there, and what to do."""


@attrs.frozen(order=True)
class Finding:
    """Something that a rule found: where it is, what is wrong, and what to do.

    ``rule`` is the id of the rule. ``line`` and ``column`` count from 1; 0 is unknown.

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

    def __str__(self) -> str:
        place = ":".join(str(it) for it in (self.file, self.line, self.column) if it)
        return on_one_line(f"{place}: {self.rule} {self.message}; {self.fix}")


@attrs.frozen(kw_only=True)
class CheckRule:
    """A rule of ``promptdsl check``: data, and the functions that look.

    ``id``, ``why`` and the functions are those of its file: its name, its docstring, ``in_source``,
    ``in_template`` and ``in_prompt``. ``source`` says where it comes from, with its date.
    ``wrong`` and ``right`` are examples in Python, which has all public names; a rule about prompts
    looks at their name ``prompt``, rendered for ``model``. ``hints`` are those of a render that are
    findings of this rule.

    >>> from promptdsl.checking import RULES
    >>> RULES["PD101"].name
    'value built into an instruction'
    """

    name: str
    source: str
    wrong: str
    right: str
    model: str | None = None
    hints: tuple[str, ...] = ()
    id: str = ""
    why: str = ""
    in_source: "Callable[[PythonFile], Found] | None" = None
    in_template: "Callable[[str, str, Collection[str]], Found] | None" = None
    in_prompt: "Callable[[CheckedPrompt], Found] | None" = None

    def __str__(self) -> str:
        """Return the rule as it is explained on a terminal."""
        examples = f"Wrong:\n{indent(self.wrong, '    ')}Right:\n{indent(self.right, '    ')}"
        hints = [f"Hints that it takes: {', '.join(self.hints)}."] if self.hints else []
        texts = (f"{self.id}: {self.name}", "", fill(self.why, 79), "", examples)
        return "\n".join([*texts, fill(" ".join([*hints, f"Source: {self.source}"]), 79)])
