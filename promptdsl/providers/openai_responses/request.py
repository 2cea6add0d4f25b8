"""A request of Responses while it is being written, and the ids of items and calls in it."""

import re
from collections.abc import Mapping
from typing import Any, cast

import attrs

from promptdsl.foundation.frozen import EMPTY
from promptdsl.foundation.unicode import is_whole
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.ids import digested
from promptdsl.providers.shared.request import Param, Place, Request, new_list


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
    return json_copy(found) if found else {}


def read_origin(kind: str, entries: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the ``extra`` of a block that was recorded in an item."""
    own = {key: entries[key] for key in KEPT[kind] if entries.get(key) is not None}
    if "id" not in own:
        own.pop("status", None)
    return {"item": own} if own else EMPTY
