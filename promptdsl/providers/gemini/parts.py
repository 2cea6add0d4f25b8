"""Write and read what a request has besides its texts: attachments, tools, output schema.

First comes the spelling of keys and bytes, then attachments, then the tools and the settings.
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
"""Two characters of the URL-safe alphabet of base64, and those of the standard alphabet."""
_UPPER = re.compile(r"[A-Z]")


def fields_of(data: object) -> dict[str, JsonValue]:
    """Return a mapping with the spelling of the SDK, without keys whose value is ``None``.

    Raises :class:`DataError` for a value that is not a mapping or an object of the SDK.
    """
    fields: dict[str, JsonValue] = {}
    for key, value in mapping(data).items():
        if value is not None:
            # A key in recorded data may be any object.
            is_camel = type(key) is str and not key.islower()
            name = _UPPER.sub(lambda match: f"_{match[0].lower()}", key) if is_camel else key
            fields[name] = value
    return fields


def camel(name: str) -> str:
    """Return a key of the SDK in the spelling of the service."""
    first, *words = name.split("_")
    return first + "".join(map(str.capitalize, words))


def items_or_single(data: object, path: str) -> Sequence[object]:
    """Return the items of a list, or a list of a single item, which the SDK takes, too."""
    if isinstance(data, str | Mapping) or callable(getattr(data, "model_dump", None)):
        return [data]  # pyright: ignore[reportUnknownVariableType]
    return items(data, path)


def base64_text(value: JsonValue) -> JsonValue:
    """Return bytes of the SDK's objects as base64 text, and any other value unchanged."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def standard_base64(text: str) -> str:
    """Return base64 text in the standard alphabet. The SDK's dumps have the URL-safe alphabet."""
    return text.translate(_STANDARD)


def is_base64(text: str) -> bool:
    """Return whether the SDK takes a text as bytes: exact base64, in one of the two alphabets."""
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
"""By type of block, the media types that Gemini takes (Google's documentation)."""

RESULT_TYPES = ("image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain")
"""The media types that a result may contain (Google's documentation of Gemini 3)."""

_GEMINI_NAMES: Mapping[str, str] = {
    "image/jpg": "image/jpeg",
    "audio/mpeg": "audio/mp3",
    "audio/x-wav": "audio/wav",
    "video/quicktime": "video/mov",
    "video/x-msvideo": "video/avi",
    "video/x-ms-wmv": "video/wmv",
}
"""By another name of a media type, the name that Gemini takes."""
_SUFFIXES: Mapping[str, str] = {
    **{media_type.partition("/")[2]: media_type for kind in TYPES.values() for media_type in kind},
    "jpg": "image/jpeg",
    "txt": "text/plain",
    "flv": "video/x-flv",
    "3gp": "video/3gpp",
    "aif": "audio/aiff",
}
"""By the extension of an address, its media type."""
_ADDRESSES: Mapping[str, tuple[str, ...]] = {
    "url": ("https://",),
    "gcs": ("gs://",),
    "file_id": ("https://", "gs://"),
}
"""By the kind of a source, how its address must begin. Other kinds of sources are not sent."""
_UPLOADED = "https://generativelanguage.googleapis.com/"
"""How the address of an uploaded file begins. The service knows the type of such a file."""
_NO_TYPE_NEEDED = ""
"""The media type of an uploaded file: none is sent. An unknown media type is ``None`` instead."""

_YOUTUBE = re.compile(r"https?://(www\.|m\.)?(youtube\.com|youtu\.be)/", re.IGNORECASE)
_CLASSES: Mapping[str, Callable[..., b.MediaBlock]] = {
    "image": b.ImageBlock,
    "audio": b.AudioBlock,
    "video": b.VideoBlock,
}


def source_param(kind: str, source: MediaSource) -> Param | None:
    """Return the source of an attachment, ``None`` if Gemini refuses it or its media type."""
    source = with_bytes(source)
    value, media_type = utf8(source.value), type_to_send(kind, source)
    if media_type and media_type not in TYPES[kind]:
        return None
    if source.kind == "base64":
        if not (media_type and value and is_base64(value)):
            return None
        return {"inline_data": {"mime_type": media_type, "data": standard_base64(value)}}
    if media_type is None or not value.lower().startswith(_ADDRESSES.get(source.kind, ())):
        return None
    file_data = {"file_uri": value}
    if media_type != _NO_TYPE_NEEDED:
        file_data["mime_type"] = media_type
    return {"file_data": file_data}


def type_to_send(kind: str, source: MediaSource) -> str | None:
    """Return the media type to send, which may be ``_NO_TYPE_NEEDED``; ``None`` if unknown."""
    media_type = source.media_type or _media_type_of(kind, utf8(source.value))
    media_type = (
        _GEMINI_NAMES.get(media_type.lower(), media_type.lower()) if media_type else media_type
    )
    # Gemini takes any text, but only as ``text/plain``.
    is_text = kind == "document" and (media_type or "").startswith("text/")
    return "text/plain" if is_text else media_type


def needs_bytes(block: b.MediaBlock, role: str) -> bool:
    """Return whether Gemini refuses the address of an attachment, but may take its bytes.

    An attachment that a model made is sent as bytes, never as an address.
    """
    if not is_address(block.source):
        return False
    return role == "assistant" or source_param(block.type, block.source) is None


def _media_type_of(kind: str, address: str) -> str | None:
    """Return the media type that the extension of an address shows, or ``None``.

    For an uploaded file without an extension it is ``_NO_TYPE_NEEDED``. ``kind`` is the type of the
    block: only a video may have an address at YouTube.
    """
    if kind == "video" and _YOUTUBE.match(address):
        return "video/mp4"
    path = re.split(r"[?#]", address, maxsplit=1)[0]
    media_type = _SUFFIXES.get(path.rpartition(".")[2].lower()) or type_by_extension(address)
    if media_type is None and address.lower().startswith(_UPLOADED):
        return _NO_TYPE_NEEDED
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
    # The media type decides the class of the block; without one, the address, such as YouTube's.
    family = media_type or _media_type_of("video", address)
    block_class = _CLASSES.get((family or "").partition("/")[0].lower(), b.DocumentBlock)
    # A type such as ``video/*`` says no more than the class of the block.
    exact_type = None if (media_type or "").endswith("/*") else media_type
    source = MediaSource(kind, value, exact_type, from_data=True)
    return block_class(source, title, extra=extra)


# Write and read the tools, the choice of a tool and the output schema of a request.
#
# A recorded schema may be in the dialect of OpenAPI, which Gemini takes, too.

NO_MARKS = "Gemini takes no cache marks: it caches by itself, or in an object of its own"

_REFUSED = re.compile(r"^[^a-zA-Z_]|[^a-zA-Z0-9_.:-]")
"""A character that Gemini refuses in the name of a tool, or at its beginning."""


def name_to_send(request: Request, subject: Location | ToolDefinition, name: str) -> str:
    """Return the name of a tool in the payload. It begins with a letter or an underscore."""
    return tool_name(request, subject, name, refused=_REFUSED)


def tools_of(request: Request) -> list[Param]:
    """Return the tools without cache marks: first the service's own tools, then all functions.

    Tools that were recorded in another order or in other objects keep their order and objects.
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
    """Return tools in the objects in which they were recorded.

    ``locations`` has, for each tool, the location of its object.
    """
    tools: dict[str, Param] = {}
    for location, param in zip(locations, params, strict=True):
        tool = tools.setdefault(str(location), {})
        if "name" in param:
            tool.setdefault("function_declarations", []).append(param)
        else:
            tool |= param
    return [*tools.values()]


def _function_param(request: Request, tool: ToolDefinition) -> Param:
    param: Param = {"name": name_to_send(request, tool, tool.name)}
    if tool.description is not None:
        param["description"] = tool.description
    # A recorded schema in the dialect of OpenAPI is sent from ``extra``. Then the JSON schema is
    # left out, which the reader made of it.
    is_own_tool = tool.origin in (None, *request.facts.origins)
    if tool.input_schema and not (is_own_tool and "parameters" in tool.extra):
        param["parameters_json_schema"] = dict(tool.input_schema)
    return json_copy(param)


_JSON = "application/json"
_CHOICES = {mode: choice for choice, mode in GEMINI.choices.items() if choice != "tool"}
"""By Gemini's mode, the choice of a prompt that means the same."""
_MEANINGS = {**_CHOICES, "VALIDATED": "auto"}
"""By Gemini's mode, the nearest choice. With ``VALIDATED``, calls must follow the schemas."""
_OUTPUT_KEYS = ("response_mime_type", "response_json_schema", "response_schema")
"""The keys of a request for the output schema; the last has it in the dialect of OpenAPI."""


def settings_of(request: Request, tools: list[Param]) -> Param:
    """Return the keys of ``config`` for the choice of a function and for the output schema."""
    settings: Param = {}
    choice, name = chosen(request)
    raw = recorded_choice(request, request.facts.origins, choice)
    functions = [
        function["name"] for tool in tools for function in tool.get("function_declarations", ())
    ]
    if raw is not None:
        settings["tool_config"] = raw
    elif choice and functions and name in (None, *functions):
        allowed_function = {} if name is None else {"allowed_function_names": [name]}
        settings["tool_config"] = {
            "function_calling_config": {"mode": GEMINI.choices[choice], **allowed_function}
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
    # Each object of the list may contain one of the service's own tools, and several functions.
    objects = located_items(
        "tools", _read_tools, items_or_single(settings.get("tools", ()), "tools")
    )
    tools_by_object = [(index, tool) for index, tools in enumerate(objects) for tool in tools]
    tools = [tool for _, tool in tools_by_object]
    functions = {index for index, tool in tools_by_object if tool.raw is None}
    services = {index for index, tool in tools_by_object if tool.raw is not None}
    # ``tools_of`` writes the service's own tools first, then all functions in one object. If a
    # payload differs from this, each tool keeps the index of its object in ``extra``.
    last_function, last_service = max(functions, default=-1), max(services, default=-1)
    if len(functions) > 1 or -1 < last_function <= last_service:
        tools = [
            attrs.evolve(tool, extra={**tool.extra, ITEM: [index]})
            for index, tool in tools_by_object
        ]
    choice, output = _read_choice(settings.get("tool_config")), _read_output(settings)
    return recorded_prompt(tools, choice, output)


def _read_tools(data: object) -> list[ToolDefinition]:
    """Return the tools in an object: the service's own tool, if it has one, and the functions."""
    fields = fields_of(data)
    functions = fields.pop("function_declarations", ())
    tools = [*located_items("function_declarations", _read_function, functions)]
    if not fields:
        return tools
    # The first key is the name of the service's own tool. All keys are sent back unchanged.
    name = shown_name(next(iter(fields)))
    return [ToolDefinition(name, raw=fields, origin="gemini"), *tools]


def _read_function(data: object) -> ToolDefinition:
    fields = fields_of(data)
    name = required(fields, "name", str)
    description = optional_string(fields.get("description"), "description")
    schema = fields.get("parameters_json_schema")
    if schema is None and fields.get("parameters") is not None:
        schema = json_schema(fields["parameters"])
    read_keys = ["name", "description"]
    # ``input_schema`` is empty for an empty schema and for no schema. An empty schema stays in
    # ``extra``, so that it is sent again.
    if schema != {}:
        read_keys.append("parameters_json_schema")
    extra = json_copy({key: value for key, value in fields.items() if key not in read_keys})
    schema = json_copy(mapping({} if schema is None else schema))
    return ToolDefinition(exact(name), description, schema, None, extra, origin="gemini")


def _read_choice(data: object) -> RawSetting | str | None:
    """Return the choice of a function in a ``tool_config``, ``None`` without one."""
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
    """Return the recorded output format, with its output schema if there is one."""
    raw = {key: settings[key] for key in _OUTPUT_KEYS if settings.get(key) is not None}
    schema, openapi_schema = raw.get("response_json_schema"), raw.get("response_schema")
    media_type = raw.get("response_mime_type", "text/plain")
    if schema is not None:
        output = OutputSchema(json_copy(mapping(schema)))
        return RawSetting({**raw, "response_json_schema": output.schema}, "gemini", output)
    if openapi_schema is not None:
        return RawSetting(json_copy(raw), "gemini", OutputSchema(json_schema(openapi_schema)))
    lost_setting = "" if media_type == "text/plain" else f"response_mime_type {shown(media_type)}"
    return RawSetting(raw, "gemini", None, lost_setting) if raw else None


_SNAKE = re.compile(r"(?<=[a-z])_([a-z])")
_COUNTS = frozenset(
    f"{end}{what}" for end in ("min", "max") for what in ("Items", "Length", "Properties")
)


def json_schema(schema: object) -> dict[str, JsonValue]:
    """Return a schema of OpenAPI as a JSON schema.

    A schema of OpenAPI has types in capital letters, and the key ``nullable``.
    """
    converted: dict[str, JsonValue] = json_copy(mapping(schema))
    for subschema in parts_of(converted):
        translated = _translated(subschema)
        subschema.clear()
        subschema.update(translated)
    return converted


def _translated(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a schema of OpenAPI with the keywords of JSON schema. Inner schemas do not change."""
    order: JsonValue = None
    nullable: JsonValue = None
    translated: dict[str, JsonValue] = {}
    for keyword, value in schema.items():
        # The SDK spells keywords with ``_``; JSON schema and the service's JSON have ``anyOf``.
        key = _SNAKE.sub(lambda match: match[1].upper(), keyword)
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
            # JSON schema has no format ``enum``, which only says that there is a key ``enum``.
            translated[key] = value
    # Put the properties into the order of ``propertyOrdering``.
    properties = translated.get("properties")
    if isinstance(properties, dict) and isinstance(order, list):
        names = [name for name in order if isinstance(name, str) and name in properties]
        first = {name: properties[name] for name in names}
        translated["properties"] = {**first, **properties}
    return _with_null(translated) if nullable is True else translated


def _with_null(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a schema that accepts null, and each value that the old schema accepts."""
    kind, values, choices = (schema.get(key) for key in ("type", "enum", "anyOf"))
    null: dict[str, JsonValue] = {"type": "null"}
    nullable_schema = dict(schema)
    if isinstance(kind, str) and kind != "null":
        nullable_schema["type"] = [kind, "null"]
    if isinstance(values, list) and None not in values:
        nullable_schema["enum"] = [*values, None]
    if isinstance(choices, list):
        schemas = [choice for choice in choices if isinstance(choice, dict)]
        if not any(str(choice.get("type")).lower() == "null" for choice in schemas):
            nullable_schema["anyOf"] = [*choices, null]
    # Two kinds of schemas cannot take null themselves: those with ``const``, and those without
    # ``type``, ``enum`` and ``anyOf``.
    if "const" in schema or not schema.keys() & {"type", "enum", "anyOf"}:
        return {"anyOf": [nullable_schema, null]}
    return nullable_schema
