"""Cache marks: each on the part it stands behind, at most four in a request."""

from itertools import chain

from promptdsl.wire.marks import settle_marks
from promptdsl.wire.parts import is_marked, settled
from promptdsl.wire.request import Request


def write_marks(request: Request) -> None:
    """Keep the four marks that cover most, none behind unanswered requests."""
    entries = request.entries
    marked = [place for place, entry in enumerate(entries) if is_marked(entry["content"])]
    parts = chain.from_iterable(entries[place]["content"] for place in marked)
    kept = settle_marks(request, parts, ordered=False)
    for place in marked:
        entry = entries[place]
        entries[place] = {**entry, "content": settled(entry["content"], kept)}
