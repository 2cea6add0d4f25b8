"""Ids: those of calls, which fit, and those of items, which only the service makes."""

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, cast

from promptdsl.adapters.openai_responses.request import Items
from promptdsl.blocks import EMPTY
from promptdsl.encoding import whole
from promptdsl.wire.request import Param
from promptdsl.wire.text import json_copy

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
    clean, replaced = whole(id)
    if not replaced and 0 < len(id) <= LONGEST_ID:
        return id
    return f"{clean[:31]}_{sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


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
