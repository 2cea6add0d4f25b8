"""How many tokens tools and the form of an answer are: estimates.

Providers render definitions in forms of their own, which they do not publish. The JSON of a schema
is longer than what is known of these, so counting it errs on the safe side.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from promptdsl.config.model_facts import ModelFacts
from promptdsl.messages.prompt import OutputSchema, ToolDefinition
from promptdsl.tokens.count import TextTokens
from promptdsl.tokens.wire_json import compact, pruned

PER_TOOL = 7
"""Around each tool (OpenAI Cookbook, "How to count tokens with tiktoken", for gpt-4o)."""

TOOLS = 12
"""Around all of them, from the same source."""

FORM = 12
"""Around the form of an answer: assumed, there is no source."""

_CLAUDE = re.compile(r"claude|anthropic")
_PROMPTS = (
    (r"claude-3", 530),
    (r"opus-4-8", 410),
    (r"sonnet-5(?!-5)", 474),
    (r"-4-[56]", 589),
    (r"-4(?!-[7-9])", 346),
)
CLAUDE_TOOLS = 804
"""What Claude is told when it has tools: the most of any model (Anthropic, "Tool use")."""

_WRAPPERS = ("function", "custom", "toolSpec")
_SCHEMAS = ("parameters", "input_schema", "parameters_json_schema", "inputSchema", "schema")
_OWN = frozenset({*_SCHEMAS, "name", "description", "strict", "type"})


def tool_tokens(tool: ToolDefinition, tokens: TextTokens) -> int:
    """Return how many tokens a tool is, about: its name, description and schema."""
    if tool.raw is not None:
        return definition_tokens(tool.raw, tokens)
    said = {"name": tool.name, "description": tool.description}
    return definition_tokens({**said, "parameters": tool.input_schema}, tokens)


def output_tokens(output: OutputSchema, tokens: TextTokens) -> int:
    """Return how many tokens the form of an answer is, about: name, description and schema."""
    said = {"name": output.name, "description": output.description}
    return form_tokens({**said, "schema": output.schema}, tokens)


def tools_frame(facts: ModelFacts) -> int:
    """Return what stands around the tools of a request, in tokens: Claude is given a prompt."""
    model = facts.model or ""
    if facts.provider != "anthropic" and not _CLAUDE.search(model):
        return TOOLS
    told = (most for pattern, most in _PROMPTS if re.search(pattern, model))
    return next(told, CLAUDE_TOOLS)


def definitions(tools: object) -> Iterator[Mapping[str, Any]]:
    """Yield what is said of each tool in a payload, whatever it is wrapped in; marks are none."""
    for tool in _mappings(tools):
        functions = tool.get("function_declarations")
        wrapped = next((tool[key] for key in _WRAPPERS if isinstance(tool.get(key), Mapping)), tool)
        if functions is not None:
            yield from _mappings(functions)
        elif "cachePoint" not in tool:
            yield wrapped


def definition_tokens(said: Mapping[str, Any], tokens: TextTokens) -> int:
    """Return how many tokens one definition in a payload is, about."""
    rest = pruned({key: value for key, value in said.items() if key not in _OWN}).value
    return PER_TOOL + _said(said, tokens) + (tokens.of(compact(rest)) if rest else 0)


def form_tokens(said: Mapping[str, Any], tokens: TextTokens) -> int:
    """Return how many tokens the form of an answer in a payload is, about."""
    return FORM + _said(said, tokens)


def _said(said: Mapping[str, Any], tokens: TextTokens) -> int:
    total = 0
    for key in ("name", "description"):
        if isinstance(text := said.get(key), str):
            total += tokens.of(text)
    for key in _SCHEMAS:
        if (schema := said.get(key)) is not None:
            total += tokens.of(_schema_text(schema))
    return total


def _schema_text(schema: Any) -> str:
    """Return the JSON of a schema; Converse takes it as a text, or under a key of its own."""
    if isinstance(schema, str):
        return schema
    held = cast("Any", schema).get("json") if isinstance(schema, Mapping) else None
    return compact(schema if held is None else held)


def _mappings(value: object) -> Iterator[Mapping[str, Any]]:
    found: list[Any] = [*value] if isinstance(value, list | tuple) else []  # pyright: ignore[reportUnknownVariableType]
    yield from (item for item in found if isinstance(item, Mapping))
