"""Parts of a content as blocks: LangChain's, and those of the providers it reads."""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any, cast

import attrs

from promptdsl import (
    Block,
    DataError,
    ReasoningBlock,
    TextBlock,
    ToolResultBlock,
    UnknownBlock,
    block_from_dict,
)
from promptdsl.integrations.langchain.reasoning import NATIVE, ORIGINS, read_thought
from promptdsl.integrations.losses import Crossing, read_cache
from promptdsl.integrations.values import SIGNATURE, address, entries_of, joined, kind_of_media

_FILES = {
    "image": "image",
    "audio": "audio",
    "video": "video",
    "file": "document",
    "text-plain": "document",
}
_CALLS = (
    *("tool_call", "invalid_tool_call", "tool_call_chunk", "input_json_delta"),
    *("tool_use", "function_call", "custom_tool_call"),
)
_OWN = ("server_tool_call", "server_tool_call_chunk", "server_tool_result", *_FILES)
_KEPT = ("context", "citations")


class Reading(Crossing):
    """A crossing from LangChain.

    ``lc`` is its module of messages, ``provider`` whose message is at hand, by their name, and
    ``replied`` whether a model said it.
    """

    lc: Any
    provider: str | None
    replied: bool
    version: str | None

    @property
    def origin(self) -> str | None:
        """Whose message is at hand, by our name."""
        return ORIGINS.get(self.provider or "", self.provider)


def read_content(r: Reading, content: Any) -> tuple[Block, ...]:
    """Return the blocks of a content; calls of a model aside, which LangChain also keeps apart."""
    entries: Iterable[Any] = [content] if isinstance(content, str) else content
    blocks = [block for entry in entries for block in _entry(r, entry)]
    return joined(b for b in blocks if type(b) is not TextBlock or b.text or b.extra)


def _entry(r: Reading, entry: Any) -> Iterable[Block]:
    """Return the blocks an entry of a content is."""
    if isinstance(entry, str):
        return [TextBlock(entry)]
    kind = entry.get("type")
    held = entry.get("value") if kind == "non_standard" else entry
    if not isinstance(held, Mapping):
        raise DataError(f"the value of a {kind!r} block is a dictionary")
    held = cast("Mapping[str, Any]", held)
    if r.replied and held.get("type") in _CALLS:
        return []
    if held.get("type") == "tool_result":
        return [_result(r, held)]
    if held.get("type") == "redacted_thinking":
        told = {"encrypted": held.get("data"), "origin": r.origin or "anthropic"}
        return [block_from_dict({"type": "reasoning", "text": "", **told})]
    if kind == "non_standard":
        return _given(r, held)
    return _standard(r, entry)


def _given(r: Reading, held: Mapping[str, Any]) -> Iterable[Block]:
    """Yield a block that somebody said to be no standard one, which is sent as it came."""
    if held.get("type") == "unknown":
        ours = "origin" in held and held["origin"] is None
        yield UnknownBlock(entries_of(held.get("data"))) if ours else block_from_dict(held)
    elif r.provider is None:
        yield UnknownBlock(held)
    else:
        yield from _unknown(r, held)


def _result(r: Reading, entry: Mapping[str, Any]) -> ToolResultBlock:
    content = read_content(r, entry.get("content") or "")
    found = [block for block in content if type(block) is not ToolResultBlock]
    if len(found) < len(content):
        raise DataError("a 'tool_result' block holds no 'tool_result' block")
    id, failed = entry.get("tool_use_id"), entry.get("is_error") is True
    if not isinstance(id, str):
        raise DataError("a 'tool_result' block needs 'tool_use_id', a string")
    return ToolResultBlock(id, tuple(found), is_error=failed, cache=_cache(r, entry))


def _standard(r: Reading, entry: Mapping[str, Any]) -> Iterable[Block]:
    for part in [entry] if entry.get("type") == "reasoning" else _parts(r, entry):
        kind = part.get("type")
        if kind == "reasoning":
            yield read_thought(part, r.origin)
        elif isinstance(part.get("text"), str) and kind in ("text", "text-plain"):
            yield _text(r, part, entry)
        elif kind in _FILES and _source(part):
            yield _file(r, part, entry)
        else:
            yield from _unknown(r, entry)


def _parts(r: Reading, entry: Mapping[str, Any]) -> list[Any]:
    """Return the standard blocks that LangChain reads an entry as."""
    if entry.get("type") == "media":
        media = kind_of_media(entry.get("mime_type"))
        source = {"base64": entry.get("data"), "url": entry.get("file_uri")}
        told = {key: value for key, value in source.items() if value is not None}
        media = "file" if media == "document" else media
        return [{"type": media, "mime_type": entry.get("mime_type"), **told}]
    said: Mapping[str, Any] = {"model_provider": r.provider, "output_version": r.version}
    made = r.lc.AIMessage if r.replied else r.lc.HumanMessage
    try:
        return list(made([dict(entry)], response_metadata=dict(said)).content_blocks)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        kind = entry.get("type")
        raise DataError(f"a block of type {kind!r} cannot be read: {error}") from None


def _text(r: Reading, part: Mapping[str, Any], entry: Mapping[str, Any]) -> TextBlock:
    extras: Mapping[str, Any] = {**part, **(part.get("extras") or {})}
    if any(extras.get(key) or entry.get(key) for key in ("annotations", "citations")):
        r.lose("hint", "annotations of a text")
    if extras.get("title"):
        r.lose("hint", "the title of an attachment")
    if extras.get("context"):
        r.lose("content", "the context of an attachment")
    signature = extras.get("signature")
    extra = {SIGNATURE: signature} if isinstance(signature, str) else {}
    return TextBlock(part["text"], _cache(r, {**entry, **extras}), extra)


def _file(r: Reading, part: Mapping[str, Any], entry: Mapping[str, Any]) -> Block:
    extras: Mapping[str, Any] = {**part, **(part.get("extras") or {})}
    kind = _FILES[part["type"]]
    known = "text/plain" if part["type"] == "text-plain" else None
    source = {"media_type": part.get("mime_type", known), **_source(part)}
    title = extras.get("filename") if extras.get("title") is None else extras["title"]
    kept = {key: extras[key] for key in _KEPT if kind == "document" and extras.get(key)}
    more = {"title": title, "detail": extras.get("detail"), **kept}
    block: Any = block_from_dict({"type": kind, "source": source, **more})
    return cast("Block", attrs.evolve(block, cache=_cache(r, {**entry, **extras})))


def _source(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return where the bytes of a part are, nothing where it does not tell."""
    if part.get("base64") is not None:
        data = part["base64"]
        text = b64encode(data).decode("ascii") if isinstance(data, bytes) else data
        return {"type": "base64", "data": text}
    if part.get("url") is not None:
        return address(part["url"])
    id = part.get("file_id", part.get("id"))
    return {} if id is None else {"type": "file_id", "file_id": id}


def _unknown(r: Reading, entry: Mapping[str, Any]) -> Iterable[Block]:
    """Yield the entry that its provider sent, ``index`` aside; LangChain's own are lost."""
    data = {key: value for key, value in entry.items() if key != "index"}
    native = r.origin in NATIVE and data.get("type") not in _OWN
    if native:
        yield UnknownBlock(data, r.origin)
    elif "cachePoint" in data or "cache_point" in data:
        r.lose("hint", "a cache point")
    else:
        r.lose("content", f"a block of type {data.get('type')!r}")


def _cache(r: Reading, entry: Mapping[str, Any]) -> Any:
    return read_cache(r, entry.get("cache_control"))


def has_reasoning(blocks: Iterable[Block]) -> bool:
    """Whether what a model thought is among the blocks."""
    return any(type(block) is ReasoningBlock for block in blocks)
