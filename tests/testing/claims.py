"""Claims about prompts, which pass or fail, with the complete text of each failure."""

import ast
import re
from pathlib import Path
from typing import Any

import promptdsl
from promptdsl import testing

PAGE = Path(__file__).with_name("claims.md")
_CASE = re.compile(
    r"^## (?P<name>[^\n]+)\n\n```python\n(?P<code>.*?)```\n\n```text\n(?P<told>.*?)```\n",
    re.DOTALL | re.MULTILINE,
)
CASES: dict[str, tuple[str, str]] = {
    it["name"]: (it["code"], it["told"]) for it in _CASE.finditer(PAGE.read_text("utf-8"))
}
"""The code of each case, whose expressions are claims, and the text of their results."""


def told(code: str) -> str:
    """Return the result of each expression in a code, with its line."""
    modules = (promptdsl, testing)
    names: dict[str, Any] = {it: getattr(module, it) for module in modules for it in module.__all__}
    return "".join(_told(statement, names) for statement in ast.parse(code).body)


def _told(statement: ast.stmt, names: dict[str, Any]) -> str:
    run = compile(ast.Module([statement], []), "claims.py", "exec")
    if not isinstance(statement, ast.Expr):
        exec(run, names)
        return ""
    try:
        exec(run, names)
    except AssertionError as error:
        return f"line {statement.lineno} fails: {error}\n\n"
    return f"line {statement.lineno} holds\n\n"


def rewritten() -> str:
    """Return the page with the failures of today."""
    text = PAGE.read_text("utf-8")
    for code, before in CASES.values():
        head = f"{code}```\n\n```text\n"
        text = text.replace(f"{head}{before}```\n", f"{head}{told(code)}```\n")
    return text
