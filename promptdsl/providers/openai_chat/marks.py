"""Cache marks: at most four in a request, on the parts of messages.

A message whose marks change is put anew in its place: the one before may be remembered.
"""

from itertools import chain

from promptdsl.providers.openai_chat.request import Chat
from promptdsl.providers.shared.cache_marks import settle_marks
from promptdsl.providers.shared.openai_parts import is_marked, settled


def write_marks(request: Chat) -> None:
    """Keep the four marks that cover most, none behind unanswered requests."""
    entries = request.entries
    marked = [place for place, entry in enumerate(entries) if is_marked(entry["content"])]
    parts = chain.from_iterable(entries[place]["content"] for place in marked)
    kept = settle_marks(request, parts, ordered=False)
    for place in marked:
        entry = entries[place]
        entries[place] = {**entry, "content": settled(entry["content"], kept)}
