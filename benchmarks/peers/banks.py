"""banks: one template with chat blocks, compiled once, rendered without its cache."""

from typing import Any

from banks import Prompt

from benchmarks import handwritten
from benchmarks.peers import plain
from benchmarks.prompt import Data

NAME = "banks"
PACKAGE = "banks"
NOTE = "no tool calls or results: sent as plain text"


class NoCache:
    """A render cache that remembers nothing, so that every build renders."""

    def get(self, context: dict[str, Any]) -> None:
        """Return nothing."""

    def set(self, context: dict[str, Any], prompt: str) -> None:
        """Do nothing."""

    def clear(self) -> None:
        """Do nothing."""


TEMPLATE = """\
{% chat role="system" %}
{% for section in data.sections %}
## {{ section.title }}
{{ section.text }}{{ "\n" }}
{% endfor %}
{% endchat %}
{% for exchange in data.exchanges %}
{% chat role="user" %}{{ exchange.question }}{% endchat %}
{% if exchange.call %}
{% chat role="assistant" %}{{ exchange.call.name }}({{ exchange.call.arguments }}){% endchat %}
{% chat role="user" %}{{ exchange.call.result }}{% endchat %}
{% endif %}
{% chat role="assistant" %}{{ exchange.answer }}{% endchat %}
{% endfor %}
{% chat role="user" %}{{ data.question }}{{ data.image_url | image }}{% endchat %}
"""
PROMPT = Prompt(TEMPLATE, render_cache=NoCache())


def build(data: Data) -> list[dict[str, Any]]:
    """Return the messages of a Chat Completions request, calls and results as text."""
    messages = PROMPT.chat_messages({"data": data})
    return [message.model_dump(exclude_none=True) for message in messages]


def check(data: Data) -> bool:
    """Return whether the result says the same as the hand-written one, tool messages as text."""
    wanted = [plain(_without_tools(message)) for message in handwritten.build(data)]
    return [plain(message) for message in build(data)] == wanted


def _without_tools(message: dict[str, Any]) -> dict[str, Any]:
    if "tool_calls" in message:
        function = message["tool_calls"][0]["function"]
        return {"role": "assistant", "content": "{name}({arguments})".format(**function)}
    role = "user" if message["role"] == "tool" else message["role"]
    return {"role": role, "content": message["content"]}
