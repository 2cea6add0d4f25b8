"""What other libraries get of a prompt, as data, and what is read of it again."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from promptdsl import *
from tests.providers.pairs.prompts import FILES, TARGETS
from tests.providers.pairs.tables import loss_line
from tests.providers.wire_tables.tables import as_json, message_data
from tests.renders import reported

CROSSED: Mapping[str, str | None] = {
    "ids: results of no call, and of a call of an earlier turn": None,
    "ids: names that are mended alike": "openai",
    "marks: more marks than are kept": "anthropic",
    "marks: marks of results and of files in them": None,
    "roles: instructions at every place": None,
    "roles: recorded instructions after two answers": None,
    "roles: the model speaks first, and two speakers": None,
    "roles: blank texts around others": None,
    "errors: results of every form": None,
    "errors: results of JSON, and of files": "gemini",
    "media: files of results": None,
    "media: files of many sources": "openai",
    "thoughts: reasoning of each provider, twice": "anthropic",
    "thoughts: items of Responses": "openai_responses",
    "thoughts: signatures of Gemini under other keys": "gemini",
    "unknown: blocks of others between one's own": "anthropic",
    "unknown: further keys of two blocks": None,
    "unknown: an answer of which nothing is sent": None,
    "tools: tools of each provider": "openai_responses",
}
"""The prompts that cross to a library and back, and for which target they are rendered."""

MODULES = {"langchain": "langchain_core", "mcp": "mcp", "pydantic_ai": "pydantic_ai"}
"""By library, the module that it needs."""


def crossed(library: str, id: str) -> dict[str, Any]:
    """Return what a library gets of a prompt, and what is read of it again."""
    file, _, name = id.partition(": ")
    pair, target = FILES[file][name], CROSSED[id]
    options = {} if target is None else TARGETS[target]
    module = import_module(f"promptdsl.integrations.{library}")
    there = getattr(module, f"to_{library}")(render(pair.prompt(), **options, **pair.options))
    back = getattr(module, f"from_{library}")(there.messages)
    return {
        "sent": as_json(_DUMPS[library](there.messages)),
        "tools": as_json([_tool(tool) for tool in there.tools]),
        "told": [*map(loss_line, reported(there))],
        "read": [message_data(message) for message in back.messages],
        "told back": [*map(loss_line, reported(back))],
    }


def _tool(tool: Any) -> Any:
    return tool if isinstance(tool, dict) else {"name": tool.name, "description": tool.description}


def _of_langchain(messages: Any) -> Any:
    return [
        {"class": type(message).__name__, **message.model_dump(exclude_defaults=True)}
        for message in messages
    ]


_VARYING = ("timestamp", "kind", "identifier", "content_file_digests")
"""The keys of Pydantic AI that say nothing of a prompt."""


def _of_pydantic_ai(messages: Any) -> Any:
    adapter = import_module("pydantic_ai.messages").ModelMessagesTypeAdapter
    dumped = adapter.dump_python([*messages], mode="json", exclude_defaults=True)
    return [_without(message, *_VARYING) for message in dumped]


def _without(value: Any, *keys: str) -> Any:
    if isinstance(value, dict):
        return {key: _without(item, *keys) for key, item in value.items() if key not in keys}
    return [_without(item, *keys) for item in value] if isinstance(value, list) else value


def _of_mcp(result: Any) -> Any:
    return result.model_dump(mode="json", exclude_none=True)


_DUMPS: Mapping[str, Callable[[Any], Any]] = {
    "langchain": _of_langchain,
    "mcp": _of_mcp,
    "pydantic_ai": _of_pydantic_ai,
}
