"""Every target there is: what is known of it, how its payloads are checked and sent, and read."""

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import attrs
import pytest

from promptdsl import ChatTemplate, Loss, Message, ModelFacts, Prompt
from tests.internals import TARGETS, facts_for
from tests.providers.bedrock_check import bedrock_rules, check_bedrock
from tests.providers.chat_template_check import TEMPLATES, check_chat_template
from tests.providers.gemini_check import check_gemini, gemini_rules, normal
from tests.providers.openai_responses_check import check_openai_responses, openai_responses_rules
from tests.providers.recorder import Clients
from tests.providers.sdk_check import (
    anthropic_rules,
    check_anthropic,
    check_openai,
    openai_rules,
)


class Service(NamedTuple):
    """What a service takes: its rules; with its SDK's types, too; and sending with its client.

    ``body`` is what a client has to send of a payload.
    """

    rules: Callable[[Any, ModelFacts], None]
    check: Callable[[Any, ModelFacts], None]
    send: Callable[[Clients, Any], Any] | None = None
    sdk: str | None = None
    body: Callable[[Any], Any] = dict


def _of_openai(payload: Any) -> Any:
    return {"model": "gpt-5.6-sol", **payload}


CHAT = Service(
    lambda payload, _: openai_rules(payload),
    lambda payload, _: check_openai(payload),
    Clients.openai,
    "openai",
    _of_openai,
)
SERVICES: Mapping[str, Service] = {
    "openai": CHAT,
    "openai_compatible": CHAT,
    "openai_responses": Service(
        *(openai_responses_rules, check_openai_responses, Clients.openai_responses),
        *("openai", _of_openai),
    ),
    "anthropic": Service(
        *(anthropic_rules, check_anthropic, Clients.anthropic, "anthropic"),
        lambda payload: {"model": "claude-opus-5-5", "max_tokens": 1, **payload},
    ),
    "gemini": Service(gemini_rules, check_gemini, Clients.gemini, "google.genai", normal),
    "bedrock": Service(
        *(bedrock_rules, check_bedrock, Clients.bedrock, "boto3"),
        lambda payload: json.loads(as_wire(payload)),
    ),
    "chat_template": Service(check_chat_template, check_chat_template),
}

_CLAUDE_ON_BEDROCK = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
FACTS: Mapping[str, ModelFacts] = {
    "gpt-5.6-sol": facts_for("gpt-5.6-sol", None),
    "gpt-5": facts_for("gpt-5", None),
    "gpt-3.5-turbo": facts_for("gpt-3.5-turbo", None),
    "o1-mini": facts_for("o1-mini", None),
    "openai": facts_for(None, "openai"),
    "openai_compatible": facts_for(None, "openai_compatible"),
    "responses": facts_for(None, "openai_responses"),
    "responses gpt-5.6-sol": facts_for("gpt-5.6-sol", "openai_responses"),
    "claude-opus-5-5": facts_for("claude-opus-5-5", None),
    "claude-opus-5": facts_for("claude-opus-5", None),
    "claude-opus-4-7": facts_for("claude-opus-4-7", None),
    "claude-opus-4-5": facts_for("claude-opus-4-5", None),
    "anthropic": facts_for(None, "anthropic"),
    "gemini-3.1-pro": facts_for("gemini-3.1-pro", None),
    "gemini-2.5-pro": facts_for("gemini-2.5-pro", None),
    "gemini": facts_for(None, "gemini"),
    "bedrock claude": facts_for(_CLAUDE_ON_BEDROCK, "bedrock"),
    "bedrock nova": facts_for("amazon.nova-lite-v1:0", None),
    "bedrock pixtral": facts_for("us.mistral.pixtral-large-2502-v1:0", "bedrock"),
    "bedrock": facts_for(None, "bedrock"),
    "chat_template": facts_for(None, "chat_template"),
    **{
        f"template {name}": attrs.evolve(
            facts_for(None, "chat_template"), template=ChatTemplate.of(template)
        )
        for name, template in TEMPLATES.items()
    },
}
"""By name, what is known of a target."""

_CLAUDE = ModelFacts(
    provider="anthropic",
    media=("image", "document"),
    result_media=("image", "document"),
    cache_marks=True,
)
_GEMINI = ModelFacts(provider="gemini", result_media=("image", "document"), schema_output=True)
_NOVA = ModelFacts(
    provider="bedrock",
    model="us.amazon.nova-pro-v1:0",
    cache_marks=True,
    schema_output=True,
    media=("image", "audio", "document", "video"),
    result_media=("image", "document"),
)
_ON_BEDROCK = attrs.evolve(_NOVA, model="us.anthropic.claude-opus-5-5", prefill=True)
MADE_FACTS: Mapping[str, ModelFacts] = {
    "anthropic instructed": attrs.evolve(_CLAUDE, instructions=True),
    "anthropic binding": attrs.evolve(_CLAUDE, instructions=True, binds_reasoning=True),
    "anthropic prefilled": attrs.evolve(_CLAUDE, prefill=True),
    "anthropic bare": attrs.evolve(_CLAUDE, cache_marks=False),
    "gemini signing": attrs.evolve(_GEMINI, signatures=True, forced_tools=True),
    "gemini continuing": attrs.evolve(_GEMINI, signatures=True, prefill=True),
    "gemini older": attrs.evolve(_GEMINI, result_media=(), prefill=True),
    "gemini bare": ModelFacts(provider="gemini"),
    "bedrock able": _NOVA,
    "bedrock able claude": _ON_BEDROCK,
    "bedrock strict": attrs.evolve(
        _ON_BEDROCK,
        result_media=(),
        beside_results=(),
        s3_media=False,
        signed_reasoning=False,
        tool_schemas="nova_tools",
    ),
    "bedrock binding": attrs.evolve(_ON_BEDROCK, binds_reasoning=True, forced_tools=False),
    "openai marking": attrs.evolve(facts_for(None, "openai"), cache_marks=True),
    "responses older": attrs.evolve(facts_for(None, "openai_responses"), instructions=False),
    "responses o1-mini": facts_for("o1-mini", "openai_responses"),
    "responses bare": ModelFacts(provider="openai_responses", forced_tools=False),
}
"""Abilities in other combinations than those of any model that is named above."""


def write(prompt: Prompt, facts: ModelFacts) -> tuple[Any, tuple[Loss, ...]]:
    """Return what the adapter of a target writes."""
    return TARGETS[str(facts.provider)].write(prompt, facts)


def read(payload: object, facts: ModelFacts) -> Prompt:
    """Return what the adapter of a target reads."""
    return TARGETS[str(facts.provider)].read(payload)


def check(payload: Any, facts: ModelFacts) -> None:
    """Raise for a payload that the types of the SDK or the rules of the service refuse."""
    SERVICES[str(facts.provider)].check(payload, facts)


def check_rules(payload: Any, facts: ModelFacts) -> None:
    """Raise for a payload that the rules of the service refuse; this needs no SDK."""
    SERVICES[str(facts.provider)].rules(payload, facts)


OF_A_CONVERSATION = ("the model speaks first", "there are no tools")


def lost_of(*messages: Message, facts: ModelFacts) -> list[tuple[str, str]]:
    """Return kind and subject of every loss, but the hints about a conversation as a whole."""
    losses = write(Prompt(messages), facts)[1]
    return [(loss.kind, loss.what) for loss in losses if loss.what not in OF_A_CONVERSATION]


def as_wire(payload: object) -> bytes:
    """Return a payload as strict JSON in UTF-8; bytes, as boto3 sends them, in base64."""
    return json.dumps(
        payload,
        default=lambda data: base64.b64encode(data).decode(),
        ensure_ascii=False,
        allow_nan=False,
    ).encode()


def needing_sdk(provider: str, *values: Any) -> Any:
    """Return the values of one case, marked with the SDK of its provider, if there is one."""
    sdk = SERVICES[provider].sdk
    return pytest.param(*values, marks=[pytest.mark.sdk(sdk)] if sdk else [])


def every_check_of(*providers: str) -> pytest.MarkDecorator:
    """Return the checks of providers: by their rules, and by the types of their SDKs, too."""
    needed = sorted({sdk for name in providers if (sdk := SERVICES[name].sdk)})
    types = pytest.param(check, id="types", marks=pytest.mark.sdk(*needed))
    return pytest.mark.parametrize("check", [pytest.param(check_rules, id="rules"), types])


def strings_in(value: object) -> Iterator[str]:
    """Yield every string of a payload, keys aside, in order."""
    unvisited = [value]
    while unvisited:
        item = unvisited.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            unvisited += reversed([*item.values()])
        elif isinstance(item, list | tuple):
            unvisited += reversed(item)
