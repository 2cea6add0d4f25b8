"""Lines of requests: each is what the batch service of its provider takes."""

import json
import re
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast, get_args, get_type_hints

import pytest

from promptdsl import Prompt, render
from tests.internals import RowRenderer, facts_for, services
from tests.providers.bedrock_check import check_bedrock
from tests.providers.conversations import PROMPTS

Json = dict[str, Any]
MODELS = {
    "openai": "gpt-5",
    "openai_responses": "gpt-5",
    "openai_compatible": "Qwen/Qwen3-8B",
    "anthropic": "claude-opus-5-5",
    "gemini": "gemini-3.1-pro",
    "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
}


def say(name: str) -> Prompt:
    """Return a conversation of the table."""
    return PROMPTS[name]


def renderer(provider: str) -> RowRenderer:
    """Return the renderer of conversations for a provider."""
    extra = {"max_tokens": 9} if provider == "anthropic" else None
    return RowRenderer(say, format=provider, model=MODELS[provider], extra=extra)


def lines(provider: str, names: Iterable[str] = PROMPTS) -> dict[str, Json]:
    """Return the lines of the requests of conversations, by their names."""
    render = renderer(provider)
    results = render([{"name": name} for name in names])
    requests = [(result.row.cells["name"], result.body) for result in results if not result.problem]
    return {name: json.loads(render.service.line_of("r1", body)) for name, body in requests}


def check_types(type: Any, values: Mapping[str, Any]) -> None:
    """Raise for a value that a type of an SDK refuses, keys that it does not know among them."""
    from pydantic import ConfigDict, TypeAdapter

    adapter = TypeAdapter(list[type], config=ConfigDict(extra="forbid", strict=True))
    # The types have lazy lists: what is in them is checked when it is walked.
    waiting: list[object] = [adapter.validate_python([*values.values()])]
    while waiting:
        item = waiting.pop()
        is_list = hasattr(item, "__iter__") and not isinstance(item, str)
        waiting += cast("Json", item).values() if isinstance(item, dict) else ()
        waiting += cast("list[Any]", item) if is_list and not isinstance(item, dict) else ()


LIMITS = {
    "openai": (50_000, 200_000_000, 0),
    "openai_responses": (50_000, 200_000_000, 0),
    "openai_compatible": (50_000, 200_000_000, 0),
    "anthropic": (100_000, 256_000_000, 0),
    "gemini": (0, 2_000_000_000, 0),
    "bedrock": (50_000, 1_000_000_000, 100),
    "messages": (0, 0, 0),
}


def test_limits() -> None:
    """The most requests and bytes of a file, and the fewest requests of a job."""
    found = {name: (it.requests, it.most_bytes, it.fewest) for name, it in services().items()}
    assert LIMITS == found


def test_keys() -> None:
    """A line has the keys that the service reads, and no other."""
    prompt = {
        name: render(PROMPTS["one question"], provider=name, model=model).payload()
        for name, model in MODELS.items()
    }
    chat = {"custom_id": "r1", "method": "POST", "url": "/v1/chat/completions"}
    found = {name: lines(name, ["one question"])["one question"] for name in MODELS}
    assert {
        "openai": {**chat, "body": {"model": "gpt-5", **prompt["openai"]}},
        "openai_responses": {
            **chat,
            "url": "/v1/responses",
            "body": {"model": "gpt-5", **prompt["openai_responses"]},
        },
        "openai_compatible": {
            **chat,
            "body": {"model": "Qwen/Qwen3-8B", **prompt["openai_compatible"]},
        },
        "anthropic": {
            "custom_id": "r1",
            "params": {"model": "claude-opus-5-5", "max_tokens": 9, **prompt["anthropic"]},
        },
        "gemini": {"key": "r1", "request": {"contents": prompt["gemini"]["contents"]}},
        "bedrock": {"recordId": "r1", "modelInput": prompt["bedrock"]},
    } == found


VLLM_LINE = {"custom_id", "method", "url", "body"}
VLLM_BODY = {
    *("messages", "model", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs"),
    *("max_tokens", "max_completion_tokens", "n", "presence_penalty", "response_format", "seed"),
    *("stop", "stream", "stream_options", "temperature", "top_p", "tools", "tool_choice"),
    *("reasoning_effort", "include_reasoning", "parallel_tool_calls", "user", "documents"),
}
"""Fields of ``BatchRequestInput`` (vllm/entrypoints/openai/run_batch.py) and, without those for
sampling and for its own purposes, of ``ChatCompletionRequest``
(vllm/entrypoints/openai/chat_completion/protocol.py) in vLLM, commits 0056ae7b and 002032ee of
2026. Other keys are taken there with no more than a warning, and do nothing."""


def test_vllm() -> None:
    """The lines for servers of open models have no key that vLLM does not know."""
    found = lines("openai_compatible").values()
    assert VLLM_LINE == {key for line in found for key in line}
    assert VLLM_BODY >= {key for line in found for key in line["body"]}
    assert {"POST /v1/chat/completions"} == {f"{line['method']} {line['url']}" for line in found}


KNOWN = PROMPTS.keys() - {"unknown blocks", "a foreign tool", "only a foreign tool"}
"""Conversations without what no type knows: that is sent as it came."""
SENT = PROMPTS.keys() - {"nothing", "only system"}
"""Conversations that have a turn of the user, without which some services take nothing."""


@pytest.mark.sdk("openai")
@pytest.mark.parametrize("provider", ["openai", "openai_responses"])
def test_openai(provider: str) -> None:
    """Endpoint and body are of the types of the SDK."""
    from openai.types import BatchCreateParams
    from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
    from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming

    found = lines(provider, KNOWN)
    assert {line["url"] for line in found.values()} <= {
        *get_args(get_args(get_type_hints(BatchCreateParams, include_extras=True)["endpoint"])[0])
    }
    types = {
        "openai": CompletionCreateParamsNonStreaming,
        "openai_responses": ResponseCreateParamsNonStreaming,
    }
    check_types(types[provider], {name: line["body"] for name, line in found.items()})


@pytest.mark.sdk("anthropic")
def test_anthropic() -> None:
    """A line is one of the requests of a batch."""
    from anthropic.types.messages.batch_create_params import Request

    check_types(Request, lines("anthropic", KNOWN))


@pytest.mark.sdk("google.genai")
def test_gemini() -> None:
    """A request is what the client itself makes of the arguments of ``generate_content``."""
    from google import genai
    from google.genai import _common, models, types

    client: Any = genai.Client(api_key="test")
    convert: Callable[..., Json] = vars(models)["_GenerateContentParameters_to_mldev"]
    arguments: Any = vars(types)["_GenerateContentParameters"]

    def requests(name: str) -> Any:
        payload = render(PROMPTS[name], provider="gemini", model=MODELS["gemini"]).payload()
        request = convert(client._api_client, arguments(model="any", **payload))
        encoded = _common.encode_unserializable_types(_common.convert_to_dict(request))
        unset = ("_url", *(key for key in encoded if not encoded[key]))
        return camel({key: value for key, value in encoded.items() if key not in unset})

    found = lines("gemini", SENT)
    assert {name: requests(name) for name in found} == {
        name: camel(line["request"]) for name, line in found.items()
    }


URL_SAFE = str.maketrans("+/", "-_")


def camel(value: Any) -> Any:
    """Return JSON with keys in camel case, and bytes in the alphabet of base64 for addresses."""
    if isinstance(value, dict):
        entries = {key: camel(it) for key, it in cast("Json", value).items()}
        entries |= {"data": entries["data"].translate(URL_SAFE)} if "data" in entries else {}
        return {re.sub("_([a-z])", lambda it: it[1].upper(), key): entries[key] for key in entries}
    return [*map(camel, value)] if isinstance(value, list) else value


@pytest.mark.sdk("boto3")
def test_bedrock() -> None:
    """A record is the body of Converse, whose bytes are base64."""
    facts = facts_for(MODELS["bedrock"], "bedrock")
    found = lines("bedrock", SENT)
    for line in found.values():
        check_bedrock(json.loads(json.dumps(line["modelInput"]), object_hook=_with_bytes), facts)
    assert any("bytes" in json.dumps(line) for line in found.values())


def _with_bytes(entries: Json) -> Json:
    return {key: b64decode(it) if key == "bytes" else it for key, it in entries.items()}


def test_bedrock_takes_no_tools() -> None:
    """A job of Converse fails for every record with tools: no such record is written."""
    [result] = renderer("bedrock")([{"name": "a tool"}])
    problem = "the batch service of bedrock does not accept tools (toolConfig)"
    assert (problem, "") == (result.problem.what, result.body)
