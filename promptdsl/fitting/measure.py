"""What measuring is: how many tokens the parts of a prompt are, as a target takes them."""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from promptdsl.nodes import Recorded
from promptdsl.tree import Node


class Measure(Protocol):
    """Counts parts of a prompt in the tokens of its budget."""

    def turn(self, node: Node, wanted: Collection[int] = ()) -> tuple[int, Mapping[int, int]]:
        """Return the tokens of what stands in a timeline, and by id those of nodes in it.

        Each with the gap before it; a turn with the frame around its message.
        """
        ...

    def messages(self, run: Recorded) -> Sequence[int]:
        """Return the tokens of each message of a run, its frame included."""
        ...
