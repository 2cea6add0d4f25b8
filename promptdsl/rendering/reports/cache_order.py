"""Payloads in the order in which a provider's cache sees them, and the beginning that two share.

Tools come first, then the form of the answer, the system text, and what was said. Cache marks are
left out: two texts with a mark between them are the one text they would be without it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import attrs

from promptdsl.config.model_facts import ModelFacts
from promptdsl.tokens.count import TextTokens
from promptdsl.tokens.frames import REPLY
from promptdsl.tokens.payloads import (
    ENTRY_KEYS,
    SYSTEM_PATHS,
    TOOL_PATHS,
    entries_key,
    entry_tokens,
    value_at,
)
from promptdsl.tokens.safe_cuts import last_cut
from promptdsl.tokens.tools import definitions
from promptdsl.tokens.wire_json import compact, pruned

Payload: TypeAlias = Mapping[str, Any]

MARKS = ("cache_control", "prompt_cache_breakpoint", "cachePoint")
NEAR = 64
"""A token at the end of a common text may begin so many characters before that end."""
GAP = "\n\n"
"""The gap between two parts of a text that a mark divides."""

_SAID = ("content", "parts", "reasoning_content", "refusal", "tool_calls")
_TEXTS = (None, "text", "input_text", "output_text")
_CHOOSING = ("anthropic", "bedrock")
"""Where another tool choice is another conversation (Anthropic, "What invalidates the cache")."""


@attrs.frozen
class CacheOrder:
    """A payload in the order in which a cache sees it; ``prompt`` is the text of a template."""

    tools: Sequence[Any]
    rest: Payload
    system: Sequence[Any]
    choice: Any
    entries: Sequence[Any]
    prompt: str | None = None


class Shared(NamedTuple):
    """The beginning that two requests share, as a payload, and the place where they part.

    The place is ``""`` for the same requests; ``is_whole`` is whether all of the first is shared.
    """

    payload: Payload
    place: str
    is_whole: bool


def cache_order(payload: Payload, facts: ModelFacts) -> CacheOrder:
    """Return a payload of any provider in the order in which a cache sees it."""
    rest = {key: value for key, value in payload.items() if key not in _ELSEWHERE}
    config = {k: v for k, v in _mapping(payload.get("config")).items() if k not in _ELSEWHERE}
    tools, system = (
        [value_at(payload, *path) for path in paths] for paths in (TOOL_PATHS, SYSTEM_PATHS)
    )
    choices = [payload.get("tool_choice"), value_at(payload, "toolConfig", "toolChoice")]
    key, prompt = entries_key(payload), payload.get("prompt")
    return CacheOrder(
        [tool for found in tools for tool in definitions(found)],
        {**rest, "config": config} if config else rest,
        [part for found in system for part in _items(found)],
        choices if facts.provider in _CHOOSING else None,
        [] if key is None else _items(payload[key]),
        prompt if isinstance(prompt, str) else None,
    )


_ELSEWHERE = frozenset(
    {
        *("tools", "tool_choice", "tool_config", "toolConfig", "config", "prompt"),
        *("system", "instructions", "system_instruction", *ENTRY_KEYS),
    }
)


def _items(found: object) -> list[Any]:
    if isinstance(found, list | tuple):
        return [*cast("Sequence[Any]", found)]
    return [found] if found else []


def _mapping(value: object) -> Payload:
    return cast("Payload", value) if isinstance(value, Mapping) else {}


def shared_tokens(shared: Shared, tokens: TextTokens, facts: ModelFacts) -> int:
    """Return the tokens that two requests share, without those that begin a reply."""
    framed = 0 if "prompt" in shared.payload else REPLY
    return entry_tokens(shared.payload, tokens, facts).total - framed


def shared_by(one: CacheOrder, two: CacheOrder) -> Shared:
    """Return the beginning that two requests share."""
    if one.prompt is not None and two.prompt is not None:
        return _templated(one, two)
    count = _alike(one.tools, two.tools)
    found: dict[str, Any] = {"tools": [*two.tools[:count]]}
    if count < max(len(one.tools), len(two.tools)):
        return Shared(found, f"tools[{count}]", is_whole=False)
    if _key(one.rest) != _key(two.rest):
        return Shared(found, "settings", is_whole=False)
    found.update(two.rest)
    system = _common_parts(_pieces("", one.system), _pieces("", two.system))
    found["system"] = system.parts
    if not system.is_same:
        return Shared(found, "system", is_whole=False)
    if one.choice != two.choice:
        return Shared(found, "tool_choice", is_whole=False)
    return _said(one.entries, two.entries, found)


def _said(one: Sequence[Any], two: Sequence[Any], found: dict[str, Any]) -> Shared:
    count = _alike(one, two)
    found["messages"] = [*two[:count]]
    whole = count == len(one)
    if whole and count == len(two):
        return Shared(found, "", is_whole=True)
    if not whole and count < len(two):
        entry, ended = _begun(one[count], two[count])
        found["messages"] += [] if entry is None else [entry]
        whole = ended and count == len(one) - 1
    return Shared(found, f"messages[{count}]", is_whole=whole)


def _templated(one: CacheOrder, two: CacheOrder) -> Shared:
    """Return the beginning that the texts of two templates share, with the attachments in it."""
    before, after = one.prompt or "", two.prompt or ""
    length, count = common(before, after), _alike(one.entries, two.entries)
    found = {"prompt": after[: certain(before, after, length)], "messages": two.entries[:count]}
    same = before == after and count == len(one.entries) == len(two.entries)
    return Shared(found, "" if same else "prompt", is_whole=same)


def _alike(one: Sequence[Any], two: Sequence[Any]) -> int:
    """Return how many values are the same at the beginning of two lists, marks aside."""
    pairs = enumerate(zip(one, two, strict=False))
    least = min(len(one), len(two))
    return next((n for n, (a, b) in pairs if a != b and _entry_key(a) != _entry_key(b)), least)


# Messages.


class Piece(NamedTuple):
    """A part under a key of a message, or several parts that are one text."""

    key: str
    text: str | None
    value: Any
    parts: tuple[str, ...] = ()


class _Common(NamedTuple):
    """The beginning that two lists of pieces share, as parts.

    ``is_same`` is whether that is all of both, ``is_whole`` whether all of the first.
    """

    parts: list[Any]
    is_same: bool
    is_whole: bool


def _entry_key(entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    said = [(piece.key, _piece_key(piece)) for piece in _entry_pieces(cast("Payload", entry))]
    return _key(_header(cast("Payload", entry))), said


def _header(entry: Payload) -> Payload:
    return {key: value for key, value in entry.items() if key not in _SAID and key not in MARKS}


def _entry_pieces(entry: Payload) -> list[Piece]:
    return [piece for key in _SAID for piece in _pieces(key, _items(entry.get(key)))]


def _begun(one: Any, two: Any) -> tuple[Any, bool]:
    """Return the beginning of the second entry that the first has, too, and if that is all of it.

    ``None`` for entries of two speakers.
    """
    entries = _mapping(one), _mapping(two)
    headers = [_header(entry) for entry in entries]
    if not all(entries) or _key(headers[0]) != _key(headers[1]):
        return None, False
    common = _common_parts(*map(_entry_pieces, entries))
    return {**headers[1], "content": common.parts}, common.is_whole


def _common_parts(one: list[Piece], two: list[Piece]) -> _Common:
    pairs = enumerate(zip(one, two, strict=False))
    least = min(len(one), len(two))
    count = next((n for n, (a, b) in pairs if _piece_key(a) != _piece_key(b)), least)
    kept: list[Any] = []
    for piece in two[:count]:
        kept += [piece.value] if piece.text is None else piece.parts
    ended = count == len(one)
    if not ended and count < len(two):
        first, second = one[count], two[count]
        if first.text is not None and second.text is not None:
            length = common(first.text, second.text)
            kept += _cut(second, certain(first.text, second.text, length))
            ended = length == len(first.text) and count == len(one) - 1
    return _Common(kept, count == len(one) == len(two), ended)


def _pieces(key: str, items: Sequence[Any]) -> list[Piece]:
    """Return the parts of a content, neighbouring texts as one, without bare marks."""
    found: list[Piece] = []
    texts: list[str] = []
    for item in items:
        text = _text(item)
        if text is not None:
            texts.append(text)
        elif not isinstance(item, Mapping) or _without_marks(item):  # pyright: ignore[reportUnknownArgumentType]
            found += (*_joined(key, texts), Piece(key, None, item))
            texts = []
    return [*found, *_joined(key, texts)]


def _joined(key: str, texts: list[str]) -> list[Piece]:
    """Return neighbouring texts as one piece, if there are any."""
    return [Piece(key, GAP.join(texts), None, (*texts,))] if texts else []


def _cut(piece: Piece, length: int) -> Iterator[str]:
    """Yield the parts of a text up to a length of all of it."""
    start = 0
    for part in piece.parts:
        if length > start:
            yield part[: length - start]
        start += len(part) + len(GAP)


def _text(item: Any) -> str | None:
    """Return the text of a part that is nothing else."""
    if isinstance(item, str):
        return item
    said = _without_marks(_mapping(item))
    text = said.get("text")
    only = said.keys() <= {"text", "type"} and said.get("type") in _TEXTS
    return text if only and isinstance(text, str) else None


def _without_marks(item: Payload) -> Payload:
    return {key: value for key, value in item.items() if key not in MARKS}


def _piece_key(piece: Piece) -> Any:
    return piece.text if piece.text is not None else _key(piece.value)


def _key(value: Any) -> tuple[str, tuple[str | bytes, ...]]:
    """Return the key to compare a value by: its JSON without marks, and the bytes in it."""
    bare = pruned(value, MARKS)
    return compact(bare.value), tuple(bare.encoded)


def common(one: str, two: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    least = min(len(one), len(two))
    if one[:least] == two[:least]:
        return least
    same, end = 0, least
    while end - same > 1:
        middle = (same + end) // 2
        if one[same:middle] == two[same:middle]:
            same = middle
        else:
            end = middle
    return same


def certain(one: str, two: str, length: int) -> int:
    """Return the length of the common beginning that is the same tokens in both texts.

    A token at its end may go on in another way in each; where none surely ends near, all of it is.
    """
    if all(
        length in (0, len(text)) or last_cut(text, length - 1, length) == length
        for text in (one, two)
    ):
        return length
    start = max(length - NEAR, 0)
    return last_cut(two, start, length - 1) or (length if start else 0)
