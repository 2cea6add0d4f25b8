"""A request of Responses while it is being written."""

from collections.abc import Mapping
from typing import Any

import attrs

from promptdsl.wire.request import Param, Request


@attrs.define(eq=False)
class Items(Request):
    """What has been written so far: the entries are items.

    Of the message at hand, ``parts`` wait to be an item, which came as ``origin`` says, and
    ``thoughts`` are reasoning that waits for the item it produced.
    """

    parts: list[Param] = attrs.field(factory=list[Param])
    origin: Mapping[str, Any] = attrs.field(factory=dict[str, Any])
    thoughts: list[Param] = attrs.field(factory=list[Param])
    ids: set[str] = attrs.field(factory=set[str])
    """The ids of items that were sent."""
    customs: set[str] = attrs.field(factory=set[str])
    """The ids of calls whose tool takes free text, which has results of another type."""
