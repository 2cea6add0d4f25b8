"""Cache marks: each on the part it stands behind, at most four in a request."""

from itertools import chain
from typing import cast

from promptdsl.wire.marks import settle_marks
from promptdsl.wire.parts import finished, take_back
from promptdsl.wire.request import Param, Request


def write_marks(request: Request, messages: list[Param]) -> None:
    """Keep the four marks that cover most, none behind unanswered requests."""
    marked = [entry for entry in messages if isinstance(entry["content"], list)]
    parts = chain.from_iterable(cast("list[Param]", entry["content"]) for entry in marked)
    take_back(request, settle_marks(request, parts, ordered=False))
    for entry in marked:
        entry["content"] = finished(cast("list[Param]", entry["content"]))
