"""The tables: what LiteLLM gets of a prompt, and what is read of its messages."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from promptdsl import *
from promptdsl.integrations import Converted
from promptdsl.integrations.litellm import from_litellm, to_litellm
from promptdsl.integrations.openai_agents import from_openai_agents, to_openai_agents
from tests.providers.pairs.prompts import FILES
from tests.providers.pairs.tables import loss_line
from tests.providers.wire_tables.tables import as_json, message_data
from tests.renders import reported

FOLDER = Path(__file__).parent

MODELS = {
    "no target": {},
    "openai": {"model": "gpt-5.6-sol"},
    "anthropic": {"model": "claude-opus-5"},
    "anthropic, claude-opus-5-5": {"model": "claude-opus-5-5"},
    "gemini": {"model": "gemini-3.1-pro"},
    "mistral": {"model": "magistral-medium-latest", "provider": "mistral"},
    "bedrock": {
        "model": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "provider": "bedrock",
    },
}
"""What a prompt is rendered for before it goes to LiteLLM."""

SENT = {
    "ids: names that are mended alike": ("no target", "openai", "mistral"),
    "ids: ids that are mended alike": ("openai", "anthropic"),
    "marks: more marks than are kept": ("openai", "anthropic", "gemini"),
    "marks: marks of results and of files in them": ("anthropic", "bedrock"),
    "roles: instructions at every place": ("no target", "openai", "anthropic", "gemini"),
    "roles: the model speaks first, and two speakers": ("anthropic", "mistral"),
    "roles: a request whose texts stay apart": ("openai", "anthropic", "gemini"),
    "errors: results of every form": ("openai", "anthropic", "gemini"),
    "media: files of results": ("anthropic", "gemini", "bedrock"),
    "media: files of many sources": ("no target", "gemini"),
    "thoughts: reasoning of each provider, twice": (*MODELS,),
    "thoughts: reasoning before and after request-only text": (
        *("anthropic", "anthropic, claude-opus-5-5", "bedrock"),
    ),
    "thoughts: reasoning of servers of Chat": ("no target", "openai"),
    "thoughts: signatures of Gemini under other keys": ("no target", "gemini", "anthropic"),
    "unknown: further keys of two blocks": ("openai", "anthropic"),
    "tools: strict tools": ("openai", "anthropic"),
}
"""The prompts that go to LiteLLM, and for which models."""


@cache
def table(name: str) -> Any:
    """Return the content of a file."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def sent(id: str) -> dict[str, Any]:
    """Return what LiteLLM gets of a prompt, by the models that get the same."""
    file, _, name = id.partition(": ")
    pair = FILES[file][name]
    groups: dict[str, list[str]] = {}
    for model in SENT[id]:
        rendered = render(pair.prompt(), **MODELS[model], **pair.options)
        groups.setdefault(json.dumps(_bridged(to_litellm(rendered))), []).append(model)
    return {" = ".join(models): json.loads(value) for value, models in groups.items()}


def _bridged(bridged: Converted[Any]) -> dict[str, Any]:
    tools = {"tools": as_json(bridged.tools)} if bridged.tools else {}
    shown_text = [*map(loss_line, reported(bridged))]
    return {"messages": as_json(bridged.messages), **tools, "told": shown_text}


def read_litellm(given: Any, origin: str | None) -> dict[str, Any]:
    """Return what is read of LiteLLM's messages, and what goes back where it is other."""
    try:
        bridged = from_litellm(given, origin=origin)
    except PromptError as error:
        return {"refused": error.what, "fix": error.fix}
    return {**_read(bridged), **_again(given, bridged, origin)}


def _read(bridged: Converted[tuple[Message, ...]]) -> dict[str, Any]:
    shown_text = [*map(loss_line, reported(bridged))]
    read = [message_data(message) for message in bridged.messages]
    return {"read": read, **({"told": shown_text} if shown_text else {})}


def _again(
    given: Any, bridged: Converted[tuple[Message, ...]], origin: str | None
) -> dict[str, Any]:
    kept: Any = {**AS_WRITTEN, "tool_pairing": "keep"}
    rendered = render(Prompt(bridged.messages), provider=origin, transformation=kept)
    back = _bridged(to_litellm(rendered))
    return {} if back["messages"] == given else {"again": back}


def read_items(given: Any, instructions: str | None) -> dict[str, Any]:
    """Return what is read of items of the Agents SDK, and what goes back where it is other."""
    bridged = from_openai_agents(given, instructions=instructions)
    kept: Any = {**AS_WRITTEN, "tool_pairing": "keep"}
    rendered = render(Prompt(bridged.messages), transformation=kept)
    back = _bridged(to_openai_agents(rendered))
    return {**_read(bridged), **({} if back["messages"] == given else {"again": back})}
