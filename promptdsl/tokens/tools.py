"""The estimated tokens of tools and of an output schema.

Providers show definitions to the model in formats that they do not publish. The JSON of a schema is
longer than the known formats, so its count is a safe estimate.
"""

import re
from collections.abc import Iterator, Mapping

from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.wires import of_all
from promptdsl.messages.prompt import OutputSchema, ToolDefinition
from promptdsl.tokens.count import TextTokens
from promptdsl.tokens.wire_json import MARKS, WireObject, WireValue, compact, pruned

TOOLS_TEXT = "the provider's instructions for tools"
"""The name of the text that a provider adds to a request with tools, in reports and errors."""

PER_TOOL = 7
"""The frame of each tool (OpenAI Cookbook, "How to count tokens with tiktoken", for gpt-4o)."""

TOOLS = 12
"""The frame around all tools, from the same source."""

OUTPUT_SCHEMA = 12
"""The frame of an output schema. It is assumed: there is no source."""

_CLAUDE = re.compile(r"claude|anthropic")
_CLAUDE_PROMPTS = (
    (r"claude-3", 530),
    (r"opus-4-8", 410),
    (r"sonnet-5(?!-5)", 474),
    (r"-4-[56]", 589),
    (r"-4(?!-[7-9])", 346),
)
CLAUDE_TOOLS = 804
"""The tokens of the longest system text that a Claude gets with tools (Anthropic, "Tool use")."""

_WRAPPERS = of_all(lambda wire: wire.wrappers)
_TEXT_KEYS = ("name", "description")
_SCHEMA_KEYS = ("schema", *of_all(lambda wire: (wire.tool_schema,)))
_COUNTED = frozenset({*_TEXT_KEYS, *_SCHEMA_KEYS, "strict", "type"})


def tool_tokens(tool: ToolDefinition, tokens: TextTokens) -> int:
    """Return the estimated tokens of a tool: its name, description and schema."""
    if tool.raw is not None:
        return definition_tokens(tool.raw, tokens)
    definition = {"name": tool.name, "description": tool.description}
    return definition_tokens({**definition, "parameters": tool.input_schema}, tokens)


def output_tokens(output: OutputSchema, tokens: TextTokens) -> int:
    """Return the estimated tokens of an output schema: its name, description and schema."""
    definition = {"name": output.name, "description": output.description}
    return output_schema_tokens({**definition, "schema": output.schema}, tokens)


def tools_frame(facts: ModelFacts) -> int:
    """Return the tokens around the tools of a request. Claude gets a system text for tools."""
    model = facts.model or ""
    if not facts.wire.tools_prompt and not _CLAUDE.search(model):
        return TOOLS
    counts = (count for pattern, count in _CLAUDE_PROMPTS if re.search(pattern, model))
    return next(counts, CLAUDE_TOOLS)


def definitions(tools: WireValue) -> Iterator[WireObject]:
    """Yield the definition of each tool in a payload, without its wrapper and cache marks."""
    for tool in _objects(tools):
        wrapped = next((tool[key] for key in _WRAPPERS if key in tool), None)
        if isinstance(wrapped, list | tuple):
            yield from _objects(wrapped)
        elif not tool.keys() <= MARKS:
            yield wrapped if isinstance(wrapped, Mapping) else tool


def _objects(values: WireValue) -> Iterator[WireObject]:
    if isinstance(values, list | tuple):
        yield from (value for value in values if isinstance(value, Mapping))


def definition_tokens(definition: WireObject, tokens: TextTokens) -> int:
    """Return the estimated tokens of a tool definition in a payload."""
    rest = pruned({key: value for key, value in definition.items() if key not in _COUNTED})[0]
    return PER_TOOL + _schema_tokens(definition, tokens) + (tokens.of(compact(rest)) if rest else 0)


def output_schema_tokens(output_format: WireObject, tokens: TextTokens) -> int:
    """Return the estimated tokens of an output schema in a payload."""
    return OUTPUT_SCHEMA + _schema_tokens(output_format, tokens)


def _schema_tokens(definition: WireObject, tokens: TextTokens) -> int:
    total = 0
    for key in _TEXT_KEYS:
        if isinstance(text := definition.get(key), str):
            total += tokens.of(text)
    for key in _SCHEMA_KEYS:
        schema = definition.get(key)
        if isinstance(schema, str):
            total += tokens.of(schema)
        elif schema is not None:
            # In Converse, the schema is under this key.
            inner = schema.get("json") if isinstance(schema, Mapping) else None
            total += tokens.of(compact(schema if inner is None else inner))
    return total
