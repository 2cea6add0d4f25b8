"""Gemini payloads checked offline: strictly against the SDK's types, then by what no type states.

The types refuse unknown keys and wrong bytes, but any string is a role, a part may hold several
things, and an unknown enum value is only a warning, which is an error here.
"""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from pydantic import ConfigDict, TypeAdapter

from promptdsl import ModelFacts

DATA = {
    *("text", "inline_data", "file_data", "function_call", "function_response"),
    *("executable_code", "code_execution_result", "tool_call", "tool_response"),
}
SIDES = {"thought", "thought_signature", "media_resolution", "video_metadata", "part_metadata"}
MODEL_ONLY = {"function_call", "thought", "thought_signature", "executable_code"}
MEDIA = (
    r"image/(png|jpeg|webp|heic|heif)|audio/(wav|mp3|aiff|aac|ogg|flac)|application/pdf|text/plain"
    r"|video/(mp4|mpeg|mov|avi|x-flv|mpg|webm|wmv|3gpp)"
)
RESULT_MEDIA = r"image/(png|jpeg|webp)|application/pdf|text/plain"
SUBSTITUTE = b"skip_thought_signature_validator"
SIGNATURE: TypeAdapter[Any] = TypeAdapter(bytes | None, config=ConfigDict(val_json_bytes="base64"))
NAME = r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}"


def check_gemini(payload: Mapping[str, Any], facts: ModelFacts) -> None:
    """Check the arguments of ``generate_content``, model aside.

    Raises :class:`pydantic.ValidationError` for what the types refuse and :class:`AssertionError`
    for what the service is known to refuse beyond them.
    """
    normal(payload)
    gemini_rules(payload, facts)


def gemini_rules(payload: Mapping[str, Any], facts: ModelFacts) -> None:
    """Check what the service is known to refuse beyond the types; this needs no SDK."""
    assert set(payload) == {"contents", "config"}, f"keys {set(payload)}"
    json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()
    contents = payload["contents"]
    for content in contents:
        _check_content(content)
    _check_order(contents)
    _check_pairing(contents)
    _check_results(contents, facts)
    for content in contents:
        _check_signatures(content, needed=facts.signatures)
    _check_config(payload["config"])


def _check_content(content: Mapping[str, Any]) -> None:
    assert set(content) == {"role", "parts"}, f"keys {set(content)}"
    assert content["role"] in ("user", "model"), f"role {content['role']!r}"
    assert content["parts"], "a content without parts"
    for part in content["parts"]:
        _check_part(content["role"], part)


def _check_part(role: str, part: Mapping[str, Any]) -> None:
    assert len(set(part) & DATA) == 1, f"a part holds one thing: {set(part)}"
    assert set(part) <= DATA | SIDES, f"keys {set(part)}"
    assert role == "model" or not set(part) & MODEL_ONLY, f"{set(part)} in a user content"
    assert role == "user" or "function_response" not in part, "a result in a model content"
    assert part.get("text") != "" or "thought_signature" in part, "an empty text"
    if "function_call" in part:
        assert _matches(NAME, part["function_call"]["name"]), "the name of a call"
        assert part["function_call"]["id"], "a call without an id"
    for media in _media(part):
        assert _matches(MEDIA, media.get("mime_type", "image/png")), f"type of {media}"
        assert _matches(r"(?i)(https|gs)://.*", media.get("file_uri", "gs://")), "an address"
        assert media.get("data") != "", "no bytes"


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None


def _media(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [part[key] for key in ("inline_data", "file_data") if key in part]


def _check_order(contents: list[dict[str, Any]]) -> None:
    assert not contents or contents[0]["role"] == "user", "a user speaks first"
    # Two contents of one role are taken: of the model and of the user (recorded in August 2026).
    for content in contents:
        results = len(_results(content))
        assert results in (0, len(content["parts"])), "results stand in a content of their own"


def _calls(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [part["function_call"] for part in content["parts"] if "function_call" in part]


def _results(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [part["function_response"] for part in content["parts"] if "function_response" in part]


def _check_pairing(contents: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    open_calls: list[tuple[str, str]] = []
    for content in contents:
        results = [(result["id"], result["name"]) for result in _results(content)]
        assert open_calls == results, f"calls and results differ: {open_calls} {results}"
        open_calls = [(call["id"], call["name"]) for call in _calls(content)]
        ids = {id for id, _ in open_calls}
        assert len(ids) == len(open_calls), "an id twice in one turn"
        assert not ids & seen, "an id used before"
        seen |= ids
    assert not open_calls, f"calls without results: {open_calls}"


def _check_results(contents: Iterable[Mapping[str, Any]], facts: ModelFacts) -> None:
    for result in (result for content in contents for result in _results(content)):
        assert result["response"], "a response says something"
        names = [
            media.get("display_name") for part in result.get("parts", ()) for media in _media(part)
        ]
        assert _references(result["response"]) <= {*names}, "a name of no attachment"
        assert facts.result_media or "parts" not in result, "media in a result"
        for media in (media for part in result.get("parts", ()) for media in _media(part)):
            assert _matches(RESULT_MEDIA, media["mime_type"]), f"type of {media}"


def _references(response: Mapping[str, Any]) -> set[Any]:
    text = json.dumps(response)
    references: set[Any] = set()
    json.loads(
        text, object_pairs_hook=lambda pairs: references.update(v for k, v in pairs if k == "$ref")
    )
    return references


def _check_signatures(content: Mapping[str, Any], *, needed: bool) -> None:
    calls = [part for part in content["parts"] if "function_call" in part]
    signatures = [SIGNATURE.validate_python(part.get("thought_signature")) for part in calls]
    assert not (needed and signatures) or signatures[0], "the first call has no signature"
    assert SUBSTITUTE not in signatures[1:], "a substitute on another call than the first"


def _check_config(config: Mapping[str, Any]) -> None:
    parts = config.get("system_instruction", {"parts": [{"text": "x"}]})["parts"]
    assert parts, "an empty system instruction is left out"
    assert all(set(part) == {"text"} and part["text"] for part in parts), "texts only"
    tools = config.get("tools", [{}])
    assert tools, "an empty list of tools is left out"
    functions = [f for tool in tools for f in tool.get("function_declarations", ())]
    names = [function["name"] for function in functions]
    assert all(_matches(NAME, name) for name in names), f"names {names}"
    assert len(set(names)) == len(names), "a name twice"
    assert all("parameters" not in f or "parameters_json_schema" not in f for f in functions)
    choice = config.get("tool_config", {}).get("function_calling_config", {"mode": "AUTO"})
    allowed = choice.get("allowed_function_names", [])
    assert not allowed or choice["mode"] == "ANY", "names are for the mode ANY"


def normal(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return a payload as the SDK's types write it: their keys, the standard alphabet of base64.

    Raises :class:`pydantic.ValidationError` for what the types refuse.
    """
    from google.genai import types

    contents = [types.Content.model_validate(content) for content in payload["contents"]]
    config = types.GenerateContentConfig.model_validate(payload.get("config", {}))
    return {"contents": [*map(_dumped, contents)], "config": _dumped(config)}


def _dumped(model: Any) -> dict[str, Any]:
    text = json.dumps(model.model_dump(exclude_none=True), default=_standard)
    return cast("dict[str, Any]", json.loads(text))


def _standard(data: bytes) -> str:
    return base64.b64encode(data).decode()
