"""A Responses request while it is being written, and the ids of its items and calls."""

import re
from collections.abc import Mapping

import attrs

from promptdsl.foundation.frozen import EMPTY
from promptdsl.foundation.json import JsonObject, JsonValue
from promptdsl.foundation.unicode import is_whole
from promptdsl.messages import TextBlock, ToolResultBlock, ToolUseBlock
from promptdsl.providers.shared.clean import json_copy
from promptdsl.providers.shared.ids import digested
from promptdsl.providers.shared.request import Param, Place, Request, new_list


@attrs.define(eq=False)
class Items(Request):
    """A request whose entries are items."""

    ids: set[str] = attrs.field(factory=set[str])
    """The ids of items that were sent."""
    customs: set[str] = attrs.field(factory=set[str])
    """The ids of calls whose tool takes free text, which has results of another type."""


@attrs.define(eq=False)
class ContentDraft:
    """The content of a message, or of a tool's result, while it is being written."""

    place: Place
    parts: list[Param] = attrs.field(factory=new_list)
    """The parts that wait to be sent as one item."""
    origin: JsonObject = EMPTY
    """The keys of the item that these parts were recorded in."""
    thoughts: list[Param] = attrs.field(factory=new_list)
    """The items of reasoning that wait for the item they produced."""


LONGEST_ID = 64
KEPT: Mapping[str, tuple[str, ...]] = {
    "message": ("id", "status", "phase"),
    "function_call": ("id", "status", "caller", "namespace"),
    "custom_tool_call": ("id", "caller", "namespace"),
    "function_call_output": ("caller", "namespace"),
    "custom_tool_call_output": ("caller",),
}
"""By type of item, the recorded keys that are sent back, beside those of its block."""

_ITEM_ID = {
    **{"message": re.compile(r"msg_[!-~]+"), "reasoning": re.compile(r"rs_[!-~]+")},
    **{"function_call": re.compile(r"fc_[!-~]+"), "custom_tool_call": re.compile(r"ctc_[!-~]+")},
}
"""By type of item, the form of its ids: the service refuses others."""


def fitting_id(id: str) -> str:
    """Return a call's id of 1 to 64 characters; a longer one ends in a digest, to stay unique."""
    return id if 0 < len(id) <= LONGEST_ID and is_whole(id) else digested(id, LONGEST_ID)


def is_new_id(request: Items, kind: str, id: object) -> bool:
    """Return whether an item may be sent with this id: one of the service, not sent before."""
    if not isinstance(id, str) or id in request.ids or kind not in _ITEM_ID:
        return False
    return _ITEM_ID[kind].fullmatch(id) is not None


def origin_of(block: TextBlock | ToolUseBlock | ToolResultBlock) -> JsonObject:
    """Return the keys of the item that a block was recorded in, empty for a written block."""
    item: JsonValue = block.extra.get("item")
    return item if isinstance(item, Mapping) else EMPTY


def identity(request: Items, kind: str, origin: JsonObject) -> Param:
    """Return the recorded keys of an item, its id only together with its reasoning.

    The service refuses an id whose reasoning is missing; without one it takes the item as new.
    """
    keys = {key: origin[key] for key in KEPT[kind] if origin.get(key) is not None}
    id, thought = keys.get("id"), origin.get("reasoning")
    is_sendable = thought is None or str(thought) in request.ids
    if is_sendable and is_new_id(request, kind, id):
        request.ids.add(str(id))
    else:
        keys = {key: value for key, value in keys.items() if key not in ("id", "status")}
    return json_copy(keys) if keys else {}


def read_origin(kind: str, item: JsonObject) -> JsonObject:
    """Return the ``extra`` of a block that was recorded in an item."""
    own = {key: item[key] for key in KEPT[kind] if item.get(key) is not None}
    if "id" not in own:
        own.pop("status", None)
    return {"item": own} if own else EMPTY
