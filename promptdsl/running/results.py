"""The content of a tool result, made from the value that a function returned."""

import dataclasses
from collections.abc import Mapping
from datetime import date, time
from decimal import Decimal
from enum import Enum
from typing import Any, NamedTuple, TypeAlias, cast
from uuid import UUID

import attrs

from promptdsl.foundation.frozen import Around, Fields, is_list, json_leaf, plain
from promptdsl.foundation.json import JsonDict, write_json
from promptdsl.foundation.unicode import exact
from promptdsl.messages import Block, TextBlock, block_from_dict
from promptdsl.messages.blocks import AnyBlock
from promptdsl.messages.field_checks import ErrorType

Content: TypeAlias = str | list[Block]


class Result(NamedTuple):
    """The content of a result, whether it is an error, and the type of the error."""

    content: Content
    is_error: bool = False
    error_type: ErrorType | None = None


def result_of(value: object) -> Result:
    """Return the result for the value of a function: a text, blocks, or JSON.

    Raises :class:`DataError` for a value that JSON cannot express.
    """
    if isinstance(value, str) and not isinstance(value, Enum):
        return Result(exact(value))
    if isinstance(value, AnyBlock):
        return Result([cast("Block", value)])
    if is_list(value) and value and all(isinstance(item, AnyBlock) for item in value):
        return Result([*cast("list[Block]", value)])
    dump: Any = getattr(value, "model_dump", None)  # Any: a method of a pydantic model
    if callable(dump) and is_list(getattr(value, "content", None)):
        data = cast("JsonDict", dump(mode="json", by_alias=True))
        if "isError" in data:
            return _mcp_result(data)
    return Result(write_json(plain(value, "result", _leaf)))


def _leaf(value: object, around: Around, key: object) -> object:
    """Return the JSON of a value that is not a list or dictionary; an object becomes its fields."""
    item: Any = value  # Any: whatever a function returns
    cls: Any = type(value)
    if isinstance(item, Enum):
        return _leaf(item.value, around, key)
    if isinstance(item, date | time):
        return item.isoformat()
    if isinstance(item, Decimal | UUID):
        return str(item)
    if hasattr(cls, "__pydantic_fields__"):
        return Fields(item.model_dump(mode="json", by_alias=True))
    if dataclasses.is_dataclass(cls):
        return Fields({field.name: getattr(item, field.name) for field in dataclasses.fields(cls)})
    if attrs.has(cls) and not isinstance(item, AnyBlock):
        return Fields({field.name: getattr(item, field.name) for field in attrs.fields(cls)})
    return json_leaf(item, around, key)


def _mcp_result(data: JsonDict) -> Result:
    """Return the result for an MCP result: its contents, or its structured content."""
    contents: list[JsonDict] = data["content"]
    structured = data.get("structuredContent")
    if not contents and structured is not None:
        return Result(write_json(structured), bool(data["isError"]))
    return Result([*map(_mcp_block, contents)], bool(data["isError"]))


def _mcp_block(content: JsonDict) -> Block:
    """Return the block for an MCP content: a text, a picture, a sound, a resource or a link."""
    match content:
        case {"type": "text", "text": str(text)} | {"resource": {"text": str(text)}}:
            return TextBlock(text)
        case {"type": "image" | "audio" as kind, "data": data, "mimeType": media_type}:
            return _media_block(kind, data, media_type)
        case {"resource": {"blob": data, **resource}}:
            media_type = resource.get("mimeType") or "application/octet-stream"
            return _media_block("document", data, media_type)
        case {"type": "resource_link", "uri": uri, "name": name}:
            return TextBlock(f"{name}: {uri}")
        case _:
            return TextBlock(write_json(content))


def _media_block(kind: str, data: object, media_type: object) -> Block:
    source: Mapping[str, object] = {"type": "base64", "data": data, "media_type": media_type}
    return block_from_dict({"type": kind, "source": source})
