"""Converse payloads checked offline: by botocore's service model, then by what no model states.

botocore's validator refuses unknown and missing keys, wrong types and unions of two members. The
enumerations, patterns and lengths of its model it skips: they are read from it here.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from promptdsl import ModelFacts

TOP_LEVEL = {"system", "messages", "toolConfig", "outputConfig"}
MOST_MARKS = 4
MOST = {"image": 20, "document": 5}
LARGEST = {"image": 3.75 * 2**20, "document": 4.5 * 2**20, "video": 25 * 2**20 * 3 / 4}
USER = {"image", "document", "video", "audio", "toolResult"}
ASSISTANT = {"toolUse", "reasoningContent", "citationsContent"}
BOTH = {"text", "cachePoint", "guardContent", "searchResult"}


@cache
def _shape() -> Any:
    from botocore.session import get_session

    model = get_session().get_service_model("bedrock-runtime")
    return model.operation_model("Converse").input_shape


def check_bedrock(payload: Mapping[str, Any], facts: ModelFacts) -> None:
    """Check the arguments of ``client.converse``, model and settings aside.

    Raises :class:`AssertionError` for what the service model or the service is known to refuse.
    ``facts`` says whether the model takes marks and forced calls, and continues an answer.
    """
    from botocore.validate import ParamValidator

    request = {"modelId": "any", **payload}
    report = ParamValidator().validate(request, _shape())
    assert not report.has_errors(), report.generate_report()
    check_model(request)
    bedrock_rules(payload, facts)


def bedrock_rules(payload: Mapping[str, Any], facts: ModelFacts) -> None:
    """Check what the service is known to refuse beyond its model; this needs no SDK."""
    assert set(payload) <= TOP_LEVEL, f"unknown keys {set(payload) - TOP_LEVEL}"
    json.dumps(payload, default=repr, ensure_ascii=False, allow_nan=False).encode()
    messages = payload["messages"]
    _check_order(messages)
    for message in messages:
        _check_message(message)
    _check_pairing(messages)
    _check_settings(payload, facts)
    _check_vendor(payload, facts)
    _check_marks(payload, facts)


def check_model(request: Mapping[str, Any]) -> None:
    """Check the enumerations, patterns and lengths that botocore's validator skips."""
    unvisited: list[tuple[Any, Any, str]] = [(_shape(), request, "")]
    while unvisited:
        shape, value, path = unvisited.pop()
        _check_value(shape, value, path)
        if shape.type_name == "structure" and not shape.metadata.get("document"):
            unvisited += [(shape.members[key], value[key], f"{path}.{key}") for key in value]
        elif shape.type_name == "list":
            unvisited += [(shape.member, item, f"{path}[{n}]") for n, item in enumerate(value)]


def _check_value(shape: Any, value: Any, path: str) -> None:
    metadata = shape.metadata
    allowed, pattern = metadata.get("enum"), metadata.get("pattern")
    assert allowed is None or value in allowed, f"{path}: {value!r} is not in {allowed}"
    assert pattern is None or re.fullmatch(pattern, value), f"{path}: {value!r}"
    if shape.type_name in ("string", "blob", "list"):
        minimum, maximum = metadata.get("min", 0), metadata.get("max", len(value))
        assert minimum <= len(value) <= maximum, f"{path}: {len(value)} long"
    assert shape.type_name != "blob" or isinstance(value, bytes), f"{path}: text, not bytes"


def _check_order(messages: list[dict[str, Any]]) -> None:
    roles = [message["role"] for message in messages]
    expected = ["user", "assistant"] * len(roles)
    assert roles == expected[: len(roles)], f"turns alternate, a user's first: {roles}"


def _check_message(message: Mapping[str, Any]) -> None:
    role, content = message["role"], message["content"]
    kinds = [next(iter(block)) for block in content]
    assert kinds, "a message without content"
    assert set(kinds) <= BOTH | (USER if role == "user" else ASSISTANT), f"{kinds} in {role}"
    assert "document" not in kinds or "text" in kinds, "a document without a text beside it"
    for block in content:
        _check_block(block)
    attached = [*_attached(content)]
    for kind, limit in MOST.items():
        assert [name for name, _ in attached].count(kind) <= limit, f"more than {limit} of {kind}"
    for kind, value in attached:
        data = value["source"].get("bytes", b"")
        assert len(data) <= LARGEST.get(kind, len(data)), f"{kind} of {len(data)} bytes"


def _attached(content: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Any]]:
    for block in content:
        ((kind, value),) = block.items()
        if kind in LARGEST:
            yield kind, value
        yield from _attached(value["content"]) if kind == "toolResult" else ()


def _check_block(block: Mapping[str, Any]) -> None:
    ((kind, value),) = block.items()
    assert kind != "text" or value.strip(), "a text that is empty or white space"
    assert kind != "toolUse" or isinstance(value["input"], dict), "an input that is no object"
    if kind == "document":
        legal = re.fullmatch(r"[a-zA-Z0-9()\[\]-]+( [a-zA-Z0-9()\[\]-]+)*", value["name"])
        assert legal, f"the name {value['name']!r} of a document"
    if kind == "reasoningContent":
        content = value.get("reasoningText", {"signature": value.get("redactedContent")})
        assert content["signature"], "reasoning that is not signed"
    if kind == "toolResult":
        _check_result(value)


def _check_result(result: Mapping[str, Any]) -> None:
    content = result["content"]
    assert content, "a result without content"
    for block in content:
        _check_block(block)
        assert isinstance(block.get("json", {}), dict), "a json that is no object"
    failed = result.get("status") == "error"
    assert not failed or not {"image", "document", "video"} & {k for b in content for k in b}


def _check_pairing(messages: Iterable[Mapping[str, Any]]) -> None:
    seen, open_ids = set[str](), set[str]()
    for message in messages:
        blocks = [block for block in message["content"] if "cachePoint" not in block]
        results = [b["toolResult"]["toolUseId"] for b in blocks if "toolResult" in b]
        assert open_ids == set(results), f"calls and results differ: {open_ids ^ set(results)}"
        assert len(results) == len(open_ids), "a result twice"
        heads = ["toolResult" in block for block in blocks[: len(results)]]
        assert all(heads), "results come first in a turn"
        calls = [block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block]
        open_ids = set(calls)
        assert len(open_ids) == len(calls), "an id twice in one turn"
        assert not open_ids & seen, f"ids used before: {open_ids & seen}"
        seen |= open_ids
    assert not open_ids, f"calls without results: {open_ids}"


def _check_vendor(payload: Mapping[str, Any], facts: ModelFacts) -> None:
    """Check the facts that differ from vendor to vendor: what may be in results and beside them."""
    marks = {"cachePoint", "toolResult", *(facts.beside_results or ())}
    for message in payload["messages"]:
        kinds = {kind for block in message["content"] for kind in block}
        beside = kinds - marks if "toolResult" in kinds and facts.beside_results is not None else {}
        assert not beside, f"{beside} beside a result"
        assert facts.signed_reasoning or "reasoningContent" not in kinds, "reasoning it refuses"
        for kind, value in _attached(message["content"]):
            assert facts.s3_media or "s3Location" not in value["source"], f"{kind} in S3"
        for block in message["content"]:
            held = [*_attached(block.get("toolResult", {}).get("content", ()))]
            types_by_format = {"csv": "text/csv", "txt": "text/plain"}
            for kind, value in held:
                assert {kind, types_by_format.get(value["format"])} & {*facts.result_media}, (
                    f"{kind} inside"
                )
    if facts.tool_schemas == "nova_tools":
        specs = (tool.get("toolSpec") for tool in payload.get("toolConfig", {}).get("tools", ()))
        schemas = [spec["inputSchema"]["json"] for spec in specs if spec]
        assert "$defs" not in str(schemas), "a schema with definitions"
        allowed = {"type", "properties", "required", "additionalProperties", "title"}
        assert all(schema.keys() <= allowed for schema in schemas)


def _check_settings(payload: Mapping[str, Any], facts: ModelFacts) -> None:
    kinds = {kind for m in payload["messages"] for block in m["content"] for kind in block}
    config = payload.get("toolConfig", {})
    assert config or not {"toolUse", "toolResult"} & kinds, "calls without tools"
    tools = [*(tool for tool in config.get("tools", ()) if "cachePoint" not in tool)]
    names = [value["name"] for tool in tools for value in tool.values()]
    assert len(set(names)) == len(names), f"a tool twice: {names}"
    choice = config.get("toolChoice", {})
    assert facts.forced_tools or choice in ({}, {"auto": {}}), "this model is not to be forced"
    assert choice.get("tool", {}).get("name") in (None, *names), "a tool that there is not"
    assert "outputConfig" not in payload or facts.schema_output, "this model takes no schema"
    for tool in tools:
        schema = tool.get("toolSpec", {}).get("inputSchema", {"json": {}})["json"]
        assert isinstance(schema, dict), "a schema that is no object"
    documents = [
        v["name"]
        for m in payload["messages"]
        for k, v in _attached(m["content"])
        if k == "document"
    ]
    assert len(set(documents)) == len(documents), f"a document's name twice: {documents}"
    output_format = payload.get("outputConfig", {}).get("textFormat", {}).get("structure", {})
    assert isinstance(json.loads(output_format.get("jsonSchema", {}).get("schema", "{}")), dict)


def _check_marks(payload: Mapping[str, Any], facts: ModelFacts) -> None:
    tools = payload.get("toolConfig", {}).get("tools", [])
    contents = [message["content"] for message in payload["messages"]]
    lists: list[list[dict[str, Any]]] = [tools, payload.get("system", []), *contents]
    ttls: list[str] = []
    for blocks in lists:
        for before, block in zip([{"cachePoint": {}}, *blocks], blocks, strict=False):
            _check_mark(before, block, facts)
        ttls += [b["cachePoint"].get("ttl", "5m") for b in blocks if "cachePoint" in b]
    assert facts.cache_marks or not ttls, "this model takes no marks"
    assert len(ttls) <= MOST_MARKS, "at most four cache marks in a request"
    assert ttls == sorted(ttls), "one hour comes before five minutes"


def _check_mark(before: Mapping[str, Any], block: Mapping[str, Any], facts: ModelFacts) -> None:
    if "cachePoint" in block:
        assert "cachePoint" not in before, "a mark with nothing before it"
        assert not {"reasoningContent", "video"} & set(before), f"a mark behind {set(before)}"
        pdf = before.get("document", {}).get("format") == "pdf" and "claude" in str(facts.model)
        assert "document" not in before or pdf, "a mark behind a document"
