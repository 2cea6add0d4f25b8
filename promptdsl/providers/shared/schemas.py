"""Fit JSON schemas to the rules of a target. The rules are in ``config/schema_rules.toml``.

Read ``fitted`` first.
"""

import json
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from promptdsl.config.model_facts import ModelFacts
from promptdsl.config.wire import OTHER_WORDS, SchemaRules, WordRow, rules_of
from promptdsl.foundation.frozen import is_list, mapping_or_empty, thawed
from promptdsl.foundation.json import JsonDict, JsonObject, JsonValue
from promptdsl.messages.prompt import OutputSchema
from promptdsl.messages.schemas import (
    has_pointers,
    inlined,
    is_closed,
    is_recursive,
    items_of,
    mapping_of,
    parts_of,
    resolved,
    sizes_of,
)

ALTERNATIVES = ("anyOf", "oneOf", "allOf")
"""The keywords whose value is a list of schemas."""
_ESCAPES = r"(?<!\\)(?:\\\\)*"
"""An even number of backslashes: the character after them is not escaped."""
_LOOKAROUND = re.compile(rf"{_ESCAPES}\(\?<?[=!]")
"""A lookahead or lookbehind in a regular expression."""
_REFERENCE = re.compile(rf"{_ESCAPES}(?:\(\?P=|\\[0-9])")
"""A reference to a group in a regular expression."""


class Fitted(NamedTuple):
    """A schema for a target, the keywords that changed, and why it cannot be strict.

    ``why_open`` is empty if the schema can be strict. ``texts`` are the keywords that were removed
    from the root; the caller puts them into a description.
    """

    schema: JsonDict
    changed: tuple[str, ...] = ()
    why_open: str = ""
    texts: tuple[str, ...] = ()


def fitted(schema: JsonObject, rules: SchemaRules) -> Fitted:
    """Return a schema with the keywords that a target takes."""
    target_schema: JsonDict = thawed(schema)
    changed: dict[str, None] = {}
    problems = _limits_broken(target_schema, rules)
    if rules.inlines:
        target_schema, is_complete = inlined(schema)
        if not is_complete:
            changed["$ref"] = None
    root_texts: list[str] = []
    for subschema in parts_of(target_schema):
        is_root = subschema is target_schema
        texts = _fit_words(subschema, rules, changed, problems, is_root=is_root)
        if rules.closes and _is_object(subschema):
            _close(subschema, changed, problems)
        if is_root:
            root_texts = texts
        elif texts:
            subschema["description"] = described(subschema.get("description"), texts)
    return Fitted(
        target_schema, tuple(changed), ", ".join(dict.fromkeys(problems)), tuple(root_texts)
    )


def _fit_words(
    subschema: JsonDict,
    rules: SchemaRules,
    changed: dict[str, None],
    problems: list[str],
    *,
    is_root: bool,
) -> list[str]:
    """Change the keywords of one subschema; return the texts for its description."""
    texts: list[str] = []
    for word in sorted(subschema):
        row = _row_of(word, rules, is_root=is_root)
        if word in ("not", "if") and row is None and _would_change(subschema[word], rules):
            # With fewer keywords, a schema in ``not`` or ``if`` accepts more values. That reverses
            # the meaning, so the complete keyword becomes a text.
            row = _DESCRIBED
        if row is None or _is_sent(row, subschema[word]):
            continue
        if row.treatment == "open":
            problems.append(f"it has {word!r}")
            continue
        value = subschema.pop(word)
        if row.treatment == "enum":
            # ``enum`` with this one value means the same.
            subschema["enum"] = [value]
            continue
        changed[word] = None
        if row.treatment == "any_of" and "anyOf" not in subschema:
            subschema["anyOf"] = value
        else:
            texts.append(_text_of(word, value))
        if is_root and row.treatment == "described" and word in ALTERNATIVES:
            _take_properties(subschema, word, value)
    return texts


_DESCRIBED = WordRow("described")
"""The rule of a keyword that becomes a text in the description."""


def _would_change(schema: JsonValue, rules: SchemaRules) -> bool:
    """Return whether the inner schema of ``not`` or ``if`` would change to fit the target."""
    for subschema in parts_of(thawed(mapping_or_empty(schema))):
        rows = ((_row_of(word, rules, is_root=False), value) for word, value in subschema.items())
        if any(row and row.treatment != "enum" and not _is_sent(row, value) for row, value in rows):
            return True
        if rules.closes and _is_object(subschema):
            return True
    return False


def _close(subschema: JsonDict, changed: dict[str, None], problems: list[str]) -> None:
    """Forbid additional properties in an object. An object that takes any key cannot be strict."""
    additional = subschema.get("additionalProperties")
    if additional is False:
        return
    if additional is not None:
        problems.append("an object in it may have any keys")
    subschema["additionalProperties"] = False
    changed["additionalProperties"] = None


def why_open(fit: Fitted) -> str:
    """Return why OpenAI cannot enforce a schema, empty if it can."""
    if fit.why_open:
        return fit.why_open
    return "" if is_closed(fit.schema) else "the schema is not closed, but strict requires it"


def why_not_native(output: OutputSchema, facts: ModelFacts) -> str:
    """Return why the output schema cannot be a setting of the request, empty if it can."""
    if not facts.schema_output and facts.known:
        return "this model takes no output schema"
    if not facts.schema_output:
        return "this model is unknown; name one that takes an output schema"
    rules = rules_of(facts.strict_schemas)
    if not rules.only_strict:
        return ""
    reason = fitted(output.schema, rules).why_open
    return f"the target takes no such schema ({reason})" if reason else ""


def changed_words_reason(changed: Iterable[str]) -> str:
    """Return the reason in a hint about keywords of a schema that changed."""
    words = ", ".join(map(repr, changed))
    return f"the target refuses {words}, so they are sent as other keywords, or in a description"


def described(description: object, texts: Sequence[str]) -> str:
    """Return a description with keywords of a schema at its end, as Anthropic's SDK does it."""
    before = [f"{description}"] if description else []
    return "\n\n".join([*before, f"{{{', '.join(texts)}}}"])


def _row_of(word: str, rules: SchemaRules, *, is_root: bool) -> WordRow | None:
    """Return the rule for a keyword, ``None`` if the target takes the keyword."""
    row = rules.root.get(word, rules.root.get(OTHER_WORDS)) if is_root else None
    return row or rules.words.get(word, rules.words.get(OTHER_WORDS))


def _is_sent(row: WordRow, value: JsonValue) -> bool:
    """Return whether the value of a keyword with a rule is sent unchanged."""
    if row.look_around or row.references:
        pattern = value if isinstance(value, str) else ""
        is_reference = row.references and _REFERENCE.search(pattern)
        return not (is_reference or (row.look_around and _LOOKAROUND.search(pattern)))
    # True is not a number here, although it is equal to 1.
    return row.treatment == "sent" or any(
        value == allowed and type(value) is type(allowed) for allowed in row.sent_values
    )


def _text_of(word: str, value: JsonValue) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"{word}: {text}"


def _is_object(subschema: JsonDict) -> bool:
    kind = subschema.get("type")
    return "object" in kind if is_list(kind) else kind == "object"


def _take_properties(root: JsonDict, word: str, alternatives: JsonValue) -> None:
    """Add the properties of the alternatives to the root of a tool's schema, for the model to see.

    With ``allOf``, the root requires the properties that an alternative requires.
    """
    properties: JsonDict = {**mapping_of(root.get("properties"))}
    required: list[JsonValue] = [*items_of(root.get("required"))]
    root_names = frozenset(properties)
    for alternative in items_of(alternatives):
        schema = resolved(alternative, root)
        for name, value in mapping_of(schema.get("properties")).items():
            property_schema = properties.setdefault(name, value)
            if name not in root_names and property_schema != value:
                schemas = items_of(mapping_of(property_schema).get("anyOf")) or [property_schema]
                properties[name] = {"anyOf": [*schemas, value]}
        if word == "allOf":
            required += [name for name in items_of(schema.get("required")) if name not in required]
    if properties:
        root["properties"] = properties
    if required:
        root["required"] = required


_WHY_TOO_MANY = {
    "nesting": "its objects are nested more than {} levels deep",
    "properties": "it has more than {} properties",
    "optional": "it has more than {} optional properties",
    "unions": "it has more than {} unions",
}


def _limits_broken(schema: JsonDict, rules: SchemaRules) -> list[str]:
    """Return why a schema cannot be strict because of its size or its references."""
    problems: list[str] = []
    if not rules.recursion and is_recursive(schema):
        problems.append("a definition refers to itself")
    if not rules.pointers and has_pointers(schema):
        problems.append("it refers to a part that is not a definition")
    if rules.limits:
        sizes = sizes_of(schema)
        problems += [
            _WHY_TOO_MANY[name].format(limit)
            for name, limit in rules.limits.items()
            if sizes.get(name, 0) > limit
        ]
    return problems
