"""The shared prefix of two prompts: what a prompt cache can serve, and what ends it."""

from collections.abc import Sequence
from typing import Any

import attrs

from promptdsl import Rendered
from promptdsl.comparing.changes import Change
from promptdsl.comparing.snapshot_file import PromptFile


@attrs.frozen
class SharedPrefix:
    """The beginning that two prompts share, in tokens of the second, which a cache can serve.

    ``behind`` are the tokens of the second prompt after it, which are read anew. ``broken_by`` is
    the address of what ended it, ``how`` that was ``changed``, ``added``, ``removed`` or ``moved``;
    both are empty for equal prompts. ``lost_marks`` are the places of the cache marks of the first
    prompt that it does not reach: what was cached up to them is read anew once. ``label`` says how
    exact the tokens are.
    """

    shared: int
    behind: int
    label: str
    broken_by: str = ""
    how: str = ""
    lost_marks: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:  # Any: JSON data
        """Return the fields as JSON data."""
        return attrs.asdict(self)


def prefix_of_requests(before: Rendered, after: Rendered) -> SharedPrefix | None:
    """Return what two requests share, exactly; ``None`` for two models."""
    return None


def prefix_of_files(
    before: PromptFile, after: PromptFile, changes: Sequence[Change]
) -> SharedPrefix | None:
    """Return what two snapshots share, by the tokens of their texts; ``None`` for two models."""
    return None
