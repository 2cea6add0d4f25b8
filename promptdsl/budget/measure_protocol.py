"""The token counts that a budget asks for, as a protocol.

Its one implementation is ``Measuring`` in ``rendering/measure.py``, a floor above.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from promptdsl.budget.line import Seam, Zone
from promptdsl.config.model_facts import ModelFacts
from promptdsl.tokens.count import Tokens
from promptdsl.tree.node import Node
from promptdsl.tree.turn_nodes import RecordedNode


class Measure(Protocol):
    """Counts parts of a prompt in the tokens of its target."""

    @property
    def facts(self) -> ModelFacts:
        """The facts of the target."""
        ...

    @property
    def tokens(self) -> Tokens:
        """The counter of texts."""
        ...

    @property
    def opening(self) -> Seam:
        """How what is before the conversation saves tokens: fewer than none if the model begins."""
        ...

    @property
    def in_characters(self) -> "Measure":
        """The counter of the same parts, in characters instead of tokens."""
        ...

    def turn(self, node: Node, wanted: Collection[int] = ()) -> tuple[int, Mapping[int, int]]:
        """Return the tokens of an entry of a timeline, and by id those of ``wanted`` nodes in it.

        A turn is counted with the frame around its message.
        """
        ...

    def messages(self, run: RecordedNode) -> Sequence[int]:
        """Return the tokens of each message of a run, its frame included."""
        ...

    def seams(self, turn: Node) -> Sequence[Seam]:
        """Return how the message of a turn merges, of a run how each message does.

        Empty for what is no message, such as a tool.
        """
        ...

    def zone(self, turn: Node) -> Zone:
        """Return the position of a turn among the messages."""
        ...
