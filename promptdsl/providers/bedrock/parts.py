"""Write and read what a request has besides its texts: attachments, tools, output schema.

First comes the state of a request while it is written, with the names of its documents and its
cache marks. Then come attachments, tools and settings.
"""

import base64
import re
from collections.abc import Iterator, Mapping
from functools import partial

import attrs

from promptdsl.config.records import BEDROCK
from promptdsl.foundation.errors import DataError, shown
from promptdsl.foundation.frozen import is_mapping, new_dict, plain
from promptdsl.foundation.json import JsonObject, JsonValue, read_json, write_json
from promptdsl.messages import MediaBlock
from promptdsl.messages.attachment import image_size
from promptdsl.messages.field_checks import Cache, optional_string
from promptdsl.messages.media_type import MediaSource, is_address
from promptdsl.messages.prompt import OutputSchema, Prompt, RawSetting, ToolDefinition, hint
from promptdsl.providers.shared.blocks import json_copy, utf8, with_bytes
from promptdsl.providers.shared.reading import items, located, mapping, read_mark, required
from promptdsl.providers.shared.request import Location, Param
from promptdsl.providers.shared.tools import (
    chosen,
    fitted_output,
    named_choice,
    raw_choice,
    recorded_choice,
    recorded_output,
    recorded_prompt,
    sendable_output,
    sent_schema,
    write_tools,
)
from promptdsl.providers.shared.two_sided import Turns, tool_name, write_marks

# A Converse request while it is written: the names of its documents and its cache marks.


@attrs.define(eq=False)
class Converse(Turns):
    """The turns of a request, and the state that its attachments and tools need."""

    names: dict[str, int] = attrs.field(factory=dict[str, int])
    """The number of uses of each name of a document."""
    counts: dict[str, int] = attrs.field(factory=dict[str, int])
    """By kind, the number of attachments in the turn ``counted``."""
    counted: int = 0
    """The index of the last turn with an attachment."""
    starts: dict[int, tuple[int, Param]] = attrs.field(factory=new_dict)
    """By the ``id()`` of the first param of a message, the index of the message.

    A turn may be divided before this param. The dictionary also keeps the param, so that its id
    stays unique.
    """
    calls_tools: bool = False
    """Whether a call or a result was written."""


MAX_NAME_LENGTH = 200
"""The greatest number of characters in a name (botocore's ``DocumentBlockNameString``)."""

_REFUSED = re.compile(r"[^a-zA-Z0-9()\[\]-]+")
"""Characters that one space replaces in the name of a document."""


_SUFFIXES = {"html": ("html", "htm"), "md": ("md", "markdown")}
"""The file extensions of a format. For any other format the extension is its name."""


def document_name(
    request: Converse, location: Location, title: str | None, media_format: str
) -> str:
    """Return the name of a document in the payload; record a hint if it is not the title.

    A name has only letters, digits, single spaces, hyphens and brackets (``DocumentBlock`` of AWS).
    So a file extension is left out if it says the same as the format. The first document with a
    name keeps it, and later ones get a number. A name depends on earlier documents only.
    """
    stem_of_title, _, extension = (title or "").rpartition(".")
    if stem_of_title and extension.lower() in _SUFFIXES.get(media_format, (media_format,)):
        title = stem_of_title
    stem = _REFUSED.sub(" ", title or "").strip()[:MAX_NAME_LENGTH].rstrip() or "Document"
    count = request.names.get(stem, 0) + 1
    name = stem
    while count > 1:
        suffix = f" {count}"
        name = stem[: MAX_NAME_LENGTH - len(suffix)].rstrip() + suffix
        if name not in request.names:
            break
        count += 1
    request.names[name] = 1
    request.names[stem] = count
    if title and name != title:
        reason = f"it has characters that are refused, is too long, or is taken: sent as {name!r}"
        request.hint(location, "mended_name", "title of a document", reason)
    return name


POINT = BEDROCK.cache_mark_key
"""The key of a cache mark. At Converse, a mark is a separate block after the params it covers."""

_REFUSED_MARK = (
    "Converse refuses marks after videos, and after documents except PDF files for Claude"
)


def write_point_marks(request: Converse, tools: list[Param]) -> None:
    """Insert a block for each cache mark that the request may have, after the mark's param."""
    # The service refuses marks after videos and most documents (pydantic-ai, ``BedrockModel``).
    model = (request.facts.model or "").lower()
    claude = "claude" in model or "anthropic." in model
    for mark in [*request.marks]:
        pdf = claude and mark.param.get("document", {}).get("format") == "pdf"
        if "video" in mark.param or ("document" in mark.param and not pdf):
            request.lose_mark(mark, _REFUSED_MARK)
            request.marks.remove(mark)
    write_marks(request, tools, lambda param, ttl: [param, {POINT: {"type": "default", **ttl}}])


def marked_items(data: object, key: str) -> Iterator[tuple[str, object, Cache | None]]:
    """Yield the path, the value and the cache mark of each item of a list, except of the marks.

    Raises :class:`DataError` for a mark that does not follow an item.
    """
    listed = items(data, key)
    are_marks = [isinstance(item, Mapping) and [*item] == [POINT] for item in listed]
    for index, item in enumerate(listed):
        path = f"{key}[{index}]"
        if not are_marks[index]:
            is_marked = are_marks[index + 1 : index + 2] == [True]
            yield path, item, read_mark(mapping(listed[index + 1])[POINT]) if is_marked else None
        elif index == 0 or are_marks[index - 1]:
            raise DataError(
                f"{path}: a {POINT!r} with nothing before it", fix="put it after a block"
            )


# Write and read attachments: their formats, their sources and their limits.

_OFFICE = "application/vnd.openxmlformats-officedocument"
FORMATS: Mapping[str, Mapping[str, str]] = {
    "image": {
        f"image/{media_format}": media_format for media_format in ("png", "jpeg", "gif", "webp")
    },
    "document": {
        "application/pdf": "pdf",
        "text/csv": "csv",
        "application/msword": "doc",
        f"{_OFFICE}.wordprocessingml.document": "docx",
        "application/vnd.ms-excel": "xls",
        f"{_OFFICE}.spreadsheetml.sheet": "xlsx",
        "text/html": "html",
        "text/plain": "txt",
        "text/markdown": "md",
    },
    "video": {
        **{f"video/{media_format}": media_format for media_format in ("mp4", "webm", "mpeg")},
        "video/quicktime": "mov",
        "video/x-matroska": "mkv",
        "video/x-flv": "flv",
        "video/x-ms-wmv": "wmv",
        "video/3gpp": "three_gp",
    },
    "audio": {
        "audio/mpeg": "mp3",
        "audio/x-matroska": "mka",
        **{
            f"audio/{media_format}": media_format
            for media_format in ("wav", "aac", "flac", "mp4", "ogg", "opus")
        },
        **{f"audio/{media_format}": media_format for media_format in ("pcm", "webm")},
    },
}
"""By kind and media type, the formats of Converse (botocore's enumerations)."""

_ALIASES: Mapping[str, Mapping[str, str]] = {
    "image": {"jpg": "image/jpeg"},
    "video": {"mpg": "video/mpeg"},
    "audio": {
        **{"mkv": "audio/x-matroska", "x-aac": "audio/aac", "m4a": "audio/mp4"},
        **dict.fromkeys(("mpeg", "mpga"), "audio/mpeg"),
    },
}
"""By kind and another name of a format, the media type."""
_TYPES: Mapping[str, Mapping[str, str]] = {
    kind: {**_ALIASES.get(kind, {}), **{media_format: type for type, media_format in types.items()}}
    for kind, types in FORMATS.items()
}
"""By kind and format, the media types."""

MAX_ATTACHMENTS: Mapping[str, int] = {"image": 20, "document": 5}
"""By kind, the greatest number of attachments in a message (``Message`` of AWS)."""

MAX_BYTES: Mapping[str, int] = {"image": 3_932_160, "document": 4_718_592, "video": 19_660_800}
"""By kind, the greatest size of an attachment in bytes (``Message``, ``VideoSource`` of AWS).

The limits are 3.75 MB, 4.5 MB, and 25 MB of base64 text."""

MAX_PIXELS = 8_000
"""The greatest width and height of a picture in pixels (``Message`` of AWS)."""

_S3 = re.compile(r"s3://[a-z0-9][.\-a-z0-9]{1,61}[a-z0-9](/.*)?", re.DOTALL)
"""An address in S3: the name of a bucket has 3 to 63 characters."""
_ENDING = re.compile(r"\.([A-Za-z0-9]{2,4})\Z")
"""The extension at the end of an address."""


def base64_text(data: object, key: str) -> str:
    """Return bytes as base64 text, and text unchanged; raises :class:`DataError` for others."""
    if isinstance(data, bytes | bytearray):
        return base64.b64encode(data).decode("ascii")
    if not isinstance(data, str):
        raise DataError(f"{key!r} is bytes or their base64 text, not {type(data).__name__}")
    return data


def base64_bytes(text: str) -> bytes | None:
    """Return the bytes of a base64 text, ``None`` for any other text."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return None


def needs_bytes(block: MediaBlock, role: str) -> bool:
    """Return whether Converse refuses the address of an attachment, but may take its bytes.

    It takes addresses in S3 only.
    """
    return role != "assistant" and block.source.kind != "s3" and is_address(block.source)


def media_param(request: Converse, block: MediaBlock) -> Param | str:
    """Return the format and the source of an attachment, or a text that says why it is not sent."""
    kind, source = block.type, with_bytes(block.source)
    if kind not in request.facts.media:
        return f"this model takes no {kind}"
    if source.kind == "s3" and not request.facts.s3_media:
        return "this model takes no address in S3"
    if source.kind not in ("base64", "s3"):
        return "Converse takes only bytes and objects in S3"
    media_format = _format_of(kind, source) or block.extra.get("format")
    if not isinstance(media_format, str):
        return f"not one of the formats {', '.join(FORMATS[kind].values())}"
    # A source in S3 may also name the owner of its bucket.
    if source.kind == "s3":
        address = source.value[:5].lower() + source.value[5:]
        if len(address) > 1024 or not _S3.fullmatch(address):
            return "not an address in S3"
        owner = block.extra.get("bucketOwner")
        owned = {"bucketOwner": owner} if isinstance(owner, str) else {}
        location: Param = {"s3Location": {"uri": address, **owned}}
    else:
        data = base64_bytes(source.value)
        reason = _refusal_of(kind, data)
        if data is None or reason:
            return reason
        location = _as_recorded(block, data)
    # Count the attachments in the turn to which this attachment will be added.
    # Unless the last turn is of the user, a new turn begins: ``True`` counts as 1.
    turn = len(request.payload_messages) + (request.role != "user")
    if turn != request.counted:
        request.counted, request.counts = turn, {}
    count = request.counts.get(kind, 0) + 1
    if count > MAX_ATTACHMENTS.get(kind, count):
        return f"over the limit of {MAX_ATTACHMENTS[kind]} in a message"
    request.counts[kind] = count
    return {"format": media_format, "source": location}


def _format_of(kind: str, source: MediaSource) -> str | None:
    """Return the format of an attachment, ``None`` for one that Converse does not take."""
    media_type = source.media_type or ""
    ending = _ENDING.search(source.value) if source.kind == "s3" and not media_type else None
    if ending:
        media_format = {"jpg": "jpeg", "3gp": "three_gp"}.get(ending[1].lower(), ending[1].lower())
        return media_format if media_format in _TYPES[kind] else None
    plain = "txt" if kind == "document" and media_type.startswith("text/") else None
    return FORMATS[kind].get(media_type, plain)


def _refusal_of(kind: str, data: bytes | None) -> str:
    """Return why the service refuses the bytes of an attachment, empty if it takes them."""
    if not data:
        return "it has no bytes, or its text is not base64"
    size = (image_size(data) if kind == "image" else None) or (0, 0)
    if max(size) > MAX_PIXELS:
        return f"over the limit of {MAX_PIXELS:,} pixels a side"
    if len(data) > MAX_BYTES.get(kind, len(data)):
        return f"over the limit of {MAX_BYTES[kind]:,} bytes"
    return ""


def _as_recorded(block: MediaBlock, data: bytes) -> Param:
    """Return the source of an attachment with bytes: as a text if it was recorded as a text."""
    if block.is_document and (block.source.media_type or "").startswith("text/"):
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return {"bytes": data}
        parts = block.extra.get("content")
        if block.extra.get("text") is True:
            return {"text": text}
        if text == utf8(_joined_texts(parts) or ""):
            return {"content": json_copy(parts)}
    return {"bytes": data}


def _joined_texts(parts: JsonValue) -> str | None:
    """Return the texts of a document's ``content`` as one text, ``None`` for other content."""
    texts: list[str] = []
    for part in parts if isinstance(parts, list) else ():
        match part:
            case {"text": str(text)} if len(part) == 1:
                texts.append(text)
            case _:
                return None
    return "\n\n".join(texts) if texts else None


def read_source(
    kind: str, media_format: object, source: JsonValue
) -> tuple[MediaSource, Param] | None:
    """Return a source, and the keys for ``extra`` that only Converse has; ``None`` if unknown."""
    media_type = _TYPES[kind].get(media_format) if isinstance(media_format, str) else None
    further: Param = {} if media_format is None or media_type else {"format": media_format}
    if not isinstance(source, Mapping) or len(source) != 1:
        return None
    # A text is kept as bytes, because other providers take bytes, too.
    is_text = media_type is not None and media_type.startswith("text/")
    text_type = media_type if is_text else "text/plain"
    match source:
        case {"bytes": data}:
            return MediaSource("base64", base64_text(data, "bytes"), media_type), further
        case {"s3Location": {"uri": str(uri), **rest}}:
            owner = {str(key): value for key, value in rest.items()}
            return MediaSource("s3", uri, media_type), further | owner
        case {"text": str(text)} if kind == "document":
            recorded: Param = {"text": True}
        case {"content": parts} if kind == "document" and _joined_texts(parts) is not None:
            text, recorded = _joined_texts(parts) or "", {"content": parts}
        case _:
            return None
    data = base64_text(utf8(text).encode(), "text")
    return MediaSource("base64", data, text_type), recorded


# Write and read the tools, the choice of a tool and the output schema of a request.

PLACEHOLDER: JsonObject = {
    "toolSpec": {
        "name": "no_tool",
        "description": "Not a tool: nothing can be called.",
        "inputSchema": {"json": {"type": "object", "properties": {}}},
    }
}
"""The tool of a request that has calls but no tools. Converse refuses such a request without it.

It never changes."""

_KEYS = frozenset({"name", "description", "inputSchema", "strict"})
_READ_CHOICES = {word: choice for choice, word in BEDROCK.choices.items()}


def tools_of(request: Converse) -> list[Param]:
    """Return the tools of a request, without the further keys that Converse refuses."""
    params = write_tools(request, "bedrock", _tool_param, inner_key="toolSpec")
    sent_tools = (
        tool
        for tool in request.prompt.tools
        if tool.raw is None or tool.origin in request.facts.origins
    )
    for tool, param in zip(sent_tools, params, strict=True):
        if tool.raw is not None:
            continue
        spec: Param = param["toolSpec"]
        for key in sorted(spec.keys() - _KEYS):
            del spec[key]
            request.hint(tool, "unsent_key", f"key {key!r}", "a toolSpec has no such key")
    return params


def _tool_param(request: Converse, tool: ToolDefinition) -> Param:
    spec: Param = {"name": tool_name(request, tool, tool.name)}
    if tool.description and not tool.description.isspace():
        spec["description"] = tool.description
    elif tool.description:
        request.hint(tool, "white_space", "description", "only white space")
    schema = tool.input_schema
    # The service refuses a schema without a type.
    kind = {} if "type" in schema else {"type": "object"}
    spec["inputSchema"] = {"json": {**kind, **schema}}
    return {"toolSpec": json_copy(spec)}


def settings_of(request: Converse, tools: list[Param]) -> Param:
    """Return the keys ``toolConfig`` and ``outputConfig``, if the prompt needs them."""
    settings: Param = {}
    # The choice of a tool. Converse cannot express "none", so the model may still call one.
    choice, name = chosen(request)
    raw = recorded_choice(request, request.facts.origins, choice)
    specs = (spec for tool in tools for spec in tool.values() if is_mapping(spec))
    names = [None, *(spec.get("name") for spec in specs)]
    is_expressible = choice in BEDROCK.choices and bool(tools) and name in names
    choice_keys: Param = {}
    if raw is not None:
        choice_keys = {"toolChoice": raw}
    elif choice is not None and is_expressible:
        name_key = {} if name is None else {"name": name}
        choice_keys = {"toolChoice": {BEDROCK.choices[choice]: name_key}}
    elif choice is not None:
        is_inexpressible = tools and name is None
        reason = "Converse cannot express it" if is_inexpressible else "there is no such tool"
        what = f"tool_choice {request.prompt.tool_choice!r}"
        request.losses.append(hint("tool_choice", what, reason))
    # The tools, or a placeholder if there are only calls.
    if tools:
        settings["toolConfig"] = {"tools": tools, **choice_keys}
    elif request.calls_tools:
        settings["toolConfig"] = {"tools": [json_copy(PLACEHOLDER)]}
        reason = "calls need a tool in the request, so a placeholder is sent"
        request.losses.append(hint("no_tools", "there are no tools", reason))
    # The output schema.
    output = sendable_output(request)
    raw = recorded_output(request, request.facts.origins, output)
    if raw is not None:
        settings["outputConfig"] = raw
    elif output:
        fit = fitted_output(request, output)
        schema = sent_schema(request, output, output.name, output.description, fit=fit)
        definition = {"schema": write_json(schema), "name": utf8(output.name)}
        if output.description is not None:
            definition["description"] = utf8(output.description)
        output_format = {"type": "json_schema", "structure": {"jsonSchema": definition}}
        settings["outputConfig"] = {"textFormat": output_format}
        if not output.strict:
            reason = "Converse makes every answer follow its schema"
            request.hint(output, "strict_schema", "strict=False", reason)
    return settings


def read_settings(payload: Mapping[str, object]) -> Prompt:
    """Return the tools, the choice of a tool and the output schema of a payload."""
    config = mapping(payload.get("toolConfig") or {})
    listed = config.get("tools") or ()
    marked = () if listed == [PLACEHOLDER] else marked_items(listed, "tools")
    tools = tuple(located(path, partial(_read_tool, cache), item) for path, item, cache in marked)
    choice = None if config.get("toolChoice") is None else _read_choice(config["toolChoice"])
    output = _read_output(mapping(payload.get("outputConfig") or {}))
    return recorded_prompt(tools, choice, output)


def _read_choice(data: object) -> RawSetting | str:
    choice = mapping(data)
    kind = next(iter(choice), "")
    if kind == "tool":
        name = required(mapping(choice[kind] or {}), "name", str)
        is_all = choice == {"tool": {"name": name}}
        return named_choice(choice, "bedrock", name, is_all=is_all)
    meaning = _READ_CHOICES.get(kind)
    if meaning is not None and choice == {kind: {}}:
        return meaning
    return raw_choice(choice, "bedrock", meaning, "" if meaning else f"toolChoice {shown(kind)}")


def _read_output(config: Mapping[str, object]) -> RawSetting | None:
    """Return the output format, ``None`` without one. Converse has its schema as JSON text."""
    if config.get("textFormat") is None:
        return None
    output_format = mapping(config["textFormat"])
    raw = plain(config, "outputConfig")
    definition = mapping(mapping(output_format.get("structure") or {}).get("jsonSchema") or {})
    if not definition:
        return RawSetting(raw, "bedrock", None, f"textFormat {shown(output_format.get('type'))}")
    schema = read_json(required(definition, "schema", str))
    if not isinstance(schema, Mapping):
        raise DataError("'schema' must be the JSON text of an object")
    name = optional_string(definition.get("name"), "name")
    description = optional_string(definition.get("description"), "description")
    output = OutputSchema(schema, "output" if name is None else name, description)
    return RawSetting(raw, "bedrock", output)


def _read_tool(cache: Cache | None, data: object) -> ToolDefinition:
    fields = mapping(data)
    if [*fields] != ["toolSpec"]:
        kind, value = next(iter(fields.items()), ("tool", None))
        name = value.get("name") if is_mapping(value) else None
        name = name if isinstance(name, str) else kind
        return ToolDefinition(name, cache=cache, raw=fields, origin="bedrock")
    spec = mapping(fields["toolSpec"])
    name = required(spec, "name", str)
    schema = required(mapping(required(spec, "inputSchema")), "json", Mapping)
    description = optional_string(spec.get("description"), "description")
    read_keys = ("name", "description", "inputSchema")
    extra = {key: value for key, value in spec.items() if key not in read_keys}
    return ToolDefinition(name, description, schema, cache, extra, origin="bedrock")
