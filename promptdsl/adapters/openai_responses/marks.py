"""Cache marks: each on the part it stands behind, at most four in a request."""

from itertools import chain
from typing import cast

from promptdsl.adapters.openai_responses.request import Items
from promptdsl.wire.marks import settle_marks
from promptdsl.wire.parts import finished, take_back
from promptdsl.wire.request import Param


def write_marks(request: Items) -> None:
    """Keep the four marks that cover most, none behind unanswered requests."""
    places = [(item, key) for item in request.sent for key in ("content", "output")]
    lists = [(item, key) for item, key in places if _may_be_marked(item, key)]
    parts = chain.from_iterable(item[key] for item, key in lists)
    take_back(request, settle_marks(request, parts, ordered=False))
    for item, key in lists:
        item[key] = finished(cast("list[Param]", item[key]))


def _may_be_marked(item: Param, key: str) -> bool:
    """Return whether parts under a key are those of an input: neither an answer nor unknown."""
    own = "type" not in item and item["role"] != "assistant"
    said = own if key == "content" else _is_result(item)
    return said and isinstance(item.get(key), list)


def _is_result(item: Param) -> bool:
    return item.get("type") in ("function_call_output", "custom_tool_call_output")
