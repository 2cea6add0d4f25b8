"""Write and read attachments, tools, the choice of a tool and the output schema of a request.

The spelling of keys and bytes comes first, then attachments, then the settings.
"""

import base64
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs

from promptdsl import messages as b  # b.ImageBlock: the classes of blocks
from promptdsl.config.records import GEMINI
from promptdsl.foundation.errors import shown, shown_name
from promptdsl.foundation.frozen import is_list
from promptdsl.foundation.json import JsonObject, JsonValue
from promptdsl.foundation.unicode import exact
from promptdsl.messages.field_checks import optional_string, string
from promptdsl.messages.media_type import MediaSource, SourceKind, is_address, type_by_extension
from promptdsl.messages.prompt import OutputSchema, Prompt, RawSetting, ToolDefinition, hint
from promptdsl.messages.schemas import parts_of
from promptdsl.providers.shared.blocks import ITEM, json_copy, utf8, with_bytes
from promptdsl.providers.shared.reading import items, located_items, mapping, required
from promptdsl.providers.shared.request import Location, Param, Request
from promptdsl.providers.shared.tools import (
    chosen,
    lose_tool_marks,
    named_choice,
    nameless_schema,
    raw_choice,
    recorded_choice,
    recorded_output,
    recorded_prompt,
    sendable_output,
    write_tools,
)
from promptdsl.providers.shared.two_sided import tool_name

# The spelling of keys and bytes: keys such as ``inline_data``, and bytes as base64 text.

_STANDARD = str.maketrans("-_", "+/")
_UPPER = re.compile(r"[A-Z]")


def fields_of(data: object) -> dict[str, JsonValue]:
    """Return a mapping with the keys of the SDK, without ``None``; raises like ``mapping``."""
    fields: dict[str, JsonValue] = {}
    for key, value in mapping(data).items():
        if value is not None:
            # A key of a recording may be any object.
            is_camel = type(key) is str and not key.islower()
            name = _UPPER.sub(lambda letter: f"_{letter[0].lower()}", key) if is_camel else key
            fields[name] = value
    return fields


def camel(name: str) -> str:
    """Return a key of the SDK in the spelling of the service."""
    first, *words = name.split("_")
    return first + "".join(map(str.capitalize, words))


def items_or_one(data: object, path: str) -> Sequence[object]:
    """Return the items of a list. A single item, which the SDK takes too, becomes a list."""
    if isinstance(data, str | Mapping) or callable(getattr(data, "model_dump", None)):
        return [data]  # pyright: ignore[reportUnknownVariableType]
    return items(data, path)


def base64_text(value: JsonValue) -> JsonValue:
    """Return bytes of the SDK's objects as base64 text, and any other value unchanged."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def standard_base64(text: str) -> str:
    """Return base64 in the standard alphabet. Dumps of the SDK's objects have the other one."""
    return text.translate(_STANDARD)


def is_base64(text: str) -> bool:
    """Return whether the SDK takes a text as bytes: exact base64, in one of its alphabets."""
    text = standard_base64(text)
    try:
        return base64.b64encode(base64.b64decode(text, validate=True)).decode() == text
    except ValueError:
        return False


# Write and read attachments: the media types and the addresses that Gemini takes.

TYPES: Mapping[str, tuple[str, ...]] = {
    "image": ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"),
    "audio": ("audio/wav", "audio/mp3", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac"),
    "video": (
        *("video/mp4", "video/mpeg", "video/mov", "video/avi", "video/x-flv", "video/mpg"),
        *("video/webm", "video/wmv", "video/3gpp"),
    ),
    "document": ("application/pdf", "text/plain"),
}
"""The media types that are taken, by type of block (Google's documentation)."""

RESULT_TYPES = ("image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain")
"""The media types that a result may contain (Google's documentation of Gemini 3)."""

_SAME: Mapping[str, str] = {
    "image/jpg": "image/jpeg",
    "audio/mpeg": "audio/mp3",
    "audio/x-wav": "audio/wav",
    "video/quicktime": "video/mov",
    "video/x-msvideo": "video/avi",
    "video/x-ms-wmv": "video/wmv",
}
"""Gemini's name of a media type, by another name of it."""
_SUFFIXES: Mapping[str, str] = {
    **{media_type.partition("/")[2]: media_type for kind in TYPES.values() for media_type in kind},
    "jpg": "image/jpeg",
    "txt": "text/plain",
    "flv": "video/x-flv",
    "3gp": "video/3gpp",
    "aif": "audio/aiff",
}
"""The media type by the extension of an address."""
_ADDRESSES: Mapping[str, tuple[str, ...]] = {
    "url": ("https://",),
    "gcs": ("gs://",),
    "file_id": ("https://", "gs://"),
}
"""How an address begins, by the kind of its source. Sources of other kinds are not sent."""
_UPLOADED = "https://generativelanguage.googleapis.com/"
"""The beginning of addresses of uploaded files, whose types the service knows."""
_NONE_NEEDED = ""
"""The media type of an uploaded file: none is sent. ``None`` is a type that is not known."""

_YOUTUBE = re.compile(r"https?://(www\.|m\.)?(youtube\.com|youtu\.be)/", re.IGNORECASE)
_CLASSES: Mapping[str, Callable[..., b.MediaBlock]] = {
    "image": b.ImageBlock,
    "audio": b.AudioBlock,
    "video": b.VideoBlock,
}


def source_param(kind: str, source: MediaSource) -> Param | None:
    """Return the source of an attachment, ``None`` if it or its media type is not taken."""
    source = with_bytes(source)
    value, media_type = utf8(source.value), sent_type(kind, source)
    if media_type and media_type not in TYPES[kind]:
        return None
    if source.kind == "base64":
        if not (media_type and value and is_base64(value)):
            return None
        return {"inline_data": {"mime_type": media_type, "data": standard_base64(value)}}
    if media_type is None or not value.lower().startswith(_ADDRESSES.get(source.kind, ())):
        return None
    file_data = {"file_uri": value}
    if media_type != _NONE_NEEDED:
        file_data["mime_type"] = media_type
    return {"file_data": file_data}


def sent_type(kind: str, source: MediaSource) -> str | None:
    """Return the media type to send; it may be ``_NONE_NEEDED``, and ``None`` if it is unknown."""
    media_type = source.media_type or _media_type_of(kind, utf8(source.value))
    media_type = _SAME.get(media_type.lower(), media_type.lower()) if media_type else media_type
    # Every text is a document, but Gemini has a media type for plain text only.
    is_text = kind == "document" and (media_type or "").startswith("text/")
    return "text/plain" if is_text else media_type


def needs_bytes(block: b.MediaBlock, role: str) -> bool:
    """Return whether the address of an attachment is refused, but its bytes may be taken.

    Attachments that a model made are sent as bytes, never as an address.
    """
    if not is_address(block.source):
        return False
    return role == "assistant" or source_param(block.type, block.source) is None


def _media_type_of(kind: str, address: str) -> str | None:
    """Return the media type that an address shows, or ``None``.

    It is ``_NONE_NEEDED`` for an uploaded file whose address shows none. ``kind`` is the type
    of the block: only a video is looked for at YouTube.
    """
    if kind == "video" and _YOUTUBE.match(address):
        return "video/mp4"
    path = re.split(r"[?#]", address, maxsplit=1)[0]
    media_type = _SUFFIXES.get(path.rpartition(".")[2].lower()) or type_by_extension(address)
    if media_type is None and address.lower().startswith(_UPLOADED):
        return _NONE_NEEDED
    return media_type


def read_media(key: str, data: object, extra: JsonObject) -> b.Block | None:
    """Return the block of ``inline_data`` or ``file_data``, ``None`` if it has unknown keys."""
    fields = fields_of(data)
    value = base64_text(fields.pop("data" if key == "inline_data" else "file_uri", None))
    media_type = optional_string(fields.pop("mime_type", None), "mime_type")
    title = optional_string(fields.pop("display_name", None), "display_name")
    if fields or not isinstance(value, str):
        return None
    value = string(value, key)
    address = value.lower()
    kind: SourceKind = "file_id"
    if key == "inline_data":
        kind, value, address = "base64", standard_base64(value), ""
    elif address.startswith("gs://"):
        kind = "gcs"
    elif address.startswith(("https://", "http://")) and not address.startswith(_UPLOADED):
        kind = "url"
    # The class of the block, by its media type or its address, which may be one of YouTube.
    family = media_type or _media_type_of("video", address)
    block_class = _CLASSES.get((family or "").partition("/")[0].lower(), b.DocumentBlock)
    # ``video/*`` adds nothing to the class of the block.
    exact_type = None if (media_type or "").endswith("/*") else media_type
    source = MediaSource(kind, value, exact_type, from_data=True)
    return block_class(source, title, extra=extra)


# Write and read the tools, the choice of a tool and the output schema of a request.
#
# A recorded schema may be in Gemini's dialect, which is that of OpenAPI.

NO_MARKS = "Gemini takes no cache marks: it caches by itself, or in an object of its own"

_REFUSED = re.compile(r"^[^a-zA-Z_]|[^a-zA-Z0-9_.:-]")


def sent_name(request: Request, subject: Location | ToolDefinition, name: str) -> str:
    """Return the name with which a tool is sent; it starts with a letter or an underscore."""
    return tool_name(request, subject, name, refused=_REFUSED)


def tools_of(request: Request) -> list[Param]:
    """Return the tools without cache marks: first the tools of the service, then all functions.

    Tools that were recorded in another order or in other objects stay unchanged.
    """
    params = write_tools(request, "gemini", _function_param)
    lose_tool_marks(request, NO_MARKS)
    locations = [tool.extra.get(ITEM) for tool in request.prompt.tools]
    if all(is_list(location) for location in locations):
        return _as_recorded(locations, params)
    functions = [param for param in params if "name" in param]
    service_tools = [param for param in params if "name" not in param]
    return [*service_tools, {"function_declarations": functions}] if functions else service_tools


def _as_recorded(locations: Iterable[JsonValue], params: Iterable[Param]) -> list[Param]:
    """Return tools in the objects in which they were recorded, by the location of each object."""
    tools: dict[str, Param] = {}
    for location, param in zip(locations, params, strict=True):
        tool = tools.setdefault(str(location), {})
        if "name" in param:
            tool.setdefault("function_declarations", []).append(param)
        else:
            tool |= param
    return [*tools.values()]


def _function_param(request: Request, tool: ToolDefinition) -> Param:
    param: Param = {"name": sent_name(request, tool, tool.name)}
    if tool.description is not None:
        param["description"] = tool.description
    # A schema in the dialect of Gemini is in the ``extra`` of its tool and is sent from there. Then
    # the JSON schema that was made of it is left out.
    is_recorded_here = tool.origin in (None, *request.facts.origins)
    if tool.input_schema and not (is_recorded_here and "parameters" in tool.extra):
        param["parameters_json_schema"] = dict(tool.input_schema)
    return json_copy(param)


_JSON = "application/json"
_CHOICES = {sent: choice for choice, sent in GEMINI.choices.items() if choice != "tool"}
_MEANINGS = {**_CHOICES, "VALIDATED": "auto"}
"""The choice by mode. With ``VALIDATED``, calls must follow the schemas."""
_OUTPUT_KEYS = ("response_mime_type", "response_json_schema", "response_schema")


def settings_of(request: Request, tools: list[Param]) -> Param:
    """Return the keys for the choice of a function and for the output schema of a prompt."""
    settings: Param = {}
    choice, name = chosen(request)
    raw = recorded_choice(request, request.facts.origins, choice)
    functions = [item["name"] for tool in tools for item in tool.get("function_declarations", ())]
    if raw is not None:
        settings["tool_config"] = raw
    elif choice and functions and name in (None, *functions):
        named = {} if name is None else {"allowed_function_names": [name]}
        settings["tool_config"] = {
            "function_calling_config": {"mode": GEMINI.choices[choice], **named}
        }
    elif choice:
        what = f"tool_choice {request.prompt.tool_choice!r}"
        request.losses.append(hint("tool_choice", what, "there is no such function to call"))
    output = sendable_output(request)
    raw = recorded_output(request, request.facts.origins, output)
    if raw is not None:
        settings |= raw
    elif output:
        settings["response_mime_type"] = _JSON
        settings["response_json_schema"] = nameless_schema(request, output)
    return settings


def read_settings(settings: JsonObject) -> Prompt:
    """Return the tools, the choice of a tool and the output schema of a payload."""
    # Each object of the list may contain a tool of the service, and several functions.
    objects = located_items("tools", _read_tools, items_or_one(settings.get("tools", ()), "tools"))
    numbered = [(index, tool) for index, tools in enumerate(objects) for tool in tools]
    tools = [tool for _, tool in numbered]
    functions = {index for index, tool in numbered if tool.raw is None}
    services = {index for index, tool in numbered if tool.raw is not None}
    # ``tools_of`` writes the tools of the service first, and all functions in one object after
    # them. If a payload has another order, each tool keeps the index of its object in ``extra``.
    last_function, last_service = max(functions, default=-1), max(services, default=-1)
    if len(functions) > 1 or -1 < last_function <= last_service:
        tools = [
            attrs.evolve(tool, extra={**tool.extra, ITEM: [index]}) for index, tool in numbered
        ]
    choice, output = _read_choice(settings.get("tool_config")), _read_output(settings)
    return recorded_prompt(tools, choice, output)


def _read_tools(data: object) -> list[ToolDefinition]:
    """Return the tools of an object: the one of the service, if there is one, and the functions."""
    fields = fields_of(data)
    functions = fields.pop("function_declarations", ())
    tools = [*located_items("function_declarations", _read_function, functions)]
    if not fields:
        return tools
    # The first key names the tool of the service. All keys are sent back as they were.
    name = shown_name(next(iter(fields)))
    return [ToolDefinition(name, raw=fields, origin="gemini"), *tools]


def _read_function(data: object) -> ToolDefinition:
    fields = fields_of(data)
    name = required(fields, "name", str)
    description = optional_string(fields.get("description"), "description")
    schema = fields.get("parameters_json_schema")
    if schema is None and fields.get("parameters") is not None:
        schema = json_schema(fields["parameters"])
    known = ["name", "description"]
    # A function may have an empty schema, or none, and ``input_schema`` is empty for both. So an
    # empty one stays in ``extra``, from which it is sent again.
    if schema != {}:
        known.append("parameters_json_schema")
    extra = json_copy({key: value for key, value in fields.items() if key not in known})
    schema = json_copy(mapping({} if schema is None else schema))
    return ToolDefinition(exact(name), description, schema, None, extra, origin="gemini")


def _read_choice(data: object) -> RawSetting | str | None:
    """Return the choice of a ``tool_config``."""
    if not data:
        return None
    config = fields_of(data)
    choice = fields_of(config.get("function_calling_config") or {})
    mode = exact(optional_string(choice.get("mode"), "mode") or "MODE_UNSPECIFIED").upper()
    names = items(choice.get("allowed_function_names") or (), "allowed_function_names")
    meaning = _MEANINGS.get(mode)
    further = [key for key in config if key != "function_calling_config"]
    further += [key for key in choice if key not in ("mode", "allowed_function_names")]
    if further:
        return raw_choice(config, "gemini", meaning, f"{shown(further[0])} of tool_config")
    if len(names) == 1 and mode == "ANY":
        return named_choice(
            config, "gemini", required({"name": names[0]}, "name", str), is_all=True
        )
    if names:
        return raw_choice(config, "gemini", meaning, "a choice among several functions")
    if mode == "MODE_UNSPECIFIED":
        return None
    if mode in _CHOICES:
        return meaning
    return raw_choice(config, "gemini", meaning, f"the mode {mode}")


def _read_output(settings: JsonObject) -> RawSetting | None:
    """Return the output format as it was recorded, with its output schema if there is one."""
    raw = {key: settings[key] for key in _OUTPUT_KEYS if settings.get(key) is not None}
    schema, openapi_schema = raw.get("response_json_schema"), raw.get("response_schema")
    media_type = raw.get("response_mime_type", "text/plain")
    if schema is not None:
        output = OutputSchema(json_copy(mapping(schema)))
        return RawSetting({**raw, "response_json_schema": output.schema}, "gemini", output)
    if openapi_schema is not None:
        return RawSetting(json_copy(raw), "gemini", OutputSchema(json_schema(openapi_schema)))
    unsayable = "" if media_type == "text/plain" else f"response_mime_type {shown(media_type)}"
    return RawSetting(raw, "gemini", None, unsayable) if raw else None


_SNAKE = re.compile(r"(?<=[a-z])_([a-z])")
_COUNTS = frozenset(
    f"{end}{what}" for end in ("min", "max") for what in ("Items", "Length", "Properties")
)


def json_schema(schema: object) -> dict[str, JsonValue]:
    """Return a schema of OpenAPI, with types in capitals and ``nullable``, as a JSON schema."""
    converted: dict[str, JsonValue] = json_copy(mapping(schema))
    for subschema in parts_of(converted):
        translated = _translated(subschema)
        subschema.clear()
        subschema.update(translated)
    return converted


def _translated(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a schema with the keywords of JSON schema. Schemas in it are not changed."""
    order: JsonValue = None
    nullable: JsonValue = None
    translated: dict[str, JsonValue] = {}
    for spelled, value in schema.items():
        # The service's own JSON spells keywords as JSON schema does: ``anyOf``.
        key = _SNAKE.sub(lambda letter: letter[1].upper(), spelled)
        key = f"${key}" if key in ("ref", "defs") else key
        if key == "propertyOrdering":
            order = value
        elif key == "nullable":
            nullable = value
        elif key in _COUNTS:
            # The service's JSON has numbers of 64 bits as text.
            translated[key] = value
            if isinstance(value, str) and value.isdecimal():
                translated[key] = int(value)
        elif key == "example":
            translated["examples"] = [value]
        elif key == "type" and isinstance(value, list):
            translated["type"] = [name.lower() if isinstance(name, str) else name for name in value]
        elif key == "type" and isinstance(value, str):
            # In JSON schema, a schema of any type has no key ``type``.
            if value != "TYPE_UNSPECIFIED":
                translated["type"] = value.lower()
        elif key == "$ref" and isinstance(value, str) and value.startswith("#/defs/"):
            translated[key] = f"#/${value[2:]}"
        elif (key, value) != ("format", "enum"):
            # That format, which JSON schema does not have, only repeats that there is an ``enum``.
            translated[key] = value
    # Properties are in the order that the schema names.
    properties = translated.get("properties")
    if isinstance(properties, dict) and isinstance(order, list):
        names = [name for name in order if isinstance(name, str) and name in properties]
        first = {name: properties[name] for name in names}
        translated["properties"] = {**first, **properties}
    return _with_null(translated) if nullable is True else translated


def _with_null(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the schema of a value that fits a schema, or is null."""
    kind, values, choices = (schema.get(key) for key in ("type", "enum", "anyOf"))
    null: dict[str, JsonValue] = {"type": "null"}
    nullable = dict(schema)
    if isinstance(kind, str) and kind != "null":
        nullable["type"] = [kind, "null"]
    if isinstance(values, list) and None not in values:
        nullable["enum"] = [*values, None]
    if isinstance(choices, list):
        schemas = [choice for choice in choices if isinstance(choice, dict)]
        if not any(str(choice.get("type")).lower() == "null" for choice in schemas):
            nullable["anyOf"] = [*choices, null]
    # These cannot take null in the same schema: a constant, and a schema without those keywords.
    if "const" in schema or not schema.keys() & {"type", "enum", "anyOf"}:
        return {"anyOf": [nullable, null]}
    return nullable
