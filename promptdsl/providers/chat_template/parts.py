"""A request for a chat template while it is written, and what it has besides its texts.

First come the features of a template and the request. Then come ids and names, control tokens in
strings, attachments, and tools.
"""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from functools import partial
from hashlib import sha256
from typing import TypeAlias

import attrs

from promptdsl.foundation.frozen import thawed
from promptdsl.foundation.json import ABSENT, JsonObject, JsonValue, read_json, write_json
from promptdsl.messages import (
    AudioBlock,
    Block,
    ImageBlock,
    MediaBlock,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    VideoBlock,
)
from promptdsl.messages.field_checks import optional_string
from promptdsl.messages.media_type import SHORTHANDS, MediaSource, SourceKind, data_url
from promptdsl.messages.prompt import ToolDefinition, hint
from promptdsl.providers.chat_template.run import neutralised, tool_param
from promptdsl.providers.shared.blocks import json_copy, utf8
from promptdsl.providers.shared.reading import mapping, required
from promptdsl.providers.shared.request import JoinedText, Location, Param
from promptdsl.providers.shared.tools import lose_tool_marks, write_tools
from promptdsl.providers.shared.two_sided import Turns, tool_name

# A request for a chat template while it is written, and the features of the template.

ORIGIN = "chat_template"


@attrs.frozen
class Abilities:
    """The features of a chat template.

    The defaults are for an unknown template, and almost every template accepts them: one leading
    system message, turns that alternate strictly, and one call in a turn, with an id of nine
    letters and digits.
    """

    system: bool = True
    """A leading system message is printed first, also when the conversation has grown."""
    no_user: bool = False
    """A request may have no user turn."""
    user_after_result: bool = False
    """A user turn may follow a tool result. Otherwise turns must alternate; calls do not count."""
    lists: bool = False
    """Every content must be a list of parts."""
    media: frozenset[str] = frozenset()
    """The types of parts that are printed between texts: ``image``, ``image_url``, ``audio``..."""
    reply_media: frozenset[str] = frozenset()
    """The types of parts that are printed between texts in the model's turn, too."""
    tools: bool = True
    """Tool definitions are printed."""
    tools_list: bool = False
    """A request without tools must have an empty list of tools."""
    calls: bool = True
    """A call and its result are printed."""
    mapping: bool = True
    """The arguments of a call are a mapping. Otherwise they are JSON text."""
    parallel: bool = False
    """A turn may have several calls."""
    text_with_calls: bool = True
    """In a turn with calls, text is printed before the calls."""
    short_ids: bool = True
    """An id must have nine letters and digits."""
    reasoning: bool = True
    """Reasoning before a call is printed."""
    tag_keys: bool = False
    """The names of arguments are printed as tags, or in tags."""
    tag_names: bool = False
    """The name of a called tool is printed in a tag."""
    described: bool = False
    """Every argument must have a description."""
    answers: bool = True
    """Reasoning before an answer is still printed after a later user turn."""
    rounds: bool = True
    """Reasoning before a call is still printed after a later user turn."""
    reasoning_with_text: bool = True
    """Reasoning before a call is also printed when the turn has text."""


@attrs.define(eq=False)
class Templated(Turns):
    """A request for a chat template, with the features and the control tokens of the template."""

    abilities: Abilities = attrs.field(kw_only=True)
    tokens: re.Pattern[str] = attrs.field(kw_only=True)
    prompt_ids: dict[str, str] = attrs.field(factory=dict[str, str])
    """By the id of a call in a turn, its id in the prompt."""

    def harmless(self, text: str) -> str:
        """Return a text with broken control tokens, and U+FFFD for lone surrogates."""
        harmless_text = neutralised(utf8(text), self.tokens)
        if isinstance(text, JoinedText):
            if harmless_text == text:
                return text
            return text.with_insertions(
                harmless_text, [m.end() for m in self.tokens.finditer(utf8(text))]
            )
        return harmless_text


# The ids of calls and the names of tools and arguments, as a template takes them.

JsonContainers: TypeAlias = list[dict[str, JsonValue] | list[JsonValue]]

_NINE = re.compile("[a-zA-Z0-9]{9}")
"""An id that Mistral's templates accept."""
_REFUSED = re.compile(r"[^\w.-]")
"""A character that is refused in a name which the template prints in a tag."""


class PayloadIds:
    """The ids of calls and results in the payload. The ids of calls are unique.

    They are the ids of the prompt. Mistral's templates require ids of nine letters and digits.
    """

    def __init__(self, request: Templated) -> None:
        self.request = request
        self.short = request.abilities.short_ids
        self.id_by_call: dict[str, str] = {}
        self.used: set[str] = set()

    def begin(self) -> None:
        """Begin a turn. Unless ids must be short, its calls may have ids of earlier turns."""
        if not self.short:
            self.id_by_call.clear()
            self.used.clear()

    def fit(self, id: str) -> str:
        """Return the id in the payload for an id in a turn. It depends on earlier ids only."""
        if id in self.id_by_call:
            return self.id_by_call[id]
        if self.short:
            fitting, count = id, 0
            while fitting in self.used or not _NINE.fullmatch(fitting):
                fitting = sha256(f"{count}/{id}".encode()).hexdigest()[:9]
                count += 1
        else:
            harmless, prompt_ids = self.request.harmless, self.request.prompt_ids
            fitting = stem = harmless(prompt_ids.get(id, id) or "_")
            count = 1
            while fitting in self.used:
                count += 1
                fitting = harmless(f"{stem}_{count}")
        self.id_by_call[id] = fitting
        self.used.add(fitting)
        return fitting


def mended_name(request: Templated, subject: Location | ToolDefinition, name: str) -> str:
    """Return the name of a tool in the payload.

    If the template prints names in tags, ``_`` replaces the characters that break a tag.
    """
    if not request.abilities.tag_names:
        return name
    return tool_name(request, subject, name, longest=1_000, refused=_REFUSED)


def mended_keys(request: Templated, location: Location, arguments: Param) -> Param:
    """Return arguments whose keys may be tags, at any depth; record a hint if a key changed."""
    changed_keys: list[str] = []

    def fitting(key: str) -> str:
        new_key = _REFUSED.sub("_", key) or "_"
        if new_key != key:
            changed_keys.append(key)
        return new_key

    rewrite([arguments], fitting)
    if changed_keys:
        reason = "the template prints them in tags, so '_' replaces some characters"
        request.hint(location, "mended_name", "names of arguments", reason)
    return arguments


def rewrite(
    unvisited: JsonContainers,
    new_key: Callable[[str], str],
    new_value: Callable[[str, JsonValue], JsonValue] = lambda _, value: value,
    unchanged: Container[int] = (),
) -> None:
    """Rewrite the keys and values in containers, at any depth and in place.

    ``new_value`` takes the old key and the value. If two keys become equal, the second gets the
    ending ``_2``, the third ``_3``. ``unvisited`` are the containers; the list is empty afterwards.
    ``unchanged`` has the ``id()`` of containers that stay as they are.
    """
    while unvisited:
        container = unvisited.pop()
        if isinstance(container, list):
            container[:] = values = [new_value("", value) for value in container]
        else:
            pairs, counts = [*container.items()], Counter[str]()
            container.clear()
            for key, value in pairs:
                free_key = stem = new_key(key)
                while free_key in container:
                    counts[stem] += 1
                    free_key = f"{stem}_{counts[stem] + 1}"
                container[free_key] = new_value(key, value)
            values = [*container.values()]
        unvisited += [v for v in values if isinstance(v, dict | list) and id(v) not in unchanged]


# Break the control tokens in all strings of a payload, at any depth.


def break_tokens(request: Templated, messages: list[Param], tools: list[Param]) -> None:
    """Break the control tokens in messages and tools, in place.

    It records a hint for each message and each tool of the prompt that has tokens.
    """
    # A media part has no tokens, because a program fetches or decodes its bytes.
    media = set[int]()
    for param in messages:
        content: str | list[Param] = param["content"]
        if isinstance(content, list):
            media.update(id(part) for part in content if part["type"] != "text")
    rewrite([*messages, *tools], request.harmless, partial(_with_broken_tokens, request), media)
    if request.notes is not None:
        return  # this write is not for its losses
    reason = "it is a control token of the template, so a backslash is put into it"
    for tool in request.prompt.tools:
        data = thawed({"schema": tool.input_schema, "more": tool.extra, "raw": tool.raw})
        if any(map(request.tokens.search, (tool.name, tool.description or "", *_strings(data)))):
            request.hint(tool, "control_token", "control token", reason)
    for index, message in enumerate(request.messages):
        if message._plain is None:
            texts = [_block_texts(block) for block in message.content]
        else:
            texts = [[message._plain]]
        affected = (
            block_index
            for block_index, block_texts in enumerate(texts)
            if any(map(request.tokens.search, block_texts))
        )
        block = next(affected, None)
        if block is not None or request.tokens.search(message.name or ""):
            location, at = Location(index, message, message.role), () if block is None else (block,)
            request.hint(location, "control_token", "control token", reason, at=at)


def _with_broken_tokens(request: Templated, key: str, value: JsonValue) -> JsonValue:
    """Return a string with broken control tokens, and any other value unchanged."""
    if not isinstance(value, str):
        return value
    is_json = key == "arguments" and not request.abilities.mapping
    # A backslash in JSON text must be escaped, so the tokens are broken in the data of the text.
    data = read_json(value) if is_json and request.tokens.search(value) else ABSENT
    if data is ABSENT:
        return request.harmless(value)
    root = [data]
    rewrite([root], request.harmless, partial(_with_broken_tokens, request))
    return write_json(root[0])


def _strings(data: JsonValue) -> Iterator[str]:
    """Yield the strings and keys in data of any depth."""
    unvisited = [data]
    while unvisited:
        value = unvisited.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            unvisited += [*value, *value.values()]
        elif isinstance(value, list):
            unvisited += value


def _block_texts(block: Block) -> list[str]:
    """Return the texts of a block that a template prints."""
    match block:
        case TextBlock() | ReasoningBlock():
            return [block.text]
        case ToolUseBlock():
            return [block.id, block.name, block.arguments]
        case ToolResultBlock():
            return [text for inner in block.content for text in _block_texts(inner)]
        case _:
            return []


# Write attachments as the parts that a template prints, and read them back.

CLASSES: Mapping[str, Callable[..., Block]] = {
    "image": ImageBlock,
    "image_url": ImageBlock,
    "audio": AudioBlock,
    "video": VideoBlock,
}
"""By the type of a part, the class of its block."""

_KINDS: tuple[SourceKind, ...] = ("url", "base64", "path")
"""The kinds of sources that are also keys of a part."""
FIELD_KEYS = frozenset(
    (*SHORTHANDS, *_KINDS, *CLASSES, "source", "title", "detail", "cache", "extra")
)
"""The keys of a part that are fields of its block. All other keys are further keys."""
_ADDRESS = re.compile(r"https?://|data:", re.IGNORECASE)


def media_part(block: MediaBlock, printed: frozenset[str]) -> tuple[Param, str] | None:
    """Return the part of an attachment, and its address or its bytes; ``None`` if it has no part.

    ``printed`` are the types of parts that the template prints. The keys are those of
    ``apply_chat_template`` in ``transformers``. That function opens an address that is neither
    HTTP nor ``data:`` as a file, so such an address gets no part.
    """
    source = block.source
    address = utf8(source.value)
    if source.kind not in _KINDS or (source.kind == "url" and not _ADDRESS.match(address)):
        return None
    if block.type in printed:
        # Numbers are sizes for the program that reads the bytes, such as ``min_pixels``.
        numbers: Param = {
            key: value
            for key, value in thawed(block.extra).items()
            if isinstance(value, int | float) and key.isidentifier() and key not in FIELD_KEYS
        }
        return {"type": block.type, source.kind: address, **numbers}, address
    if block.type == "image" and "image_url" in printed and source.kind != "path":
        if source.kind == "base64":
            address = f"data:{utf8(source.media_type or 'image/png')};base64,{address}"
        return {"type": "image_url", "image_url": {"url": address}}, address
    return None


def needs_bytes(_block: MediaBlock, _role: str) -> bool:
    """Return ``False``, because the program that runs a template opens addresses itself."""
    return False


def read_media(part: JsonObject) -> Block | None:
    """Return the block of a part, ``None`` if the part has no address and no bytes."""
    kind = str(part.get("type"))
    if kind not in CLASSES:
        return None
    source, detail = None, None
    # The address is under the type, alone or in a mapping, or under the kind of the source.
    inner = part.get(kind)
    url = inner.get("url") if isinstance(inner, Mapping) else inner
    if isinstance(url, str) and (isinstance(inner, Mapping) or _ADDRESS.match(url)):
        source = data_url(url) or MediaSource("url", url, from_data=True)
        detail = inner.get("detail") if isinstance(inner, Mapping) else None
    for key in _KINDS if source is None else ():
        value = part.get(key)
        if isinstance(value, str):
            source = MediaSource(key, value, from_data=True)
            break
    if source is None:
        return None
    extra = {name: value for name, value in part.items() if name not in FIELD_KEYS}
    return CLASSES[kind](source, detail=detail if isinstance(detail, str) else None, extra=extra)


# Write and read tool definitions, and record the settings that templates do not print.

_FUNCTION_KEYS = ("name", "description", "parameters")


def tools_of(request: Templated) -> list[Param]:
    """Return the tools of a request that the template prints."""
    if not request.abilities.tools:
        for tool in request.prompt.tools:
            reason = "the template prints no tools"
            request.lose(tool, "content", f"tool {tool.name!r}", reason)
        return []
    tools = write_tools(request, ORIGIN, _write_tool, inner_key="function")
    lose_tool_marks(request, "a template has no cache marks")
    return tools


def _write_tool(request: Templated, tool: ToolDefinition) -> Param:
    """Return the param of a tool. All the keys that templates read are in it."""
    # Templates loop over ``properties`` without checking that it exists.
    schema: Param = {"type": "object", "properties": Param(), **tool.input_schema}
    name = mended_name(request, tool, tool.name)
    param: Param = json_copy(thawed(tool_param(name, tool.description or "", schema)))
    properties: JsonValue = param["function"]["parameters"]["properties"]
    if request.abilities.described and isinstance(properties, dict):
        for argument in properties.values():
            if isinstance(argument, dict):
                argument.setdefault("description", "")
    return param


def lose_settings(request: Templated) -> None:
    """Record the settings that templates do not print: the choice of a tool, the output schema."""
    choice, output = request.prompt.tool_choice, request.prompt.sent_output
    if choice not in (None, "auto"):
        reason = "a template cannot express it: the program that runs the model may"
        request.losses.append(hint("tool_choice", f"tool_choice {choice!r}", reason))
    if output is not None:
        reason = "a template cannot express it: the program that runs the model may enforce it"
        request.lose(output, "content", "output schema", reason)


def read_tool(data: object) -> ToolDefinition:
    """Return the definition of a tool, with its keys at the top or under ``function``."""
    fields = mapping(data)
    is_flat = "function" not in fields
    function = fields if is_flat else mapping(required(fields, "function"))
    name = required(function, "name", str)
    schema = mapping(function.get("parameters") or {})
    extra = {key: value for key, value in function.items() if key not in _FUNCTION_KEYS}
    if is_flat:
        extra.pop("type", None)
    description = optional_string(function.get("description"), "description")
    return ToolDefinition(name, description, schema, None, extra, origin=ORIGIN)
