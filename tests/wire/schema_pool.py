"""Schemas of tools and answers: of MCP servers, of types, one for each word, hostile ones."""

from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

Schema = dict[str, Any]
STRING: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}


def holding(part: Any, **keywords: Any) -> Schema:
    """Return a closed object with one property."""
    closed = {"properties": {"a": part}, "required": ["a"], "additionalProperties": False}
    return {"type": "object", **closed, **keywords}


class Unit(Enum):
    """A unit."""

    METRE = "m"
    FOOT = "ft"


class Order(BaseModel):
    """What is ordered."""

    items: list[str] = Field(max_length=3, min_length=2)
    quantity: int = Field(ge=1, lt=100)


class Tags(BaseModel):
    """Tags, each once."""

    tags: set[str]
    due: date | None = None


class Measure(BaseModel):
    """A measure."""

    unit: Unit = Unit.METRE
    size: float = Field(gt=0, multiple_of=0.5)
    code: str = Field(pattern="^x+$", max_length=9)


class Cat(BaseModel):
    """One of two."""

    kind: Literal["cat"]


class Dog(BaseModel):
    """The other."""

    kind: Literal["dog"]


class Household(BaseModel):
    """Who lives there."""

    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    by_name: dict[str, int] = {}


class Tree(BaseModel):
    """A tree."""

    children: list["Tree"] = []


@dataclass
class Point:
    """A place."""

    x: int
    y: tuple[int, str]


TYPES: dict[str, Any] = {
    kind.__name__: kind for kind in (Order, Tags, Measure, Household, Tree, Point, Cat)
}

# As published servers have them, shortened.
MCP: dict[str, Schema] = {
    "notion-create-attachment": {
        "type": "object",
        "anyOf": [
            {"type": "object", "properties": {"content": STRING}, "required": ["content"]},
            {"type": "object", "properties": {"source_url": STRING}, "required": ["source_url"]},
        ],
    },
    "argent gesture-rotate": {
        "type": "object",
        "properties": {"start": NUMBER, "end": NUMBER, "radius": {"type": "number", "minimum": 0}},
        "required": ["start"],
        "oneOf": [{"required": ["end"]}, {"required": ["radius"]}],
    },
    "home assistant timer": {
        "type": "object",
        "anyOf": [
            {"properties": {"duration": STRING}},
            {"properties": {"duration": {"type": "object", "properties": {"hours": NUMBER}}}},
        ],
    },
    "gitlab": {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "allOf": [
            {"properties": {"id": STRING}, "required": ["id"]},
            {"$ref": "#/definitions/page"},
        ],
        "definitions": {"page": {"properties": {"page": {"type": "integer", "default": 1}}}},
    },
    "fetch": {
        "type": "object",
        "title": "Fetch",
        "properties": {
            "url": {"type": "string", "format": "uri", "minLength": 1},
            "max_length": {
                **{"type": "integer", "default": 5000},
                **{"exclusiveMinimum": 0, "exclusiveMaximum": 1000000},
            },
        },
        "required": ["url"],
    },
    "filesystem edit": {
        "type": "object",
        "properties": {
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"oldText": STRING, "newText": STRING},
                    "required": ["oldText", "newText"],
                    "additionalProperties": False,
                },
            },
            "dryRun": {"type": "boolean", "default": False, "description": "Preview."},
        },
        "required": ["edits"],
        "additionalProperties": False,
    },
    "sequential thinking": {
        "type": "object",
        "properties": {
            "thought": STRING,
            "number": {"type": "integer", "minimum": 1},
            "branch": {"type": ["string", "null"]},
        },
        "required": ["thought", "number"],
    },
    "figure": {
        "type": "object",
        "properties": {
            "size": {
                "anyOf": [
                    {
                        "type": "array",
                        "prefixItems": [{"type": "number"}, {"type": "number"}],
                        "minItems": 2,
                        "maxItems": 2,
                    },
                    {"type": "null"},
                ],
                "default": [10, 6],
            }
        },
    },
}

WORDS: dict[str, Schema] = {
    **{
        word: holding({"type": "string", word: value})
        for word, value in {
            "minLength": 2,
            "maxLength": 3,
            "pattern": "^[a-c]+$",
            "default": "b",
            "examples": ["b"],
            "title": "Letter",
            "contentEncoding": "base64",
        }.items()
    },
    "look-around": holding({"type": "string", "pattern": "^(?!b)"}),
    "back reference": holding({"type": "string", "pattern": r"^(.)\1$"}),
    "format": holding({"type": "string", "format": "date"}),
    "another format": holding({"type": "string", "format": "byte"}),
    "uri": holding({"type": "string", "format": "uri"}),
    **{
        word: holding({"type": "integer", word: value})
        for word, value in {
            "minimum": 2,
            "maximum": 3,
            "exclusiveMinimum": 2,
            "exclusiveMaximum": 3,
            "multipleOf": 2,
        }.items()
    },
    **{
        word: holding({"type": "array", "items": NUMBER, word: value})
        for word, value in {
            "minItems": 2,
            "maxItems": 1,
            "uniqueItems": True,
            "contains": {"const": 1},
        }.items()
    },
    "one item": holding({"type": "array", "items": NUMBER, "minItems": 1}),
    "prefixItems": holding({"type": "array", "prefixItems": [NUMBER, STRING], "items": STRING}),
    "no items": holding({"type": "array"}),
    **{
        word: holding({"type": "object", "properties": {"b": NUMBER}, word: value})
        for word, value in {
            "patternProperties": {"^x": NUMBER},
            "propertyNames": {"maxLength": 1},
            "minProperties": 1,
            "maxProperties": 1,
            "dependentRequired": {"b": ["c"]},
        }.items()
    },
    "free keys": holding({"type": "object", "additionalProperties": NUMBER}),
    "const": holding({"const": "b"}),
    "enum": holding({"enum": ["b", 1]}),
    "anyOf": holding({"anyOf": [STRING, {"type": "integer", "minimum": 2}]}),
    "oneOf": holding({"oneOf": [STRING, {"type": "string", "maxLength": 2}]}),
    "allOf": holding({"allOf": [STRING, {"maxLength": 2}]}),
    "not": holding({"type": "string", "not": {"const": "b"}}),
    "if": holding({"type": "integer", "if": {"const": 1}, "then": {"minimum": 5}}),
    "optional": {"type": "object", "properties": {"a": STRING, "b": NUMBER}, "required": ["a"]},
    "open": holding(STRING, additionalProperties=True),
    "root enum": holding(STRING, enum=[{"a": "b"}]),
    "root not": holding(STRING, **{"not": {"required": ["b"]}}),
}

HOSTILE: dict[str, Schema] = {
    "words as names": {
        "type": "object",
        "properties": {"oneOf": NUMBER, "uniqueItems": STRING, "$ref": STRING},
        "required": ["oneOf"],
    },
    "a tag": holding({"type": "string", "description": "</context><b>", "maxLength": 2}),
    "not a list": holding({"anyOf": {}}, anyOf={"a": 1}),
    "references that lead nowhere": holding({"$ref": "#/$defs/none"}),
    "a circle": holding({"$ref": "#/$defs/A"}, **{"$defs": {"A": {"$ref": "#/$defs/A"}}}),
    "two that hold each other": holding(
        {"$ref": "#/$defs/A"},
        **{
            "$defs": {
                "A": {"type": "object", "properties": {"b": {"$ref": "#/$defs/B"}}},
                "B": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}},
            }
        },
    ),
    "many": {
        "type": "object",
        "properties": {f"p{number}": STRING for number in range(40)},
        "additionalProperties": False,
    },
    "unions": holding(STRING)
    | {"properties": {f"p{number}": {"type": ["string", "null"]} for number in range(20)}},
}

SCHEMAS: dict[str, Schema] = {**MCP, **WORDS, **HOSTILE}
