"""The page of the rules, made from their files: python -m tests.checking writes it."""

import ast
from pathlib import Path
from textwrap import fill

import promptdsl
from promptdsl.checking import RULES, CheckRule

PAGE = Path(__file__).parents[2] / "docs" / "checking-rules.md"
HEAD = """\
# The rules of `promptdsl check`

This page is made from the files of the rules. [Checking](checking.md) shows how to run them. Rules
PD101 to PD105 read files and run no code. Rules PD201 to PD210 look at rendered prompts.
"""


def runnable(code: str) -> str:
    """Return an example with the import of the public names that it uses."""
    used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    names = ", ".join(sorted(used & {*promptdsl.__all__}))
    return f"from promptdsl import {names}\n{code}"


def section(rule: CheckRule) -> str:
    """Return what the page says about a rule."""
    hints = ", ".join(f"`{it}`" for it in rule.hints)
    also = f"These hints of a render are findings of this rule: {hints}." if hints else ""
    model = f"Seen with the model `{rule.model}`." if rule.model else ""
    more = " ".join(filter(None, (also, model, f"Source: {rule.source}")))
    return f"""
## {rule.id}: {rule.name}

{fill(rule.why, 118)}

Wrong:

```python
{runnable(rule.wrong)}```

Right:

```python
{runnable(rule.right)}```

{fill(more, 118)}
"""


def page() -> str:
    """Return the page of all rules."""
    return HEAD + "".join(map(section, RULES.values()))
