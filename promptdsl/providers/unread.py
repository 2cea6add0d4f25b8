"""The keys of recorded messages that the readers pass over, found by tables of those they read.

Blocks whose readers keep all further keys are open: an adapter tells what it does not send of them.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from promptdsl.foundation.frozen import is_list, is_mapping
from promptdsl.foundation.unicode import exact
from promptdsl.providers.shared.checks import mapping

Shape: TypeAlias = Mapping[str, "Inner"]
"""The keys that are read of an object, each with what is read of its value."""
Inner: TypeAlias = Shape | Callable[[Mapping[str, Any]], "Shape | None"] | None
"""The shape of an object, or a function that returns it; ``None`` where all is read."""

REST = "*"
"""In a shape: all further keys are kept."""

Place: TypeAlias = tuple[Any, str | int]  # Any: the place around it, or None
"""The place of a value: the one around it, and its key or index there."""


def unread_keys(data: object, form: str) -> Iterator[tuple[str, str]]:
    """Yield the keys with a value that are not read of a recorded conversation, with their places.

    The data was read before. What is ``None`` or empty is no value. A key that is passed over in
    many places of one kind comes once, with its first place and the number of the others.
    """
    shapes = _PAYLOADS[form]
    if not is_mapping(data):
        *_, key = shapes
        data = {key: data}
    search = _Search(form)
    search.find(data, {**shapes, REST: None}, None)
    for (*_, key), places in search.found.items():
        steps = (f".{step}" if isinstance(step, str) else f"[{step}]" for step in _steps(places[0]))
        more = f" and {len(places) - 1:,} more" if len(places) > 1 else ""
        yield key, "".join(steps).removeprefix(".") + more


class _Search:
    """A search for unread keys, and the places that were found.

    They are by the keys on the way to them, the unread one included.
    """

    def __init__(self, form: str) -> None:
        self.found: dict[tuple[str, ...], list[Place | None]] = {}
        self.entries_of: Callable[[object], Mapping[str, Any]] = _as_mapping
        if form == "gemini":
            from promptdsl.providers.gemini.spelling import entries_of

            self.entries_of = entries_of

    def find(self, value: object, inner: Inner, place: Place | None) -> None:
        """Note the unread keys in a value; the shapes, not the data, limit how deep it goes."""
        if is_list(value):
            for number, item in enumerate(value):
                # Most items are messages of a role and a text.
                if not (is_mapping(item) and _is_plain(item)):
                    self.find(item, inner, (place, number))
            return
        if isinstance(value, str) or not value:
            return
        entries = self.entries_of(value)
        shape = inner(entries) if callable(inner) else inner
        if shape is None:
            return
        for key, content in entries.items():
            if key in shape:
                deeper = shape[key]
                if deeper is not None and type(content) is not str:
                    self.find(content, deeper, (place, key))
            elif REST not in shape and _is_a_value(content):
                name = exact(str(key))[:60]
                names = [step for step in _steps(place) if isinstance(step, str)]
                self.found.setdefault((*names, name), []).append(place)


_PLAIN = {"role", "content"}


def _is_plain(message: Mapping[str, object]) -> bool:
    """Return whether a message is a role and a text, as most are."""
    return message.keys() <= _PLAIN and type(message.get("content")) is str


def _is_a_value(content: object) -> bool:
    """Return whether content is more than ``None`` or an empty text, list or mapping."""
    is_json = content is None or isinstance(content, str) or is_list(content) or is_mapping(content)
    return not is_json or bool(content)


def _as_mapping(value: object) -> Mapping[str, Any]:
    return value if is_mapping(value) else mapping(value)


def _steps(place: Place | None) -> list[str | int]:
    steps: list[str | int] = []
    while place is not None:
        place, step = place
        steps.append(step)
    return steps[::-1]


def _keys(*names: str, **inner: Inner) -> Shape:
    return {**dict.fromkeys(names), **inner}


# Chat, and chat templates.

_MARK = "prompt_cache_breakpoint"
_FUNCTION = _keys("name", "arguments", "parsed_arguments")
_CALL = _keys("id", "type", "index", function=_FUNCTION, custom=_keys("name", "input"))
_CHAT_PARTS: Mapping[object, Shape] = {
    "text": _keys("type", "text", _MARK),
    "refusal": _keys("type", "refusal", _MARK),
    "image_url": _keys("type", _MARK, image_url=_keys("url", "detail")),
    "input_audio": _keys("type", _MARK, input_audio=_keys("data", "format")),
    "file": _keys("type", _MARK, file=_keys("file_id", "file_data", "filename")),
}
_SAID = ("id", "role", "content", "name")
_REASONED = ("reasoning_content", "reasoning", "refusal")


def _call(call: Mapping[str, Any]) -> Shape:
    is_flat = "name" in call and "function" not in call
    return _keys("id", "call_id", "type", "index", "name", "arguments") if is_flat else _CALL


def _chat_part(part: Mapping[str, Any]) -> Shape | None:
    return _CHAT_PARTS.get(part.get("type"))


_CHAT_ANSWER = _keys(
    *(*_SAID, *_REASONED, "annotations", "audio", "parsed"),
    content=_chat_part,
    tool_calls=_call,
    function_call=_FUNCTION,
)
_CHAT_OTHERS = _keys(*_SAID, content=_chat_part)
_CHAT_MESSAGES: Mapping[object, Shape] = {
    "assistant": _CHAT_ANSWER,
    "tool": {**_CHAT_OTHERS, "tool_call_id": None},
}


def _chat_message(entries: Mapping[str, Any]) -> Shape:
    return _CHAT_MESSAGES.get(entries.get("role"), _CHAT_OTHERS)


def _template_part(part: Mapping[str, Any]) -> Shape | None:
    return _keys("type", "text") if part.get("type", "text") == "text" else None


_TEMPLATE_ANSWER = _keys(
    *(*_SAID, *_REASONED, "thinking"), content=_template_part, tool_calls=_call
)
_TEMPLATE_OTHERS = _keys(*_SAID, content=_template_part)


def _template_message(entries: Mapping[str, Any]) -> Shape:
    role = entries.get("role")
    if role in ("assistant", "model"):
        return _TEMPLATE_ANSWER
    is_result = role in ("tool", "ipython", "tool_results")
    return {**_TEMPLATE_OTHERS, "tool_call_id": None} if is_result else _TEMPLATE_OTHERS


# Responses.

_ADDRESSES = ("image_url", "file_id", "file_url", "file_data")
_TEXT = _keys("type", "text", "annotations", "logprobs", _MARK)
_FILE = _keys("type", "detail", "filename", _MARK, *_ADDRESSES)


def _part(part: Mapping[str, Any]) -> Shape | None:
    kind = part.get("type")
    if kind in ("input_text", "output_text"):
        return _TEXT
    if kind == "refusal":
        return _keys("type", "refusal", _MARK)
    is_file = kind in ("input_image", "input_file")
    return _FILE if is_file and any(part.get(key) is not None for key in _ADDRESSES) else None


_MODELS = ("type", "id", "call_id", "status", "caller", "namespace")
_ITEMS: Mapping[object, Shape] = {
    "message": _keys("type", "id", "role", "status", "phase", content=_part),
    "function_call": _keys(*_MODELS, "name", "arguments", "parsed_arguments"),
    "custom_tool_call": _keys(*_MODELS, "name", "input"),
    "function_call_output": _keys(*_MODELS, "name", output=_part),
    "custom_tool_call_output": _keys(*_MODELS, "name", output=_part),
    "reasoning": _keys("type", "id", "summary", "content", "encrypted_content", "status"),
}


def _item(item: Mapping[str, Any]) -> Shape | None:
    return _ITEMS.get(item.get("type", "message"))


# Anthropic.

_CONTROL = _keys("type", "ttl")
_OPEN = _keys(REST, cache_control=_CONTROL)
_SOURCE = _keys("type", "media_type", "data", "url", "file_id")


def _block(block: Mapping[str, Any]) -> Shape | None:
    kind, source = block.get("type"), block.get("source")
    if kind == "thinking":
        return _keys("type", "thinking", "signature")
    if kind == "redacted_thinking":
        return _keys("type", "data")
    if kind in ("image", "document"):
        # Other sources are kept as they came.
        is_read = is_mapping(source) and source.get("type") in ("base64", "text", "url", "file")
        return {**_OPEN, "source": _SOURCE} if is_read else None
    return {**_OPEN, "content": _block} if kind == "tool_result" else _OPEN


_REPLY = (
    *("id", "type", "model", "usage", "container", "context_management", "stop_details"),
    "diagnostics",
)
_TURN = _keys("role", *_REPLY, "stop_reason", "stop_sequence", content=_block)
_INSTRUCTION = _keys("type", "text", cache_control=_CONTROL)


# Gemini, with the keys of the SDK.


def _content(content: Mapping[str, Any]) -> Shape | None:
    return _keys("role", parts=_thought) if "parts" in content else _thought(content)


def _thought(part: Mapping[str, Any]) -> Shape | None:
    is_thought = part.get("thought") and "text" in part
    return _keys("text", "thought", "thought_signature") if is_thought else None


def _gemini_system(content: Mapping[str, Any]) -> Shape:
    return _keys("role", parts=_keys("text")) if "parts" in content else _keys("text")


# Bedrock.

_REASONING = _keys("redactedContent", reasoningText=_keys("text", "signature"))


def _tool_use(call: Mapping[str, Any]) -> Shape | None:
    return _keys("toolUseId", "name", "input") if call.get("type") is None else None


def _tool_result(result: Mapping[str, Any]) -> Shape | None:
    shape = _keys("toolUseId", "status", content=_UNION)
    return shape if result.get("type") is None else None


_UNION = _keys(
    REST,
    reasoningContent=_REASONING,
    cachePoint=_CONTROL,
    toolUse=_tool_use,
    toolResult=_tool_result,
)
"""The kinds of blocks; those that are not here are kept with all their keys."""


_PAYLOADS: Mapping[str, Mapping[str, Inner]] = {
    "openai": {"messages": _chat_message},
    "openai_responses": {"instructions": _item, "input": _item},
    "anthropic": {"system": _INSTRUCTION, "messages": _TURN},
    "gemini": {
        "system_instruction": _gemini_system,
        "config": _keys(REST, system_instruction=_gemini_system),
        "contents": _content,
    },
    "bedrock": {"system": _UNION, "messages": _keys("role", content=_UNION)},
    "chat_template": {"messages": _template_message},
}
"""By form, the keys of a payload that are read; a list is the value of the last one."""
