"""Cache marks: at most four in a request, on the parts of items."""

from itertools import chain

from promptdsl.providers.openai_responses.request import Items
from promptdsl.providers.shared.cache_marks import settle_marks
from promptdsl.providers.shared.openai_parts import is_marked, settled
from promptdsl.providers.shared.request import Param


def write_marks(request: Items) -> None:
    """Keep the four marks that cover most, none behind unanswered requests."""
    entries = request.entries
    places = [
        (place, key)
        for place, item in enumerate(entries)
        if (key := _markable(item)) and is_marked(item.get(key))
    ]
    parts = chain.from_iterable(entries[place][key] for place, key in places)
    kept = settle_marks(request, parts, ordered=False)
    for place, key in places:
        item = entries[place]
        entries[place] = {**item, key: settled(item[key], kept)}


def _markable(item: Param) -> str:
    """Return the key of the parts that may be marked, empty for an answer and what is unknown."""
    if "type" not in item:
        return "" if item["role"] == "assistant" else "content"
    results = ("function_call_output", "custom_tool_call_output")
    return "output" if item["type"] in results else ""
