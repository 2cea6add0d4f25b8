"""The token counts that a budget needs, as a protocol.

Its only implementation is ``Measuring`` in ``rendering/measure.py``, a layer above.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from promptdsl.config.model_facts import ModelFacts
from promptdsl.tokens.count import Tokens
from promptdsl.tree.node import Node
from promptdsl.tree.turn_nodes import RecordedNode


class Measure(Protocol):
    """The counter of the parts of a prompt, in the tokens of its target model."""

    @property
    def facts(self) -> ModelFacts:
        """The facts of the target model."""
        ...

    @property
    def tokens(self) -> Tokens:
        """The counter of texts."""
        ...

    @property
    def in_characters(self) -> "Measure":
        """A counter of the same parts that counts characters instead of tokens."""
        ...

    def turn(self, node: Node, wanted: Collection[int] = ()) -> tuple[int, Mapping[int, int]]:
        """Return the tokens of an entry of a timeline, and by id those of the ``wanted`` nodes.

        A turn is counted with the frame of its message.
        """
        ...

    def messages(self, run: RecordedNode) -> Sequence[int]:
        """Return the tokens of each message of a run, with its frame where it has its own."""
        ...
