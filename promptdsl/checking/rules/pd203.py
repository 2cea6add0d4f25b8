"""A model follows an example more than a schema. The rule checks calls and answers that are
literals in code; an answer is checked only if it has a key of the schema. It does not check
recorded calls and answers, or those with values.
"""

import ast
import json
from typing import Any

from promptdsl.checking.checked_prompt import CheckedPrompt, literal
from promptdsl.checking.constants import last
from promptdsl.checking.finding import CheckRule, Problems
from promptdsl.foundation.extras import require
from promptdsl.foundation.frozen import is_mapping, thawed

_FIX = "write it as the schema demands"


def in_prompt(prompt: CheckedPrompt) -> Problems:
    """Yield the literal calls and answers in code that break a schema."""
    schemas = {tool.name: thawed(tool.input_schema) for tool in prompt.rendered.tools}
    output: Any = thawed(prompt.rendered.output.schema) if prompt.rendered.output else {}
    for source, call in prompt.calls("ToolUse", "Example", "Assistant"):
        arguments = [
            *call.node.args,
            *(keyword.value for keyword in call.node.keywords if keyword.arg == "output"),
        ]
        match call.name, arguments:
            case "ToolUse", [ast.Constant(value=str(name)), written, *_] if name in schemas:
                if problem := _problem(_value(written), schemas[name]):
                    yield source, f"the call of `{name}` breaks its schema: {problem}", _FIX
            case (("Example" | "Assistant"), [*_, written]):
                answer, keys = _value(written), output.get("properties", {})
                is_answer = is_mapping(answer) and any(key in keys for key in answer)
                if is_answer and (problem := _problem(answer, output)):
                    what = "example" if call.name == "Example" else "assistant"
                    yield source, f"the answer of the {what} breaks its schema: {problem}", _FIX
            case _:
                pass


def _value(node: ast.expr) -> object:
    """Return the data of a literal, or of a JSON text; ``None`` for any other expression."""
    if isinstance(node, ast.Call) and last(node.func) == "Json" and node.args:
        node = node.args[0]
    try:
        value = literal(node)
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return None


def _problem(value: object, schema: Any) -> str:  # Any: JSON
    """Return how data breaks a schema, or ``""``."""
    if value is None:
        return ""
    jsonschema: Any = require("jsonschema", "check")  # Any: it has no types
    try:
        errors = jsonschema.validators.validator_for(schema)(schema).iter_errors(value)
        worst = jsonschema.exceptions.best_match(errors)
    except Exception:  # the schema is not valid, or refers to an address
        return ""
    return "" if worst is None else str(worst.message)[:120]


_EXAMPLE = """\
CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
find = Example("I live in Oslo.", '{"city": "Oslo"}')
prompt = Timeline(Output(CITY), System("Find.", find), User("In Bonn."))
"""
RULE = CheckRule(
    name="example that breaks its schema",
    source="OpenAI, Structured outputs; Google, Few-shot examples (2026).",
    wrong=_EXAMPLE.replace('"Oslo"}', '["Oslo"]}'),
    right=_EXAMPLE,
)
