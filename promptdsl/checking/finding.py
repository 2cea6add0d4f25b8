"""The classes of a rule and of a finding."""

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

Location: TypeAlias = "ast.expr | ast.stmt | Source | None"
"""The location of a problem: code, a line of the author, or ``None`` if unknown."""
Problems: TypeAlias = Iterator[tuple[Location, str, str]]
"""What a rule yields: for each problem the location, what is wrong, and what to do."""
NAMED = 3
"""The most names of inputs in the text of a finding."""


@attrs.frozen(order=True)
class Finding:
    """A problem that a rule found: where it is, what is wrong, and what to do.

    ``rule`` is the id of the rule. ``line`` and ``column`` count from 1; 0 means unknown.
    ``inputs`` are the names of the inputs of a prompt in which the rule found it.

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
        location = ":".join(str(number) for number in (self.file, self.line, self.column) if number)
        return on_one_line(f"{location}: {self.rule} {self.text}")

    @property
    def text(self) -> str:
        """The problem, at most three names of inputs, and what to do."""
        if not self.inputs:
            return f"{self.message}; {self.fix}"
        names = ", ".join(self.inputs[:NAMED])
        if len(self.inputs) > NAMED:
            names = f"{names} and {len(self.inputs) - NAMED} more"
        return f"{self.message} (inputs: {names}); {self.fix}"


@attrs.frozen(kw_only=True)
class CheckRule:
    """A rule of ``promptdsl check``: its data, and its functions.

    These come from the file of the rule: ``id`` is its name, ``why`` its docstring; ``in_source``,
    ``in_template`` and ``in_prompt`` are its functions. ``source`` is the origin of the rule, with
    its date. ``wrong`` and ``right`` are examples in Python, which may use all public names. A rule
    about prompts checks their variable ``prompt``, rendered for ``model``. ``hints`` are the names
    of the render's hints that are findings of this rule.

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
