"""What is sent of a schema: words that a target takes, told where they changed, with the meaning.

The oracles are not our table: the transformers of the providers' SDKs and of Pydantic AI, schemas
that were refused, and a validator.
"""

import json
import tomllib
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from promptdsl import Output, Rendered, Timeline, Tool, ToolDefinition, User, render
from tests.folding import failures
from tests.internals import all_rules, fitted, is_recursive, parts_of, type_schema
from tests.wire.schema_pool import HOSTILE, MCP, SCHEMAS, TYPES, WORDS, holding
from tests.wire.schemas_page import PAGE, page

Schema = dict[str, Any]
REFUSED = tomllib.loads(Path(__file__).with_name("refused_schemas.toml").read_text("utf-8"))
TARGETS: dict[str, dict[str, str]] = {
    "anthropic": {"model": "claude-opus-5-5"},
    "bedrock claude": {"provider": "bedrock", "model": "us.anthropic.claude-opus-4-8-v1:0"},
    "bedrock qwen": {"provider": "bedrock", "model": "qwen.qwen3-32b-v1:0"},
    "nova": {"provider": "bedrock", "model": "us.amazon.nova-lite-v1:0"},
    "openai": {"model": "gpt-5"},
    "responses": {"provider": "openai_responses", "model": "gpt-5"},
    "gemini": {"model": "gemini-3.1-pro"},
    "groq": {"provider": "groq"},
    "compatible": {"provider": "openai_compatible"},
    "template": {"provider": "chat_template"},
}
ALL = {**SCHEMAS, **{name: type_schema(kind, name) for name, kind in TYPES.items()}}


def sent_tool(schema: Schema, target: str, *, strict: bool) -> tuple[Schema, bool, str, Rendered]:
    """Return the schema of a tool as it is sent, whether it is strict, its description."""
    extra = {"strict": True} if strict else {}
    tool = Tool(ToolDefinition("f", "Do it.", schema, extra=extra))
    rendered = render(Timeline(tool, User("q")), **TARGETS[target])
    payload: Any = rendered.payload()
    if "toolConfig" in payload:
        function = payload["toolConfig"]["tools"][0]["toolSpec"]
        payload_schema = function["inputSchema"]["json"]
    elif "config" in payload:
        function = payload["config"]["tools"][0]["function_declarations"][0]
        payload_schema = function["parameters_json_schema"]
    else:
        function = payload["tools"][0].get("function", payload["tools"][0])
        payload_schema = function.get("parameters", function.get("input_schema"))
    return payload_schema, function.get("strict") is True, function["description"], rendered


def sent_output(schema: Schema, target: str) -> tuple[Schema | None, bool, str, Rendered]:
    """Return the schema of the answer as a setting, ``None`` where it is text; if it is strict."""
    rendered = render(Timeline(Output(schema), User("q")), **TARGETS[target])
    payload: Any = rendered.payload()
    output_format = payload.get("response_format", payload.get("text", {}).get("format"))
    if output_format is not None:
        output_format = output_format.get("json_schema", output_format)
        return output_format["schema"], output_format.get("strict") is True, "", rendered
    if "outputConfig" in payload:
        text = payload["outputConfig"]["textFormat"]["structure"]["jsonSchema"]["schema"]
        return json.loads(text), True, "", rendered
    payload_schema = payload.get("output_config", {}).get("format", {}).get("schema")
    payload_schema = payload.get("config", {}).get("response_json_schema", payload_schema)
    return payload_schema, payload_schema is not None, "", rendered


def hints_text(rendered: Rendered) -> str:
    """Return what the losses say."""
    return "".join(map(str, rendered.hints))


def words_of(schema: Schema) -> Iterator[tuple[str, Any, bool]]:
    """Yield each word in a schema with its value, and whether it is at the root."""
    for part in parts_of(deepcopy(schema)):
        for word, value in part.items():
            yield word, value, part == schema


# What each target takes, as its service says, in the words of this test.
LIMITS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
COMBINED = frozenset({"anyOf", "oneOf", "allOf"})
CLAUDE = frozenset(
    {
        *("$defs", "definitions", "$ref", "type", "anyOf", "allOf", "enum", "const", "description"),
        *("title", "properties", "additionalProperties", "required", "items", "format", "minItems"),
    }
)
NOT_STRICT = frozenset(
    {
        *("oneOf", "allOf", "not", "if", "then", "else", "prefixItems", "contains", "uniqueItems"),
        *("patternProperties", "propertyNames", "minProperties", "maxProperties", "default"),
        *("dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems"),
    }
)


def refused_words(schema: Schema, target: str, *, strict: bool, is_tool: bool) -> list[str]:
    """Return the words that a target is known to refuse where they stand."""
    words: list[str] = []
    for word, value, is_root in words_of(schema):
        wrong = False
        if is_tool and is_root and target in ("anthropic", "bedrock claude", "nova"):
            wrong = word in COMBINED
        if is_tool and is_root and target in ("openai", "responses"):
            wrong = word in {*COMBINED, "enum", "const", "not"}
        if strict and target == "anthropic":
            wrong |= word not in CLAUDE or (word == "minItems" and value not in (0, 1))
        if strict and target.startswith("bedrock"):
            wrong |= word in {*LIMITS, "maxItems"} or (word == "minItems" and value not in (0, 1))
            wrong |= word == "pattern" and ("(?" in value or "\\1" in value)
        if strict and target in ("openai", "responses", "groq"):
            wrong |= word in NOT_STRICT or (word == "pattern" and "(?" in value)
            wrong |= word == "format" and value in ("uri", "byte")
        if target == "gemini":
            wrong |= word in ("const", "exclusiveMinimum", "exclusiveMaximum")
        if target == "nova":
            wrong |= word in ("$ref", "$defs", "definitions")
        words += [word] if wrong else []
    return words


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("target", TARGETS)
def test_tools(target: str, strict: bool) -> None:
    """A tool never fails, is sent in words that are taken, and one hint names what changed."""

    def wrong(name: str) -> str:
        sent_schema, is_strict, description, rendered = sent_tool(ALL[name], target, strict=strict)
        words = refused_words(sent_schema, target, strict=is_strict, is_tool=True)
        hints = [hint for hint in rendered.hints if hint.name in ("tool_schema", "strict_schema")]
        changed = unequal_schema(ALL[name], sent_schema)
        if words or len(hints) > 1:
            return f"refused {words}, {len(hints)} hints"
        # These mean the same: properties for a template, definitions in the place of references.
        is_alike = target in ("template", "nova") or name == "Tree"
        if changed and not hints and not is_alike:
            return f"not told: {sent_schema}"
        return unfaithful(ALL[name], sent_schema, f"{hints_text(rendered)}{description}")

    assert [] == failures(ALL, wrong)


@pytest.mark.parametrize("target", TARGETS)
def test_outputs(target: str) -> None:
    """The form of an answer is a setting where it is taken so, text elsewhere, and never lost."""
    schemas = {name: schema for name, schema in ALL.items() if "root" not in name}

    def wrong(name: str) -> str:
        sent_schema, is_strict, _, rendered = sent_output(schemas[name], target)
        if [loss for loss in rendered.losses if loss.kind == "content"]:
            return f"lost: {rendered.losses}"
        if sent_schema is None:
            text = rendered.messages[0].text.partition("\n\n")[2]
            is_equal = json.loads(text) == json.loads(json.dumps(schemas[name]))
            return "" if is_equal and "prompted_output" in str(rendered.hints) else "not prompted"
        words = refused_words(sent_schema, target, strict=is_strict, is_tool=False)
        hints = [hint for hint in rendered.hints if hint.what == "the output schema"]
        if words or len(hints) > 1:
            return f"refused {words}, {len(hints)} hints"
        return unfaithful(schemas[name], sent_schema, hints_text(rendered))

    assert [] == failures(schemas, wrong)


def unequal_schema(before: Schema, after: Schema) -> bool:
    """Return whether two schemas differ; a constant is an enum of one value."""
    return json.dumps(usual(before), sort_keys=True) != json.dumps(usual(after), sort_keys=True)


def usual(schema: Any) -> Any:
    """Return a schema with an enum for each constant."""
    if isinstance(schema, dict):
        parts = {key: usual(value) for key, value in schema.items()}
        return {"enum" if key == "const" else key: parts[key] for key in parts} | (
            {"enum": [parts["const"]]} if "const" in parts else {}
        )
    return [usual(item) for item in schema] if isinstance(schema, list) else schema


KEYS = holding({"type": "object", "additionalProperties": {"type": "string"}})


@pytest.mark.parametrize("target", ["anthropic", "bedrock claude", "bedrock qwen"])
def test_objects_of_any_keys(target: str) -> None:
    """One that is closed could only be empty: it is not strict, and an answer is text."""
    sent_schema, _, _, rendered = sent_output(KEYS, target)
    assert (None, "prompted") == (sent_schema, rendered.output_mode)
    schema, is_strict, _, _ = sent_tool(KEYS, target, strict=True)
    assert (KEYS, False) == (schema, is_strict)


def closed_with(properties: int) -> Schema:
    """Return a closed object of so many properties, none of which is required."""
    names = {f"p{number}": {"type": "string"} for number in range(properties)}
    return {"type": "object", "properties": names, "additionalProperties": False}


@pytest.mark.parametrize(
    ("sizes", "cut", "held"),
    [
        ([0] * 20, None, 20),
        ([0] * 21, None, 20),
        ([12, 12], None, 2),
        ([12, 12, 1, 0], None, 3),
        ([20, 4, 0], 4, 2),
        ([20, 5, 0], 4, 2),
    ],
)
def test_the_strict_tools_of_a_request(sizes: list[int], cut: int | None, held: int) -> None:
    """Claude has limits for all strict schemas together: tools above these are not strict."""
    strict = {"strict": True}
    tools = [
        Tool(ToolDefinition(f"t{number}", "d", closed_with(size), extra=strict))
        for number, size in enumerate(sizes)
    ]
    forms = [] if cut is None else [Output(closed_with(cut))]
    rendered = render(Timeline(*tools, *forms, User("q")), model="claude-opus-5-5")
    payload_tools: Any = rendered.to_anthropic()["tools"]
    assert held == sum(tool.get("strict", False) for tool in payload_tools)
    assert (held < len(sizes)) is ("strict schemas of a request" in hints_text(rendered))


def test_words_inside_not() -> None:
    """A word that is left out inside ``not`` would refuse everything: all of it is described."""
    schema = holding({"type": "number", "not": {"exclusiveMinimum": 5}})
    sent_schema, _, _, _ = sent_tool(schema, "gemini", strict=False)
    part = sent_schema["properties"]["a"]
    assert {"type": "number", "description": '{not: {"exclusiveMinimum": 5}}'} == part


@pytest.mark.parametrize("key", ["$defs", "definitions"])
@pytest.mark.parametrize("target", ["openai", "anthropic", "nova"])
def test_a_root_that_is_a_reference(target: str, key: str) -> None:
    """It is followed, so that the model sees the properties."""
    schema = {"$ref": f"#/{key}/A", key: {"A": holding({"type": "string"})}}
    sent_schema, _, _, _ = sent_tool(schema, target, strict=False)
    assert ("object", {"a": {"type": "string"}}) == (sent_schema["type"], sent_schema["properties"])


def test_words_in_tuples() -> None:
    """Those of items that are a list are found, too."""
    schema = holding({"type": "array", "items": [{"type": "integer", "exclusiveMinimum": 1}]})
    sent_schema, _, _, _ = sent_tool(schema, "gemini", strict=False)
    (item,) = sent_schema["properties"]["a"]["items"]
    assert {"type": "integer", "description": "{exclusiveMinimum: 1}"} == item


def test_a_reference_to_a_property() -> None:
    """OpenAI takes it in no strict schema."""
    schema = holding({"type": "string"}) | {
        "properties": {"a": {"type": "string"}, "b": {"$ref": "#/properties/a"}},
        "required": ["a", "b"],
    }
    sent_schema, is_strict, _, _ = sent_tool(schema, "openai", strict=True)
    assert (schema, False) == (sent_schema, is_strict)


def test_long_chains_of_definitions() -> None:
    """A chain is read once, not for each of its links."""
    links = {f"D{number}": {"$ref": f"#/$defs/D{number + 1}"} for number in range(3_000)}
    chain: Schema = {"type": "object", "$defs": {**links, "D3000": {"type": "string"}}}
    assert not is_recursive(chain)
    chain["$defs"]["D3000"] = {"$ref": "#/$defs/D1"}
    assert is_recursive(chain)


# The meaning, by a validator.


def values_of(schema: Any, random: Random, root: Schema, depth: int = 0) -> Any:
    """Return a value that may fit a schema, or nearly."""
    if not isinstance(schema, dict) or depth > 6 or random.random() < 0.1:
        return random.choice(["b", "xx", "", 1, 2, 5, 2.5, None, [], [1, 1], {}, {"b": 1}, True])
    if "$ref" in schema:
        _, _, path = str(schema["$ref"]).partition("#/")
        inner: Any = root
        for key in path.split("/"):
            inner = inner.get(key, {}) if isinstance(inner, dict) else {}
        return values_of(inner, random, root, depth + 1)
    if "const" in schema:
        return schema["const"]
    if isinstance(schema.get("enum"), list):
        return random.choice(schema["enum"])
    for word in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(word), list) and "properties" not in schema:
            return values_of(random.choice(schema[word]), random, root, depth + 1)
    kind = schema.get("type")
    kind = random.choice(kind) if isinstance(kind, list) else kind
    if kind == "object" or "properties" in schema:
        properties = schema.get("properties", {})
        names = [name for name in properties if random.random() < 0.9]
        values = {name: values_of(properties[name], random, root, depth + 1) for name in names}
        return values | ({"x1": 1} if random.random() < 0.2 else {})
    if kind == "array":
        items = schema.get("items", schema.get("prefixItems", [{}])[0])
        return [values_of(items, random, root, depth + 1) for _ in range(random.randrange(4))]
    numbers: list[Any] = [0, 1, 2, 3, 4, 7, 100, 1.5]
    by_kind = {"string": ["b", "a", "abc", "xxxx", "", "bb", "2020-01-01"], "integer": numbers}
    return random.choice({**by_kind, "number": numbers, "boolean": [True]}.get(str(kind), [None]))


def causes(error: ValidationError) -> Iterator[str]:
    """Yield the words that a value breaks, those of alternatives too."""
    yield from map(str, error.absolute_schema_path)
    for inner in error.context or ():
        yield from causes(inner)


@cache
def refused_values(text: str) -> list[tuple[Any, set[str]]]:
    """Return values that a schema refuses, each with the words it breaks; none for what is none."""
    schema = json.loads(text)
    random = Random(text)
    values = [values_of(schema, random, schema) for _ in range(60)]
    try:
        Draft202012Validator.check_schema(schema)
        errors = [[*Draft202012Validator(schema).iter_errors(value)] for value in values]
    except Exception:  # a schema that is none, or a reference that leads nowhere
        return []
    words = [{word for error in broken for word in causes(error)} for broken in errors]
    return [(value, broken) for value, broken in zip(values, words, strict=True) if broken]


def unfaithful(before: Schema, after: Schema, hints: str) -> str:
    """Return a value that the sent schema takes, and the original refuses for an untold word."""
    validator = Draft202012Validator(after)
    for value, words in refused_values(json.dumps(before)):
        is_told = "'$ref'" in hints or any(repr(word) in hints for word in words)
        if not is_told and validator.is_valid(value):
            return f"{value} is taken, and breaks {words}"
    return ""


# Schemas that services refused.


@pytest.mark.parametrize("name", REFUSED)
def test_what_was_refused(name: str) -> None:
    """A schema that a service refused is sent in another form there, and told."""
    case = REFUSED[name]
    schema = json.loads(case["schema"])
    if case["use"] == "output":
        sent_schema, _, _, rendered = sent_output(schema, case["target"])
    else:
        strict = case["use"] == "strict tool"
        sent_schema, is_strict, _, rendered = sent_tool(schema, case["target"], strict=strict)
        if strict and not is_strict:
            sent_schema = {}
    assert case["source"]
    assert case["word"] not in {word for word, _, _ in words_of(sent_schema or {})}
    assert rendered.hints or case["word"] == "$defs"


# Other libraries' transformations of the same schemas.


def structure(schema: Any) -> Any:
    """Return a schema without its texts: what is described may be said in other words."""
    if isinstance(schema, dict):
        parts = {key: structure(value) for key, value in schema.items() if key not in TEXTS}
        return {
            key: sorted(part, key=str) if key == "required" else part for key, part in parts.items()
        }
    return [structure(item) for item in schema] if isinstance(schema, list) else schema


TEXTS = ("description", "title", "$schema", "discriminator", "examples")
WITH_TYPES = {name: ALL[name] for name in (*TYPES, "fetch", "filesystem edit", *WORDS)}


@pytest.mark.sdk("anthropic")
def test_as_the_sdk_of_anthropic() -> None:
    """The SDK's own transformation gives the same, but for types beside literals.

    It raises for a schema without a type, and keeps nothing beside a reference or an alternative.
    """
    transform = import_module("anthropic").transform_schema
    without = {
        "free keys",
        "const",
        "enum",
        "anyOf",
        "oneOf",
        "allOf",
        "Household",
        "Measure",
        "Cat",
        "root enum",
    }

    def wrong(name: str) -> str:
        theirs = structure(transform(deepcopy(WITH_TYPES[name])))
        fitted_schema = structure(fitted(WITH_TYPES[name], all_rules()["claude_strict"]).schema)
        return "" if theirs == fitted_schema else f"{theirs} {fitted_schema}"

    assert [] == failures(WITH_TYPES.keys() - without, wrong)


@pytest.mark.sdk("pydantic_ai")
@pytest.mark.parametrize(
    ("rules", "module", "transformer", "apart"),
    [
        # It leaves out what we send as not strict, and defaults.
        ("openai_strict", "profiles.openai", "_OpenAIJsonSchemaTransformer", {"free keys", "open"}),
        ("servers_strict", "profiles.openai", "OpenAIJsonSchemaTransformer", {"free keys", "open"}),
        ("gemini_all", "profiles.google", "GoogleJsonSchemaTransformer", {"contains", "not", "if"}),
        ("bedrock_strict", "providers.bedrock", "BedrockJsonSchemaTransformer", {"contains", "if"}),
    ],
)
def test_as_pydantic_ai(rules: str, module: str, transformer: str, apart: set[str]) -> None:
    """Pydantic AI writes the same words, where a schema can be strict."""
    transformer_class = getattr(import_module(f"pydantic_ai.{module}"), transformer)
    strict = None if rules == "gemini_all" else True
    # It types a constant for Gemini, and describes every format, which Gemini's own documents list.
    untyped = {"const", "format", "uri", "Tags", "another format", "fetch"}
    without = apart | {"Tree", "no items"} | (untyped if rules == "gemini_all" else set[str]())

    def wrong(name: str) -> str:
        fit = fitted(WITH_TYPES[name], all_rules()[rules])
        if fit.why_open:
            return ""
        theirs = structure(transformer_class(deepcopy(WITH_TYPES[name]), strict=strict).walk())
        fitted_schema = structure(fit.schema)
        return (
            ""
            if closed_alike(theirs) == closed_alike(fitted_schema)
            else f"{theirs} {fitted_schema}"
        )

    assert [] == failures(WITH_TYPES.keys() - without, wrong)


def closed_alike(schema: Any) -> Any:
    """Return a schema without what closes its objects: it is done for types, when they are read."""
    if isinstance(schema, dict):
        closing = ("required", "additionalProperties")
        return {
            key: closed_alike(part)
            for key, part in schema.items()
            if key not in closing and part != {}
        }
    return [closed_alike(item) for item in schema] if isinstance(schema, list) else schema


def test_every_row_has_a_source() -> None:
    """Each cell of the table says who found it out."""
    for rules in all_rules().values():
        rows = {*rules.words.values(), *rules.root.values()}
        assert all(row.source for row in rows)
        assert rules.source or not (rules.closes or rules.inlines or rules.limits)


def test_the_page() -> None:
    """The tables on the page are those of the data file: python -m tests.wire.schemas_page."""
    assert page(PAGE.read_text("utf-8")) == PAGE.read_text("utf-8")


def test_the_pool() -> None:
    """There are sixty schemas and more, of each kind."""
    assert len(ALL) >= 60
    assert all((MCP, WORDS, HOSTILE, TYPES))
