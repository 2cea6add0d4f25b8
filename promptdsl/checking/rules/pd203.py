"""A model follows an example before it follows a schema. Judged are calls and answers that are
written out in code: recorded ones, and those with values, never are.
"""

import ast
import json
from typing import Any

from promptdsl.checking.checked_prompt import CheckedPrompt, literal
from promptdsl.checking.finding import CheckRule, Found
from promptdsl.foundation.extras import require
from promptdsl.foundation.frozen import thawed

_FIX = "write it as the schema has it"


def find(prompt: CheckedPrompt) -> Found:
    """Yield what is written out in code and breaks a schema; a recorded call is never judged."""
    schemas = {it.name: thawed(it.input_schema) for it in prompt.rendered.tools}
    output = prompt.rendered.output
    for source, call in prompt.calls("ToolUse", "Example"):
        match call.name, call.node.args:
            case "ToolUse", [ast.Constant(value=str(name)), given, *_] if name in schemas:
                if problem := _problem(given, schemas[name]):
                    yield source, f"the call of `{name}` breaks its schema: {problem}", _FIX
            case "Example", [_, answer, *_] if output:
                if problem := _problem(answer, thawed(output.schema), is_text=True):
                    yield source, f"the answer of the example breaks its schema: {problem}", _FIX
            case _:
                pass


def _problem(node: ast.expr, schema: Any, *, is_text: bool = False) -> str:  # Any: JSON
    """Return how a value that is written out breaks a schema; ``""`` for one that is not known."""
    try:
        value = literal(node)
    except ValueError:
        return ""
    if is_text:
        if not isinstance(value, str) or value.strip()[:1] not in ("{", "["):
            return ""
        try:
            value = json.loads(value)
        except ValueError as error:
            return f"it is no JSON, {error}"
    jsonschema: Any = require("jsonschema", "check")  # Any: it has no types
    try:
        errors = jsonschema.validators.validator_for(schema)(schema).iter_errors(value)
        worst = jsonschema.exceptions.best_match(errors)
    except Exception:  # a schema that is none, or refers to an address
        return ""
    return "" if worst is None else str(worst.message)[:120]


_EXAMPLE = """\
CITY = {"type": "object", "required": ["city"]}
find = Example("I live in Oslo.", '{"city": "Oslo"}')
prompt = Timeline(Output(CITY), System("Find.", find), User("In Bonn."))
"""
RULE = CheckRule(
    id="PD203",
    name="example that breaks its schema",
    why=__doc__,
    source="OpenAI, Structured outputs; Google, Few-shot examples (2026).",
    wrong=_EXAMPLE.replace('"city":', '"town":'),
    right=_EXAMPLE,
    in_prompt=find,
)
