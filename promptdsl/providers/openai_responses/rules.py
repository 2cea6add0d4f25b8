"""What only other providers have, told from what Responses has: keys, parts and messages."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

import attrs

from promptdsl.foundation.errors import DataError
from promptdsl.foundation.frozen import EMPTY
from promptdsl.foundation.unicode import is_whole
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.ids import digested
from promptdsl.providers.shared.other_providers import (
    ANTHROPIC,
    OPENAI,
    Owners,
    looks_like,
    owner_of,
)
from promptdsl.providers.shared.other_providers import lose_keys as lose_foreign_keys
from promptdsl.providers.shared.request import Param, Place, Request, new_list

ORIGIN = "openai_responses"

KNOWN_ITEMS = re.compile(
    r"additional_tools|item_reference|compaction(_trigger)?|program(_output)?"
    r"|mcp_(list_tools|approval_re(quest|sponse)|call)|tool_search_(call|output)"
    r"|(apply_patch|computer|(local_)?shell)_call(_output)?"
    r"|(code_interpreter|file_search|image_generation|web_search)_call"
)
"""The types of items that no block of ours stands for (``ResponseInputItemParam``)."""

_READ = re.compile(
    r"message|reasoning|(function_call|custom_tool_call)(_output)?"
    r"|input_(text|image|file)|output_text|refusal"
)
"""The types of items and parts that have a block of ours."""

_PART = re.compile(r"(input|output)_.*")
_PARTS: Owners = {
    **ANTHROPIC,
    **OPENAI,
    "text": ("text", "openai"),
}
"""By type of a part that is none of Responses, a key it has and whose it is."""


def is_own_item(data: Mapping[str, Any]) -> bool:
    """Return whether an item nobody knows may be one of Responses, and would be read as it is."""
    return is_own_part(data) and _PART.fullmatch(data["type"]) is None


def is_own_part(data: Mapping[str, Any]) -> bool:
    """Return whether a part nobody knows may be one of Responses, and would be read as it is."""
    kind = data.get("type")
    return (
        isinstance(kind, str) and _READ.fullmatch(kind) is None and owner_of(data, _PARTS) is None
    )


def refuse_part(part: Mapping[str, Any]) -> None:
    """Raise :class:`DataError` for a part or an item that another provider has."""
    if owner := owner_of(part, _PARTS):
        raise DataError(f"{part['type']!r} is none of Responses", fix=looks_like(owner))


def refuse_message(entries: Mapping[str, Any]) -> None:
    """Raise :class:`DataError` for a message that another provider has."""
    for key, owner in _MESSAGES.items():
        if entries.get(key):
            raise DataError(f"{key!r} is no key of an item of Responses", fix=looks_like(owner))


_MESSAGES = {
    **dict.fromkeys(("tool_calls", "tool_call_id", "function_call"), "openai"),
    "parts": "gemini",
}


def refuse_payload(payload: Mapping[str, Any]) -> None:
    """Raise :class:`DataError` for a payload that another provider has."""
    for key, owner in (("messages", "openai"), ("contents", "gemini")):
        if "input" not in payload and key in payload:
            raise DataError("'input' is needed", fix=looks_like(owner))


def lose_keys(request: Request, place: Place, block: Any, known: Iterable[str] = ()) -> None:
    """Record the further keys of a block that Responses has not."""
    lose_foreign_keys(request, place, block, service="Responses", known=known)


@attrs.define(eq=False)
class Items(Request):
    """What has been written so far: the entries are items."""

    ids: set[str] = attrs.field(factory=set[str])
    """The ids of items that were sent."""
    customs: set[str] = attrs.field(factory=set[str])
    """The ids of calls whose tool takes free text, which has results of another type."""


@attrs.define(eq=False)
class Draft:
    """A message while it is being written, or what is in one of its results.

    ``parts`` wait to be an item, which came as ``origin`` says, and ``thoughts`` are reasoning that
    waits for the item it produced.
    """

    place: Place
    parts: list[Param] = attrs.field(factory=new_list)
    origin: Mapping[str, Any] = EMPTY
    thoughts: list[Param] = attrs.field(factory=new_list)


LONGEST_ID = 64
KEPT: Mapping[str, tuple[str, ...]] = {
    "message": ("id", "status", "phase"),
    "function_call": ("id", "status", "caller", "namespace"),
    "custom_tool_call": ("id", "caller", "namespace"),
    "function_call_output": ("caller", "namespace"),
    "custom_tool_call_output": ("caller",),
}
"""By type, what an item came with that it is sent back with, beside what has a block of ours."""

_ITEM_ID = {
    **{"message": re.compile(r"msg_[!-~]+"), "reasoning": re.compile(r"rs_[!-~]+")},
    **{"function_call": re.compile(r"fc_[!-~]+"), "custom_tool_call": re.compile(r"ctc_[!-~]+")},
}
"""By type of item, what its ids look like: the service refuses others."""


def fitting_id(id: str) -> str:
    """Return a call's id of 1 to 64 characters; another one ends in a digest: it stays unique."""
    return id if 0 < len(id) <= LONGEST_ID and is_whole(id) else digested(id, LONGEST_ID)


def is_new_id(request: Items, kind: str, id: object) -> bool:
    """Return whether an item may be sent with this id: one of the service, not sent before."""
    if not isinstance(id, str) or id in request.ids or kind not in _ITEM_ID:
        return False
    return _ITEM_ID[kind].fullmatch(id) is not None


def origin_of(block: Any) -> Mapping[str, Any]:
    """Return what the item had that a block was recorded in, empty for one that was written."""
    item = block.extra.get("item")
    return cast("Mapping[str, Any]", item) if isinstance(item, Mapping) else EMPTY


def identity(request: Items, kind: str, origin: Mapping[str, Any]) -> Param:
    """Return the keys of an item that it came with, its id only together with its reasoning.

    The service refuses an id whose reasoning is missing; without one it takes the item as new.
    """
    found = {key: origin[key] for key in KEPT[kind] if origin.get(key) is not None}
    id, thought = found.get("id"), origin.get("reasoning")
    if is_new_id(request, kind, id) and (thought is None or str(thought) in request.ids):
        request.ids.add(cast("str", id))
    else:
        found = {key: value for key, value in found.items() if key not in ("id", "status")}
    return cast("Param", json_copy(found)) if found else {}


def read_origin(kind: str, entries: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the ``extra`` of a block that was recorded in an item."""
    own = {key: entries[key] for key in KEPT[kind] if entries.get(key) is not None}
    if "id" not in own:
        own.pop("status", None)
    return {"item": own} if own else EMPTY
