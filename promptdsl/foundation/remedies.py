"""The advice for a value of a wrong type, where content, a text or JSON is expected.

This module is imported with the first error. It recognises a value of another library by the names
in its type: so it neither imports the library nor runs code of the value. Begin with
``content_remedy``, and with the table ``_CONTENT`` at the end.
"""

from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import is_dataclass
from datetime import date, time
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from inspect import isasyncgen, isgenerator, isroutine
from pathlib import PurePath
from types import NoneType
from typing import Any, NamedTuple, TypeGuard
from uuid import UUID

from promptdsl.foundation.source import LEFT_OUT

# Advice that several functions return.
LANGCHAIN = "with from_langchain of promptdsl.integrations.langchain"
UNPACK = "unpack it: *items"
ITEMS = 'write an item for each pair: Item("...", done=True)'
JSON = "write Json(value) to show it as JSON, or pass its items one by one"
RENDERED = "write History(rendered.messages) in the Timeline, or the part itself here"
NO_TEXT = "leave it out, or write an empty string"
CONVERSATION = "write History.from_openai(messages), directly in the Timeline"
REPLY = "it is the reply of a provider: write read_response(reply)"
TURN_OF_ROLE = {"human": "User", "ai": "Assistant"} | {
    name.lower(): name for name in ("System", "Developer", "User", "Assistant")
}
"""The turns of the roles in a pair of role and text."""
BINARY = (bytes, bytearray)
"""The types of bytes for which the advice is to decode them."""


class PlainCode(NamedTuple):
    """Code that makes plain data of a value: its text, or data such as a dictionary."""

    code: str
    component: str = "Value"
    """The component for the result: ``Value`` for a text, ``Json`` for data."""


def has(value: object, *names: str) -> bool:
    """Return whether the type of a value defines some names; no code of the value runs."""
    defined = {name for base in type.mro(type(value)) for name in vars(base)}
    return not isinstance(value, type) and defined.issuperset(names)


def _is(*kinds: type) -> Callable[[object], bool]:
    return lambda value: issubclass(type(value), kinds)


_CODE_BY_TYPE: tuple[tuple[Callable[[object], bool], PlainCode], ...] = (
    (_is(*BINARY), PlainCode("data.decode()")),
    (_is(memoryview), PlainCode("bytes(data).decode()")),
    (_is(Coroutine), PlainCode("await function()")),
    (_is(Enum), PlainCode("member.value")),
    (_is(PurePath), PlainCode("str(path)")),
    (_is(date, time), PlainCode("value.isoformat()")),
    (_is(UUID, Decimal, Fraction), PlainCode("str(value)")),
    (_is(BaseException), PlainCode("str(error)")),
    (lambda value: has(value, "read", "close"), PlainCode("file.read()")),
    (lambda value: has(value, "model_dump"), PlainCode('model.model_dump(mode="json")', "Json")),
    (lambda value: has(value, "__attrs_attrs__"), PlainCode("attrs.asdict(value)", "Json")),
    (lambda value: is_dataclass(type(value)), PlainCode("dataclasses.asdict(value)", "Json")),
    (_is(set, frozenset), PlainCode("sorted(values)", "Json")),
    (lambda value: has(value, "tolist", "shape"), PlainCode("array.tolist()", "Json")),
)


def plain_code_of(value: object) -> PlainCode | None:
    """Return the code that makes plain data of a value; ``None`` for a type that is not listed."""
    return next((plain_code for matches, plain_code in _CODE_BY_TYPE if matches(value)), None)


def text_remedy(value: object) -> str:
    """Return the advice for a value in place of a text; a coroutine is closed."""
    plain_code = plain_code_of(value)
    close(value)
    if value is LEFT_OUT:
        return "give it a text"
    if value is None:
        return NO_TEXT
    if _is_rendered(value):
        return RENDERED
    if is_reply(value):
        return "write read_response(reply).text"
    if plain_code is None or issubclass(type(value), set | frozenset):
        return "write str(value), or json.dumps(value) for its structure"
    if plain_code.component == "Json":
        return f"write json.dumps({plain_code.code})"
    return f"write {plain_code.code}"


def json_remedy(value: object, otherwise: str) -> str:
    """Return the advice for a value in place of JSON; ``otherwise`` for an unknown type.

    A coroutine is closed.
    """
    plain_code = plain_code_of(value)
    close(value)
    if value is LEFT_OUT:
        return "give it a value"
    if isinstance(value, float):
        return "write None for a missing number, or a string"
    return otherwise if plain_code is None else f"write {plain_code.code}"


def content_remedy(value: object) -> str:
    """Return the advice for a value in place of the content of a component; close a coroutine."""
    advice = next(advice for matches, advice in _CONTENT if matches(value))
    close(value)
    return advice if isinstance(advice, str) else advice(value)


def message_remedy(value: object) -> str:
    """Return the advice for a value in place of a message or its dictionary."""
    if _module(value).startswith("langchain"):
        return _langchain_remedy([value])
    if _is_rendered(value):
        return "take its messages: History(rendered.messages)"
    if is_reply(value):
        return REPLY
    if has(value, "model_dump"):
        return "write History.from_openai(messages), or from_ and the name of its provider"
    return 'write a message as {"role": "user", "content": "..."}, or as Message("user", "...")'


def _is_rendered(value: object) -> bool:
    return type(value).__name__ == "Rendered" and _module(value).startswith("promptdsl")


def is_reply(value: object) -> bool:
    """Return whether a value is the complete reply of a provider: a dictionary or an object."""
    if _is_dict(value):
        return not value.keys().isdisjoint(_REPLY)
    return not _REPLY.isdisjoint(vars(type(value)).get("__pydantic_fields__", ()))


def close(value: object) -> None:
    """Close a coroutine, so that Python does not warn that it was never awaited."""
    if isinstance(value, Coroutine):
        value.close()


def _module(value: object) -> str:
    kind = value if isinstance(value, type) else type(value)
    module: object = vars(kind).get("__module__")
    return module if isinstance(module, str) else ""


def _is_series(value: object) -> TypeGuard[list[object] | tuple[object, ...]]:
    """Return whether a value is a list or a tuple; a subclass could run its own code."""
    return type(value) in (list, tuple)


def _is_dict(value: object) -> TypeGuard[dict[object, object]]:
    return type(value) is dict


def _series_remedy(value: object) -> str:
    """Return the advice for a list: of messages, of pairs of role and text, or of parts."""
    if not _is_series(value) or not value:
        return UNPACK
    first = value[0]
    if _is_dict(first) and "role" in first:
        return CONVERSATION
    if _module(first).startswith("langchain"):
        return _langchain_remedy(value)
    pair = first if _is_series(first) else value
    role, second = pair if len(pair) == 2 else (None, None)
    turn = TURN_OF_ROLE.get(role) if type(role) is str else None
    if turn:
        return f'write a turn for each pair: {turn}("...")'
    if type(second) is bool:
        return ITEMS
    return f"{UNPACK}; rows are Table(rows)" if pair is first else UNPACK


def _mapping_remedy(value: object) -> str:
    if not _is_dict(value):
        return JSON
    if is_reply(value):
        return _REPLIED
    if "role" in value and "content" in value:
        return "write a recorded message in a History, directly in the Timeline: History([message])"
    if value.get("type") == "function" or "input_schema" in value:
        return "write Tool(name=..., description=..., input_schema=...), directly in the Timeline"
    for source in ("path", "url", "file_id", "media_type"):
        if source in value:
            return f"for an attachment write {_attachment(value, source)}; {JSON}"
    return ITEMS if value and {*map(type, value.values())} == {bool} else JSON


def _attachment(value: dict[object, object], source: str) -> str:
    """Return the call that makes the attachment of a dictionary, by its media type or file name."""
    from mimetypes import guess_type

    media_type = value.get("media_type")
    if not isinstance(media_type, str):
        media_type = guess_type(str(value[source]))[0] or ""
    top = media_type.partition("/")[0]
    component = top.capitalize() if top in ("image", "audio", "video") else "Document"
    if source == "media_type":
        return f"{component}.from_base64(data)"
    return f"{component}.from_{source}({source})"


def _langchain_remedy(value: object) -> str:
    """Return the advice for an object of LangChain, by the module of its type."""
    module = _module(value)
    if ".documents" in module:
        return "write Value(document.page_content)"
    if ".tools" in module:
        return "write Tool(tool.func), directly in the Timeline"
    if has(value, "format_prompt") and not has(value, "format_messages"):
        return "write Template.from_string(...), with {{ name }} for each variable"
    messages = "[message]"
    if isinstance(value, list | tuple):
        messages = "messages"
    elif has(value, "to_messages"):
        messages = "value.to_messages()"
    elif has(value, "format_messages"):
        messages = "template.format_messages(...)"
    return f"write History(from_langchain({messages}).messages), {LANGCHAIN}"


_REPLY = {"choices", "candidates", "stop_reason", "stopReason", "parallel_tool_calls"}
"""Keys of the replies of providers."""
_MESSAGE = {"role", "content"}
"""Fields of a message in the reply of a client."""
_REPLIED = "write History([read_response(reply)]), directly in the Timeline"


def _callable_remedy(value: object) -> str:
    if not isroutine(value) and not isinstance(value, type):
        return "call it"
    name = value.__name__
    if isinstance(value, type) and hasattr(value, "model_json_schema"):
        return f"call it; for the schema of an answer write Output({name}) in the Timeline"
    return f"call it: {name}(...)" if name.isidentifier() else "call it"


def _generator_remedy(value: object) -> str:
    """Return the advice for a generator: its function may be a component without ``@component``."""
    name = str(getattr(value, "__name__", ""))
    if name.isidentifier():
        return f"{UNPACK}; or write @component before the function {name}"
    return UNPACK


def _code_remedy(value: object) -> str:
    plain_code = plain_code_of(value) or PlainCode("value")
    return f"write {plain_code.component}({plain_code.code})"


def _text_of_kind(value: object) -> str:
    kind = type(value).__name__
    return f"write str(...) of the {kind}, or Value(str(...)) when it comes from elsewhere"


_CONTENT: tuple[tuple[Callable[[object], object], str | Callable[[Any], str]], ...] = (
    (lambda value: value is LEFT_OUT, "give it a text"),
    (_is(*BINARY), "decode it: Value(data.decode())"),
    (_is(bool), "write str(flag) to print it; `flag and Text(...)` leaves something out"),
    (_is(NoneType), NO_TEXT),
    (_is(list, tuple), _series_remedy),
    (lambda value: isinstance(value, Mapping), _mapping_remedy),
    (_is_rendered, RENDERED),
    (lambda value: _module(value).startswith("langchain"), _langchain_remedy),
    (lambda value: has(value, "columns", "itertuples"), "write Table(frame)"),
    (lambda value: has(value, "columns", "iter_rows"), "write Table(frame)"),
    (isgenerator, _generator_remedy),
    (isasyncgen, "gather it first: parts = [part async for part in parts], then *parts"),
    (_is(Coroutine), "await it first, or write Lazy(function) and arender()"),
    (_is(set, frozenset), "unpack it in a fixed order: *sorted(items)"),
    (_is(PurePath), "write Value(path.read_text()) for what is in the file, or str(path)"),
    # These two also find models of pydantic, without running their code.
    (is_reply, _REPLIED),
    (lambda value: _MESSAGE <= {*vars(type(value)).get("__pydantic_fields__", ())}, CONVERSATION),
    (plain_code_of, _code_remedy),
    (lambda value: isinstance(value, Iterator), UNPACK),
    (callable, _callable_remedy),
    (_is(object), _text_of_kind),
)
"""The advice for a value in place of content: the first function that returns true decides."""
