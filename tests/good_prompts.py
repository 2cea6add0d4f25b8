"""The hints that no good prompt may have, and the results of all renders of a piece of code."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from promptdsl import Loss, Rendered
from tests.internals import render_module

CAREFUL = frozenset(
    {
        "empty_conversation",
        "ended_conversation",
        "empty_message",
        "repeated_message",
        "unknown_name",
        "repeated_system",
        *("other_provider", "empty_grounding", "unused_variable", "glued_item"),
        *("undescribed_tool", "volatile_in_cache", "volatile_grounding"),
    }
)
"""The names of the hints at what may be a mistake, though it can be sent."""


@contextmanager
def noted_results() -> Iterator[list[Rendered]]:
    """Note the results of all renders in a ``with`` block, also of those inside of tools."""
    results: list[Rendered] = []

    real = render_module.Rendered

    def noted(**fields: Any) -> Rendered:  # Any: the fields of a result
        results.append(real(**fields))
        return results[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(render_module, "Rendered", noted)
        yield results


def careful_hints(results: Iterable[Rendered]) -> list[Loss]:
    """Return the hints of these names in results of renders."""
    return [hint for result in results for hint in result.hints if hint.name in CAREFUL]
