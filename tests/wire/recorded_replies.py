"""What a recorded reply says, read from its raw JSON by nothing of promptdsl: an oracle."""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Json = Any  # Any: the JSON of a provider


class Call(NamedTuple):
    """A call of a tool of the client, with its arguments as data; an id may be empty."""

    id: str
    name: str
    arguments: Json


def _arguments(text: Json) -> Json:
    """Return arguments as data; a text that is no JSON object stays a text."""
    if not isinstance(text, str):
        return text or {}
    try:
        return json.loads(text) if text.strip() else {}
    except ValueError:
        return text


def answer_of(provider: str, reply: Json) -> Json:
    """Return the message, the content or the items of the model in a reply."""
    if provider.startswith("openai_responses"):
        return reply["output"]
    if provider.startswith("openai"):
        return reply["choices"][0]["message"]
    if provider == "gemini":
        return (reply.get("candidates") or [{}])[0].get("content") or {}
    return reply["output"]["message"] if provider == "bedrock" else reply


def calls_of(provider: str, reply: Json) -> list[Call]:
    """Return the calls of the client's tools in a reply."""
    answer = answer_of(provider, reply)
    if provider == "openai_responses":
        return [
            Call(
                item["call_id"], item["name"], _arguments(item.get("arguments", item.get("input")))
            )
            for item in answer
            if item["type"] in ("function_call", "custom_tool_call")
        ]
    if provider.startswith("openai"):
        functions = [(item.get("id"), item["function"]) for item in answer.get("tool_calls") or ()]
        return [Call(id or "", f["name"], _arguments(f.get("arguments"))) for id, f in functions]
    if provider == "gemini":
        calls = [part["functionCall"] for part in answer.get("parts", ()) if "functionCall" in part]
        return [Call(item.get("id", ""), item["name"], item.get("args") or {}) for item in calls]
    if provider == "bedrock":
        uses = [part["toolUse"] for part in answer["content"] if "toolUse" in part]
        mine = [use for use in uses if use.get("type") != "server_tool_use"]
        return [Call(use["toolUseId"], use["name"], use.get("input") or {}) for use in mine]
    uses = [block for block in answer["content"] if block["type"] == "tool_use"]
    return [Call(use["id"], use["name"], use["input"]) for use in uses]


def usage_of(provider: str, reply: Json) -> tuple[int, int] | None:
    """Return the tokens that were read and written, as the provider counts them."""
    counts = reply.get("usageMetadata" if provider == "gemini" else "usage")
    if not counts:
        return None

    def total(*names: str) -> int:
        return sum(counts.get(name) or 0 for name in names)

    if provider == "openai_responses":
        return total("input_tokens"), total("output_tokens")
    if provider.startswith("openai"):
        return total("prompt_tokens"), total("completion_tokens")
    if provider == "gemini":
        read = total("promptTokenCount", "toolUsePromptTokenCount")
        return read, total("candidatesTokenCount", "thoughtsTokenCount")
    if provider == "bedrock":
        read = total("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
        return read, total("outputTokens")
    compacted = [step for step in counts.get("iterations") or () if step["type"] == "compaction"]
    read = total("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    read += sum(step["input_tokens"] for step in compacted)
    return read, total("output_tokens") + sum(step["output_tokens"] for step in compacted)


def leaves(value: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Json]]:
    """Yield each value in JSON that is no list and no object, with the keys on the way to it."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from leaves(inner, (*path, str(key)))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner, path)
    else:
        yield path, value


# Streams.


def events_of(row: Json) -> list[Json]:
    """Return the events of a stream that was recorded as text, or as bytes."""
    recorded = row["reply"]
    if isinstance(recorded, Mapping):
        from botocore.eventstream import EventStreamBuffer

        buffer = EventStreamBuffer()
        buffer.add_data(base64.b64decode(recorded["base64"]))
        return [{event.headers[":event-type"]: json.loads(event.payload)} for event in buffer]
    lines = [line[5:].strip() for line in recorded.splitlines() if line.startswith("data:")]
    return [json.loads(line) for line in lines if line and line != "[DONE]"]


def merged(provider: str, events: list[Json]) -> Json:
    """Return the reply that the events of a stream make."""
    if provider == "anthropic":
        from anthropic._models import construct_type
        from anthropic.lib.streaming._beta_messages import accumulate_event
        from anthropic.types.beta import BetaRawMessageStreamEvent

        snapshot: Any = None
        buffers: Any = {}
        for event in events:
            if event["type"] == "ping":
                continue
            snapshot = accumulate_event(
                event=construct_type(type_=BetaRawMessageStreamEvent, value=event),  # type: ignore[arg-type]
                current_snapshot=snapshot,
                request_headers={},  # type: ignore[arg-type]
                json_bufs=buffers,
            )
        return snapshot.to_dict()
    if provider == "openai_responses":
        ends = ("response.completed", "response.incomplete")
        return next(event["response"] for event in events if event["type"] in ends)
    return {"bedrock": _converse, "gemini": _gemini}.get(provider, _chat)(events)


def _chat(events: list[Json]) -> Json:
    message: Json = {"content": "", "tool_calls": []}
    reply: Json = {"choices": [{"message": message}]}
    calls: dict[Json, Json] = {}
    for event in events:
        reply["usage"] = event.get("usage") or reply.get("usage")
        for choice in event.get("choices") or ():
            delta = choice.get("delta") or {}
            for key, value in delta.items():
                if isinstance(value, str) and key != "role":
                    value_so_far = message.get(key) or ""
                    message[key] = (
                        [*value_so_far, value]
                        if isinstance(value_so_far, list)
                        else value_so_far + value
                    )
                elif isinstance(value, list) and key != "tool_calls":
                    value_so_far = message.get(key) or []
                    message[key] = [
                        *([value_so_far] if isinstance(value_so_far, str) else value_so_far),
                        *value,
                    ]
            for call in delta.get("tool_calls") or ():
                value_so_far = calls.setdefault(
                    call["index"], {"function": {"name": "", "arguments": ""}}
                )
                value_so_far["id"] = value_so_far.get("id") or call.get("id")
                for key in ("name", "arguments"):
                    value_so_far["function"][key] += (call.get("function") or {}).get(key) or ""
    message["tool_calls"] = [*calls.values()]
    return reply


def _gemini(events: list[Json]) -> Json:
    parts = [
        part
        for event in events
        for candidate in event.get("candidates") or ()
        for part in (candidate.get("content") or {}).get("parts") or ()
    ]
    counts = [event["usageMetadata"] for event in events if "usageMetadata" in event]
    return {"candidates": [{"content": {"parts": parts}}], "usageMetadata": counts[-1]}


def _converse(events: list[Json]) -> Json:
    blocks: dict[int, Json] = {}
    reply: Json = {}
    for event in events:
        ((kind, data),) = event.items()
        reply |= {"usage": data["usage"]} if kind == "metadata" else {}
        for delta in (data.get("start"), data.get("delta")):
            block = blocks.setdefault(data.get("contentBlockIndex", -1), {})
            for key, value in (delta or {}).items():
                if isinstance(value, str):
                    block[key] = block.get(key, "") + value
                elif isinstance(value, list):  # the content of a result
                    block[key].setdefault("content", []).extend(value)
                elif key == "citation":
                    block.setdefault(key, []).append(value)
                else:
                    value_so_far = block.setdefault(key, {})
                    for name, text in value.items():
                        value_so_far[name] = value_so_far.get(name, "") + text
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = _arguments(block["toolUse"].get("input", ""))
    content = [block for number, block in blocks.items() if number >= 0]
    return {"output": {"message": {"content": content}}, **reply}
