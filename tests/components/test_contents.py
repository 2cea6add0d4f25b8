"""What type checkers refuse in a component fails when it runs, and what they take is taken."""

import ast
import runpy
from pathlib import Path

import pytest

from promptdsl import *

FILE = Path(__file__).parent.parent / "typing" / "placement.py"
SAMPLES = {
    "timelines": {"block": TextBlock("x"), "message": Message("user", "x"), "value": ""},
    "turns_in_turns": {"message": Message("user", "x")},
    "parts_of_other_turns": {},
    "texts": {"value": None},
}
"""The arguments of the functions in which each statement is one case."""


@pytest.mark.parametrize("name", SAMPLES)
def test_types_agree_with_the_checks_at_run_time(name: str) -> None:
    """Each line that is an error to type checkers raises, and no other line does."""
    text = FILE.read_text("utf-8")
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    (function,) = (node for node in functions if node.name == name)
    refused = [
        number
        for number, line in enumerate(text.splitlines(), 1)
        if "# type: ignore" in line and function.lineno < number <= (function.end_lineno or 0)
    ]
    names = {**runpy.run_path(str(FILE)), **SAMPLES[name]}
    failed: list[int] = []
    for statement in function.body:
        code = compile(ast.Module([statement], []), str(FILE), "exec")
        try:
            exec(code, names)
        except PromptError:
            failed.append(statement.lineno)
    assert refused
    assert refused == failed
