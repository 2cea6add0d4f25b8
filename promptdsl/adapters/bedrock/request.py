"""A request of Converse while it is being written."""

import attrs

from promptdsl.wire.turns import Turns


@attrs.define(eq=False)
class Converse(Turns):
    """Turns, and what their attachments need.

    ``names`` are those of the documents so far, each with how often it was asked for. ``counts``
    are the attachments of the last turn that holds any, by kind, and ``counted`` is its number.
    ``calls_tools`` is whether a call or a result was written.
    """

    names: dict[str, int] = attrs.field(factory=dict[str, int])
    counts: dict[str, int] = attrs.field(factory=dict[str, int])
    counted: int = 0
    calls_tools: bool = False

    def is_made_by(self, *words: str) -> bool:
        """Whether the model's name holds one of these words."""
        model = (self.facts.model or "").lower()
        return any(word in model for word in words)
