"""Cache marks: each on the part it stands behind, at most four in a request."""

from itertools import chain

from promptdsl.adapters.openai_responses.request import Items
from promptdsl.wire.marks import settle_marks
from promptdsl.wire.parts import is_marked, settled
from promptdsl.wire.request import Param


def write_marks(request: Items) -> None:
    """Keep the four marks that cover most, none behind unanswered requests."""
    entries = request.entries
    places = [
        (place, key)
        for place, item in enumerate(entries)
        for key in ("content", "output")
        if _may_be_marked(item, key) and is_marked(item.get(key))
    ]
    parts = chain.from_iterable(entries[place][key] for place, key in places)
    kept = settle_marks(request, parts, ordered=False)
    for place, key in places:
        item = entries[place]
        entries[place] = {**item, key: settled(item[key], kept)}


def _may_be_marked(item: Param, key: str) -> bool:
    """Return whether parts under a key are those of an input: neither an answer nor unknown."""
    own = "type" not in item and item["role"] != "assistant"
    return own if key == "content" else _is_result(item)


def _is_result(item: Param) -> bool:
    return item.get("type") in ("function_call_output", "custom_tool_call_output")
