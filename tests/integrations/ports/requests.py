"""The requests that are compared: as LiteLLM makes them for Anthropic, and as they are written."""

import json
import os
from collections.abc import Mapping
from copy import deepcopy
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeAlias

import pytest

from promptdsl import Rendered
from promptdsl.integrations.litellm import to_litellm

Body: TypeAlias = dict[str, Any]

CLAUDE = "claude-opus-4-5"


def as_json(data: object) -> Any:
    """Return data as it is sent, with tuples as lists."""
    return json.loads(json.dumps(data))


def through_litellm(asked: Mapping[str, Any]) -> Body:
    """Return what LiteLLM sends to Anthropic when its ``completion`` is asked for something."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    config = pytest.importorskip("litellm").AnthropicConfig()
    asked = deepcopy(dict(asked))
    params: Body = {}
    given = {name: asked[name] for name in ("tools", "tool_choice") if asked.get(name)}
    config.map_openai_params(given, params, CLAUDE, drop_params=False)
    return _alike(config.transform_request(CLAUDE, asked["messages"], params, {}, {}))


def of_litellm(rendered: Rendered) -> Body:
    """Return what LiteLLM sends to Anthropic for a prompt of ours."""
    bridged = to_litellm(rendered)
    asked = {"messages": bridged.messages, "tools": [*bridged.tools]}
    return through_litellm({**asked, "tool_choice": rendered.tool_choice})


def of_anthropic(rendered: Rendered) -> Body:
    """Return what is sent for a prompt of ours without LiteLLM."""
    return _alike(rendered.to_anthropic())


def _alike(body: Mapping[str, Any]) -> Body:
    """Return a body in one form: a string in a result is a list of one text, as it is for Claude.

    LiteLLM joins neighbouring turns of one role, which Claude reads alike. The model, its limit of
    tokens, and the type that LiteLLM gives to tools are left out.
    """
    copy: Body = as_json(body)
    for block in (block for message in copy["messages"] for block in message["content"]):
        if isinstance(block.get("content"), str):
            block["content"] = [{"type": "text", "text": block["content"]}]
    copy["messages"] = [
        {"role": role, "content": [block for turn in turns for block in turn["content"]]}
        for role, turns in groupby(copy["messages"], itemgetter("role"))
    ]
    for described in copy.get("tools", ()):
        described.pop("type", None)
    return {name: value for name, value in copy.items() if name not in ("model", "max_tokens")}
