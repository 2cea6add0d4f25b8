"""Every target there is: what is known of it, how its payloads are checked and sent, and read."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import attrs

from promptdsl import ChatTemplate, Loss, ModelFacts, Prompt
from tests.adapters.bedrock_check import check_bedrock, send_bedrock
from tests.adapters.chat_template_check import TEMPLATES, check_chat_template
from tests.adapters.gemini_check import check_gemini, send_gemini
from tests.adapters.openai_responses_check import check_openai_responses, send_openai_responses
from tests.adapters.recorder import send_anthropic, send_openai
from tests.adapters.sdk_check import check_anthropic, check_openai
from tests.internals import TARGETS, facts_for


class Service(NamedTuple):
    """What a service takes: a check that raises, and sending with its client, if there is one."""

    check: Callable[[Any, ModelFacts], None]
    send: Callable[[Any], Any] | None


SERVICES: Mapping[str, Service] = {
    "openai": Service(lambda payload, _: check_openai(payload), send_openai),
    "openai_compatible": Service(lambda payload, _: check_openai(payload), send_openai),
    "openai_responses": Service(check_openai_responses, send_openai_responses),
    "anthropic": Service(check_anthropic, send_anthropic),
    "gemini": Service(check_gemini, send_gemini),
    "bedrock": Service(check_bedrock, send_bedrock),
    "chat_template": Service(check_chat_template, None),
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


def write(prompt: Prompt, facts: ModelFacts) -> tuple[Any, tuple[Loss, ...]]:
    """Return what the adapter of a target writes."""
    return TARGETS[str(facts.provider)].adapter.write(prompt, facts)


def read(payload: object, facts: ModelFacts) -> Prompt:
    """Return what the adapter of a target reads."""
    return TARGETS[str(facts.provider)].adapter.read(payload)


def check(payload: Any, facts: ModelFacts) -> None:
    """Raise for a payload the service of a target does not take."""
    SERVICES[str(facts.provider)].check(payload, facts)


def as_json(payload: object) -> str:
    """Return a payload as text; bytes, which boto3 takes, as their repr."""
    return json.dumps(payload, default=repr)


def strings_in(value: object) -> Iterator[str]:
    """Yield every string of a payload, keys aside, in order."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            waiting += reversed([*item.values()])
        elif isinstance(item, list | tuple):
            waiting += reversed(item)
